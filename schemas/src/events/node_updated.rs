use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::node::NodeUpdateState;
use crate::units::NodeName;

/// An administrator (or a rule) set a node's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeUpdated {
    /// The node.
    pub node: NodeName,
    /// What to; absent: only the reason changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<NodeUpdateState>,
    /// Why; required for drain and down. Absent: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
