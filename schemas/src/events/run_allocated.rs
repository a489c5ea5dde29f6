use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::TimeLimit;
use crate::run::RunNode;
use crate::units::{JobId, RunId};

/// The planner started a job: these resources are its own from here on.
///
/// Void (and visible as such) if in the meantime the job is not waiting any more, or a node is gone or down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunAllocated {
    /// The run: for a task of an array its own job id.
    pub run: RunId,
    /// The array that the task is split from, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayTaskId>,
    /// The partition.
    pub partition: String,
    /// Exactly what it has, in the order of nodes; the first runs the batch script.
    pub nodes: Vec<RunNode>,
    /// How long it may run.
    pub time_limit: TimeLimit,
    /// The reservation that it runs in, and ends with; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// What it is billed (and counts as usage) while it runs, by the weights that its partition has now; absent: its CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub billing: Option<u64>,
    /// The price book's version; absent: none is published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price_version: Option<String>,
}

/// A task of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ArrayTaskId {
    /// The array's job id.
    pub array_job: JobId,
    /// The task's index.
    pub task: u32,
}
