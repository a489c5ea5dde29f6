//! Counts of what a job has or, while it waits, would get at least; in Slurm's TRES notation.

use std::collections::BTreeMap;

use daybook_schemas::Mebibytes;
use daybook_schemas::job::{GpuScope, JobState, MemoryRequest, ResourceRequest};
use daybook_schemas::node::{NodeDefinition, PartitionDefinition};
use daybook_schemas::run::RunNode;

use crate::cluster::Cluster;
use crate::fit::Demand;
use crate::job::Job;
use crate::run::Run;

/// What a job has, or would get at least.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Nodes.
    pub nodes: u32,
    /// CPUs.
    pub cpus: u32,
    /// Memory.
    pub memory: Mebibytes,
    /// By type; the empty type stands for any.
    pub gpus: BTreeMap<String, u32>,
    /// What is billed by the weights of a partition; `None`: the CPUs.
    pub billing: Option<u64>,
}

impl Counts {
    /// Of what a run was given.
    pub fn of_nodes(nodes: &[RunNode]) -> Counts {
        let mut counts = Counts { nodes: count(nodes.len() as u64), ..Counts::default() };
        for share in nodes {
            counts.cpus = counts.cpus.saturating_add(count(share.cpus.len()));
            counts.memory.0 = counts.memory.0.saturating_add(share.memory.0);
            for gpu in &share.gpus {
                *counts.gpus.entry(gpu.gpu_type.clone()).or_default() += 1;
            }
        }
        counts
    }

    /// Of a run, with what it is billed.
    pub fn of_run(run: &Run) -> Counts {
        Counts { billing: run.billing, ..Counts::of_nodes(&run.nodes) }
    }

    /// What is billed.
    pub fn billed(&self) -> u64 {
        self.billing.unwrap_or(self.cpus.into())
    }

    /// Of whole nodes.
    pub fn of_definitions<'a>(nodes: impl Iterator<Item = &'a NodeDefinition>) -> Counts {
        let mut counts = Counts::default();
        for node in nodes {
            counts.nodes = counts.nodes.saturating_add(1);
            counts.cpus = counts.cpus.saturating_add(node.cpus);
            counts.memory.0 = counts.memory.0.saturating_add(node.memory.0);
            for gpu in &node.gpus {
                *counts.gpus.entry(gpu.gpu_type.clone()).or_default() += 1;
            }
        }
        counts
    }

    /// The amount of a trackable resource by its name: `cpu`, `mem` (MiB), `node`, `billing`, `gres/gpu`,
    /// `gres/gpu:TYPE`; 0 for any other.
    pub fn amount(&self, tres: &str) -> u64 {
        match tres {
            "cpu" => self.cpus.into(),
            "billing" => self.billed(),
            "mem" => self.memory.0,
            "node" => self.nodes.into(),
            "gres/gpu" => total(&self.gpus),
            _ => {
                let of_type = tres.strip_prefix("gres/gpu:").and_then(|gpu_type| self.gpus.get(gpu_type));
                of_type.map_or(0, |count| u64::from(*count))
            }
        }
    }

    /// The least that a waiting request will get.
    pub fn of_request(cluster: &Cluster, job: &Job) -> Counts {
        Counts::of_asked(cluster, &job.request, first_partition(cluster, job))
    }

    /// The least that such a request would get in a partition.
    pub fn of_asked(
        cluster: &Cluster,
        request: &ResourceRequest,
        partition: Option<&PartitionDefinition>,
    ) -> Counts {
        let nodes = request.nodes_min.max(1);
        let cpus = request.tasks.saturating_mul(cpus_per_task(cluster, request, partition)).max(nodes);
        let mut gpus = BTreeMap::new();
        for wish in &request.gpus {
            let times = match wish.scope {
                GpuScope::Node => nodes,
                GpuScope::Job => 1,
                GpuScope::Task => request.tasks,
            };
            let gpu_type = wish.gpu_type.clone().unwrap_or_default();
            let count = gpus.entry(gpu_type).or_insert(0u32);
            *count = count.saturating_add(wish.count.saturating_mul(times));
        }
        let gpu_count = total(&gpus);
        let memory = match memory_of(cluster, request, partition) {
            Some(MemoryRequest::PerNode(each)) => each.0.saturating_mul(u64::from(nodes)),
            Some(MemoryRequest::PerCpu(each)) => each.0.saturating_mul(u64::from(cpus)),
            Some(MemoryRequest::PerGpu(each)) => each.0.saturating_mul(gpu_count),
            None => 0,
        };
        let mut counts = Counts { nodes, cpus, memory: Mebibytes(memory), gpus, billing: None };
        counts.billing = partition.and_then(|partition| cluster.bill(partition, &counts, &request.licenses));
        counts
    }

    /// `cpu=2,mem=1000M,node=1,billing=2,gres/gpu=2`, as scontrol shows it.
    pub fn notation(&self) -> String {
        let mut text = format!("cpu={}", self.cpus);
        if self.memory.0 > 0 {
            text.push_str(&format!(",mem={}M", self.memory));
        }
        text.push_str(&format!(",node={}", self.nodes));
        let billed = self.billed();
        if billed > 0 {
            text.push_str(&format!(",billing={billed}"));
        }
        let gpu_count = total(&self.gpus);
        if gpu_count > 0 {
            text.push_str(&format!(",gres/gpu={gpu_count}"));
        }
        for (gpu_type, count) in self.gpus.iter().filter(|(gpu_type, _)| !gpu_type.is_empty()) {
            text.push_str(&format!(",gres/gpu:{gpu_type}={count}"));
        }
        text
    }
}

/// Nodes that a job has or, while it waits, would get at least.
pub fn node_count(job: &Job, nodes: &[RunNode]) -> u32 {
    if nodes.is_empty() { job.request.nodes_min.max(1) } else { count(nodes.len() as u64) }
}

/// The partition whose defaults a job shows: of several that it may start in the first.
fn first_partition<'a>(cluster: &'a Cluster, job: &Job) -> Option<&'a PartitionDefinition> {
    let name = if job.state == JobState::Pending { job.partitions().first()? } else { &job.partition };
    cluster.partition(name).map(|partition| &**partition)
}

/// CPUs for each task, as asked or as the partition gives them by the GPU.
fn cpus_per_task(
    cluster: &Cluster,
    request: &ResourceRequest,
    partition: Option<&PartitionDefinition>,
) -> u32 {
    match (partition, cluster.configured()) {
        (Some(partition), Some(configured)) if partition.default_cpus_per_gpu.is_some() => {
            Demand::new(request, partition, &configured.parameters).cpus_per_task
        }
        _ => request.cpus_per_task,
    }
}

/// The memory that a job asks for, or what its partition or cluster gives it by default.
pub fn memory_request(cluster: &Cluster, job: &Job) -> Option<MemoryRequest> {
    memory_of(cluster, &job.request, first_partition(cluster, job))
}

fn memory_of(
    cluster: &Cluster,
    request: &ResourceRequest,
    partition: Option<&PartitionDefinition>,
) -> Option<MemoryRequest> {
    let of_cluster = || cluster.configured()?.parameters.default_memory;
    request.memory.or_else(|| partition?.default_memory).or_else(of_cluster)
}

/// A request may name more than there can be.
fn total(gpus: &BTreeMap<String, u32>) -> u64 {
    gpus.values().map(|count| u64::from(*count)).sum()
}

fn count(length: u64) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
