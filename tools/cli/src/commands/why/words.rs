//! Amounts and lists in words.

use daybook_schemas::api::{Amount, Shortage, Shortened};
use daybook_schemas::grammar::memory::format_mebibytes;
use daybook_schemas::{JobId, Mebibytes, NodeName, grammar::hostlist};

/// `1 GPU`, `8 GPUs`.
pub fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// `2 h 10 min`; two units at most, seconds only below a minute.
pub fn span(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    let two = |large: i64, unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{large} {unit}"),
        _ => format!("{large} {unit} {small} {small_unit}"),
    };
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => two(hours, "h", minutes, "min"),
        (days, hours, _) => two(days, "d", hours, "h"),
    }
}

/// `a`, `a and b`, `a, b and c`; `last` is the word before the last one.
pub fn joined(parts: &[String], last: &str) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [front @ .., end] => format!("{} {last} {end}", front.join(", ")),
    }
}

/// `job 98`, `jobs 98 and 99`.
pub fn jobs(ids: &[JobId]) -> String {
    let names: Vec<String> = ids.iter().map(ToString::to_string).collect();
    format!("{} {}", if ids.len() == 1 { "job" } else { "jobs" }, joined(&names, "and"))
}

/// A host list.
pub fn nodes(names: &[NodeName]) -> String {
    hostlist::compress(names.iter().map(NodeName::as_str))
}

/// `8 GPUs (a100)`.
pub fn gpus(count: u64, gpu_type: Option<&str>) -> String {
    match gpu_type {
        Some(name) => format!("{} ({name})", counted(count, "GPU")),
        None => counted(count, "GPU"),
    }
}

/// `8 GPUs (a100), 16 CPUs and 32000M of memory`.
pub fn amount(amount: &Amount, all_memory: bool) -> String {
    let mut parts: Vec<String> =
        amount.gpus.iter().map(|each| gpus(each.count, each.gpu_type.as_deref())).collect();
    parts.push(counted(amount.cpus, "CPU"));
    match amount.memory {
        Some(memory) => parts.push(memory_of(memory.0)),
        None if all_memory => parts.push("all memory there".to_string()),
        None => {}
    }
    joined(&parts, "and")
}

fn memory_of(mebibytes: u64) -> String {
    format!("{} of memory", format_mebibytes(Mebibytes(mebibytes)))
}

/// What there is of what is short.
pub fn there(shortage: &Shortage) -> String {
    match shortage.what {
        Shortened::Gpus => gpus(shortage.has, shortage.gpu_type.as_deref()),
        Shortened::Cpus => counted(shortage.has, "CPU"),
        Shortened::Memory => memory_of(shortage.has),
        Shortened::Nodes => counted(shortage.has, "node"),
        Shortened::Tasks => counted(shortage.has, "task"),
        Shortened::Licenses => {
            format!("{} of licence {}", shortage.has, shortage.license.as_deref().unwrap_or_default())
        }
    }
}

/// How much of what is short is free on all usable nodes together.
pub fn free_in_all(shortage: &Shortage, free: &Amount) -> Option<String> {
    match shortage.what {
        Shortened::Gpus => {
            let same = free.gpus.iter().find(|each| each.gpu_type == shortage.gpu_type)?;
            Some(same.count.to_string())
        }
        Shortened::Cpus => Some(free.cpus.to_string()),
        Shortened::Memory => Some(format_mebibytes(free.memory?)),
        Shortened::Nodes | Shortened::Tasks | Shortened::Licenses => None,
    }
}
