//! Arrays: one record until tasks start, and then one for each that has.

use daybook_schemas::JobId;
use daybook_schemas::events::{ArrayTaskId, JobParted, JobTarget};
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::{ArrayRequest, JobState};

use super::{Place, job};
use crate::error::LedgerError;
use crate::posting::Posting;
use crate::rows::{JobRow, Phase, RecordKey, RecordRow, SubmissionRow};

/// The array's request, if `id` is an array's.
fn request(posting: &mut Posting<'_>, id: JobId) -> Result<Option<ArrayRequest>, LedgerError> {
    Ok(posting.get::<SubmissionRow>(&id)?.and_then(|submission| submission.array.clone()))
}

/// The job id reserved for a task.
pub(crate) fn task_job_id(array: &ArrayRequest, id: JobId, task: u32) -> Option<JobId> {
    let position = array.tasks.contains(task).then(|| array.tasks.rank(task))?;
    Some(array.task_job_id(id, u32::try_from(position).ok()?))
}

/// The tasks that wait in an array's own record.
fn waiting(posting: &mut Posting<'_>, array: JobId) -> Result<Option<(RecordKey, IndexSet)>, LedgerError> {
    let Some(job) = posting.get::<JobRow>(&array)?.filter(|job| job.phase == Phase::Pending) else {
        return Ok(None);
    };
    let key = RecordKey { job: array, attempt: job.attempt };
    let tasks = posting.get::<RecordRow>(&key)?.and_then(|record| record.tasks_waiting.clone());
    Ok(tasks.map(|tasks| (key, tasks)))
}

/// The jobs that a target names: of an array those tasks that have started, and the array's own record with the waiting
/// tasks that are meant.
pub(super) fn meant(
    posting: &mut Posting<'_>,
    target: &JobTarget,
) -> Result<Vec<(JobId, Option<IndexSet>)>, LedgerError> {
    let Some(array) = request(posting, target.job)? else {
        return Ok(vec![(target.job, None)]);
    };
    let all = match &target.tasks {
        Some(tasks) => array.tasks.intersection(tasks),
        None => array.tasks.clone(),
    };
    let mut found = Vec::new();
    let mut started = all.clone();
    if let Some((_, waiting)) = waiting(posting, target.job)? {
        started = all.difference(&waiting);
        let waiting = waiting.intersection(&all);
        if !waiting.is_empty() {
            found.push((target.job, Some(waiting)));
        }
    }
    found
        .extend(started.iter().filter_map(|task| task_job_id(&array, target.job, task)).map(|id| (id, None)));
    Ok(found)
}

/// Takes waiting tasks out of their array's record. As in Slurm they leave no line of their own; where they are all that
/// waited, the record ends and names them.
pub(super) fn cancel_waiting(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    array: JobId,
    tasks: &IndexSet,
    uid: u32,
) -> Result<(), LedgerError> {
    let Some((key, waiting)) = waiting(posting, array)? else { return Ok(()) };
    posting.edit(&array, |job: &mut JobRow| job.cancelled_by = Some(uid))?;
    let remaining = waiting.difference(tasks);
    let over = remaining.is_empty();
    posting.edit(&key, |record: &mut RecordRow| {
        record.rests_on(place.seq);
        if over {
            record.cancelled_by = Some(uid);
        } else {
            let gone = record.tasks_cancelled.take().unwrap_or_default();
            record.tasks_cancelled =
                Some(gone.ranges().iter().chain(tasks.ranges()).flat_map(|&(a, b)| a..=b).collect());
            record.tasks_waiting = Some(remaining);
        }
    })?;
    if !over {
        return Ok(());
    }
    close(posting, array)?;
    job::end_waiting(posting, place, array, JobState::Cancelled, None)
}

/// An array of which nothing waits any more: its job stands for the last task from here on.
pub(super) fn close(posting: &mut Posting<'_>, array: JobId) -> Result<(), LedgerError> {
    if waiting(posting, array)?.is_none() {
        return Ok(());
    }
    let last = request(posting, array)?.and_then(|array| array.tasks.last());
    posting.edit(&array, |job: &mut JobRow| {
        job.task = last.map(|task| ArrayTaskId { array_job: array, task });
    })?;
    Ok(())
}

