use std::borrow::Cow;
use std::sync::Arc;

use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::TimeLimit;
use daybook_schemas::orders::{RunWish, SignalOrder};
use daybook_schemas::preemption::GivingWay;
use daybook_schemas::run::{EndCause, ExitStatus, RunNode};
use daybook_schemas::{NodeName, RunId, Seq, UtcMicros};
use imbl::OrdSet;
use serde::{Deserialize, Serialize};

use crate::job::Job;

/// How a run's script ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// When: clamped between the start and the log's time.
    pub at: UtcMicros,
    /// What ended it.
    pub cause: EndCause,
    /// The script's own status.
    pub exit: ExitStatus,
}

/// When and for how long a run was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// Since when it is; `None`: it goes on, or has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<UtcMicros>,
    /// When it was last stopped or went on.
    pub changed: UtcMicros,
    /// Microseconds that it had run when it was last stopped.
    pub ran: i64,
    /// Microseconds for which it was stopped, without a stop that lasts.
    pub paused: i64,
}

/// Microseconds from an allocation to `now` without the pauses.
pub fn ran(pauses: Option<Pauses>, allocated: UtcMicros, now: UtcMicros) -> i64 {
    match pauses {
        Some(Pauses { stopped: Some(_), ran, .. }) => ran,
        Some(Pauses { paused, .. }) => now.0.saturating_sub(allocated.0).saturating_sub(paused).max(0),
        None => now.0.saturating_sub(allocated.0).max(0),
    }
}

fn is_none_yet(seq: &Seq) -> bool {
    *seq == Seq::ZERO
}

/// A run that still holds resources somewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// What it was given, in order; the first node runs the script.
    pub nodes: Arc<[RunNode]>,
    /// The limit at the allocation, or as changed since.
    pub time_limit: TimeLimit,
    /// What it is billed; `None`: its CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing: Option<u64>,
    /// The partition.
    pub partition: Arc<str>,
    /// The reservation that it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<Arc<str>>,
    /// When that ends it, whatever its limit is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_by: Option<UtcMicros>,
    /// The commit that allocated it.
    pub allocated_seq: Seq,
    /// The log's time of that commit: the run's start in Slurm's sense.
    pub allocated: UtcMicros,
    /// When the script's process existed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<UtcMicros>,
    /// Its end, while some node is not yet released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<RunEnd>,
    /// Nodes on which something is still held.
    pub held_on: OrdSet<NodeName>,
    /// Of those, nodes that have been silent for too long: nobody waits for them any more.
    #[serde(default, skip_serializing_if = "OrdSet::is_empty")]
    pub given_up_on: OrdSet<NodeName>,
    /// Its job as it was when it went on without this run: the job itself may be changed, started again or forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parted_from: Option<Arc<Job>>,
    /// What it is to do.
    pub wish: RunWish,
    /// To whom it gives way, and until when it may run on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub giving_way: Option<Arc<GivingWay>>,
    /// The commit of the last order to stop or to go on.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub ordered: Seq,
    /// The last of such orders was to stop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_told_to_stop: bool,
    /// Somebody has asked for it to be stopped: it does not go on before somebody says so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_kept_stopped: bool,
    /// Its CPUs are given back as long as it is stopped: others may have them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub are_cpus_given_back: bool,
    /// When it was stopped, if ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<Pauses>,
    /// Signals asked for, oldest first, at most [`crate::SIGNALS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<SignalOrder>,
}

impl Run {
    /// Whether all that still holds something has been given up: its job has gone on without it.
    pub fn is_given_up(&self) -> bool {
        !self.held_on.is_empty() && self.held_on.is_subset(&self.given_up_on)
    }

    /// When its limit ends it (without Slurm's grace), or its reservation; `None` where neither does, and while it is
    /// stopped.
    pub fn limit_end(&self) -> Option<UtcMicros> {
        if self.is_stopped() {
            return None;
        }
        let limit = match self.time_limit {
            TimeLimit::Seconds(seconds) => {
                let end = self.allocated.plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX));
                Some(UtcMicros(end.0.saturating_add(self.paused())))
            }
            TimeLimit::Unlimited => None,
        };
        limit.into_iter().chain(self.ends_by).min()
    }

    /// Microseconds that its limit leaves it; `None` where it has none.
    pub fn time_left(&self, now: UtcMicros) -> Option<i64> {
        let seconds = i64::try_from(self.time_limit.seconds()?).unwrap_or(i64::MAX);
        Some(seconds.saturating_mul(1_000_000).saturating_sub(self.ran(now)))
    }

    /// Whether its processes are stopped, as far as is known.
    pub fn is_stopped(&self) -> bool {
        self.pauses.is_some_and(|pauses| pauses.stopped.is_some())
    }

    /// Microseconds for which it has been stopped, without a stop that lasts.
    pub fn paused(&self) -> i64 {
        self.pauses.map_or(0, |pauses| pauses.paused)
    }

    /// Microseconds from its allocation to `now` in which it was not stopped.
    pub fn ran(&self, now: UtcMicros) -> i64 {
        ran(self.pauses, self.allocated, now)
    }

    /// Since when it runs without a stop.
    pub(crate) fn runs_since(&self) -> UtcMicros {
        self.pauses.map_or(self.allocated, |pauses| pauses.changed)
    }

    /// Whether it is stopped for another job, and goes on by itself when it can.
    pub fn waits_to_go_on(&self) -> bool {
        self.end.is_none() && self.are_cpus_given_back && !self.is_kept_stopped
    }

    /// What it holds, node by node: without its CPUs while these are given back.
    pub fn holdings(&self) -> impl Iterator<Item = Cow<'_, RunNode>> {
        let held = self.nodes.iter().filter(|share| self.held_on.contains(&share.node));
        held.map(|share| self.holding(share))
    }

    /// The same of one node.
    pub(crate) fn holding<'r>(&self, share: &'r RunNode) -> Cow<'r, RunNode> {
        match self.are_cpus_given_back {
            true => Cow::Owned(RunNode { cpus: IndexSet::new(), ..share.clone() }),
            false => Cow::Borrowed(share),
        }
    }

    /// How long it may run from its allocation, without stops: its limit, or up to the end of its reservation.
    pub fn time_allowed(&self) -> TimeLimit {
        let paused = self.paused() / 1_000_000;
        let left =
            self.ends_by.map(|end| (end.seconds() - self.allocated.seconds()).saturating_sub(paused).max(0));
        let left = left.map(|seconds| TimeLimit::Seconds(seconds.unsigned_abs()));
        left.map_or(self.time_limit, |left| left.min(self.time_limit))
    }
}
