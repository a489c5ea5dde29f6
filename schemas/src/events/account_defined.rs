use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounts::Account;

/// An account exists from now on, or is described anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountDefined {
    /// As it is now.
    #[serde(flatten)]
    pub account: Account,
}
