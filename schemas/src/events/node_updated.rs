use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::node::NodeUpdateState;
use crate::units::NodeName;

/// An administrator (or a rule) set a node's state or a property of it.
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
    /// Its weight, until the node is configured anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// The features that it may have (`AvailableFeatures`), until the node is configured anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// The features of those that it has now (`ActiveFeatures`), until the node is configured anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_features: Option<Vec<String>>,
    /// A remark for people; empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Any text of the site's own; empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<String>,
}

impl NodeUpdated {
    /// Whether it takes a node out of service, with a reason, and does nothing else: what a node may say of itself.
    pub fn is_withdrawal(&self) -> bool {
        let drain = NodeUpdated::new(self.node.clone(), Some(NodeUpdateState::Drain), self.reason.clone());
        self.reason.is_some() && *self == drain
    }

    /// A change of state or reason alone.
    pub fn new(node: NodeName, state: Option<NodeUpdateState>, reason: Option<String>) -> NodeUpdated {
        NodeUpdated {
            node,
            state,
            reason,
            weight: None,
            features: None,
            active_features: None,
            comment: None,
            extra: None,
        }
    }
}
