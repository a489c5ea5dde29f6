//! How this node confines its runs.

use std::collections::BTreeSet;
use std::path::Path;

use daybook_cgroup::{Confining, Device, Group, Hierarchies, MachineCpus, NodeGroups, Rules};
use daybook_schemas::RunId;
use daybook_schemas::node::{GpuDevice, NodeDefinition};
use daybook_schemas::run::RunNode;
use daybook_supervisor::records::Confined;

/// How an agent is to confine its runs.
#[derive(Clone, Debug, Default)]
pub struct ConfinementConfig {
    /// What the site wants.
    pub rules: Rules,
    /// The first of the machine's CPUs that is this node's, in the order of sockets; absent: the machine has fewer than its
    /// nodes together, so that they cannot be told apart.
    pub first_cpu: Option<u32>,
}

/// Where the groups of a node's runs are.
pub(crate) struct GroupsOfRuns {
    hierarchies: Hierarchies,
}

impl GroupsOfRuns {
    /// A run's, whether it is there or not.
    pub(crate) fn of(&self, run: RunId) -> Group {
        Group::named(&self.hierarchies, &run.to_string())
    }
}

/// What confines a node's runs.
pub(crate) struct Confiner {
    /// Absent: runs are not confined at all.
    groups: Option<NodeGroups>,
    rules: Rules,
    cpus: Option<(MachineCpus, u32)>,
    /// What of the rules this machine cannot do; empty: it does all.
    lacking: Vec<String>,
}

impl Confiner {
    /// Makes the node's groups. An error: the site wants it to be confined, and it cannot be.
    pub(crate) fn prepare(
        config: &ConfinementConfig,
        node: &NodeDefinition,
        state_dir: &Path,
        is_root: bool,
    ) -> Result<Confiner, Vec<String>> {
        let mut rules = config.rules.clone();
        let mut confiner = Confiner { groups: None, rules: rules.clone(), cpus: None, lacking: Vec::new() };
        if node.simulated || rules.confining == Confining::Off {
            return Ok(confiner);
        }
        let groups = NodeGroups::new(node.name.as_str(), state_dir, rules.versions);
        if is_root {
            confiner.lacking = groups.prepare(&rules);
        } else {
            confiner.lacking.push("daybookd does not run as root".to_string());
        }
        match config.first_cpu {
            Some(first) => confiner.cpus = Some((MachineCpus::online(), first)),
            None if rules.cpus => {
                confiner
                    .lacking
                    .push("CPUs cannot be held: the machine has fewer than its nodes".to_string());
            }
            None => {}
        }
        if !confiner.lacking.is_empty() && rules.confining == Confining::Required {
            return Err(confiner.lacking);
        }
        if is_root && !groups.hierarchies().is_empty() {
            // What was tried and failed would fail for every run.
            let can = groups.hierarchies().abilities();
            let has_failed = |what: &str| confiner.lacking.iter().any(|why| why.contains(what));
            rules.devices &= can.devices && !has_failed("devices");
            rules.memory &= can.memory && !has_failed("memory.");
            rules.cpus &= can.cpus;
            confiner.rules = rules;
            confiner.groups = Some(groups);
        }
        Ok(confiner)
    }

    /// What of it cannot be done, in a line; `None`: it is all done, or is not wanted.
    pub(crate) fn shortfall(&self) -> Option<String> {
        (!self.lacking.is_empty()).then(|| self.lacking.join("; "))
    }

    /// What a run with this share of the node may use.
    pub(crate) fn confine(&self, run: RunId, share: &RunNode, node: &NodeDefinition) -> Option<Confined> {
        let groups = self.groups.clone()?;
        let cpus = self.cpus.as_ref().and_then(|(machine, first)| machine.of_node(&share.cpus, *first));
        let is_given = |index: u32| share.gpus.iter().any(|gpu| gpu.index == index);
        let device = |gpu: &GpuDevice| gpu.file.as_ref().and_then(|file| Device::of_file(Path::new(file)));
        let (given, others): (Vec<&GpuDevice>, Vec<&GpuDevice>) =
            node.gpus.iter().partition(|gpu| is_given(gpu.index));
        let given: BTreeSet<Device> = given.into_iter().filter_map(device).collect();
        // Several slices of a card have one device file: whoever has one of them can open the card.
        let denied: BTreeSet<Device> =
            others.iter().filter_map(|gpu| device(gpu)).filter(|it| !given.contains(it)).collect();
        // Without files the GPUs cannot be told apart, and every run would be told to use the first.
        let sees_own_gpus_only =
            self.rules.devices && given.len() == share.gpus.len() && denied.len() == others.len();
        let limits = self.rules.limits(cpus, share.memory, node.memory, denied.into_iter().collect());
        Some(Confined { groups, name: run.to_string(), limits, sees_own_gpus_only })
    }

    /// Where the groups of its runs are, for looking at many of them. `None`: they have none.
    pub(crate) fn groups_of_runs(&self) -> Option<GroupsOfRuns> {
        Some(GroupsOfRuns { hierarchies: self.groups.as_ref()?.hierarchies() })
    }

    /// Removes the node's groups: nothing runs here any more.
    pub(crate) fn leave(&self) {
        self.groups.iter().for_each(NodeGroups::remove);
    }

    /// Ends what is left of runs that this node does not have any more.
    pub(crate) fn sweep(&self, known: impl Fn(&str) -> bool) {
        for name in self.groups.iter().flat_map(|groups| groups.sweep(&known)) {
            tracing::warn!(run = name, "a control group that nobody needs cannot be removed yet");
        }
    }
}
