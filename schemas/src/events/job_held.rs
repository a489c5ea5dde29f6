use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::JobTarget;

/// A job was put on hold: it does not start until released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobHeld {
    /// Which job.
    #[serde(flatten)]
    pub target: JobTarget,
    /// True: held by an administrator, and only an administrator may release it.
    pub by_administrator: bool,
}
