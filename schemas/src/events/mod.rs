//! The closed list of event types, one file each.
//!
//! Adding one: a file here, and one line in [`Body`]'s table below. The type's name carries the major
//! version; inside a major version fields are only added, with defaults.

mod account_defined;
mod account_removed;
mod association_defined;
mod association_removed;
mod cluster_configured;
mod job_cancel_requested;
mod job_finished;
mod job_held;
mod job_parted;
mod job_released;
mod job_requeued;
mod job_resume_requested;
mod job_submitted;
mod job_suspend_requested;
mod job_updated;
mod log_durability_declared;
mod log_version_barrier;
mod node_lease_lost;
mod node_lease_regained;
mod node_registered;
mod node_timed_out;
mod node_updated;
mod partition_deleted;
mod partition_updated;
mod planner_cycle;
mod priorities_calculated;
mod qos_defined;
mod qos_removed;
mod reservation_created;
mod reservation_deleted;
mod reservation_updated;
mod run_allocated;
mod run_ended;
mod run_lost;
mod run_node_released;
mod run_preempted;
mod run_resume_ordered;
mod run_resumed;
mod run_started;
mod run_suspended;
mod run_usage;
mod run_used_up;
mod user_defined;
mod user_removed;
mod wckey_defined;
mod wckey_removed;

pub use account_defined::AccountDefined;
pub use account_removed::AccountRemoved;
pub use association_defined::AssociationDefined;
pub use association_removed::AssociationRemoved;
pub use cluster_configured::{ClusterConfigured, ConfigurationSource};
pub use job_cancel_requested::JobCancelRequested;
pub use job_finished::JobFinished;
pub use job_held::JobHeld;
pub use job_parted::JobParted;
pub use job_released::JobReleased;
pub use job_requeued::JobRequeued;
pub use job_resume_requested::JobResumeRequested;
pub use job_submitted::JobSubmitted;
pub use job_suspend_requested::JobSuspendRequested;
pub use job_updated::JobUpdated;
pub use log_durability_declared::{LogDurabilityDeclared, LogSync};
pub use log_version_barrier::LogVersionBarrier;
pub use node_lease_lost::NodeLeaseLost;
pub use node_lease_regained::NodeLeaseRegained;
pub use node_registered::NodeRegistered;
pub use node_timed_out::NodeTimedOut;
pub use node_updated::NodeUpdated;
pub use partition_deleted::PartitionDeleted;
pub use partition_updated::PartitionUpdated;
pub use planner_cycle::{
    CycleBound, LicenseFigures, LimitFigures, MinuteFigures, NodeFigures, PlannedStart, PlannerCycle,
    ReasonChange, ReasonFigures, ResourceFigures, TaskFigures,
};
pub use priorities_calculated::PrioritiesCalculated;
pub use qos_defined::QosDefined;
pub use qos_removed::QosRemoved;
pub use reservation_created::ReservationCreated;
pub use reservation_deleted::ReservationDeleted;
pub use reservation_updated::ReservationUpdated;
pub use run_allocated::{ArrayTaskId, RunAllocated};
pub use run_ended::RunEnded;
pub use run_lost::RunLost;
pub use run_node_released::RunNodeReleased;
pub use run_preempted::RunPreempted;
pub use run_resume_ordered::RunResumeOrdered;
pub use run_resumed::RunResumed;
pub use run_started::RunStarted;
pub use run_suspended::RunSuspended;
pub use run_usage::RunUsage;
pub use run_used_up::RunUsedUp;
pub use user_defined::UserDefined;
pub use user_removed::UserRemoved;
pub use wckey_defined::WckeyDefined;
pub use wckey_removed::WckeyRemoved;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::grammar::index_set::IndexSet;
use crate::units::JobId;

/// The format that this program writes and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// Which job, and of an array which tasks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobTarget {
    /// A job's id, an array's id, or a started task's own id.
    pub job: JobId,
    /// Of the array `job`: only these tasks. Absent: the job, or the whole array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<IndexSet>,
}

