use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{NodeName, RunId, UtcMicros};

/// Nobody saw this run's end (its supervisor was killed, the machine restarted). It ends at the last evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunLost {
    /// The run.
    pub run: RunId,
    /// The node that should have known.
    pub node: NodeName,
    /// The last instant at which it is known to have run.
    pub last_evidence: UtcMicros,
    /// What was found, for people.
    pub message: String,
}
