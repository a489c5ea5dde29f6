use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::node::PartitionDefinition;

/// A partition was created or changed while the cluster runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionUpdated {
    /// All of it, as it is from here on.
    pub partition: PartitionDefinition,
}
