use daybook_schemas::events::{
    JobCancelRequested, JobFinished, JobHeld, JobReleased, JobRequeued, JobSubmitted, JobUpdated,
};
use daybook_schemas::job::{JobState, Reason};
use daybook_schemas::run::ExitStatus;
use daybook_schemas::{JobId, UtcMicros};

use super::Place;
use super::arrays;
use crate::bounds::REQUEUE_DELAY_SECONDS;
use crate::error::LedgerError;
use crate::posting::Posting;
use crate::rows::{Hold, JobRow, Phase, RecordKey, RecordRow, RunRow, SubmissionRow};

/// From when on a job can start that nothing but its `begin` holds back any more.
pub(super) fn eligible_at(now: UtcMicros, begin: Option<UtcMicros>) -> UtcMicros {
    begin.map_or(now, |begin| begin.max(now))
}

pub(super) fn submitted(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &JobSubmitted,
) -> Result<(), LedgerError> {
    let spec = &data.spec;
    let depends = spec.dependencies.as_ref().is_some_and(|dependencies| !dependencies.conditions.is_empty());
    let job = JobRow {
        task: None,
        phase: Phase::Pending,
        attempt: 0,
        starts: 0,
        run: None,
        requeue: spec.requeue,
        requeue_when_ended: None,
        cancelled_by: None,
        hold: spec.hold.then_some(Hold::User),
        begin: spec.begin,
        depends,
        ended: None,
    };
    let mut record = RecordRow::waiting((place.seq, place.index), place.now);
    if let Some(array) = &spec.array {
        record.tasks_waiting = Some(array.tasks.clone());
        record.running_max = array.running_max;
    }
    record.eligible = (!spec.hold && !depends).then(|| eligible_at(place.now, spec.begin));
    record.waits_for(first_reason(&job, place.now));
    record.held = spec.hold;
    let submission = SubmissionRow::new(place.seq, place.now, data, &posting.cluster);
    posting.put(&data.job, submission)?;
    posting.put(&data.job, job)?;
    posting.put(&RecordKey { job: data.job, attempt: 0 }, record)
}

/// Why a job waits before the planner has looked at it.
fn first_reason(job: &JobRow, now: UtcMicros) -> Reason {
    match job.hold {
        Some(Hold::User) => Reason::JobHeldUser,
        Some(Hold::Admin) => Reason::JobHeldAdmin,
        None if job.depends => Reason::Dependency,
        None if job.begin.is_some_and(|begin| begin > now) => Reason::BeginTime,
        None => Reason::None,
    }
}

pub(super) fn updated(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &JobUpdated,
) -> Result<(), LedgerError> {
    let Some(job) = posting.get::<JobRow>(&data.job)?.filter(|job| job.phase != Phase::Ended).cloned() else {
        return Ok(());
    };
    let waits = job.phase == Phase::Pending;
    let was_free = !job.depends;
    let job = posting.edit(&data.job, |job: &mut JobRow| {
        job.requeue = data.requeue.unwrap_or(job.requeue);
        if waits {
            job.begin = data.begin.or(job.begin);
            if let Some(dependencies) = &data.dependencies {
                job.depends = !dependencies.conditions.is_empty();
            }
        }
        job.clone()
    })?;
    let Some(job) = job else { return Ok(()) };
    posting.edit(&RecordKey { job: data.job, attempt: job.attempt }, |record: &mut RecordRow| {
        record.changes.note(data, waits);
        if let Some(most) = data.array_running_max {
            record.running_max = (most > 0).then_some(most);
        }
        if waits && data.begin.is_some() {
            record.eligible = (job.hold.is_none() && !job.depends).then(|| eligible_at(place.now, job.begin));
        }
        if waits && data.dependencies.is_some() && job.depends == was_free {
            record.eligible = (job.hold.is_none() && !job.depends).then(|| eligible_at(place.now, job.begin));
            if !record.held {
                record.waits_for(first_reason(&job, place.now));
            }
        }
        record.rests_on(place.seq);
    })?;
    Ok(())
}