macro_rules! event_types {
    ($($variant:ident = $name:literal by $writer:literal, $changes:literal;)*) => {
        /// What an event says: one variant for each type.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Body {
            $(#[doc = concat!("`", $name, "`")] $variant(Box<$variant>),)*
        }

        impl Body {
            /// The event type's name with its major version, such as `run.started.v1`.
            pub fn type_name(&self) -> &'static str {
                match self { $(Body::$variant(_) => $name,)* }
            }

            /// The payload as a JSON value.
            pub fn to_value(&self) -> Result<serde_json::Value, serde_json::Error> {
                match self { $(Body::$variant(data) => serde_json::to_value(data),)* }
            }

            pub(crate) fn from_json(type_name: &str, data: &str) -> Option<Result<Body, serde_json::Error>> {
                match type_name {
                    $($name => Some(serde_json::from_str(data).map(|data| Body::$variant(Box::new(data)))),)*
                    _ => None,
                }
            }

            pub(crate) fn from_value(type_name: &str, data: serde_json::Value) -> Option<Result<Body, serde_json::Error>> {
                match type_name {
                    $($name => Some(serde_json::from_value(data).map(|data| Body::$variant(Box::new(data)))),)*
                    _ => None,
                }
            }
        }

        $(impl From<$variant> for Body {
            fn from(data: $variant) -> Body {
                Body::$variant(Box::new(data))
            }
        })*

        /// One row of the table of event types.
        pub struct EventType {
            /// Name with major version.
            pub name: &'static str,
            /// Which service writes it.
            pub writer: &'static str,
            /// What a reader of the log believes differently after it.
            pub changes: &'static str,
            /// The JSON Schema of its payload.
            pub schema: fn() -> schemars::Schema,
        }

        /// Every event type that is written today, by name.
        pub const EVENT_TYPES: &[EventType] = &[
            $(EventType { name: $name, writer: $writer, changes: $changes, schema: || schemars::schema_for!($variant) },)*
        ];
    };
}

