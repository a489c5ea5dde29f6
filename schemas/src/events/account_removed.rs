use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An account is gone. Its associations went before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountRemoved {
    /// Which.
    pub account: String,
}
