//! What a job is: the request as it was made, and the words for its state and its waiting.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::grammar::index_set::IndexSet;
use crate::license::License;
use crate::limit_reason::LimitReason;
use crate::units::{BlobHash, JobId, Mebibytes, Seconds, UtcMicros};

/// The Unix identity that a job runs under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobUser {
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
    /// User name, or the uid in digits where the machine knows no name.
    pub name: String,
    /// Group name, or the gid in digits.
    pub group: String,
}

/// How much memory, and per what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryRequest {
    /// `--mem`: on each node; 0 is all of the node's memory.
    PerNode(Mebibytes),
    /// `--mem-per-cpu`: for each allocated CPU; 0 is all of the node's memory.
    PerCpu(Mebibytes),
    /// `--mem-per-gpu`: for each allocated GPU.
    PerGpu(Mebibytes),
}

/// What a GPU count is counted per.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GpuScope {
    /// `--gres=gpu:N`, `--gpus-per-node`: on each node.
    Node,
    /// `--gpus`: in the whole job.
    Job,
    /// `--gpus-per-task`: for each task.
    Task,
}

/// A wish for GPUs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct GpuRequest {
    /// Counted per what.
    pub scope: GpuScope,
    /// The type (`a100`); absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_type: Option<String>,
    /// How many.
    pub count: u32,
}

/// A wish for few switches (`--switches=COUNT[@TIME]`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct SwitchRequest {
    /// The most leaf switches, at least 1.
    pub count: u32,
    /// How long it waits for that from when it could have started; absent: as long as the cluster allows
    /// (`max_switch_wait`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Seconds>,
}

impl SwitchRequest {
    /// How long it waits where the cluster allows at most `most`.
    pub fn wait_within(&self, most: Seconds) -> Seconds {
        self.wait.map_or(most, |wait| wait.min(most))
    }
}

/// What a job needs to start. Equal requests are interchangeable for the planner.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct ResourceRequest {
    /// The fewest nodes (`-N min-max`).
    pub nodes_min: u32,
    /// The most nodes; absent: as many as the tasks need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes_max: Option<u32>,
    /// Tasks (`-n`), at least 1.
    pub tasks: u32,
    /// Whether the user gave `-n` (decides `SLURM_NTASKS`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tasks_given: bool,
    /// CPUs for each task (`-c`), at least 1.
    pub cpus_per_task: u32,
    /// Whether the user gave `-c` (decides `SLURM_CPUS_PER_TASK`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cpus_per_task_given: bool,
    /// The most tasks on a node (`--ntasks-per-node`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_per_node: Option<u32>,
    /// Memory; absent: the cluster's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryRequest>,
    /// GPUs, at most one entry per scope and type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuRequest>,
    /// `--exclusive`: whole nodes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exclusive: bool,
    /// `--contiguous`: the nodes are neighbours in the order of the configuration.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub contiguous: bool,
    /// `--switches`: the most leaf switches that its nodes are on, for as long as it waits for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switches: Option<SwitchRequest>,
    /// `-w`: these nodes, all of them, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes_required: Vec<crate::NodeName>,
    /// `-x`: none of these, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes_excluded: Vec<crate::NodeName>,
    /// `-C`: features that each node must have (joined by `&`), sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// `-L`: licences of the cluster that it takes for as long as it runs, all of them; sorted by name, each once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub licenses: Vec<License>,
}

impl Default for ResourceRequest {
    /// One task of one CPU, said by nobody.
    fn default() -> ResourceRequest {
        ResourceRequest {
            nodes_min: 1,
            nodes_max: None,
            tasks: 1,
            tasks_given: false,
            cpus_per_task: 1,
            cpus_per_task_given: false,
            tasks_per_node: None,
            memory: None,
            gpus: Vec::new(),
            exclusive: false,
            contiguous: false,
            switches: None,
            nodes_required: Vec::new(),
            nodes_excluded: Vec::new(),
            features: Vec::new(),
            licenses: Vec::new(),
        }
    }
}

/// When a dependency is satisfied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DependencyKind {
    /// The other job has started (plus minutes) or was cancelled.
    After,
    /// It has ended, however.
    AfterAny,
    /// It has ended with success.
    AfterOk,
    /// It has ended without success.
    AfterNotOk,
    /// The same task of the other array has ended with success.
    AfterCorr,
    /// No other job of the same name and user runs or waits before it.
    Singleton,
}

/// One condition of `--dependency`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dependency {
    /// Which condition.
    pub kind: DependencyKind,
    /// The job that it looks at; absent for a singleton.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// One task of that array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// `after:JOB+MINUTES`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub delay_minutes: u32,
}

