//! `scontrol show job`.

use std::collections::BTreeMap;

use daybook_schemas::Seconds;
use daybook_schemas::api::{JobSelector, JobView};
use daybook_schemas::events::ClusterConfigured;
use daybook_schemas::grammar::duration::{format_elapsed, format_time_limit};
use daybook_schemas::grammar::{array, hostlist, job_id, license};
use daybook_schemas::job::{
    ArrayRequest, GpuScope, JobState, MemoryRequest, Reason, ResourceRequest, TimeLimit,
};
use daybook_schemas::node::ClusterParameters;
use daybook_schemas::run::RunNode;

use super::lines::{Record, or_null};
use crate::client::{CallError, Client};
use crate::commands::json;
use crate::commands::scontrol::Flags;
use crate::commands::sinfo::gres;
use crate::say;
use crate::table::amounts::{self, MEBI, MemoryUnits};
use crate::table::instants::Instants;

/// What stands before the reason of a failed call.
const CALL: &str = "slurm_load_jobs error";

/// Shows a job, an array's records, a task, or all jobs in memory.
pub fn show(flags: Flags, id: Option<&str>) -> u8 {
    let wanted = match id.map(job_id::parse_selector).transpose() {
        Ok(wanted) => wanted,
        Err(_) => {
            say::line("scontrol_print_job error: Invalid job id specified");
            return 1;
        }
    };
    match ask(wanted.as_ref()) {
        Ok((jobs, _)) if flags.json => json::print("jobs", &jobs),
        Ok((jobs, _)) if jobs.is_empty() && wanted.is_some() => {
            say::line(format!("{CALL}: Invalid job id specified"));
            1
        }
        Ok((jobs, _)) if jobs.is_empty() => {
            if !flags.quiet {
                say::print("No jobs in the system\n");
            }
            0
        }
        Ok((jobs, defaults)) => {
            let instants = Instants::from_environment();
            say::print(&jobs.iter().map(|job| text(job, &defaults, flags, &instants)).collect::<String>());
            0
        }
        Err(error) => json::report(CALL, &error),
    }
}

/// What a job gets which did not say: memory, and the time to wait for few switches.
#[derive(Debug)]
struct Defaults {
    by_partition: BTreeMap<String, MemoryRequest>,
    cluster: Option<MemoryRequest>,
    switch_wait_max: Seconds,
}

impl Default for Defaults {
    fn default() -> Defaults {
        let switch_wait_max = ClusterParameters::default().switch_wait_max;
        Defaults { by_partition: BTreeMap::new(), cluster: None, switch_wait_max }
    }
}

fn ask(wanted: Option<&JobSelector>) -> Result<(Vec<JobView>, Defaults), CallError> {
    let mut client = Client::connect()?;
    let mut jobs: Vec<JobView> = match wanted {
        Some(selector) => client.get(&format!("/v1/jobs/{}", selector.job))?,
        None => client.get("/v1/jobs")?,
    };
    if let Some(tasks) = wanted.and_then(|selector| selector.tasks.as_ref()) {
        jobs.retain(|job| match (&job.array, &job.tasks_waiting) {
            (Some(task), _) => tasks.contains(task.task),
            (None, Some(waiting)) => !waiting.intersection(tasks).is_empty(),
            (None, None) => false,
        });
    }
    let mut defaults = Defaults::default();
    let asks_less = |request: &ResourceRequest| request.memory.is_none() || request.switches.is_some();
    if jobs.iter().any(|job| asks_less(&job.spec.request)) {
        let cluster: ClusterConfigured = client.get("/v1/cluster")?;
        defaults.cluster = cluster.parameters.default_memory;
        defaults.switch_wait_max = cluster.parameters.switch_wait_max;
        let partitions = cluster.partitions.into_iter();
        defaults.by_partition =
            partitions.filter_map(|partition| Some((partition.name, partition.default_memory?))).collect();
    }
    Ok((jobs, defaults))
}

/// The text of one job record.
fn text(job: &JobView, defaults: &Defaults, flags: Flags, instants: &Instants) -> String {
    let mut record = Record::new(flags);
    record.add(identity(job));
    who_and_state(&mut record, job, flags);
    times(&mut record, job, instants);
    place_and_size(&mut record, job, flags);
    request(&mut record, job, defaults);
    files(&mut record, job, defaults);
    record.line("");
    record.finish()
}

/// `JobId=13 ArrayJobId=13 ArrayTaskId=1,3 ArrayTaskThrottle=2 JobName=wrap`
fn identity(job: &JobView) -> String {
    let throttle = job.spec.array.as_ref().and_then(|array| array.running_max);
    let throttle_text = throttle.map_or(String::new(), |most| format!(" ArrayTaskThrottle={most}"));
    let array = match (&job.array, &job.tasks_waiting) {
        (Some(task), _) => format!(" ArrayJobId={} ArrayTaskId={}{throttle_text}", task.array_job, task.task),
        (None, Some(waiting)) => {
            let running_max = throttle.filter(|_| waiting.len() > 1);
            let tasks = array::format(&ArrayRequest { tasks: waiting.clone(), running_max });
            format!(" ArrayJobId={} ArrayTaskId={tasks}{throttle_text}", job.job)
        }
        (None, None) => String::new(),
    };
    format!("JobId={}{array} JobName={}", job.job, job.spec.name)
}

