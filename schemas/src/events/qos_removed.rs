use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A quality of service is gone. Associations that named it were changed before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QosRemoved {
    /// Which.
    pub qos: String,
}
