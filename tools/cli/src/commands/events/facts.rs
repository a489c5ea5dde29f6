//! What an event says, in words: one function for each event type.

use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::events::{
    ClusterConfigured, JobCancelRequested, JobFinished, JobHeld, JobParted, JobReleased, JobRequeued,
    JobResumeRequested, JobSubmitted, JobSuspendRequested, JobTarget, JobUpdated, LogDurabilityDeclared,
    LogSync, LogVersionBarrier, NodeLeaseLost, NodeLeaseRegained, NodeRegistered, NodeTimedOut, NodeUpdated,
    PartitionDeleted, PartitionUpdated, PlannerCycle, ReasonChange, ReasonFigures, ReservationCreated,
    ReservationDeleted, ReservationUpdated, RunAllocated, RunEnded, RunLost, RunNodeReleased, RunPreempted,
    RunResumeOrdered, RunResumed, RunStarted, RunSuspended, RunUsage, RunUsedUp,
};
use daybook_schemas::grammar::duration::format_time_limit;
use daybook_schemas::grammar::hostlist;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::GpuScope;
use daybook_schemas::node::PartitionDefinition;
use daybook_schemas::reservation::ReservationDefinition;
use daybook_schemas::run::RunNode;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// More items of a list than a line can hold.
const ITEMS_MAX: usize = 8;

