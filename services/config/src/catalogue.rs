//! Every setting that Slurm knows, and what it means here: the tables by which files are read, for people.
//!
//! `docs/slurm-conf.md` and `daybook check --settings` are made from it.

use serde::Serialize;

use crate::keys::{Key, Standing};
use crate::slurm_conf::{node_state, nodes, parameter_keys, partitions};
use crate::{OTHER_FILES, cgroup_conf, gres_conf, topology_conf};

/// What becomes of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingStanding {
    /// It does here what it does in Slurm.
    Read,
    /// The same, with some of the words that its value may have.
    ReadInPart,
    /// It changes nothing, and `daybook check` warns of it.
    NoEffect,
    /// It is an error: the configuration is not used.
    Refused,
    /// It concerns what is not there, or asks for what happens anyway. No warning.
    NotNeeded,
}

impl SettingStanding {
    /// All of them, in the order in which they are shown.
    pub const ALL: [SettingStanding; 5] = [
        SettingStanding::Read,
        SettingStanding::ReadInPart,
        SettingStanding::NoEffect,
        SettingStanding::Refused,
        SettingStanding::NotNeeded,
    ];

    /// A few words.
    pub fn words(self) -> &'static str {
        match self {
            SettingStanding::Read => "read",
            SettingStanding::ReadInPart => "read in part",
            SettingStanding::NoEffect => "no effect",
            SettingStanding::Refused => "refused",
            SettingStanding::NotNeeded => "not needed",
        }
    }
}

/// A key of a file, or a word in the value of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// In Slurm's spelling; read in any letter case.
    pub name: &'static str,
    /// What becomes of it.
    pub standing: SettingStanding,
    /// What it means here; of those without effect what is not supported yet, of refused ones why.
    pub about: &'static str,
    /// Of those without effect: values that ask for what happens anyway, and are no warning.
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    pub no_warning_with: &'static [&'static str],
}

/// Settings that stand in one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingGroup {
    /// Where they stand: "slurm.conf: parameters", "words of PriorityFlags".
    pub place: String,
    /// Whether they are words in the values of keys, and no keys.
    pub words: bool,
    /// In the order of the table: mostly the alphabet's.
    pub settings: Vec<Setting>,
}

/// Every setting, by the place where it stands: keys of files, each file's followed by the words in their values.
pub fn settings() -> Vec<SettingGroup> {
    let group = |place: String, words: bool, keys: &[Key]| SettingGroup {
        place,
        words,
        settings: keys.iter().map(Setting::from).collect(),
    };
    let mut groups = Vec::new();
    let mut named: Vec<&[Key]> = Vec::new();
    for (place, keys) in TABLES {
        groups.push(group(place.to_string(), false, keys));
        for key in keys {
            if !key.words.is_empty() && !named.contains(&key.words) {
                named.push(key.words);
                let owners = owners(key.words).join(", ");
                groups.push(group(format!("words of {owners}"), true, key.words));
            }
        }
    }
    let file = |(name, about): &(&'static str, &'static str)| Setting {
        name,
        standing: SettingStanding::NoEffect,
        about,
        no_warning_with: &[],
    };
    let settings = OTHER_FILES.iter().map(file).collect();
    groups.push(SettingGroup { place: "other files of Slurm".to_string(), words: false, settings });
    groups
}

/// The keys whose values are made of these words, in the order of the tables.
fn owners(words: &[Key]) -> Vec<String> {
    let of = |(place, keys): &(&str, &'static [Key])| {
        let file = match *place {
            "gres.conf" => " of gres.conf",
            "cgroup.conf" => " of cgroup.conf",
            // Partitions have a State too.
            "slurm.conf: NodeName lines" => " of a node",
            _ => "",
        };
        let keys = keys.iter().filter(|key| key.words == words);
        keys.map(|key| format!("{}{file}", key.name)).collect::<Vec<_>>()
    };
    TABLES.iter().flat_map(of).collect()
}

/// The tables of keys, and where these stand.
const TABLES: [(&str, &[Key]); 8] = [
    ("slurm.conf: parameters", parameter_keys::PARAMETERS),
    ("slurm.conf: NodeName lines", nodes::KEYS),
    ("slurm.conf: DownNodes lines", node_state::DOWN_NODES_KEYS),
    ("slurm.conf: NodeSet lines", partitions::NODE_SET_KEYS),
    ("slurm.conf: PartitionName lines", partitions::KEYS),
    ("gres.conf", gres_conf::KEYS),
    ("topology.conf", topology_conf::KEYS),
    ("cgroup.conf", cgroup_conf::KEYS),
];
impl From<&Key> for Setting {
    fn from(key: &Key) -> Setting {
        let all_alike =
            key.words.iter().all(|word| matches!(word.standing, Standing::Supported | Standing::NotNeeded));
        let (standing, no_warning_with): (_, &'static [&'static str]) = match key.standing {
            Standing::Supported if all_alike => (SettingStanding::Read, &[]),
            Standing::Supported => (SettingStanding::ReadInPart, &[]),
            Standing::NotNeeded => (SettingStanding::NotNeeded, &[]),
            Standing::NoEffect(fine) => (SettingStanding::NoEffect, fine),
            Standing::Refused => (SettingStanding::Refused, &[]),
        };
        Setting { name: key.name, standing, about: key.about, no_warning_with }
    }
}

#[cfg(test)]
mod tests;
