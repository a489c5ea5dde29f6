use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{NodeName, UtcMicros};

/// Nothing has been heard of a node's agent for the length of its lease. What runs there may well go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeLeaseLost {
    /// The node.
    pub node: NodeName,
    /// When its agent was heard last, by the clock of the planner that listens.
    pub last_heard: UtcMicros,
}
