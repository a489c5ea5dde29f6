use daybook_schemas::accounts::PreemptMode;
use daybook_schemas::events::{
    NodeTimedOut, RunAllocated, RunEnded, RunLost, RunNodeReleased, RunPreempted, RunStarted,
};
use daybook_schemas::job::{JobState, Reason};
use daybook_schemas::run::{EndCause, ExitStatus, ProcessUsage};
use daybook_schemas::{NodeName, RunId, UtcMicros};

use super::{Place, arrays, job, physical, suspension, validity};
use crate::error::LedgerError;
use crate::keys;
use crate::posting::Posting;
use crate::rows::{BatchStep, JobRow, Phase, RecordKey, RecordRow, RunRow, RunShare, VOID, VoidAllocation};

pub(super) fn allocated(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &RunAllocated,
) -> Result<(), LedgerError> {
    if let Some(why) = validity::void(posting, data)? {
        return note_void(posting, place, data, why);
    }
    if let Some(task) = data.array
        && !arrays::split(posting, place, data.run.job, task)?
    {
        return note_void(
            posting,
            place,
            data,
            format!("task {} cannot start as job {}", task.task, data.run.job),
        );
    }
    let from = physical::allocate(posting, place, data)?;
    let Some(attempt) = posting.edit(&data.run.job, |job: &mut JobRow| {
        job.phase = Phase::Running;
        job.run = Some(data.run);
        job.starts = data.run.start + 1;
        job.ended = None;
        job.attempt
    })?
    else {
        return Ok(());
    };
    let key = RecordKey { job: data.run.job, attempt };
    posting.edit(&key, |record: &mut RecordRow| {
        record.state = JobState::Running;
        record.eligible = record.eligible.or(Some(place.now)).map(|eligible| eligible.min(place.now));
        record.reason = record.obstacle;
        record.held = false;
        record.run = Some(data.run);
        record.restarts = data.run.start;
        record.started = Some(place.now);
        record.changes.partition = Some(data.partition.clone());
        record.changes.time_limit = Some(data.time_limit);
        record.shares = data
            .nodes
            .iter()
            .zip(from)
            .map(|(share, from)| RunShare {
                node: share.node.clone(),
                cpus: u32::try_from(share.cpus.len()).unwrap_or(u32::MAX),
                memory: share.memory,
                gpus: share.gpus.clone(),
                from,
                to: None,
            })
            .collect();
        record.billing = data.billing;
        record.rests_on(place.seq);
    })?;
    let run = RunRow {
        attempt,
        allocated: place.now,
        started: None,
        ended: None,
        held_on: data.nodes.iter().map(|share| share.node.clone()).collect(),
        given_up_on: Default::default(),
        gives_way_for_now: false,
        stopped: None,
        turned: None,
        are_cpus_given_back: false,
        is_kept_stopped: false,
        went_on: daybook_schemas::Seq::ZERO,
    };
    posting.put(&data.run, run)
}

fn note_void(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &RunAllocated,
    why: String,
) -> Result<(), LedgerError> {
    let nodes = data.nodes.iter().map(|share| share.node.clone()).collect();
    let row = VoidAllocation { seq: place.seq, at: place.now, run: data.run, nodes, why };
    posting.append(VOID, &keys::event(place.seq, place.index), &row)
}

pub(super) fn started(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &RunStarted,
) -> Result<(), LedgerError> {
    let is_fresh = |run: &&RunRow| {
        let goes_on = run.ended.is_none() || run.given_up_on.contains(&data.node);
        run.started.is_none() && goes_on && run.held_on.contains(&data.node)
    };
    let Some(run) = posting.get::<RunRow>(&data.run)?.filter(is_fresh) else {
        return Ok(());
    };
    let at = place.event.time.clamp(run.allocated, place.now.max(run.allocated));
    let attempt = run.attempt;
    posting.edit(&data.run, |run: &mut RunRow| run.started = Some(at))?;
    posting.edit(&RecordKey { job: data.run.job, attempt }, |record: &mut RecordRow| {
        record.batch = Some(BatchStep { started: at, state: JobState::Running, exit: ExitStatus::default() });
        record.rests_on(place.seq);
    })?;
    Ok(())
}

pub(super) fn ended(posting: &mut Posting<'_>, place: Place<'_>, data: &RunEnded) -> Result<(), LedgerError> {
    let end =
        End { at: place.event.time, cause: data.cause, exit: data.exit, usage: data.usage, is_bound: false };
    end_run_of(posting, place, data.run, &data.node, end)
}

/// What becomes of its job when it has given way; what is told to a run that has ended says nothing.
pub(super) fn preempted(posting: &mut Posting<'_>, data: &RunPreempted) -> Result<(), LedgerError> {
    posting.edit(&data.run, |run: &mut RunRow| {
        run.gives_way_for_now = data.mode == PreemptMode::Requeue;
    })?;
    Ok(())
}

