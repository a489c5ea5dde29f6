//! Why a job waits, as data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::events::LimitFigures;
use crate::job::{JobState, Reason, TimeLimit};
use crate::license::License;
use crate::node::PartitionState;
use crate::preemption::GivingWay;
use crate::run::ExitStatus;
use crate::units::{JobId, Mebibytes, NodeName, RunId, Seq, UtcMicros};

/// `GET /v1/jobs/{id}/why`: one job record, and all that keeps it from starting, at one position of the log.
///
/// Lists of jobs and nodes are bounded; where one is cut, a number beside it says how many there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// The position of the state stream that it was made from.
    pub seq: Seq,
    /// The instant that it was made for.
    pub now: UtcMicros,
    /// The record's own id.
    pub job: JobId,
    /// As people name it: `10`, `10_3`, `10_[2-9%2]`.
    pub display_id: String,
    /// The job's name.
    pub name: String,
    /// Its owner.
    pub user: String,
    /// The partition that it is in.
    pub partition: String,
    /// How it stands.
    pub state: JobState,
    /// When it was submitted.
    pub submitted: UtcMicros,
    /// The word that squeue shows for it now.
    pub reason: Reason,
    /// Since when that is the word: the log's time of the commit that made it so.
    pub since: UtcMicros,
    /// What keeps it from starting, the weightiest first. Empty: nothing is known to (a job that does not wait, or one
    /// that the next planning cycle starts).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// What it needs and what there is; of waiting jobs that only resources, priority or promises keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub figures: Option<Figures>,
    /// Its place among the waiting jobs of its partition; absent where it stands in no line (held, dependent, refused).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// What is to be expected; absent for a job that does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outlook: Option<Outlook>,
    /// When it ended; absent: it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<UtcMicros>,
    /// Its present or last run; absent while it has never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunOutline>,
    /// Jobs whose runs give way to it, and are not gone yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub giving_way: Vec<JobId>,
    /// To whom its present or last run gave way; absent: to nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_way: Option<GivingWay>,
    /// Of its present or last run: the limit that ends it, or ended it, by being used up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_up: Option<LimitFigures>,
}

