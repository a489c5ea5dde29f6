use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::JobTarget;

/// Somebody cancelled a job: what waits is over at once, what runs is told to end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobCancelRequested {
    /// Which job or tasks.
    #[serde(flatten)]
    pub target: JobTarget,
    /// The user id that asked (`CANCELLED by UID`).
    pub uid: u32,
    /// `scancel --signal`: only this signal is sent to what runs, and nothing is cancelled. Absent: cancel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// With `signal`: to the batch script too (`--full`, `--batch`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub batch: bool,
}
