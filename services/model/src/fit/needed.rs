//! The least that one node must have free for a demand of one node, by count.

use super::demand::{Demand, GpuCounts, MemoryNeed};
use super::site::{Amounts, Site};

/// What a node must have at least to take all of a demand. With less it cannot; with as much it mostly can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needed {
    /// CPUs, memory in MiB (0 where memory is not counted), and the GPUs that have to be of each type.
    pub least: Amounts,
    /// GPUs of all types together.
    pub gpus: u32,
    /// What the demand takes of the node wherever `least` is free; `None` where that depends on what exactly is free.
    pub takes: Option<Amounts>,
}

impl Site<'_> {
    /// What this node must have free to take all of a demand; `None` where it cannot whatever is free.
    pub fn needed(&self, demand: &Demand<'_>) -> Option<Needed> {
        let wanted =
            demand.gpus_per_node.plus(&demand.gpus_per_task, demand.tasks).plus(&demand.gpus_per_job, 1);
        let least_gpus = self.gpus_needed(&wanted)?;
        let cpus = demand.tasks.saturating_mul(demand.cpus_per_task);
        let memory = self.memory_of(demand, cpus, wanted.total());
        let least = Amounts {
            cpus: if demand.exclusive { self.cpus } else { cpus },
            // An exclusive run gets more CPUs and GPUs than it asks for, and memory with them.
            memory: if demand.memory_is_consumed && !demand.exclusive { memory } else { 0 },
            gpus: least_gpus,
        };
        let takes_all_tasks = demand.request.tasks_per_node.is_none_or(|most| most >= demand.tasks);
        let is_by_count = !demand.exclusive
            && self.type_count() <= 1
            && takes_all_tasks
            && !matches!(demand.memory, MemoryNeed::PerGpu(_));
        let takes = is_by_count.then(|| Amounts { cpus, memory, gpus: least.gpus.clone() });
        Some(Needed { least, gpus: wanted.total(), takes })
    }

    /// By type in the site's order; where there is one type, all are of it.
    fn gpus_needed(&self, wanted: &GpuCounts<'_>) -> Option<Vec<u32>> {
        let mut gpus = vec![0; self.type_count()];
        for (name, count) in &wanted.typed {
            match self.type_number(name) {
                Some(number) => gpus[number] = *count,
                None if *count > 0 => return None,
                None => {}
            }
        }
        match gpus.as_mut_slice() {
            [] if wanted.total() > 0 => return None,
            [only] => *only = wanted.total(),
            _ => {}
        }
        Some(gpus)
    }
}
