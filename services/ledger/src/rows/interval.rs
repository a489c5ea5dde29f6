use daybook_schemas::api::CapacityClass;
use daybook_schemas::node::NodeUpdateState;
use daybook_schemas::{Mebibytes, NodeName, RunId, Seq, UtcMicros};
use serde::{Deserialize, Serialize};

/// A closed interval of a GPU; the key has node, uuid and begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct GpuInterval {
    pub(crate) to: i64,
    pub(crate) class: CapacityClass,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<RunId>,
    /// The commits that began and ended it.
    pub(crate) seqs: (Seq, Seq),
}

/// A closed interval of a node's CPUs and memory; the key has node and begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CpuInterval {
    pub(crate) to: i64,
    pub(crate) cpus: u32,
    pub(crate) cpus_allocated: u32,
    pub(crate) memory: Mebibytes,
    pub(crate) memory_allocated: Mebibytes,
    pub(crate) rest: CapacityClass,
    pub(crate) seqs: (Seq, Seq),
}

/// What a run had of a node's CPUs and memory; the key has node, begin and run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ShareInterval {
    pub(crate) to: i64,
    pub(crate) cpus: u32,
    pub(crate) memory: Mebibytes,
}

/// Installed time of a GPU or a node; the key has its begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Span {
    /// Absent: still installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) to: Option<i64>,
}

/// An allocation that had been overtaken when it came into the log: it gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VoidAllocation {
    /// Where it stands in the log.
    pub seq: Seq,
    /// The log's time of it.
    pub at: UtcMicros,
    /// The run that it would have been.
    pub run: RunId,
    /// The nodes that it named.
    pub nodes: Vec<NodeName>,
    /// Why it is void.
    pub why: String,
}

/// What happened to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeAct {
    /// A configuration names it for the first time.
    Added,
    /// A configuration no longer names it.
    Removed,
    /// Its agent registered.
    Registered,
    /// Somebody set its state.
    Set(NodeUpdateState),
    /// Somebody changed only the reason.
    Reason,
    /// Its agent is not heard.
    LeaseLost,
    /// Its agent is heard again.
    LeaseRegained,
    /// It has been silent for too long: its runs have been given up.
    TimedOut,
}

/// A line of a node's history: what happened, when, and who did it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeHistory {
    /// Where it stands in the log.
    pub seq: Seq,
    /// The log's time of it.
    pub at: UtcMicros,
    /// What.
    pub act: NodeAct,
    /// The name of who did it.
    pub by: String,
    /// Their user id; absent for a service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// The reason given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
