use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ApiError, Text};
use crate::events::ArrayTaskId;
use crate::grammar::index_set::IndexSet;
use crate::job::{
    ArrayRequest, Dependencies, JobSpec, JobState, JobUser, OpenMode, Reason, ResourceRequest, TimeLimit,
};
use crate::preemption::GivingWay;
use crate::run::{ExitStatus, RunNode};
use crate::units::{JobId, RunId, Seq, UtcMicros};

/// `POST /v1/jobs`: what `sbatch` sends. The user is who the socket's peer is, unless an administrator names another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobSubmission {
    /// Chosen by the client, unique; the same id again gives the same job.
    pub request_id: String,
    /// The user to run as; only an administrator may name somebody else. Absent: the peer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<JobUser>,
    /// Job name, at most 1,024 bytes.
    pub name: String,
    /// The account to charge; absent: the user's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Absent: the default partition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Quality of service; absent: the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos: Option<String>,
    /// Workload key; absent: the user's default, where keys are tracked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wckey: Option<String>,
    /// What it needs.
    pub request: ResourceRequest,
    /// Time limit; absent: the partition's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<TimeLimit>,
    /// The limit may be shortened down to this where that lets the job start earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_min: Option<TimeLimit>,
    /// It must have ended by then, or it does not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<UtcMicros>,
    /// Not before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<UtcMicros>,
    /// What must have happened before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Dependencies>,
    /// Whether a dependency that can never hold cancels the job.
    #[serde(default)]
    pub kill_on_invalid_dependency: bool,
    /// Whether it waits on then, even where the cluster cancels such jobs.
    #[serde(default)]
    pub keep_on_invalid_dependency: bool,
    /// Submitted on hold.
    #[serde(default)]
    pub hold: bool,
    /// Added to the priority with the opposite sign.
    #[serde(default)]
    pub nice: i32,
    /// Absent: the cluster's `JobRequeue`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requeue: Option<bool>,
    /// The array's tasks; absent: a plain job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayRequest>,
    /// Only in one of these reservations, joined by commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// The batch script's bytes.
    pub script: Text,
    /// The script's absolute path; absent for `--wrap` and standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The script's arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// `NAME=value` each.
    pub environment: Vec<Text>,
    /// Where it starts; absolute.
    pub work_dir: String,
    /// Standard input's pattern; absent: `/dev/null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std_in: Option<String>,
    /// Standard output's pattern; absent: `slurm-%j.out`, of an array `slurm-%A_%a.out`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std_out: Option<String>,
    /// Standard error's pattern; absent: into standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std_err: Option<String>,
    /// How the output files are opened.
    #[serde(default)]
    pub open_mode: OpenMode,
    /// The submitter's umask.
    pub umask: u32,
    /// The submitter's soft resource limits, by name without `RLIMIT_`; 2^64-1 is unlimited.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub resource_limits: std::collections::BTreeMap<String, u64>,
    /// `--comment`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The machine on which it is submitted.
    pub submit_host: String,
    /// The command line as typed.
    pub submit_line: String,
    /// The submitting session's id.
    #[serde(default)]
    pub session: u32,
}

/// The job is in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmitAnswer {
    /// Its id.
    pub job: JobId,
    /// The cluster's name.
    pub cluster: String,
    /// The commit that has it.
    pub seq: Seq,
}

/// A job as people name it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobSelector {
    /// A job's, an array's or a started task's id.
    pub job: JobId,
    /// `123_4`, `123_[1-5]`: only these tasks of the array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<IndexSet>,
}

/// Which jobs; what is absent or empty does not restrict. All that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobFilter {
    /// Only these jobs, arrays or tasks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobSelector>,
    /// Only jobs of these users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uids: Vec<u32>,
    /// Only jobs of these partitions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partitions: Vec<String>,
    /// Only jobs charged to these accounts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accounts: Vec<String>,
    /// Only jobs of these QOS.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub qos: Vec<String>,
    /// Only jobs with these names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Only jobs of these reservations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reservations: Vec<String>,
    /// Nodes that the job runs on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Empty: for a question, those not ended; for a cancellation, all that are not ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<JobState>,
}

