use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A user is gone from the accounts. The user's associations went before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserRemoved {
    /// Who.
    pub user: String,
}
