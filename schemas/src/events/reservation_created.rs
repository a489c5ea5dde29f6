use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reservation::ReservationDefinition;

/// An administrator made a reservation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReservationCreated {
    /// The reservation, with its nodes chosen.
    pub reservation: ReservationDefinition,
}
