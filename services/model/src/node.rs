use std::sync::Arc;

use daybook_schemas::api::NodeState;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::node::{GpuDevice, NodeDefinition};
use daybook_schemas::{Mebibytes, RunId, Seq, UtcMicros};
use imbl::OrdSet;
use serde::{Deserialize, Serialize};

/// What an agent said when it registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Registration {
    /// The machine's boot.
    pub boot_id: String,
    /// The log's time.
    pub at: UtcMicros,
    /// GPUs in use there.
    pub gpus: Vec<GpuDevice>,
    /// Version of the agent.
    pub agent_version: String,
    /// `uname -sr`.
    pub operating_system: String,
    /// Machine architecture.
    pub architecture: String,
    /// In what way its runs are not confined although they should be; absent: they are as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconfined: Option<String>,
}

/// Why a node is as it is, and who said so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeReason {
    /// The text.
    pub text: String,
    /// Who.
    pub by: String,
    /// Their user id, if it was a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// The log's time.
    pub at: UtcMicros,
}

/// What is known of a node whose agent is not heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// When it was heard last.
    pub last_heard: UtcMicros,
    /// Since when it counts as silent: the log's time.
    pub noticed: UtcMicros,
    /// Whether its runs have been given up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

/// A node and what of it is given away.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// As configured.
    pub definition: Arc<NodeDefinition>,
    /// Its place in the configuration, from 0.
    pub order: u32,
    /// Its agent's registration; without one it gets no work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration: Option<Arc<Registration>>,
    /// No new work.
    pub drain: bool,
    /// Set down by an administrator, or by `ReturnToService` when it came back.
    pub down: bool,
    /// Expected to fail: no new work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail: bool,
    /// Those of its features that it has now; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_features: Option<Arc<[String]>>,
    /// A remark for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<Arc<str>>,
    /// The site's own text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra: Option<Arc<str>>,
    /// No longer configured; goes when its last run is released.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retired: bool,
    /// Its agent is not heard: no new work, and what runs here goes on until it is given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silence: Option<Silence>,
    /// The log's time of the last commit that its agent has written.
    #[serde(default)]
    pub last_reported: UtcMicros,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Arc<NodeReason>>,
    /// CPUs given away, by index.
    pub cpus_allocated: IndexSet,
    /// Memory given away.
    pub memory_allocated: Mebibytes,
    /// GPUs given away, by index.
    pub gpus_allocated: IndexSet,
    /// Runs that hold something here.
    pub runs: OrdSet<RunId>,
    /// The last commit that changed what the node has, gives, or should be doing.
    pub changed: Seq,
}

impl Node {
    /// Whether the planner may start something here.
    pub fn is_schedulable(&self) -> bool {
        self.is_up() && !self.drain && !self.fail
    }

    /// The features that it has now.
    pub fn features(&self) -> &[String] {
        self.active_features.as_deref().unwrap_or(&self.definition.features)
    }

    /// Whether an agent serves it and nobody has set it down: what the log accepts an allocation for.
    pub fn is_up(&self) -> bool {
        self.registration.is_some() && self.silence.is_none() && !self.down && !self.retired
    }

    /// GPUs that can be given: those registered, else (never registered) none.
    pub fn gpus(&self) -> &[GpuDevice] {
        self.registration.as_ref().map_or(&[], |registration| &registration.gpus)
    }

    /// The GPUs that it has when nothing is broken.
    pub fn unbroken_gpus(&self) -> &[GpuDevice] {
        let declared = self.definition.gpus.as_slice();
        if declared.len() >= self.gpus().len() { declared } else { self.gpus() }
    }

    /// CPUs not given away.
    pub fn cpus_free(&self) -> u32 {
        self.definition.cpus.saturating_sub(self.cpus_allocated.len() as u32)
    }

    /// Memory not given away.
    pub fn memory_free(&self) -> Mebibytes {
        Mebibytes(self.definition.memory.0.saturating_sub(self.memory_allocated.0))
    }

    /// GPUs not given away, in order of index.
    pub fn gpus_free(&self) -> impl Iterator<Item = &GpuDevice> {
        self.gpus().iter().filter(|gpu| !self.gpus_allocated.contains(gpu.index))
    }

    /// Slurm's state without flags; `completing` says whether a run that has ended still holds something here.
    pub fn base_state(&self, completing: bool) -> NodeState {
        if self.down || self.silence.is_some() {
            NodeState::Down
        } else if self.registration.is_none() {
            NodeState::Unknown
        } else if completing {
            NodeState::Completing
        } else if self.cpus_allocated.is_empty() {
            // As in Slurm: also where suspended runs hold something.
            NodeState::Idle
        } else if self.cpus_free() == 0 {
            NodeState::Allocated
        } else {
            NodeState::Mixed
        }
    }
}
