//! `PriorityType` and what belongs to it.

use std::collections::{BTreeMap, BTreeSet};

use daybook_schemas::Seconds;
use daybook_schemas::priority::{PriorityFlag, PriorityParameters, UsageResetPeriod};

use super::SlurmConf;
use crate::diagnostic::Findings;
use crate::keys::{Key, known_word, not_needed, refused, supported};
use crate::lines::Pair;
use crate::values;

/// Parameters that have a meaning beside `PriorityType=priority/multifactor` only.
const OF_MULTIFACTOR: [&str; 15] = [
    "PriorityCalcPeriod",
    "PriorityDecayHalfLife",
    "PriorityFavorSmall",
    "PriorityFlags",
    "PriorityMaxAge",
    "PriorityShortTime",
    "PriorityUsageResetPeriod",
    "PriorityWeightAge",
    "PriorityWeightAssoc",
    "PriorityWeightFairshare",
    "PriorityWeightJobSize",
    "PriorityWeightPartition",
    "PriorityWeightQOS",
    "PriorityWeightShort",
    "PriorityWeightTRES",
];
/// Values that ask for what happens anyway.
const FINE: [&str; 4] = ["0", "no", "none", "false"];

/// The parameters of multifactor priority; `None` where jobs stand in the order of their submission.
pub(super) fn priority(conf: &SlurmConf, findings: &mut Findings) -> Option<PriorityParameters> {
    const TYPES: &[(&str, bool)] = &[("priority/basic", false), ("priority/multifactor", true)];
    let is_multifactor = conf
        .parameter("PriorityType")
        .and_then(|pair| values::choice(pair, TYPES, findings))
        .unwrap_or(false);
    if !is_multifactor {
        for pair in OF_MULTIFACTOR.iter().filter_map(|key| conf.parameter(key)) {
            if !FINE.iter().any(|fine| pair.value.eq_ignore_ascii_case(fine)) {
                let what = format!("{} has no effect with PriorityType=priority/basic", pair.text());
                findings.warning(&pair.place, what, "write PriorityType=priority/multifactor, or remove it");
            }
        }
        return None;
    }
    let mut parameters = PriorityParameters::default();
    weights(conf, &mut parameters, findings);
    times(conf, &mut parameters, findings);
    if let Some(pair) = conf.parameter("PriorityFavorSmall") {
        parameters.favor_small = values::boolean(pair, findings).unwrap_or(false);
    }
    if let Some(pair) = conf.parameter("PriorityFlags") {
        parameters.flags = flags(pair, findings);
    }
    Some(parameters)
}

fn weights(conf: &SlurmConf, parameters: &mut PriorityParameters, findings: &mut Findings) {
    let mut weight = |key: &str| {
        conf.parameter(key).and_then(|pair| values::number32(pair, 0, u32::MAX, findings)).unwrap_or(0)
    };
    parameters.weight_age = weight("PriorityWeightAge");
    parameters.weight_association = weight("PriorityWeightAssoc");
    parameters.weight_fair_share = weight("PriorityWeightFairshare");
    parameters.weight_job_size = weight("PriorityWeightJobSize");
    parameters.weight_partition = weight("PriorityWeightPartition");
    parameters.weight_qos = weight("PriorityWeightQOS");
    parameters.weight_short = weight("PriorityWeightShort");
    if let Some(pair) = conf.parameter("PriorityWeightTRES") {
        parameters.weight_tres = tres_weights(pair, findings);
    }
}

/// `CPU=1000,Mem=2000,GRES/gpu=3000`; names in any letter case.
fn tres_weights(pair: &Pair, findings: &mut Findings) -> BTreeMap<String, u32> {
    let mut weights = BTreeMap::new();
    for part in values::list(&pair.value) {
        let (name, weight) = part.split_once('=').unwrap_or((&part, ""));
        let name = name.to_ascii_lowercase();
        let gpu_type = name.strip_prefix("gres/gpu:").is_some_and(|gpu_type| !gpu_type.is_empty());
        if !gpu_type && !["cpu", "mem", "node", "gres/gpu"].contains(&name.as_str()) {
            let what = format!("PriorityWeightTRES: \"{name}\" has no weight");
            findings.error(&pair.place, what, "expected cpu, mem, node, gres/gpu or gres/gpu:TYPE");
            continue;
        }
        let entry = Pair {
            key: format!("{} {name}", pair.key),
            value: weight.to_string(),
            place: pair.place.clone(),
        };
        if let Some(weight) = values::number32(&entry, 0, u32::MAX, findings) {
            weights.insert(name, weight);
        }
    }
    weights
}

