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
    supported("suspend_grace_time", "seconds from TSTP to STOP where a job is suspended; 2"),
    supported(
        "youngest_first",
        "who has run for the shortest time gives way first, whatever the QOS or partition",
    ),
];

/// Words of `PreemptMode`.
pub(crate) const MODES: &[Key] = &[
    supported("CANCEL", "they are cancelled"),
    supported("GANG", "of the cluster: what is suspended goes on by itself"),
    supported("OFF", "they do not give way"),
    supported("REQUEUE", "they wait again; those that may not be requeued are cancelled"),
    supported("SUSPEND", "they are stopped, and go on when their CPUs are free; needs GANG"),
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
    let modes = written.map(|pair| preempt_modes(pair, findings));
    let gang = modes.is_some_and(|modes| modes.gang);
    let mode = modes.and_then(|modes| modes.mode);
    check_partitions(conf, gang, findings);
    if let Some(pair) = written.filter(|_| mode == Some(PreemptMode::Suspend) && !gang) {
        findings.error(&pair.place, "PreemptMode=SUSPEND needs GANG too", "write PreemptMode=SUSPEND,GANG");
    }
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
    let is_refused = mode.is_none() && written.is_some() && !gang;
    let mode = mode.unwrap_or(PreemptMode::Off);
    if mode == PreemptMode::Off
        && !is_refused
        && !gang
        && let Some(pair) = written.or(conf.parameter("PreemptType"))
    {
        let what = format!("PreemptType={} needs a PreemptMode, and not OFF", by.word());
        findings.error(&pair.place, what, "write PreemptMode=REQUEUE, CANCEL or SUSPEND,GANG");
    }
    let mut parameters = PreemptionParameters { gang, ..PreemptionParameters::new(by, mode) };
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

/// Without GANG nobody would let runs go on that a partition has suspended.
fn check_partitions(conf: &SlurmConf, gang: bool, findings: &mut Findings) {
    let fields = conf.partitions.iter().flat_map(|partition| &partition.fields);
    for pair in fields.filter(|pair| !gang && pair.is("PreemptMode")) {
        if values::list(&pair.value).iter().any(|word| word.eq_ignore_ascii_case("SUSPEND")) {
            let what = "PreemptMode=SUSPEND needs GANG in the cluster's PreemptMode";
            findings.error(&pair.place, what, "add GANG there, as in PreemptMode=SUSPEND,GANG");
        }
    }
}

/// What `PreemptMode` says.
#[derive(Clone, Copy, Debug, Default)]
struct Modes {
    mode: Option<PreemptMode>,
    gang: bool,
}

fn preempt_modes(pair: &Pair, findings: &mut Findings) -> Modes {
    const WORDS: [&str; 5] = ["OFF", "CANCEL", "REQUEUE", "SUSPEND", "GANG"];
    let mut modes = Modes::default();
    for word in values::list(&pair.value.to_ascii_uppercase()) {
        match word.as_str() {
            "OFF" => modes.mode = Some(PreemptMode::Off),
            "CANCEL" => modes.mode = Some(PreemptMode::Cancel),
            "REQUEUE" => modes.mode = Some(PreemptMode::Requeue),
            "SUSPEND" => modes.mode = Some(PreemptMode::Suspend),
            "GANG" => modes.gang = true,
            "WITHIN" => findings.error(
                &pair.place,
                "PreemptMode=WITHIN is not supported",
                "write PreemptMode=REQUEUE, CANCEL, OFF or SUSPEND,GANG",
            ),
            other => {
                let remedy = did_you_mean(other, WORDS, "expected OFF, CANCEL, REQUEUE, SUSPEND or GANG");
                findings.error(&pair.place, format!("PreemptMode has an unknown word \"{other}\""), remedy);
            }
        }
    }
    modes
}

/// How a partition's runs give way. GANG is the cluster's alone.
pub(super) fn preempt_mode(pair: &Pair, findings: &mut Findings) -> Option<PreemptMode> {
    let Modes { mode, gang } = preempt_modes(pair, findings);
    if gang {
        let what = "PreemptMode=GANG is the cluster's, not a partition's";
        findings.error(&pair.place, what, "write it into the cluster's PreemptMode");
    }
    mode
}

/// `suspend_grace_time` of `PreemptParameters`, which holds also where nobody gives way.
pub(super) fn suspend_grace(conf: &SlurmConf, findings: &mut Findings) -> Option<Seconds> {
    let pair = conf.parameter("PreemptParameters")?;
    let words = values::list(&pair.value);
    let mut found = words.iter().filter_map(|word| word.split_once('='));
    let (name, value) = found.rfind(|(name, _)| name.eq_ignore_ascii_case("suspend_grace_time"))?;
    let option = Pair { key: name.to_string(), value: value.to_string(), place: pair.place.clone() };
    values::number32(&option, 0, 3_600, findings).map(|seconds| Seconds(seconds.into()))
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
        } else if name.eq_ignore_ascii_case("min_exempt_priority") {
            parameters.exempt_above = values::number32(&option, 0, u32::MAX - 1, findings);
        }
    }
}