/// One thing that keeps a job from starting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Block {
    /// Somebody holds it.
    Held {
        /// An administrator, who alone may release it; else its owner.
        by_administrator: bool,
        /// Its launch failed so that another try would fail too.
        after_failed_launch: bool,
    },
    /// Conditions on other jobs are not fulfilled.
    Dependencies {
        /// One fulfilled condition would be enough.
        any: bool,
        /// They never can be.
        never: bool,
        /// The first of those that are open or can never hold.
        conditions: Vec<OpenCondition>,
        /// How many there are.
        count: u32,
    },
    /// It may not start before an instant.
    Begin {
        /// The instant.
        at: UtcMicros,
    },
    /// An earlier run of it still holds something.
    EarlierRun {
        /// The run.
        run: RunId,
        /// Where.
        nodes: Vec<NodeName>,
    },
    /// The partition starts nothing, or is no longer configured.
    Partition {
        /// Absent: there is no such partition.
        state: Option<PartitionState>,
    },
    /// Its time limit is above the partition's.
    TimeLimit {
        /// What it asks for.
        asked: TimeLimit,
        /// `MaxTime`.
        most: TimeLimit,
    },
    /// It asks for a number of nodes that the partition does not give.
    NodeLimit {
        /// The fewest nodes that it asks for.
        asked: u32,
        /// The most that it asks for; absent: as many as it needs.
        asked_most: Option<u32>,
        /// `MinNodes`.
        least: u32,
        /// `MaxNodes`, or how many nodes the partition has.
        most: u32,
    },
    /// It asks for more CPUs than its partition has.
    PartitionSize {
        /// CPUs that it needs.
        cpus_needed: u64,
        /// CPUs that the partition has in all.
        cpus_in_all: u64,
    },
    /// As many tasks of its array run as may at once.
    ArrayTasks {
        /// Tasks that run.
        running: u64,
        /// `%N`.
        most: u32,
    },
    /// It would break a limit of an association or of a QOS.
    Limit(LimitFigures),
    /// The reservation that it asks for has not begun, or is not for it.
    ReservationWanted {
        /// Its name.
        name: String,
        /// When it begins; absent: it is over, or there is none.
        start: Option<UtcMicros>,
        /// Whether the job may use it.
        permitted: bool,
    },
    /// The nodes that it would start on are kept by a reservation that it does not use.
    KeptByReservation {
        /// Its name.
        name: String,
        /// From when.
        start: UtcMicros,
        /// Up to when.
        end: UtcMicros,
        /// Whether it is for maintenance.
        maintenance: bool,
    },
    /// It would fit if these nodes were up and whole.
    NodesNotUp {
        /// The first of them.
        nodes: Vec<NodeTrouble>,
        /// How many there are.
        count: u32,
    },
    /// The cluster has no such licences any more, or fewer than it needs.
    NoSuchLicenses {
        /// What is missing: its needs above what the cluster has.
        licenses: Vec<LicenseAmount>,
    },
    /// The partition is not for this job.
    NotPermitted {
        /// A sentence for it, without its full stop; of accounts and QOS Slurm's.
        message: String,
    },
    /// No node of the partition could ever give what it asks for.
    Impossible {
        /// Slurm's sentence for it.
        message: String,
    },
    /// What it needs is not free now, whoever else waits.
    Resources {
        /// What is short, as far as single figures say it. Empty: each is there, but not together on the same nodes.
        short: Vec<Shortage>,
    },
    /// It would fit now, but would hold what is kept for the protected start of others.
    Promises {
        /// The first of these protected starts.
        promises: Vec<Promise>,
    },
    /// It would fit now, but a blocked job in front blocks its partition (`SchedulerType=sched/builtin`).
    StrictOrder {
        /// The blocked job.
        first: JobId,
    },
    /// It would fit now, but on more leaf switches than it wants, and it still waits for few (`--switches`).
    FewSwitches {
        /// The most leaf switches that it wants.
        most: u32,
        /// When that wish passes.
        until: UtcMicros,
    },
    /// It would fit now, but jobs in front of it take what is free in this cycle.
    StartsInFront {
        /// How many runs start first.
        count: u32,
    },
}

/// A condition that is not fulfilled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpenCondition {
    /// In Slurm's notation: `afterok:7(unfulfilled)`.
    pub notation: String,
    /// The job that it looks at; absent for `singleton`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobId>,
    /// How that job stands; absent where it is not in memory any more, or for `singleton`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<JobState>,
}

/// A node that is not to be used, or not whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeTrouble {
    /// The node.
    pub node: NodeName,
    /// Why it is not to be used.
    pub trouble: Trouble,
    /// What was said about it; empty: nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// What is the matter with a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// Its agent has never registered.
    NotRegistered,
    /// Its agent is not heard.
    NotResponding,
    /// Set down.
    Down,
    /// Drained: it takes no new work.
    Drained,
    /// It has left the configuration.
    Retired,
    /// It is up, but fewer GPUs are there than are declared.
    GpusMissing,
}

/// CPUs, GPUs and memory, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Amount {
    /// CPUs.
    pub cpus: u64,
    /// GPUs by type, of those types that the job asks for (an absent type is any); empty: it asks for none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuAmount>,
    /// Memory, where it is a consumed resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Mebibytes>,
}

/// GPUs of a type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuAmount {
    /// The type; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_type: Option<String>,
    /// How many.
    pub count: u64,
}

