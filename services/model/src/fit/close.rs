//! GPUs that are close to each other and to their CPUs: `Cores` and `Links` of their definition.

use std::cmp::Reverse;

use daybook_schemas::node::GpuDevice;

use super::bits::Bits;
use super::site::{Free, Site};

/// The most GPUs among which links decide; among more the lowest are taken. Bounds the work to its third power.
const LINKED_MAX: u32 = 64;

/// GPUs that are bound to the same cores.
struct Group {
    cpus: Bits,
    /// Positions.
    gpus: Bits,
}

impl Site<'_> {
    /// A GPU as it is declared: what it is bound to is the configuration's to say.
    fn declared<'s>(&'s self, gpu: &'s GpuDevice) -> &'s GpuDevice {
        let declared = self.node.definition.gpus.get(gpu.index as usize);
        declared.filter(|declared| declared.index == gpu.index).unwrap_or(gpu)
    }

    /// Whether anything is known of which GPUs are close to what.
    fn knows_closeness(&self) -> bool {
        self.gpus
            .iter()
            .map(|gpu| self.declared(gpu))
            .any(|gpu| !gpu.cores.is_empty() || !gpu.links.is_empty())
    }

    /// The CPUs of the cores that a GPU is bound to; all where none are named.
    fn cpus_of(&self, gpu: &GpuDevice) -> Bits {
        let definition = &self.node.definition;
        let cores = &self.declared(gpu).cores;
        if cores.is_empty() {
            return Bits::below(definition.cpus);
        }
        let of_node = definition.sockets.saturating_mul(definition.cores_per_socket).max(1);
        let threads = (definition.cpus / of_node).max(1);
        let cpus = cores.iter().take_while(|core| *core < definition.cpus / threads);
        cpus.flat_map(|core| core * threads..(core + 1) * threads).collect()
    }

    /// The CPUs that these GPUs are bound to; `None` where that says nothing.
    pub(super) fn cpus_near(&self, gpus: &Bits) -> Option<Bits> {
        if gpus.is_empty() || !self.knows_closeness() {
            return None;
        }
        let mut near = Bits::default();
        for gpu in gpus.iter().filter_map(|at| self.gpus.get(at as usize)) {
            near.insert_all(&self.cpus_of(gpu));
        }
        Some(near)
    }

    /// `count` of these GPUs for a share that has `chosen` already and gets `cpus` CPUs. The caller has made sure that
    /// there are enough.
    ///
    /// Those bound to the same cores are taken together: of several such groups one that has a chosen GPU, then one with
    /// enough free CPUs, then the smallest that has enough; where none has, as few groups as it takes. In a group the
    /// best connected are taken, and of equals those whose loss leaves the others best connected, then the lowest.
    pub(super) fn choose_close(
        &self,
        gpus: &Bits,
        count: u32,
        chosen: &Bits,
        free: &Free,
        cpus: u32,
    ) -> Bits {
        if count >= gpus.count() || !self.knows_closeness() {
            return gpus.iter().take(count as usize).collect();
        }
        let mut groups = self.groups(gpus);
        let (mut taken, mut left) = (Bits::default(), count);
        while left > 0 && !groups.is_empty() {
            let is_begun = |group: &Group| {
                chosen
                    .iter()
                    .any(|at| self.gpus.get(at as usize).is_some_and(|gpu| self.cpus_of(gpu) == group.cpus))
            };
            let fitting = (0..groups.len()).filter(|at| groups[*at].gpus.count() >= left).min_by_key(|at| {
                let group = &groups[*at];
                let lacks_cpus = group.cpus.count_common(&free.cpus) < cpus;
                (!is_begun(group), lacks_cpus, group.gpus.count(), *at)
            });
            if let Some(at) = fitting {
                let mut beside = chosen.clone();
                beside.insert_all(&taken);
                taken.insert_all(&self.best_connected(&groups[at].gpus, left, &beside));
                break;
            }
            let largest = (0..groups.len())
                .min_by_key(|at| (!is_begun(&groups[*at]), Reverse(groups[*at].gpus.count()), *at));
            let Some(at) = largest else { break };
            let group = groups.remove(at);
            left -= group.gpus.count();
            taken.insert_all(&group.gpus);
        }
        taken
    }

    /// These GPUs by the cores that they are bound to, in order of their first GPU.
    fn groups(&self, gpus: &Bits) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for at in gpus.iter() {
            let Some(gpu) = self.gpus.get(at as usize) else { continue };
            let cpus = self.cpus_of(gpu);
            match groups.iter_mut().find(|group| group.cpus == cpus) {
                Some(group) => group.gpus.insert(at),
                None => groups.push(Group { cpus, gpus: std::iter::once(at).collect() }),
            }
        }
        groups
    }

    /// How well two GPUs are connected.
    fn links(&self, one: u32, other: u32) -> u64 {
        let (Some(one), Some(other)) = (self.gpus.get(one as usize), self.gpus.get(other as usize)) else {
            return 0;
        };
        if one.index == other.index {
            return 0;
        }
        self.declared(one).links.get(other.index as usize).copied().unwrap_or(0).into()
    }

    /// `count` of these GPUs, each of them once the first, then always the one with most links to those taken.
    fn best_connected(&self, gpus: &Bits, count: u32, beside: &Bits) -> Bits {
        let has_links = gpus
            .iter()
            .any(|at| self.gpus.get(at as usize).is_some_and(|gpu| !self.declared(gpu).links.is_empty()));
        if !has_links || count >= gpus.count() || gpus.count() > LINKED_MAX {
            return gpus.iter().take(count as usize).collect();
        }
        let links_to = |at: u32, set: &Bits| set.iter().map(|other| self.links(at, other)).sum::<u64>();
        let mut best: Option<((u64, Reverse<u64>), Bits)> = None;
        for first in gpus.iter() {
            let mut taken: Bits = std::iter::once(first).collect();
            let mut inside = links_to(first, beside);
            while taken.count() < count {
                let others = gpus.iter().filter(|at| !taken.contains(*at));
                let next = others
                    .map(|at| (links_to(at, &taken) + links_to(at, beside), Reverse(at)))
                    .max()
                    .map(|(links, Reverse(at))| (links, at));
                let Some((links, at)) = next else { break };
                inside += links;
                taken.insert(at);
            }
            let mut rest = gpus.clone();
            rest.remove_all(&taken);
            let cut: u64 = taken.iter().map(|at| links_to(at, &rest)).sum();
            let score = (inside, Reverse(cut));
            if best.as_ref().is_none_or(|(of_best, _)| *of_best < score) {
                best = Some((score, taken));
            }
        }
        best.map(|(_, taken)| taken).unwrap_or_default()
    }
}
