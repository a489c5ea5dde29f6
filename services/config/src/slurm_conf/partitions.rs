//! `PartitionName` and `NodeSet` lines.

use std::collections::{BTreeMap, BTreeSet};

use daybook_schemas::grammar::hostlist;
use daybook_schemas::node::{NodeDefinition, PartitionDefinition};

use super::partition::{self, overlay};
use super::{Fields, Record, preemption};
use crate::diagnostic::{Findings, Place, did_you_mean};
use crate::keys::{Key, no_effect, no_effect_unless, not_needed, supported};
use crate::lines::Pair;

/// Keys of a `PartitionName` line, in alphabetical order.
pub(crate) const KEYS: &[Key] = &[
    supported("AllocNodes", "machines on which jobs may be submitted; default ALL"),
    supported("AllowAccounts", "accounts that may use it; default ALL"),
    supported("AllowGroups", "Unix groups that may use it; default ALL"),
    supported("AllowQos", "QOS that may use it; default ALL"),
    no_effect("Alternate", "another partition while this one is down"),
    no_effect_unless("CpuBind", &["none", "no"], "binding of tasks"),
    supported("Default", "YES: jobs without -p go here; default NO"),
    supported("DefaultTime", "time limit of jobs that ask for none; default MaxTime"),
    supported("DefCpuPerGPU", "CPUs for each GPU of jobs that ask for no CPUs"),
    supported("DefMemPerCPU", "default memory for each CPU, MiB; default: the cluster's"),
    supported("DefMemPerGPU", "default memory for each GPU, MiB; default: the cluster's"),
    supported("DefMemPerNode", "default memory on each node, MiB; default: the cluster's"),
    supported("DenyAccounts", "accounts that may not use it; not read beside AllowAccounts"),
    supported("DenyQos", "QOS that may not use it; not read beside AllowQos"),
    supported("DisableRootJobs", "YES: root's jobs are refused; default NO"),
    no_effect_unless("ExclusiveTopo", &["no", "0", "false"], "jobs that have switches or blocks alone"),
    no_effect_unless("ExclusiveUser", &["no", "0", "false"], "nodes of one user only"),
    supported(
        "GraceTime",
        "seconds that its runs are warned before they give way to those of a higher tier; default 0",
    ),
    supported("Hidden", "YES: not shown unless asked for; default NO"),
    supported("JobDefaults", "DefCpuPerGPU=N and DefMemPerGPU=N, joined by a comma"),
    supported("LLN", "YES: jobs go to the nodes with the greatest share of idle CPUs; NO"),
    no_effect_unless("MaxCPUsPerNode", &["unlimited"], "a limit on CPUs of each node"),
    no_effect_unless("MaxCPUsPerSocket", &["unlimited"], "a limit on CPUs of each socket"),
    no_effect_unless("MaxMemPerCPU", &["0", "unlimited"], "a limit on memory for each CPU"),
    supported("MaxMemPerNode", "the most memory of a job on a node, MiB; default UNLIMITED"),
    supported("MaxNodes", "the most nodes of a job; default UNLIMITED"),
    supported("MaxTime", "the longest time limit; default UNLIMITED"),
    supported("MinNodes", "the fewest nodes of a job; default 0"),
    supported("Nodes", "nodes, node sets or ALL"),
    supported("OverSubscribe", "who else may be on a job's nodes; default NO").of(partition::SHARING),
    no_effect("OverTimeLimit", "a partition's own time beyond the limit"),
    no_effect_unless("PowerDownOnIdle", &["no", "0", "false"], "switching nodes off and on"),
    supported("PreemptMode", "how its runs give way; default: the cluster's").of(preemption::MODES),
    supported("Priority", "sets PriorityJobFactor and PriorityTier"),
    supported("PriorityJobFactor", "share of priority by partition, to 65533; default 1"),
    supported("PriorityTier", "jobs of higher tiers come first, to 65533; default 1"),
    supported(
        "QOS",
        "the QOS whose limits hold for all jobs of the partition (with AccountingStorageEnforce=limits)",
    ),
    no_effect_unless("ReqResv", &["no", "0", "false"], "jobs with a reservation only"),
    not_needed("ResumeTimeout", "switching nodes off and on"),
    supported("RootOnly", "YES: only root may submit; default NO"),
    no_effect_unless("SelectTypeParameters", &["none"], "a partition's own way of placing tasks"),
    supported("Shared", "the same as OverSubscribe").of(partition::SHARING),
    supported("State", "UP, DOWN (accepts only), DRAIN (starts only) or INACTIVE; default UP"),
    no_effect_unless("SuspendTime", &["-1", "infinite", "none"], "switching nodes off and on"),
    not_needed("SuspendTimeout", "switching nodes off and on"),
    no_effect("Topology", "several topologies in one cluster"),
    supported(
        "TRESBillingWeights",
        "what a run is billed: CPU=1.0,Mem=0.25G,GRES/gpu=2.0,GRES/gpu:a100=4.0,license/x=1; default: its CPUs",
    ),
];

/// What [`KEYS`] are.
pub(crate) const KIND: &str = "key of a partition";
/// Other spellings.
pub(crate) const ALIASES: &[(&str, &str)] = &[("Shared", "OverSubscribe")];
/// Keys of a `NodeSet` line.
pub(crate) const NODE_SET_KEYS: &[Key] =
    &[supported("Feature", "nodes with this feature"), supported("Nodes", "these nodes")];
