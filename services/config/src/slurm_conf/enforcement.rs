//! `AccountingStorageEnforce`: what of the accounts binds jobs.

use std::collections::BTreeSet;

use daybook_schemas::node::AccountingEnforcement::{
    self, Associations, Limits, NoJobs, NoSteps, Qos, Safe, Wckeys,
};

use crate::diagnostic::{Findings, did_you_mean};
use crate::keys::{Key, supported};
use crate::lines::Pair;
use crate::values;

/// Words of `AccountingStorageEnforce`.
pub(crate) const WORDS: &[Key] = &[
    supported("none", "nothing"),
    supported("associations", "who has no association has no job"),
    supported("limits", "associations, and jobs wait where a limit of an association or a QOS is reached"),
    supported("qos", "associations, and a job has a QOS that its association lists"),
    supported("safe", "limits, and nothing starts that could use more than GrpTRESMins leaves"),
    supported("wckeys", "associations, and a job has a workload key that its user has"),
    supported("all", "all of these"),
    supported("nojobs", "sacct shows no jobs that are submitted under it, and no steps"),
    supported("nosteps", "sacct shows no steps of jobs that are submitted under it"),
];

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
                let remedy = did_you_mean(
                    other,
                    WORDS.iter().map(|key| key.name),
                    "expected such as associations,qos",
                );
                findings.error(&pair.place, what, remedy);
            }
        }
    }
    all.into_iter().collect()
}