pub(super) fn lost(posting: &mut Posting<'_>, place: Place<'_>, data: &RunLost) -> Result<(), LedgerError> {
    let end = End::lost(data.last_evidence);
    end_run_of(posting, place, data.run, &data.node, end)
}

/// Ends a run as one of its nodes says. A node speaks of the runs that it holds, and of no others.
fn end_run_of(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    id: RunId,
    node: &NodeName,
    end: End,
) -> Result<(), LedgerError> {
    let Some(run) = posting.get::<RunRow>(&id)?.filter(|run| run.held_on.contains(node)) else {
        return Ok(());
    };
    match run.given_up_on.contains(node) {
        true => correct(posting, place, id, end),
        false => end_run(posting, place, id, end),
    }
}

/// Ends a run, if it has not ended, at the last sign of a node that has been silent for too long, and lets the books of
/// that node go on without it.
pub(super) fn give_up(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    id: RunId,
    data: &NodeTimedOut,
) -> Result<(), LedgerError> {
    let end = End {
        at: data.last_evidence,
        cause: EndCause::NodeFailed,
        exit: ExitStatus::default(),
        usage: None,
        is_bound: true,
    };
    end_run(posting, place, id, end)?;
    let Some(run) = posting.get::<RunRow>(&id)?.cloned() else { return Ok(()) };
    let at = data.last_evidence.max(run.ended.unwrap_or(data.last_evidence));
    let to = physical::give_up(posting, place, id, &data.node, at)?;
    close_shares(posting, place, id, &run, (&data.node, to))?;
    posting.edit(&id, |run: &mut RunRow| run.given_up_on.insert(data.node.clone()))?;
    Ok(())
}

/// What the node itself says of a run that was given up. The state stays: others have acted on it. The end, the exit code
/// and what was used are facts, and are put right.
fn correct(posting: &mut Posting<'_>, place: Place<'_>, id: RunId, end: End) -> Result<(), LedgerError> {
    let Some(run) = posting.get::<RunRow>(&id)?.cloned() else { return Ok(()) };
    let floor = run.started.unwrap_or(run.allocated);
    let at = end.at.clamp(floor, place.now.max(floor));
    let key = RecordKey { job: id.job, attempt: run.attempt };
    posting.edit(&key, |record: &mut RecordRow| {
        if !record.end_is_bound {
            return;
        }
        record.ended = Some(at);
        record.end_is_bound = end.is_bound;
        record.end_is_corrected = true;
        record.exit = end.exit;
        record.usage = end.usage;
        record.batch = batch_end(&end, floor, record.batch.is_some());
        let unseen = record.shares.iter().filter(|share| run.given_up_on.contains(&share.node));
        record.gpu_seconds_unseen = unseen.fold(0, |sum, share| {
            let seconds = at.seconds().saturating_sub(share.to.unwrap_or(share.from));
            let seconds = u64::try_from(seconds).unwrap_or(0);
            sum.saturating_add(seconds.saturating_mul(share.gpus.len() as u64))
        });
        record.rests_on(place.seq);
    })?;
    Ok(())
}

/// Notes in a run's record until when it had a node.
fn close_shares(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    id: RunId,
    run: &RunRow,
    (node, to): (&NodeName, i64),
) -> Result<(), LedgerError> {
    posting.edit(&RecordKey { job: id.job, attempt: run.attempt }, |record: &mut RecordRow| {
        for share in record.shares.iter_mut().filter(|share| share.node == *node && share.to.is_none()) {
            share.to = Some(to);
        }
        record.rests_on(place.seq);
    })?;
    Ok(())
}

/// A node holds nothing of a run any more.
pub(super) fn let_go(posting: &mut Posting<'_>, id: RunId, node: &NodeName) -> Result<(), LedgerError> {
    let is_over = posting.edit(&id, |run: &mut RunRow| {
        run.held_on.remove(node);
        run.held_on.is_empty()
    })?;
    if is_over == Some(true) {
        posting.take::<RunRow>(&id)?;
    }
    Ok(())
}

/// How a run ended.
struct End {
    at: UtcMicros,
    cause: EndCause,
    exit: ExitStatus,
    usage: Option<ProcessUsage>,
    /// The last evidence stands for an end that nobody saw.
    is_bound: bool,
}

impl End {
    /// Nobody saw it.
    fn lost(last_evidence: UtcMicros) -> End {
        End {
            at: last_evidence,
            cause: EndCause::Lost,
            exit: ExitStatus::default(),
            usage: None,
            is_bound: true,
        }
    }
}

