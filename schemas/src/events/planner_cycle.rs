use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::Reason;
use crate::units::{JobId, NodeName, RunId, Seq, UtcMicros};

/// One planning cycle that decided or changed something: enough to decide it again and compare.
///
/// The commit that has it also has one `run.allocated` for each start, one `run.preempted` for each preemption, one
/// `run.resume_ordered` for each run that goes on and one `run.used_up` for each run that has used up its limits, in the
/// same order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannerCycle {
    /// The position of the state stream that the planner had folded.
    pub input: Seq,
    /// The instant that it planned for.
    pub now: UtcMicros,
    /// Hash of the policy's canonical bytes.
    pub policy_hash: String,
    /// Runs started, in the order decided.
    pub starts: Vec<RunId>,
    /// Jobs whose reason for waiting changed.
    pub reasons: Vec<ReasonChange>,
    /// Protected starts of blocked jobs.
    pub reservations: Vec<PlannedStart>,
    /// Runs told to give way, in the order decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preemptions: Vec<RunId>,
    /// Suspended runs told to go on, in the order decided.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumes: Vec<RunId>,
    /// Runs told to end because their limits are used up, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub used_up: Vec<RunId>,
    /// Jobs that this cycle looked at.
    pub jobs_considered: u32,
    /// True: a bound stopped the cycle before the queue's end.
    pub bounded: bool,
    /// The first bound that it met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<CycleBound>,
    /// Nodes and returns of resources that it looked at: its work, counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: u64,
    /// What is free on GPUs after the starts, in thousandths of a GPU, on nodes that may be used; absent where the cluster
    /// has no GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus_free: Option<u64>,
    /// What of it those who usually ask for GPUs could not use, in thousandths of a GPU: CPUs or memory beside it are
    /// gone, or too few are together. Absent also where nobody has asked for a GPU yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpus_unusable: Option<u64>,
    /// Hash of the canonical bytes of starts (with their resources), reasons, reservations, preemptions, runs that go on and
    /// runs used up.
    pub decision_hash: String,
}

/// What bounds a cycle's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CycleBound {
    /// Jobs looked at.
    Jobs,
    /// Runs started.
    Starts,
    /// Reasons changed.
    Reasons,
    /// Jobs ended because their dependencies can never hold.
    Finished,
    /// Steps of work.
    Steps,
    /// Runs told to give way.
    Preemptions,
    /// Runs told to end because their limits are used up.
    UsedUp,
    /// Nothing was free any more, and enough jobs had been looked at.
    Full,
}

impl CycleBound {
    /// What is bounded, in a word.
    pub fn word(self) -> &'static str {
        match self {
            CycleBound::Jobs => "jobs",
            CycleBound::Starts => "starts",
            CycleBound::Reasons => "reasons",
            CycleBound::Finished => "finished jobs",
            CycleBound::Steps => "steps",
            CycleBound::Preemptions => "preemptions",
            CycleBound::UsedUp => "runs with used up limits",
            CycleBound::Full => "jobs where nothing is free",
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A job waits for another reason than before.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ReasonChange {
    /// The job.
    pub job: JobId,
    /// Why it waits now.
    pub reason: Reason,
    /// What is short or who is in front, in words for people; empty: nothing to add.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The figures behind the reason, as they were when it changed; absent where it has none. Figures alone are no
    /// change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<ReasonFigures>,
}

/// What is asked and what there is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonFigures {
    /// Of `PartitionTimeLimit`.
    Minutes(MinuteFigures),
    /// Of `PartitionNodeLimit`.
    Nodes(NodeFigures),
    /// Of `JobArrayTaskLimit`.
    Tasks(TaskFigures),
    /// Of `Resources`.
    Resources(ResourceFigures),
    /// Of `Licenses`.
    Licenses(LicenseFigures),
    /// Of a limit of an association or a QOS.
    Limit(LimitFigures),
}

/// Time limits in minutes, rounded up; an absent one is unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct MinuteFigures {
    /// The job's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<u64>,
    /// The partition's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
}

/// Numbers of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct NodeFigures {
    /// The fewest nodes that the job asks for.
    pub asked: u32,
    /// `MinNodes`.
    pub least: u32,
    /// `MaxNodes`, or how many nodes the partition has.
    pub most: u32,
}

/// Tasks of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct TaskFigures {
    /// Those that run.
    pub running: u64,
    /// `%N`.
    pub most: u32,
}

/// What a job takes at least, and what is free on the nodes that it may use, together. All of it may be free, and still
/// not on the same nodes, or be kept for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ResourceFigures {
    /// CPUs that it needs.
    pub cpus: u64,
    /// CPUs that are free.
    pub cpus_free: u64,
    /// GPUs that it needs, of all types.
    pub gpus: u64,
    /// GPUs that are free, of all types.
    pub gpus_free: u64,
}

/// The first licence of which a job needs more than there are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct LicenseFigures {
    /// The licence.
    pub license: String,
    /// How many the job needs.
    pub needs: u32,
    /// How many are free after the cycle's starts in front of it.
    pub free: u32,
    /// How many the cluster has; 0: it has no such licence.
    pub in_all: u32,
}

/// A limit of an association or a QOS that a job would break.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct LimitFigures {
    /// The limit as sacctmgr names it, with the resource that it is on: `MaxTRESPerUser=cpu`, `GrpJobs`.
    pub limit: String,
    /// Whose it is: `QOS high`, `account ml`, `user alice in account ml`.
    pub of: String,
    /// The limit: a number of jobs or resources, memory in MiB, time in minutes; of `UsageThreshold` millionths.
    pub most: u64,
    /// What counts already, in the same unit, rounded down; absent: of a limit on single jobs, or time without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<u64>,
    /// What the job would add, in the same unit, rounded up; of a limit on single jobs what it asks for. Absent: time without
    /// end, or it does not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<u64>,
}

/// When and where a blocked job is expected to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedStart {
    /// The job.
    pub job: JobId,
    /// The instant.
    pub start: UtcMicros,
    /// The nodes kept for it.
    pub nodes: Vec<NodeName>,
}
