//! What the keys of one partition mean.

use daybook_schemas::billing::BillingWeights;
use daybook_schemas::grammar::billing_weights;
use daybook_schemas::job::{MemoryRequest, TimeLimit};
use daybook_schemas::node::{PartitionDefinition, PartitionState};
use daybook_schemas::{Mebibytes, NodeName, Seconds};

use super::Fields;
use super::parameters::default_memory;
use super::partitions::Named;
use super::preemption::preempt_mode;
use crate::diagnostic::Findings;
use crate::keys::{Key, Standing, no_effect, supported};
use crate::lines::Pair;
use crate::values;

/// Slurm keeps priorities in 16 bits.
const PRIORITY_MAX: u32 = 65_533;
/// The most CPUs for each GPU by default.
const CPUS_PER_GPU_MAX: u32 = 65_533;

const STATES: &[(&str, PartitionState)] = &[
    ("UP", PartitionState::Up),
    ("DOWN", PartitionState::Down),
    ("DRAIN", PartitionState::Drain),
    ("INACTIVE", PartitionState::Inactive),
];

/// The partition with what the fields say; the rest stays. `owner` is the pair that names it.
pub(crate) fn overlay(
    mut partition: PartitionDefinition,
    owner: &Pair,
    fields: &Fields,
    named: &Named<'_>,
    findings: &mut Findings,
) -> PartitionDefinition {
    if let Some(pair) = fields.get("Nodes") {
        let nodes = match pair.value.is_empty() {
            true => Default::default(),
            false => named.resolve(pair, owner, findings),
        };
        partition.nodes = nodes.iter().map(|&index| NodeName::from(named.name(index))).collect();
        partition.nodes_text = pair.value.clone();
    }
    for (key, setting) in [
        ("Default", &mut partition.default),
        ("RootOnly", &mut partition.root_only),
        ("Hidden", &mut partition.hidden),
        ("DisableRootJobs", &mut partition.no_root_jobs),
        ("LLN", &mut partition.least_loaded),
    ] {
        if let Some(is_so) = fields.get(key).and_then(|pair| values::boolean(pair, findings)) {
            *setting = is_so;
        }
    }
    if let Some(state) = fields.get("State").and_then(|pair| values::choice(pair, STATES, findings)) {
        partition.state = state;
    }
    if let Some(pair) = fields.get("OverSubscribe") {
        partition.exclusive = exclusive(pair, findings);
    }
    times(&mut partition, fields, findings);
    priorities(&mut partition, fields, findings);
    node_counts(&mut partition, fields, findings);
    admission(&mut partition, fields, findings);
    defaults(&mut partition, fields, findings);
    if let Some(pair) = fields.get("MaxMemPerNode") {
        partition.max_memory_per_node = max_memory(pair, findings);
    }
    if let Some(pair) = fields.get("PreemptMode") {
        partition.preempt_mode = preempt_mode(pair, findings).or(partition.preempt_mode);
    }
    if let Some(seconds) =
        fields.get("GraceTime").and_then(|pair| values::number32(pair, 0, u32::MAX - 1, findings))
    {
        partition.grace_time = Seconds(seconds.into());
    }
    if let Some(pair) = fields.get("TRESBillingWeights") {
        partition.billing_weights = billing_weights(pair, findings);
    }
    if let Some(pair) = fields.get("QOS") {
        let none = pair.value.is_empty() || pair.value.eq_ignore_ascii_case("N/A");
        partition.qos = (!none).then(|| pair.value.clone());
    }
    partition
}

/// `TRESBillingWeights`; without any weight there are none.
fn billing_weights(pair: &Pair, findings: &mut Findings) -> Option<BillingWeights> {
    match billing_weights::parse(&pair.value) {
        Ok(weights) => Some(weights).filter(|weights| !weights.weights.is_empty()),
        Err(error) => {
            findings.error(&pair.place, format!("{}: {error}", pair.key), "");
            None
        }
    }
}

/// `MaxMemPerNode`; 0 and UNLIMITED are none.
pub(super) fn max_memory(pair: &Pair, findings: &mut Findings) -> Option<Mebibytes> {
    match values::is_unlimited(pair) {
        true => None,
        false => values::mebibytes(pair, 0, findings).filter(|most| most.0 > 0),
    }
}

fn times(partition: &mut PartitionDefinition, fields: &Fields, findings: &mut Findings) {
    let mut time = |key: &str| {
        let pair = fields.get(key)?;
        let is_none = pair.value.eq_ignore_ascii_case("NONE");
        Some(if is_none { None } else { values::time_limit(pair, findings) })
    };
    if let Some(most) = time("MaxTime") {
        partition.max_time = most.unwrap_or(TimeLimit::Unlimited);
    }
    if let Some(default) = time("DefaultTime") {
        partition.default_time = default;
    }
    // TimeLimit orders minutes before unlimited.
    if partition.default_time.is_some_and(|default| default > partition.max_time) {
        partition.default_time = None;
        if let Some(pair) = fields.get("DefaultTime") {
            let most = fields.get("MaxTime").map_or("MaxTime".to_string(), Pair::text);
            let what = format!("{} is longer than {most}", pair.text());
            findings.warning(&pair.place, what, "as in Slurm MaxTime is used for both; shorten DefaultTime");
        }
    }
}

/// Tier and job factor; as in Slurm, `Priority` goes before both.
fn priorities(partition: &mut PartitionDefinition, fields: &Fields, findings: &mut Findings) {
    let mut number =
        |key: &str| fields.get(key).and_then(|pair| values::number32(pair, 0, PRIORITY_MAX, findings));
    let (tier, factor, both) = (number("PriorityTier"), number("PriorityJobFactor"), number("Priority"));
    partition.priority_tier = both.or(tier).unwrap_or(partition.priority_tier);
    partition.priority_job_factor = both.or(factor).unwrap_or(partition.priority_job_factor);
}

