//! `daybook check DIR`: the configuration, without a daemon; `daybook check --settings`: what Slurm's settings mean here.

use std::path::Path;

use daybook_config::{Loaded, LocalMachine, Setting, SettingGroup, Severity, load, settings};

use crate::say;

/// Prints every fault and what the cluster is; 1 where there is an error.
pub fn run(directory: &Path, as_json: bool) -> u8 {
    let loaded = load(directory, &LocalMachine);
    let usable = loaded.configuration.is_some();
    if as_json {
        let report = serde_json::json!({
            "usable": usable, "diagnostics": loaded.diagnostics, "not_needed": loaded.not_needed,
        });
        say::print(&format!("{report}\n"));
    } else {
        for fault in &loaded.diagnostics {
            say::print(&format!("{fault}\n"));
        }
        if !loaded.not_needed.is_empty() {
            say::print(&format!("not needed here: {}\n", loaded.not_needed.join(", ")));
        }
        say::print(&format!("{}: {}\n", directory.display(), summary(&loaded)));
    }
    if usable { 0 } else { 1 }
}

/// Prints every setting with `word` in its name or meaning, in any letter case; 1 where there is none.
pub fn run_settings(word: &str, as_json: bool) -> u8 {
    let groups = settings_with(word);
    if as_json {
        say::print(&format!("{}\n", serde_json::json!({ "settings": groups })));
    } else {
        for group in &groups {
            say::print(&format!("{}\n", group.place));
            let width = group.settings.iter().map(|setting| setting.name.len()).max().unwrap_or(0);
            for Setting { name, standing, about, .. } in &group.settings {
                say::print(&format!("  {name:<width$}  {:<12}  {about}\n", standing.words()));
            }
        }
    }
    if !groups.is_empty() {
        return 0;
    }
    if !as_json {
        say::line(format!("daybook: Slurm has no setting with \"{word}\" in its name or meaning"));
    }
    1
}

fn settings_with(word: &str) -> Vec<SettingGroup> {
    let word = word.to_lowercase();
    let mut groups = settings();
    for group in &mut groups {
        let has = |text: &str| text.to_lowercase().contains(&word);
        group.settings.retain(|setting| has(setting.name) || has(setting.about));
    }
    groups.retain(|group| !group.settings.is_empty());
    groups
}

/// `2 nodes, 1 partition, 4 GPUs; no errors, 1 warning`.
fn summary(loaded: &Loaded) -> String {
    let count = |severity| loaded.diagnostics.iter().filter(|fault| fault.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let faults = format!("{}, {}", counted(errors, "error"), counted(warnings, "warning"));
    match &loaded.configuration {
        None => faults,
        Some(configuration) => {
            let cluster = &configuration.cluster;
            let gpus = cluster.nodes.iter().map(|node| node.gpus.len()).sum();
            let (nodes, partitions) = (cluster.nodes.len(), cluster.partitions.len());
            let parts = [counted(nodes, "node"), counted(partitions, "partition"), counted(gpus, "GPU")];
            format!("{}; {faults}", parts.join(", "))
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}