fn who_and_state(record: &mut Record, job: &JobView, flags: Flags) {
    let user = &job.spec.user;
    record.line(format!(
        "UserId={}({}) GroupId={}({}) MCS_label=N/A",
        user.name, user.uid, user.group, user.gid
    ));
    record.line(format!(
        "Priority={} Nice={} Account={} QOS={}{}",
        job.priority,
        job.spec.nice,
        or_null(&job.account),
        or_null(&job.qos),
        // Slurm says it only where keys are tracked.
        job.wckey.as_ref().map_or(String::new(), |key| format!(" WCKey={key}"))
    ));
    record.line(format!(
        "JobState={} Reason={} Dependency={}",
        job.state.word(),
        reason(job),
        or_null(&job.dependency)
    ));
    record.line(format!(
        "Requeue={} Restarts={} BatchFlag=1 Reboot=0 ExitCode={}",
        u8::from(job.spec.requeue),
        job.restarts,
        job.exit
    ));
    if flags.details > 0 {
        record.line("DerivedExitCode=0:0");
    }
}

/// Without blanks, so that it is one word.
fn reason(job: &JobView) -> String {
    let word = job.reason.word();
    match job.reason {
        Reason::InvalidAccount | Reason::InvalidQos if !job.reason_detail.is_empty() => {
            job.reason_detail.replace(' ', "_")
        }
        // Nodes that are not there, or that are reserved; other details are for `daybook why`.
        Reason::ReqNodeNotAvail if !job.reason_detail.is_empty() => {
            format!("{word},_{}", job.reason_detail.replace(' ', "_"))
        }
        _ => word.replace(' ', "_"),
    }
}

fn times(record: &mut Record, job: &JobView, instants: &Instants) {
    let unknown = |at| instants.text_or(at, "Unknown");
    record.line(format!(
        "RunTime={} TimeLimit={} TimeMin={}",
        format_elapsed(job.run_seconds),
        format_time_limit(job.time_limit),
        job.spec.time_min.map_or("N/A".to_string(), format_time_limit)
    ));
    record.line(format!(
        "SubmitTime={} EligibleTime={}",
        instants.text(job.submitted),
        unknown(job.eligible)
    ));
    record.line(format!("AccrueTime={}", unknown(job.accrues_since)));
    let expected_end = match (job.expected_start, job.time_limit) {
        (Some(start), TimeLimit::Seconds(seconds)) => {
            Some(start.plus_seconds(i64::try_from(seconds).unwrap_or(i64::MAX)))
        }
        _ => None,
    };
    record.line(format!(
        "StartTime={} EndTime={} Deadline={}",
        unknown(job.started.or(job.expected_start)),
        unknown(job.ended.or(expected_end)),
        instants.text_or(job.spec.deadline, "N/A")
    ));
    if job.started.is_some() {
        record.line(format!(
            "PreemptEligibleTime={} PreemptTime={}",
            unknown(job.preempt_eligible.or(job.started)),
            instants.text_or(job.gave_way.map(|giving| giving.since), "None")
        ));
    }
    record.line(format!(
        "SuspendTime={} SecsPreSuspend={} LastSchedEval={} Scheduler=Main",
        instants.text_or(job.suspend_time, "None"),
        job.seconds_before_suspend,
        unknown(job.last_considered.or(Some(job.submitted)))
    ));
}

fn place_and_size(record: &mut Record, job: &JobView, flags: Flags) {
    let request = &job.spec.request;
    let names = |names: &[daybook_schemas::NodeName]| {
        or_null(&hostlist::compress(names.iter().map(|name| name.as_str()))).to_string()
    };
    record.line(format!(
        "Partition={} AllocNode:Sid={}:{}",
        job.spec.partition, job.spec.submit_host, job.spec.session
    ));
    record.line(format!(
        "ReqNodeList={} ExcNodeList={}",
        names(&request.nodes_required),
        names(&request.nodes_excluded)
    ));
    record.line(format!("NodeList={}", job.node_list));
    if let Some(first) = job.nodes.first() {
        record.line(format!("BatchHost={}", first.node));
    }
    record.line(format!(
        "NumNodes={} NumCPUs={} NumTasks={} CPUs/Task={} ReqB:S:C:T=0:0:*:*",
        node_count(job),
        job.cpu_count,
        request.tasks,
        request.cpus_per_task
    ));
    record.line(format!("TRES={}", amounts::tres(&job.tres, MemoryUnits::Fitting)));
    record.line(format!(
        "Socks/Node=* NtasksPerN:B:S:C={}:0:*:* CoreSpec=*",
        request.tasks_per_node.unwrap_or(0)
    ));
    if flags.details > 0 && !job.nodes.is_empty() {
        details(record, &job.nodes);
    }
}

