use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::node::{GpuDevice, NodeDefinition, NodeUpdateState, PartitionDefinition};
use crate::units::{Mebibytes, NodeName, RunId, Seq, UtcMicros};

/// `GET /v1/ping`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ping {
    /// Version of the daemon.
    pub version: String,
    /// The cluster's name.
    pub cluster: String,
    /// The machine that answers.
    pub host: String,
    /// The last commit of the state stream.
    pub end: Seq,
    /// The last commit that the live queue shows.
    pub shown: Seq,
    /// Server's process id.
    pub pid: u32,
}

/// Slurm's state of a node as shown, without flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeState {
    /// Not registered yet.
    Unknown,
    Down,
    Idle,
    /// Some CPUs are given.
    Mixed,
    /// All CPUs are given.
    Allocated,
    /// A run has ended and is not yet cleaned up.
    Completing,
}

/// CPUs, memory and GPUs, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceCounts {
    /// CPUs.
    pub cpus: u32,
    /// Memory in MiB.
    pub memory: Mebibytes,
    /// GPUs.
    pub gpus: u32,
}

/// `GET /v1/nodes`: each node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeView {
    /// The node as configured.
    pub definition: NodeDefinition,
    /// How it stands.
    pub state: NodeState,
    /// No new work: shown as draining while something runs, else drained.
    pub drain: bool,
    /// Expected to fail: no new work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail: bool,
    /// Something of it is kept for a job that starts later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub planned: bool,
    /// The features that it has now; absent: all of the definition's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_features: Option<Vec<String>>,
    /// A remark; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
    /// The site's own text; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub extra: String,
    /// Its agent does not answer (`*`).
    pub not_responding: bool,
    /// Empty: none.
    pub reason: String,
    /// Who gave the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_set_by: Option<String>,
    /// The same as a user id; absent: a service did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_uid: Option<u32>,
    /// When it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_set_at: Option<UtcMicros>,
    /// What runs have of it.
    pub allocated: ResourceCounts,
    /// Free GPUs by index are those not named here.
    pub gpus_allocated: Vec<GpuDevice>,
    /// The runs that hold something here.
    pub runs: Vec<RunId>,
    /// The reservation that is in force there; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// Whether that is for maintenance.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub maintenance: bool,
    /// The partitions that it is in.
    pub partitions: Vec<String>,
    /// When its agent registered; absent: not yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered_at: Option<UtcMicros>,
    /// The kernel's boot id, as registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    /// Version of its agent; empty: not registered.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent_version: String,
    /// `uname -sr` there; empty: not registered.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub operating_system: String,
    /// Machine architecture; empty: not registered.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub architecture: String,
    /// In what way its runs are not confined although they should be; empty: they are as configured.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unconfined: String,
}

/// `GET /v1/partitions`: each partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionView {
    /// The partition as configured.
    pub definition: PartitionDefinition,
    /// CPUs of its nodes.
    pub total_cpus: u32,
    /// Its nodes.
    pub total_nodes: u32,
    /// Total TRES in Slurm's notation.
    pub tres: String,
    /// How runs there give way; absent: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempt_mode: Option<crate::accounts::PreemptMode>,
}

/// `GET /v1/licenses`: each licence, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LicenseView {
    /// Its name.
    pub name: String,
    /// How many the cluster has; 0: it is no longer configured and still in use.
    pub total: u32,
    /// How many running jobs hold. More than `total` where fewer have been configured since.
    pub used: u64,
    /// How many may be taken.
    pub free: u32,
}

/// `POST /v1/nodes/update`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeUpdateRequest {
    /// Chosen by the client, unique; the same id again changes nothing more.
    pub request_id: String,
    /// Which nodes.
    pub nodes: Vec<NodeName>,
    /// What to set them to; absent: as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<NodeUpdateState>,
    /// With `state` resume: no error where there is nothing to come back from (Slurm's `IDLE`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unless_idle: bool,
    /// Why; required for drain, down and fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The new weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// The features that they may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub features: Option<Vec<String>>,
    /// The features of those that they have now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_features: Option<Vec<String>>,
    /// Only accepted as it is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gres: Option<String>,
    /// A remark; empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The site's own text; empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<String>,
}

/// `POST /v1/partitions/create` and `/v1/partitions/update`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionChange {
    /// Chosen by the client, unique; the same id again changes nothing more.
    pub request_id: String,
    /// Which partition.
    pub name: String,
    /// What to set, each key once, as on a `PartitionName` line of `slurm.conf`.
    pub settings: Vec<PartitionSetting>,
}

/// A key of a partition and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionSetting {
    /// Such as `MaxTime`, in any letter case.
    pub key: String,
    /// Such as `1-12:00:00`.
    pub value: String,
}

/// `POST /v1/partitions/delete`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionDeletion {
    /// Chosen by the client, unique; the same id again changes nothing more.
    pub request_id: String,
    /// Which partition. One that a job waits for or runs in is not deleted.
    pub name: String,
}

/// `POST /v1/reconfigure`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reconfiguration {
    /// Chosen by the client, unique; the same id again changes nothing more.
    pub request_id: String,
}
