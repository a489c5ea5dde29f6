use daybook_schemas::Mebibytes;
use daybook_schemas::node::GpuDevice;
use daybook_schemas::run::{AllocatedGpu, RunNode};

use super::bits::Bits;
use super::demand::{Demand, GpuCounts, MemoryNeed};
use crate::node::Node;

/// A node as a place for work: what about it does not change while a plan is made.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    /// The node.
    pub node: &'a Node,
    /// Its GPUs, in order of index.
    pub gpus: &'a [GpuDevice],
    /// `Weight` and `CPUs` of its definition, at hand for the walks over all nodes.
    pub(super) weight: u32,
    pub(super) cpus: u32,
    /// Positions in `gpus` by type.
    kinds: Vec<(&'a str, Bits)>,
}

/// What a node could give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Free {
    /// CPUs by index.
    pub cpus: Bits,
    /// How many of those may be given: all, unless a plan keeps some for later.
    pub cpu_count: u32,
    /// Memory in MiB.
    pub memory: u64,
    /// GPUs by position.
    pub gpus: Bits,
}

/// Parts of a node by count: what a plan keeps for later, where which CPU and which GPU of a type is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// CPUs.
    pub cpus: u32,
    /// Memory in MiB.
    pub memory: u64,
    /// GPUs of each type, in the site's order of types.
    pub gpus: Vec<u32>,
}

impl Amounts {
    /// What is left of these without others; nothing below zero.
    pub fn take(&mut self, others: &Amounts) {
        self.cpus = self.cpus.saturating_sub(others.cpus);
        self.memory = self.memory.saturating_sub(others.memory);
        for (count, other) in self.gpus.iter_mut().zip(&others.gpus) {
            *count = count.saturating_sub(*other);
        }
    }

    /// These and others.
    pub fn give(&mut self, others: &Amounts) {
        self.cpus = self.cpus.saturating_add(others.cpus);
        self.memory = self.memory.saturating_add(others.memory);
        for (count, other) in self.gpus.iter_mut().zip(&others.gpus) {
            *count = count.saturating_add(*other);
        }
    }

    /// The smaller of each.
    pub fn at_most(&mut self, others: &Amounts) {
        self.cpus = self.cpus.min(others.cpus);
        self.memory = self.memory.min(others.memory);
        for (count, other) in self.gpus.iter_mut().zip(&others.gpus) {
            *count = (*count).min(*other);
        }
    }
}

/// What a run gets of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which node, by its number among the sites.
    pub site: usize,
    /// CPUs by index.
    pub cpus: Bits,
    /// Memory in MiB.
    pub memory: u64,
    /// GPUs by position.
    pub gpus: Bits,
    /// Tasks.
    pub tasks: u32,
}

