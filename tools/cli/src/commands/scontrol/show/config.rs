//! `scontrol show config`: the parameters in force that Daybook has, and no others.

use daybook_schemas::events::ClusterConfigured;
use daybook_schemas::grammar::license;
use daybook_schemas::job::MemoryRequest;

use crate::client::{CallError, Client};
use crate::commands::scontrol::Flags;
use crate::commands::{DAYBOOK_VERSION, json};
use crate::say;
use crate::table::instants::Instants;

/// What stands before the reason of a failed call.
const CALL: &str = "slurm_load_ctl_conf error";

/// Shows them.
pub fn show(flags: Flags) -> u8 {
    let asked = Client::connect().map_err(CallError::from).and_then(|mut client| client.get("/v1/cluster"));
    match asked {
        Ok(cluster) if flags.json => json::print::<ClusterConfigured>("config", &cluster),
        Ok(cluster) => {
            say::print(&text(&cluster, &Instants::from_environment()));
            0
        }
        Err(error) => json::report(CALL, &error),
    }
}

fn text(cluster: &ClusterConfigured, instants: &Instants) -> String {
    let parameters = &cluster.parameters;
    let switch = |on: bool| if on { "1" } else { "0" }.to_string();
    let mut now = String::new();
    instants.write(instants.now(), &mut now);
    let mut text = format!("Configuration data as of {now}\n");
    let administrators: Vec<String> = cluster.administrators.iter().map(u32::to_string).collect();
    let sources: Vec<&str> = cluster.sources.iter().map(|source| source.name.as_str()).collect();
    let over_time_limit = parameters.over_time_limit_minutes;
    let rows: Vec<(&str, String)> = vec![
        ("ClusterName", cluster.cluster_name.clone()),
        ("DaybookAdministrators", or_none(&administrators.join(","))),
        ("DaybookBackfillReservations", parameters.backfill_reservations.to_string()),
        ("DaybookConfigHash", cluster.config_hash.clone()),
        ("DaybookPlannerJobsMax", parameters.planner_jobs_max.to_string()),
        ("DaybookSources", or_none(&sources.join(","))),
        ("DaybookVersion", DAYBOOK_VERSION.trim_start_matches("daybook ").to_string()),
        default_memory(parameters.default_memory),
        ("EnforcePartLimits", if parameters.enforce_partition_limits { "ALL" } else { "NO" }.to_string()),
        ("FirstJobId", parameters.first_job_id.to_string()),
        ("JobRequeue", switch(parameters.job_requeue)),
        ("KillWait", format!("{} sec", parameters.kill_wait)),
        ("Licenses", or_none(&license::format(&cluster.licenses))),
        ("MaxArraySize", parameters.max_array_size.to_string()),
        ("MaxJobCount", parameters.max_job_count.to_string()),
        ("MinJobAge", format!("{} sec", parameters.min_job_age)),
        ("OverTimeLimit", format!("{over_time_limit} min")),
    ];
    for (name, value) in rows {
        text.push_str(&format!("{name:<23} = {value}\n"));
    }
    text.push('\n');
    text
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "(null)".to_string() } else { text.to_string() }
}

fn default_memory(memory: Option<MemoryRequest>) -> (&'static str, String) {
    match memory {
        None => ("DefMemPerNode", "UNLIMITED".to_string()),
        Some(MemoryRequest::PerNode(each)) => ("DefMemPerNode", each.to_string()),
        Some(MemoryRequest::PerCpu(each)) => ("DefMemPerCPU", each.to_string()),
        Some(MemoryRequest::PerGpu(each)) => ("DefMemPerGPU", each.to_string()),
    }
}

#[cfg(test)]
#[path = "config_golden.rs"]
mod golden;
