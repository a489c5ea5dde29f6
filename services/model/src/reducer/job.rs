use std::sync::Arc;

use daybook_schemas::JobId;
use daybook_schemas::events::{
    ArrayTaskId, JobCancelRequested, JobFinished, JobRequeued, JobSubmitted, JobTarget,
};
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::{Dependencies, JobState, Reason};
use daybook_schemas::orders::{RunWish, SignalOrder};
use daybook_schemas::run::ExitStatus;

use super::run::{Ending, count_ends, end_record, finish, put_back};
use crate::SIGNALS_MAX;
use crate::array::ArrayState;
use crate::cluster::Cluster;
use crate::dependency::DependencyState;
use crate::job::{Hold, Job};
use crate::priority::basic_priority_of;

pub(super) fn submitted(cluster: &mut Cluster, data: &JobSubmitted) {
    let mut spec = data.spec.clone();
    spec.request = cluster.shared_request(&spec.request);
    let spec = Arc::new(spec);
    cluster.next_job_id = cluster.next_job_id.max(data.job.0.saturating_add(data.ids));
    cluster.totals.jobs.submitted += u64::from(data.ids);
    let tasks_waiting = spec.array.as_ref().map(|array| array.tasks.clone());
    if let Some(array) = &spec.array {
        let state = ArrayState {
            id: data.job,
            spec: spec.clone(),
            running_max: array.running_max,
            started: IndexSet::new(),
            running: IndexSet::new(),
            succeeded: IndexSet::new(),
            failed: IndexSet::new(),
            records: 1,
        };
        cluster.arrays.insert(data.job, Arc::new(state));
    }
    let (partition, partitions) = cluster.shared_partitions(&spec.partition);
    let first = partitions.as_ref().and_then(|names| names.first()).unwrap_or(&partition);
    let time_limit = cluster.resolve_time_limit(spec.time_limit, first);
    let job = Job {
        id: data.job,
        task: None,
        tasks_waiting,
        request: spec.request.clone(),
        partition,
        partitions,
        account: Arc::from(spec.account.as_deref().unwrap_or("")),
        qos: Arc::from(spec.qos.as_deref().unwrap_or("normal")),
        wckey: spec.wckey.as_deref().map(Arc::from),
        name: Arc::from(spec.name.as_str()),
        comment: spec.comment.as_deref().map(Arc::from),
        reservation: spec.reservation.as_deref().map(Arc::from),
        requeue: spec.requeue,
        time_limit,
        has_default_limit: spec.time_limit.is_none(),
        time_limit_whole: None,
        time_min: spec.time_min,
        deadline: spec.deadline,
        priority: basic_priority_of(data.job, spec.nice),
        priority_fixed: false,
        priority_factors: None,
        site_factor: 0,
        nice: spec.nice,
        submitted: cluster.time,
        submitted_seq: cluster.position,
        state: JobState::Pending,
        hold: spec.hold.then_some(Hold::User),
        begin: spec.begin,
        eligible_seq: None,
        eligible: None,
        accrual: None,
        dependencies: open_conditions(spec.dependencies.as_ref()),
        dependencies_any: spec.dependencies.as_ref().is_some_and(|dependencies| dependencies.any),
        reason: Reason::None,
        reason_detail: Arc::from(""),
        reason_since: cluster.time,
        starts: 0,
        run: None,
        started: None,
        ended: None,
        exit: ExitStatus::default(),
        last_nodes: None,
        last_billing: None,
        gave_way: None,
        pauses: None,
        used_up: None,
        cancelled_by: None,
        requeue_when_ended: None,
        changed: cluster.position,
        spec,
    };
    cluster.add_job(job);
    cluster.reconsider(data.job);
    cluster.prioritise(data.job, cluster.time);
    cluster.note_usual_request(data);
}

pub(super) fn open_conditions(dependencies: Option<&Dependencies>) -> Vec<DependencyState> {
    let conditions = dependencies.map_or(&[][..], |dependencies| &dependencies.conditions);
    conditions.iter().cloned().map(DependencyState::open).collect()
}

/// The records that a target names: of an array all that are in memory, restricted to `tasks` where given. The
/// array's own record comes with the waiting tasks that are meant.
pub(super) fn records(cluster: &Cluster, target: &JobTarget) -> Vec<(JobId, Option<IndexSet>)> {
    let Some(array) = cluster.arrays.get(&target.job) else {
        return cluster.jobs.contains_key(&target.job).then_some((target.job, None)).into_iter().collect();
    };
    let meant = match &target.tasks {
        Some(tasks) => array.tasks().intersection(tasks),
        None => array.tasks().clone(),
    };
    let mut found: Vec<(JobId, Option<IndexSet>)> = Vec::new();
    if let Some(waiting) = cluster.jobs.get(&target.job).and_then(|job| job.tasks_waiting.as_ref()) {
        let waiting = waiting.intersection(&meant);
        if !waiting.is_empty() {
            found.push((target.job, Some(waiting)));
        }
    }
    let is_own = |id: &JobId| cluster.jobs.get(id).is_some_and(|job| job.tasks_waiting.is_none());
    let apart = match cluster.jobs.get(&target.job).and_then(|job| job.tasks_waiting.as_ref()) {
        Some(waiting) => meant.difference(waiting),
        None => meant,
    };
    let apart = apart.iter().filter_map(|task| array.task_job_id(task)).filter(is_own);
    found.extend(apart.map(|id| (id, None)));
    found
}

