//! Amounts of trackable resources, as limits count them.

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_schemas::license::License;
use serde::{Deserialize, Serialize};

use crate::counts::Counts;

/// A trackable resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tres {
    /// CPUs.
    Cpu,
    /// Memory, in MiB.
    Memory,
    /// Nodes of each run: one that two runs share counts twice.
    Node,
    /// GPUs of all types.
    Gpu,
    /// GPUs of one type.
    GpuOf(Arc<str>),
    /// A licence.
    License(Arc<str>),
    /// What is billed: CPUs, or what the partition's weights make of all that a run has.
    Billing,
    /// Runs: what `GrpWall` counts by time.
    Run,
}

/// Amounts by resource; what is absent is 0.
pub type Amounts = BTreeMap<Tres, u64>;

impl Tres {
    /// The resource of a limit's name: `cpu`, `mem`, `node`, `billing`, `gres/gpu`, `gres/gpu:TYPE`, `license/NAME`.
    pub fn parse(name: &str) -> Option<Tres> {
        let named = |prefix| name.strip_prefix(prefix).map(Arc::from);
        match name {
            "cpu" => Some(Tres::Cpu),
            "billing" => Some(Tres::Billing),
            "mem" => Some(Tres::Memory),
            "node" => Some(Tres::Node),
            "gres/gpu" => Some(Tres::Gpu),
            _ => named("gres/gpu:").map(Tres::GpuOf).or_else(|| named("license/").map(Tres::License)),
        }
    }
}

/// What counts of a run, or of a request, are as amounts. GPUs count by type as far as it is known.
pub(crate) fn amounts(counts: &Counts, licenses: &[License]) -> Amounts {
    let gpus = counts.gpus.values().map(|count| u64::from(*count)).sum();
    let all = [
        (Tres::Cpu, counts.cpus.into()),
        (Tres::Memory, counts.memory.0),
        (Tres::Node, counts.nodes.into()),
        (Tres::Gpu, gpus),
        (Tres::Billing, counts.billed()),
        (Tres::Run, 1),
    ];
    let typed = counts.gpus.iter().filter(|(gpu_type, _)| !gpu_type.is_empty());
    let typed = typed.map(|(gpu_type, count)| (Tres::GpuOf(Arc::from(gpu_type.as_str())), u64::from(*count)));
    let licenses = licenses
        .iter()
        .map(|license| (Tres::License(Arc::from(license.name.as_str())), u64::from(license.count)));
    all.into_iter().chain(typed).chain(licenses).filter(|(_, amount)| *amount > 0).collect()
}
