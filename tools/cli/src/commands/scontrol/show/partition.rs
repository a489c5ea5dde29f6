//! `scontrol show partition`.

use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::api::PartitionView;
use daybook_schemas::grammar::duration::format_time_limit;
use daybook_schemas::job::MemoryRequest;
use daybook_schemas::node::{PartitionDefinition, PartitionState};

use super::lines::{Record, or_null, yes_no};
use crate::client::{CallError, Client};
use crate::commands::json;
use crate::commands::scontrol::Flags;
use crate::say;
use crate::table::amounts::{self, MemoryUnits};

/// What stands before the reason of a failed call.
const CALL: &str = "slurm_load_partitions error";

/// Shows one partition, or all that are not hidden (with `-a` all).
pub fn show(flags: Flags, name: Option<&str>) -> u8 {
    let asked =
        Client::connect().map_err(CallError::from).and_then(|mut client| client.get("/v1/partitions"));
    let mut partitions: Vec<PartitionView> = match asked {
        Ok(partitions) => partitions,
        Err(error) => return json::report(CALL, &error),
    };
    partitions.retain(|partition| match name {
        Some(name) => partition.definition.name == name,
        None => flags.all || !partition.definition.hidden,
    });
    if flags.json {
        return json::print("partitions", &partitions);
    }
    match (name, partitions.is_empty()) {
        (Some(name), true) => {
            say::print(&format!("Partition {name} not found\n"));
            1
        }
        (None, true) => {
            if !flags.quiet {
                say::print("No partitions in the system\n");
            }
            0
        }
        _ => {
            say::print(&partitions.iter().map(|partition| text(partition, flags)).collect::<String>());
            0
        }
    }
}

/// The text of one partition.
fn text(partition: &PartitionView, flags: Flags) -> String {
    let definition = &partition.definition;
    let mut record = Record::new(flags);
    record.add(format!("PartitionName={}", definition.name));
    record.line(format!(
        "AllowGroups={} {} {}",
        listed(&definition.allow_groups),
        allowed_or_denied("Accounts", &definition.allow_accounts, &definition.deny_accounts),
        allowed_or_denied("Qos", &definition.allow_qos, &definition.deny_qos)
    ));
    record.line(format!(
        "AllocNodes={} Default={} QoS={}",
        listed(&definition.submit_hosts),
        yes_no(definition.default),
        definition.qos.as_deref().unwrap_or("N/A")
    ));
    record.line(format!(
        "DefaultTime={} DisableRootJobs={} ExclusiveUser=NO GraceTime={} Hidden={}",
        definition.default_time.map_or("NONE".to_string(), format_time_limit),
        yes_no(definition.no_root_jobs),
        definition.grace_time.0,
        yes_no(definition.hidden)
    ));
    record.line(format!(
        "MaxNodes={} MaxTime={} MinNodes={} LLN={} MaxCPUsPerNode=UNLIMITED",
        definition.max_nodes.map_or("UNLIMITED".to_string(), |most| most.to_string()),
        format_time_limit(definition.max_time),
        definition.min_nodes,
        yes_no(definition.least_loaded)
    ));
    let nodes =
        daybook_schemas::grammar::hostlist::compress(definition.nodes.iter().map(|name| name.as_str()));
    record.line(format!("Nodes={}", or_null(&nodes)));
    record.line(format!(
        "PriorityJobFactor={} PriorityTier={} RootOnly={} ReqResv=NO OverSubscribe={}",
        definition.priority_job_factor,
        definition.priority_tier,
        yes_no(definition.root_only),
        if definition.exclusive { "EXCLUSIVE" } else { "NO" }
    ));
    let mode = partition.preempt_mode.unwrap_or(PreemptMode::Off);
    record.line(format!("OverTimeLimit=NONE PreemptMode={}", mode.word()));
    record.line(format!(
        "State={} TotalCPUs={} TotalNodes={} SelectTypeParameters=NONE",
        state(definition.state),
        partition.total_cpus,
        partition.total_nodes
    ));
    record.line(format!("JobDefaults={}", job_defaults(definition)));
    record.line(format!(
        "{} MaxMemPerNode={}",
        default_memory(definition.default_memory),
        definition.max_memory_per_node.map_or("UNLIMITED".to_string(), |most| most.to_string())
    ));
    record.line(format!("TRES={}", amounts::tres(&partition.tres, MemoryUnits::Fitting)));
    if let Some(weights) = &definition.billing_weights {
        record.line(format!("TRESBillingWeights={}", weights.text));
    }
    record.finish()
}

fn listed(names: &Option<Vec<String>>) -> String {
    names.as_ref().map_or("ALL".to_string(), |names| names.join(","))
}

fn allowed_or_denied(what: &str, allowed: &Option<Vec<String>>, denied: &[String]) -> String {
    match (allowed, denied.is_empty()) {
        (None, false) => format!("Deny{what}={}", denied.join(",")),
        (allowed, _) => format!("Allow{what}={}", listed(allowed)),
    }
}

fn state(state: PartitionState) -> &'static str {
    match state {
        PartitionState::Up => "UP",
        PartitionState::Down => "DOWN",
        PartitionState::Drain => "DRAIN",
        PartitionState::Inactive => "INACTIVE",
    }
}

/// What jobs get by the GPU.
fn job_defaults(definition: &PartitionDefinition) -> String {
    let cpus = definition.default_cpus_per_gpu.map(|cpus| format!("DefCpuPerGPU={cpus}"));
    let memory = match definition.default_memory {
        Some(MemoryRequest::PerGpu(each)) => Some(format!("DefMemPerGPU={each}")),
        _ => None,
    };
    let defaults: Vec<String> = cpus.into_iter().chain(memory).collect();
    if defaults.is_empty() { "(null)".to_string() } else { defaults.join(",") }
}

/// `DefMemPer…`.
fn default_memory(memory: Option<MemoryRequest>) -> String {
    match memory {
        None | Some(MemoryRequest::PerGpu(_)) => "DefMemPerNode=UNLIMITED".to_string(),
        Some(MemoryRequest::PerNode(each) | MemoryRequest::PerCpu(each)) if each.0 == 0 => {
            "DefMemPerNode=UNLIMITED".to_string()
        }
        Some(MemoryRequest::PerNode(each)) => format!("DefMemPerNode={each}"),
        Some(MemoryRequest::PerCpu(each)) => format!("DefMemPerCPU={each}"),
    }
}

#[cfg(test)]
#[path = "partition_golden.rs"]
mod golden;
