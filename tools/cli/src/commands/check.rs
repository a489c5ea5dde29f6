//! `daybook check DIR`: the configuration, without a daemon.

use std::path::Path;

use daybook_config::{Loaded, LocalMachine, Severity, load};

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
        say::print(&format!("{}: {}\n", directory.display(), summary(&loaded)));
    }
    if usable { 0 } else { 1 }
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
