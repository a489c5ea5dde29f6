//! Tables of jobs with just the columns asked for.

use daybook_model::{Cluster, Job, dependency_notation};
use daybook_schemas::UtcMicros;
use daybook_schemas::api::{JobColumn, JobQuery, JobTable};
use daybook_schemas::job::{GpuScope, JobState, MemoryRequest};
use daybook_schemas::run::RunNode;
use serde_json::Value;

use crate::filter::matches;
use crate::resources::{Counts, gpu_notation, memory_request};
use crate::views::{
    end_or_limit, expand, held_nodes, limit_minutes, node_list, run_seconds, shown_reason, std_out,
};

/// The table that a query asks for, at `now`.
pub fn job_table(cluster: &Cluster, query: &JobQuery, now: UtcMicros) -> JobTable {
    let mut jobs: Vec<&Job> =
        candidates(cluster, query).filter(|job| matches(cluster, job, &query.filter)).collect();
    jobs.sort_by_cached_key(|job| order(cluster, job));
    let mut rows = Vec::with_capacity(jobs.len());
    for job in jobs {
        match (&job.tasks_waiting, query.expand_arrays) {
            (Some(tasks), true) => {
                rows.extend(tasks.iter().map(|task| row(cluster, job, Some(task), query, now)))
            }
            _ => rows.push(row(cluster, job, None, query, now)),
        }
    }
    JobTable { seq: cluster.position(), now: now.seconds(), rows }
}

/// The records that can be meant: those named where some are, so that a question for one job costs one look-up.
fn candidates<'a>(cluster: &'a Cluster, query: &'a JobQuery) -> Box<dyn Iterator<Item = &'a Job> + 'a> {
    if query.filter.jobs.is_empty() {
        return Box::new(cluster.jobs().values().map(|job| &**job));
    }
    let mut ids = std::collections::BTreeSet::new();
    for selector in &query.filter.jobs {
        ids.insert(selector.job);
        if let Some(array) = cluster.arrays().get(&selector.job) {
            ids.extend(array.started.iter().filter_map(|task| array.task_job_id(task)));
        }
    }
    Box::new(ids.into_iter().filter_map(|id| cluster.jobs().get(&id)).map(|job| &**job))
}

/// Partition, then waiting before running, then priority, then id.
fn order(cluster: &Cluster, job: &Job) -> (std::sync::Arc<str>, u8, std::cmp::Reverse<u32>, u32) {
    let state = match cluster.shown_state(job) {
        JobState::Pending => 0,
        JobState::Running => 1,
        JobState::Suspended => 2,
        JobState::Completing => 3,
        _ => 4,
    };
    (job.partition.clone(), state, std::cmp::Reverse(job.shown_priority()), job.id.0)
}

fn row(cluster: &Cluster, job: &Job, task: Option<u32>, query: &JobQuery, now: UtcMicros) -> Vec<Value> {
    let nodes = held_nodes(cluster, job);
    query.columns.iter().map(|column| cell(cluster, job, task, nodes, *column, now)).collect()
}

fn instant(at: Option<UtcMicros>) -> Value {
    at.map_or(Value::Null, |at| at.seconds().into())
}

fn text(value: &str) -> Value {
    Value::from(value)
}

fn optional(value: Option<String>) -> Value {
    value.map_or(Value::Null, Value::from)
}

