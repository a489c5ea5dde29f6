use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::JobId;

/// Somebody wants a running job to be stopped, until somebody lets it go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobSuspendRequested {
    /// The job (a task's own id for a task).
    pub job: JobId,
    /// The user id of who asked.
    pub uid: u32,
}