impl<'a> Site<'a> {
    /// A node with the GPUs that its agent gives.
    pub fn new(node: &'a Node) -> Site<'a> {
        Site::with_gpus(node, node.gpus())
    }

    /// A node with the GPUs that it has when nothing is broken.
    pub fn unbroken(node: &'a Node) -> Site<'a> {
        Site::with_gpus(node, node.unbroken_gpus())
    }

    fn with_gpus(node: &'a Node, gpus: &'a [GpuDevice]) -> Site<'a> {
        let mut kinds: Vec<(&'a str, Bits)> = Vec::new();
        for (position, gpu) in gpus.iter().enumerate() {
            let at = match kinds.iter().position(|(name, _)| *name == gpu.gpu_type) {
                Some(at) => at,
                None => {
                    kinds.push((&gpu.gpu_type, Bits::default()));
                    kinds.len() - 1
                }
            };
            kinds[at].1.insert(position as u32);
        }
        Site { node, gpus, weight: node.definition.weight, cpus: node.definition.cpus, kinds }
    }

    pub(super) fn kind(&self, gpu_type: &str) -> Option<&Bits> {
        self.kinds.iter().find(|(name, _)| *name == gpu_type).map(|(_, positions)| positions)
    }

    pub(super) fn type_number(&self, gpu_type: &str) -> Option<usize> {
        self.kinds.iter().position(|(name, _)| *name == gpu_type)
    }

    /// How many types of GPUs it has.
    pub fn type_count(&self) -> usize {
        self.kinds.len()
    }

    /// How many of these GPUs are of a type.
    pub fn count_of(&self, gpus: &Bits, gpu_type: &str) -> u32 {
        self.kind(gpu_type).map_or(0, |kind| kind.count_common(gpus))
    }

    /// Everything that the node has.
    pub fn whole(&self) -> Free {
        let cpus = self.node.definition.cpus;
        let gpus = Bits::below(self.gpus.len() as u32);
        Free { cpus: Bits::below(cpus), cpu_count: cpus, memory: self.node.definition.memory.0, gpus }
    }

    /// What of the node is not given away.
    pub fn free(&self) -> Free {
        let mut free = self.whole();
        if self.node.runs.is_empty() {
            return free;
        }
        free.cpus.remove_all(&Bits::of(&self.node.cpus_allocated, self.cpus));
        free.cpu_count = free.cpus.count();
        free.memory = free.memory.saturating_sub(self.node.memory_allocated.0);
        let given = |gpu: &GpuDevice| self.node.gpus_allocated.contains(gpu.index);
        let given = (0u32..).zip(self.gpus).filter(|(_, gpu)| given(gpu)).map(|(position, _)| position);
        free.gpus.remove_all(&given.collect());
        free
    }

    /// A run's share as it is recorded.
    pub fn run_node(&self, share: &Share) -> RunNode {
        let gpus = share.gpus.iter().filter_map(|position| self.gpus.get(position as usize));
        RunNode {
            node: self.node.definition.name.clone(),
            cpus: share.cpus.to_index_set(),
            memory: Mebibytes(share.memory),
            gpus: gpus
                .map(|gpu| AllocatedGpu {
                    index: gpu.index,
                    uuid: gpu.uuid.clone(),
                    gpu_type: gpu.gpu_type.clone(),
                })
                .collect(),
            tasks: share.tasks,
        }
    }

    /// A recorded share, of this node with the number `site`.
    pub fn share(&self, site: usize, recorded: &RunNode) -> Share {
        let held = |gpu: &GpuDevice| recorded.gpus.iter().any(|held| held.index == gpu.index);
        let gpus = (0u32..).zip(self.gpus).filter(|(_, gpu)| held(gpu)).map(|(position, _)| position);
        Share {
            site,
            cpus: Bits::of(&recorded.cpus, self.cpus),
            memory: recorded.memory.0,
            gpus: gpus.collect(),
            tasks: recorded.tasks,
        }
    }

    /// How many of these GPUs are of each type that the node has.
    pub fn counts(&self, gpus: &Bits) -> impl Iterator<Item = (&'a str, u32)> {
        self.kinds.iter().map(|(name, positions)| (*name, positions.count_common(gpus)))
    }

    fn gpus_by_type(&self, gpus: &Bits) -> Vec<u32> {
        self.kinds.iter().map(|(_, positions)| positions.count_common(gpus)).collect()
    }

    /// How much a share takes.
    pub fn amounts_taken(&self, share: &Share) -> Amounts {
        Amounts { cpus: share.cpus.count(), memory: share.memory, gpus: self.gpus_by_type(&share.gpus) }
    }

    /// How much there is.
    pub fn amounts_free(&self, free: &Free) -> Amounts {
        Amounts { cpus: free.cpu_count, memory: free.memory, gpus: self.gpus_by_type(&free.gpus) }
    }

    /// Leaves no more than `most`. Which CPUs those are stays open; of GPUs of a type the last ones go.
    pub fn limit(&self, free: &mut Free, most: &Amounts) {
        free.cpu_count = free.cpu_count.min(most.cpus);
        free.memory = free.memory.min(most.memory);
        for ((_, positions), most) in self.kinds.iter().zip(&most.gpus) {
            let there = positions.common(&free.gpus);
            let surplus = there.count().saturating_sub(*most);
            if surplus > 0 {
                let kept = (there.count() - surplus) as usize;
                free.gpus.remove_all(&there.iter().skip(kept).collect());
            }
        }
    }

    /// Whether these GPUs can be had from what is free.
    pub(super) fn has_gpus(&self, free: &Free, wanted: &GpuCounts<'_>) -> bool {
        wanted.total() <= free.gpus.count()
            && wanted.typed.iter().all(|(name, count)| *count <= self.count_of(&free.gpus, name))
    }

    /// The most tasks of a demand that this node could take; `None` where it cannot take any, or lacks what each
    /// node must give.
    pub fn tasks_max(&self, free: &Free, demand: &Demand<'_>) -> Option<u32> {
        if free.cpu_count < demand.cpus_per_task || demand.exclusive && free.cpu_count < self.cpus {
            return None;
        }
        let mut most = free.cpu_count / demand.cpus_per_task;
        most = most.min(demand.request.tasks_per_node.unwrap_or(u32::MAX)).min(demand.tasks.max(1));
        if demand.wants_gpus() {
            most = most.min(self.tasks_by_gpus(free, demand)?);
        }
        if demand.memory_is_consumed {
            most = most.min(self.tasks_by_memory(free, demand)?);
        }
        (most > 0).then_some(most)
    }

    fn tasks_by_gpus(&self, free: &Free, demand: &Demand<'_>) -> Option<u32> {
        let fits = |tasks: u32| self.has_gpus(free, &demand.gpus_per_node.plus(&demand.gpus_per_task, tasks));
        if !fits(0) {
            return None;
        }
        if demand.gpus_per_task.is_empty() {
            return Some(u32::MAX);
        }
        // No more tasks than GPUs, and few GPUs on a node: count down to the first that fits.
        (1..=free.gpus.count()).rev().find(|tasks| fits(*tasks))
    }

    fn tasks_by_memory(&self, free: &Free, demand: &Demand<'_>) -> Option<u32> {
        let there = demand.memory_there(free);
        let has = |amount: u64| amount <= there;
        match demand.memory {
            MemoryNeed::Nothing => Some(u32::MAX),
            MemoryNeed::Whole => has(self.node.definition.memory.0).then_some(u32::MAX),
            MemoryNeed::PerNode(amount) => has(amount).then_some(u32::MAX),
            MemoryNeed::PerCpu(_) if demand.exclusive => Some(u32::MAX),
            MemoryNeed::PerCpu(amount) => {
                let each = amount.max(1).saturating_mul(u64::from(demand.cpus_per_task));
                Some(u32::try_from(there / each).unwrap_or(u32::MAX))
            }
            MemoryNeed::PerGpu(amount) => {
                let amount = amount.max(1);
                let fixed = amount.saturating_mul(u64::from(demand.gpus_per_node.total()));
                let rest = has(fixed).then(|| there - fixed)?;
                let each = amount.saturating_mul(u64::from(demand.gpus_per_task.total()));
                Some(
                    rest.checked_div(each).map_or(u32::MAX, |tasks| u32::try_from(tasks).unwrap_or(u32::MAX)),
                )
            }
        }
    }

    /// The memory of a share with these CPUs and GPUs.
    pub(super) fn memory_of(&self, demand: &Demand<'_>, cpus: u32, gpus: u32) -> u64 {
        let all = self.node.definition.memory.0.min(demand.memory_max.unwrap_or(u64::MAX));
        match demand.memory {
            MemoryNeed::Nothing => 0,
            MemoryNeed::Whole => all,
            MemoryNeed::PerNode(amount) => amount,
            // The CPUs and GPUs that exclusive use adds do not ask for more memory than there is.
            MemoryNeed::PerCpu(amount) if demand.exclusive => amount.saturating_mul(u64::from(cpus)).min(all),
            MemoryNeed::PerCpu(amount) => amount.saturating_mul(u64::from(cpus)),
            MemoryNeed::PerGpu(amount) if demand.exclusive => amount.saturating_mul(u64::from(gpus)).min(all),
            MemoryNeed::PerGpu(amount) => amount.saturating_mul(u64::from(gpus)),
        }
    }
}

impl Free {
    /// Leaves these CPUs out.
    pub fn leave_out(&mut self, cpus: &Bits) {
        self.cpus.remove_all(cpus);
        self.cpu_count = self.cpu_count.min(self.cpus.count());
    }

    /// Leaves no CPUs but these.
    pub fn leave_only(&mut self, cpus: &Bits) {
        self.cpus = self.cpus.common(cpus);
        self.cpu_count = self.cpu_count.min(self.cpus.count());
    }

    /// Gives a share away.
    pub fn take(&mut self, share: &Share) {
        self.cpus.remove_all(&share.cpus);
        self.cpu_count = self.cpus.count();
        self.memory = self.memory.saturating_sub(share.memory);
        self.gpus.remove_all(&share.gpus);
    }

    /// Gets a share back.
    pub fn give(&mut self, share: &Share) {
        self.cpus.insert_all(&share.cpus);
        self.cpu_count = self.cpus.count();
        self.memory = self.memory.saturating_add(share.memory);
        self.gpus.insert_all(&share.gpus);
    }
}