event_types! {
    AccountDefined = "account.defined.v1" by "gateway",
        "The account has this description and these coordinators.";
    AccountRemoved = "account.removed.v1" by "gateway",
        "The account is unknown. What was charged to it stays charged.";
    AssociationDefined = "association.defined.v1" by "gateway",
        "Jobs of the user on the account (and the account's place in the tree) follow these shares, QOS and limits from now on; what has been used stays counted.";
    AssociationRemoved = "association.removed.v1" by "gateway",
        "Nobody uses the cluster by this association any more. Running jobs go on and stay counted above it.";
    ClusterConfigured = "cluster.configured.v1" by "gateway",
        "The configuration is replaced. Nodes that are new wait for their agent; nodes that are no longer named take no \
         more work and go when their last run is released. Jobs keep their place.";
    JobCancelRequested = "job.cancel_requested.v1" by "gateway",
        "Waiting jobs and tasks are `CANCELLED` at once. Running ones are told to end, and are `CANCELLED` when their run \
         has ended. With `signal` nothing changes but that the signal is sent.";
    JobFinished = "job.finished.v1" by "planner",
        "A waiting job (of an array: its waiting tasks) is over with this state. Without effect on any other.";
    JobHeld = "job.held.v1" by "gateway",
        "The job does not start. What runs goes on, and is held if it comes back into the queue.";
    JobParted = "job.parted.v1" by "gateway",
        "Each of these waiting tasks is a job of its own that waits as the array does; the array's record waits for the \
         others.";
    JobReleased = "job.released.v1" by "gateway",
        "The job may start again, unless something else keeps it waiting. A priority that was set is forgotten.";
    JobRequeued = "job.requeued.v1" by "gateway",
        "An ended job waits again, not before two minutes from its end; a running one is told to end, and waits again then.";
    JobResumeRequested = "job.resume_requested.v1" by "gateway",
        "The run's CPUs are taken again and it is told to go on. Where somebody else has them by now it goes on when they \
         are free.";
    JobSubmitted = "job.submitted.v1" by "gateway",
        "The job waits. Its id, and of an array one id for each task, are taken for ever.";
    JobSuspendRequested = "job.suspend_requested.v1" by "gateway",
        "The running job is told to stop. It does not go on before somebody says so.";
    JobUpdated = "job.updated.v1" by "gateway",
        "What is present is the job's from now on. Of a running job only the name, the comment, the time limit and whether \
         it may be requeued change; of an ended job nothing.";
    LogDurabilityDeclared = "log.durability_declared.v1" by "gateway, planner",
        "What the log's acknowledgements mean, until the next such event.";
    LogVersionBarrier = "log.version_barrier.v1" by "gateway",
        "Nothing, for a reader that understands the format; every other reader stops here.";
    NodeLeaseLost = "node.lease_lost.v1" by "planner",
        "The node is `DOWN` for new work and not responding. Its runs go on.";
    NodeLeaseRegained = "node.lease_regained.v1" by "planner",
        "The node takes work again, unless it is set down or drained.";
    NodeRegistered = "node.registered.v1" by "agent",
        "The node can be given work, unless it is down or drained. Its GPUs are those named here. A lost lease is regained.";
    NodeTimedOut = "node.timed_out.v1" by "planner",
        "The runs on the node end at `last_evidence` as `NODE_FAIL`, marked as a bound, and their jobs wait again if they \
         may. What they hold there stays taken until the node releases it; an end that the node reports later corrects \
         the ledger's.";
    NodeUpdated = "node.updated.v1" by "gateway",
        "The node takes no more work, or takes it again. Set down, what runs there is told to end.";
    PartitionDeleted = "partition.deleted.v1" by "gateway",
        "The partition is gone until a configuration names it again. A job that waits in it nevertheless does not start \
         there.";
    PartitionUpdated = "partition.updated.v1" by "gateway",
        "The partition is as described, until the next such event or the next `cluster.configured`; one of a new name is \
         the last in order. Is it the default, no other is.";
    PlannerCycle = "planner.cycle.v1" by "planner",
        "Waiting jobs have the reasons named here; expected starts are replaced by `reservations`.";
    PrioritiesCalculated = "priorities.calculated.v1" by "planner",
        "What runs have used up to `at` counts, usage has faded, and fair shares and the priorities of waiting jobs are \
         calculated anew.";
    QosDefined = "qos.defined.v1" by "gateway",
        "Jobs of this QOS follow these rules and limits from now on; what has been used stays counted.";
    QosRemoved = "qos.removed.v1" by "gateway",
        "The QOS is unknown. Jobs that have it wait.";
    ReservationCreated = "reservation.created.v1" by "gateway",
        "The nodes are kept from its start to its end for jobs that name it and may use it. What runs there goes on.";
    ReservationDeleted = "reservation.deleted.v1" by "gateway",
        "The nodes are free for all. Waiting jobs that name no other reservation that there is are held, with the reason \
         `ReservationDeleted`.";
    ReservationUpdated = "reservation.updated.v1" by "gateway",
        "The reservation is the one named here. Runs in it end at its end, unless it is flexible.";
    RunAllocated = "run.allocated.v1" by "planner",
        "The job is `RUNNING` and its CPUs, memory and GPUs are taken. A task of an array becomes a job of its own. The \
         ledger's intervals of the run begin.";
    RunEnded = "run.ended.v1" by "agent",
        "The job ends with the state that follows from `cause` and `exit`, or waits again if it is to be requeued. What it \
         held stays taken until it is released.";
    RunLost = "run.lost.v1" by "agent",
        "The run ends at `last_evidence` and the ledger marks that end as a bound; the job is `NODE_FAIL`, or waits again \
         if it is to be requeued.";
    RunNodeReleased = "run.node_released.v1" by "agent",
        "What the run held on this node is free, and the ledger's intervals there end. A run whose end nobody told ends here.";
    RunPreempted = "run.preempted.v1" by "planner",
        "The run gives way: it is told to end by `grace_end`, and what it holds is kept for the job `by`. When it has ended, \
         its job is `PREEMPTED`, or waits again where `mode` says so. With the mode `suspend` it is told to stop instead, \
         and only its CPUs are kept.";
    RunResumeOrdered = "run.resume_ordered.v1" by "planner",
        "The CPUs of the run that was suspended for another job are taken again, and it is told to go on. Without effect \
         where somebody else has them.";
    RunResumed = "run.resumed.v1" by "agent",
        "The job is `RUNNING` again, and its time goes on.";
    RunStarted = "run.started.v1" by "agent",
        "The script's start is known, and the run's end cannot lie before it.";
    RunSuspended = "run.suspended.v1" by "agent",
        "The job is `SUSPENDED`, and its time stands still. Unless it has been told to go on meanwhile, its CPUs are free; \
         memory, GPUs and licences stay taken.";
    RunUsage = "run.usage.v1" by "agent",
        "In the detail stream; nothing of the state. The books have the run's peak, its CPU time and what went to and from disks, also while it runs.";
    RunUsedUp = "run.used_up.v1" by "planner",
        "The run is told to end, as at a time limit: its job is `TIMEOUT`.";
    UserDefined = "user.defined.v1" by "gateway",
        "The user has these defaults and this level.";
    UserRemoved = "user.removed.v1" by "gateway",
        "The user is unknown to the accounts.";
    WckeyDefined = "wckey.defined.v1" by "gateway",
        "The user may name this workload key.";
    WckeyRemoved = "wckey.removed.v1" by "gateway",
        "The user may no longer name this workload key.";
}
