use daybook_schemas::Mebibytes;
use daybook_schemas::job::{GpuScope, MemoryRequest, ResourceRequest};
use daybook_schemas::node::{ClusterParameters, PartitionDefinition};

use super::site::Free;

/// How much memory a run takes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryNeed {
    /// None is counted.
    Nothing,
    /// All that the node has.
    Whole,
    /// MiB on each node.
    PerNode(u64),
    /// MiB for each CPU given.
    PerCpu(u64),
    /// MiB for each GPU given.
    PerGpu(u64),
}

/// Numbers of GPUs by type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuCounts<'a> {
    /// Of these types, sorted by type, each once.
    pub typed: Vec<(&'a str, u32)>,
    /// Of any type.
    pub any: u32,
}

impl<'a> GpuCounts<'a> {
    /// All of them together.
    pub fn total(&self) -> u32 {
        self.typed.iter().fold(self.any, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.total() == 0
    }

    fn add(&mut self, gpu_type: Option<&'a str>, count: u32) {
        let Some(gpu_type) = gpu_type else {
            self.any = self.any.saturating_add(count);
            return;
        };
        match self.typed.binary_search_by_key(&gpu_type, |(name, _)| name) {
            Ok(at) => self.typed[at].1 = self.typed[at].1.saturating_add(count),
            Err(at) => self.typed.insert(at, (gpu_type, count)),
        }
    }

    /// These, and `times` those of `other`.
    #[must_use]
    pub fn plus(&self, other: &GpuCounts<'a>, times: u32) -> GpuCounts<'a> {
        let mut sum = self.clone();
        for (gpu_type, count) in &other.typed {
            sum.add(Some(gpu_type), count.saturating_mul(times));
        }
        sum.any = sum.any.saturating_add(other.any.saturating_mul(times));
        sum
    }
}

/// A request with the defaults of partition and cluster filled in.
#[derive(Clone, Debug)]
pub struct Demand<'a> {
    /// As it was made.
    pub request: &'a ResourceRequest,
    /// The fewest nodes, at least 1.
    pub nodes_min: u32,
    /// The most nodes; `None`: as many as the tasks need.
    pub nodes_max: Option<u32>,
    /// Tasks, at least 1.
    pub tasks: u32,
    /// CPUs for each, at least 1.
    pub cpus_per_task: u32,
    /// Memory.
    pub memory: MemoryNeed,
    /// Whether memory is counted against the node's.
    pub memory_is_consumed: bool,
    /// The most memory on a node, in MiB (`MaxMemPerNode`); `None`: all that it has.
    pub memory_max: Option<u64>,
    /// It goes to the nodes with the greatest share of idle CPUs.
    pub least_loaded: bool,
    /// The nodes are the run's alone.
    pub exclusive: bool,
    /// The most leaf switches that its nodes may be on; `None`: any number. Never set by [`Demand::new`]: whether the
    /// wish for few switches still holds depends on the instant.
    pub switches_max: Option<u32>,
    /// GPUs on each node.
    pub gpus_per_node: GpuCounts<'a>,
    /// GPUs for each task.
    pub gpus_per_task: GpuCounts<'a>,
    /// GPUs in the whole job.
    pub gpus_per_job: GpuCounts<'a>,
}

impl<'a> Demand<'a> {
    /// What a request means in a partition.
    pub fn new(
        request: &'a ResourceRequest,
        partition: &PartitionDefinition,
        parameters: &ClusterParameters,
    ) -> Demand<'a> {
        let required = u32::try_from(request.nodes_required.len()).unwrap_or(u32::MAX);
        let nodes_min = request.nodes_min.max(1).max(required).max(partition.min_nodes);
        let nodes_max = match (request.nodes_max, partition.max_nodes) {
            (Some(asked), Some(most)) => Some(asked.min(most)),
            (asked, most) => asked.or(most.filter(|most| *most < u32::MAX)),
        };
        let tasks = match request.tasks_per_node {
            Some(each) if !request.tasks_given => request.tasks.max(nodes_min.saturating_mul(each)),
            _ => request.tasks,
        };
        let counts = |scope: GpuScope| {
            let mut counts = GpuCounts::default();
            for gpus in request.gpus.iter().filter(|gpus| gpus.scope == scope) {
                counts.add(gpus.gpu_type.as_deref(), gpus.count);
            }
            counts
        };
        let mut demand = Demand {
            request,
            nodes_min,
            nodes_max,
            tasks: tasks.max(1),
            cpus_per_task: request.cpus_per_task.max(1),
            memory: MemoryNeed::Nothing,
            memory_is_consumed: parameters.memory_is_consumed,
            memory_max: partition
                .max_memory_per_node
                .or(parameters.max_memory_per_node)
                .map(|most| most.0)
                .filter(|_| parameters.memory_is_consumed),
            least_loaded: partition.least_loaded || parameters.least_loaded,
            exclusive: request.exclusive || partition.exclusive,
            switches_max: None,
            gpus_per_node: counts(GpuScope::Node),
            gpus_per_task: counts(GpuScope::Task),
            gpus_per_job: counts(GpuScope::Job),
        };
        if let Some(each) = partition.default_cpus_per_gpu.filter(|_| !request.cpus_per_task_given) {
            let cpus = demand.gpus_min().saturating_mul(u64::from(each)).div_ceil(u64::from(demand.tasks));
            demand.cpus_per_task = demand.cpus_per_task.max(u32::try_from(cpus).unwrap_or(u32::MAX));
        }
        let default = partition.default_memory.or(parameters.default_memory);
        demand.memory = demand.memory_need(request.memory.or(default));
        // As in Slurm the limit is what a job gets that would get all of a node.
        if let (MemoryNeed::Whole, Some(most)) = (demand.memory, demand.memory_max) {
            demand.memory = MemoryNeed::PerNode(most);
        }
        demand
    }

