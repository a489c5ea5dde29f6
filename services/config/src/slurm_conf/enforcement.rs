//! `AccountingStorageEnforce`: what of the accounts binds jobs.

use std::collections::BTreeSet;

use daybook_schemas::node::AccountingEnforcement::{self, Associations, Limits, Qos, Safe};

use crate::diagnostic::{Findings, did_you_mean};
use crate::keys::{Key, no_effect, supported};
use crate::lines::Pair;
use crate::values;

/// Words of `AccountingStorageEnforce`.
pub(crate) const WORDS: &[Key] = &[
    supported("none", "nothing"),
    supported("associations", "who has no association has no job"),
    supported("limits", "associations, and jobs wait where a limit of an association or a QOS is reached"),
    supported("qos", "associations, and a job has a QOS that its association lists"),
    supported("safe", "limits, and nothing starts that could use more than GrpTRESMins leaves"),
    supported("all", "all of these but wckeys, nojobs and nosteps"),
    no_effect("wckeys", "workload keys of jobs"),
    no_effect("nojobs", "leaving jobs out of the books"),
    no_effect("nosteps", "leaving jobs out of the books"),
];

/// Everything that follows from the words, sorted.
pub(super) fn enforced(pair: &Pair, findings: &mut Findings) -> Vec<AccountingEnforcement> {
    let mut all = BTreeSet::new();
    for word in values::list(&pair.value.to_ascii_lowercase()) {
        let setting = format!("AccountingStorageEnforce={word}");
        match word.as_str() {
            "none" | "0" => {}
            "associations" | "1" => all.extend([Associations]),
            "qos" => all.extend([Associations, Qos]),
            "limits" | "2" => all.extend([Associations, Limits]),
            "safe" => all.extend([Associations, Limits, Safe]),
            // As in Slurm: all but nojobs and nosteps.
            "all" => {
                all.extend([Associations, Limits, Qos, Safe]);
                let what = format!("{setting} leaves workload keys of jobs out");
                findings.warning(&pair.place, what, "write associations,limits,qos,safe to say so");
            }
            "wckeys" => {
                all.insert(Associations);
                findings.without_effect(&pair.place, &setting, "workload keys of jobs");
            }
            "nojobs" | "nosteps" => {
                findings.without_effect(&pair.place, &setting, "leaving jobs out of the books");
            }
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
