use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A partition was deleted while the cluster runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionDeleted {
    /// Its name.
    pub name: String,
}
