use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounts::WorkloadKey;

/// A user no longer has a workload key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WckeyRemoved {
    /// Whose, and which.
    #[serde(flatten)]
    pub key: WorkloadKey,
}
