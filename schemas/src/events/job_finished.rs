use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::{JobState, Reason};
use crate::units::JobId;

/// A job ended without a run deciding it (a dependency that can never hold, for instance).
///
/// A run's end needs no such event: the reducer derives the job's end from `run.ended`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobFinished {
    /// The job.
    pub job: JobId,
    /// Its final state.
    pub state: JobState,
    /// Why.
    pub reason: Reason,
}
