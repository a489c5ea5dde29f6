//! Tables of jobs with just the columns asked for.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use daybook_model::{Cluster, Job, dependency_notation, memory_request, node_count};
use daybook_schemas::api::{JobColumn, JobQuery};
use daybook_schemas::grammar::license;
use daybook_schemas::job::{GpuScope, JobState, MemoryRequest};
use daybook_schemas::run::RunNode;
use daybook_schemas::{Seq, UtcMicros};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};

use crate::filter::matches;
use crate::resources::gpu_notation;
use crate::views::{counts_of, end_or_limit, expand, held_nodes, node_list, run_seconds, std_out};

/// A [`JobTable`](daybook_schemas::api::JobTable) in JSON, as it is at `now`. It is written straight from the model: a
/// queue of 50,000 has half a million cells, and a value for each would take longer than all else.
pub fn job_table(cluster: &Cluster, query: &JobQuery, now: UtcMicros) -> serde_json::Result<Vec<u8>> {
    let jobs: Vec<&Job> =
        candidates(cluster, query).filter(|job| matches(cluster, job, &query.filter)).collect();
    let table = Table {
        seq: cluster.position(),
        now: now.seconds(),
        rows: Rows { jobs: in_order(cluster, jobs), query, look: Look { cluster, now } },
    };
    let mut bytes = Vec::with_capacity(64 + table.rows.jobs.len() * query.columns.len() * CELL_BYTES_USUAL);
    serde_json::to_writer(&mut bytes, &table)?;
    Ok(bytes)
}

/// What a cell of the usual table takes.
const CELL_BYTES_USUAL: usize = 8;

#[derive(Serialize)]
struct Table<'a> {
    seq: Seq,
    now: i64,
    rows: Rows<'a>,
}

/// What a cell is looked up in.
struct Look<'a> {
    cluster: &'a Cluster,
    now: UtcMicros,
}

struct Rows<'a> {
    jobs: Vec<&'a Job>,
    query: &'a JobQuery,
    look: Look<'a>,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(None)?;
        for job in &self.jobs {
            let mut row = Row {
                look: &self.look,
                job,
                task: None,
                nodes: held_nodes(self.look.cluster, job),
                columns: &self.query.columns,
            };
            match &job.tasks_waiting {
                Some(tasks) if self.query.expand_arrays => {
                    for task in tasks.iter() {
                        row.task = Some(task);
                        rows.serialize_element(&row)?;
                    }
                }
                _ => rows.serialize_element(&row)?,
            }
        }
        rows.end()
    }
}

struct Row<'a> {
    look: &'a Look<'a>,
    job: &'a Job,
    task: Option<u32>,
    nodes: &'a [RunNode],
    columns: &'a [JobColumn],
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.columns.iter().map(|column| cell(self, *column)))
    }
}

/// The value in a column.
#[derive(Serialize)]
#[serde(untagged)]
enum Cell<'a> {
    Null,
    Flag(bool),
    Number(u64),
    Signed(i64),
    Text(Cow<'a, str>),
}

impl From<bool> for Cell<'_> {
    fn from(value: bool) -> Self {
        Cell::Flag(value)
    }
}

impl From<u32> for Cell<'_> {
    fn from(value: u32) -> Self {
        Cell::Number(value.into())
    }
}

impl From<u64> for Cell<'_> {
    fn from(value: u64) -> Self {
        Cell::Number(value)
    }
}

impl From<i64> for Cell<'_> {
    fn from(value: i64) -> Self {
        Cell::Signed(value)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(value: &'a str) -> Self {
        Cell::Text(Cow::Borrowed(value))
    }
}

impl From<String> for Cell<'_> {
    fn from(value: String) -> Self {
        Cell::Text(Cow::Owned(value))
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Null, Into::into)
    }
}

/// The records that can be meant: those named where some are, so that a question for one job costs one look-up.
fn candidates<'a>(cluster: &'a Cluster, query: &'a JobQuery) -> Box<dyn Iterator<Item = &'a Job> + 'a> {
    if query.filter.jobs.is_empty() {
        return Box::new(cluster.jobs().values().map(|job| &**job));
    }
    let mut ids = BTreeSet::new();
    for selector in &query.filter.jobs {
        ids.insert(selector.job);
        if let Some(array) = cluster.arrays().get(&selector.job) {
            ids.extend(array.started.iter().filter_map(|task| array.task_job_id(task)));
        }
    }
    Box::new(ids.into_iter().filter_map(|id| cluster.jobs().get(&id)).map(|job| &**job))
}

