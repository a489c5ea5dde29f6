//! The order in which jobs are looked at.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter::Peekable;
use std::sync::Arc;

use daybook_model::{Cluster, Job, PendingKey, ReadyKind};
use daybook_schemas::UtcMicros;
use daybook_schemas::priority::PriorityParameters;

use crate::policy::Policy;

/// A job's turn in one of the partitions that it may start in.
#[derive(Clone, Copy)]
pub(crate) struct Turn<'a> {
    pub(crate) job: &'a Job,
    /// Which of them it is, from 0 in the job's order.
    pub(crate) place: u32,
    pub(crate) partition: &'a Arc<str>,
}

impl<'a> Turn<'a> {
    pub(crate) fn of(cluster: &'a Cluster, key: PendingKey) -> Option<Turn<'a>> {
        let job: &Job = cluster.jobs().get(&key.job)?;
        let partition = job.partitions().get(key.place as usize)?;
        Some(Turn { job, place: key.place, partition })
    }

    /// Whether it may start in others too.
    pub(crate) fn has_others(&self) -> bool {
        self.job.partitions.is_some()
    }
}

/// Ready jobs, and delayed ones whose begin has come by `now`, in one order. At most `delayed_max` delayed ones.
pub(crate) fn candidates(
    cluster: &Cluster,
    now: UtcMicros,
    delayed_max: usize,
) -> impl Iterator<Item = PendingKey> + '_ {
    let mut due: Vec<PendingKey> = due(cluster, now, delayed_max).collect();
    due.sort_unstable();
    Merged { ready: cluster.ready().iter().peekable(), due: due.into_iter().peekable() }
}

/// Delayed jobs whose begin has come by `now`, at most `delayed_max`, soonest begin first.
fn due(cluster: &Cluster, now: UtcMicros, delayed_max: usize) -> impl Iterator<Item = PendingKey> + '_ {
    let due = cluster.delayed().iter().take_while(move |(begin, _)| *begin <= now).take(delayed_max);
    due.filter_map(|(_, id)| cluster.jobs().get(id)).flat_map(|job| cluster.pending_keys(job))
}

/// The same jobs in the same order, as the first records of their kinds: a kind of which nothing more is to be decided
/// is left behind as a whole.
pub(crate) struct Heads<'a> {
    cluster: &'a Cluster,
    /// First records of kinds that have not been met. There may be many kinds, and a cycle does not come to most.
    firsts: Peekable<Box<dyn Iterator<Item = Head<'a>> + 'a>>,
    /// Where kinds go on, and delayed jobs.
    others: BinaryHeap<Reverse<Head<'a>>>,
}

/// A job's place, with its kind (`None`: it was delayed and is alone).
type Head<'a> = (PendingKey, Option<&'a Arc<ReadyKind>>);

impl<'a> Heads<'a> {
    pub(crate) fn new(cluster: &'a Cluster, now: UtcMicros, delayed_max: usize) -> Heads<'a> {
        let firsts = cluster.ready_kinds().map(|(first, kind)| (first, Some(kind)));
        let firsts: Box<dyn Iterator<Item = Head<'a>> + 'a> = Box::new(firsts);
        let due = due(cluster, now, delayed_max).map(|key| Reverse((key, None)));
        Heads { cluster, firsts: firsts.peekable(), others: due.collect() }
    }

    /// The next job.
    pub(crate) fn take_first(&mut self) -> Option<Head<'a>> {
        let other = self.others.peek().map(|Reverse((key, _))| *key);
        match (self.firsts.peek(), other) {
            (Some((first, _)), Some(other)) if other < *first => {}
            (Some(_), _) => return self.firsts.next(),
            (None, _) => {}
        }
        self.others.pop().map(|Reverse(head)| head)
    }

    /// Of the kind the record at `key` is to be looked at, and none before it.
    pub(crate) fn go_to(&mut self, kind: &'a Arc<ReadyKind>, key: PendingKey) {
        self.others.push(Reverse((key, Some(kind))));
    }

    /// The record of the kind behind `key` is to be looked at too.
    pub(crate) fn go_on(&mut self, kind: &'a Arc<ReadyKind>, key: PendingKey) {
        let next = self.cluster.ready_behind(kind, Some(key));
        self.others.extend(next.map(|next| Reverse((next, Some(kind)))));
    }
}

/// The jobs in the order in which a cycle of this policy looks at them.
pub(crate) fn in_order<'a>(
    cluster: &'a Cluster,
    now: UtcMicros,
    policy: &Policy,
) -> Box<dyn Iterator<Item = PendingKey> + 'a> {
    let found = candidates(cluster, now, policy.jobs_max as usize);
    let Some(weights) = &policy.weights else { return Box::new(found) };
    Box::new(weighted(cluster, found, now, policy.jobs_max as usize, weights).into_iter())
}

/// The first `jobs_max` of these in the order of a priority that depends on the instant.
pub(crate) fn weighted(
    cluster: &Cluster,
    keys: impl Iterator<Item = PendingKey>,
    now: UtcMicros,
    jobs_max: usize,
    weights: &PriorityParameters,
) -> Vec<PendingKey> {
    let mut weighted: Vec<PendingKey> = keys
        .take(jobs_max)
        .filter_map(|key| {
            let turn = Turn::of(cluster, key)?;
            let priority = Reverse(cluster.priority_with(weights, turn.job, now));
            Some(PendingKey { priority, ..key })
        })
        .collect();
    weighted.sort_unstable();
    weighted
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
