//! `scontrol show node`.

use daybook_schemas::api::NodeView;
use daybook_schemas::grammar::hostlist;

use super::lines::Record;
use crate::client::{CallError, Client};
use crate::commands::json;
use crate::commands::scontrol::Flags;
use crate::commands::sinfo::{gres, state};
use crate::say;
use crate::table::amounts::{self, MEBI, MemoryUnits};
use crate::table::instants::Instants;

/// What stands before the reason of a failed call.
const CALL: &str = "slurm_load_node error";

/// Shows the nodes of a host list, or all.
pub fn show(flags: Flags, names: Option<&str>) -> u8 {
    let wanted = match names.map(hostlist::expand).transpose() {
        Ok(wanted) => wanted,
        Err(error) => {
            say::error("scontrol", error.to_string());
            return 1;
        }
    };
    let asked = Client::connect().map_err(CallError::from).and_then(|mut client| client.get("/v1/nodes"));
    let mut nodes: Vec<NodeView> = match asked {
        Ok(nodes) => nodes,
        Err(error) => return json::report(CALL, &error),
    };
    let (mut out, mut exit) = (String::new(), 0);
    if let Some(wanted) = &wanted {
        let known = |name: &String| nodes.iter().any(|node| node.definition.name.as_str() == name);
        for name in wanted.iter().filter(|name| !known(name)) {
            out.push_str(&format!("Node {name} not found\n"));
            exit = 1;
        }
        nodes.retain(|node| wanted.iter().any(|name| node.definition.name.as_str() == name));
    }
    if flags.json {
        return json::print("nodes", &nodes).max(exit);
    }
    if nodes.is_empty() && wanted.is_none() && !flags.quiet {
        out.push_str("No nodes in the system\n");
    }
    let instants = Instants::from_environment();
    for node in &nodes {
        out.push_str(&text(node, flags, &instants));
    }
    say::print(&out);
    exit
}

/// The text of one node.
fn text(node: &NodeView, flags: Flags, instants: &Instants) -> String {
    let definition = &node.definition;
    let mut record = Record::new(flags);
    record.add(format!("NodeName={} ", definition.name));
    if !node.architecture.is_empty() {
        record.add(format!("Arch={} ", node.architecture));
    }
    record.add(format!("CoresPerSocket={} ", definition.cores_per_socket));
    record.line(format!(
        "CPUAlloc={} CPUEfctv={cpus} CPUTot={cpus} CPULoad=N/A",
        node.allocated.cpus,
        cpus = definition.cpus
    ));
    let features =
        |features: &[String]| if features.is_empty() { "(null)".to_string() } else { features.join(",") };
    record.line(format!("AvailableFeatures={}", features(&definition.features)));
    let active = node.active_features.as_ref().unwrap_or(&definition.features);
    record.line(format!("ActiveFeatures={}", features(active)));
    record.line(format!("Gres={}", gres::configured(node)));
    if flags.details > 0 {
        record.line("GresDrain=N/A");
        record.line(format!("GresUsed={}", gres::used(node)));
    }
    record.line(format!("NodeAddr={} NodeHostName={}", definition.address, definition.hostname));
    if !node.agent_version.is_empty() {
        record.add(format!(" Version={}", node.agent_version));
    }
    if !node.operating_system.is_empty() {
        record.line(format!("OS={} ", node.operating_system));
    }
    record.line(format!(
        "RealMemory={} AllocMem={} FreeMem=N/A Sockets={} Boards={}",
        definition.memory, node.allocated.memory, definition.sockets, definition.boards
    ));
    record.line(format!(
        "State={} ThreadsPerCore={} TmpDisk={} Weight={} Owner=N/A MCS_label=N/A",
        state::with_flags(node),
        definition.threads_per_core,
        definition.tmp_disk,
        definition.weight
    ));
    record.line(format!("Partitions={} ", node.partitions.join(",")));
    record.line(format!("BootTime=None SlurmdStartTime={}", instants.text_or(node.registered_at, "None")));
    record.line("LastBusyTime=Unknown");
    resources(&mut record, node);
    if let Some(reservation) = &node.reservation {
        record.line(format!("ReservationName={reservation}"));
    }
    // Ours: Slurm's node daemon does not start on such a machine, or says nothing.
    if !node.unconfined.is_empty() {
        record.line(format!("Unconfined={}", node.unconfined));
    }
    if !node.extra.is_empty() {
        record.line(format!("Extra={}", node.extra));
    }
    if !node.comment.is_empty() {
        record.line(format!("Comment={}", node.comment));
    }
    if !node.reason.is_empty() {
        record.line(reason(node, instants));
    }
    record.finish()
}

/// What it has, what of it is given, and the power that nobody measures.
fn resources(record: &mut Record, node: &NodeView) {
    let definition = &node.definition;
    let memory = |amount: u64| amounts::memory(amount, MEBI, MemoryUnits::Fitting);
    record.line(format!(
        "CfgTRES=cpu={cpus},mem={},billing={cpus}{}",
        memory(definition.memory.0),
        gpus(definition.gpus.len()),
        cpus = definition.cpus
    ));
    let allocated = &node.allocated;
    let given = match (allocated.cpus, allocated.memory.0) {
        (0, 0) if allocated.gpus == 0 => String::new(),
        (cpus, 0) => format!("cpu={cpus}{}", gpus(allocated.gpus as usize)),
        (cpus, amount) => format!("cpu={cpus},mem={}{}", memory(amount), gpus(allocated.gpus as usize)),
    };
    record.line(format!("AllocTRES={given}"));
    record.line("CapWatts=n/a");
    record.line("CurrentWatts=0 AveWatts=0");
    record.line("ExtSensorsJoules=n/s ExtSensorsWatts=0 ExtSensorsTemp=n/s");
}

fn gpus(count: usize) -> String {
    if count == 0 { String::new() } else { format!(",gres/gpu={count}") }
}

/// `Reason=bad disk [root@2026-12-02T01:23:53]`
fn reason(node: &NodeView, instants: &Instants) -> String {
    match (&node.reason_set_by, node.reason_set_at) {
        (Some(by), Some(at)) => format!("Reason={} [{by}@{}]", node.reason, instants.text(at)),
        _ => format!("Reason={}", node.reason),
    }
}

#[cfg(test)]
#[path = "node_golden.rs"]
mod golden;
