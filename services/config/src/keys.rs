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
    /// It would change what is allowed or charged so much that a warning is not enough: an error.
    Refused,
}

/// A key of a configuration file, or a word that may stand in the value of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// In Slurm's spelling; read in any letter case.
    pub name: &'static str,
    pub standing: Standing,
    /// What it means here: a few words. Of keys without effect what "is not supported yet", of refused ones why.
    pub about: &'static str,
    /// The words that its value is made of, where they do not all stand alike.
    pub words: &'static [Key],
}

impl Key {
    /// The same with the words of its value.
    pub const fn of(self, words: &'static [Key]) -> Key {
        Key { words, ..self }
    }
}

/// A key that works.
pub(crate) const fn supported(name: &'static str, about: &'static str) -> Key {
    Key { name, standing: Standing::Supported, about, words: &[] }
}

/// A key for Slurm's own daemons.
pub(crate) const fn not_needed(name: &'static str, about: &'static str) -> Key {
    Key { name, standing: Standing::NotNeeded, about, words: &[] }
}

/// A key without effect, whatever its value.
pub(crate) const fn no_effect(name: &'static str, about: &'static str) -> Key {
    Key { name, standing: Standing::NoEffect(&[]), about, words: &[] }
}

/// A key without effect unless its value asks for what happens anyway.
pub(crate) const fn no_effect_unless(
    name: &'static str,
    fine: &'static [&'static str],
    about: &'static str,
) -> Key {
    Key { name, standing: Standing::NoEffect(fine), about, words: &[] }
}

/// A word that is an error, and why.
pub(crate) const fn refused(name: &'static str, about: &'static str) -> Key {
    Key { name, standing: Standing::Refused, about, words: &[] }
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
        let remedy =
            did_you_mean(&pair.key, names, "remove it; `daybook check --settings` lists what there is");
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
        Standing::Refused => {
            refuse(pair, &pair.text(), key.about, findings);
            false
        }
    }
}

/// The entry of a word in the value of `pair`, where it is read; what it is otherwise is reported. Of what words
/// are "not needed" asks for what happens anyway.
pub(crate) fn known_word(
    pair: &Pair,
    word: &str,
    table: &'static [Key],
    findings: &mut Findings,
) -> Option<&'static Key> {
    let setting = format!("{}={word}", pair.key);
    let Some(key) = table.iter().find(|key| key.name.eq_ignore_ascii_case(word)) else {
        let names = table.iter().map(|key| key.name);
        let read: Vec<&str> = table
            .iter()
            .filter(|key| matches!(key.standing, Standing::Supported | Standing::NotNeeded))
            .map(|key| key.name)
            .collect();
        let remedy = did_you_mean(word, names, format!("expected {}", read.join(", ")));
        let what = match pair.value.eq_ignore_ascii_case(word) {
            true => format!("{} is not known", pair.text()),
            false => format!("{} has an unknown word \"{word}\"", pair.key),
        };
        findings.error(&pair.place, what, remedy);
        return None;
    };
    match key.standing {
        Standing::Supported => return Some(key),
        Standing::NotNeeded => {}
        Standing::NoEffect(_) => findings.without_effect(&pair.place, &setting, key.about),
        Standing::Refused => refuse(pair, &setting, key.about, findings),
    }
    None
}

fn refuse(pair: &Pair, setting: &str, about: &str, findings: &mut Findings) {
    findings.error(&pair.place, format!("{setting} is not supported"), about);
}
