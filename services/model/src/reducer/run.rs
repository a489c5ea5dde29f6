use std::sync::Arc;

use daybook_schemas::events::{ArrayTaskId, RunAllocated, RunEnded, RunLost, RunNodeReleased, RunStarted};
use daybook_schemas::job::{JobState, Reason};
use daybook_schemas::orders::RunWish;
use daybook_schemas::run::{EndCause, ExitStatus, RunNode};
use daybook_schemas::{Event, JobId, Mebibytes, NodeName, RunId, Seq, UtcMicros};

use crate::REQUEUE_DELAY_SECONDS;
use crate::allowance::Need;
use crate::charges::Charge;
use crate::cluster::Cluster;
use crate::dependency::Outcome;
use crate::job::{Hold, Job};
use crate::run::{Run, RunEnd};

pub(super) fn allocated(cluster: &mut Cluster, data: &RunAllocated) {
    if !is_valid(cluster, data) {
        cluster.void_allocations += 1;
        return;
    }
    let in_array = task_in_array(cluster, data);
    if let Some(task) = in_array
        && !split_task(cluster, data.run.job, task)
    {
        cluster.void_allocations += 1;
        return;
    }
    let nodes: Arc<[RunNode]> = data.nodes.clone().into();
    for share in nodes.iter() {
        cluster.change_node(&share.node, |node| take(node, data.run, share));
    }
    let reservation = data.reservation.as_deref();
    let ends_by = reservation
        .and_then(|name| super::reservation::end_of_runs(&cluster.reservations.get(name)?.definition));
    let run = Run {
        reservation: reservation.map(Arc::from),
        ends_by,
        id: data.run,
        held_on: nodes.iter().map(|share| share.node.clone()).collect(),
        given_up_on: imbl::OrdSet::new(),
        parted_from: None,
        nodes,
        time_limit: data.time_limit,
        billing: data.billing,
        partition: Arc::from(data.partition.as_str()),
        allocated_seq: cluster.position,
        allocated: cluster.time,
        started: None,
        end: None,
        wish: RunWish::Run,
        giving_way: None,
        ordered: Seq::ZERO,
        is_told_to_stop: false,
        is_kept_stopped: false,
        are_cpus_given_back: false,
        pauses: None,
        signals: Vec::new(),
    };
    cluster.runs.insert(data.run, Arc::new(run));
    cluster.totals.jobs.started += 1;
    let (now, partition) = (cluster.time, cluster.shared_partition(&data.partition));
    cluster.change_job(data.run.job, |job| {
        job.state = JobState::Running;
        job.reason = Reason::None;
        job.reason_detail = Arc::from("");
        job.partition = partition;
        if data.time_limit != job.time_limit {
            job.time_limit_whole = Some(job.time_limit);
        }
        job.time_limit = data.time_limit;
        job.run = Some(data.run);
        job.starts = data.run.start + 1;
        job.started = Some(now);
        job.ended = None;
        job.exit = ExitStatus::default();
        job.last_nodes = None;
        job.last_billing = None;
        job.gave_way = None;
        job.pauses = None;
        job.used_up = None;
    });
    cluster.hold_licenses(data.run);
    cluster.charge_holding(data.run);
    cluster.take_room(in_array.map_or(data.run.job, |task| task.array_job), data.run.job);
    cluster.expected_starts.remove(&data.run.job);
    cluster.planned_nodes.remove(&data.run.job);
    if let Some((array, task)) = array_task(cluster, data.run.job) {
        cluster.change_array(array, |array| {
            array.started.insert(task);
            array.running.insert(task);
        });
        cluster.reconsider_dependents(array);
    }
    cluster.reconsider_dependents(data.run.job);
}

/// The fixed rule for what has been overtaken: the job still waits with this as its next start, every node is there, up
/// and has what is given, and the licences that the job needs now are free. Holding or changing a job in the meantime does
/// not void its start otherwise.
fn is_valid(cluster: &Cluster, data: &RunAllocated) -> bool {
    let in_array = task_in_array(cluster, data);
    let waits = match in_array {
        Some(task) => {
            let record = cluster.jobs.get(&task.array_job);
            data.run.start == 0
                && record.is_some_and(|job| {
                    job.state == JobState::Pending
                        && job.tasks_waiting.as_ref().is_some_and(|tasks| tasks.contains(task.task))
                })
        }
        None => cluster.jobs.get(&data.run.job).is_some_and(|job| {
            job.state == JobState::Pending
                && job.tasks_waiting.is_none()
                && job.starts == data.run.start
                && !job.run.is_some_and(|run| cluster.runs.contains_key(&run))
        }),
    };
    // The array's record may be over and forgotten by the time a task that left it starts.
    let record = cluster.jobs.get(&in_array.map_or(data.run.job, |task| task.array_job));
    waits
        && !data.nodes.is_empty()
        && data.nodes.iter().all(|share| has_room(cluster, share))
        && record.is_some_and(|job| cluster.has_licenses(&job.request) && keeps_limits(cluster, job, data))
}

