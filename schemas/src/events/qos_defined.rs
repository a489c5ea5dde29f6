use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounts::Qos;

/// A quality of service exists from now on, or is as said here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QosDefined {
    /// As it is now.
    #[serde(flatten)]
    pub qos: Qos,
}
