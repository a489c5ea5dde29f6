//! `PartitionName` and `NodeSet` lines.

use std::collections::{BTreeMap, BTreeSet};

use daybook_schemas::NodeName;
use daybook_schemas::grammar::hostlist;
use daybook_schemas::job::TimeLimit;
use daybook_schemas::node::{PartitionDefinition, PartitionState};

use super::nodes::Node;
use super::parameters::default_memory;
use super::{Fields, Record};
use crate::diagnostic::{Findings, Place, did_you_mean};
use crate::keys::{Key, no_effect, no_effect_unless, not_needed, supported};
use crate::lines::Pair;
use crate::values;

/// Keys of a `PartitionName` line, in alphabetical order.
pub(crate) const KEYS: &[Key] = &[
    no_effect_unless("AllocNodes", &["all"], "submission from some nodes only"),
    supported("AllowAccounts", "accounts that may use it; ALL"),
    supported("AllowGroups", "Unix groups that may use it; ALL"),
    no_effect_unless("AllowQos", &["all"], "admission by QOS"),
    no_effect("Alternate", "another partition while this one is down"),
    no_effect_unless("CpuBind", &["none", "no"], "binding of tasks"),
    supported("Default", "YES: jobs without -p go here; NO"),
    supported("DefaultTime", "time limit of jobs that ask for none; MaxTime"),
    no_effect("DefCpuPerGPU", "default CPUs for each GPU"),
    supported("DefMemPerCPU", "default memory for each CPU, MiB; the cluster's"),
    supported("DefMemPerGPU", "default memory for each GPU, MiB; the cluster's"),
    supported("DefMemPerNode", "default memory on each node, MiB; the cluster's"),
    supported("DenyAccounts", "accounts that may not use it; nothing beside AllowAccounts"),
    no_effect("DenyQos", "admission by QOS"),
    no_effect_unless("DisableRootJobs", &["no", "0", "false"], "refusing root's jobs"),
    no_effect_unless("ExclusiveTopo", &["no", "0", "false"], "jobs that have switches or blocks alone"),
    no_effect_unless("ExclusiveUser", &["no", "0", "false"], "nodes of one user only"),
    no_effect_unless("GraceTime", &["0"], "preemption"),
    supported("Hidden", "YES: not shown unless asked for; NO"),
    no_effect("JobDefaults", "default CPUs and memory for each GPU"),
    no_effect_unless("LLN", &["no", "0", "false"], "placement on the least loaded nodes"),
    no_effect_unless("MaxCPUsPerNode", &["unlimited"], "a limit on CPUs of each node"),
    no_effect_unless("MaxCPUsPerSocket", &["unlimited"], "a limit on CPUs of each socket"),
    no_effect_unless("MaxMemPerCPU", &["0", "unlimited"], "a limit on memory for each CPU"),
    no_effect_unless("MaxMemPerNode", &["0", "unlimited"], "a limit on memory on each node"),
    supported("MaxNodes", "the most nodes of a job; UNLIMITED"),
    supported("MaxTime", "the longest time limit; UNLIMITED"),
    supported("MinNodes", "the fewest nodes of a job; 0"),
    supported("Nodes", "nodes, node sets or ALL"),
    supported(
        "OverSubscribe",
        "NO or EXCLUSIVE (each job has its nodes alone); YES and FORCE have no effect",
    ),
    no_effect("OverTimeLimit", "a partition's own time beyond the limit"),
    no_effect_unless("PowerDownOnIdle", &["no", "0", "false"], "switching nodes off and on"),
    no_effect_unless("PreemptMode", &["off"], "preemption"),
    supported("Priority", "sets PriorityJobFactor and PriorityTier"),
    supported("PriorityJobFactor", "share of priority by partition, to 65533; 1"),
    supported("PriorityTier", "jobs of higher tiers come first, to 65533; 1"),
    no_effect_unless("QOS", &["n/a"], "a partition's QOS"),
    no_effect_unless("ReqResv", &["no", "0", "false"], "jobs with a reservation only"),
    not_needed("ResumeTimeout", "switching nodes off and on"),
    supported("RootOnly", "YES: only root may submit; NO"),
    no_effect_unless("SelectTypeParameters", &["none"], "a partition's own way of placing tasks"),
    supported("Shared", "the same as OverSubscribe"),
    supported("State", "UP, DOWN (queues only), DRAIN (starts only) or INACTIVE; UP"),
    no_effect_unless("SuspendTime", &["-1", "infinite", "none"], "switching nodes off and on"),
    not_needed("SuspendTimeout", "switching nodes off and on"),
    no_effect("Topology", "several topologies in one cluster"),
    no_effect("TRESBillingWeights", "billing by weights"),
];

