use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounts::AccountUser;

/// A user is known to the accounts from now on, or is as said here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserDefined {
    /// As the user is now.
    #[serde(flatten)]
    pub user: AccountUser,
}
