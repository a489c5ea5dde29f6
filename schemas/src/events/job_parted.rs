use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::grammar::index_set::IndexSet;
use crate::units::JobId;

/// Waiting tasks left their array's record, each to be held or changed by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobParted {
    /// The array.
    pub array: JobId,
    /// The tasks; never the array's last one, whose job id is the array's own.
    pub tasks: IndexSet,
}
