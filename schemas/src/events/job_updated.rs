use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::job::{Dependencies, ResourceRequest, TimeLimit};
use crate::units::{JobId, UtcMicros};

/// Somebody changed a job. Only what is present changes. Of an ended job: without effect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobUpdated {
    /// The job (of an array: its waiting tasks).
    pub job: JobId,
    /// New name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// New comment; empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Another partition, of a waiting job only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Another account, of a waiting job only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// Another quality of service, of a waiting job only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos: Option<String>,
    /// Another workload key, of a waiting job only; as in a submission, and empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wckey: Option<String>,
    /// New time limit, also of a running job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit: Option<TimeLimit>,
    /// A start that must not be before; an instant in the past lifts the bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin: Option<UtcMicros>,
    /// New `nice`, of a waiting job only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nice: Option<i32>,
    /// The site's own part of the priority, of a waiting job only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site_factor: Option<i32>,
    /// Whether it may start again after it was interrupted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requeue: Option<bool>,
    /// New conditions; without any: no more dependencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Dependencies>,
    /// New request, of a waiting job only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<ResourceRequest>,
    /// Other reservations, joined by commas, of a waiting job only; empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// A priority that stays as it is until the next such change or a release, of a waiting job only. It takes back `nice`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// The shortest limit that it may be given to start earlier; 0 minutes: none but its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_min: Option<TimeLimit>,
    /// By when it must have ended; 0: whenever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<UtcMicros>,
    /// `ArrayTaskThrottle`; 0: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array_running_max: Option<u32>,
}
