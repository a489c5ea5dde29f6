//! What dispatch tells an agent: the set of runs that should be on its node now.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::events::ArrayTaskId;
use crate::job::{JobSpec, TimeLimit};
use crate::run::RunNode;
use crate::units::{JobId, NodeName, RunId, Seconds, Seq, UtcMicros};

/// Everything that should be on one node. An agent refuses a generation older than one it has seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DesiredSet {
    /// The node.
    pub node: NodeName,
    /// The position of the state stream that this was derived from.
    pub generation: Seq,
    /// The runs, by id. A run that the agent has and that is not here must be ended and released.
    pub runs: Vec<std::sync::Arc<RunOrder>>,
}

/// One run, for one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunOrder {
    /// The run.
    pub run: RunId,
    /// The position of the commit that allocated it.
    pub allocated: Seq,
    /// When it was allocated.
    pub allocated_at: UtcMicros,
    /// The cluster's name.
    pub cluster_name: String,
    /// All nodes of the run, in order; the first runs the batch script.
    pub nodes: Vec<RunNode>,
    /// The array task, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayTaskOrder>,
    /// What was asked.
    pub spec: std::sync::Arc<JobSpec>,
    /// The partition that it runs in.
    pub partition: String,
    /// The account charged, resolved.
    pub account: String,
    /// The QOS, resolved.
    pub qos: String,
    /// How long it may run, from the script's start; while it is stopped its time stands still.
    pub time_limit: TimeLimit,
    /// From TERM to KILL.
    pub kill_wait: Seconds,
    /// What the run must do now, beside running.
    pub wish: RunWish,
    /// Of one that gives way: how long it may go on after it was warned. 0: it is ended at once.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub grace: Seconds,
    /// Which order to stop or to go on `wish` is: the position of the commit that gave it. 0: there was none.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub ordered: Seq,
    /// Of one that is to stop: from TSTP to STOP.
    #[serde(default, skip_serializing_if = "is_no_time")]
    pub suspend_grace: Seconds,
    /// Microseconds for which the run has been stopped so far, as the log knows; without a stop that lasts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub paused: u64,
    /// Since when it is stopped, as the log knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<UtcMicros>,
    /// Signals asked for with `scancel --signal`, in order; each is sent once (by its position in the log).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signals: Vec<SignalOrder>,
}

/// An array task's place in its array, for its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArrayTaskOrder {
    /// Array and index.
    pub id: ArrayTaskId,
    /// Tasks in the array.
    pub task_count: u64,
    /// Lowest index.
    pub task_min: u32,
    /// Highest index.
    pub task_max: u32,
    /// Step between indices (1 where it is irregular).
    pub task_step: u32,
}

/// What should become of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunWish {
    /// Run until it ends by itself or at its limit.
    Run,
    /// Stop it: TSTP, and after a short time STOP. With [`RunWish::Run`] it goes on.
    Suspend,
    /// End it (TERM, kill wait, KILL) because the job was cancelled.
    Cancel,
    /// End it because the job goes back into the queue.
    Requeue,
    /// End it because the node was set down.
    NodeDown,
    /// End it because it gives way to another job: warned by CONT and TERM at once, ended after its grace.
    GiveWay,
    /// End it as at a time limit: what its limits let it use is used up.
    UsedUp,
    /// The batch script has ended; release what is held on this node.
    Release,
}

/// A signal to send once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignalOrder {
    /// The position of the request; an agent remembers the last one that it has sent.
    pub requested: Seq,
    /// The signal's number.
    pub signal: i32,
    /// True: to the batch script and its children; false: only to steps.
    pub batch: bool,
}

fn is_no_time(time: &Seconds) -> bool {
    time.0 == 0
}

fn is_none_yet(seq: &Seq) -> bool {
    *seq == Seq::ZERO
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl RunOrder {
    /// The job id that the run's script sees (`SLURM_JOB_ID`).
    pub fn job(&self) -> JobId {
        self.run.job
    }
}