/// Makes the job and the record of a task that starts; the last task takes over those of its array. False: that may not
/// be (another id than the reserved one, or the last task before others).
pub(super) fn split(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    id: JobId,
    task: ArrayTaskId,
) -> Result<bool, LedgerError> {
    let Some(array) = request(posting, task.array_job)? else { return Ok(false) };
    let waits_alone =
        |job: &&JobRow| job.phase == Phase::Pending && job.task == Some(task) && job.starts == 0;
    if posting.get::<JobRow>(&id)?.as_ref().is_some_and(waits_alone) {
        return Ok(true);
    }
    let Some((key, mut remaining)) = waiting(posting, task.array_job)? else { return Ok(false) };
    if task_job_id(&array, task.array_job, task.task) != Some(id) || !remaining.remove(task.task) {
        return Ok(false);
    }
    if id == task.array_job {
        if !remaining.is_empty() {
            return Ok(false);
        }
        posting.edit(&id, |job: &mut JobRow| (job.task, job.cancelled_by) = (Some(task), None))?;
        posting.edit(&key, |record: &mut RecordRow| {
            record.tasks_waiting = None;
            record.task = Some(task);
        })?;
        return Ok(true);
    }
    let (Some(job), Some(record)) =
        (posting.get::<JobRow>(&task.array_job)?.cloned(), posting.get::<RecordRow>(&key)?.cloned())
    else {
        return Ok(false);
    };
    posting.put(&id, JobRow { task: Some(task), attempt: 0, cancelled_by: None, ..job })?;
    let own = RecordRow { task: Some(task), tasks_waiting: None, tasks_cancelled: None, ..record };
    posting.put(&RecordKey { job: id, attempt: 0 }, own)?;
    keep_waiting(posting, place, &array, task.array_job, key, remaining)?;
    Ok(true)
}

/// Sets which tasks still wait in an array's record.
fn keep_waiting(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    array: &ArrayRequest,
    id: JobId,
    key: RecordKey,
    remaining: IndexSet,
) -> Result<(), LedgerError> {
    if !remaining.is_empty() {
        posting.edit(&key, |record: &mut RecordRow| record.tasks_waiting = Some(remaining))?;
        return Ok(());
    }
    // The last task was cancelled before: the array's record is its.
    let last = array.tasks.last().map(|last| ArrayTaskId { array_job: id, task: last });
    let uid = posting.edit(&id, |job: &mut JobRow| {
        job.task = last;
        job.cancelled_by
    })?;
    posting.edit(&key, |record: &mut RecordRow| {
        record.tasks_waiting = None;
        record.task = last;
        record.cancelled_by = uid.flatten();
    })?;
    job::end_waiting(posting, place, id, JobState::Cancelled, None)
}

/// Makes jobs and records of tasks that wait by themselves from now on.
pub(super) fn parted(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &JobParted,
) -> Result<(), LedgerError> {
    let Some(array) = request(posting, data.array)? else { return Ok(()) };
    let Some((key, waiting)) = waiting(posting, data.array)? else { return Ok(()) };
    let mut tasks = data.tasks.intersection(&waiting);
    if let Some(last) = array.tasks.last() {
        tasks.remove(last);
    }
    if tasks.is_empty() {
        return Ok(());
    }
    let (Some(job), Some(record)) =
        (posting.get::<JobRow>(&data.array)?.cloned(), posting.get::<RecordRow>(&key)?.cloned())
    else {
        return Ok(());
    };
    for task in tasks.iter() {
        let Some(id) = task_job_id(&array, data.array, task) else { continue };
        let task = Some(ArrayTaskId { array_job: data.array, task });
        posting.put(&id, JobRow { task, attempt: 0, cancelled_by: None, ..job.clone() })?;
        let mut own = RecordRow { task, tasks_waiting: None, tasks_cancelled: None, ..record.clone() };
        own.rests_on(place.seq);
        posting.put(&RecordKey { job: id, attempt: 0 }, own)?;
    }
    keep_waiting(posting, place, &array, data.array, key, waiting.difference(&tasks))
}