/// `POST /v1/jobs/cancel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelRequest {
    /// Chosen by the client, unique; the same id again changes nothing more.
    pub request_id: String,
    /// At least one restriction; with `jobs`, each of them gets an outcome.
    pub filter: JobFilter,
    /// Only send this signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// With `signal`: to the batch script too.
    #[serde(default)]
    pub batch: bool,
}

/// `POST /v1/jobs/hold`, `release`, `requeue`, `suspend`, `resume`, `top`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobAction {
    /// Chosen by the client, unique; the same id again changes nothing more.
    pub request_id: String,
    /// Which jobs, arrays or tasks.
    pub jobs: Vec<JobSelector>,
    /// `hold`: as the owner would (`scontrol uhold`), though an administrator asks. `requeue`: and hold it.
    #[serde(default)]
    pub hold: bool,
}

/// What became of each thing that was named; those that failed changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    /// One for each target, in the order asked.
    pub outcomes: Vec<TargetOutcome>,
    /// True: the filter matches more jobs than one request takes; ask again, with another request id.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetOutcome {
    /// The job as it was named.
    pub target: JobSelector,
    /// Absent: done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ApiError>,
}

/// `POST /v1/jobs/update`: only what is present changes; see `job.updated`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobUpdateRequest {
    /// Chosen by the client, unique; the same id again changes nothing more.
    pub request_id: String,
    /// What changes; its `job` is the job meant, of an array all of its tasks.
    pub change: crate::events::JobUpdated,
    /// Only these tasks of the array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<IndexSet>,
}

/// A job record of the live queue: a plain job, an array's waiting tasks together, or one started task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobView {
    /// The record's own id.
    pub job: JobId,
    /// Of a started task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayTaskId>,
    /// Of an array's record: the tasks that have not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_waiting: Option<IndexSet>,
    /// Of one that has started: when its run may be told to give way, at the earliest; absent: nobody ever is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempt_eligible: Option<UtcMicros>,
    /// To whom its present or last run gave way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_way: Option<GivingWay>,
    /// How it stands.
    pub state: JobState,
    /// Why it waits, or why it ended so.
    pub reason: Reason,
    /// The same in words for people; empty: nothing to add.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason_detail: String,
    /// 0: held.
    pub priority: u32,
    /// When it was submitted.
    pub submitted: UtcMicros,
    /// When nothing but resources kept it waiting any more; absent: not yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eligible: Option<UtcMicros>,
    /// Since when it has gained priority by age; absent: it does not, or has not yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accrues_since: Option<UtcMicros>,
    /// When the present or last run was given its resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<UtcMicros>,
    /// When it ended; of a running job, when its limit ends it; absent where there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<UtcMicros>,
    /// The planner's expectation for a waiting job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_start: Option<UtcMicros>,
    /// When the planner last looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_considered: Option<UtcMicros>,
    /// Resolved.
    pub time_limit: TimeLimit,
    /// Seconds that the present or last run has run, at the time of the answer.
    pub run_seconds: u64,
    /// The present or last run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// What the present or last run has on each node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<RunNode>,
    /// Host list of `nodes`, empty while it waits.
    pub node_list: String,
    /// When its present or last run was last stopped or went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend_time: Option<UtcMicros>,
    /// How many seconds that run had run when it was last stopped.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seconds_before_suspend: u64,
    /// How the batch script ended; 0:0 before that.
    pub exit: ExitStatus,
    /// Runs before the present or last one.
    pub restarts: u32,
    /// Nodes, CPUs, memory, GPUs: allocated, or while it waits what it would get at least.
    pub tres: String,
    /// Nodes of `tres`.
    pub node_count: u32,
    /// CPUs of `tres`.
    pub cpu_count: u32,
    /// The reservations that it asks for, or the one that it runs in; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// Resolved account and QOS.
    pub account: String,
    /// The QOS, resolved.
    pub qos: String,
    /// The workload key now, with a `*` before it where it is a default; absent where keys are not tracked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wckey: Option<String>,
    /// Conditions not yet satisfied, in Slurm's notation; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub dependency: String,
    /// Standard output, error and input with the patterns replaced as far as they are known.
    pub std_out: String,
    /// Standard error's path, as `std_out`.
    pub std_err: String,
    /// Standard input's path, as `std_out`.
    pub std_in: String,
    /// As asked for.
    pub spec: JobSpec,
}