/// The essential facts; of a type or form that this program does not know all there is.
pub fn of(event_type: &str, data: &Value) -> String {
    let known = match event_type {
        "cluster.configured.v1" => with(data, cluster_configured),
        "job.cancel_requested.v1" => with(data, job_cancel_requested),
        "job.finished.v1" => with(data, |data: JobFinished| {
            format!("job {}, {}, {}", data.job, data.state.word(), data.reason.word())
        }),
        "job.held.v1" => with(data, |data: JobHeld| {
            let by = if data.by_administrator { ", by an administrator" } else { "" };
            format!("job {}{by}", target(&data.target))
        }),
        "job.parted.v1" => {
            with(data, |data: JobParted| format!("tasks {} of array {}", data.tasks, data.array))
        }
        "job.released.v1" => with(data, |data: JobReleased| format!("job {}", target(&data.target))),
        "job.requeued.v1" => with(data, |data: JobRequeued| {
            format!("job {}{}", data.job, if data.hold { ", on hold" } else { "" })
        }),
        "job.suspend_requested.v1" => {
            with(data, |data: JobSuspendRequested| format!("job {}, by user {}", data.job, data.uid))
        }
        "job.resume_requested.v1" => {
            with(data, |data: JobResumeRequested| format!("job {}, by user {}", data.job, data.uid))
        }
        "job.submitted.v1" => with(data, job_submitted),
        "job.updated.v1" => with(data, |change: JobUpdated| job_updated(&change, data)),
        "log.durability_declared.v1" => with(data, durability_declared),
        "log.version_barrier.v1" => with(data, |data: LogVersionBarrier| {
            format!("format {} from here on: {}", data.format_version, data.reason)
        }),
        "node.lease_lost.v1" => with(data, |data: NodeLeaseLost| {
            format!("{} does not respond, last heard {}", data.node, data.last_heard)
        }),
        "node.lease_regained.v1" => {
            with(data, |data: NodeLeaseRegained| format!("{} responds again", data.node))
        }
        "node.timed_out.v1" => with(data, |data: NodeTimedOut| {
            format!("{}, last heard {}, waited for {} s", data.node, data.last_evidence, data.waited.0)
        }),
        "node.registered.v1" => with(data, node_registered),
        "node.updated.v1" => with(data, node_updated),
        "partition.updated.v1" => with(data, |data: PartitionUpdated| partition(&data.partition)),
        "partition.deleted.v1" => with(data, |data: PartitionDeleted| format!("partition {}", data.name)),
        "planner.cycle.v1" => with(data, planner_cycle),
        "reservation.created.v1" => with(data, |data: ReservationCreated| reservation(&data.reservation)),
        "reservation.updated.v1" => with(data, |data: ReservationUpdated| reservation(&data.reservation)),
        "reservation.deleted.v1" => with(data, |data: ReservationDeleted| data.name),
        "run.allocated.v1" => with(data, run_allocated),
        "run.ended.v1" => with(data, run_ended),
        "run.lost.v1" => with(data, |data: RunLost| {
            format!("run {} on {}, last seen {}: {}", data.run, data.node, data.last_evidence, data.message)
        }),
        "run.node_released.v1" => {
            with(data, |data: RunNodeReleased| format!("run {} on {}", data.run, data.node))
        }
        "run.preempted.v1" => with(data, |data: RunPreempted| {
            let by = data.array.map_or_else(
                || data.by.to_string(),
                |task| format!("{} ({}_{})", data.by, task.array_job, task.task),
            );
            let what = match data.mode {
                PreemptMode::Suspend => return format!("run {} for job {by}, suspended", data.run),
                PreemptMode::Requeue => "waits again",
                _ => "ends",
            };
            format!("run {} for job {by}, warned until {}, then its job {what}", data.run, data.grace_end)
        }),
        "run.resume_ordered.v1" => with(data, |data: RunResumeOrdered| format!("run {}", data.run)),
        "run.suspended.v1" => with(data, |data: RunSuspended| {
            format!("run {} on {}, as {} says", data.run, data.node, data.ordered)
        }),
        "run.resumed.v1" => with(data, |data: RunResumed| {
            format!("run {} on {}, as {} says", data.run, data.node, data.ordered)
        }),
        "run.used_up.v1" => with(data, |data: RunUsedUp| {
            let limit = &data.limit;
            let used = limit.used.map_or(String::new(), |used| format!(", {used} used"));
            format!("run {} is ended: {} of {} is {}{used}", data.run, limit.limit, limit.of, limit.most)
        }),
        "run.usage.v1" => with(data, |data: RunUsage| {
            format!(
                "run {} on {}: {} s of CPU time, {} KiB, {} processes",
                data.run,
                data.node,
                data.user_cpu_us.saturating_add(data.system_cpu_us) / 1_000_000,
                data.resident_kib,
                data.processes
            )
        }),
        "run.started.v1" => with(data, |data: RunStarted| {
            let pid = data.pid.map_or(String::new(), |pid| format!(", pid {pid}"));
            format!("run {} on {}{pid}", data.run, data.node)
        }),
        _ => None,
    };
    known.unwrap_or_else(|| everything(data))
}

fn reservation(data: &ReservationDefinition) -> String {
    let nodes = hostlist::compress(data.nodes.iter().map(|name| name.as_str()));
    let flags = data.flags_notation();
    let flags = if flags.is_empty() { flags } else { format!(", {flags}") };
    let users = data.users.iter().map(|user| user.name.as_str());
    let whose: Vec<&str> = users.chain(data.accounts.iter().map(String::as_str)).collect();
    format!("{} on {nodes}, {} to {}, for {}{flags}", data.name, data.start, data.end, whose.join(","))
}

fn durability_declared(data: LogDurabilityDeclared) -> String {
    let synced = match data.sync {
        LogSync::Always => "acknowledged means synced",
        LogSync::Unproven => "not proven that acknowledged means synced",
    };
    let version = data.server_version.map_or(String::new(), |version| format!(" {version}"));
    format!("{}{version}, {synced}, replicas {}", data.backend, data.replicas)
}

fn with<T: DeserializeOwned>(data: &Value, words: impl FnOnce(T) -> String) -> Option<String> {
    T::deserialize(data).ok().map(words)
}

fn everything(data: &Value) -> String {
    let Some(fields) = data.as_object() else { return data.to_string() };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let mut parts: Vec<String> = fields.iter().map(|(key, value)| format!("{key}={}", text(value))).collect();
    parts.sort();
    parts.join(" ")
}

