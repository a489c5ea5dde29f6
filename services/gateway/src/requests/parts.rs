//! What a selector comes to where only some of an array's waiting tasks are meant.

use std::sync::Arc;

use daybook_model::{Cluster, Job};
use daybook_schemas::JobId;
use daybook_schemas::api::{ApiError, ErrorCode, JobSelector};
use daybook_schemas::events::JobParted;
use daybook_schemas::grammar::index_set::IndexSet;

use super::selected;

/// The most tasks that leave their array's record in one request.
const PARTED_MAX: u64 = 1_000;

/// Records that are meant, and how they come to be of their own.
pub(super) struct Meant {
    /// Each record as it is now, with the id that it has once `parted` has happened. A record may stand for several.
    pub(super) records: Vec<(JobId, Arc<Job>)>,
    /// Tasks that leave their array's record first.
    pub(super) parted: Option<JobParted>,
}

/// The records of a selector. The last task has its array's own id, so where it is meant the others leave.
pub(super) fn meant(cluster: &Cluster, selector: &JobSelector) -> Result<Meant, ApiError> {
    let records = selected(cluster, selector)?;
    let mut found = Meant { records: Vec::new(), parted: None };
    for record in records {
        match (&record.tasks_waiting, &selector.tasks) {
            (Some(waiting), Some(tasks)) if !waiting.difference(tasks).is_empty() => {
                take_apart(cluster, &record, waiting, tasks, &mut found)?;
            }
            _ => found.records.push((record.id, record)),
        }
    }
    Ok(found)
}

fn take_apart(
    cluster: &Cluster,
    record: &Arc<Job>,
    waiting: &IndexSet,
    tasks: &IndexSet,
    found: &mut Meant,
) -> Result<(), ApiError> {
    let meant = waiting.intersection(tasks);
    let last = record.spec.array.as_ref().and_then(|array| array.tasks.last());
    let has_last = last.is_some_and(|last| meant.contains(last));
    let leaving = if has_last { waiting.difference(&meant) } else { meant };
    if leaving.len() > PARTED_MAX {
        return Err(ApiError::new(ErrorCode::TooLarge, "Invalid job array specification").detail(format!(
            "{} tasks would have to leave the array, at most {PARTED_MAX} do at once: name fewer tasks, or all of them",
            leaving.len()
        )));
    }
    if has_last {
        found.records.push((record.id, record.clone()));
    } else {
        let array = cluster.arrays().get(&record.id);
        let ids = leaving.iter().filter_map(|task| array?.task_job_id(task));
        found.records.extend(ids.map(|id| (id, record.clone())));
    }
    found.parted = Some(JobParted { array: record.id, tasks: leaving });
    Ok(())
}