/// All conditions of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dependencies {
    /// The conditions in the order given.
    pub conditions: Vec<Dependency>,
    /// True where they were joined by `?` (one is enough) and not by `,` (all must hold).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any: bool,
}

/// The tasks of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArrayRequest {
    /// The task indices.
    pub tasks: IndexSet,
    /// `%N`: the most tasks that run at once; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_max: Option<u32>,
}

impl ArrayRequest {
    /// The job id reserved for the `position`-th task (from 0, in order of index) of the array `array`.
    ///
    /// As in Slurm the last task has the array's own id; the others have the ids after it, in order.
    pub fn task_job_id(&self, array: JobId, position: u32) -> JobId {
        if u64::from(position) + 1 == self.tasks.len() { array } else { JobId(array.0 + 1 + position) }
    }
}

/// How the output files are opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OpenMode {
    /// Emptied at start (Slurm's default for a first start).
    #[default]
    Truncate,
    /// Continued; a requeued run always continues.
    Append,
}

/// A job as it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobSpec {
    /// Job name, at most 1,024 bytes.
    pub name: String,
    /// Who runs.
    pub user: Arc<JobUser>,
    /// The account charged; absent: the user's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The partition, resolved when the job was accepted; several in which it may start are joined by commas.
    pub partition: String,
    /// Quality of service; absent: the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos: Option<String>,
    /// The workload key; one that is its user's default and was not named begins with `*`. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wckey: Option<String>,
    /// What it needs.
    pub request: Arc<ResourceRequest>,
    /// Time limit in minutes; absent: the partition's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<TimeLimit>,
    /// `--time-min`: the limit may be shortened down to this where that lets the job start earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_min: Option<TimeLimit>,
    /// `--deadline`: it must have ended by then, or it does not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<UtcMicros>,
    /// Not before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<UtcMicros>,
    /// What must have happened before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Dependencies>,
    /// `--kill-on-invalid-dep`: a dependency that can never hold cancels the job.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kill_on_invalid_dependency: bool,
    /// `--kill-on-invalid-dep=no`: it waits on, even where the cluster cancels such jobs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_on_invalid_dependency: bool,
    /// Submitted on hold (`-H`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
    /// Added to the priority with the opposite sign.
    #[serde(default, skip_serializing_if = "is_zero_signed")]
    pub nice: i32,
    /// `--requeue` / `--no-requeue`: whether it may start again after it was interrupted.
    pub requeue: bool,
    /// The array's tasks; absent: a plain job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayRequest>,
    /// `--reservation`: only in one of these reservations, joined by commas; absent: outside of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// The batch script.
    pub script: BlobHash,
    /// Its length in bytes.
    pub script_bytes: u64,
    /// The script's path as typed and made absolute; absent for `--wrap` and standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Arguments behind the script's name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// The environment: a blob of NUL-terminated `NAME=value`.
    pub environment: BlobHash,
    /// Where it starts.
    pub work_dir: String,
    /// Standard input's path; absent: `/dev/null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std_in: Option<String>,
    /// Standard output's pattern (`%j` and the others not yet replaced); absent: `slurm-%j.out` or `slurm-%A_%a.out`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std_out: Option<String>,
    /// Standard error's pattern; absent: into standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std_err: Option<String>,
    /// How the files are opened.
    #[serde(default)]
    pub open_mode: OpenMode,
    /// The submitter's umask.
    pub umask: u32,
    /// The submitter's soft resource limits, by name without `RLIMIT_` (`NOFILE`); 2^64-1 is unlimited.
    #[serde(default, skip_serializing_if = "has_none")]
    pub resource_limits: Arc<BTreeMap<String, u64>>,
    /// `--comment`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The machine on which it was submitted.
    pub submit_host: String,
    /// The command line as typed (sacct's SubmitLine).
    pub submit_line: String,
    /// The submitting session's id (`AllocNode:Sid`).
    #[serde(default)]
    pub session: u32,
}

impl JobSpec {
    /// The request, to be changed in this specification alone.
    pub fn request_mut(&mut self) -> &mut ResourceRequest {
        Arc::make_mut(&mut self.request)
    }
}

/// A time limit. `Unlimited` is greater than any number of seconds.
///
/// What people give is in whole minutes, as Slurm stores it; a simulated trace has seconds. Written as whole minutes
/// wherever it is some.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(from = "WrittenTimeLimit", into = "WrittenTimeLimit")]
#[schemars(with = "WrittenTimeLimit")]
pub enum TimeLimit {
    /// So many seconds.
    Seconds(u64),
    /// No limit.
    Unlimited,
}