/// What `Nodes=` can name.
pub(crate) struct Named<'a> {
    names: Vec<&'a str>,
    by_name: BTreeMap<&'a str, usize>,
    /// Members of node sets.
    sets: BTreeMap<String, BTreeSet<usize>>,
}

impl<'a> Named<'a> {
    /// The nodes, and the node sets that `records` make of them.
    pub fn new(
        nodes: impl Iterator<Item = &'a NodeDefinition> + Clone,
        records: &[Record],
        findings: &mut Findings,
    ) -> Named<'a> {
        let names: Vec<&str> = nodes.clone().map(|node| node.name.as_str()).collect();
        let by_name = names.iter().enumerate().map(|(index, &name)| (name, index)).collect();
        let mut named = Named { names, by_name, sets: BTreeMap::new() };
        for record in records {
            let mut fields = Fields::default();
            fields.overlay(record, NODE_SET_KEYS, "key of a node set", &[], findings);
            let mut members = BTreeSet::new();
            if let Some(pair) = fields.get("Feature") {
                let with = nodes.clone().enumerate().filter(|(_, node)| node.features.contains(&pair.value));
                members.extend(with.map(|(index, _)| index));
            }
            if let Some(pair) = fields.get("Nodes") {
                members.extend(named.resolve(pair, &record.name, findings));
            }
            let name = &record.name.value;
            if named.by_name.contains_key(name.as_str()) || named.sets.contains_key(name) {
                let what = format!("{} has the name of a node or another node set", record.name.text());
                findings.error(&record.name.place, what, "give it another name");
            }
            named.sets.insert(name.clone(), members);
        }
        named
    }

    /// How many nodes there are.
    pub fn count(&self) -> usize {
        self.names.len()
    }

    /// The name of a node, by its index.
    pub fn name(&self, index: usize) -> &'a str {
        self.names[index]
    }

    /// The nodes that a `Nodes=` value of `owner` names, by their index.
    pub fn resolve(&self, pair: &Pair, owner: &Pair, findings: &mut Findings) -> BTreeSet<usize> {
        let mut members = BTreeSet::new();
        let mut unknown: Vec<String> = Vec::new();
        let names = match hostlist::expand(&pair.value.replace(char::is_whitespace, ",")) {
            Ok(names) => names,
            Err(error) => {
                findings.error(&pair.place, error.to_string(), "");
                return members;
            }
        };
        for name in names {
            if name.eq_ignore_ascii_case("ALL") {
                members.extend(0..self.names.len());
            } else if let Some(set) = self.sets.get(&name) {
                members.extend(set);
            } else if let Some(&index) = self.by_name.get(name.as_str()) {
                members.insert(index);
            } else if !unknown.contains(&name) {
                unknown.push(name);
            }
        }
        if let Some(first) = unknown.first() {
            let known = self.names.iter().copied().chain(self.sets.keys().map(String::as_str));
            let otherwise = "add a NodeName line for each, or remove them here";
            let remedy = match unknown.len() {
                1 => did_you_mean(first, known, "add a NodeName line for it, or remove it here"),
                _ => otherwise.to_string(),
            };
            let unknown = hostlist::compress(unknown.iter().map(String::as_str));
            findings.error(&pair.place, format!("{} has unknown nodes: {unknown}", owner.text()), remedy);
        }
        members
    }
}

/// The partitions of all lines, in their order.
pub(crate) fn partitions(
    records: &[Record],
    named: &Named<'_>,
    whole_nodes: bool,
    findings: &mut Findings,
) -> Vec<PartitionDefinition> {
    let mut defaults = Fields::default();
    let mut partitions = Vec::new();
    let mut known: BTreeMap<String, Place> = BTreeMap::new();
    let mut default: Option<&Pair> = None;
    for record in records {
        if record.name.value.eq_ignore_ascii_case("DEFAULT") {
            defaults.overlay(record, KEYS, KIND, ALIASES, findings);
            continue;
        }
        let mut fields = defaults.clone();
        fields.overlay(record, KEYS, KIND, ALIASES, findings);
        let name = &record.name;
        if let Some(first) = known.get(&name.value) {
            let what = format!("partition \"{}\" is defined twice: here and at {first}", name.value);
            findings.error(&name.place, what, "keep one of the two definitions");
            continue;
        }
        known.insert(name.value.clone(), name.place.clone());
        if name.value.is_empty() || name.value.contains([',', ' ', '"', '/']) {
            findings.error(&name.place, format!("{} is no name of a partition", name.text()), "use one word");
        }
        let new = PartitionDefinition::new(&name.value, Vec::new());
        let mut partition = overlay(new, name, &fields, named, findings);
        partition.exclusive |= whole_nodes;
        if partition.default {
            if let Some(first) = default {
                let what = format!(
                    "two partitions are the default: \"{}\" and, at {}, \"{}\"",
                    name.value, first.place, first.value
                );
                findings.error(&name.place, what, "leave Default=YES with one of them");
            }
            default = Some(name);
        }
        partitions.push(partition);
    }
    partitions
}
