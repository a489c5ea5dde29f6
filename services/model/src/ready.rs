//! Ready jobs by what the planner tells them apart by: a cycle walks the kinds of a queue and not its jobs.

use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

use daybook_schemas::job::{Reason, ResourceRequest, TimeLimit};
use daybook_schemas::{JobId, UtcMicros};
use imbl::{OrdMap, OrdSet};

use crate::cluster::{Cluster, PendingKey};
use crate::job::{Job, Partitions};

/// What ready records have in common that get the same answer, apart from their place in the queue.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReadyKind {
    /// The partition.
    pub partition: Arc<str>,
    /// All that it may start in, where those are several.
    pub partitions: Option<Partitions>,
    /// Account and QOS, where the partition looks at them, or limits are enforced.
    pub account_and_qos: Option<(Arc<str>, Arc<str>)>,
    /// The user id, where limits are enforced.
    pub limited_user: Option<u32>,
    /// The QOS, where that says whose runs give way to it.
    pub preempts_as: Option<Arc<str>>,
    /// The time limit in this partition.
    pub time_limit: TimeLimit,
    /// The reason that is recorded.
    pub reason: Reason,
    /// The shortest limit that will do.
    pub time_min: Option<TimeLimit>,
    /// By when it must have ended.
    pub deadline: Option<UtcMicros>,
    /// An array has a limit of its own, so each is alone with its tasks.
    pub array: Option<JobId>,
    /// What is needed.
    pub request: Arc<ResourceRequest>,
    /// Of one that asks for reservations: which, and for whom.
    pub claim: Option<Claim>,
    /// The reason's figures.
    pub reason_detail: Arc<str>,
}

/// A wish for reservations, with what decides whether they may be used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// Their names, joined by commas.
    pub names: Arc<str>,
    /// The user id.
    pub uid: u32,
    /// The account.
    pub account: Arc<str>,
}

impl Cluster {
    /// The kind of a record for the `place`-th partition that it may start in.
    pub fn ready_kind(&self, job: &Job, place: u32) -> ReadyKind {
        let partition = job.partitions().get(place as usize).unwrap_or(&job.partition);
        let is_limited = self.enforces_limits();
        let restricts =
            is_limited || self.partition(partition).is_some_and(|found| found.restricts_accounts_or_qos());
        ReadyKind {
            partition: partition.clone(),
            partitions: job.partitions.clone(),
            account_and_qos: restricts.then(|| (job.account.clone(), job.qos.clone())),
            limited_user: is_limited.then_some(job.spec.user.uid),
            preempts_as: self.preempts_by_qos().then(|| job.qos.clone()),
            time_limit: self.time_limit_in(job, partition),
            reason: job.reason,
            time_min: job.time_min,
            deadline: job.deadline,
            array: job.task.map(|task| task.array_job).or(job.tasks_waiting.is_some().then_some(job.id)),
            request: job.request.clone(),
            claim: job.reservation.clone().map(|names| Claim {
                names,
                uid: job.spec.user.uid,
                account: job.account.clone(),
            }),
            reason_detail: job.reason_detail.clone(),
        }
    }
}

/// Ready records, by kind and then in the order of the queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReadyKinds {
    /// Each kind with the number of its records.
    counts: OrdMap<Arc<ReadyKind>, u32>,
    /// Kinds in here are the copies in `counts`, so most comparisons are of addresses.
    records: OrdSet<Placed>,
    /// The first record of each kind, in the order of the queue.
    firsts: OrdMap<PendingKey, Arc<ReadyKind>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Placed {
    kind: Arc<ReadyKind>,
    key: Option<PendingKey>,
}

impl Ord for Placed {
    /// Equal kinds are mostly one copy, and need no look at what they are.
    fn cmp(&self, other: &Placed) -> Ordering {
        let kinds =
            if Arc::ptr_eq(&self.kind, &other.kind) { Ordering::Equal } else { self.kind.cmp(&other.kind) };
        kinds.then_with(|| self.key.cmp(&other.key))
    }
}

impl PartialOrd for Placed {
    fn partial_cmp(&self, other: &Placed) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl ReadyKinds {
    pub(crate) fn insert(&mut self, kind: ReadyKind, key: PendingKey) {
        let kind = Arc::new(kind);
        let kind = self.counts.get_key_value(&kind).map_or(kind, |(shared, _)| shared.clone());
        let first = self.behind(&kind, None);
        if self.records.insert(Placed { kind: kind.clone(), key: Some(key) }).is_some() {
            return;
        }
        if first.is_none_or(|first| key < first) {
            first.and_then(|first| self.firsts.remove(&first));
            self.firsts.insert(key, kind.clone());
        }
        *self.counts.entry(kind).or_insert(0) += 1;
    }

    pub(crate) fn remove(&mut self, kind: ReadyKind, key: PendingKey) {
        let placed = Placed { kind: Arc::new(kind), key: Some(key) };
        if self.records.remove(&placed).is_none() {
            return;
        }
        if let Some(kind) = self.firsts.remove(&key)
            && let Some(next) = self.behind(&kind, None)
        {
            self.firsts.insert(next, kind);
        }
        match self.counts.get_mut(&placed.kind) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.counts.remove(&placed.kind)),
        }
    }

    pub(crate) fn clear(&mut self) {
        *self = ReadyKinds::default();
    }

    fn behind(&self, kind: &Arc<ReadyKind>, place: Option<PendingKey>) -> Option<PendingKey> {
        let from = Placed { kind: kind.clone(), key: place };
        let mut behind = self.records.range((Bound::Excluded(from), Bound::Unbounded));
        behind.next().filter(|placed| placed.kind == *kind).and_then(|placed| placed.key)
    }
}

impl Cluster {
    /// The kinds of ready records with the first record's place in the queue, in that order.
    pub fn ready_kinds(&self) -> impl Iterator<Item = (PendingKey, &Arc<ReadyKind>)> {
        self.ready_kinds.firsts.iter().map(|(first, kind)| (*first, kind))
    }

    /// The first record of a kind behind a place in the queue (`None`: behind no other).
    pub fn ready_behind(&self, kind: &Arc<ReadyKind>, place: Option<PendingKey>) -> Option<PendingKey> {
        self.ready_kinds.behind(kind, place)
    }
}