/// The form of a [`TimeLimit`] in events and answers.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "TimeLimit")]
enum WrittenTimeLimit {
    /// Whole minutes, as Slurm stores it.
    Minutes(u32),
    /// Seconds, where they are no whole minutes.
    Seconds(u64),
    /// No limit.
    Unlimited,
}

impl From<WrittenTimeLimit> for TimeLimit {
    fn from(written: WrittenTimeLimit) -> TimeLimit {
        match written {
            WrittenTimeLimit::Minutes(minutes) => TimeLimit::minutes(minutes),
            WrittenTimeLimit::Seconds(seconds) => TimeLimit::Seconds(seconds),
            WrittenTimeLimit::Unlimited => TimeLimit::Unlimited,
        }
    }
}

impl From<TimeLimit> for WrittenTimeLimit {
    fn from(limit: TimeLimit) -> WrittenTimeLimit {
        match limit {
            TimeLimit::Seconds(seconds) => match u32::try_from(seconds / 60) {
                Ok(minutes) if seconds.is_multiple_of(60) => WrittenTimeLimit::Minutes(minutes),
                _ => WrittenTimeLimit::Seconds(seconds),
            },
            TimeLimit::Unlimited => WrittenTimeLimit::Unlimited,
        }
    }
}

impl TimeLimit {
    /// A limit of whole minutes.
    pub const fn minutes(minutes: u32) -> TimeLimit {
        TimeLimit::Seconds(minutes as u64 * 60)
    }

    /// Seconds; `None`: no limit.
    pub fn seconds(self) -> Option<u64> {
        match self {
            TimeLimit::Seconds(seconds) => Some(seconds),
            TimeLimit::Unlimited => None,
        }
    }

    /// Whole minutes, rounded up; `None`: no limit.
    pub fn whole_minutes(self) -> Option<u64> {
        self.seconds().map(|seconds| seconds.div_ceil(60))
    }
}

/// Slurm's base states of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum JobState {
    /// It waits.
    Pending,
    /// It has its resources.
    Running,
    /// It is stopped and may go on.
    Suspended,
    /// Its run has ended and is not yet cleaned up on every node.
    Completing,
    /// It ended with success.
    Completed,
    /// Somebody cancelled it.
    Cancelled,
    /// It ended without success, or could not be launched.
    Failed,
    /// It reached its time limit.
    Timeout,
    /// A node failed, was set down, or nobody saw the end.
    NodeFail,
    /// It gave way to another job.
    Preempted,
    /// The kernel ended it for lack of memory.
    OutOfMemory,
    /// A node could not be started for it.
    BootFail,
    /// It could not have ended before its deadline.
    Deadline,
    /// A run that ended because the job was put back into the queue; only in the ledger.
    Requeued,
}

impl JobState {
    /// Every state, in the order of the short codes' table.
    pub const ALL: [JobState; 14] = [
        JobState::Pending,
        JobState::Running,
        JobState::Suspended,
        JobState::Completing,
        JobState::Completed,
        JobState::Cancelled,
        JobState::Failed,
        JobState::Timeout,
        JobState::NodeFail,
        JobState::Preempted,
        JobState::OutOfMemory,
        JobState::BootFail,
        JobState::Deadline,
        JobState::Requeued,
    ];

    /// Slurm's long word, such as `NODE_FAIL`.
    pub fn word(self) -> &'static str {
        match self {
            JobState::Pending => "PENDING",
            JobState::Running => "RUNNING",
            JobState::Suspended => "SUSPENDED",
            JobState::Completing => "COMPLETING",
            JobState::Completed => "COMPLETED",
            JobState::Cancelled => "CANCELLED",
            JobState::Failed => "FAILED",
            JobState::Timeout => "TIMEOUT",
            JobState::NodeFail => "NODE_FAIL",
            JobState::Preempted => "PREEMPTED",
            JobState::OutOfMemory => "OUT_OF_MEMORY",
            JobState::BootFail => "BOOT_FAIL",
            JobState::Deadline => "DEADLINE",
            JobState::Requeued => "REQUEUED",
        }
    }

    /// Slurm's short code, such as `NF`.
    pub fn code(self) -> &'static str {
        match self {
            JobState::Pending => "PD",
            JobState::Running => "R",
            JobState::Suspended => "S",
            JobState::Completing => "CG",
            JobState::Completed => "CD",
            JobState::Cancelled => "CA",
            JobState::Failed => "F",
            JobState::Timeout => "TO",
            JobState::NodeFail => "NF",
            JobState::Preempted => "PR",
            JobState::OutOfMemory => "OOM",
            JobState::BootFail => "BF",
            JobState::Deadline => "DL",
            JobState::Requeued => "RQ",
        }
    }

    /// The state of a word or code, in any letter case.
    pub fn parse(text: &str) -> Option<JobState> {
        JobState::ALL
            .into_iter()
            .find(|state| state.word().eq_ignore_ascii_case(text) || state.code().eq_ignore_ascii_case(text))
    }

    /// Whether the job (or run) is over.
    pub fn is_ended(self) -> bool {
        !matches!(self, JobState::Pending | JobState::Running | JobState::Suspended | JobState::Completing)
    }
}