fn target(target: &JobTarget) -> String {
    match &target.tasks {
        Some(tasks) if tasks.len() == 1 => format!("{}_{tasks}", target.job),
        Some(tasks) => format!("{}_[{tasks}]", target.job),
        None => target.job.to_string(),
    }
}

/// The first of them, and how many more there are.
fn some<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    let mut words: Vec<String> = items.iter().take(ITEMS_MAX).map(text).collect();
    if items.len() > ITEMS_MAX {
        words.push(format!("and {} more", items.len() - ITEMS_MAX));
    }
    words.join(", ")
}

fn cluster_configured(data: ClusterConfigured) -> String {
    let files: Vec<&str> = data.sources.iter().map(|source| source.name.as_str()).collect();
    let source = if files.is_empty() { "the machine itself".to_string() } else { files.join(", ") };
    let hash: String = data.config_hash.chars().take(12).collect();
    format!(
        "cluster {}, {} nodes, {} partitions, from {source}, hash {hash}",
        data.cluster_name,
        data.nodes.len(),
        data.partitions.len()
    )
}

fn partition(partition: &PartitionDefinition) -> String {
    let state = format!("{:?}", partition.state).to_ascii_uppercase();
    format!(
        "partition {}, {state}, {} nodes, tier {}, at most {}",
        partition.name,
        partition.nodes.len(),
        partition.priority_tier,
        format_time_limit(partition.max_time)
    )
}

fn job_cancel_requested(data: JobCancelRequested) -> String {
    let signal = data.signal.map_or(String::new(), |signal| format!(", signal {signal} only"));
    format!("job {}, uid {}{signal}", target(&data.target), data.uid)
}

fn job_submitted(data: JobSubmitted) -> String {
    let spec = &data.spec;
    let request = &spec.request;
    let array = match &spec.array {
        Some(array) => format!("_[{}]", daybook_schemas::grammar::array::format(array)),
        None => String::new(),
    };
    let gpus: Vec<String> = request
        .gpus
        .iter()
        .map(|wish| {
            let per = match wish.scope {
                GpuScope::Node => "per node",
                GpuScope::Job => "in all",
                GpuScope::Task => "per task",
            };
            let gpu_type = wish.gpu_type.as_deref().map_or(String::new(), |name| format!("{name} "));
            format!(", {} {gpu_type}GPUs {per}", wish.count)
        })
        .collect();
    let hold = if spec.hold { ", on hold" } else { "" };
    format!(
        "job {}{array} \"{}\" of {} in {}, {} tasks with {} CPUs each{}{hold}",
        data.job,
        spec.name,
        spec.user.name,
        spec.partition,
        request.tasks,
        request.cpus_per_task,
        gpus.concat()
    )
}

fn job_updated(change: &JobUpdated, data: &Value) -> String {
    let mut rest = data.clone();
    if let Some(fields) = rest.as_object_mut() {
        fields.remove("job");
    }
    format!("job {}: {}", change.job, everything(&rest))
}

fn node_registered(data: NodeRegistered) -> String {
    format!("node {}, {} CPUs, {}M, {} GPUs", data.node, data.cpus, data.memory, data.gpus.len())
}

fn node_updated(data: NodeUpdated) -> String {
    let state =
        data.state.map_or(String::new(), |state| format!(", {}", format!("{state:?}").to_lowercase()));
    let reason = data.reason.map_or(String::new(), |reason| format!(": {reason}"));
    format!("node {}{state}{reason}", data.node)
}

