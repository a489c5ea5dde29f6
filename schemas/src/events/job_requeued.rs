use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::JobId;

/// A job goes back into the queue: at once if it has ended, else when its run has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobRequeued {
    /// The job (a task's own id for a task).
    pub job: JobId,
    /// True: it stays on hold (`scontrol requeuehold`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
}
