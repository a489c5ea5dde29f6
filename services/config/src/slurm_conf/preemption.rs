//! `PreemptType` and what belongs to it.

use daybook_schemas::Seconds;
use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::job::TimeLimit;
use daybook_schemas::preemption::{PreemptType, PreemptionParameters};

use super::SlurmConf;
use crate::diagnostic::{Findings, did_you_mean};
use crate::keys::{Key, is_supported, no_effect, not_needed, refused, supported};
use crate::lines::Pair;
use crate::values;

/// Words of `PreemptParameters`, in alphabetical order.
pub(crate) const OPTIONS: &[Key] = &[
    supported("min_exempt_priority", "runs of jobs with a higher priority do not give way"),
    no_effect("reclaim_licenses", "preemption for licences"),
    not_needed("reorder_count", "nobody gives way who does not help"),
    no_effect("send_user_signal", "a user's own signal before the warning"),
    not_needed("strict_order", "the cheapest always give way"),
    no_effect("suspend_grace_time", "suspending jobs"),
    supported(
        "youngest_first",
        "who has run for the shortest time gives way first, whatever the QOS or partition",
    ),
];

/// Words of `PreemptMode`.
pub(crate) const MODES: &[Key] = &[
    supported("CANCEL", "they are cancelled"),
    refused("GANG", "suspended jobs would keep their memory, and nobody accounts for that yet"),
    supported("OFF", "they do not give way"),
    supported("REQUEUE", "they wait again; those that may not be requeued are cancelled"),
    refused("SUSPEND", "suspended jobs would keep their memory, and nobody accounts for that yet"),
    refused("WITHIN", "jobs of one QOS do not give way to each other yet"),
];

/// The parameters of preemption; `None` where no run gives way.
pub(super) fn preemption(conf: &SlurmConf, findings: &mut Findings) -> Option<PreemptionParameters> {
    const TYPES: &[(&str, Option<PreemptType>)] = &[
        ("preempt/none", None),
        ("preempt/qos", Some(PreemptType::Qos)),
        ("preempt/partition_prio", Some(PreemptType::PartitionPrio)),
    ];
    let by = conf.parameter("PreemptType").and_then(|pair| values::choice(pair, TYPES, findings)).flatten();
    let written = conf.parameter("PreemptMode");
    let mode = written.and_then(|pair| preempt_mode(pair, findings));
    let Some(by) = by else {
        for pair in ["PreemptMode", "PreemptExemptTime", "PreemptParameters"].map(|key| conf.parameter(key)) {
            let Some(pair) =
                pair.filter(|pair| !pair.value.is_empty() && !pair.value.eq_ignore_ascii_case("off"))
            else {
                continue;
            };
            let what = format!("{} has no effect with PreemptType=preempt/none", pair.text());
            findings.warning(
                &pair.place,
                what,
                "write PreemptType=preempt/qos or preempt/partition_prio, or remove it",
            );
        }
        return None;
    };
    // A mode that is refused has been named already.
    let is_refused = mode.is_none() && written.is_some();
    let mode = mode.unwrap_or(PreemptMode::Off);
    if mode == PreemptMode::Off
        && !is_refused
        && let Some(pair) = written.or(conf.parameter("PreemptType"))
    {
        let what = format!("PreemptType={} needs a PreemptMode, and not OFF", by.word());
        findings.error(&pair.place, what, "write PreemptMode=REQUEUE or PreemptMode=CANCEL");
    }
    let mut parameters = PreemptionParameters::new(by, mode);
    if let Some(pair) = conf.parameter("PreemptExemptTime").filter(|pair| pair.value != "-1")
        && let Some(time) = values::time_limit(pair, findings)
    {
        let seconds = match time {
            TimeLimit::Seconds(seconds) => seconds,
            TimeLimit::Unlimited => u32::MAX.into(),
        };
        parameters.exempt_time = Seconds(seconds);
    }
    if let Some(pair) = conf.parameter("PreemptParameters") {
        options(pair, &mut parameters, findings);
    }
    let old = conf.parameter("SchedulerParameters").map(|pair| values::list(&pair.value)).unwrap_or_default();
    parameters.youngest_first |= old.iter().any(|word| word.eq_ignore_ascii_case("preempt_youngest_first"));
    Some(parameters)
}

/// How runs give way. What would stop and resume them is refused: who wrote it counts on memory and work that stay.
pub(super) fn preempt_mode(pair: &Pair, findings: &mut Findings) -> Option<PreemptMode> {
    const WORDS: [&str; 3] = ["OFF", "CANCEL", "REQUEUE"];
    let mut mode = None;
    for word in values::list(&pair.value.to_ascii_uppercase()) {
        match word.as_str() {
            "OFF" => mode = Some(PreemptMode::Off),
            "CANCEL" => mode = Some(PreemptMode::Cancel),
            "REQUEUE" => mode = Some(PreemptMode::Requeue),
            "SUSPEND" | "GANG" | "WITHIN" => findings.error(
                &pair.place,
                format!("PreemptMode={word} is not supported"),
                "write PreemptMode=REQUEUE, CANCEL or OFF",
            ),
            other => {
                let remedy = did_you_mean(other, WORDS, "expected OFF, CANCEL or REQUEUE");
                findings.error(&pair.place, format!("PreemptMode has an unknown word \"{other}\""), remedy);
            }
        }
    }
    mode
}

fn options(pair: &Pair, parameters: &mut PreemptionParameters, findings: &mut Findings) {
    for word in values::list(&pair.value) {
        let (name, value) = word.split_once('=').unwrap_or((&word, ""));
        let option = Pair { key: name.to_string(), value: value.to_string(), place: pair.place.clone() };
        if crate::keys::find(OPTIONS, name).is_none() {
            let names = OPTIONS.iter().map(|key| key.name);
            let remedy = did_you_mean(name, names, "it has no effect; Slurm does not know it either");
            findings.warning(&pair.place, format!("unknown option \"{name}\" in PreemptParameters"), remedy);
            continue;
        }
        if !is_supported(&option, OPTIONS, "option", findings) {
            continue;
        }
        if name.eq_ignore_ascii_case("youngest_first") {
            parameters.youngest_first = true;
        } else {
            parameters.exempt_above = values::number32(&option, 0, u32::MAX - 1, findings);
        }
    }
}
