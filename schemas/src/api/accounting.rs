use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::JobSelector;
use crate::events::ArrayTaskId;
use crate::grammar::index_set::IndexSet;
use crate::job::{JobState, JobUser, TimeLimit};
use crate::run::{ExitStatus, ProcessUsage};
use crate::units::{GpuUuid, JobId, NodeName, RunId, Seq, UtcMicros};

/// `POST /v1/accounting/query`: what sacct asks. What is absent or empty does not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountingQuery {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobSelector>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uids: Vec<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<JobState>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeName>,
    /// Window: what overlaps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<UtcMicros>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<UtcMicros>,
    /// `-X`: no steps.
    #[serde(default)]
    pub allocations_only: bool,
    /// `-D`: earlier runs of requeued jobs too.
    #[serde(default)]
    pub duplicates: bool,
}

/// Records in the order of submission (array tasks in order of index), and up to where they are complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountingAnswer {
    pub cluster: String,
    /// Everything up to this commit is in the answer.
    pub complete_up_to: Seq,
    /// That commit's time.
    pub complete_up_to_time: UtcMicros,
    /// The server's clock, for the elapsed time of what runs.
    pub now: UtcMicros,
    pub records: Vec<AccountingRecord>,
}

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// A job that has not run, or one run of it.
    Job,
    /// The batch script of a run (`123.batch`).
    BatchStep,
}

/// One row of sacct.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountingRecord {
    pub kind: RecordKind,
    /// The raw id.
    pub job: JobId,
    /// Of an array's task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayTaskId>,
    /// Of an array's record: the tasks that have not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_waiting: Option<IndexSet>,
    /// Absent where it never ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    pub name: String,
    pub user: JobUser,
    pub account: String,
    pub partition: String,
    pub qos: String,
    pub state: JobState,
    /// Who cancelled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<u32>,
    pub exit: ExitStatus,
    pub submitted: UtcMicros,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eligible: Option<UtcMicros>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<UtcMicros>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<UtcMicros>,
    /// The last evidence stands for an end that nobody saw.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end_is_bound: bool,
    /// Whole seconds between start and end (or now).
    pub elapsed_seconds: u64,
    pub time_limit: TimeLimit,
    /// Host list, or `None assigned`.
    pub node_list: String,
    pub node_count: u32,
    pub requested_nodes: u32,
    pub requested_cpus: u32,
    pub allocated_cpus: u32,
    pub tasks: u32,
    /// Slurm's `ReqMem` text.
    pub requested_memory: String,
    pub requested_tres: String,
    pub allocated_tres: String,
    pub gpus: Vec<GpuUuid>,
    /// Allocated GPU seconds of this record, exact.
    pub gpu_seconds: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ProcessUsage>,
    pub work_dir: String,
    pub submit_line: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// What kept it waiting last, in Slurm's word.
    pub reason: crate::job::Reason,
    pub priority: u32,
    pub restarts: u32,
    /// What the record rests on: positions in the state stream.
    pub evidence: Vec<Seq>,
}

/// `POST /v1/ledger/capacity`: the physical book, per GPU and node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityQuery {
    /// Window, whole seconds; absent: from the first registration, to the watermark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<UtcMicros>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<UtcMicros>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeName>,
}

/// What a GPU or a node's CPUs were doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CapacityClass {
    Allocated,
    Idle,
    Drained,
    Down,
    Unknown,
}

/// Seconds by class of one GPU (or, without one, of one node's CPUs in CPU seconds).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityRow {
    pub node: NodeName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu: Option<GpuUuid>,
    /// Time in the window during which it was installed, in seconds (times CPUs for a node).
    pub installed: u64,
    /// Adds up to `installed`, exactly.
    pub seconds: std::collections::BTreeMap<CapacityClass, u64>,
}

/// The rows, and up to where they are complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityAnswer {
    pub start: UtcMicros,
    pub end: UtcMicros,
    pub complete_up_to: Seq,
    pub rows: Vec<CapacityRow>,
}