pub(super) fn held(posting: &mut Posting<'_>, place: Place<'_>, data: &JobHeld) -> Result<(), LedgerError> {
    let asked = if data.by_administrator { Hold::Admin } else { Hold::User };
    for (id, _) in arrays::meant(posting, &data.target)? {
        let Some(job) = posting.get::<JobRow>(&id)?.filter(|job| job.phase != Phase::Ended).cloned() else {
            continue;
        };
        // A user's hold leaves an administrator's as it is.
        let hold = job.hold.filter(|hold| *hold == Hold::Admin).unwrap_or(asked);
        posting.edit(&id, |job: &mut JobRow| job.hold = Some(hold))?;
        posting.edit(&RecordKey { job: id, attempt: job.attempt }, |record: &mut RecordRow| {
            if job.phase == Phase::Pending {
                record.held = true;
                record.waits_for(first_reason(&JobRow { hold: Some(hold), ..job.clone() }, place.now));
            }
            record.rests_on(place.seq);
        })?;
    }
    Ok(())
}

pub(super) fn released(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &JobReleased,
) -> Result<(), LedgerError> {
    for (id, _) in arrays::meant(posting, &data.target)? {
        let Some(job) = posting.get::<JobRow>(&id)?.cloned() else { continue };
        if data.as_owner && job.hold == Some(Hold::Admin) {
            continue;
        }
        posting.edit(&id, |job: &mut JobRow| job.hold = None)?;
        if job.phase != Phase::Pending {
            continue;
        }
        let free = JobRow { hold: None, ..job };
        posting.edit(&RecordKey { job: id, attempt: free.attempt }, |record: &mut RecordRow| {
            record.held = false;
            record.reason = first_reason(&free, place.now);
            if record.eligible.is_none() && !free.depends {
                record.eligible = Some(eligible_at(place.now, free.begin));
            }
            record.rests_on(place.seq);
        })?;
    }
    Ok(())
}

pub(super) fn cancel_requested(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &JobCancelRequested,
) -> Result<(), LedgerError> {
    // With a signal nothing is cancelled: what the script makes of it shows in its end.
    if data.signal.is_some() {
        return Ok(());
    }
    for (id, tasks) in arrays::meant(posting, &data.target)? {
        match tasks {
            Some(tasks) => arrays::cancel_waiting(posting, place, id, &tasks, data.uid)?,
            None => cancel(posting, place, id, data.uid)?,
        }
    }
    Ok(())
}

fn cancel(posting: &mut Posting<'_>, place: Place<'_>, id: JobId, uid: u32) -> Result<(), LedgerError> {
    let Some(job) = posting.get::<JobRow>(&id)?.filter(|job| job.phase != Phase::Ended).cloned() else {
        return Ok(());
    };
    posting.edit(&id, |job: &mut JobRow| {
        job.cancelled_by = job.cancelled_by.or(Some(uid));
        job.requeue_when_ended = None;
    })?;
    let key = RecordKey { job: id, attempt: job.attempt };
    posting.edit(&key, |record: &mut RecordRow| {
        record.cancelled_by = record.cancelled_by.or(Some(uid));
        record.rests_on(place.seq);
    })?;
    match job.phase {
        Phase::Pending => end_waiting(posting, place, id, JobState::Cancelled, None),
        _ => Ok(()),
    }
}

/// Ends a job that waits, and its record with it. `reason`: why, where that is to be kept.
pub(super) fn end_waiting(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    id: JobId,
    state: JobState,
    reason: Option<Reason>,
) -> Result<(), LedgerError> {
    let Some(attempt) = posting.edit(&id, |job: &mut JobRow| {
        job.phase = Phase::Ended;
        job.ended = Some(place.now);
        job.attempt
    })?
    else {
        return Ok(());
    };
    posting.edit(&RecordKey { job: id, attempt }, |record: &mut RecordRow| {
        record.state = state;
        record.ended = Some(place.now);
        record.exit = ExitStatus::default();
        record.held = false;
        // What its holder took with it says nothing about why it ended.
        let kept = match record.obstacle {
            Reason::JobHeldUser | Reason::JobHeldAdmin | Reason::RequeuedHeld => Reason::None,
            obstacle => obstacle,
        };
        record.reason = reason.unwrap_or(kept);
        record.rests_on(place.seq);
    })?;
    Ok(())
}