fn node_counts(partition: &mut PartitionDefinition, fields: &Fields, findings: &mut Findings) {
    let mut number = |key: &str| {
        let pair = fields.get(key)?;
        let is_unlimited = values::is_unlimited(pair);
        Some(if is_unlimited { None } else { values::number32(pair, 0, 1_000_000, findings) })
    };
    if let Some(least) = number("MinNodes") {
        partition.min_nodes = least.unwrap_or(0);
    }
    if let Some(most) = number("MaxNodes") {
        partition.max_nodes = most;
    }
    let min = partition.min_nodes;
    if partition.max_nodes.is_some_and(|max| max < min)
        && let Some(pair) = fields.get("MaxNodes").or(fields.get("MinNodes"))
    {
        let what = match pair.is("MaxNodes") {
            true => format!("{} is less than MinNodes={min}", pair.text()),
            false => format!("{} is more than MaxNodes", pair.text()),
        };
        findings.error(&pair.place, what, "no job fits between them: change one");
    }
}

/// Who may use it, and from where.
fn admission(partition: &mut PartitionDefinition, fields: &Fields, findings: &mut Findings) {
    // Account and QOS names are lower case in Slurm.
    let lower =
        |names: Vec<String>| -> Vec<String> { names.iter().map(|name| name.to_ascii_lowercase()).collect() };
    for (allow, deny, allowed, denied) in [
        ("AllowAccounts", "DenyAccounts", &mut partition.allow_accounts, &mut partition.deny_accounts),
        ("AllowQos", "DenyQos", &mut partition.allow_qos, &mut partition.deny_qos),
    ] {
        if let Some(pair) = fields.get(allow) {
            *allowed = all_or_list(pair).map(lower);
        }
        let Some(pair) = fields.get(deny) else { continue };
        if let (Some(_), Some(other)) = (&allowed, fields.get(allow)) {
            let what = format!("{} stands beside {}", pair.text(), other.text());
            findings.warning(&pair.place, what, format!("{allow} is used; remove one of them"));
            continue;
        }
        *denied = lower(values::list(&pair.value));
    }
    if let Some(pair) = fields.get("AllowGroups") {
        partition.allow_groups = all_or_list(pair);
    }
    if let Some(pair) = fields.get("AllocNodes") {
        partition.submit_hosts =
            all_or_list(pair).and_then(|_| match daybook_schemas::grammar::hostlist::expand(&pair.value) {
                Ok(names) => Some(names),
                Err(error) => {
                    findings.error(&pair.place, error.to_string(), "");
                    None
                }
            });
    }
}

/// Defaults of jobs that do not say.
fn defaults(partition: &mut PartitionDefinition, fields: &Fields, findings: &mut Findings) {
    if let Some(pair) = fields.get("DefCpuPerGPU") {
        partition.default_cpus_per_gpu = cpus_per_gpu(pair, findings);
    }
    if let Some(memory) = default_memory(|key| fields.get(key), findings) {
        partition.default_memory = Some(memory);
    }
    let Some(pair) = fields.get("JobDefaults") else { return };
    for word in values::list(&pair.value) {
        let (key, value) = word.split_once('=').unwrap_or((&word, ""));
        let inner = Pair { key: key.to_string(), value: value.to_string(), place: pair.place.clone() };
        if inner.is("DefCpuPerGPU") {
            partition.default_cpus_per_gpu = cpus_per_gpu(&inner, findings);
        } else if inner.is("DefMemPerGPU") {
            if let Some(amount) = values::mebibytes(&inner, 0, findings) {
                partition.default_memory = Some(MemoryRequest::PerGpu(amount));
            }
        } else {
            let remedy = "expected such as JobDefaults=DefCpuPerGPU=4,DefMemPerGPU=16000";
            findings.error(&pair.place, format!("JobDefaults has an unknown entry \"{word}\""), remedy);
        }
    }
}

fn cpus_per_gpu(pair: &Pair, findings: &mut Findings) -> Option<u32> {
    values::number32(pair, 0, CPUS_PER_GPU_MAX, findings).filter(|cpus| *cpus > 0)
}

/// The names of a list; `None` for ALL, and for no name at all.
fn all_or_list(pair: &Pair) -> Option<Vec<String>> {
    let names = values::list(&pair.value);
    (!names.is_empty() && !pair.value.eq_ignore_ascii_case("ALL")).then_some(names)
}

/// Words of `OverSubscribe`, before a count: `FORCE:4`.
pub(crate) const SHARING: &[Key] = &[
    supported("NO", "a CPU belongs to one job at a time"),
    supported("EXCLUSIVE", "each job has its nodes alone"),
    no_effect("YES", "sharing CPUs among jobs"),
    no_effect("FORCE", "sharing CPUs among jobs"),
];

fn exclusive(pair: &Pair, findings: &mut Findings) -> bool {
    // One job at a time is what NO means.
    if let Some((word, "1")) = pair.value.split_once(':')
        && ["YES", "FORCE"].iter().any(|sharing| word.eq_ignore_ascii_case(sharing))
    {
        return false;
    }
    let word = pair.value.split(':').next().unwrap_or_default();
    match SHARING.iter().find(|key| key.name.eq_ignore_ascii_case(word)) {
        Some(key) if key.standing == Standing::Supported => key.name == "EXCLUSIVE",
        Some(key) => {
            findings.without_effect(&pair.place, &pair.text(), key.about);
            false
        }
        None => {
            let remedy = "expected NO, EXCLUSIVE, YES or FORCE";
            findings.error(&pair.place, format!("{} is not known", pair.text()), remedy);
            false
        }
    }
}
