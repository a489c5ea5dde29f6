use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When what was acknowledged is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogSync {
    /// Before it is acknowledged.
    Always,
    /// Later, or the server's setting could not be read; the operator has accepted that (`accept_unsynced`).
    Unproven,
}

/// What an acknowledgement of the log means from here on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogDurabilityDeclared {
    /// `embedded` or `nats`.
    pub backend: String,
    /// When acknowledged commits are on disk.
    pub sync: LogSync,
    /// Copies of each commit on different servers.
    pub replicas: u32,
    /// The server's version; absent for the embedded log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_version: Option<String>,
}
