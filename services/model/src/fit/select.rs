//! Which CPUs and GPUs of a node a run gets.

use super::bits::Bits;
use super::demand::GpuCounts;
use super::site::{Free, Site};

impl Site<'_> {
    /// `count` CPUs of those free: first those near the share's GPUs, within one socket where one has enough, whole cores
    /// before single threads, the lowest first. The caller has made sure that there are enough.
    pub(super) fn choose_cpus(&self, free: &Free, count: u32, near: Option<&Bits>) -> Bits {
        let Some(near) = near else { return self.choose_cpus_of(&free.cpus, count) };
        let there = free.cpus.common(near);
        let missing = count.saturating_sub(there.count());
        if missing == 0 {
            return self.choose_cpus_of(&there, count);
        }
        let mut elsewhere = free.cpus.clone();
        elsewhere.remove_all(&there);
        let mut chosen = self.choose_cpus_of(&elsewhere, missing);
        chosen.insert_all(&there);
        chosen
    }

    fn choose_cpus_of(&self, free: &Bits, count: u32) -> Bits {
        let definition = &self.node.definition;
        let threads = definition.threads_per_core.max(1);
        let per_socket = definition.cores_per_socket.max(1) * threads;
        let has_topology = definition.sockets.max(1) * per_socket == definition.cpus;
        if !has_topology {
            return free.iter().take(count as usize).collect();
        }
        let sockets = (0..definition.sockets.max(1)).map(|socket| -> Bits {
            (socket * per_socket..(socket + 1) * per_socket).filter(|cpu| free.contains(*cpu)).collect()
        });
        let within = if definition.sockets > 1 {
            sockets.into_iter().find(|cpus| cpus.count() >= count)
        } else {
            None
        };
        choose_cores(within.as_ref().unwrap_or(free), count, threads)
    }

    /// Free GPUs of each wanted type, then of any, close to each other and to their CPUs (of which the share gets
    /// `cpus`), else the lowest; `None` where they are not there.
    pub(super) fn choose_gpus(&self, free: &Free, wanted: &GpuCounts<'_>, cpus: u32) -> Option<Bits> {
        let mut chosen = Bits::default();
        let mut rest = free.gpus.clone();
        for (name, count) in &wanted.typed {
            let of_type = self.kind(name).map(|kind| kind.common(&rest)).unwrap_or_default();
            if of_type.count() < *count {
                return None;
            }
            let taken = self.choose_close(&of_type, *count, &chosen, free, cpus);
            chosen.insert_all(&taken);
            rest.remove_all(&taken);
        }
        if rest.count() < wanted.any {
            return None;
        }
        let taken = self.choose_close(&rest, wanted.any, &chosen, free, cpus);
        chosen.insert_all(&taken);
        Some(chosen)
    }
}

/// Whole free cores as far as they are needed whole, and the rest from cores that are in use already.
fn choose_cores(free: &Bits, count: u32, threads: u32) -> Bits {
    if threads == 1 {
        return free.iter().take(count as usize).collect();
    }
    let is_whole = |cpu: u32| {
        let first = cpu / threads * threads;
        (first..first + threads).all(|thread| free.contains(thread))
    };
    let of_whole_cores = count / threads * threads;
    let mut chosen: Bits = free.iter().filter(|cpu| is_whole(*cpu)).take(of_whole_cores as usize).collect();
    let mut rest = free.clone();
    rest.remove_all(&chosen);
    let missing = (count - chosen.count()) as usize;
    let shared = rest.iter().filter(|cpu| !is_whole(*cpu));
    let untouched = rest.iter().filter(|cpu| is_whole(*cpu));
    let filling: Bits = shared.chain(untouched).take(missing).collect();
    chosen.insert_all(&filling);
    chosen
}

#[cfg(test)]
mod tests {
    use super::{Bits, choose_cores};

    #[test]
    fn whole_cores_are_kept_whole() {
        // free threads, two a core; asked; given
        let table = [
            ("0-7", 2, "0-1"),
            ("1-7", 1, "1"),
            ("1-7", 2, "2-3"),
            ("1-7", 3, "1-3"),
            ("1,3,4-7", 3, "1,4-5"),
            ("1,3,5", 2, "1,3"),
            ("0-3", 3, "0-2"),
        ];
        for (free, count, given) in table {
            let set: daybook_schemas::grammar::index_set::IndexSet = free.parse().unwrap();
            let free_bits: Bits = set.iter().collect();
            assert_eq!(
                choose_cores(&free_bits, count, 2).to_index_set().to_string(),
                given,
                "{count} of {free}"
            );
        }
    }
}
