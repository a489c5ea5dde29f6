use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A reader older than this must stop instead of misreading what follows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogVersionBarrier {
    /// The lowest format version that may read on.
    pub format_version: u32,
    /// What changed, for the person who is stopped.
    pub reason: String,
}
