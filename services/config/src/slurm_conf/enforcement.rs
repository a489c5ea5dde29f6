//! `AccountingStorageEnforce`: what of the accounts binds jobs.

use std::collections::BTreeSet;

use daybook_schemas::node::AccountingEnforcement::{
    self, Associations, Limits, NoJobs, NoSteps, Qos, Safe, Wckeys,
};

use crate::diagnostic::{Findings, did_you_mean};
use crate::lines::Pair;
use crate::values;

const WORDS: [&str; 10] =
    ["none", "0", "all", "associations", "limits", "qos", "safe", "wckeys", "nojobs", "nosteps"];

/// Everything that follows from the words, sorted.
pub(super) fn enforced(pair: &Pair, findings: &mut Findings) -> Vec<AccountingEnforcement> {
    let mut all = BTreeSet::new();
    for word in values::list(&pair.value.to_ascii_lowercase()) {
        match word.as_str() {
            "none" | "0" => {}
            "associations" | "1" => all.extend([Associations]),
            "qos" => all.extend([Associations, Qos]),
            "limits" | "2" => all.extend([Associations, Limits]),
            "safe" => all.extend([Associations, Limits, Safe]),
            "wckeys" => all.extend([Associations, Wckeys]),
            "nosteps" => all.extend([NoSteps]),
            // As in Slurm: without a job there are no steps.
            "nojobs" => all.extend([NoJobs, NoSteps]),
            // As in Slurm: all but nojobs and nosteps.
            "all" => all.extend([Associations, Limits, Qos, Safe, Wckeys]),
            other => {
                let what = format!("AccountingStorageEnforce has an unknown word \"{other}\"");
                let remedy = did_you_mean(other, WORDS.iter().copied(), "expected such as associations,qos");
                findings.error(&pair.place, what, remedy);
            }
        }
    }
    all.into_iter().collect()
}