/// The first end of a run counts; a later one, or one of a run that is not known, has been overtaken.
fn end_run(posting: &mut Posting<'_>, place: Place<'_>, id: RunId, end: End) -> Result<(), LedgerError> {
    let Some(run) = posting.get::<RunRow>(&id)?.filter(|run| run.ended.is_none()).cloned() else {
        return Ok(());
    };
    let floor = run.started.unwrap_or(run.allocated);
    let at = end.at.clamp(floor, place.now.max(floor)).max(run.turned.unwrap_or(floor));
    posting.edit(&id, |run: &mut RunRow| run.ended = Some(at))?;
    let Some(job) = posting.get::<JobRow>(&id.job)?.cloned() else { return Ok(()) };
    let back = job.cancelled_by.is_none()
        && (job.requeue_when_ended.is_some()
            || matches!(end.cause, EndCause::NodeFailed | EndCause::NodeUnfit) && job.requeue
            || end.cause == EndCause::Preempted && run.gives_way_for_now);
    let (state, exit) = final_state(&end, back);
    posting.edit(&RecordKey { job: id.job, attempt: run.attempt }, |record: &mut RecordRow| {
        record.state = state;
        record.ended = Some(at);
        suspension::end_stop(record, at);
        record.end_is_bound = end.is_bound;
        record.exit = exit;
        record.usage = end.usage;
        record.cancelled_by = record.cancelled_by.filter(|_| state == JobState::Cancelled);
        record.batch = batch_end(&end, run.started.unwrap_or(run.allocated), record.batch.is_some());
        record.rests_on(place.seq);
    })?;
    if back {
        // After a requeue that somebody asked for its hold counts; what an unfit node has sent back is held.
        let hold = match job.requeue_when_ended {
            Some(hold) => hold.then_some(Reason::RequeuedHeld),
            None => (end.cause == EndCause::NodeUnfit).then_some(Reason::LaunchFailedRequeuedHeld),
        };
        return job::put_back(posting, place, id.job, at, hold);
    }
    posting.edit(&id.job, |job: &mut JobRow| {
        job.phase = Phase::Ended;
        job.ended = Some(at);
        job.requeue_when_ended = None;
    })?;
    Ok(())
}

/// State and exit code of a run's record. `back`: the job goes back into the queue.
fn final_state(end: &End, back: bool) -> (JobState, ExitStatus) {
    let clean = ExitStatus::default();
    match end.cause {
        EndCause::NodeFailed | EndCause::Lost => (JobState::NodeFail, clean),
        EndCause::Preempted => (JobState::Preempted, clean),
        _ if back => (JobState::Requeued, clean),
        EndCause::Exited if end.exit.is_success() => (JobState::Completed, clean),
        EndCause::Exited => (JobState::Failed, end.exit),
        EndCause::TimeLimit => (JobState::Timeout, clean),
        EndCause::Cancelled | EndCause::Requeued => (JobState::Cancelled, clean),
        EndCause::LaunchFailed | EndCause::NodeUnfit if end.exit.is_success() => {
            (JobState::Failed, ExitStatus { code: 0, signal: 53 })
        }
        EndCause::LaunchFailed | EndCause::NodeUnfit => (JobState::Failed, end.exit),
        EndCause::OutOfMemory => (JobState::OutOfMemory, ExitStatus { code: 0, signal: 125 }),
    }
}

/// The batch step's own end: what the script itself did, as Slurm words it. A script that never was has none.
fn batch_end(end: &End, started: UtcMicros, is_known: bool) -> Option<BatchStep> {
    let word = |exit: ExitStatus| match exit {
        ExitStatus { code: 0, signal: 0 } => JobState::Completed,
        ExitStatus { signal: 0, .. } => JobState::Failed,
        _ => JobState::Cancelled,
    };
    let (state, exit) = match end.cause {
        EndCause::LaunchFailed | EndCause::NodeUnfit => return None,
        EndCause::NodeFailed | EndCause::Lost if !is_known => return None,
        EndCause::NodeFailed | EndCause::Lost => (JobState::Cancelled, ExitStatus::default()),
        EndCause::OutOfMemory => (JobState::OutOfMemory, ExitStatus { code: 0, signal: 125 }),
        // Where there was no process there is no status: the TERM that it would have got stands for it.
        EndCause::TimeLimit | EndCause::Cancelled | EndCause::Requeued | EndCause::Preempted
            if end.exit.is_success() && end.usage.is_none() =>
        {
            if !is_known {
                return None;
            }
            (JobState::Cancelled, ExitStatus { code: 0, signal: 15 })
        }
        _ => (word(end.exit), end.exit),
    };
    Some(BatchStep { started, state, exit })
}

pub(super) fn node_released(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &RunNodeReleased,
) -> Result<(), LedgerError> {
    let Some(run) = posting.get::<RunRow>(&data.run)?.filter(|run| run.held_on.contains(&data.node)).cloned()
    else {
        return Ok(());
    };
    if run.ended.is_none() {
        // A node let go of a run of which no end was told: the end lies where the node says so.
        end_run(posting, place, data.run, End::lost(place.now))?;
    }
    let ended = posting.get::<RunRow>(&data.run)?.and_then(|run| run.ended).unwrap_or(place.now);
    let at = place.event.time.clamp(ended, place.now.max(ended));
    let to = physical::release(posting, place, data.run, &data.node, at)?;
    close_shares(posting, place, data.run, &run, (&data.node, to))?;
    let_go(posting, data.run, &data.node)
}
