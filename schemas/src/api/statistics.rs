//! What has been going on: what `sdiag` shows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::events::CycleBound;
use crate::units::{Seq, UtcMicros};

/// `GET /v1/statistics`: figures folded from the log's state stream, at one position of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Statistics {
    /// The position of the state stream.
    pub seq: Seq,
    /// The instant of the answer.
    pub now: UtcMicros,
    /// When the daemon that answers began to count.
    pub since: UtcMicros,
    /// The position from which it counts.
    pub since_seq: Seq,
    /// Jobs since then; each task of an array is one.
    pub jobs: JobCounts,
    /// Jobs and tasks that wait now.
    pub pending: u64,
    /// Jobs and tasks that run now.
    pub running: u64,
    /// Planning cycles recorded since then: those that decided or changed something.
    pub cycles: u64,
    /// Figures of the last of them, also of those before the daemon's start.
    pub recent: CycleFigures,
}

/// What became of jobs, counted; each task of an array is one, and a job that runs again starts and ends again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobCounts {
    /// Submitted.
    pub submitted: u64,
    /// Runs started.
    pub started: u64,
    /// Ended with success.
    pub completed: u64,
    /// Cancelled.
    pub canceled: u64,
    /// Ended otherwise: failure, time limit, node failure, out of memory.
    pub failed: u64,
}

/// The last recorded planning cycles (at most 100).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CycleFigures {
    /// How many.
    pub count: u32,
    /// From the first of them to the last, in whole seconds.
    pub seconds: u64,
    /// The last one; absent: none has been recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<RecordedCycle>,
    /// Jobs looked at: the mean, rounded down, and the most.
    pub jobs_mean: u64,
    /// The most.
    pub jobs_max: u32,
    /// Steps of work (nodes and returns of resources looked at): the mean, rounded down.
    pub steps_mean: u64,
    /// The most.
    pub steps_max: u64,
    /// Runs started in all of them.
    pub starts: u64,
    /// Reasons changed in all of them.
    pub reasons: u64,
    /// How many of them met which bound, each bound once; those that met none are in no entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<BoundCount>,
}

/// One recorded planning cycle, counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordedCycle {
    /// The commit that recorded it.
    pub seq: Seq,
    /// The instant that it planned for.
    pub at: UtcMicros,
    /// Jobs looked at.
    pub jobs: u32,
    /// Runs started.
    pub starts: u32,
    /// Reasons changed.
    pub reasons: u32,
    /// Protected starts.
    pub protected: u32,
    /// Its work.
    pub steps: u64,
    /// The first bound that it met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<CycleBound>,
}

/// How often a bound was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BoundCount {
    /// The bound.
    pub bound: CycleBound,
    /// Cycles whose first bound it was.
    pub cycles: u32,
}
