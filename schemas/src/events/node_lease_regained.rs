use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::NodeName;

/// A node's agent is heard again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeLeaseRegained {
    /// The node.
    pub node: NodeName,
}
