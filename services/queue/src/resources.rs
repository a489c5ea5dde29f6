//! Counts of what a job has or, while it waits, would get at least; in Slurm's TRES notation.

use std::collections::BTreeMap;

use daybook_model::fit::Demand;
use daybook_model::{Cluster, Job};
use daybook_schemas::Mebibytes;
use daybook_schemas::job::{GpuScope, JobState, MemoryRequest, ResourceRequest};
use daybook_schemas::node::PartitionDefinition;
use daybook_schemas::run::RunNode;

/// What a job has, or would get at least.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) nodes: u32,
    pub(crate) cpus: u32,
    pub(crate) memory: Mebibytes,
    /// By type; the empty type stands for any.
    pub(crate) gpus: BTreeMap<String, u32>,
}

impl Counts {
    pub(crate) fn of_nodes(nodes: &[RunNode]) -> Counts {
        let mut counts = Counts { nodes: nodes.len() as u32, ..Counts::default() };
        for share in nodes {
            counts.cpus += share.cpus.len() as u32;
            counts.memory.0 += share.memory.0;
            for gpu in &share.gpus {
                *counts.gpus.entry(gpu.gpu_type.clone()).or_default() += 1;
            }
        }
        counts
    }

    /// The least that a waiting request will get.
    pub(crate) fn of_request(cluster: &Cluster, job: &Job) -> Counts {
        let request = &job.request;
        let nodes = node_count(job, &[]);
        let cpus = request.tasks.saturating_mul(cpus_per_task(cluster, job)).max(nodes);
        let mut gpus = BTreeMap::new();
        for wish in &request.gpus {
            let times = match wish.scope {
                GpuScope::Node => nodes,
                GpuScope::Job => 1,
                GpuScope::Task => request.tasks,
            };
            let gpu_type = wish.gpu_type.clone().unwrap_or_default();
            *gpus.entry(gpu_type).or_default() += wish.count.saturating_mul(times);
        }
        let gpu_count = gpus.values().sum::<u32>();
        let memory = match memory_request(cluster, job) {
            Some(MemoryRequest::PerNode(each)) => each.0.saturating_mul(u64::from(nodes)),
            Some(MemoryRequest::PerCpu(each)) => each.0.saturating_mul(u64::from(cpus)),
            Some(MemoryRequest::PerGpu(each)) => each.0.saturating_mul(u64::from(gpu_count)),
            None => 0,
        };
        Counts { nodes, cpus, memory: Mebibytes(memory), gpus }
    }

    /// `cpu=2,mem=1000M,node=1,billing=2,gres/gpu=2`, as scontrol shows it.
    pub(crate) fn notation(&self) -> String {
        let mut text = format!("cpu={}", self.cpus);
        if self.memory.0 > 0 {
            text.push_str(&format!(",mem={}M", self.memory));
        }
        text.push_str(&format!(",node={},billing={}", self.nodes, self.cpus));
        let total: u32 = self.gpus.values().sum();
        if total > 0 {
            text.push_str(&format!(",gres/gpu={total}"));
        }
        for (gpu_type, count) in self.gpus.iter().filter(|(gpu_type, _)| !gpu_type.is_empty()) {
            text.push_str(&format!(",gres/gpu:{gpu_type}={count}"));
        }
        text
    }
}

/// Nodes that a job has or, while it waits, would get at least.
pub(crate) fn node_count(job: &Job, nodes: &[RunNode]) -> u32 {
    if nodes.is_empty() { job.request.nodes_min.max(1) } else { nodes.len() as u32 }
}

/// The partition whose defaults a job shows: of several that it may start in the first.
fn first_partition<'a>(cluster: &'a Cluster, job: &Job) -> Option<&'a PartitionDefinition> {
    let name = if job.state == JobState::Pending { job.partitions().first()? } else { &job.partition };
    cluster.partition(name).map(|partition| &**partition)
}

/// CPUs for each task, as asked or as the partition gives them by the GPU.
fn cpus_per_task(cluster: &Cluster, job: &Job) -> u32 {
    let asked = job.request.cpus_per_task;
    match (first_partition(cluster, job), cluster.configured()) {
        (Some(partition), Some(configured)) if partition.default_cpus_per_gpu.is_some() => {
            Demand::new(&job.request, partition, &configured.parameters).cpus_per_task
        }
        _ => asked,
    }
}

/// The memory that a job asks for, or what its partition or cluster gives it by default.
pub(crate) fn memory_request(cluster: &Cluster, job: &Job) -> Option<MemoryRequest> {
    job.request
        .memory
        .or_else(|| first_partition(cluster, job)?.default_memory)
        .or_else(|| cluster.configured()?.parameters.default_memory)
}

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
