//! Requests for GPUs in Slurm's notation.

use daybook_schemas::job::{GpuScope, ResourceRequest};

/// GPUs asked for with one scope: `gpu:2`, `gpu:a100:2`, joined by commas; `None`: none.
pub(crate) fn gpu_notation(request: &ResourceRequest, scope: GpuScope, prefix: &str) -> Option<String> {
    let parts: Vec<String> = request
        .gpus
        .iter()
        .filter(|wish| wish.scope == scope)
        .map(|wish| match &wish.gpu_type {
            Some(gpu_type) => format!("{prefix}{gpu_type}:{}", wish.count),
            None => format!("{prefix}{}", wish.count),
        })
        .collect();
    (!parts.is_empty()).then(|| parts.join(","))
}
