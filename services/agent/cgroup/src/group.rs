//! A run's group.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use daybook_schemas::grammar::index_set::IndexSet;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::device_program;
use crate::fault::{Fault, get, set};
use crate::hierarchies::{Controller, Hierarchies, inherit_cpuset};

/// The most processes that one look finds; a run with more is ended in several rounds.
const PROCESSES_MAX: usize = 1 << 20;
/// How deep groups that a run has made within its own are looked for.
const DEPTH_MAX: usize = 16;

/// A character device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Device {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

impl Device {
    /// The device behind a file; `None` where it is no character device.
    pub fn of_file(path: &Path) -> Option<Device> {
        use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
        let found = std::fs::metadata(path).ok()?;
        let part = |number: u64| u32::try_from(number).ok();
        let device = Device {
            major: part(nix::sys::stat::major(found.rdev()))?,
            minor: part(nix::sys::stat::minor(found.rdev()))?,
        };
        found.file_type().is_char_device().then_some(device)
    }
}

/// What a run may use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// The CPUs, by the kernel's numbers; absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<IndexSet>,
    /// Memory in bytes; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// What it may swap beside that, bytes; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub swap_bytes: Option<u64>,
    /// Processes and threads; absent: no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes_max: Option<u64>,
    /// Devices that it may not open; absent: any may be opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied_devices: Option<Vec<Device>>,
}

/// A group, in all hierarchies that are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    v1: BTreeMap<Controller, PathBuf>,
    v2: Option<PathBuf>,
}

