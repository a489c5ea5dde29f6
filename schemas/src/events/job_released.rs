use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::JobTarget;

/// A hold was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobReleased {
    /// Which job.
    #[serde(flatten)]
    pub target: JobTarget,
}
