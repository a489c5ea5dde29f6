use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{NodeName, RunId, Seq};

/// The processes of a run that was stopped go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunResumed {
    /// The run.
    pub run: RunId,
    /// The node that runs the batch script.
    pub node: NodeName,
    /// Which order this follows: the position of the commit that gave it.
    pub ordered: Seq,
}
