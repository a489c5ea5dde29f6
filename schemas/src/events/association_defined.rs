use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::accounts::Association;

/// An association exists from now on, or is as said here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssociationDefined {
    /// As it is now.
    #[serde(flatten)]
    pub association: Association,
}
