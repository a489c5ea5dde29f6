use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An association is gone. Jobs that have it keep running; those that wait do not start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssociationRemoved {
    /// Which.
    pub id: u32,
}
