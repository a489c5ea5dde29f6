//! A node's GPUs in Slurm's notation of generic resources.

use std::collections::BTreeMap;

use daybook_schemas::api::NodeView;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::run::AllocatedGpu;

/// `gpu:a100:4` as configured, or `(null)`.
pub fn configured(node: &NodeView) -> &str {
    if node.definition.gres.is_empty() { "(null)" } else { &node.definition.gres }
}

/// `gpu:a100:2(IDX:0-1)`, `gpu:a100:0(IDX:N/A)`; without GPUs `gpu:0`.
pub fn used(node: &NodeView) -> String {
    if node.definition.gpus.is_empty() {
        return "gpu:0".to_string();
    }
    let mut by_type: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for gpu in &node.definition.gpus {
        let indices = by_type.entry(&gpu.gpu_type).or_default();
        if node.gpus_allocated.iter().any(|allocated| allocated.index == gpu.index) {
            indices.push(gpu.index);
        }
    }
    by_type.into_iter().map(|(gpu_type, indices)| counted(gpu_type, &indices)).collect::<Vec<_>>().join(",")
}

/// `gpu:a100:2(IDX:0-1)` of what a run has on one node; empty: nothing.
pub fn of_run(gpus: &[AllocatedGpu]) -> String {
    let mut by_type: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for gpu in gpus {
        by_type.entry(&gpu.gpu_type).or_default().push(gpu.index);
    }
    by_type.into_iter().map(|(gpu_type, indices)| counted(gpu_type, &indices)).collect::<Vec<_>>().join(",")
}

fn counted(gpu_type: &str, indices: &[u32]) -> String {
    let colon = if gpu_type.is_empty() { "" } else { ":" };
    let list = match indices {
        [] => "N/A".to_string(),
        indices => indices.iter().copied().collect::<IndexSet>().to_string(),
    };
    format!("gpu{colon}{gpu_type}:{}(IDX:{list})", indices.len())
}
