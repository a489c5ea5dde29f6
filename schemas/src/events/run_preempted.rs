use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounts::PreemptMode;
use crate::events::ArrayTaskId;
use crate::units::{JobId, RunId, UtcMicros};

/// A run is told to give way to a waiting job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunPreempted {
    /// The run.
    pub run: RunId,
    /// The waiting job that takes its place; of an array's task its own job id.
    pub by: JobId,
    /// Where that is a waiting task of an array: which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayTaskId>,
    /// What becomes of the run's job: `cancel`, `requeue` (of one that may be requeued), or `suspend`.
    pub mode: PreemptMode,
    /// Until when the run may go on, warned by CONT and TERM; the cycle's own instant where there is no grace, and where it
    /// is suspended.
    pub grace_end: UtcMicros,
}
