//! What a node has free.

use super::mix::{Shape, WHOLE_GPU, WHOLE_MEMORY};

/// The most GPUs of one kind that are counted on a node, so that no sum or product of amounts goes beyond 64 bits.
const GPUS_MAX: u32 = 1 << 20;

/// GPUs of a node that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GpuGroup<'a> {
    /// What is free of each, in thousandths; more than 0.
    pub free: u32,
    /// Their type.
    pub gpu_type: &'a str,
    /// How many; more than 0.
    pub count: u32,
}

impl GpuGroup<'_> {
    /// What is free of all of them.
    pub fn free_thousandths(&self) -> u64 {
        u64::from(self.free) * u64::from(self.count)
    }
}

/// What a node has free. Nodes with the same amounts are equal, whichever CPUs and GPUs those are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Room<'a> {
    /// CPUs, in thousandths.
    pub cpus: u64,
    /// Memory in MiB.
    pub memory: u64,
    /// Nobody has anything of the node.
    pub untouched: bool,
    /// Smallest rest first; those of which nothing is free are left out.
    gpus: Vec<GpuGroup<'a>>,
}

impl<'a> Room<'a> {
    /// With these GPUs, each its type and what is free of it in thousandths (at most [`super::WHOLE_GPU`]), in any
    /// order.
    pub fn new(
        cpus: u64,
        memory: u64,
        untouched: bool,
        gpus: impl IntoIterator<Item = (&'a str, u32)>,
    ) -> Room<'a> {
        let mut room = Room { cpus, memory, untouched, gpus: Vec::new() };
        gpus.into_iter().for_each(|(gpu_type, free)| room.add_gpus(gpu_type, free, 1));
        room
    }

    /// With whole GPUs, each type with how many are free of it.
    pub fn of_whole_gpus(
        cpus: u64,
        memory: u64,
        untouched: bool,
        counts: impl IntoIterator<Item = (&'a str, u32)>,
    ) -> Room<'a> {
        let mut room = Room { cpus, memory, untouched, gpus: Vec::new() };
        counts.into_iter().for_each(|(gpu_type, count)| room.add_gpus(gpu_type, WHOLE_GPU, count));
        room
    }

    fn add_gpus(&mut self, gpu_type: &'a str, free: u32, count: u32) {
        let free = free.min(WHOLE_GPU);
        if free == 0 || count == 0 {
            return;
        }
        match self.gpus.binary_search_by_key(&(free, gpu_type), |group| (group.free, group.gpu_type)) {
            Ok(at) => self.gpus[at].count = self.gpus[at].count.saturating_add(count).min(GPUS_MAX),
            Err(at) => self.gpus.insert(at, GpuGroup { free, gpu_type, count: count.min(GPUS_MAX) }),
        }
    }

    fn remove_gpu(&mut self, free: u32, gpu_type: &str) {
        if let Ok(at) =
            self.gpus.binary_search_by_key(&(free, gpu_type), |group| (group.free, group.gpu_type))
        {
            self.gpus[at].count -= 1;
            if self.gpus[at].count == 0 {
                self.gpus.remove(at);
            }
        }
    }

    /// Its free GPUs, smallest rest first.
    pub fn gpus(&self) -> &[GpuGroup<'a>] {
        &self.gpus
    }

    /// What is free of its GPUs, in thousandths.
    pub fn gpu_thousandths(&self) -> u64 {
        self.gpus.iter().map(GpuGroup::free_thousandths).sum()
    }

    /// What is left after a request, once for each choice of GPUs that makes a difference; nothing where it does not
    /// fit. A request for one GPU can go to any that is large enough, the smallest rest first; one for several takes
    /// the smallest rests that are large enough.
    pub fn without(&self, shape: &Shape) -> Vec<Room<'a>> {
        let has_memory = shape.memory <= self.memory || shape.memory == WHOLE_MEMORY && self.untouched;
        if shape.cpus > self.cpus || !has_memory || shape.exclusive && !self.untouched {
            return Vec::new();
        }
        let mut left = Room {
            cpus: self.cpus - shape.cpus,
            memory: self.memory.saturating_sub(shape.memory),
            untouched: false,
            gpus: self.gpus.clone(),
        };
        let large: Vec<GpuGroup<'a>> = self
            .gpus
            .iter()
            .filter(|group| group.free >= shape.share && shape.accepts(group.gpu_type))
            .copied()
            .collect();
        let there: u64 = large.iter().map(|group| u64::from(group.count)).sum();
        if there < u64::from(shape.gpus) {
            return Vec::new();
        }
        if shape.exclusive {
            return vec![Room { cpus: 0, memory: 0, gpus: Vec::new(), ..left }];
        }
        if shape.gpus == 1 {
            return large.iter().map(|group| left.without_gpu(group, shape.share)).collect();
        }
        let mut missing = shape.gpus;
        for group in &large {
            let taken = group.count.min(missing);
            missing -= taken;
            (0..taken).for_each(|_| left = left.without_gpu(group, shape.share));
        }
        vec![left]
    }

    fn without_gpu(&self, group: &GpuGroup<'a>, share: u32) -> Room<'a> {
        let mut left = self.clone();
        left.remove_gpu(group.free, group.gpu_type);
        left.add_gpus(group.gpu_type, group.free - share, 1);
        left
    }
}
