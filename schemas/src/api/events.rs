use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::envelope::Stream;
use crate::units::{JobId, Seq};

/// `GET /v1/events`: the log as it stands, one [`EventRecord`] a line (NDJSON).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventQuery {
    /// Which stream.
    #[serde(default = "state_stream")]
    pub stream: Stream,
    /// First position; absent: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Seq>,
    /// Only events about this job and its runs (of an array: its tasks too).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// Keep the answer open and send what comes.
    #[serde(default)]
    pub follow: bool,
    /// At most so many records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

fn state_stream() -> Stream {
    Stream::State
}

/// One event with its place in the log. `event` has CloudEvents' attributes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventRecord {
    /// The position of its commit.
    pub seq: Seq,
    /// The log's own timestamp, RFC 3339.
    pub logged_at: crate::units::UtcMicros,
    /// The writer's subject.
    pub writer: String,
    /// The event as stored.
    pub event: serde_json::Value,
}
