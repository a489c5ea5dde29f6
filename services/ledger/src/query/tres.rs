//! What a record asked for and what it was given, counted.

use std::collections::BTreeMap;

use daybook_schemas::Mebibytes;
use daybook_schemas::grammar::tres::TresCounts;
use daybook_schemas::job::{GpuScope, MemoryRequest, ResourceRequest};

use crate::rows::{RecordRow, RunShare, SubmissionRow};

/// Nodes, CPUs, memory and GPUs that a request asks for at least.
pub(super) fn requested(row: &RecordRow, submission: &SubmissionRow) -> TresCounts {
    let request = row.changes.request.as_ref().unwrap_or(&submission.request);
    let nodes = nodes(request);
    let tasks = u64::from(request.tasks.max(1));
    let cpus = tasks.max(nodes) * u64::from(request.cpus_per_task.max(1));
    let gpus = gpus(request, nodes, tasks);
    let gpu_total: u64 = gpus.values().sum();
    let asked = match request.memory.or(submission.default_memory) {
        Some(MemoryRequest::PerNode(each)) => each.0.saturating_mul(nodes),
        Some(MemoryRequest::PerCpu(each)) => each.0.saturating_mul(cpus),
        Some(MemoryRequest::PerGpu(each)) => each.0.saturating_mul(gpu_total),
        None => 0,
    };
    // All of the node's memory is a figure only once it is known which node.
    let memory = if asked > 0 { asked } else { memory(&row.shares) };
    let mut counts = TresCounts { cpus, memory: Mebibytes(memory), nodes, billing: Some(cpus), gpus };
    if let Some(weights) = &submission.billing_weights {
        counts.billing = Some(weights.bill(submission.billing_rule, |name| amount(name, &counts, request)));
    }
    counts
}

/// What a run was given.
pub(super) fn allocated(row: &RecordRow, submission: &SubmissionRow) -> TresCounts {
    let request = row.changes.request.as_ref().unwrap_or(&submission.request);
    let cpus = row.shares.iter().map(|share| u64::from(share.cpus)).sum();
    TresCounts {
        cpus,
        memory: Mebibytes(memory(&row.shares)),
        nodes: row.shares.len() as u64,
        billing: Some(row.billing.unwrap_or(cpus)),
        gpus: given(&row.shares, names_types(request)),
    }
}

/// What a run was given on its first node, where the batch script is.
pub(super) fn of_batch(share: &RunShare, types: bool) -> TresCounts {
    TresCounts {
        cpus: u64::from(share.cpus),
        memory: share.memory,
        nodes: 1,
        billing: None,
        gpus: given(std::slice::from_ref(share), types),
    }
}

/// Whether the request names a type of GPU; then counts by type are shown behind the total.
pub(super) fn names_types(request: &ResourceRequest) -> bool {
    request.gpus.iter().any(|gpus| gpus.gpu_type.is_some())
}

/// How much of a resource that has a weight a request asks for.
fn amount(name: &str, counts: &TresCounts, request: &ResourceRequest) -> u64 {
    if let Some(license) = name.strip_prefix("license/") {
        let licenses = request.licenses.iter().filter(|asked| asked.name == license);
        return licenses.map(|asked| u64::from(asked.count)).sum();
    }
    match name {
        "cpu" => counts.cpus,
        "mem" => counts.memory.0,
        "node" => counts.nodes,
        "gres/gpu" => counts.gpu_total(),
        _ => {
            let gpu_type = name.strip_prefix("gres/gpu:");
            gpu_type.and_then(|gpu_type| counts.gpus.get(gpu_type)).copied().unwrap_or(0)
        }
    }
}

/// The fewest nodes that a request takes.
fn nodes(request: &ResourceRequest) -> u64 {
    u64::from(request.nodes_min.max(1)).max(request.nodes_required.len() as u64)
}

fn memory(shares: &[RunShare]) -> u64 {
    shares.iter().fold(0, |sum, share| sum.saturating_add(share.memory.0))
}

fn gpus(request: &ResourceRequest, nodes: u64, tasks: u64) -> BTreeMap<String, u64> {
    let mut gpus: BTreeMap<String, u64> = BTreeMap::new();
    for asked in &request.gpus {
        let times = match asked.scope {
            GpuScope::Node => nodes,
            GpuScope::Job => 1,
            GpuScope::Task => tasks,
        };
        *gpus.entry(asked.gpu_type.clone().unwrap_or_default()).or_default() +=
            u64::from(asked.count) * times;
    }
    gpus
}

fn given(shares: &[RunShare], types: bool) -> BTreeMap<String, u64> {
    let mut gpus: BTreeMap<String, u64> = BTreeMap::new();
    for gpu in shares.iter().flat_map(|share| &share.gpus) {
        *gpus.entry(if types { gpu.gpu_type.clone() } else { String::new() }).or_default() += 1;
    }
    gpus
}