/// Whether the limits of its QOS and associations, as far as no time changes them, leave room for a run.
fn keeps_limits(cluster: &Cluster, job: &Job, data: &RunAllocated) -> bool {
    if !cluster.enforces_limits() {
        return true;
    }
    let given = (&*data.nodes, data.billing);
    let need = Need::of_run(cluster, &data.partition, given, &job.request.licenses, data.time_limit);
    let charge = Charge::of(job, &Arc::from(data.partition.as_str()));
    cluster.timeless_refusal(&charge, &need).is_none()
}

/// The task of an allocation that is still in its array's record: not a plain job, nor a task that left it before it
/// started, and has a record of its own.
fn task_in_array(cluster: &Cluster, data: &RunAllocated) -> Option<ArrayTaskId> {
    let waits_alone = |task: &ArrayTaskId| {
        cluster.jobs.get(&data.run.job).is_some_and(|job| job.task == Some(*task) && job.starts == 0)
    };
    data.array.filter(|task| !waits_alone(task))
}

fn has_room(cluster: &Cluster, share: &RunNode) -> bool {
    let Some(node) = cluster.nodes.get(&share.node) else { return false };
    node.is_up()
        && share.cpus.last().is_none_or(|last| last < node.definition.cpus)
        && share.cpus.intersection(&node.cpus_allocated).is_empty()
        && share.gpus.iter().all(|gpu| {
            !node.gpus_allocated.contains(gpu.index) && node.gpus().iter().any(|there| there.uuid == gpu.uuid)
        })
}

/// Makes the record of a task that starts. The last task takes over the array's own record.
fn split_task(cluster: &mut Cluster, id: JobId, task: ArrayTaskId) -> bool {
    let Some(record) = cluster.jobs.get(&task.array_job).cloned() else { return false };
    let Some(array) = cluster.arrays.get(&task.array_job) else { return false };
    if array.task_job_id(task.task) != Some(id) {
        return false;
    }
    let mut remaining = record.tasks_waiting.clone().unwrap_or_default();
    remaining.remove(task.task);
    if id == task.array_job {
        if !remaining.is_empty() {
            return false;
        }
        cluster.change_job(id, |job| job.become_task(task, Outcome::Satisfied));
        return true;
    }
    let mut split = Job { id, ..Job::clone(&record) };
    split.become_task(task, Outcome::Satisfied);
    cluster.change_array(task.array_job, |array| array.records += 1);
    cluster.add_job(split);
    super::job::keep_tasks_waiting(cluster, task.array_job, remaining);
    true
}

fn take(node: &mut crate::Node, run: RunId, share: &RunNode) {
    for cpu in share.cpus.iter() {
        node.cpus_allocated.insert(cpu);
    }
    for gpu in &share.gpus {
        node.gpus_allocated.insert(gpu.index);
    }
    node.memory_allocated = Mebibytes(node.memory_allocated.0.saturating_add(share.memory.0));
    node.runs.insert(run);
}

fn give_back(node: &mut crate::Node, run: RunId, share: &RunNode) {
    node.cpus_allocated = node.cpus_allocated.difference(&share.cpus);
    for gpu in &share.gpus {
        node.gpus_allocated.remove(gpu.index);
    }
    node.memory_allocated = Mebibytes(node.memory_allocated.0.saturating_sub(share.memory.0));
    node.runs.remove(&run);
}

pub(super) fn started(cluster: &mut Cluster, event: &Event, data: &RunStarted) {
    let Some(run) = cluster.runs.get(&data.run).filter(|_| is_held(cluster, data.run, &data.node)) else {
        return;
    };
    if run.started.is_none() && run.end.is_none() {
        let at = event.time.clamp(run.allocated, cluster.time.max(run.allocated));
        cluster.change_run(data.run, |run| run.started = Some(at));
    }
}

pub(super) fn ended(cluster: &mut Cluster, event: &Event, data: &RunEnded) {
    if is_held(cluster, data.run, &data.node) {
        end_run(cluster, data.run, event.time, data.cause, data.exit);
    }
}

pub(super) fn lost(cluster: &mut Cluster, data: &RunLost) {
    if is_held(cluster, data.run, &data.node) {
        end_run(cluster, data.run, data.last_evidence, EndCause::Lost, ExitStatus::default());
    }
}

/// A node speaks of the runs that it holds, and of no others.
pub(super) fn is_held(cluster: &Cluster, run: RunId, node: &NodeName) -> bool {
    cluster.runs.get(&run).is_some_and(|run| run.held_on.contains(node))
}

