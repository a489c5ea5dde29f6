//! The machine's CPUs in the order in which a node numbers its own.

use std::path::Path;

use daybook_schemas::grammar::index_set::IndexSet;

/// The most CPUs that a machine is looked at for.
const CPUS_MAX: u32 = 65_536;

/// The machine's CPUs, socket by socket, core by core, then thread by thread. The kernel's own numbers go over the
/// sockets in turn on many machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineCpus {
    in_order: Vec<u32>,
}

impl MachineCpus {
    /// Those that are online and that this process may use.
    pub fn online() -> MachineCpus {
        MachineCpus::below(Path::new("/sys/devices/system/cpu"))
    }

    fn below(root: &Path) -> MachineCpus {
        let read = |path: &str| std::fs::read_to_string(root.join(path)).ok();
        let online: Option<IndexSet> = read("online").and_then(|text| text.trim().parse().ok());
        let number = |cpu: u32, file: &str| -> u32 {
            let text = read(&format!("cpu{cpu}/topology/{file}")).unwrap_or_default();
            text.trim().parse().unwrap_or(0)
        };
        let mut cpus: Vec<(u32, u32, u32)> = online
            .into_iter()
            .flat_map(|set| set.iter().take_while(|cpu| *cpu < CPUS_MAX).collect::<Vec<_>>())
            .map(|cpu| (number(cpu, "physical_package_id"), number(cpu, "core_id"), cpu))
            .collect();
        cpus.sort_unstable();
        MachineCpus { in_order: cpus.into_iter().map(|(_, _, cpu)| cpu).collect() }
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        u32::try_from(self.in_order.len()).unwrap_or(u32::MAX)
    }

    /// The kernel's numbers of a node's CPUs, where the node's first is the machine's `first`. `None`: the machine has
    /// not so many.
    pub fn of_node(&self, cpus: &IndexSet, first: u32) -> Option<IndexSet> {
        let kernel = |cpu: u32| self.in_order.get(usize::try_from(first.checked_add(cpu)?).ok()?).copied();
        let numbers: Option<Vec<u32>> = cpus.iter().map(kernel).collect();
        Some(numbers?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_and_cores_come_in_order_whatever_the_kernel_s_numbers() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("online"), "0-7\n").unwrap();
        // Two sockets of two cores with two threads; numbers go over the sockets in turn, threads behind all cores.
        for cpu in 0..8 {
            let topology = root.path().join(format!("cpu{cpu}/topology"));
            std::fs::create_dir_all(&topology).unwrap();
            std::fs::write(topology.join("physical_package_id"), format!("{}\n", cpu % 2)).unwrap();
            std::fs::write(topology.join("core_id"), format!("{}\n", cpu / 2 % 2)).unwrap();
        }
        let cpus = MachineCpus::below(root.path());
        assert_eq!(cpus.in_order, [0, 4, 2, 6, 1, 5, 3, 7]);
        let of_node = |text: &str, first| {
            cpus.of_node(&text.parse().unwrap(), first).map(|numbers| numbers.to_string())
        };
        assert_eq!(of_node("0-1", 0).as_deref(), Some("0,4"));
        assert_eq!(of_node("0-1", 4).as_deref(), Some("1,5"));
        assert_eq!(of_node("0-1", 7), None);
    }

    #[test]
    fn this_machine_has_some() {
        let cpus = MachineCpus::online();
        assert!(cpus.count() > 0);
        assert!(cpus.of_node(&"0".parse().unwrap(), 0).is_some());
    }
}
