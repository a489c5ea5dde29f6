//! How a site wants its runs to be confined.

use daybook_schemas::Mebibytes;
use daybook_schemas::grammar::index_set::IndexSet;
use serde::{Deserialize, Serialize};

use crate::group::{Confinement, Device};

/// Whether runs are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confining {
    /// A node that cannot confine its runs as it should is not started.
    Required,
    /// As far as the machine can; what it cannot is said.
    #[default]
    IfPossible,
    /// Not at all.
    Off,
}

/// Which hierarchies of control groups are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Versions {
    /// All that are mounted.
    #[default]
    Both,
    /// Only those of version 1.
    One,
    /// Only the one of version 2.
    Two,
}

/// How runs are confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether, and what happens where that cannot be done.
    pub confining: Confining,
    /// With which hierarchies.
    pub versions: Versions,
    /// `ConstrainCores`.
    pub cpus: bool,
    /// `ConstrainRAMSpace`.
    pub memory: bool,
    /// `ConstrainSwapSpace`.
    pub swap: bool,
    /// `ConstrainDevices`.
    pub devices: bool,
    /// `AllowedRAMSpace`: per cent of its memory that a run may use.
    pub memory_percent: u32,
    /// `AllowedSwapSpace`: per cent of its memory that a run may swap beside that.
    pub swap_percent: u32,
    /// `MaxRAMPercent`: per cent of the node's memory that is the most for a run.
    pub node_memory_percent: u32,
    /// `MinRAMSpace`: what every run may use at least.
    pub memory_min: Mebibytes,
    /// Processes and threads of a run; 0: no limit; absent: a quarter of what the machine can have.
    pub processes_max: Option<u64>,
}

impl Default for Rules {
    /// What holds where no file says anything: everything that was given to a run, and no more.
    fn default() -> Rules {
        Rules {
            confining: Confining::default(),
            versions: Versions::default(),
            cpus: true,
            memory: true,
            swap: true,
            devices: true,
            memory_percent: 100,
            swap_percent: 0,
            node_memory_percent: 100,
            memory_min: Mebibytes(30),
            processes_max: None,
        }
    }
}

impl Rules {
    /// The limits of a run with these CPUs (by the kernel's numbers; absent: they cannot be told apart), this memory (0:
    /// memory is not given out) of a node with that much, and all but these devices.
    pub fn limits(
        &self,
        cpus: Option<IndexSet>,
        memory: Mebibytes,
        node_memory: Mebibytes,
        denied: Vec<Device>,
    ) -> Confinement {
        let percent = |of: Mebibytes, percent: u32| {
            u64::try_from(u128::from(of.0) * (1 << 20) * u128::from(percent) / 100).unwrap_or(u64::MAX)
        };
        let is_given = self.memory && memory.0 > 0;
        let bytes = percent(memory, self.memory_percent)
            .min(percent(node_memory, self.node_memory_percent))
            .max(percent(self.memory_min, 100));
        Confinement {
            cpus: cpus.filter(|cpus| self.cpus && !cpus.is_empty()),
            memory_bytes: is_given.then_some(bytes),
            swap_bytes: (is_given && self.swap).then(|| percent(memory, self.swap_percent)),
            processes_max: match self.processes_max {
                None => Some(machine_processes() / 4),
                Some(0) => None,
                most => most,
            },
            denied_devices: self.devices.then_some(denied),
        }
    }
}

/// How many processes and threads the machine can have.
fn machine_processes() -> u64 {
    let limit = |file: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/proc/sys/kernel/{file}")).ok()?.trim().parse().ok()
    };
    [limit("pid_max"), limit("threads-max")].into_iter().flatten().min().unwrap_or(32_768).max(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(rules: Rules, memory: u64) -> (Option<u64>, Option<u64>) {
        let limits = rules.limits(None, Mebibytes(memory), Mebibytes(16_000), Vec::new());
        (limits.memory_bytes.map(|bytes| bytes >> 20), limits.swap_bytes.map(|bytes| bytes >> 20))
    }

    #[test]
    fn memory_is_what_was_given_within_bounds() {
        let rules = Rules::default;
        assert_eq!(memory(rules(), 500), (Some(500), Some(0)));
        assert_eq!(memory(rules(), 0), (None, None), "memory is not given out");
        assert_eq!(memory(rules(), 10), (Some(30), Some(0)), "MinRAMSpace");
        assert_eq!(memory(Rules { memory_percent: 110, ..rules() }, 1000), (Some(1100), Some(0)));
        assert_eq!(memory(Rules { memory_percent: 110, ..rules() }, 16_000), (Some(16_000), Some(0)));
        assert_eq!(memory(Rules { node_memory_percent: 50, ..rules() }, 16_000), (Some(8_000), Some(0)));
        assert_eq!(memory(Rules { swap_percent: 20, ..rules() }, 1000), (Some(1000), Some(200)));
        assert_eq!(memory(Rules { swap: false, ..rules() }, 1000), (Some(1000), None));
        assert_eq!(memory(Rules { memory: false, ..rules() }, 1000), (None, None));
    }

    #[test]
    fn what_is_not_constrained_has_no_limit() {
        let denied = vec![Device { major: 195, minor: 1 }];
        let cpus: IndexSet = "0-1".parse().unwrap();
        let limits =
            |rules: Rules| rules.limits(Some(cpus.clone()), Mebibytes(1), Mebibytes(1), denied.clone());
        let all = limits(Rules::default());
        assert_eq!((all.cpus.as_ref(), all.denied_devices.as_ref()), (Some(&cpus), Some(&denied)));
        assert!(all.processes_max >= Some(1024));
        let none = limits(Rules { cpus: false, devices: false, processes_max: Some(0), ..Rules::default() });
        assert_eq!((none.cpus, none.denied_devices, none.processes_max), (None, None, None));
    }
}
