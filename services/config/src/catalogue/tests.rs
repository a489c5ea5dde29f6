//! What the tables say of a setting is what becomes of it in a file.

use super::*;
use crate::{Loaded, LocalMachine, Severity, load};

/// A configuration in which every setting could have an effect. Its lines have the place of their table in front.
const BASE: [(&str, &str); 17] = [
    ("slurm.conf: parameters", "ClusterName=base"),
    ("slurm.conf: parameters", "PriorityType=priority/multifactor"),
    ("slurm.conf: parameters", "TopologyPlugin=topology/tree"),
    ("slurm.conf: parameters", "GresTypes=gpu"),
    ("slurm.conf: parameters", "PreemptType=preempt/qos"),
    ("slurm.conf: parameters", "PreemptMode=CANCEL"),
    ("", "NodeName=a,b CPUs=2"),
    ("slurm.conf: NodeName lines", "NodeName=c State=DOWN Reason=why Feature=x Gres=gpu:2 CPUs=2"),
    ("slurm.conf: DownNodes lines", "DownNodes=b State=DOWN Reason=why"),
    ("slurm.conf: NodeSet lines", "NodeSet=set Nodes=a Feature=x"),
    ("", "PartitionName=first Nodes=set,b"),
    ("slurm.conf: PartitionName lines", "PartitionName=main Nodes=a,b,c"),
    ("topology.conf", "SwitchName=leaf Nodes=a,b"),
    ("", "SwitchName=top Switches=leaf,other"),
    ("", "SwitchName=other Nodes=c"),
    ("gres.conf", "NodeName=c Name=gpu Count=2"),
    ("cgroup.conf", "ConstrainCores=yes"),
];

/// What reading [`BASE`] gives with `setting` instead of its key, or without that key.
fn read_with(place: &str, key: &str, value: Option<&str>) -> Loaded {
    let directory = tempfile::tempdir().expect("a directory");
    let has_key =
        |pair: &&str| !pair.split_once('=').is_some_and(|(known, _)| known.eq_ignore_ascii_case(key));
    let setting = value.map(|value| format!("{key}={value}"));
    let (mut slurm, mut gres, mut topology, mut cgroup) =
        (setting.clone().unwrap_or_default(), String::new(), String::new(), String::new());
    if place != "slurm.conf: parameters" {
        slurm.clear();
    }
    for (of, line) in BASE {
        let words: Vec<&str> = line.split(' ').collect();
        let line = match (of == place, place) {
            (false, _) => line.to_string(),
            (true, "slurm.conf: parameters") => words.into_iter().filter(has_key).collect(),
            // The word that begins a record stays in front, also where it is the key that is tried.
            (true, _) => {
                let mut kept: Vec<&str> = words.into_iter().filter(has_key).collect();
                match setting.as_deref() {
                    Some(setting) if !line.starts_with(&format!("{key}=")) => kept.push(setting),
                    Some(setting) => kept.insert(0, setting),
                    None => {}
                }
                kept.join(" ")
            }
        };
        let file = match of {
            "gres.conf" => &mut gres,
            "topology.conf" => &mut topology,
            "cgroup.conf" => &mut cgroup,
            _ if line.starts_with("SwitchName") => &mut topology,
            _ => &mut slurm,
        };
        file.push('\n');
        file.push_str(&line);
    }
    let files =
        [("slurm.conf", slurm), ("gres.conf", gres), ("topology.conf", topology), ("cgroup.conf", cgroup)];
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).expect("a file");
    }
    load(directory.path(), &LocalMachine)
}

/// The value of a key in [`BASE`].
fn base_value(place: &str, key: &str) -> Option<&'static str> {
    let lines = BASE.iter().filter(|(of, _)| *of == place);
    let mut pairs = lines.flat_map(|(_, line)| line.split(' ')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(known, _)| *known == key).map(|(_, value)| value)
}

/// Whether it says of this that it has no effect.
fn warns_of(loaded: &Loaded, setting: &str) -> bool {
    let shown = |fault: &&crate::Diagnostic| {
        fault.severity == Severity::Warning && fault.what.to_lowercase().starts_with(&setting.to_lowercase())
    };
    loaded.diagnostics.iter().find(shown).is_some_and(|fault| fault.what.contains("has no effect"))
}

fn is_error(loaded: &Loaded, setting: &str) -> bool {
    let start = format!("{setting} is not supported");
    loaded.diagnostics.iter().any(|fault| fault.severity == Severity::Error && fault.what.starts_with(&start))
}

/// What a change can be seen by: what the configuration means, its daemon, and the faults.
fn seen(loaded: &Loaded) -> String {
    let hash = loaded.configuration.as_ref().map(|found| (&found.cluster.config_hash, &found.daemon));
    format!("{hash:?} {:?}", loaded.diagnostics)
}

/// Neither a number, a time, a list of nodes, a path nor a word.
const NONSENSE: &str = "[1-";

#[test]
fn every_key_stands_as_its_table_says() {
    for (place, keys) in TABLES {
        for key in keys {
            let name = key.name;
            let nonsense = read_with(place, name, Some(NONSENSE));
            let setting = format!("{name}={NONSENSE}");
            let context = format!("{place}: {name}: {:?}", nonsense.diagnostics);
            match key.standing {
                Standing::Supported => {
                    // Of a generic resource that nobody knows the warning is that it has no effect.
                    assert!(!warns_of(&nonsense, &setting) || !key.words.is_empty(), "{context}");
                    let [without, base] =
                        [None, base_value(place, name)].map(|value| seen(&read_with(place, name, value)));
                    assert!(seen(&nonsense) != without || base != without, "it is not read: {context}");
                }
                Standing::NotNeeded => assert!(nonsense.not_needed.contains(&name.to_string()), "{context}"),
                Standing::Refused => assert!(is_error(&nonsense, &setting), "{context}"),
                Standing::NoEffect(fine) => {
                    assert!(warns_of(&nonsense, &setting), "{context}");
                    for value in fine {
                        let found = read_with(place, name, Some(value));
                        assert!(!warns_of(&found, name), "{name}={value}: {:?}", found.diagnostics);
                    }
                }
            }
        }
    }
}

#[test]
fn every_word_of_a_value_stands_as_its_table_says() {
    let mut tried = 0;
    for (place, keys) in TABLES {
        for (key, word) in keys.iter().flat_map(|key| key.words.iter().map(move |word| (key, word))) {
            let setting = format!("{}={}", key.name, word.name);
            let found = read_with(place, key.name, Some(word.name));
            let context = format!("{place}: {setting}: {:?} {:?}", found.diagnostics, found.not_needed);
            let of_option = [&setting, word.name].into_iter().any(|setting| warns_of(&found, setting));
            assert_eq!(is_error(&found, &setting), word.standing == Standing::Refused, "{context}");
            assert_eq!(of_option, matches!(word.standing, Standing::NoEffect(_)), "{context}");
            tried += 1;
        }
    }
    assert!(tried > 100, "only {tried} words");
}