fn planner_cycle(data: PlannerCycle) -> String {
    let mut text = format!("at {}, considered {} jobs", data.input, data.jobs_considered);
    if !data.starts.is_empty() {
        text.push_str(&format!("; starts {}", some(&data.starts, ToString::to_string)));
    }
    if !data.reasons.is_empty() {
        let reason = |change: &ReasonChange| {
            let figures = change
                .figures
                .as_ref()
                .map_or(String::new(), |figures| format!(": {}", reason_figures(figures)));
            format!("{} ({}{figures})", change.job, change.reason.word())
        };
        text.push_str(&format!("; waiting {}", some(&data.reasons, reason)));
    }
    if !data.reservations.is_empty() {
        let planned =
            |planned: &daybook_schemas::events::PlannedStart| format!("{} at {}", planned.job, planned.start);
        text.push_str(&format!("; planned {}", some(&data.reservations, planned)));
    }
    if !data.preemptions.is_empty() {
        text.push_str(&format!("; gives way {}", some(&data.preemptions, ToString::to_string)));
    }
    if !data.resumes.is_empty() {
        text.push_str(&format!("; goes on {}", some(&data.resumes, ToString::to_string)));
    }
    match data.bound {
        Some(bound) => text.push_str(&format!("; stopped at its bound of {}", bound.word())),
        None if data.bounded => text.push_str("; stopped at its bound"),
        None => {}
    }
    text
}

fn reason_figures(figures: &ReasonFigures) -> String {
    let minutes =
        |minutes: Option<u64>| minutes.map_or("unlimited".to_string(), |minutes| format!("{minutes} min"));
    match figures {
        ReasonFigures::Minutes(figures) => {
            format!("asks for {}, at most {}", minutes(figures.asked), minutes(figures.most))
        }
        ReasonFigures::Nodes(figures) => {
            format!("asks for {} nodes, {} to {}", figures.asked, figures.least, figures.most)
        }
        ReasonFigures::Licenses(figures) => format!(
            "needs {} of licence {}, {} of {} free",
            figures.needs, figures.license, figures.free, figures.in_all
        ),
        ReasonFigures::Limit(figures) => {
            let part = |amount: Option<u64>, word| amount.map(|amount| format!(", {amount} {word}"));
            let (used, needs) = (part(figures.used, "used"), part(figures.needs, "needed"));
            let parts = used.into_iter().chain(needs).collect::<String>();
            format!("{}={} of {}{parts}", figures.limit, figures.most, figures.of)
        }
        ReasonFigures::Tasks(figures) => format!("{} run, at most {}", figures.running, figures.most),
        ReasonFigures::Resources(figures) => {
            let gpus = match figures.gpus {
                0 => String::new(),
                gpus => format!(", {gpus} GPUs of {} free", figures.gpus_free),
            };
            format!("needs {} CPUs of {} free{gpus}", figures.cpus, figures.cpus_free)
        }
    }
}

fn run_allocated(data: RunAllocated) -> String {
    let task = data.array.map_or(String::new(), |array| format!(" ({}_{})", array.array_job, array.task));
    let nodes = some(&data.nodes, share);
    let billing = data.billing.map_or(String::new(), |billing| format!(", billed {billing}"));
    format!("run {}{task} on {nodes}, limit {}{billing}", data.run, format_time_limit(data.time_limit))
}

/// `gpu01 (cpus 0-1, 1000M, gpus 0-1)`
fn share(share: &RunNode) -> String {
    let gpus: IndexSet = share.gpus.iter().map(|gpu| gpu.index).collect();
    let gpus = if gpus.is_empty() { String::new() } else { format!(", gpus {gpus}") };
    format!("{} (cpus {}, {}M{gpus})", share.node, share.cpus, share.memory)
}

fn run_ended(data: RunEnded) -> String {
    let cause = serde_json::to_value(data.cause).ok().and_then(|value| value.as_str().map(str::to_string));
    let cause = cause.unwrap_or_default().replace('_', " ");
    let message = data.message.map_or(String::new(), |message| format!(": {message}"));
    format!("run {} on {}, {cause}, exit {}{message}", data.run, data.node, data.exit)
}
