use std::sync::Arc;

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
    /// Signals asked for, oldest first, at most [`crate::SIGNALS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<SignalOrder>,
}

impl Run {
    /// Whether all that still holds something has been given up: its job has gone on without it.
    pub fn is_given_up(&self) -> bool {
        !self.held_on.is_empty() && self.held_on.is_subset(&self.given_up_on)
    }

    /// When its limit ends it (without Slurm's grace), or its reservation; `None` where neither does.
    pub fn limit_end(&self) -> Option<UtcMicros> {
        let limit = match self.time_limit {
            TimeLimit::Seconds(seconds) => {
                Some(self.allocated.plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX)))
            }
            TimeLimit::Unlimited => None,
        };
        limit.into_iter().chain(self.ends_by).min()
    }

    /// How long it may run from its allocation: its limit, or up to the end of its reservation.
    pub fn time_allowed(&self) -> TimeLimit {
        let left = self.ends_by.map(|end| end.seconds().saturating_sub(self.allocated.seconds()).max(0));
        let left = left.map(|seconds| TimeLimit::Seconds(seconds.unsigned_abs()));
        left.map_or(self.time_limit, |left| left.min(self.time_limit))
    }
}
