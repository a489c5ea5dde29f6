//! Whether a record matches; Slurm's meaning of a state inside a window.

use daybook_schemas::UtcMicros;
use daybook_schemas::api::AccountingQuery;
use daybook_schemas::job::JobState;

use crate::rows::{RecordRow, SubmissionRow};

pub(super) fn matches(query: &AccountingQuery, row: &RecordRow, submission: &SubmissionRow) -> bool {
    let named = |wanted: &[String], word: &str| wanted.is_empty() || wanted.iter().any(|one| one == word);
    let account = row.changes.account.as_deref().or(submission.account.as_deref()).unwrap_or("");
    let wckey = row.changes.wckey.as_deref().or(submission.wckey.as_deref()).unwrap_or("");
    !submission.is_left_out
        && (query.uids.is_empty() || query.uids.contains(&submission.user.uid))
        && named(&query.accounts, account)
        && named(&query.wckeys, wckey.trim_start_matches('*'))
        && named(&query.partitions, row.changes.partition.as_deref().unwrap_or(&submission.partition))
        && named(&query.names, row.changes.name.as_deref().unwrap_or(&submission.name))
        && (query.nodes.is_empty() || row.shares.iter().any(|share| query.nodes.contains(&share.node)))
        && selected(query, row)
        && in_window(query, row)
}

/// `123_4` means that task: its own record, or the array's while the task waits in it.
fn selected(query: &AccountingQuery, row: &RecordRow) -> bool {
    query.jobs.is_empty()
        || query.jobs.iter().any(|selector| {
            let Some(tasks) = &selector.tasks else { return true };
            match (row.task, &row.tasks_waiting) {
                // The ids have been looked at already: another selector may have asked for this record.
                (Some(task), _) if task.array_job == selector.job => tasks.contains(task.task),
                (None, Some(waiting)) => !waiting.intersection(tasks).is_empty(),
                _ => false,
            }
        })
}

fn in_window(query: &AccountingQuery, row: &RecordRow) -> bool {
    let has_window = query.start.is_some() || query.end.is_some();
    if query.states.is_empty() {
        return !has_window || overlaps(query, row);
    }
    query.states.iter().any(|state| match (has_window, state) {
        (false, state) => row.state == *state,
        (true, JobState::Pending) => {
            between(query, row.eligible, row.started.or(row.ended)) && row.eligible.is_some()
        }
        (true, JobState::Suspended) => {
            row.state == JobState::Suspended && between(query, row.stopped, row.ended)
        }
        (true, JobState::Running) => row.started.is_some() && between(query, row.started, row.ended),
        (true, state) => {
            row.state == *state && row.ended.is_some_and(|ended| between(query, Some(ended), Some(ended)))
        }
    })
}

fn overlaps(query: &AccountingQuery, row: &RecordRow) -> bool {
    let start = query.start.map_or(i64::MIN, UtcMicros::seconds);
    let end = query.end.map_or(i64::MAX, UtcMicros::seconds);
    row.span().is_some_and(|(from, to)| from <= end && to.is_none_or(|to| to >= start))
}

/// Whether something that lasted from `from` until `to` (`None`: still) touches the window, in whole seconds.
fn between(query: &AccountingQuery, from: Option<UtcMicros>, to: Option<UtcMicros>) -> bool {
    let start = query.start.map_or(i64::MIN, UtcMicros::seconds);
    let end = query.end.map_or(i64::MAX, UtcMicros::seconds);
    from.is_none_or(|from| from.seconds() <= end) && to.is_none_or(|to| to.seconds() >= start)
}
