//! CPUs that are kept for later by name: on nodes of which a reservation keeps some, numbers alone do not say whose the
//! CPUs are that a start to come needs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use daybook_model::fit::{Bits, Free};
use daybook_schemas::UtcMicros;

/// By site, what is kept there.
#[derive(Default)]
pub(crate) struct Named {
    by_site: BTreeMap<usize, Vec<Kept>>,
}

struct Kept {
    start: UtcMicros,
    /// `None`: for ever.
    end: Option<UtcMicros>,
    cpus: Bits,
}

impl Named {
    /// Keeps CPUs of a node from a start to an end.
    pub(crate) fn keep(&mut self, site: usize, (start, end): (UtcMicros, Option<UtcMicros>), cpus: Bits) {
        self.by_site.entry(site).or_default().push(Kept { start, end, cpus });
    }

    /// `free` of a node without the CPUs that are kept at some time from `from` (`None`: now) to `until` (`None`: for ever).
    pub(crate) fn without<'f>(
        &self,
        site: usize,
        free: Cow<'f, Free>,
        from: Option<UtcMicros>,
        until: Option<UtcMicros>,
    ) -> Cow<'f, Free> {
        let mut free = free;
        for kept in self.by_site.get(&site).into_iter().flatten() {
            let begins_before = until.is_none_or(|until| kept.start < until);
            let is_over = kept.end.zip(from).is_some_and(|(end, from)| end <= from);
            if begins_before && !is_over {
                free.to_mut().leave_out(&kept.cpus);
            }
        }
        free
    }
}
