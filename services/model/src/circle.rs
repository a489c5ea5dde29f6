//! Whether a job would wait for itself.

use std::collections::BTreeSet;

use daybook_schemas::JobId;
use daybook_schemas::job::{Dependencies, JobState};

use crate::cluster::Cluster;
use crate::dependency::Outcome;
use crate::job::Job;

/// Jobs that are looked at before it is taken for granted that there is a circle.
pub const CIRCLE_JOBS_MAX: usize = 10_000;

impl Cluster {
    /// Whether a waiting job with these conditions would wait for itself, by way of whatever others: a walk along open
    /// conditions. Also true where the walk is longer than [`CIRCLE_JOBS_MAX`].
    pub fn would_wait_for_itself(&self, job: JobId, conditions: &Dependencies) -> bool {
        let array = self.jobs.get(&job).and_then(|record| record.task).map(|task| task.array_job);
        let mut next: Vec<JobId> =
            conditions.conditions.iter().filter_map(|condition| condition.job).collect();
        let mut seen: BTreeSet<JobId> = BTreeSet::new();
        while let Some(other) = next.pop() {
            if other == job || Some(other) == array {
                return true;
            }
            if !seen.insert(other) {
                continue;
            }
            if seen.len() > CIRCLE_JOBS_MAX {
                return true;
            }
            for record in self.waiting_records(other) {
                if record.id == job {
                    return true;
                }
                let open = record.dependencies.iter().filter(|state| state.outcome == Outcome::Open);
                next.extend(open.filter_map(|state| state.condition.job));
            }
        }
        false
    }

    /// The waiting records of a job, or of an array.
    fn waiting_records(&self, id: JobId) -> Vec<&Job> {
        let own = self.jobs.get(&id);
        let waiting = own.and_then(|job| job.tasks_waiting.as_ref());
        let apart = self.arrays.get(&id).map(|array| {
            let apart = array.tasks().difference(&array.started);
            let apart = waiting.map_or(apart.clone(), |waiting| apart.difference(waiting));
            let apart = apart.iter().filter_map(|task| array.task_job_id(task));
            apart.filter_map(|task| self.jobs.get(&task)).collect::<Vec<_>>()
        });
        let all = own.into_iter().chain(apart.into_iter().flatten());
        all.map(AsRef::as_ref).filter(|job| job.state == JobState::Pending).collect()
    }
}
