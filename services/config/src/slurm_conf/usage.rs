//! How often it is looked at what runs use: `JobAcctGatherType`, `JobAcctGatherFrequency`.

use std::time::Duration;

use super::SlurmConf;
use crate::diagnostic::{Findings, did_you_mean};
use crate::keys::{Key, not_needed, supported};
use crate::lines::Pair;
use crate::settings::USAGE_INTERVAL;
use crate::values;

/// The words of `JobAcctGatherType`.
pub(crate) const GATHERERS: &[Key] = &[
    supported(
        "jobacct_gather/cgroup",
        "what the kernel counts of a run's control group, else of its processes",
    ),
    supported("jobacct_gather/linux", "the same"),
    supported("jobacct_gather/none", "runs are not looked at; what was used is in the books at their end"),
];

/// The words of `JobAcctGatherFrequency`, each with `=` and seconds.
pub(crate) const SOURCES: &[Key] = &[
    supported("task", "how often runs are looked at"),
    not_needed("energy", "sampling by Slurm's plugins"),
    not_needed("filesystem", "sampling by Slurm's plugins"),
    not_needed("network", "sampling by Slurm's plugins"),
];

/// Reads it; `None`: never.
pub(crate) fn interval(conf: &SlurmConf, findings: &mut Findings) -> Option<Duration> {
    let seconds = conf.parameter("JobAcctGatherFrequency").and_then(|pair| frequency(pair, findings));
    let interval = seconds.map_or(USAGE_INTERVAL, Duration::from_secs);
    let is_off = conf.parameter("JobAcctGatherType").is_some_and(|pair| is_none(pair, findings));
    (!is_off && !interval.is_zero()).then_some(interval)
}

fn is_none(pair: &Pair, findings: &mut Findings) -> bool {
    let mut names = GATHERERS.iter().map(|key| key.name);
    match names.find(|name| pair.value.eq_ignore_ascii_case(name)) {
        Some(name) => name == "jobacct_gather/none",
        None => {
            let what = format!("{} is no way of gathering", pair.text());
            let names = GATHERERS.iter().map(|key| key.name);
            findings.error(
                &pair.place,
                what,
                did_you_mean(&pair.value, names, "expected such as jobacct_gather/cgroup"),
            );
            false
        }
    }
}

/// `30` or `task=30,energy=60`.
fn frequency(pair: &Pair, findings: &mut Findings) -> Option<u64> {
    let mut seconds = None;
    for word in values::list(&pair.value) {
        let (name, value) = word.split_once('=').unwrap_or(("task", &word));
        let of = SOURCES.iter().find(|key| key.name.eq_ignore_ascii_case(name));
        let Some(of) = of else {
            let what = format!("JobAcctGatherFrequency has an unknown word \"{name}\"");
            let names = SOURCES.iter().map(|key| key.name);
            findings.error(&pair.place, what, did_you_mean(name, names, "expected such as task=30"));
            continue;
        };
        let number = Pair { value: value.to_string(), ..pair.clone() };
        let number = values::number(&number, 0, 65_535, findings);
        if of.name == "task" {
            seconds = number;
        }
    }
    seconds
}