fn cell(
    cluster: &Cluster,
    job: &Job,
    task: Option<u32>,
    nodes: &[RunNode],
    column: JobColumn,
    now: UtcMicros,
) -> Value {
    let spec = &job.spec;
    let counts = || if nodes.is_empty() { Counts::of_request(cluster, job) } else { Counts::of_nodes(nodes) };
    let array_id = job.task.map_or(job.id, |task| task.array_job);
    match column {
        JobColumn::JobId => job.id.0.into(),
        JobColumn::DisplayId => match task_notation(cluster, job, task) {
            Some(tasks) if job.task.is_some() || task.is_some() => format!("{array_id}_{tasks}").into(),
            Some(tasks) => format!("{array_id}_[{tasks}]").into(),
            None => job.id.to_string().into(),
        },
        JobColumn::ArrayJobId => array_id.0.into(),
        JobColumn::ArrayTask => optional(task_notation(cluster, job, task)),
        JobColumn::Name => text(&job.name),
        JobColumn::User => text(&spec.user.name),
        JobColumn::Uid => spec.user.uid.into(),
        JobColumn::Group => text(&spec.user.group),
        JobColumn::Gid => spec.user.gid.into(),
        JobColumn::Account => text(&job.account),
        JobColumn::Partition => text(&job.partition),
        JobColumn::Qos => text(&job.qos),
        JobColumn::State => text(cluster.shown_state(job).word()),
        JobColumn::Reason => text(shown_reason(cluster, job, now).word()),
        JobColumn::ReasonDetail => text(&job.reason_detail),
        JobColumn::Priority => job.shown_priority().into(),
        JobColumn::Nice => job.nice.into(),
        JobColumn::SubmitTime => instant(Some(job.submitted)),
        JobColumn::EligibleTime => instant(job.eligible),
        JobColumn::StartTime => instant(start(cluster, job)),
        JobColumn::EndTime => instant(end_or_limit(cluster, job)),
        JobColumn::ExpectedStart => instant(cluster.expected_start(job.id)),
        JobColumn::TimeLimit => limit_minutes(job.time_limit).map_or(Value::Null, Value::from),
        JobColumn::TimeUsed => run_seconds(cluster, job, now).into(),
        JobColumn::NodeCount => counts().nodes.into(),
        JobColumn::NodeList => node_list(nodes).into(),
        JobColumn::RequiredNodes => host_list(&job.request.nodes_required),
        JobColumn::ExcludedNodes => host_list(&job.request.nodes_excluded),
        JobColumn::Features => match job.request.features.is_empty() {
            true => Value::Null,
            false => job.request.features.join("&").into(),
        },
        JobColumn::TaskCount => job.request.tasks.into(),
        JobColumn::CpuCount => counts().cpus.into(),
        JobColumn::CpusPerTask => job.request.cpus_per_task.into(),
        JobColumn::MinMemory => min_memory(cluster, job).into(),
        JobColumn::MinCpus => job.request.cpus_per_task.into(),
        JobColumn::TresAllocated => counts().notation().into(),
        JobColumn::TresPerNode => match gpu_notation(&job.request, GpuScope::Node, "gres:gpu:") {
            Some(gpus) => gpus.into(),
            None => text("N/A"),
        },
        JobColumn::TresPerJob => optional(gpu_notation(&job.request, GpuScope::Job, "gres:gpu:")),
        JobColumn::Command => spec.command.as_deref().map_or(Value::Null, Value::from),
        JobColumn::WorkDir => text(&spec.work_dir),
        JobColumn::StdOut => std_out(job, nodes).into(),
        JobColumn::StdErr => match expand(job, nodes, spec.std_err.as_deref()) {
            Some(path) => path.into(),
            None => std_out(job, nodes).into(),
        },
        JobColumn::StdIn => match expand(job, nodes, spec.std_in.as_deref()) {
            Some(path) => path.into(),
            None => text("/dev/null"),
        },
        JobColumn::Comment => job.comment.as_deref().map_or(Value::Null, Value::from),
        JobColumn::Dependency => match dependency_notation(cluster, job) {
            notation if notation.is_empty() => Value::Null,
            notation => notation.into(),
        },
        JobColumn::BatchHost => nodes.first().map_or(Value::Null, |share| share.node.as_str().into()),
        JobColumn::Requeue => job.requeue.into(),
        JobColumn::Restarts => job.starts.saturating_sub(1).into(),
        JobColumn::Exclusive => job.request.exclusive.into(),
        JobColumn::ExitCode => job.exit.to_string().into(),
        JobColumn::SubmitHost => text(&spec.submit_host),
        JobColumn::Contiguous => false.into(),
    }
}

fn host_list(names: &[daybook_schemas::NodeName]) -> Value {
    match names.is_empty() {
        true => Value::Null,
        false => daybook_schemas::grammar::hostlist::compress(names.iter().map(|name| name.as_str())).into(),
    }
}

fn start(cluster: &Cluster, job: &Job) -> Option<UtcMicros> {
    match job.state {
        JobState::Pending => cluster.expected_start(job.id),
        _ => job.started,
    }
}

/// The task, or the waiting tasks with their limit (`2-9%2`); `None` for a plain job.
fn task_notation(cluster: &Cluster, job: &Job, task: Option<u32>) -> Option<String> {
    if let Some(task) = task.or(job.task.map(|task| task.task)) {
        return Some(task.to_string());
    }
    let waiting = job.tasks_waiting.as_ref()?;
    let notation = waiting.to_string();
    Some(match cluster.arrays().get(&job.id).and_then(|array| array.running_max) {
        Some(most) => format!("{notation}%{most}"),
        None => notation,
    })
}

/// `500M`, per node or CPU as asked; `0` where nothing limits it.
fn min_memory(cluster: &Cluster, job: &Job) -> String {
    match memory_request(cluster, job) {
        Some(MemoryRequest::PerNode(each) | MemoryRequest::PerCpu(each) | MemoryRequest::PerGpu(each)) => {
            daybook_schemas::grammar::memory::format_mebibytes(each)
        }
        None => "0".to_string(),
    }
}
