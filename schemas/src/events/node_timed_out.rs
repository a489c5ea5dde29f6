use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{NodeName, Seconds, UtcMicros};

/// A node has been silent for so long that nobody waits for its runs any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeTimedOut {
    /// The node.
    pub node: NodeName,
    /// When its agent was heard last: the end of its runs, until the node itself says otherwise.
    pub last_evidence: UtcMicros,
    /// For how long it was waited (`SlurmdTimeout`).
    pub waited: Seconds,
}