impl Group {
    /// Makes a group below a node's directories, with its limits. One that is there already gets these limits. What
    /// was made stays where something fails.
    pub fn make(node: &Hierarchies, name: &str, limits: &Confinement) -> Result<Group, Fault> {
        let group = Group::named(node, name);
        for directory in group.directories() {
            match std::fs::create_dir(directory) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(Fault::at(directory, "make this control group")(error));
                }
                _ => {}
            }
        }
        group.limit_cpus(node, limits.cpus.as_ref())?;
        if let Some(bytes) = limits.memory_bytes {
            group.limit_memory(node, bytes, limits.swap_bytes)?;
        }
        if let Some(processes) = limits.processes_max.filter(|_| node.has(Controller::Pids)) {
            let directory = group.v1(Controller::Pids).or(group.v2_dir());
            directory.map_or(Ok(()), |directory| set(directory, "pids.max", &processes.to_string()))?;
        }
        if let Some(denied) = &limits.denied_devices {
            group.deny_devices(denied)?;
        }
        Ok(group)
    }

    /// The group of a name, whether it is there or not.
    pub fn named(node: &Hierarchies, name: &str) -> Group {
        let v1 = node.v1.iter().map(|(controller, directory)| (*controller, directory.join(name))).collect();
        Group { v1, v2: node.v2.as_ref().map(|directory| directory.join(name)) }
    }

    /// The names of the groups below a node's directories.
    pub fn names(node: &Hierarchies) -> BTreeSet<String> {
        let directories: BTreeSet<&PathBuf> = node.v1.values().chain(&node.v2).collect();
        let mut names = BTreeSet::new();
        for directory in directories {
            for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    names.extend(entry.file_name().into_string());
                }
            }
        }
        names
    }

    pub(crate) fn v1(&self, controller: Controller) -> Option<&Path> {
        self.v1.get(&controller).map(PathBuf::as_path)
    }

    pub(crate) fn v2_dir(&self) -> Option<&Path> {
        self.v2.as_deref()
    }

    /// Each once: controllers may share a hierarchy.
    fn directories(&self) -> BTreeSet<&Path> {
        self.v1.values().chain(&self.v2).map(PathBuf::as_path).collect()
    }

    fn limit_cpus(&self, node: &Hierarchies, cpus: Option<&IndexSet>) -> Result<(), Fault> {
        if let (Some(directory), Some(above)) =
            (self.v1(Controller::Cpuset), node.v1.get(&Controller::Cpuset))
        {
            inherit_cpuset(above, directory)?;
        }
        let Some(cpus) = cpus else { return Ok(()) };
        match (self.v1(Controller::Cpuset), self.v2_dir()) {
            (Some(directory), _) => set(directory, "cpuset.cpus", &cpus.to_string()),
            (None, Some(directory)) if node.has(Controller::Cpuset) => {
                set(directory, "cpuset.cpus", &cpus.to_string())
            }
            _ => Ok(()),
        }
    }

    fn limit_memory(&self, node: &Hierarchies, bytes: u64, swap: Option<u64>) -> Result<(), Fault> {
        if let Some(directory) = self.v1(Controller::Memory) {
            // Memory with swap is never less than memory: on the way up it goes first, on the way down last.
            let both = swap.map_or_else(|| "-1".to_string(), |swap| bytes.saturating_add(swap).to_string());
            let counts_swap = directory.join("memory.memsw.limit_in_bytes").exists();
            let is_raised = counts_swap && set(directory, "memory.memsw.limit_in_bytes", &both).is_ok();
            set(directory, "memory.limit_in_bytes", &bytes.to_string())?;
            if counts_swap && !is_raised {
                set(directory, "memory.memsw.limit_in_bytes", &both)?;
            }
            return Ok(());
        }
        let Some(directory) = self.v2_dir().filter(|_| node.has(Controller::Memory)) else { return Ok(()) };
        set(directory, "memory.max", &bytes.to_string())?;
        // A kernel without swap has no such file.
        match directory.join("memory.swap.max").exists() {
            true => {
                let most = swap.map_or_else(|| "max".to_string(), |swap| swap.to_string());
                set(directory, "memory.swap.max", &most)
            }
            false => Ok(()),
        }
    }

    fn deny_devices(&self, denied: &[Device]) -> Result<(), Fault> {
        if let Some(directory) = self.v1(Controller::Devices) {
            for Device { major, minor } in denied {
                set(directory, "devices.deny", &format!("c {major}:{minor} rwm"))?;
            }
            return Ok(());
        }
        let Some(directory) = self.v2_dir().filter(|_| !denied.is_empty()) else { return Ok(()) };
        let fault = |error| Fault::at(directory, "refuse devices to it by a program")(error);
        let opened = File::open(directory).map_err(fault)?;
        device_program::deny(&opened, denied).map_err(fault)
    }

    /// Puts the calling process into it.
    pub fn join(&self) -> Result<(), Fault> {
        self.directories().into_iter().try_for_each(|directory| set(directory, "cgroup.procs", "0"))
    }

    /// Whether any part of it is there.
    pub fn exists(&self) -> bool {
        self.directories().into_iter().any(Path::is_dir)
    }

    /// The processes in it, also in groups that were made within it.
    pub fn processes(&self) -> Vec<i32> {
        let mut found = BTreeSet::new();
        // All have the same; a process that was moved out of one by hand is found in another.
        for directory in self.directories() {
            collect(directory, DEPTH_MAX, &mut found);
        }
        found.into_iter().collect()
    }

    /// Ends every process of it, whatever those do meanwhile. They are gone a little later.
    pub fn kill(&self) {
        if let Some(directory) = self.v2_dir() {
            // Kernels before 5.14 do not have it.
            let _ = set(directory, "cgroup.kill", "1");
        }
        // What is frozen starts no others while it is gone through, and is ended when it thaws.
        let freezer = self.v1(Controller::Freezer);
        let freeze = |state: &str| freezer.map(|directory| set(directory, "freezer.state", state));
        let processes = self.processes();
        if processes.is_empty() {
            return;
        }
        freeze("FROZEN");
        for pid in self.processes() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        freeze("THAWED");
    }

    /// Removes it; false: something is in it.
    pub fn remove(&self) -> bool {
        // Each is tried, also after one that could not be removed.
        let left = self.directories().into_iter().filter(|directory| !remove(directory, DEPTH_MAX)).count();
        left == 0
    }
}

fn collect(directory: &Path, depth: usize, found: &mut BTreeSet<i32>) {
    let text = get(directory, "cgroup.procs").unwrap_or_default();
    let room = PROCESSES_MAX.saturating_sub(found.len());
    // 0 stands for a process of another process-id namespace.
    found.extend(text.lines().take(room).filter_map(|line| line.parse::<i32>().ok()).filter(|pid| *pid > 0));
    for below in subdirectories(directory).take_while(|_| depth > 0) {
        collect(&below, depth - 1, found);
    }
}

fn remove(directory: &Path, depth: usize) -> bool {
    let is_gone = |outcome: io::Result<()>| match outcome {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if is_gone(std::fs::remove_dir(directory)) {
        return true;
    }
    for below in subdirectories(directory).take_while(|_| depth > 0) {
        remove(&below, depth - 1);
    }
    is_gone(std::fs::remove_dir(directory))
}

fn subdirectories(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}

#[cfg(test)]
mod tests;