pub(super) fn cancel_requested(cluster: &mut Cluster, data: &JobCancelRequested) {
    for (id, tasks) in records(cluster, &data.target) {
        match (data.signal, tasks) {
            (Some(signal), None) => send_signal(cluster, id, signal, data.batch),
            // Tasks that have not started have no process that could get a signal.
            (Some(_), Some(_)) => {}
            (None, Some(tasks)) => cancel_waiting_tasks(cluster, id, &tasks, data.uid),
            (None, None) => cancel(cluster, id, data.uid),
        }
    }
}

fn send_signal(cluster: &mut Cluster, id: JobId, signal: i32, batch: bool) {
    let requested = cluster.position;
    let Some(run) = cluster.jobs.get(&id).and_then(|job| job.run) else { return };
    cluster.change_run(run, |run| {
        if run.end.is_none() {
            run.signals.push(SignalOrder { requested, signal, batch });
            let surplus = run.signals.len().saturating_sub(SIGNALS_MAX);
            run.signals.drain(..surplus);
        }
    });
}

fn cancel(cluster: &mut Cluster, id: JobId, uid: u32) {
    let Some(job) = cluster.jobs.get(&id).cloned() else { return };
    if job.state.is_ended() {
        return;
    }
    cluster.change_job(id, |job| {
        job.cancelled_by = job.cancelled_by.or(Some(uid));
        job.requeue_when_ended = None;
    });
    if job.state == JobState::Pending {
        let ending = Ending { state: JobState::Cancelled, reason: Reason::None, exit: ExitStatus::default() };
        finish(cluster, id, cluster.time, ending);
    } else if let Some(run) = job.run {
        cluster.change_run(run, |run| {
            if run.end.is_none() {
                run.wish = RunWish::Cancel;
            }
        });
    }
}

fn cancel_waiting_tasks(cluster: &mut Cluster, array: JobId, tasks: &IndexSet, uid: u32) {
    let Some(waiting) = cluster.jobs.get(&array).and_then(|job| job.tasks_waiting.clone()) else { return };
    cluster.change_array(array, |state| {
        for task in tasks.iter() {
            state.failed.insert(task);
        }
    });
    count_ends(cluster, JobState::Cancelled, tasks.len());
    cluster.change_job(array, |job| job.cancelled_by = Some(uid));
    keep_tasks_waiting(cluster, array, waiting.difference(tasks));
    cluster.reconsider_dependents(array);
}

/// Sets which tasks of an array still wait. Where none is left the array's record stands for its last task, which
/// was cancelled (had it started, it would have taken the record over).
pub(super) fn keep_tasks_waiting(cluster: &mut Cluster, array: JobId, remaining: IndexSet) {
    if !remaining.is_empty() {
        cluster.change_job(array, |job| job.tasks_waiting = Some(remaining));
        cluster.part_hopeless_tasks(array);
        return;
    }
    let last = cluster.arrays.get(&array).and_then(|state| state.tasks().last());
    cluster.change_job(array, |job| {
        job.tasks_waiting = None;
        job.task = last.map(|task| ArrayTaskId { array_job: array, task });
    });
    let ending = Ending { state: JobState::Cancelled, reason: Reason::None, exit: ExitStatus::default() };
    end_record(cluster, array, cluster.time, ending);
}

pub(super) fn requeued(cluster: &mut Cluster, data: &JobRequeued) {
    let Some(job) = cluster.jobs.get(&data.job).cloned() else { return };
    match (job.state, job.run) {
        (JobState::Pending, _) => {}
        // An ended job without a run was cancelled before it started: back as it was.
        (state, _) if state.is_ended() && job.tasks_waiting.is_none() => {
            put_back(cluster, data.job, cluster.time, data.hold.then_some(Reason::RequeuedHeld));
        }
        (_, Some(run)) => {
            // As in Slurm: what somebody has suspended does not start again before somebody says so.
            let is_kept = cluster.runs.get(&run).is_some_and(|run| run.is_kept_stopped);
            cluster.change_job(data.job, |job| job.requeue_when_ended = Some(data.hold || is_kept));
            cluster.change_run(run, |run| {
                if run.end.is_none() {
                    run.wish = RunWish::Requeue;
                }
            });
        }
        _ => {}
    }
}

pub(super) fn finished(cluster: &mut Cluster, data: &JobFinished) {
    let Some(job) = cluster.jobs.get(&data.job).cloned() else { return };
    if job.state != JobState::Pending {
        return;
    }
    if let Some(waiting) = &job.tasks_waiting {
        cluster.change_array(data.job, |array| {
            for task in waiting.iter() {
                array.failed.insert(task);
            }
        });
        count_ends(cluster, data.state, waiting.len().saturating_sub(1));
        let last = cluster.arrays.get(&data.job).and_then(|array| array.tasks().last());
        cluster.change_job(data.job, |job| {
            job.tasks_waiting = None;
            job.task = last.map(|task| ArrayTaskId { array_job: data.job, task });
        });
    }
    let ending = Ending { state: data.state, reason: data.reason, exit: ExitStatus::default() };
    finish(cluster, data.job, cluster.time, ending);
}
