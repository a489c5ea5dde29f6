use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::RunId;

/// The planner lets a run go on that was suspended for another job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunResumeOrdered {
    /// The run.
    pub run: RunId,
}
