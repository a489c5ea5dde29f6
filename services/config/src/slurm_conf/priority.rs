//! `PriorityType` and what belongs to it.

use std::collections::{BTreeMap, BTreeSet};

use daybook_schemas::Seconds;
use daybook_schemas::priority::{PriorityFlag, PriorityParameters, UsageResetPeriod};

use super::SlurmConf;
use crate::diagnostic::{Findings, did_you_mean};
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
    if pair.value.eq_ignore_ascii_case("none") {
        return;
    }
    if pair.value.eq_ignore_ascii_case("now") {
        let remedy = "usage comes from the log, which a restart does not change; expected NONE, DAILY, WEEKLY, \
                      MONTHLY, QUARTERLY or YEARLY";
        findings.error(&pair.place, format!("{} is not supported", pair.text()), remedy);
        return;
    }
    parameters.usage_reset = values::choice(pair, &UsageResetPeriod::ALL, findings);
}

/// Flags that change what is calculated in a way that Daybook does not have.
const REFUSED_FLAGS: [&str; 6] =
    ["CALCULATE_RUNNING", "DEPTH_OBLIVIOUS", "INCR_ONLY", "MAX_TRES", "MAX_TRES_GRES", "NO_FAIR_TREE"];

fn flags(pair: &Pair, findings: &mut Findings) -> Vec<PriorityFlag> {
    let mut flags = BTreeSet::new();
    for word in values::list(&pair.value) {
        let word = word.to_ascii_uppercase();
        if let Some((_, flag)) = PriorityFlag::ALL.iter().find(|(name, _)| *name == word) {
            flags.insert(*flag);
        } else if word == "NO_NORMAL_ALL" {
            flags.extend([
                PriorityFlag::NoNormalAssoc,
                PriorityFlag::NoNormalPart,
                PriorityFlag::NoNormalQos,
                PriorityFlag::NoNormalTres,
            ]);
        } else if REFUSED_FLAGS.contains(&word.as_str()) {
            let what = format!("PriorityFlags={word} is not supported");
            findings.error(
                &pair.place,
                what,
                "remove it; docs/configuration.md lists the flags that there are",
            );
        } else if word != "FAIR_TREE" && word != "NONE" {
            let known = PriorityFlag::ALL.iter().map(|(name, _)| *name).chain(["NO_NORMAL_ALL", "FAIR_TREE"]);
            let what = format!("PriorityFlags has an unknown word \"{word}\"");
            findings.error(&pair.place, what, did_you_mean(&word, known, "expected such as NO_NORMAL_QOS"));
        }
    }
    flags.into_iter().collect()
}
