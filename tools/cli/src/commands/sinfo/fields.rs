//! What sinfo can show of partitions and nodes: by letter (`-o`) and by name (`-O`).

use std::fmt::Write as _;

use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::api::NodeView;
use daybook_schemas::grammar::duration::format_run_time_squeue;
use daybook_schemas::job::TimeLimit;
use daybook_schemas::node::{PartitionDefinition, PartitionState};

use super::lines::Line;
use super::{gres, state};
use crate::table::instants::Instants;

/// What a field says about a line's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// About the partition.
    Partition,
    /// About a node: nodes of one line have the same.
    Node,
    /// A node's size: nodes of one line may differ (`8+`), unless `--exact`.
    Size,
    /// About all nodes of the line together.
    Total,
}

/// One thing that can be shown.
#[derive(Debug)]
pub struct Field {
    /// Of `-o`.
    pub letter: Option<char>,
    /// Of `-O`; compared without regard to letter case.
    pub name: &'static str,
    pub header: &'static str,
    pub kind: Kind,
    /// Appends its text.
    pub write: Write,
}

type Write = fn(&Line<'_>, &Instants, &mut String);

/// The field of a letter.
pub fn by_letter(letter: char) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.letter == Some(letter))
}

/// The field of a name.
pub fn by_name(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name.eq_ignore_ascii_case(name))
}

/// The format of `-o %all`: every letter, in the separators that Slurm uses.
pub fn all_letters() -> String {
    let letters = FIELDS.iter().filter_map(|field| field.letter);
    let (mut small, mut capital): (Vec<char>, Vec<char>) = letters.partition(char::is_ascii_lowercase);
    small.sort_unstable();
    capital.sort_unstable();
    let small = small.iter().map(|letter| format!("%{letter}|"));
    let format: String = small.chain(capital.iter().map(|letter| format!("%{letter} |"))).collect();
    format.trim_end_matches('|').to_string()
}

const fn field(letter: char, name: &'static str, header: &'static str, kind: Kind, write: Write) -> Field {
    Field { letter: Some(letter), name, header, kind, write }
}

const fn named(name: &'static str, header: &'static str, kind: Kind, write: Write) -> Field {
    Field { letter: None, name, header, kind, write }
}

fn of_partition(line: &Line<'_>, out: &mut String, write: impl Fn(&PartitionDefinition, &mut String)) {
    match line.partition {
        Some(partition) => write(&partition.definition, out),
        None => out.push_str("n/a"),
    }
}

fn of_node(line: &Line<'_>, out: &mut String, write: impl Fn(&NodeView, &mut String)) {
    match line.first() {
        Some(node) => write(node, out),
        None => out.push_str("n/a"),
    }
}

/// `8`, or `8+` where some have more.
fn size(line: &Line<'_>, out: &mut String, of: impl Fn(&NodeView) -> u64) {
    let sizes = || line.nodes.iter().map(|node| of(node));
    let (least, most) = (sizes().min().unwrap_or(0), sizes().max().unwrap_or(0));
    let _ = write!(out, "{least}{}", if most > least { "+" } else { "" });
}

fn limit(limit: TimeLimit, out: &mut String) {
    match limit {
        TimeLimit::Seconds(seconds) => out.push_str(&format_run_time_squeue(seconds)),
        TimeLimit::Unlimited => out.push_str("infinite"),
    }
}

fn available(partition: &PartitionDefinition, out: &mut String) {
    out.push_str(match partition.state {
        PartitionState::Up => "up",
        PartitionState::Down => "down",
        PartitionState::Drain => "drain",
        PartitionState::Inactive => "inact",
    });
}

/// `1-infinite`, `1`
fn job_size(partition: &PartitionDefinition, out: &mut String) {
    let least = partition.min_nodes.max(1);
    let _ = match partition.max_nodes {
        Some(most) if most == least => write!(out, "{least}"),
        Some(most) => write!(out, "{least}-{most}"),
        None => write!(out, "{least}-infinite"),
    };
}

fn groups(partition: &PartitionDefinition, out: &mut String) {
    match &partition.allow_groups {
        Some(groups) => out.push_str(&groups.join(",")),
        None => out.push_str("all"),
    }
}

fn submit_hosts(partition: &PartitionDefinition, out: &mut String) {
    match &partition.submit_hosts {
        Some(hosts) => out.push_str(&hosts.join(",")),
        None => out.push_str("all"),
    }
}

fn partition_name(partition: &PartitionDefinition, out: &mut String) {
    out.push_str(&partition.name);
    if partition.default {
        out.push('*');
    }
}

/// Allocated, idle, others.
fn nodes_by_use(line: &Line<'_>) -> (usize, usize, usize) {
    let busy = line.nodes.iter().filter(|node| state::is_busy(node)).count();
    let out = line.nodes.iter().filter(|node| !state::is_busy(node) && state::is_out(node)).count();
    (busy, line.nodes.len() - busy - out, out)
}