/// A column of [`JobTable`]. Instants are whole seconds since 1970, durations whole seconds, absent values `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobColumn {
    /// The record's own job id (a number).
    JobId,
    /// As people name it: `10`, `10_3`, `10_[2-9%2]`.
    DisplayId,
    /// The array's id, or the job's.
    ArrayJobId,
    /// The task's index or the waiting tasks' (`2-9%2`); null for a plain job.
    ArrayTask,
    Name,
    User,
    Uid,
    Group,
    Gid,
    Account,
    Partition,
    Qos,
    /// Long word.
    State,
    /// Slurm's word.
    Reason,
    ReasonDetail,
    Priority,
    Nice,
    SubmitTime,
    EligibleTime,
    /// Since when it has gained priority by age; null: it does not.
    AccrueTime,
    /// When its present or last run was told to give way; null: it was not.
    PreemptTime,
    StartTime,
    EndTime,
    ExpectedStart,
    /// Minutes; null: unlimited.
    TimeLimit,
    /// Seconds run.
    TimeUsed,
    NodeCount,
    NodeList,
    RequiredNodes,
    ExcludedNodes,
    Features,
    TaskCount,
    CpuCount,
    CpusPerTask,
    /// Slurm's text for the least memory (`500M`, per node or per CPU as asked).
    MinMemory,
    MinCpus,
    TresAllocated,
    /// `gres:gpu:2`, or `N/A`.
    TresPerNode,
    /// `gpu:2` of `--gpus`, or null.
    TresPerJob,
    Command,
    WorkDir,
    StdOut,
    StdErr,
    StdIn,
    Comment,
    Dependency,
    BatchHost,
    Requeue,
    Restarts,
    Exclusive,
    ExitCode,
    SubmitHost,
    Contiguous,
    Switches,
    /// `ansys:1,matlab:2`, or null.
    Licenses,
    /// The reservations that it asks for, or the one that it runs in; null: none.
    Reservation,
    /// The workload key, with a `*` before it where it is a default; null: none.
    Wckey,
}

/// `POST /v1/jobs/query`: a table with just the columns asked for (what squeue needs, fast for large queues).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobQuery {
    /// Which jobs.
    #[serde(default)]
    pub filter: JobFilter,
    /// What of them, in this order.
    pub columns: Vec<JobColumn>,
    /// `-r`: one row for each waiting array task.
    #[serde(default)]
    pub expand_arrays: bool,
}

/// Rows in the order of [`JobQuery::columns`]; ordered by partition, then waiting before running, then priority
/// (highest first), then job id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobTable {
    /// The position of the state stream that it shows.
    pub seq: Seq,
    /// The server's clock at the answer, seconds since 1970.
    pub now: i64,
    /// A row for each job, a value for each column.
    pub rows: Vec<Vec<serde_json::Value>>,
}

/// `GET /v1/jobs/{id}/wait?timeout_seconds=N`: answers when the job (all tasks of an array) has ended, or at the timeout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobWaitAnswer {
    /// False: the timeout came first; ask again.
    pub ended: bool,
    /// The highest exit code of the job's runs; signals count as 1, as sbatch's `--wait` does.
    pub exit_code: u32,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