const KIND: &str = "key of a partition";
const ALIASES: &[(&str, &str)] = &[("Shared", "OverSubscribe")];
/// Keys of a `NodeSet` line.
const NODE_SET_KEYS: &[Key] =
    &[supported("Feature", "nodes with this feature"), supported("Nodes", "these nodes")];
/// Slurm keeps priorities in 16 bits.
const PRIORITY_MAX: u32 = 65_533;

/// What `Nodes=` can name.
pub(crate) struct Named<'a> {
    names: Vec<&'a str>,
    by_name: BTreeMap<&'a str, usize>,
    /// Members of node sets.
    sets: BTreeMap<String, BTreeSet<usize>>,
}

impl<'a> Named<'a> {
    /// The nodes, and the node sets that `records` make of them.
    pub fn new(nodes: &'a [Node], records: &[Record], findings: &mut Findings) -> Named<'a> {
        let names: Vec<&str> = nodes.iter().map(|node| node.definition.name.as_str()).collect();
        let by_name = names.iter().enumerate().map(|(index, &name)| (name, index)).collect();
        let mut named = Named { names, by_name, sets: BTreeMap::new() };
        for record in records {
            let mut fields = Fields::default();
            fields.overlay(record, NODE_SET_KEYS, "key of a node set", &[], findings);
            let mut members = BTreeSet::new();
            if let Some(pair) = fields.get("Feature") {
                let has = |node: &Node| node.definition.features.contains(&pair.value);
                members
                    .extend(nodes.iter().enumerate().filter(|(_, node)| has(node)).map(|(index, _)| index));
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
        let partition = partition(record, &fields, named, whole_nodes, findings);
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

fn partition(
    record: &Record,
    fields: &Fields,
    named: &Named<'_>,
    whole_nodes: bool,
    findings: &mut Findings,
) -> PartitionDefinition {
    let name = &record.name;
    if name.value.is_empty() || name.value.contains([',', ' ', '"', '/']) {
        findings.error(&name.place, format!("{} is no name of a partition", name.text()), "use one word");
    }
    let nodes = fields.get("Nodes").map(|pair| named.resolve(pair, name, findings)).unwrap_or_default();
    let (max_time, default_time) = times(fields, findings);
    let (priority_tier, priority_job_factor) = priorities(fields, findings);
    let (min_nodes, max_nodes) = node_counts(fields, findings);
    let (allow_accounts, deny_accounts) = accounts(fields, findings);
    let yes =
        |key: &str, findings: &mut Findings| fields.get(key).and_then(|pair| values::boolean(pair, findings));
    const STATES: &[(&str, PartitionState)] = &[
        ("UP", PartitionState::Up),
        ("DOWN", PartitionState::Down),
        ("DRAIN", PartitionState::Drain),
        ("INACTIVE", PartitionState::Inactive),
    ];
    PartitionDefinition {
        name: name.value.clone(),
        nodes: nodes.iter().map(|&index| NodeName::from(named.names[index])).collect(),
        nodes_text: fields.get("Nodes").map(|pair| pair.value.clone()).unwrap_or_default(),
        default: yes("Default", findings).unwrap_or(false),
        state: fields
            .get("State")
            .and_then(|pair| values::choice(pair, STATES, findings))
            .unwrap_or_default(),
        max_time,
        default_time,
        min_nodes,
        max_nodes,
        priority_tier,
        priority_job_factor,
        allow_accounts,
        deny_accounts,
        allow_groups: all_or_list(fields.get("AllowGroups")),
        root_only: yes("RootOnly", findings).unwrap_or(false),
        hidden: yes("Hidden", findings).unwrap_or(false),
        exclusive: exclusive(fields.get("OverSubscribe"), findings) || whole_nodes,
        default_memory: default_memory(|key| fields.get(key), findings),
    }
}

fn times(fields: &Fields, findings: &mut Findings) -> (TimeLimit, Option<TimeLimit>) {
    let mut time = |key: &str| {
        let pair = fields.get(key).filter(|pair| !pair.value.eq_ignore_ascii_case("NONE"))?;
        values::time_limit(pair, findings)
    };
    let max_time = time("MaxTime");
    let mut default_time = time("DefaultTime");
    // TimeLimit orders minutes before unlimited.
    if let (Some(limit), Some(default)) = (max_time, default_time)
        && default > limit
        && let (Some(limit), Some(pair)) = (fields.get("MaxTime"), fields.get("DefaultTime"))
    {
        let what = format!("{} is longer than {}", pair.text(), limit.text());
        findings.warning(&pair.place, what, "as in Slurm MaxTime is used for both; shorten DefaultTime");
        default_time = None;
    }
    (max_time.unwrap_or(TimeLimit::Unlimited), default_time)
}

/// Tier and job factor; as in Slurm, `Priority` goes before both.
fn priorities(fields: &Fields, findings: &mut Findings) -> (u32, u32) {
    let mut number =
        |key: &str| fields.get(key).and_then(|pair| values::number32(pair, 0, PRIORITY_MAX, findings));
    let (tier, factor, both) = (number("PriorityTier"), number("PriorityJobFactor"), number("Priority"));
    (both.or(tier).unwrap_or(1), both.or(factor).unwrap_or(1))
}

fn node_counts(fields: &Fields, findings: &mut Findings) -> (u32, Option<u32>) {
    let mut number = |key: &str| {
        let pair = fields.get(key).filter(|pair| !values::is_unlimited(pair))?;
        values::number32(pair, 0, 1_000_000, findings)
    };
    let (min, max) = (number("MinNodes").unwrap_or(0), number("MaxNodes"));
    if let (Some(max), Some(pair)) = (max, fields.get("MaxNodes"))
        && max < min
    {
        let what = format!("{} is less than MinNodes={min}", pair.text());
        findings.error(&pair.place, what, "no job fits between them: change one");
    }
    (min, max)
}

/// Account names are lower case in Slurm.
fn accounts(fields: &Fields, findings: &mut Findings) -> (Option<Vec<String>>, Vec<String>) {
    let lower = |names: Vec<String>| names.iter().map(|name| name.to_ascii_lowercase()).collect();
    let allowed = all_or_list(fields.get("AllowAccounts")).map(lower);
    let Some(denied) = fields.get("DenyAccounts") else { return (allowed, Vec::new()) };
    if let (Some(_), Some(pair)) = (&allowed, fields.get("AllowAccounts")) {
        let what = format!("{} stands beside {}", denied.text(), pair.text());
        findings.warning(&denied.place, what, "AllowAccounts is used; remove one of them");
        return (allowed, Vec::new());
    }
    (allowed, lower(values::list(&denied.value)))
}

/// The names of a list; `None` for ALL.
fn all_or_list(pair: Option<&Pair>) -> Option<Vec<String>> {
    let pair = pair.filter(|pair| !pair.value.eq_ignore_ascii_case("ALL"))?;
    Some(values::list(&pair.value))
}

fn exclusive(pair: Option<&Pair>, findings: &mut Findings) -> bool {
    let Some(pair) = pair else { return false };
    let word = pair.value.split(':').next().unwrap_or_default().to_ascii_uppercase();
    match word.as_str() {
        "EXCLUSIVE" => true,
        // One job at a time is what NO means.
        "NO" => false,
        "YES" | "FORCE" if pair.value.ends_with(":1") => false,
        "YES" | "FORCE" => {
            findings.without_effect(&pair.place, &pair.text(), "sharing CPUs among jobs");
            false
        }
        _ => {
            let remedy = "expected NO, EXCLUSIVE, YES or FORCE";
            findings.error(&pair.place, format!("{} is not known", pair.text()), remedy);
            false
        }
    }
}
