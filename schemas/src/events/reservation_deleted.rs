use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An administrator deleted a reservation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservationDeleted {
    /// Its name.
    pub name: String,
}