/// `2/6/0/8`: allocated, idle, other, total.
fn cpus_by_use(line: &Line<'_>, out: &mut String) {
    let (mut given, mut idle, mut other) = (0, 0, 0);
    for node in &line.nodes {
        given += node.allocated.cpus;
        let rest = node.definition.cpus.saturating_sub(node.allocated.cpus);
        if state::is_out(node) { other += rest } else { idle += rest }
    }
    let _ = write!(out, "{given}/{idle}/{other}/{}", given + idle + other);
}

fn text_or_null(text: &str, out: &mut String) {
    out.push_str(if text.is_empty() { "(null)" } else { text });
}

/// Those that it has now.
fn active_features(node: &NodeView, out: &mut String) {
    match &node.active_features {
        Some(active) if active.is_empty() => out.push_str("(null)"),
        Some(active) => out.push_str(&active.join(",")),
        None => features(node, out),
    }
}

fn features(node: &NodeView, out: &mut String) {
    match node.definition.features.is_empty() {
        true => out.push_str("(null)"),
        false => out.push_str(&node.definition.features.join(",")),
    }
}

fn reason(node: &NodeView, out: &mut String) {
    out.push_str(if node.reason.is_empty() { "none" } else { &node.reason });
}

fn user(node: &NodeView, out: &mut String) {
    out.push_str(node.reason_set_by.as_deref().unwrap_or("Unknown"));
}

fn user_with_id(node: &NodeView, out: &mut String) {
    user(node, out);
    if let (Some(_), Some(uid)) = (&node.reason_set_by, node.reason_uid) {
        let _ = write!(out, "({uid})");
    }
}

fn node_text(of: fn(&NodeView) -> &str, node: &NodeView, out: &mut String) {
    let text = of(node);
    out.push_str(if text.is_empty() { "N/A" } else { text });
}

fn topology(line: &Line<'_>, out: &mut String) {
    let parts: [fn(&NodeView) -> u64; 3] = [
        |node| u64::from(node.definition.sockets),
        |node| u64::from(node.definition.cores_per_socket),
        |node| u64::from(node.definition.threads_per_core),
    ];
    for (place, part) in parts.into_iter().enumerate() {
        if place > 0 {
            out.push(':');
        }
        size(line, out, part);
    }
}

