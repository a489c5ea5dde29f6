//! `AccountingStorageEnforce`: what of the accounts binds jobs.

use std::collections::BTreeSet;

use daybook_schemas::node::AccountingEnforcement::{self, Associations, Qos};

use crate::diagnostic::{Findings, did_you_mean};
use crate::keys::{Key, no_effect, refused, supported};
use crate::lines::Pair;
use crate::values;

/// Words of `AccountingStorageEnforce`.
pub(crate) const WORDS: &[Key] = &[
    supported("none", "nothing"),
    supported("associations", "who has no association has no job"),
    refused("limits", "limits are kept and shown, but bind no job yet"),
    supported("qos", "associations, and a job has a QOS that its association lists"),
    refused("safe", "limits are kept and shown, but bind no job yet"),
    refused("all", "limits are kept and shown, but bind no job yet"),
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
            // Whoever limits people's use and is told in a warning only that nothing does finds out by the bill.
            "limits" | "2" | "safe" | "all" => findings.error(
                &pair.place,
                format!("{setting} is not supported yet: limits are kept and shown, but bind no job"),
                "write AccountingStorageEnforce=associations,qos for what is enforced",
            ),
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
