//! Questions about the rows, each answered from one consistent view.

mod capacity;
mod filter;
mod find;
mod line;
mod measured;
mod tres;

pub(crate) use capacity::{Window, capacity, interval_parts};
pub(crate) use find::length_class;

use std::collections::{BTreeMap, HashMap};

use daybook_schemas::api::{AccountingAnswer, AccountingQuery, AccountingRecord};
use daybook_schemas::{JobId, UtcMicros};

use measured::Measured;

use crate::bounds::RECORDS_MAX;
use crate::error::LedgerError;
use crate::rows::{RecordKey, RecordRow, SubmissionRow};
use crate::store::View;

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The window's end lies before its start.
    #[error("the window ends before it starts")]
    Backwards,
    /// More than one answer holds.
    #[error(
        "more than {RECORDS_MAX} records match; ask for a shorter window, one user or one account at a time"
    )]
    TooMany,
    /// The ledger itself.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Answers sacct's question. `now` ends what still runs.
pub(crate) fn accounting(
    view: &View<'_>,
    query: &AccountingQuery,
    now: UtcMicros,
) -> Result<AccountingAnswer, QueryError> {
    if query.start.zip(query.end).is_some_and(|(start, end)| end < start) {
        return Err(QueryError::Backwards);
    }
    let cursor = view.cursor()?;
    let mut found = Found { view, submissions: HashMap::new(), rows: Vec::new() };
    find::each(view, query, &mut |key, row| found.consider(query, key, row))?;
    let mut rows = found.rows;
    if !query.duplicates {
        keep_last(&mut rows);
    }
    rows.sort_unstable_by_key(|(key, row)| (row.opened, place_in_array(row), *key));
    let mut records: Vec<AccountingRecord> = Vec::with_capacity(rows.len());
    for (key, row) in &rows {
        let submission =
            found.submissions.get(&submission_of(*key, row)).ok_or(LedgerError::NoSubmission(key.job))?;
        let job = line::job(*key, row, submission, Measured::of(view, row)?, now)?;
        let has_steps = !query.allocations_only && !submission.has_no_steps;
        let batch = has_steps.then(|| line::batch(&job, row, now)).flatten();
        records.push(job);
        records.extend(batch);
    }
    Ok(AccountingAnswer {
        cluster: view.cluster()?.name,
        complete_up_to: cursor.seq,
        complete_up_to_time: cursor.time,
        now,
        records,
    })
}

/// The submission that a record's description comes from: a task's is its array's.
pub(crate) fn submission_of(key: RecordKey, row: &RecordRow) -> JobId {
    row.task.map_or(key.job, |task| task.array_job)
}

/// Tasks by index, and what waits behind them.
fn place_in_array(row: &RecordRow) -> u64 {
    match (row.task, &row.tasks_waiting) {
        (Some(task), _) => u64::from(task.task),
        (None, Some(_)) => u64::MAX,
        (None, None) => 0,
    }
}

/// Of each job only its last record that matched.
fn keep_last(rows: &mut Vec<(RecordKey, RecordRow)>) {
    let mut last: BTreeMap<JobId, u32> = BTreeMap::new();
    for (key, _) in rows.iter() {
        let attempt = last.entry(key.job).or_default();
        *attempt = key.attempt.max(*attempt);
    }
    rows.retain(|(key, _)| last.get(&key.job) == Some(&key.attempt));
}

/// Records that matched, and the submissions that they share.
struct Found<'v, 'a> {
    view: &'v View<'a>,
    submissions: HashMap<JobId, SubmissionRow>,
    rows: Vec<(RecordKey, RecordRow)>,
}

impl Found<'_, '_> {
    fn consider(
        &mut self,
        query: &AccountingQuery,
        key: RecordKey,
        row: RecordRow,
    ) -> Result<(), QueryError> {
        let id = submission_of(key, &row);
        let submission = match self.submissions.entry(id) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(place) => {
                let submission = self.view.get::<SubmissionRow>(&id)?.ok_or(LedgerError::NoSubmission(id))?;
                place.insert(submission)
            }
        };
        if !filter::matches(query, &row, submission) {
            return Ok(());
        }
        if self.rows.len() == RECORDS_MAX {
            return Err(QueryError::TooMany);
        }
        self.rows.push((key, row));
        Ok(())
    }
}
