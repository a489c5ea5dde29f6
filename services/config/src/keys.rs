//! What Daybook does with each key that Slurm knows.

use crate::diagnostic::{Findings, did_you_mean};
use crate::lines::Pair;

/// What a key means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It does what it does in Slurm.
    Supported,
    /// It concerns Slurm's own daemons and plugins, which are not there.
    NotNeeded,
    /// It would change what happens to jobs or their accounting, and is not supported yet. The values
    /// (in any letter case, also several with commas between) ask for what happens anyway.
    NoEffect(&'static [&'static str]),
}

/// A key of a configuration file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// In Slurm's spelling; read in any letter case.
    pub name: &'static str,
    pub standing: Standing,
    /// What it is about: a few words; of keys without effect what "is not supported yet".
    pub about: &'static str,
}

/// A key that works.
pub(crate) const fn supported(name: &'static str, about: &'static str) -> Key {
    Key { name, standing: Standing::Supported, about }
}

/// A key for Slurm's own daemons.
pub(crate) const fn not_needed(name: &'static str, about: &'static str) -> Key {
    Key { name, standing: Standing::NotNeeded, about }
}

/// A key without effect, whatever its value.
pub(crate) const fn no_effect(name: &'static str, about: &'static str) -> Key {
    Key { name, standing: Standing::NoEffect(&[]), about }
}

/// A key without effect unless its value asks for what happens anyway.
pub(crate) const fn no_effect_unless(
    name: &'static str,
    fine: &'static [&'static str],
    about: &'static str,
) -> Key {
    Key { name, standing: Standing::NoEffect(fine), about }
}

/// The entry of a key in a table.
pub(crate) fn find(table: &[Key], name: &str) -> Option<Key> {
    table.iter().find(|key| key.name.eq_ignore_ascii_case(name)).copied()
}

/// Whether the setting is supported; if not, says so in the findings. `kind` is what the table is of:
/// "parameter", "key of a node".
pub(crate) fn is_supported(pair: &Pair, table: &'static [Key], kind: &str, findings: &mut Findings) -> bool {
    let Some(key) = find(table, &pair.key) else {
        let names = table.iter().map(|key| key.name);
        let remedy = did_you_mean(&pair.key, names, "remove it; docs/configuration.md lists what there is");
        findings.error(&pair.place, format!("unknown {kind} \"{}\"", pair.key), remedy);
        return false;
    };
    match key.standing {
        Standing::Supported => true,
        Standing::NotNeeded => {
            findings.not_needed(key.name);
            false
        }
        Standing::NoEffect(fine) => {
            let is_fine = |word: &str| fine.iter().any(|value| value.eq_ignore_ascii_case(word));
            if !pair.value.split(',').all(is_fine) {
                findings.without_effect(&pair.place, &pair.text(), key.about);
            }
            false
        }
    }
}