/// The first end of a run counts; what comes later, or is about a run that is not known, is overtaken.
pub(super) fn end_run(cluster: &mut Cluster, id: RunId, at: UtcMicros, cause: EndCause, exit: ExitStatus) {
    let Some(run) = cluster.runs.get(&id).filter(|run| run.end.is_none()) else { return };
    let floor = run.started.unwrap_or(run.allocated);
    let at = at.clamp(floor, cluster.time.max(floor));
    cluster.charge_run(id, at);
    let at = super::suspension::end_pause(cluster, id, at);
    let paused = cluster.runs.get(&id).map_or(0, |run| run.paused());
    cluster.change_run(id, |run| {
        run.end = Some(RunEnd { at, cause, exit });
        run.wish = RunWish::Release;
    });
    cluster.give_licenses_back(id);
    let Some(job) = cluster.jobs.get(&id.job).cloned() else { return };
    // How long a run takes that was cut short says nothing.
    let says_how_long = matches!(cause, EndCause::Exited | EndCause::TimeLimit | EndCause::OutOfMemory);
    if says_how_long && job.used_up.is_none() {
        let micros = at.0.saturating_sub(floor.0).saturating_sub(paused);
        let seconds = u64::try_from(micros / 1_000_000).unwrap_or(0);
        cluster.note_run_time(&job, seconds);
    }
    let back_hold = job.requeue_when_ended;
    let gave_way_for_now = cause == EndCause::Preempted && super::preemption::waits_again(cluster, id);
    let on_an_unfit_node = cause == EndCause::NodeUnfit && job.requeue;
    let failed_with_its_node = cause == EndCause::NodeFailed && job.requeue;
    let back = job.cancelled_by.is_none()
        && (back_hold.is_some() || failed_with_its_node || on_an_unfit_node || gave_way_for_now);
    if back {
        let hold = match back_hold {
            Some(true) => Some(Reason::RequeuedHeld),
            Some(false) => None,
            // Held, as in Slurm: the next node may be as unfit, and somebody should look.
            None => on_an_unfit_node.then_some(Reason::LaunchFailedRequeuedHeld),
        };
        put_back(cluster, id.job, at, hold);
    } else {
        finish(cluster, id.job, at, final_state(cause, exit));
    }
}

/// Back into the queue after an interruption: not before two minutes from its end. With `hold` it is held, for that reason.
pub(super) fn put_back(cluster: &mut Cluster, id: JobId, at: UtcMicros, hold: Option<Reason>) {
    if let Some((array, task)) = array_task(cluster, id) {
        cluster.change_array(array, |array| {
            array.running.remove(task);
            array.succeeded.remove(task);
            array.failed.remove(task);
        });
    }
    cluster.change_job(id, |job| {
        // Back to all that it may start in.
        if let Some(partitions) = &job.partitions {
            job.partition = Arc::from(partitions.join(","));
        }
        job.state = JobState::Pending;
        job.reason = Reason::None;
        job.reason_detail = Arc::from("");
        job.begin = Some(at.plus_seconds(REQUEUE_DELAY_SECONDS));
        job.ended = Some(at);
        job.requeue_when_ended = None;
        job.cancelled_by = None;
        job.eligible = None;
        job.accrual = None;
        job.eligible_seq = None;
        job.time_limit = job.time_limit_whole.take().unwrap_or(job.time_limit);
        if let Some(reason) = hold {
            job.hold = job.hold.or(Some(Hold::User));
            job.reason = reason;
        }
    });
    cluster.prioritise(id, cluster.time);
    // What it waited for may have ended while it was over itself, and nobody has looked at it.
    cluster.reconsider(id);
}

/// How a job ends for good.
pub(super) struct Ending {
    pub(super) state: JobState,
    pub(super) reason: Reason,
    pub(super) exit: ExitStatus,
}

/// Job state, reason and exit code as Slurm shows them for what ended the run.
fn final_state(cause: EndCause, exit: ExitStatus) -> Ending {
    let clean = ExitStatus::default();
    let (state, reason, exit) = match cause {
        EndCause::Exited if exit.is_success() => (JobState::Completed, Reason::None, exit),
        EndCause::Exited => (JobState::Failed, Reason::NonZeroExitCode, exit),
        EndCause::TimeLimit => (JobState::Timeout, Reason::TimeLimit, clean),
        EndCause::Cancelled | EndCause::Requeued => (JobState::Cancelled, Reason::None, clean),
        EndCause::Preempted => (JobState::Preempted, Reason::None, exit),
        EndCause::LaunchFailed | EndCause::NodeUnfit => (JobState::Failed, Reason::JobLaunchFailure, exit),
        EndCause::NodeFailed | EndCause::Lost => (JobState::NodeFail, Reason::NodeDown, clean),
        EndCause::OutOfMemory => {
            (JobState::OutOfMemory, Reason::NonZeroExitCode, ExitStatus { code: 0, signal: 125 })
        }
    };
    Ending { state, reason, exit }
}

