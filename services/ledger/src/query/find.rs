//! Which records a question has to look at: by id where ids are given, by the window's indexes where there is a window.

use std::collections::BTreeSet;

use daybook_schemas::JobId;
use daybook_schemas::api::{AccountingQuery, JobSelector};

use super::QueryError;
use crate::error::LedgerError;
use crate::fold::task_job_id;
use crate::keys;
use crate::rows::{RECORDS, RECORDS_ENDED, RECORDS_OPEN, RecordKey, RecordRow, SubmissionRow};
use crate::store::{Entry, View, damaged, decode};

/// Records longer than 2^40 seconds stand in a class of their own.
const CLASS_MAX: u8 = 41;

/// The class of a record's length: it is shorter than 2^class seconds. So what overlaps a window has ended, in each
/// class, at most that long after the window's end, and a window reads little beyond what overlaps it.
pub(crate) fn length_class(from: i64, to: i64) -> u8 {
    let length = to.saturating_sub(from).max(0) as u64;
    (64 - length.leading_zeros() as u8).min(CLASS_MAX)
}

type Take<'t> = dyn FnMut(RecordKey, RecordRow) -> Result<(), QueryError> + 't;

/// Gives each record that may match to `take`, once.
pub(super) fn each(view: &View<'_>, query: &AccountingQuery, take: &mut Take<'_>) -> Result<(), QueryError> {
    if !query.jobs.is_empty() {
        return by_selector(view, &query.jobs, take);
    }
    if query.start.is_some() || query.end.is_some() {
        return by_window(view, query, take);
    }
    for entry in view.scan(RECORDS, &[], None)? {
        give(entry?, take)?;
    }
    Ok(())
}

fn give((key, value): Entry, take: &mut Take<'_>) -> Result<(), QueryError> {
    let key = keys::record_back(&key).ok_or_else(|| damaged(RECORDS.0, &"its key is no record's"))?;
    take(key, decode(RECORDS.0, &value)?)
}

fn by_selector(view: &View<'_>, selectors: &[JobSelector], take: &mut Take<'_>) -> Result<(), QueryError> {
    let mut ids: BTreeSet<(u32, u32)> = BTreeSet::new();
    for selector in selectors {
        ids.extend(ids_of(view, selector)?);
    }
    let mut done: Option<u32> = None;
    for (first, last) in ids {
        // Ranges are sorted; what an earlier one has given is not given again.
        let first = done.map_or(first, |done| first.max(done.saturating_add(1)));
        if first > last {
            continue;
        }
        let from = keys::record(RecordKey { job: JobId(first), attempt: 0 });
        let until =
            last.checked_add(1).map(|next| keys::record(RecordKey { job: JobId(next), attempt: 0 }).to_vec());
        for entry in view.scan(RECORDS, &from, until)? {
            give(entry?, take)?;
        }
        done = Some(last);
    }
    Ok(())
}

/// First and last job ids that a selector means. An array's ids lie together.
fn ids_of(view: &View<'_>, selector: &JobSelector) -> Result<Vec<(u32, u32)>, LedgerError> {
    let id = selector.job.0;
    let Some(submission) = view.get::<SubmissionRow>(&selector.job)? else {
        // A task's own id, or nobody's.
        return Ok(if selector.tasks.is_none() { vec![(id, id)] } else { Vec::new() });
    };
    match (&submission.array, &selector.tasks) {
        (None, None) => Ok(vec![(id, id)]),
        (None, Some(_)) => Ok(Vec::new()),
        (Some(_), None) => Ok(vec![(id, id.saturating_add(submission.ids.saturating_sub(1)))]),
        (Some(array), Some(tasks)) => {
            let mut ids = vec![(id, id)];
            let meant = array.tasks.intersection(tasks);
            ids.extend(
                meant.iter().filter_map(|task| task_job_id(array, selector.job, task)).map(|id| (id.0, id.0)),
            );
            Ok(ids)
        }
    }
}

fn by_window(view: &View<'_>, query: &AccountingQuery, take: &mut Take<'_>) -> Result<(), QueryError> {
    let start = query.start.map_or(i64::MIN, |start| start.seconds());
    let end = query.end.map_or(i64::MAX, |end| end.seconds());
    for entry in view.scan(RECORDS_OPEN, &[], None)? {
        let (key, _) = entry?;
        let key =
            keys::record_back(&key).ok_or_else(|| damaged(RECORDS_OPEN.0, &"its key is no record's"))?;
        read(view, key, take)?;
    }
    for class in 0..=CLASS_MAX {
        let reach = if class == CLASS_MAX { i64::MAX } else { end.saturating_add(1 << class) };
        let from = keys::ended(class, start, RecordKey { job: JobId(0), attempt: 0 });
        let until = keys::ended(class, reach, RecordKey { job: JobId(u32::MAX), attempt: u32::MAX });
        for entry in view.scan(RECORDS_ENDED, &from, Some(until.to_vec()))? {
            let (key, began) = entry?;
            if keys::seconds_back(&began).is_some_and(|began| began > end) {
                continue;
            }
            let key =
                keys::ended_back(&key).ok_or_else(|| damaged(RECORDS_ENDED.0, &"its key is no record's"))?;
            read(view, key, take)?;
        }
    }
    Ok(())
}

fn read(view: &View<'_>, key: RecordKey, take: &mut Take<'_>) -> Result<(), QueryError> {
    let row = view.get::<RecordRow>(&key)?;
    let row =
        row.ok_or_else(|| damaged(RECORDS.0, &format!("an index names {}.{}", key.job, key.attempt)))?;
    take(key, row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_shorter_than_its_class_says() {
        for length in [0, 1, 2, 3, 4, 59, 60, 3600, 86_400, 1 << 39, (1 << 40) - 1] {
            let class = length_class(10, 10 + length);
            assert!(length < 1 << class, "{length}");
            assert!(class == 0 || length >= 1 << (class - 1), "{length}");
        }
        assert_eq!(length_class(0, i64::MAX), CLASS_MAX);
        assert_eq!(length_class(5, 3), 0);
    }
}
