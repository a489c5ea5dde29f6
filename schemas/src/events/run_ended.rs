use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::{EndCause, ExitStatus, ProcessUsage};
use crate::units::{NodeName, RunId};

/// The batch script is over. Only the first end of a run counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnded {
    /// The run.
    pub run: RunId,
    /// The node that ran the batch script.
    pub node: NodeName,
    /// What made it end.
    pub cause: EndCause,
    /// How the batch script itself ended, whatever the cause; jobs that show TIMEOUT or CANCELLED show 0:0.
    pub exit: ExitStatus,
    /// Detail for people, such as why it could not be launched; at most 1,024 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What it used; absent where there was no process or nobody saw the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ProcessUsage>,
}