    fn memory_need(&self, asked: Option<MemoryRequest>) -> MemoryNeed {
        match asked {
            Some(MemoryRequest::PerNode(Mebibytes(0)) | MemoryRequest::PerCpu(Mebibytes(0))) => {
                MemoryNeed::Whole
            }
            Some(MemoryRequest::PerNode(amount)) => MemoryNeed::PerNode(amount.0),
            Some(MemoryRequest::PerCpu(amount)) => MemoryNeed::PerCpu(amount.0),
            Some(MemoryRequest::PerGpu(amount)) if self.wants_gpus() => MemoryNeed::PerGpu(amount.0),
            // Nothing that it could be counted by: as if nothing had been said.
            Some(MemoryRequest::PerGpu(_)) | None if self.memory_is_consumed => MemoryNeed::Whole,
            Some(MemoryRequest::PerGpu(_)) | None => MemoryNeed::Nothing,
        }
    }

    /// The memory, in MiB, that is counted for so many CPUs and GPUs of one node; `None`: all that the node has.
    pub fn memory_on_one(&self, cpus: u64, gpus: u32) -> Option<u64> {
        match self.memory {
            _ if !self.memory_is_consumed => Some(0),
            MemoryNeed::Nothing => Some(0),
            MemoryNeed::Whole => None,
            MemoryNeed::PerNode(amount) => Some(amount),
            MemoryNeed::PerCpu(amount) => Some(amount.saturating_mul(cpus)),
            MemoryNeed::PerGpu(amount) => Some(amount.saturating_mul(gpus.into())),
        }
    }

    /// The memory of a node, in MiB, that it may have of what is free there.
    pub(super) fn memory_there(&self, free: &Free) -> u64 {
        self.memory_max.map_or(free.memory, |most| free.memory.min(most))
    }

    /// Whether it wants any GPU.
    pub fn wants_gpus(&self) -> bool {
        !(self.gpus_per_node.is_empty() && self.gpus_per_task.is_empty() && self.gpus_per_job.is_empty())
    }

    /// The fewest CPUs that it takes in all.
    pub fn cpus_min(&self) -> u64 {
        u64::from(self.tasks.max(self.nodes_min)) * u64::from(self.cpus_per_task)
    }

    /// The fewest GPUs that it takes in all.
    pub fn gpus_min(&self) -> u64 {
        let by_node = u64::from(self.gpus_per_node.total()) * u64::from(self.nodes_min);
        let by_task = u64::from(self.gpus_per_task.total()) * u64::from(self.tasks);
        by_node.saturating_add(by_task).saturating_add(u64::from(self.gpus_per_job.total()))
    }

    /// The least memory that some node gives, in MiB; 0 where it is all of a node, or none.
    pub fn memory_per_node_min(&self) -> u64 {
        let tasks = self.request.tasks_per_node.unwrap_or(1).min(self.tasks).max(1);
        let cpus = u64::from(tasks) * u64::from(self.cpus_per_task);
        let gpus = self.gpus_per_node.total().saturating_add(self.gpus_per_task.total()).max(1);
        match self.memory {
            MemoryNeed::Nothing | MemoryNeed::Whole => 0,
            MemoryNeed::PerNode(amount) => amount,
            MemoryNeed::PerCpu(amount) => amount.saturating_mul(cpus),
            MemoryNeed::PerGpu(amount) => amount.saturating_mul(u64::from(gpus)),
        }
    }

    /// Whether all of it goes to one node, whatever else could be had.
    pub fn is_of_one_node(&self) -> bool {
        let asks_for_one = self.nodes_max == Some(1);
        let needs_no_more = self.tasks == 1 && self.request.nodes_max.is_none();
        self.nodes_min == 1
            && (asks_for_one || needs_no_more)
            && (self.gpus_per_job.is_empty() || asks_for_one)
    }

    /// The most nodes that it takes.
    pub(super) fn most_nodes(&self) -> u32 {
        let most = self.nodes_max.unwrap_or(u32::MAX);
        if self.tasks_bound_nodes() { most.min(self.tasks.max(self.nodes_min)) } else { most }
    }

    /// Whether the number of tasks bounds the number of nodes: each node has at least one task.
    fn tasks_bound_nodes(&self) -> bool {
        self.request.tasks_given && self.gpus_per_job.is_empty()
    }
}