/// What it has, or while it waits the fewest and the most that it asks for.
fn node_count(job: &JobView) -> String {
    let request = &job.spec.request;
    match request.nodes_max {
        Some(most) if job.state == JobState::Pending => format!("{}-{most}", request.nodes_min.max(1)),
        _ => job.node_count.to_string(),
    }
}

/// `-d`: what it has on each node; nodes on which it has the same stand together.
fn details(record: &mut Record, nodes: &[RunNode]) {
    let mut by_type: BTreeMap<&str, usize> = BTreeMap::new();
    for gpu in nodes.iter().flat_map(|share| &share.gpus) {
        *by_type.entry(&gpu.gpu_type).or_default() += 1;
    }
    let total: Vec<String> = by_type
        .into_iter()
        .map(|(gpu_type, count)| match gpu_type {
            "" => format!("gpu:{count}"),
            gpu_type => format!("gpu:{gpu_type}:{count}"),
        })
        .collect();
    record.line(format!("JOB_GRES={}", or_null(&total.join(","))));
    let mut shares: Vec<(String, Vec<&str>)> = Vec::new();
    for share in nodes {
        let what = format!("CPU_IDs={} Mem={} GRES={}", share.cpus, share.memory, gres::of_run(&share.gpus));
        match shares.iter_mut().find(|(other, _)| *other == what) {
            Some((_, names)) => names.push(share.node.as_str()),
            None => shares.push((what, vec![share.node.as_str()])),
        }
    }
    for (what, names) in shares {
        record.line(format!("  Nodes={} {what}", hostlist::compress(names)));
    }
}

fn request(record: &mut Record, job: &JobView, defaults: &Defaults) {
    let request = &job.spec.request;
    let memory = request
        .memory
        .or_else(|| defaults.by_partition.get(&job.spec.partition).copied())
        .or(defaults.cluster);
    let amount = |each: daybook_schemas::Mebibytes| match each.0 {
        0 => "0".to_string(),
        each => amounts::memory(each, MEBI, MemoryUnits::Fitting),
    };
    let memory = match memory {
        Some(MemoryRequest::PerCpu(each)) => format!("MinMemoryCPU={}", amount(each)),
        Some(MemoryRequest::PerNode(each)) => format!("MinMemoryNode={}", amount(each)),
        Some(MemoryRequest::PerGpu(_)) | None => "MinMemoryNode=0".to_string(),
    };
    let cpus = request.cpus_per_task.saturating_mul(request.tasks_per_node.unwrap_or(1).max(1));
    record.line(format!("MinCPUsNode={cpus} {memory} MinTmpDiskNode=0"));
    record.line(format!("Features={} DelayBoot=00:00:00", or_null(&request.features.join("&"))));
    if let Some(names) = &job.reservation {
        record.line(format!("Reservation={names}"));
    }
    record.line(format!(
        "OverSubscribe={} Contiguous={} Licenses={} Network=(null)",
        if request.exclusive { "NO" } else { "OK" },
        u8::from(request.contiguous),
        or_null(&license::format(&request.licenses))
    ));
}

fn files(record: &mut Record, job: &JobView, defaults: &Defaults) {
    let command = match &job.spec.command {
        None => "(null)".to_string(),
        Some(command) => {
            let words = std::iter::once(command).chain(&job.spec.arguments).map(String::as_str);
            words.collect::<Vec<_>>().join(" ")
        }
    };
    record.line(format!("Command={command}"));
    record.line(format!("WorkDir={}", job.spec.work_dir));
    if let Some(comment) = job.spec.comment.as_deref().filter(|comment| !comment.is_empty()) {
        record.line(format!("Comment={comment} "));
    }
    record.line(format!("StdErr={}", job.std_err));
    record.line(format!("StdIn={}", job.std_in));
    record.line(format!("StdOut={}", job.std_out));
    if let Some(few) = job.spec.request.switches {
        let wait = format_elapsed(few.wait_within(defaults.switch_wait_max).0);
        record.line(format!("Switches={}@{wait}", few.count));
    }
    record.line("Power=");
    for (scope, key, prefix) in [
        (GpuScope::Node, "TresPerNode", "gres:"),
        (GpuScope::Job, "TresPerJob", "gres:"),
        (GpuScope::Task, "TresPerTask", "gres:"),
    ] {
        let wishes: Vec<String> = job
            .spec
            .request
            .gpus
            .iter()
            .filter(|wish| wish.scope == scope)
            .map(|wish| match &wish.gpu_type {
                Some(gpu_type) => format!("{prefix}gpu:{gpu_type}:{}", wish.count),
                None => format!("{prefix}gpu:{}", wish.count),
            })
            .collect();
        if !wishes.is_empty() {
            record.line(format!("{key}={}", wishes.join(",")));
        }
    }
    if let Some(MemoryRequest::PerGpu(each)) = job.spec.request.memory {
        record.line(format!("MemPerTres=gres:gpu:{each}"));
    }
}

#[cfg(test)]
#[path = "job_golden.rs"]
mod golden;
