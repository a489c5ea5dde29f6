//! `scontrol show config`: the parameters in force that Daybook has, and no others.

use daybook_schemas::Seconds;
use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::events::ClusterConfigured;
use daybook_schemas::grammar::{duration, license};
use daybook_schemas::job::MemoryRequest;
use daybook_schemas::preemption::PreemptionParameters;
use daybook_schemas::priority::PriorityParameters;

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
    let mut rows: Vec<(&str, String)> = vec![
        ("ClusterName", cluster.cluster_name.clone()),
        ("DaybookAdministrators", or_none(&administrators.join(","))),
        ("DaybookBackfillReservations", parameters.backfill_reservations.to_string()),
        ("DaybookConfigHash", cluster.config_hash.clone()),
        ("DaybookPlannerJobsMax", parameters.planner_jobs_max.to_string()),
        ("DaybookSources", or_none(&sources.join(","))),
        ("DaybookVersion", DAYBOOK_VERSION.trim_start_matches("daybook ").to_string()),
        default_memory(parameters.default_memory),
        (
            "EnforcePartLimits",
            match (parameters.enforce_partition_limits, parameters.one_partition_suffices) {
                (false, _) => "NO",
                (true, false) => "ALL",
                (true, true) => "ANY",
            }
            .to_string(),
        ),
        ("FirstJobId", parameters.first_job_id.to_string()),
        ("JobRequeue", switch(parameters.job_requeue)),
        ("KillWait", format!("{} sec", parameters.kill_wait)),
        ("Licenses", or_none(&license::format(&cluster.licenses))),
        ("MaxArraySize", parameters.max_array_size.to_string()),
        ("MaxJobCount", parameters.max_job_count.to_string()),
        ("MinJobAge", format!("{} sec", parameters.min_job_age)),
        ("OverTimeLimit", format!("{over_time_limit} min")),
        ("TrackWCKey", if parameters.track_wckeys { "Yes" } else { "No" }.to_string()),
    ];
    rows.extend(preemption(parameters.preemption.as_ref()));
    rows.extend(priority(parameters.priority.as_ref()));
    for (name, value) in rows {
        text.push_str(&format!("{name:<23} = {value}\n"));
    }
    text.push('\n');
    text
}

/// Whose runs give way, and how, under Slurm's names.
fn preemption(parameters: Option<&PreemptionParameters>) -> Vec<(&'static str, String)> {
    let by = |word: &str| ("PreemptType", word.to_string());
    let Some(parameters) = parameters else {
        return vec![("PreemptMode", PreemptMode::Off.word().to_string()), by("preempt/none")];
    };
    let above = parameters.exempt_above.map(|above| format!("min_exempt_priority={above}"));
    let youngest = parameters.youngest_first.then(|| "youngest_first".to_string());
    let words: Vec<String> = above.into_iter().chain(youngest).collect();
    vec![
        ("PreemptExemptTime", duration::format_elapsed(parameters.exempt_time.0)),
        ("PreemptMode", preempt_modes(parameters)),
        ("PreemptParameters", or_none(&words.join(","))),
        by(parameters.by.word()),
    ]
}

/// What priorities are made of, under Slurm's names and Daybook's own.
fn priority(parameters: Option<&PriorityParameters>) -> Vec<(&'static str, String)> {
    let Some(parameters) = parameters else {
        return vec![("PriorityType", "priority/basic".to_string())];
    };
    let time = |seconds: Seconds| duration::format_elapsed(seconds.0);
    let mut flags: Vec<&str> = parameters.flags.iter().map(|flag| flag.word()).collect();
    flags.sort_unstable();
    let tres: Vec<String> =
        parameters.weight_tres.iter().map(|(name, weight)| format!("{name}={weight}")).collect();
    let reset = parameters.usage_reset.map_or("NONE", |period| period.word());
    vec![
        ("PriorityCalcPeriod", time(parameters.period)),
        ("PriorityDecayHalfLife", time(parameters.decay_half_life)),
        ("PriorityFavorSmall", if parameters.favor_small { "Yes" } else { "No" }.to_string()),
        ("PriorityFlags", flags.join(",")),
        ("PriorityMaxAge", time(parameters.age_max)),
        ("PriorityShortTime", time(parameters.short_time)),
        ("PriorityType", "priority/multifactor".to_string()),
        ("PriorityUsageResetPeriod", reset.to_string()),
        ("PriorityWeightAge", parameters.weight_age.to_string()),
        ("PriorityWeightAssoc", parameters.weight_association.to_string()),
        ("PriorityWeightFairShare", parameters.weight_fair_share.to_string()),
        ("PriorityWeightJobSize", parameters.weight_job_size.to_string()),
        ("PriorityWeightPartition", parameters.weight_partition.to_string()),
        ("PriorityWeightQOS", parameters.weight_qos.to_string()),
        ("PriorityWeightShort", parameters.weight_short.to_string()),
        ("PriorityWeightTRES", or_none(&tres.join(","))),
    ]
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

/// `GANG,SUSPEND`, as Slurm joins them.
fn preempt_modes(parameters: &daybook_schemas::preemption::PreemptionParameters) -> String {
    match (parameters.gang, parameters.mode) {
        (true, PreemptMode::Off) => "GANG".to_string(),
        (true, mode) => format!("GANG,{}", mode.word()),
        (false, mode) => mode.word().to_string(),
    }
}

#[cfg(test)]
#[path = "config_golden.rs"]
mod golden;
