//! Which hierarchies this machine mounts, and what can be enforced with them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::fault::{Fault, get, set};
use crate::rules::Versions;

/// The part of the kernel that enforces or counts one kind of resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Which CPUs.
    Cpuset,
    /// CPU time, counted.
    Cpuacct,
    /// How much memory.
    Memory,
    /// How many processes.
    Pids,
    /// Which devices; of version 2 a program does this.
    Devices,
    /// Stops all processes at once; of version 2 every group can do this.
    Freezer,
    /// Transfers of block devices, counted.
    Io,
}

impl Controller {
    const ALL: [Controller; 7] = [
        Controller::Cpuset,
        Controller::Cpuacct,
        Controller::Memory,
        Controller::Pids,
        Controller::Devices,
        Controller::Freezer,
        Controller::Io,
    ];

    /// Its names: of version 1 and of version 2 (empty: there is none).
    fn names(self) -> [&'static str; 2] {
        match self {
            Controller::Cpuset => ["cpuset", "cpuset"],
            Controller::Cpuacct => ["cpuacct", "cpu"],
            Controller::Memory => ["memory", "memory"],
            Controller::Pids => ["pids", "pids"],
            Controller::Devices => ["devices", ""],
            Controller::Freezer => ["freezer", ""],
            Controller::Io => ["blkio", "io"],
        }
    }
}

/// What this machine can enforce on a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// CPUs.
    pub cpus: bool,
    /// Memory.
    pub memory: bool,
    /// The number of processes.
    pub processes: bool,
    /// Devices.
    pub devices: bool,
}

/// The hierarchies in which this node's groups are, with the directory of each below which its runs' are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hierarchies {
    /// Of version 1, by controller. Several controllers may have one.
    pub(crate) v1: BTreeMap<Controller, PathBuf>,
    /// Of version 2.
    pub(crate) v2: Option<PathBuf>,
    /// The controllers of the one of version 2.
    pub(crate) v2_controllers: Vec<Controller>,
}

impl Hierarchies {
    /// Those that this machine mounts.
    pub fn mounted() -> Hierarchies {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Hierarchies::in_mounts(&mounts, |path| get(path, "cgroup.controllers").unwrap_or_default())
    }

    fn in_mounts(mounts: &str, controllers_of: impl Fn(&Path) -> String) -> Hierarchies {
        let mut found = Hierarchies::default();
        for (kind, path, options) in mounts.lines().filter_map(mount) {
            match kind {
                "cgroup" => {
                    for controller in Controller::ALL {
                        if options.split(',').any(|option| option == controller.names()[0]) {
                            found.v1.entry(controller).or_insert_with(|| path.clone());
                        }
                    }
                }
                "cgroup2" if found.v2.is_none() => {
                    let names = controllers_of(&path);
                    let has = |controller: &Controller| {
                        let name = controller.names()[1];
                        !name.is_empty() && names.split(' ').any(|known| known == name)
                    };
                    found.v2_controllers = Controller::ALL.into_iter().filter(has).collect();
                    found.v2 = Some(path);
                }
                _ => {}
            }
        }
        found
    }

    /// Those of some versions.
    pub fn of(self, versions: Versions) -> Hierarchies {
        match versions {
            Versions::Both => self,
            Versions::One => Hierarchies { v1: self.v1, ..Hierarchies::default() },
            Versions::Two => Hierarchies { v1: BTreeMap::new(), ..self },
        }
    }

    /// Makes the directories `name` below which a node's groups lie (its parts are made one by one), and gives the
    /// hierarchies in which that went well, with what went wrong in the others. A directory that is there already is
    /// used.
    pub fn prepare(&self, name: &Path) -> (Hierarchies, Vec<Fault>) {
        let (mut usable, mut faults) = (Hierarchies::default(), Vec::new());
        for (controller, mount) in &self.v1 {
            match make_v1(mount, name, *controller) {
                Ok(directory) => {
                    usable.v1.insert(*controller, directory);
                }
                Err(fault) => faults.push(fault),
            }
        }
        if let Some(mount) = &self.v2 {
            // What version 1 has is enforced there: the kernel gives a controller to one of them only.
            match make_v2(mount, name, &self.v2_controllers) {
                Ok((directory, controllers, refused)) => {
                    usable.v2 = Some(directory);
                    usable.v2_controllers = controllers;
                    faults.extend(refused);
                }
                Err(fault) => faults.push(fault),
            }
        }
        (usable, faults)
    }

    /// Those that were prepared under this name before.
    pub fn prepared(&self, name: &Path) -> Hierarchies {
        let below = |mount: &PathBuf| Some(mount.join(name)).filter(|directory| directory.is_dir());
        let v1 =
            self.v1.iter().filter_map(|(controller, mount)| Some((*controller, below(mount)?))).collect();
        let v2 = self.v2.as_ref().and_then(below);
        let enabled = v2.as_ref().and_then(|directory| get(directory, "cgroup.subtree_control"));
        let enabled = enabled.unwrap_or_default();
        let is_enabled =
            |controller: &Controller| enabled.split(' ').any(|name| name == controller.names()[1]);
        let v2_controllers = self.v2_controllers.iter().copied().filter(is_enabled).collect();
        Hierarchies { v1, v2, v2_controllers }
    }

