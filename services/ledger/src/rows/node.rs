use std::collections::{BTreeMap, BTreeSet};

use daybook_schemas::api::CapacityClass;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::{GpuUuid, Mebibytes, NodeName, RunId, Seq};
use serde::{Deserialize, Serialize};

use super::{NODES, Row, Table};
use crate::keys;

/// A node with the open ends of its books. Goes when it is no longer configured and holds no run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NodeRow {
    /// As configured.
    pub(crate) cpus: u32,
    pub(crate) memory: Mebibytes,
    /// GPUs that the configuration names, with their index.
    pub(crate) configured_gpus: BTreeMap<GpuUuid, u32>,
    /// GPUs that the agent found; absent: it has never registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) registered_gpus: Option<BTreeMap<GpuUuid, u32>>,
    pub(crate) drain: bool,
    pub(crate) down: bool,
    /// Expected to fail.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) fail: bool,
    /// The machine's boot at the last registration.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) boot: String,
    /// Silent for too long: its runs have been given up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) timed_out: bool,
    /// Its agent is not heard.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) silent: bool,
    /// No longer configured; goes with its last run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) leaving: bool,
    /// What runs hold here.
    pub(crate) shares: BTreeMap<RunId, Share>,
    /// Installed GPUs.
    pub(crate) gpus: BTreeMap<GpuUuid, OpenGpu>,
    pub(crate) open: OpenCpus,
    /// The latest boundary of the node's books: they only go forward.
    pub(crate) boundary: i64,
    pub(crate) installed_since: i64,
}

/// What a run holds on a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Share {
    pub(crate) cpus: IndexSet,
    pub(crate) memory: Mebibytes,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) gpus: BTreeSet<GpuUuid>,
    pub(crate) from: i64,
    /// The node has been silent for too long: its books go on without this, and only the node can say that nothing of the
    /// run is there any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) given_up: bool,
    /// Of a run that is stopped: the CPUs that it has given back, and takes again to go on.
    #[serde(default, skip_serializing_if = "IndexSet::is_empty")]
    pub(crate) cpus_given_back: IndexSet,
}

/// The open interval of a GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenGpu {
    pub(crate) index: u32,
    pub(crate) class: CapacityClass,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<RunId>,
    pub(crate) from: i64,
    /// The commit that began it.
    pub(crate) seq: Seq,
    pub(crate) installed_since: i64,
    /// No longer named; goes when it is free.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) leaving: bool,
}

/// The open interval of a node's CPUs and memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OpenCpus {
    pub(crate) from: i64,
    pub(crate) seq: Seq,
    pub(crate) cpus: u32,
    pub(crate) cpus_allocated: u32,
    pub(crate) memory: Mebibytes,
    pub(crate) memory_allocated: Mebibytes,
    /// What is not allocated.
    pub(crate) rest: CapacityClass,
}

impl NodeRow {
    /// What the node's unallocated CPUs and memory are.
    pub(crate) fn class(&self) -> CapacityClass {
        if self.down || self.silent {
            CapacityClass::Down
        } else if self.registered_gpus.is_none() {
            CapacityClass::Unknown
        } else if self.drain || self.fail || self.leaving {
            CapacityClass::Drained
        } else {
            CapacityClass::Idle
        }
    }

    /// What an unallocated GPU is.
    pub(crate) fn gpu_class(&self, uuid: &GpuUuid) -> CapacityClass {
        let missing = self.registered_gpus.as_ref().is_some_and(|found| !found.contains_key(uuid));
        if missing { CapacityClass::Down } else { self.class() }
    }

    /// GPUs that count as installed, with their index: those of the last registration, and those that the configuration
    /// names in other places of the node.
    pub(crate) fn named_gpus(&self) -> BTreeMap<GpuUuid, u32> {
        let mut named = self.registered_gpus.clone().unwrap_or_default();
        let taken: BTreeSet<u32> = named.values().copied().collect();
        for (uuid, index) in &self.configured_gpus {
            if !taken.contains(index) {
                named.entry(uuid.clone()).or_insert(*index);
            }
        }
        named
    }

    /// What runs hold here in the books, by run.
    pub(crate) fn booked_shares(&self) -> impl Iterator<Item = (&RunId, &Share)> {
        self.shares.iter().filter(|(_, share)| !share.given_up)
    }

    /// The run that holds a GPU.
    pub(crate) fn holder(&self, uuid: &GpuUuid) -> Option<RunId> {
        self.booked_shares().find(|(_, share)| share.gpus.contains(uuid)).map(|(run, _)| *run)
    }
}

impl Row for NodeRow {
    type Key = NodeName;
    const TABLE: Table = NODES;
    fn key(key: &NodeName) -> Vec<u8> {
        keys::name(key.as_str())
    }
}
