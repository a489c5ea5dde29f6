use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::events::LimitFigures;
use crate::units::RunId;

/// A run is told to end: what a limit lets it use, or lets its group use, is used up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunUsedUp {
    /// The run.
    pub run: RunId,
    /// The limit, and what had been used: `GrpTRESMins=…`, `GrpWall`, or `MaxTRESMinsPerJob=…` of the run alone.
    pub limit: LimitFigures,
}
