use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::node::GpuDevice;
use crate::units::{Mebibytes, NodeName};

/// An agent serves this node: it can be given work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeRegistered {
    /// The node.
    pub node: NodeName,
    /// The kernel's boot id; another one means that the machine was restarted.
    pub boot_id: String,
    /// CPUs found (of a simulated node: as declared).
    pub cpus: u32,
    /// Memory found.
    pub memory: Mebibytes,
    /// GPUs in use: the declared or found ones whose device is there.
    pub gpus: Vec<GpuDevice>,
    /// Version of the agent.
    pub agent_version: String,
    /// `uname -sr`.
    pub operating_system: String,
    /// Machine architecture.
    pub architecture: String,
    /// In what way its runs are not confined although they should be, for people; absent: they are as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconfined: Option<String>,
}
