//! The groups of one node's runs.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::group::{Confinement, Device, Group};
use crate::hierarchies::{Abilities, Hierarchies};
use crate::rules::{Confining, Rules, Versions};

/// All groups of this program lie below it.
const TOP: &str = "daybook";
/// A group that is made to see whether it can be.
const PROBE: &str = "probe";
/// The null device: who refuses it, to nobody, refuses any.
const PROBED_DEVICE: Device = Device { major: 1, minor: 3 };

/// Where a node's groups are: what agent and supervisor both need to find them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeGroups {
    /// Below each hierarchy.
    name: PathBuf,
    versions: Versions,
}

impl NodeGroups {
    /// Those of a node whose agent keeps its state in this directory: nodes of one name on one machine (of two clusters)
    /// have their own.
    pub fn new(node: &str, state_dir: &Path, versions: Versions) -> NodeGroups {
        // FNV-1a: the same on every start and in every version.
        let hash =
            state_dir.as_os_str().as_encoded_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
            });
        NodeGroups { name: Path::new(TOP).join(format!("{node}-{hash:016x}")), versions }
    }

    /// Makes the node's directories, and tries out what can be enforced there. Gives what of `rules` cannot be, each as a
    /// sentence; empty: all can.
    pub fn prepare(&self, rules: &Rules) -> Vec<String> {
        if rules.confining == Confining::Off {
            return Vec::new();
        }
        let (hierarchies, faults) = Hierarchies::mounted().of(self.versions).prepare(&self.name);
        let mut lacking = Vec::new();
        let abilities = hierarchies.abilities();
        if hierarchies.is_empty() {
            lacking.push("this machine has no control groups that can be used".to_string());
        } else {
            for (is_wanted, is_there, what) in [
                (rules.cpus, abilities.cpus, "CPUs"),
                (rules.memory, abilities.memory, "memory"),
                (rules.processes_max != Some(0), abilities.processes, "the number of processes"),
                (rules.devices, abilities.devices, "devices"),
            ] {
                if is_wanted && !is_there {
                    lacking.push(format!("{what} cannot be held ({})", hierarchies.describe()));
                }
            }
            lacking.extend(probe(&hierarchies, rules, abilities).map(|fault| fault.to_string()));
        }
        // Where something else does the same, a hierarchy that cannot be used is no matter.
        if !lacking.is_empty() {
            lacking.extend(faults.iter().map(ToString::to_string));
        }
        lacking
    }

    /// The hierarchies with the directories that were made.
    pub fn hierarchies(&self) -> Hierarchies {
        Hierarchies::mounted().of(self.versions).prepared(&self.name)
    }

    /// Ends and removes the groups whose name is not wanted any more: what a killed process has left. Gives those that
    /// are still there.
    pub fn sweep(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
        let hierarchies = self.hierarchies();
        let unwanted = Group::names(&hierarchies).into_iter().filter(|name| !is_wanted(name));
        let is_left = |name: &String| {
            let group = Group::named(&hierarchies, name);
            group.kill();
            !group.remove()
        };
        unwanted.filter(is_left).collect()
    }

    /// Removes the node's directories, where nothing is in them.
    pub fn remove(&self) {
        Hierarchies::mounted().remove(&self.name);
    }
}

/// Whether a group with limits can be made.
fn probe(hierarchies: &Hierarchies, rules: &Rules, abilities: Abilities) -> Option<Fault> {
    let limits = Confinement {
        memory_bytes: (rules.memory && abilities.memory).then_some(1 << 30),
        swap_bytes: (rules.memory && rules.swap && abilities.memory).then_some(0),
        denied_devices: (rules.devices && abilities.devices).then(|| vec![PROBED_DEVICE]),
        ..Confinement::default()
    };
    let made = Group::make(hierarchies, PROBE, &limits);
    Group::named(hierarchies, PROBE).remove();
    made.err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_has_left_is_swept() {
        let state = tempfile::tempdir().unwrap();
        let groups = NodeGroups::new("n1", state.path(), Versions::Both);
        let lacking = groups.prepare(&Rules::default());
        let hierarchies = groups.hierarchies();
        if hierarchies.is_empty() {
            eprintln!("no control groups: nothing is tested; {lacking:?}");
            return;
        }
        assert!(Group::names(&hierarchies).is_empty(), "the probe is gone");
        for name in ["1.0", "2.0"] {
            Group::make(&hierarchies, name, &Confinement::default()).unwrap();
        }
        assert_eq!(groups.sweep(|name| name == "2.0"), Vec::<String>::new());
        assert_eq!(Group::names(&hierarchies).into_iter().collect::<Vec<_>>(), ["2.0"]);
        groups.sweep(|_| false);
        groups.remove();
        assert!(groups.hierarchies().is_empty());
    }

    #[test]
    fn two_clusters_do_not_share_a_node_s_groups() {
        let of = |state: &str| NodeGroups::new("n1", Path::new(state), Versions::Both);
        assert_ne!(of("/var/lib/a/n1"), of("/var/lib/b/n1"));
        assert_eq!(of("/var/lib/a/n1"), of("/var/lib/a/n1"));
    }
}
