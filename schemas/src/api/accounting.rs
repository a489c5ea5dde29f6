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
    /// Only these jobs, arrays or tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobSelector>,
    /// Only jobs of these users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uids: Vec<u32>,
    /// Only jobs charged to these accounts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<String>,
    /// Only jobs of these workload keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wckeys: Vec<String>,
    /// Only jobs of these partitions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<String>,
    /// Only jobs with these names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Only records in these states.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<JobState>,
    /// Only runs on one of these nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeName>,
    /// Window: what overlaps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<UtcMicros>,
    /// The window's end; absent: now.
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
    /// The cluster's name.
    pub cluster: String,
    /// Everything up to this commit is in the answer.
    pub complete_up_to: Seq,
    /// That commit's time.
    pub complete_up_to_time: UtcMicros,
    /// The server's clock, for the elapsed time of what runs.
    pub now: UtcMicros,
    /// The records.
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

/// What was seen of a run's processes while they ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ObservedUsage {
    /// The last look.
    pub at: UtcMicros,
    /// Their memory then, without the cache of files, KiB.
    pub resident_kib: u64,
    /// How many there were.
    pub processes: u32,
    /// Seconds between looks of an agent that was there all the time; the rest of the run's time was not observed.
    pub observed_seconds: u64,
}

/// One row of sacct.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountingRecord {
    /// What the record is about.
    pub kind: RecordKind,
    /// The raw id.
    pub job: JobId,
    /// Of an array's task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayTaskId>,
    /// Of an array's record: the tasks that have not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_waiting: Option<IndexSet>,
    /// Of an array's record: the most tasks that run at once (`%2`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_running_max: Option<u32>,
    /// Absent where it never ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The job's name, or the step's.
    pub name: String,
    /// Who ran.
    pub user: JobUser,
    /// The account charged.
    pub account: String,
    /// The partition; empty on a step.
    pub partition: String,
    /// The QOS.
    pub qos: String,
    /// The workload key, with a `*` before it where it was a default; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub wckey: String,
    /// How it stands.
    pub state: JobState,
    /// Who cancelled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled_by: Option<u32>,
    /// How the batch script ended; 0:0 before that.
    pub exit: ExitStatus,
    /// When the job was submitted.
    pub submitted: UtcMicros,
    /// When nothing but resources kept it waiting any more; absent: not yet, or never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eligible: Option<UtcMicros>,
    /// When the run was given its resources; absent: not yet, or never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<UtcMicros>,
    /// When it ended; absent: not yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<UtcMicros>,
    /// The last evidence stands for an end that nobody saw.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end_is_bound: bool,
    /// The end was first a bound; the node itself has told the true one since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub end_is_corrected: bool,
    /// Whole seconds between start and end (or now).
    pub elapsed_seconds: u64,
    /// Seconds between them in which it was stopped: they are no part of `elapsed_seconds`, though memory, GPUs and
    /// licences were held.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub suspended_seconds: u64,
    /// The time limit in force.
    pub time_limit: TimeLimit,
    /// Host list, or `None assigned`.
    pub node_list: String,
    /// Nodes allocated, or while it waits asked for.
    pub node_count: u32,
    /// The fewest nodes asked for.
    pub requested_nodes: u32,
    /// CPUs asked for.
    pub requested_cpus: u32,
    /// CPUs allocated; 0: none yet.
    pub allocated_cpus: u32,
    /// Tasks.
    pub tasks: u32,
    /// Slurm's `ReqMem` text.
    pub requested_memory: String,
    /// TRES asked for, in sacct's order.
    pub requested_tres: String,
    /// TRES allocated, in sacct's order; empty: none.
    pub allocated_tres: String,
    /// The GPUs allocated.
    pub gpus: Vec<GpuUuid>,
    /// Allocated GPU seconds of this record, exact.
    pub gpu_seconds: u64,
    /// GPU seconds that the run had beyond those while nobody could see its node; the physical book has them as down.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub gpu_seconds_unseen: u64,
    /// What the processes used; absent: not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ProcessUsage>,
    /// What was seen of them while they ran; absent: nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<ObservedUsage>,
    /// The working directory.
    pub work_dir: String,
    /// The command line as typed.
    pub submit_line: String,
    /// `--comment`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// What kept it waiting last, in Slurm's word.
    pub reason: crate::job::Reason,
    /// The priority with which it started.
    pub priority: u32,
    /// Runs of the job before this one.
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
    /// The window's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<UtcMicros>,
    /// Only these nodes; empty: all.
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
    /// The node.
    pub node: NodeName,
    /// The GPU; absent: the row is about the node's CPUs.
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
    /// The window's start, as answered.
    pub start: UtcMicros,
    /// The window's end, as answered.
    pub end: UtcMicros,
    /// Everything up to this commit is in the answer.
    pub complete_up_to: Seq,
    /// GPUs and nodes, sorted.
    pub rows: Vec<CapacityRow>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
