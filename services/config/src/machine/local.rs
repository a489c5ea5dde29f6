//! The machine that the program runs on.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use daybook_schemas::Mebibytes;
use nix::sys::statvfs::statvfs;
use nix::unistd::{User, gethostname};

use super::{CpuTopology, FoundGpu, Machine, gpus};

/// The machine that the program runs on, as `/sys`, `/proc` and NVML describe it.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalMachine;

impl Machine for LocalMachine {
    fn hostname(&self) -> String {
        let name = gethostname().ok().and_then(|name| name.into_string().ok());
        name.filter(|name| !name.is_empty()).unwrap_or_else(|| "localhost".to_string())
    }

    fn cpus(&self) -> CpuTopology {
        let usable = std::thread::available_parallelism().map_or(1, |count| count.get());
        let usable = u32::try_from(usable).unwrap_or(1);
        let cores = cores(Path::new("/sys/devices/system/cpu"));
        arrange(&cores).filter(|found| found.cpus == usable).unwrap_or(CpuTopology::flat(usable))
    }

    fn memory(&self) -> Mebibytes {
        let installed =
            fs::read_to_string("/proc/meminfo").ok().and_then(|text| mem_total_kib(&text)).unwrap_or(0);
        // A container has less than its machine.
        let limit =
            fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
        let bytes: u64 = installed.saturating_mul(1024).min(limit.unwrap_or(u64::MAX));
        Mebibytes((bytes / 1024 / 1024).max(1))
    }

    fn tmp_disk(&self) -> Mebibytes {
        let bytes = statvfs("/tmp").map_or(0, |disk| disk.blocks().saturating_mul(disk.fragment_size()));
        Mebibytes(bytes / 1024 / 1024)
    }

    fn gpus(&self) -> Vec<FoundGpu> {
        gpus::find()
    }

    fn file_exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn user_id(&self, name: &str) -> Option<u32> {
        User::from_name(name).ok().flatten().map(|user| user.uid.as_raw())
    }
}

/// Socket and core of every CPU that is online.
fn cores(directory: &Path) -> Vec<(u32, u32)> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse().ok();
    entries
        .flatten()
        .filter_map(|entry| {
            let topology = entry.path().join("topology");
            Some((number(&topology.join("physical_package_id"))?, number(&topology.join("core_id"))?))
        })
        .collect()
}

/// The arrangement of CPUs given by socket and core; `None` where sockets or cores are not alike.
fn arrange(cores: &[(u32, u32)]) -> Option<CpuTopology> {
    let cpus = u32::try_from(cores.len()).ok()?;
    let sockets: BTreeSet<u32> = cores.iter().map(|core| core.0).collect();
    let distinct: BTreeSet<(u32, u32)> = cores.iter().copied().collect();
    let sockets = u32::try_from(sockets.len()).ok()?;
    let cores = u32::try_from(distinct.len()).ok()?;
    let alike = cpus > 0 && cores.is_multiple_of(sockets) && cpus.is_multiple_of(cores);
    alike.then(|| CpuTopology {
        cpus,
        sockets,
        cores_per_socket: cores / sockets,
        threads_per_core: cpus / cores,
    })
}

fn mem_total_kib(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_arranged_by_socket_and_core() {
        let two_sockets = [(0, 0), (0, 1), (0, 0), (0, 1), (1, 0), (1, 1), (1, 0), (1, 1)];
        let expected = CpuTopology { cpus: 8, sockets: 2, cores_per_socket: 2, threads_per_core: 2 };
        assert_eq!(arrange(&two_sockets), Some(expected));
        assert_eq!(arrange(&[(0, 0), (0, 1)]), Some(CpuTopology::flat(2)));
        assert_eq!(arrange(&[(0, 0), (0, 1), (1, 0)]), None, "sockets of different size");
        assert_eq!(arrange(&[]), None);
    }

    #[test]
    fn memory_is_the_total() {
        assert_eq!(mem_total_kib("MemFree: 1 kB\nMemTotal:       16384000 kB\n"), Some(16_384_000));
        assert_eq!(mem_total_kib("nothing"), None);
    }

    #[test]
    fn this_machine_has_a_name_a_cpu_and_memory() {
        let cpus = LocalMachine.cpus();
        assert!(!LocalMachine.hostname().is_empty());
        assert!(cpus.cpus > 0 && LocalMachine.memory().0 > 16);
        assert_eq!(cpus.cpus, cpus.sockets * cpus.cores_per_socket * cpus.threads_per_core);
        assert_eq!(LocalMachine.user_id("root"), Some(0));
        assert_eq!(LocalMachine.user_id("no-such-user-anywhere"), None);
    }
}