/// Every field. Letters and names are those of Slurm 22.05, as far as they make sense here.
pub const FIELDS: &[Field] = {
    use Kind::{Node, Partition, Size, Total};
    &[
        field('a', "Available", "AVAIL", Partition, |l, _, o| of_partition(l, o, available)),
        field('A', "NodeAI", "NODES(A/I)", Total, |l, _, o| {
            let (busy, idle, _) = nodes_by_use(l);
            let _ = write!(o, "{busy}/{idle}");
        }),
        field('b', "features_act", "ACTIVE_FEATURES", Node, |l, _, o| of_node(l, o, active_features)),
        field('B', "MaxCPUsPerNode", "MAX_CPUS_PER_NODE", Partition, |_, _, o| o.push_str("UNLIMITED")),
        field('c', "CPUs", "CPUS", Size, |l, _, o| size(l, o, |node| u64::from(node.definition.cpus))),
        field('C', "CPUsState", "CPUS(A/I/O/T)", Total, |l, _, o| cpus_by_use(l, o)),
        field('d', "Disk", "TMP_DISK", Size, |l, _, o| size(l, o, |node| node.definition.tmp_disk.0)),
        field('D', "Nodes", "NODES", Total, |l, _, o| {
            let _ = write!(o, "{}", l.nodes.len());
        }),
        field('e', "FreeMem", "FREE_MEM", Size, |_, _, o| o.push_str("N/A")),
        field('E', "Reason", "REASON", Node, |l, _, o| of_node(l, o, reason)),
        field('f', "Features", "AVAIL_FEATURES", Node, |l, _, o| of_node(l, o, features)),
        field('F', "NodeAIOT", "NODES(A/I/O/T)", Total, |l, _, o| {
            let (busy, idle, out) = nodes_by_use(l);
            let _ = write!(o, "{busy}/{idle}/{out}/{}", l.nodes.len());
        }),
        field('g', "Groups", "GROUPS", Partition, |l, _, o| of_partition(l, o, groups)),
        field('G', "Gres", "GRES", Node, |l, _, o| {
            of_node(l, o, |node, o| o.push_str(gres::configured(node)));
        }),
        field('h', "OverSubscribe", "OVERSUBSCRIBE", Partition, |l, _, o| {
            of_partition(l, o, |partition, o| {
                o.push_str(if partition.exclusive { "EXCLUSIVE" } else { "NO" })
            });
        }),
        field('H', "TimeStamp", "TIMESTAMP", Node, |l, i, o| {
            of_node(l, o, |node, o| o.push_str(&i.text_or(node.reason_set_at, "Unknown")));
        }),
        field('I', "PriorityJobFactor", "PRIO_JOB_FACTOR", Partition, |l, _, o| {
            of_partition(l, o, |partition, o| {
                let _ = write!(o, "{}", partition.priority_job_factor);
            });
        }),
        field('l', "Time", "TIMELIMIT", Partition, |l, _, o| {
            of_partition(l, o, |partition, o| limit(partition.max_time, o));
        }),
        field('L', "DefaultTime", "DEFAULTTIME", Partition, |l, _, o| {
            of_partition(l, o, |partition, o| match partition.default_time {
                Some(time) => limit(time, o),
                None => o.push_str("n/a"),
            });
        }),
        field('m', "Memory", "MEMORY", Size, |l, _, o| size(l, o, |node| node.definition.memory.0)),
        field('M', "PreemptMode", "PREEMPT_MODE", Partition, |l, _, o| {
            let mode = l.partition.and_then(|partition| partition.preempt_mode);
            o.push_str(mode.unwrap_or(PreemptMode::Off).word());
        }),
        field('n', "NodeHost", "HOSTNAMES", Node, |l, _, o| {
            of_node(l, o, |node, o| node_text(|node| &node.definition.hostname, node, o));
        }),
        field('N', "NodeList", "NODELIST", Total, |l, _, o| o.push_str(&l.node_list())),
        field('o', "NodeAddr", "NODE_ADDR", Node, |l, _, o| {
            of_node(l, o, |node, o| node_text(|node| &node.definition.address, node, o));
        }),
        field('O', "CPUsLoad", "CPU_LOAD", Size, |_, _, o| o.push_str("N/A")),
        field('p', "PriorityTier", "PRIO_TIER", Partition, |l, _, o| {
            of_partition(l, o, |partition, o| {
                let _ = write!(o, "{}", partition.priority_tier);
            });
        }),
        field('P', "Partition", "PARTITION", Partition, |l, _, o| of_partition(l, o, partition_name)),
        field('r', "Root", "ROOT", Partition, |l, _, o| {
            of_partition(l, o, |partition, o| o.push_str(if partition.root_only { "yes" } else { "no" }));
        }),
        field('R', "PartitionName", "PARTITION", Partition, |l, _, o| {
            of_partition(l, o, |partition, o| o.push_str(&partition.name));
        }),
        field('s', "Size", "JOB_SIZE", Partition, |l, _, o| of_partition(l, o, job_size)),
        field('S', "AllocNodes", "ALLOCNODES", Partition, |l, _, o| of_partition(l, o, submit_hosts)),
        field('t', "StateCompact", "STATE", Node, |l, _, o| {
            of_node(l, o, |node, o| o.push_str(&state::compact(node)));
        }),
        field('T', "StateLong", "STATE", Node, |l, _, o| {
            of_node(l, o, |node, o| o.push_str(&state::long(node)))
        }),
        field('u', "User", "USER", Node, |l, _, o| of_node(l, o, user)),
        field('U', "UserLong", "USER", Node, |l, _, o| of_node(l, o, user_with_id)),
        field('v', "Version", "VERSION", Node, |l, _, o| {
            of_node(l, o, |node, o| node_text(|node| &node.agent_version, node, o));
        }),
        field('V', "Cluster", "CLUSTER", Partition, |_, _, o| o.push_str("N/A")),
        field('w', "Weight", "WEIGHT", Size, |l, _, o| size(l, o, |node| u64::from(node.definition.weight))),
        field('X', "Sockets", "SOCKETS", Size, |l, _, o| {
            size(l, o, |node| u64::from(node.definition.sockets))
        }),
        field('Y', "Cores", "CORES", Size, |l, _, o| {
            size(l, o, |node| u64::from(node.definition.cores_per_socket));
        }),
        field('z', "SocketCoreThread", "S:C:T", Size, |l, _, o| topology(l, o)),
        field('Z', "Threads", "THREADS", Size, |l, _, o| {
            size(l, o, |node| u64::from(node.definition.threads_per_core));
        }),
        named("AllocMem", "ALLOCMEM", Size, |l, _, o| size(l, o, |node| node.allocated.memory.0)),
        named("Comment", "COMMENT", Node, |l, _, o| of_node(l, o, |node, o| text_or_null(&node.comment, o))),
        named("Extra", "EXTRA", Node, |l, _, o| of_node(l, o, |node, o| text_or_null(&node.extra, o))),
        named("GresUsed", "GRES_USED", Node, |l, _, o| {
            of_node(l, o, |node, o| o.push_str(&gres::used(node)))
        }),
        named("StateComplete", "STATE", Node, |l, _, o| {
            of_node(l, o, |node, o| o.push_str(&state::with_flags(node).to_ascii_lowercase()));
        }),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_letter_and_no_name_stands_for_two_fields() {
        for (position, field) in FIELDS.iter().enumerate() {
            for other in &FIELDS[position + 1..] {
                assert!(field.letter.is_none() || field.letter != other.letter, "%{:?}", field.letter);
                assert!(!field.name.eq_ignore_ascii_case(other.name), "{}", field.name);
            }
        }
    }
}
