//! Runs that are stopped, and go on. Their CPUs are free meanwhile; memory and GPUs are not.

use daybook_schemas::events::{
    JobResumeRequested, JobSuspendRequested, RunResumeOrdered, RunResumed, RunSuspended,
};
use daybook_schemas::job::JobState;
use daybook_schemas::{JobId, NodeName, RunId, UtcMicros};

use super::{Place, physical};
use crate::error::LedgerError;
use crate::posting::Posting;
use crate::rows::{JobRow, NodeRow, RecordKey, RecordRow, RunRow};

pub(super) fn suspend_requested(
    posting: &mut Posting<'_>,
    data: &JobSuspendRequested,
) -> Result<(), LedgerError> {
    if let Some(id) = present_run(posting, data.job)? {
        posting.edit(&id, |run: &mut RunRow| run.is_kept_stopped = true)?;
    }
    Ok(())
}

/// Where its CPUs are taken it goes on when they are free.
pub(super) fn resume_requested(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &JobResumeRequested,
) -> Result<(), LedgerError> {
    let Some(id) = present_run(posting, data.job)? else { return Ok(()) };
    go_on(posting, place, id)?;
    posting.edit(&id, |run: &mut RunRow| run.is_kept_stopped = false)?;
    Ok(())
}

pub(super) fn resume_ordered(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &RunResumeOrdered,
) -> Result<(), LedgerError> {
    let waits = |run: &&RunRow| run.ended.is_none() && run.are_cpus_given_back && !run.is_kept_stopped;
    if posting.get::<RunRow>(&data.run)?.filter(waits).is_some() {
        go_on(posting, place, data.run)?;
    }
    Ok(())
}

fn present_run(posting: &mut Posting<'_>, job: JobId) -> Result<Option<RunId>, LedgerError> {
    let Some(id) = posting.get::<JobRow>(&job)?.and_then(|job| job.run) else { return Ok(None) };
    Ok(posting.get::<RunRow>(&id)?.filter(|run| run.ended.is_none()).map(|_| id))
}

/// Takes the CPUs again where all of them are free.
fn go_on(posting: &mut Posting<'_>, place: Place<'_>, id: RunId) -> Result<(), LedgerError> {
    let Some(run) = posting.get::<RunRow>(&id)?.cloned() else { return Ok(()) };
    if run.are_cpus_given_back {
        for name in &run.held_on {
            if !could_take(posting.get::<NodeRow>(name)?, id) {
                return Ok(());
            }
        }
        turn_cpus(posting, place, id, &run, place.now, false)?;
    }
    posting.edit(&id, |run: &mut RunRow| {
        run.went_on = place.seq;
        run.are_cpus_given_back = false;
        run.is_kept_stopped = false;
    })?;
    Ok(())
}

fn could_take(node: Option<&NodeRow>, run: RunId) -> bool {
    let Some(own) = node.and_then(|node| node.shares.get(&run)) else { return false };
    let others = node.into_iter().flat_map(|node| &node.shares).filter(|(other, _)| **other != run);
    others.into_iter().all(|(_, share)| share.cpus.intersection(&own.cpus_given_back).is_empty())
}

fn turn_cpus(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    id: RunId,
    run: &RunRow,
    at: UtcMicros,
    are_given_back: bool,
) -> Result<(), LedgerError> {
    run.held_on.iter().try_for_each(|name| physical::turn_cpus(posting, place, id, name, at, are_given_back))
}

pub(super) fn suspended(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &RunSuspended,
) -> Result<(), LedgerError> {
    let Some(run) = going_on(posting, data.run, &data.node)? else { return Ok(()) };
    let floor = run.turned.unwrap_or(run.allocated).max(run.started.unwrap_or(run.allocated));
    let at = place.event.time.clamp(floor, place.now.max(floor));
    if run.stopped.is_none() {
        posting.edit(&data.run, |run: &mut RunRow| (run.stopped, run.turned) = (Some(at), Some(at)))?;
        edit_record(posting, place, data.run, &run, |record| {
            turn(record, JobState::Suspended);
            record.stopped = Some(at);
        })?;
    }
    if data.ordered > run.went_on && !run.are_cpus_given_back {
        turn_cpus(posting, place, data.run, &run, at, true)?;
        posting.edit(&data.run, |run: &mut RunRow| run.are_cpus_given_back = true)?;
    }
    Ok(())
}

pub(super) fn resumed(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &RunResumed,
) -> Result<(), LedgerError> {
    let Some(run) = going_on(posting, data.run, &data.node)? else { return Ok(()) };
    let Some(since) = run.stopped.filter(|_| !run.are_cpus_given_back) else { return Ok(()) };
    let at = place.event.time.clamp(since, place.now.max(since));
    posting.edit(&data.run, |run: &mut RunRow| (run.stopped, run.turned) = (None, Some(at)))?;
    edit_record(posting, place, data.run, &run, |record| {
        turn(record, JobState::Running);
        end_stop(record, at);
    })
}

/// The record and its batch step, as in Slurm.
fn turn(record: &mut RecordRow, state: JobState) {
    record.state = state;
    if let Some(batch) = &mut record.batch {
        batch.state = state;
    }
}

/// A stop that lasted is over.
pub(super) fn end_stop(record: &mut RecordRow, at: UtcMicros) {
    if let Some(since) = record.stopped.take() {
        let micros = u64::try_from(at.0.saturating_sub(since.0)).unwrap_or(0);
        record.paused = record.paused.saturating_add(micros);
    }
}

/// A run that has not ended, as one of its nodes speaks of it.
fn going_on(posting: &mut Posting<'_>, id: RunId, node: &NodeName) -> Result<Option<RunRow>, LedgerError> {
    let is_meant = |run: &&RunRow| run.ended.is_none() && run.held_on.contains(node);
    Ok(posting.get::<RunRow>(&id)?.filter(is_meant).cloned())
}

fn edit_record(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    id: RunId,
    run: &RunRow,
    change: impl FnOnce(&mut RecordRow),
) -> Result<(), LedgerError> {
    posting.edit(&RecordKey { job: id.job, attempt: run.attempt }, |record: &mut RecordRow| {
        change(record);
        record.rests_on(place.seq);
    })?;
    Ok(())
}
