use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::JobTarget;

/// A hold was taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobReleased {
    /// Which job.
    #[serde(flatten)]
    pub target: JobTarget,
    /// True: by somebody who may not take back an administrator's hold; such a hold stays.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub as_owner: bool,
}