pub(super) fn finished(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &JobFinished,
) -> Result<(), LedgerError> {
    if posting.get::<JobRow>(&data.job)?.is_none_or(|job| job.phase != Phase::Pending) {
        return Ok(());
    }
    arrays::close(posting, data.job)?;
    end_waiting(posting, place, data.job, data.state, Some(data.reason))
}

pub(super) fn requeued(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &JobRequeued,
) -> Result<(), LedgerError> {
    let Some(job) = posting.get::<JobRow>(&data.job)?.cloned() else { return Ok(()) };
    match job.phase {
        Phase::Pending => Ok(()),
        Phase::Running => {
            let run = job.run.map(|run| posting.get::<RunRow>(&run)).transpose()?.flatten();
            let hold = data.hold || run.is_some_and(|run| run.is_kept_stopped && run.ended.is_none());
            posting.edit(&data.job, |job: &mut JobRow| job.requeue_when_ended = Some(hold))?;
            posting.edit(&RecordKey { job: data.job, attempt: job.attempt }, |record: &mut RecordRow| {
                record.rests_on(place.seq);
            })?;
            Ok(())
        }
        Phase::Ended if is_forgotten(posting, &job, place)? => Ok(()),
        Phase::Ended => {
            put_back(posting, place, data.job, place.now, data.hold.then_some(Reason::RequeuedHeld))
        }
    }
}

/// An ended job leaves the queue's memory `MinJobAge` after its end; from then on it cannot come back.
fn is_forgotten(posting: &mut Posting<'_>, job: &JobRow, place: Place<'_>) -> Result<bool, LedgerError> {
    if let Some(run) = job.run
        && posting.get::<RunRow>(&run)?.is_some()
    {
        return Ok(false);
    }
    let age = i64::try_from(posting.cluster.min_job_age).unwrap_or(i64::MAX);
    Ok(job.ended.is_some_and(|ended| ended.plus_seconds(age) <= place.before))
}

/// Back into the queue: the next record of the job, which may not start before two minutes after `at`.
pub(super) fn put_back(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    id: JobId,
    at: UtcMicros,
    hold: Option<Reason>,
) -> Result<(), LedgerError> {
    let begin = at.plus_seconds(REQUEUE_DELAY_SECONDS);
    let Some(job) = posting.edit(&id, |job: &mut JobRow| {
        job.phase = Phase::Pending;
        job.attempt += 1;
        job.begin = Some(begin);
        job.requeue_when_ended = None;
        job.cancelled_by = None;
        job.ended = None;
        if hold.is_some() {
            job.hold = job.hold.or(Some(Hold::User));
        }
        job.clone()
    })?
    else {
        return Ok(());
    };
    let before = RecordKey { job: id, attempt: job.attempt - 1 };
    let Some(last) = posting.get::<RecordRow>(&before)?.cloned() else { return Ok(()) };
    let mut record = RecordRow::waiting((place.seq, place.index), at);
    record.task = job.task;
    record.running_max = last.running_max;
    record.changes = last.changes;
    record.restarts = job.starts;
    record.eligible = job.hold.is_none().then_some(begin);
    record.held = job.hold.is_some();
    record.waits_for(Reason::BeginTime);
    if job.hold.is_some() {
        let why = hold.filter(|_| job.hold == Some(Hold::User));
        record.reason = why.unwrap_or_else(|| first_reason(&job, place.now));
    }
    posting.put(&RecordKey { job: id, attempt: job.attempt }, record)
}
