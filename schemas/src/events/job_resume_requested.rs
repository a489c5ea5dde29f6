use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::JobId;

/// Somebody lets a suspended job go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobResumeRequested {
    /// The job (a task's own id for a task).
    pub job: JobId,
    /// The user id of who asked.
    pub uid: u32,
}