/// Partition, then waiting before running, then priority, then id.
fn in_order<'a>(cluster: &Cluster, jobs: Vec<&'a Job>) -> Vec<&'a Job> {
    // Partitions are few: each gets its place in their order once, so that jobs are compared by numbers.
    let names: BTreeSet<&str> = jobs.iter().map(|job| &*job.partition).collect();
    let places: BTreeMap<&str, u32> = names.into_iter().zip(0..).collect();
    let state = |job: &Job| match cluster.shown_state(job) {
        JobState::Pending => 0,
        JobState::Running => 1,
        JobState::Suspended => 2,
        JobState::Completing => 3,
        _ => 4u8,
    };
    let mut keyed: Vec<_> = jobs
        .into_iter()
        .map(|job| ((places[&*job.partition], state(job), Reverse(job.shown_priority()), job.id.0), job))
        .collect();
    keyed.sort_unstable_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, job)| job).collect()
}

fn text(value: &str) -> Cell<'_> {
    value.into()
}

fn instant(at: Option<UtcMicros>) -> Cell<'static> {
    at.map(|at| at.seconds()).into()
}

fn cell<'a>(row: &Row<'a>, column: JobColumn) -> Cell<'a> {
    let Row { look: Look { cluster, now }, job, task, nodes, .. } = *row;
    let now = *now;
    let spec = &job.spec;
    let counts = || counts_of(cluster, job, nodes);
    let array_id = job.task.map_or(job.id, |task| task.array_job);
    match column {
        JobColumn::JobId => job.id.0.into(),
        JobColumn::DisplayId => match task_notation(cluster, job, task) {
            Some(tasks) if job.task.is_some() || task.is_some() => format!("{array_id}_{tasks}").into(),
            Some(tasks) => format!("{array_id}_[{tasks}]").into(),
            None => job.id.to_string().into(),
        },
        JobColumn::ArrayJobId => array_id.0.into(),
        JobColumn::ArrayTask => Cell::from(task_notation(cluster, job, task)),
        JobColumn::Name => text(&job.name),
        JobColumn::User => text(&spec.user.name),
        JobColumn::Uid => spec.user.uid.into(),
        JobColumn::Group => text(&spec.user.group),
        JobColumn::Gid => spec.user.gid.into(),
        JobColumn::Account => text(&job.account),
        JobColumn::Partition => text(&job.partition),
        JobColumn::Qos => text(&job.qos),
        JobColumn::Wckey => job.wckey.as_deref().map_or(Cell::Null, |key| text(key)),
        JobColumn::State => text(cluster.shown_state(job).word()),
        JobColumn::Reason => text(cluster.shown_reason(job, now).word()),
        JobColumn::ReasonDetail => text(&job.reason_detail),
        JobColumn::Priority => job.shown_priority().into(),
        JobColumn::Nice => i64::from(job.nice).into(),
        JobColumn::SubmitTime => instant(Some(job.submitted)),
        JobColumn::EligibleTime => instant(job.eligible),
        JobColumn::AccrueTime => instant(cluster.accrues_since(job, now)),
        JobColumn::PreemptTime => instant(job.gave_way.as_ref().map(|giving| giving.since)),
        JobColumn::StartTime => instant(start(cluster, job)),
        JobColumn::EndTime => instant(end_or_limit(cluster, job)),
        JobColumn::ExpectedStart => instant(cluster.expected_start(job.id)),
        JobColumn::TimeLimit => job.time_limit.whole_minutes().into(),
        JobColumn::TimeUsed => run_seconds(cluster, job, now).into(),
        JobColumn::NodeCount => node_count(job, nodes).into(),
        JobColumn::NodeList => node_list(nodes).into(),
        JobColumn::RequiredNodes => host_list(&job.request.nodes_required),
        JobColumn::ExcludedNodes => host_list(&job.request.nodes_excluded),
        JobColumn::Features => match job.request.features.is_empty() {
            true => Cell::Null,
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
        JobColumn::TresPerJob => Cell::from(gpu_notation(&job.request, GpuScope::Job, "gres:gpu:")),
        JobColumn::Command => spec.command.as_deref().into(),
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
        JobColumn::Comment => job.comment.as_deref().into(),
        JobColumn::Dependency => match dependency_notation(cluster, job) {
            notation if notation.is_empty() => Cell::Null,
            notation => notation.into(),
        },
        JobColumn::BatchHost => nodes.first().map(|share| share.node.as_str()).into(),
        JobColumn::Requeue => job.requeue.into(),
        JobColumn::Restarts => job.starts.saturating_sub(1).into(),
        JobColumn::Exclusive => job.request.exclusive.into(),
        JobColumn::ExitCode => job.exit.to_string().into(),
        JobColumn::SubmitHost => text(&spec.submit_host),
        JobColumn::Contiguous => job.request.contiguous.into(),
        JobColumn::Reservation => cluster.shown_reservation(job).map(|names| &**names).into(),
        JobColumn::Switches => job.request.switches.map_or(0, |few| few.count).into(),
        JobColumn::Licenses => match job.request.licenses.is_empty() {
            true => Cell::Null,
            false => license::format(&job.request.licenses).into(),
        },
    }
}

fn host_list(names: &[daybook_schemas::NodeName]) -> Cell<'static> {
    match names.is_empty() {
        true => Cell::Null,
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
