//! The order in which jobs are looked at.

use std::iter::Peekable;

use daybook_model::{Cluster, PendingKey};
use daybook_schemas::UtcMicros;

/// Ready jobs, and delayed ones whose begin has come by `now`, in one order. At most `delayed_max` delayed ones.
pub(crate) fn candidates(
    cluster: &Cluster,
    now: UtcMicros,
    delayed_max: usize,
) -> impl Iterator<Item = PendingKey> + '_ {
    let due = cluster.delayed().iter().take_while(|(begin, _)| *begin <= now).take(delayed_max);
    let due = due.filter_map(|(_, id)| cluster.jobs().get(id)).map(|job| cluster.pending_key(job));
    let mut due: Vec<PendingKey> = due.collect();
    due.sort_unstable();
    Merged { ready: cluster.ready().iter().peekable(), due: due.into_iter().peekable() }
}

struct Merged<'a, I: Iterator<Item = &'a PendingKey>> {
    ready: Peekable<I>,
    due: Peekable<std::vec::IntoIter<PendingKey>>,
}

impl<'a, I: Iterator<Item = &'a PendingKey>> Iterator for Merged<'a, I> {
    type Item = PendingKey;

    fn next(&mut self) -> Option<PendingKey> {
        match (self.ready.peek(), self.due.peek()) {
            (Some(ready), Some(due)) if due < *ready => self.due.next(),
            (None, _) => self.due.next(),
            _ => self.ready.next().copied(),
        }
    }
}