fn times(conf: &SlurmConf, parameters: &mut PriorityParameters, findings: &mut Findings) {
    let mut seconds = |key: &str, least: u64, known: Seconds| {
        let example = if key == "PriorityCalcPeriod" { "00:05:00" } else { "7-0" };
        let Some(pair) = conf.parameter(key) else { return known };
        let Some(limit) = values::time_limit(pair, findings) else { return known };
        match limit.seconds() {
            Some(seconds) if seconds >= least => Seconds(seconds),
            // Unlimited is what 0 is where that is allowed: it never ends.
            None if least == 0 => Seconds(0),
            _ => {
                let remedy = format!("expected at least a second, such as {key}={example}");
                findings.error(&pair.place, format!("{} is out of range", pair.text()), remedy);
                known
            }
        }
    };
    parameters.decay_half_life = seconds("PriorityDecayHalfLife", 0, parameters.decay_half_life);
    parameters.age_max = seconds("PriorityMaxAge", 1, parameters.age_max);
    parameters.short_time = seconds("PriorityShortTime", 1, parameters.short_time);
    parameters.period = seconds("PriorityCalcPeriod", 1, parameters.period);
    let Some(pair) = conf.parameter("PriorityUsageResetPeriod") else { return };
    if let Some(key) = known_word(pair, &pair.value, RESET_PERIODS, findings) {
        let period = UsageResetPeriod::ALL.iter().find(|(name, _)| name.eq_ignore_ascii_case(key.name));
        parameters.usage_reset = period.map(|(_, period)| *period);
    }
}

/// Words of `PriorityUsageResetPeriod`, in the order of their length.
pub(crate) const RESET_PERIODS: &[Key] = &[
    supported("NONE", "never"),
    supported("DAILY", "at midnight"),
    supported("WEEKLY", "on Sundays at midnight"),
    supported("MONTHLY", "on the first of a month"),
    supported("QUARTERLY", "on the first of January, April, July and October"),
    supported("YEARLY", "on the first of January"),
    refused(
        "NOW",
        "usage comes from the log, which a restart does not change; expected NONE, DAILY, WEEKLY, MONTHLY, \
         QUARTERLY or YEARLY",
    ),
];

/// Words of `PriorityFlags`, in alphabetical order.
pub(crate) const FLAGS: &[Key] = &[
    supported(
        "ACCRUE_ALWAYS",
        "the age factor counts from the submission on, also while a job is held or depends",
    ),
    refused(
        "CALCULATE_RUNNING",
        "remove it; the priority of a job that runs decides nothing, and stays as it was",
    ),
    refused("DEPTH_OBLIVIOUS", "remove it; fair share is the Fair Tree, whatever the depth of accounts"),
    not_needed("FAIR_TREE", "the Fair Tree is the only way"),
    refused("INCR_ONLY", "remove it; a job's priority is always what its factors say now, so it may fall"),
    supported(
        "MAX_TRES",
        "TRESBillingWeights: only the largest of what CPUs, memory, nodes and GPUs are billed counts, and licences",
    ),
    supported(
        "MAX_TRES_GRES",
        "TRESBillingWeights: only the largest of what CPUs, memory and nodes are billed counts, and GPUs and licences",
    ),
    refused(
        "NO_FAIR_TREE",
        "remove it; the classic fair share formula is not there, the Fair Tree is the only way",
    ),
    supported("NO_NORMAL_ALL", "NO_NORMAL_ASSOC, NO_NORMAL_PART, NO_NORMAL_QOS and NO_NORMAL_TRES in one"),
    supported("NO_NORMAL_ASSOC", "an association's priority counts as it is, not as a part of the highest"),
    supported(
        "NO_NORMAL_PART",
        "a partition's PriorityJobFactor counts as it is, not as a part of the highest",
    ),
    supported("NO_NORMAL_QOS", "a QOS's priority counts as it is, not as a part of the highest"),
    supported("NO_NORMAL_TRES", "amounts of resources count as they are, not as a part of the partition's"),
    not_needed("NONE", "no flag"),
    supported("SMALL_RELATIVE_TO_TIME", "the size factor is divided by the time limit"),
];

fn flags(pair: &Pair, findings: &mut Findings) -> Vec<PriorityFlag> {
    let mut flags = BTreeSet::new();
    for word in values::list(&pair.value) {
        let Some(key) = known_word(pair, &word.to_ascii_uppercase(), FLAGS, findings) else { continue };
        match PriorityFlag::ALL.iter().find(|(name, _)| *name == key.name) {
            Some((_, flag)) => {
                flags.insert(*flag);
            }
            // NO_NORMAL_ALL.
            None => flags.extend([
                PriorityFlag::NoNormalAssoc,
                PriorityFlag::NoNormalPart,
                PriorityFlag::NoNormalQos,
                PriorityFlag::NoNormalTres,
            ]),
        }
    }
    flags.into_iter().collect()
}
