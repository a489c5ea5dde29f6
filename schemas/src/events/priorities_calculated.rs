use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{Seq, UtcMicros};

/// The time has come to calculate usage, fair shares and priorities anew.
///
/// It says when, and nothing else: what comes out follows from the state before it by fixed rules, in integers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PrioritiesCalculated {
    /// The position of the state stream that the planner had folded.
    pub input: Seq,
    /// Up to when usage counts.
    pub at: UtcMicros,
}
