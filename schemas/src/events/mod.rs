//! The closed list of event types, one file each.
//!
//! Adding one: a file here, and one line in [`Body`]'s table below. The type's name carries the major
//! version; inside a major version fields are only added, with defaults.

mod cluster_configured;
mod job_cancel_requested;
mod job_finished;
mod job_held;
mod job_released;
mod job_requeued;
mod job_submitted;
mod job_updated;
mod log_version_barrier;
mod node_registered;
mod node_updated;
mod planner_cycle;
mod run_allocated;
mod run_ended;
mod run_lost;
mod run_node_released;
mod run_started;

pub use cluster_configured::{ClusterConfigured, ConfigurationSource};
pub use job_cancel_requested::JobCancelRequested;
pub use job_finished::JobFinished;
pub use job_held::JobHeld;
pub use job_released::JobReleased;
pub use job_requeued::JobRequeued;
pub use job_submitted::JobSubmitted;
pub use job_updated::JobUpdated;
pub use log_version_barrier::LogVersionBarrier;
pub use node_registered::NodeRegistered;
pub use node_updated::NodeUpdated;
pub use planner_cycle::{PlannedStart, PlannerCycle, ReasonChange};
pub use run_allocated::{ArrayTaskId, RunAllocated};
pub use run_ended::RunEnded;
pub use run_lost::RunLost;
pub use run_node_released::RunNodeReleased;
pub use run_started::RunStarted;

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
    ($($variant:ident = $name:literal by $writer:literal),* $(,)?) => {
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
            /// The JSON Schema of its payload.
            pub schema: fn() -> schemars::Schema,
        }

        /// Every event type that is written today, by name.
        pub const EVENT_TYPES: &[EventType] = &[
            $(EventType { name: $name, writer: $writer, schema: || schemars::schema_for!($variant) },)*
        ];
    };
}

event_types! {
    ClusterConfigured = "cluster.configured.v1" by "gateway",
    JobCancelRequested = "job.cancel_requested.v1" by "gateway",
    JobFinished = "job.finished.v1" by "planner",
    JobHeld = "job.held.v1" by "gateway",
    JobReleased = "job.released.v1" by "gateway",
    JobRequeued = "job.requeued.v1" by "gateway",
    JobSubmitted = "job.submitted.v1" by "gateway",
    JobUpdated = "job.updated.v1" by "gateway",
    LogVersionBarrier = "log.version_barrier.v1" by "gateway",
    NodeRegistered = "node.registered.v1" by "agent",
    NodeUpdated = "node.updated.v1" by "gateway",
    PlannerCycle = "planner.cycle.v1" by "planner",
    RunAllocated = "run.allocated.v1" by "planner",
    RunEnded = "run.ended.v1" by "agent",
    RunLost = "run.lost.v1" by "agent",
    RunNodeReleased = "run.node_released.v1" by "agent",
    RunStarted = "run.started.v1" by "agent",
}
