//! Protected starts, and what they keep of each node.

use std::borrow::Cow;
use std::collections::BTreeSet;

use daybook_model::fit::{Amounts, Free, Share, Site};
use daybook_schemas::UtcMicros;

use crate::releases::Found;

/// What is kept of one node for one blocked job.
#[derive(Clone, Debug)]
struct Kept {
    start: UtcMicros,
    /// `None`: it has no time limit.
    end: Option<UtcMicros>,
    taken: Amounts,
    /// What is left on the node at `start`, beside everything planned so far.
    left: Amounts,
}

impl Kept {
    /// Whether it holds something at some time from `from` (`None`: the beginning of time) to `until` (`None`: its end).
    fn overlaps(&self, from: Option<UtcMicros>, until: Option<UtcMicros>) -> bool {
        until.is_none_or(|until| self.start < until)
            && match (self.end, from) {
                (Some(end), Some(from)) => from < end,
                _ => true,
            }
    }

    /// Whether it begins between `from` (`None`: now) and `until`.
    fn begins_within(&self, from: Option<UtcMicros>, until: Option<UtcMicros>) -> bool {
        from.is_none_or(|from| from < self.start) && until.is_none_or(|until| self.start < until)
    }
}

/// Everything that is kept for blocked jobs.
pub(crate) struct Promises {
    by_site: Vec<Vec<Kept>>,
    /// Ends of what is kept, with the site.
    ends: BTreeSet<(UtcMicros, usize)>,
    count: usize,
    last_start: Option<UtcMicros>,
}

impl Promises {
    pub(crate) fn new(sites: usize) -> Promises {
        Promises { by_site: vec![Vec::new(); sites], ends: BTreeSet::new(), count: 0, last_start: None }
    }

    /// How many jobs something is kept for.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The last start that is promised.
    pub(crate) fn last_start(&self) -> Option<UtcMicros> {
        self.last_start
    }

    /// When something that is kept comes back, and where, ascending.
    pub(crate) fn ends(&self) -> &BTreeSet<(UtcMicros, usize)> {
        &self.ends
    }

    /// Notes that shares are in use from `from` (`None`: now) to `until`.
    pub(crate) fn charge(
        &mut self,
        sites: &[Site<'_>],
        shares: &[Share],
        from: Option<UtcMicros>,
        until: Option<UtcMicros>,
    ) {
        for share in shares {
            let mut taken = None;
            for kept in self.by_site[share.site].iter_mut().filter(|kept| kept.begins_within(from, until)) {
                kept.left.take(taken.get_or_insert_with(|| sites[share.site].amounts_taken(share)));
            }
        }
    }

    /// Keeps the shares of a start to come.
    pub(crate) fn keep(&mut self, sites: &[Site<'_>], found: &Found) {
        let Found { start, end, .. } = *found;
        self.charge(sites, &found.shares, Some(start), end);
        for (share, free_at_start) in found.shares.iter().zip(&found.free_at_start) {
            let site = &sites[share.site];
            let taken = site.amounts_taken(share);
            let mut left = site.amounts_free(free_at_start);
            let kept = &mut self.by_site[share.site];
            let held = |kept: &&Kept| kept.start <= start && kept.end.is_none_or(|end| start < end);
            kept.iter().filter(held).for_each(|kept| left.take(&kept.taken));
            left.take(&taken);
            kept.push(Kept { start, end, taken, left });
            if let Some(end) = end {
                self.ends.insert((end, share.site));
            }
        }
        self.count += 1;
        self.last_start = self.last_start.max(Some(start));
    }

    /// `free` of a node without what is kept there at some time from `from` (`None`: now) to `until`.
    pub(crate) fn without<'f>(
        &self,
        site: &Site<'_>,
        at: usize,
        free: Cow<'f, Free>,
        from: Option<UtcMicros>,
        until: Option<UtcMicros>,
    ) -> Cow<'f, Free> {
        let mut there: Option<Amounts> = None;
        let overlapping = self.by_site[at].iter().filter(|kept| kept.overlaps(from, until));
        // First what is held at the beginning, then what is left at each later start.
        for kept in overlapping.clone().filter(|kept| !kept.begins_within(from, until)) {
            there.get_or_insert_with(|| site.amounts_free(&free)).take(&kept.taken);
        }
        for kept in overlapping.filter(|kept| kept.begins_within(from, until)) {
            there.get_or_insert_with(|| site.amounts_free(&free)).at_most(&kept.left);
        }
        let Some(there) = there else { return free };
        let mut free = free;
        if there != site.amounts_free(&free) {
            site.limit(free.to_mut(), &there);
        }
        free
    }

    /// Whether nothing is kept of a node.
    pub(crate) fn is_untouched(&self, at: usize) -> bool {
        self.by_site[at].is_empty()
    }
}
