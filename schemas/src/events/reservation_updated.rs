use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reservation::ReservationDefinition;

/// An administrator changed a reservation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservationUpdated {
    /// The whole reservation as it is from now on; its name is the one meant.
    pub reservation: ReservationDefinition,
}