/// Counts jobs that have ended so.
pub(super) fn count_ends(cluster: &mut Cluster, state: JobState, count: u64) {
    let jobs = &mut cluster.totals.jobs;
    match state {
        JobState::Completed => jobs.completed += count,
        JobState::Cancelled => jobs.canceled += count,
        _ => jobs.failed += count,
    }
}

/// Ends a job, and lets those who waited for it know.
pub(super) fn finish(cluster: &mut Cluster, id: JobId, at: UtcMicros, ending: Ending) {
    count_ends(cluster, ending.state, 1);
    end_record(cluster, id, at, ending);
}

/// Ends a record of which it has been counted that it ends.
pub(super) fn end_record(cluster: &mut Cluster, id: JobId, at: UtcMicros, ending: Ending) {
    let Some(job) = cluster.jobs.get(&id).cloned() else { return };
    let success = ending.state == JobState::Completed;
    cluster.change_job(id, |job| {
        job.state = ending.state;
        job.reason = ending.reason;
        job.reason_detail = Arc::from("");
        job.exit = ending.exit;
        job.ended = Some(at);
        job.requeue_when_ended = None;
    });
    cluster.expected_starts.remove(&id);
    cluster.planned_nodes.remove(&id);
    cluster.give_room_up(id);
    if let Some((array, task)) = array_task(cluster, id) {
        cluster.change_array(array, |array| {
            array.running.remove(task);
            if success {
                array.succeeded.insert(task)
            } else {
                array.failed.insert(task)
            };
        });
        cluster.reconsider_dependents(array);
    }
    cluster.reconsider_dependents(id);
    cluster.reconsider_singletons(job.spec.user.uid, &job.name);
}

pub(super) fn node_released(cluster: &mut Cluster, data: &RunNodeReleased) {
    let Some(run) = cluster.runs.get(&data.run).filter(|run| run.held_on.contains(&data.node)) else {
        return;
    };
    if run.end.is_none() {
        // A node let go of a run of which no end was told: the end is where the node says so.
        end_run(cluster, data.run, cluster.time, EndCause::Lost, ExitStatus::default());
    }
    free_node(cluster, data.run, &data.node);
}

/// Where only nodes that have been given up hold a run, its job goes on without it.
pub(super) fn part_if_given_up(cluster: &mut Cluster, id: RunId) {
    let Some(run) = cluster.runs.get(&id).filter(|run| run.is_given_up()).cloned() else { return };
    cluster.note_way_given(id);
    if let Some(job) = cluster.jobs.get(&id.job).filter(|job| job.run == Some(id)).cloned() {
        cluster.change_run(id, |run| run.parted_from = Some(job));
        cluster.change_job(id.job, |job| {
            job.run = None;
            job.last_nodes = Some(run.nodes.clone());
            job.last_billing = run.billing;
        });
    }
}

/// Takes from a node what a run holds there.
pub(super) fn free_node(cluster: &mut Cluster, id: RunId, name: &NodeName) {
    let Some(run) = cluster.runs.get(&id).cloned() else { return };
    if let Some(share) = run.nodes.iter().find(|share| share.node == *name) {
        cluster.change_node(name, |node| give_back(node, id, &run.holding(share)));
    }
    if cluster.nodes.get(name).is_some_and(|node| node.retired && node.runs.is_empty()) {
        cluster.nodes.remove(name);
        cluster.forget_what_is_possible();
    }
    let held_on = run.held_on.without(name);
    if !held_on.is_empty() {
        cluster.change_run(id, |run| run.held_on = held_on);
        part_if_given_up(cluster, id);
        return;
    }
    cluster.note_way_given(id);
    // The record's place in the indexes depends on whether its run still holds something: out before, in after.
    match cluster.jobs.get(&id.job).cloned() {
        Some(job) if job.run == Some(id) => {
            cluster.unindex(&job);
            cluster.runs.remove(&id);
            cluster.stopped.remove(&id);
            cluster.index(&job);
            cluster.change_job(id.job, |job| {
                job.last_nodes = Some(run.nodes.clone());
                job.last_billing = run.billing;
            });
        }
        _ => {
            cluster.runs.remove(&id);
            cluster.stopped.remove(&id);
        }
    }
}

/// Array and index of a task's record.
pub(super) fn array_task(cluster: &Cluster, id: JobId) -> Option<(JobId, u32)> {
    let task = cluster.jobs.get(&id)?.task?;
    Some((task.array_job, task.task))
}