/// What a job needs, and what the nodes that it may use have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// The fewest nodes that it takes.
    pub nodes_needed: u32,
    /// Whether all of it has to be on one node.
    pub on_one_node: bool,
    /// Whether it has its nodes alone.
    pub exclusive: bool,
    /// Whether it takes all memory of its nodes.
    pub all_memory: bool,
    /// The least that it takes in all.
    pub needs: Amount,
    /// Nodes that partition, features and lists allow it, up or not.
    pub nodes_allowed: u32,
    /// Of those, the nodes that are up and take new work.
    pub nodes_usable: u32,
    /// Of those, the nodes that have room for it (all of it, or where it may spread one task) now.
    pub nodes_with_room: u32,
    /// Free now on the usable nodes together.
    pub free: Amount,
    /// The most of each that is free now on one usable node (not all on the same).
    pub free_on_one: Amount,
    /// What the usable nodes have in all.
    pub in_all: Amount,
    /// Licences that it needs, with what there is of each; empty: it needs none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub licenses: Vec<LicenseAmount>,
    /// Whether it would start now if nobody stood in front of it and nothing were kept for others.
    pub fits_now: bool,
}

/// A licence that a job needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LicenseAmount {
    /// Its name.
    pub license: String,
    /// How many it needs.
    pub needs: u32,
    /// How many are free now.
    pub free: u32,
    /// How many the cluster has.
    pub in_all: u32,
}

/// What is short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shortage {
    /// Of what.
    pub what: Shortened,
    /// For GPUs of a type: the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_type: Option<String>,
    /// For licences: the licence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// Both figures are of one node: the most that any has free. Else of all usable nodes together.
    pub on_one_node: bool,
    /// What is needed; more than `has`.
    pub needs: u64,
    /// What there is now.
    pub has: u64,
}

/// What can be short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shortened {
    /// CPUs.
    Cpus,
    /// GPUs.
    Gpus,
    /// Memory in MiB.
    Memory,
    /// Nodes with room for at least one task.
    Nodes,
    /// Room for tasks.
    Tasks,
    /// Licences of the cluster.
    Licenses,
}

/// A protected start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Promise {
    /// For which job something is kept.
    pub job: JobId,
    /// From when on.
    pub start: UtcMicros,
    /// On which nodes.
    pub nodes: Vec<NodeName>,
    /// Which of the licences that this job needs too; empty: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub licenses: Vec<License>,
}

/// A place in the line of a partition: waiting jobs that nothing but resources, priority and promises keeps. An array's
/// waiting tasks are one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// Jobs in front of it.
    pub in_front: u32,
    /// Jobs in the line, itself among them.
    pub length: u32,
    /// True: no more of the queue was counted, as a planning cycle would not have; there may be more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
    /// The first in the line; absent where nobody is in front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<JobId>,
    /// When the last recorded cycle expects the first to start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_expected: Option<UtcMicros>,
}

/// What is to be expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Outlook {
    /// The next planning cycle starts it, or tasks of it.
    StartsNext,
    /// Its start is protected: nobody behind it may delay it.
    Protected {
        /// At the latest, as far as time limits say.
        start: UtcMicros,
        /// The nodes kept for it.
        nodes: Vec<NodeName>,
        /// What the start waits for: runs whose end at that instant gives back something on these nodes.
        after: Vec<ExpectedEnd>,
        /// The expected start that squeue shows, from the last recorded cycle; absent: none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<UtcMicros>,
    },
    /// It is among the first, but no time limit leads to a start: what it waits for has no known end.
    NoEndKnown,
    /// Nothing is promised: only the first so many of a partition are protected (0: none are).
    NotProtected {
        /// K.
        protected: u32,
    },
    /// A planning cycle does not come as far as this job.
    NotLookedAt {
        /// The jobs that a cycle looked at.
        jobs_considered: u32,
    },
    /// It waits until the job, a limit, or a node is changed.
    UntilChanged,
    /// It gets into the line when what keeps it is over.
    NotInLine,
}

/// The end of a run by its limit, or because it is ending already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedEnd {
    /// The job.
    pub job: JobId,
    /// It has been told to end, or has ended and is being cleaned up.
    pub is_ending: bool,
}

/// The present or last run of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunOutline {
    /// The run.
    pub run: RunId,
    /// When it was given its resources.
    pub started: UtcMicros,
    /// Its nodes as a host list; empty where they are not known any more.
    pub node_list: String,
    /// When its limit ends it; absent: it has no limit, or is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_end: Option<UtcMicros>,
    /// How it ended; 0:0 before that.
    pub exit: ExitStatus,
}
