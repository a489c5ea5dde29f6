use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{NodeName, RunId};

/// Nothing of the run is left on this node: what it held there is free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunNodeReleased {
    /// The run.
    pub run: RunId,
    /// The node.
    pub node: NodeName,
}