    /// What can be enforced with them.
    pub fn abilities(&self) -> Abilities {
        Abilities {
            cpus: self.has(Controller::Cpuset),
            memory: self.has(Controller::Memory),
            processes: self.has(Controller::Pids),
            // Whether the kernel takes the program shows when the first run gets it.
            devices: self.v1.contains_key(&Controller::Devices) || self.v2.is_some(),
        }
    }

    /// Whether a controller is there, in either version.
    pub(crate) fn has(&self, controller: Controller) -> bool {
        self.v1.contains_key(&controller) || self.v2_controllers.contains(&controller)
    }

    /// Whether there is no hierarchy at all.
    pub fn is_empty(&self) -> bool {
        self.v1.is_empty() && self.v2.is_none()
    }

    /// `cgroup v1`, `cgroup v2`, `cgroup v1 and v2`, `no cgroups`.
    pub fn describe(&self) -> &'static str {
        match (self.v1.is_empty(), self.v2.is_none()) {
            (true, true) => "no cgroups",
            (true, false) => "cgroup v2",
            (false, true) => "cgroup v1",
            (false, false) => "cgroup v1 and v2",
        }
    }

    /// Removes the directories `name`, from the innermost out, where nothing is in them.
    pub fn remove(&self, name: &Path) {
        for mount in self.v1.values().chain(&self.v2) {
            for part in name.ancestors().filter(|part| !part.as_os_str().is_empty()) {
                if std::fs::remove_dir(mount.join(part)).is_err() {
                    break;
                }
            }
        }
    }
}

/// File system, mount point and the options of the file system, of a line of `/proc/self/mountinfo`.
fn mount(line: &str) -> Option<(&str, PathBuf, &str)> {
    let (front, back) = line.split_once(" - ")?;
    let mut back = back.split(' ');
    let kind = back.next()?;
    let options = back.nth(1)?;
    let path = front.split(' ').nth(4)?;
    // The kernel writes a space as \040; no cgroup is mounted at such a place.
    Some((kind, PathBuf::from(path), options))
}

fn make_directory(path: &Path) -> Result<(), Fault> {
    match std::fs::create_dir(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(Fault::at(path, "make this control group")(error))
        }
        _ => Ok(()),
    }
}

fn make_v1(mount: &Path, name: &Path, controller: Controller) -> Result<PathBuf, Fault> {
    let mut directory = mount.to_path_buf();
    for part in name.components() {
        let above = directory.clone();
        directory.push(part);
        make_directory(&directory)?;
        if controller == Controller::Cpuset {
            inherit_cpuset(&above, &directory)?;
        }
    }
    Ok(directory)
}

/// A new cpuset of version 1 has no CPU and no memory node, and takes no process before it has.
pub(crate) fn inherit_cpuset(above: &Path, directory: &Path) -> Result<(), Fault> {
    for file in ["cpuset.cpus", "cpuset.mems"] {
        if get(directory, file).is_none_or(|text| text.is_empty()) {
            set(directory, file, &get(above, file).unwrap_or_default())?;
        }
    }
    Ok(())
}

type MadeV2 = (PathBuf, Vec<Controller>, Vec<Fault>);

fn make_v2(mount: &Path, name: &Path, wanted: &[Controller]) -> Result<MadeV2, Fault> {
    let mut directory = mount.to_path_buf();
    let (mut enabled, mut refused) = (wanted.to_vec(), Vec::new());
    for part in name.components().map(Some).chain([None]) {
        enabled.retain(|controller| {
            let on = format!("+{}", controller.names()[1]);
            set(&directory, "cgroup.subtree_control", &on).map_err(|fault| refused.push(fault)).is_ok()
        });
        if let Some(part) = part {
            directory.push(part);
            make_directory(&directory)?;
        }
    }
    Ok((directory, enabled, refused))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
30 23 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
33 30 0:29 / /sys/fs/cgroup/unified rw,relatime shared:4 - cgroup2 none rw,nsdelegate
34 30 0:30 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd";

    #[test]
    fn a_machine_may_mount_both_versions() {
        let found = Hierarchies::in_mounts(HYBRID, |_| "hugetlb".to_string());
        assert_eq!(found.v1[&Controller::Memory], Path::new("/sys/fs/cgroup/memory"));
        assert_eq!(found.v1[&Controller::Cpuacct], Path::new("/sys/fs/cgroup/cpu,cpuacct"));
        assert_eq!(found.v2.as_deref(), Some(Path::new("/sys/fs/cgroup/unified")));
        assert_eq!(found.describe(), "cgroup v1 and v2");
        let abilities = Abilities { cpus: false, memory: true, processes: false, devices: true };
        assert_eq!(found.abilities(), abilities);
    }

    #[test]
    fn version_two_alone() {
        let mounts = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";
        let found = Hierarchies::in_mounts(mounts, |_| "cpuset cpu io memory hugetlb pids rdma".to_string());
        assert!(found.v1.is_empty());
        let all = Abilities { cpus: true, memory: true, processes: true, devices: true };
        assert_eq!(found.abilities(), all);
        assert!(found.has(Controller::Io) && found.has(Controller::Cpuacct));
        assert_eq!(found.describe(), "cgroup v2");
    }

    #[test]
    fn none_at_all() {
        let found = Hierarchies::in_mounts("22 1 8:1 / / rw - ext4 /dev/sda rw", |_| String::new());
        assert!(found.is_empty());
        assert_eq!((found.abilities(), found.describe()), (Abilities::default(), "no cgroups"));
    }
}
