use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{NodeName, RunId};

/// The batch script's process exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStarted {
    /// The run.
    pub run: RunId,
    /// The node that runs the batch script.
    pub node: NodeName,
    /// The script's process id there; absent on a simulated node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
}
