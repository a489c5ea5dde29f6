use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::node::{GpuDevice, NodeDefinition, NodeUpdateState, PartitionDefinition};
use crate::units::{Mebibytes, NodeName, RunId, Seq, UtcMicros};

/// `GET /v1/ping`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ping {
    pub version: String,
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
    pub cpus: u32,
    pub memory: Mebibytes,
    pub gpus: u32,
}

/// `GET /v1/nodes`: each node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeView {
    pub definition: NodeDefinition,
    pub state: NodeState,
    /// No new work: shown as draining while something runs, else drained.
    pub drain: bool,
    /// Its agent does not answer (`*`).
    pub not_responding: bool,
    /// Empty: none.
    pub reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_set_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_uid: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_set_at: Option<UtcMicros>,
    pub allocated: ResourceCounts,
    /// Free GPUs by index are those not named here.
    pub gpus_allocated: Vec<GpuDevice>,
    pub runs: Vec<RunId>,
    pub partitions: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registered_at: Option<UtcMicros>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent_version: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub operating_system: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub architecture: String,
}

/// `GET /v1/partitions`: each partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionView {
    pub definition: PartitionDefinition,
    pub total_cpus: u32,
    pub total_nodes: u32,
    /// Total TRES in Slurm's notation.
    pub tres: String,
}

/// `POST /v1/nodes/update`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeUpdateRequest {
    pub request_id: String,
    pub nodes: Vec<NodeName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<NodeUpdateState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