/// Why a job waits, in Slurm's words.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Not looked at yet, or nothing to say.
    #[default]
    None,
    /// Others are in front of it.
    Priority,
    /// It is the next, and what it needs is not free.
    Resources,
    /// What must have happened before has not.
    Dependency,
    /// What must have happened before never will.
    DependencyNeverSatisfied,
    /// It may not start before an instant that is still to come.
    BeginTime,
    /// Its owner holds it.
    JobHeldUser,
    /// An administrator holds it.
    JobHeldAdmin,
    /// Licences that it needs are in use, or the cluster does not have as many.
    Licenses,
    /// As many tasks of its array run as may at once.
    JobArrayTaskLimit,
    /// The partition starts nothing.
    PartitionDown,
    /// The partition neither queues nor starts.
    PartitionInactive,
    /// Its time limit is above the partition's.
    PartitionTimeLimit,
    /// It asks for more nodes than the partition gives, or for fewer.
    PartitionNodeLimit,
    /// The partition's configuration does not allow it.
    PartitionConfig,
    /// It asks for more memory on a node than the partition gives.
    MaxMemPerLimit,
    /// Its account may not use the partition.
    InvalidAccount,
    /// Its QOS may not use the partition.
    InvalidQos,
    /// A node that it asks for by name is down or drained.
    ReqNodeNotAvail,
    /// No node has what it asks for.
    BadConstraints,
    /// A node failed or was set down under it.
    NodeDown,
    /// Its script ended without success.
    NonZeroExitCode,
    /// It could not be launched.
    JobLaunchFailure,
    /// It reached its time limit.
    TimeLimit,
    /// The launch failed so that a retry would fail too; the job was held.
    LaunchFailedRequeuedHeld,
    /// The reservation that it asks for has not begun, or not for it.
    Reservation,
    /// The reservation that it asked for is over: it is held.
    ReservationDeleted,
    /// It was put back into the queue and held (`scontrol requeuehold`).
    RequeuedHeld,
    /// It could not have ended before its deadline.
    DeadLine,
    /// A limit of its association, of an account above that, or of its QOS.
    Limit(LimitReason),
}

impl Reason {
    /// The word that squeue shows.
    pub fn word(self) -> &'static str {
        match self {
            Reason::None => "None",
            Reason::Priority => "Priority",
            Reason::Resources => "Resources",
            Reason::Dependency => "Dependency",
            Reason::DependencyNeverSatisfied => "DependencyNeverSatisfied",
            Reason::BeginTime => "BeginTime",
            Reason::JobHeldUser => "JobHeldUser",
            Reason::JobHeldAdmin => "JobHeldAdmin",
            Reason::Licenses => "Licenses",
            Reason::JobArrayTaskLimit => "JobArrayTaskLimit",
            Reason::PartitionDown => "PartitionDown",
            Reason::PartitionInactive => "PartitionInactive",
            Reason::PartitionTimeLimit => "PartitionTimeLimit",
            Reason::PartitionNodeLimit => "PartitionNodeLimit",
            Reason::PartitionConfig => "PartitionConfig",
            Reason::MaxMemPerLimit => "MaxMemPerLimit",
            Reason::InvalidAccount => "InvalidAccount",
            Reason::InvalidQos => "InvalidQOS",
            Reason::ReqNodeNotAvail => "ReqNodeNotAvail",
            Reason::BadConstraints => "BadConstraints",
            Reason::NodeDown => "NodeDown",
            Reason::NonZeroExitCode => "NonZeroExitCode",
            Reason::JobLaunchFailure => "JobLaunchFailure",
            Reason::TimeLimit => "TimeLimit",
            Reason::LaunchFailedRequeuedHeld => "launch_failed_requeued_held",
            Reason::Reservation => "Reservation",
            Reason::ReservationDeleted => "ReservationDeleted",
            Reason::RequeuedHeld => "job requeued in held state",
            Reason::DeadLine => "DeadLine",
            Reason::Limit(limit) => limit.word(),
        }
    }
}

fn has_none(limits: &Arc<BTreeMap<String, u64>>) -> bool {
    limits.is_empty()
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_zero_signed(number: &i32) -> bool {
    *number == 0
}
