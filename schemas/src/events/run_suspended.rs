use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{NodeName, RunId, Seq};

/// All processes of a run are stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSuspended {
    /// The run.
    pub run: RunId,
    /// The node that runs the batch script.
    pub node: NodeName,
    /// Which order this follows: the position of the commit that gave it.
    pub ordered: Seq,
}
