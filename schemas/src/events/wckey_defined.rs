use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounts::WorkloadKey;

/// A user has a workload key from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WckeyDefined {
    /// Whose, and which.
    #[serde(flatten)]
    pub key: WorkloadKey,
}
