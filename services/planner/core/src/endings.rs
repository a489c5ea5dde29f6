//! Jobs that end without having started: what they wait for can never be, or their deadline is too near.

use daybook_model::{Cluster, Job};
use daybook_schemas::UtcMicros;
use daybook_schemas::events::JobFinished;
use daybook_schemas::job::{JobState, Reason};

use crate::policy::Policy;
use crate::queue::Turn;

/// Those that a cycle ends, at most as many as its policy says.
pub(crate) fn ended_unstarted(cluster: &Cluster, now: UtcMicros, policy: &Policy) -> Vec<JobFinished> {
    let hopeless = cluster.hopeless().iter().map(|job| JobFinished {
        job: *job,
        state: JobState::Cancelled,
        reason: Reason::DependencyNeverSatisfied,
    });
    let overdue = cluster.deadlines().iter().take_while(|(latest, _)| *latest < now);
    let overdue = overdue.filter(|(_, job)| !cluster.hopeless().contains(job)).map(|(_, job)| JobFinished {
        job: *job,
        state: JobState::Deadline,
        reason: Reason::DeadLine,
    });
    hopeless.chain(overdue).take(policy.finished_max as usize).collect()
}

/// Whether a job could no longer end before its deadline.
pub(crate) fn is_overdue(cluster: &Cluster, job: &Job, now: UtcMicros) -> bool {
    cluster.latest_start(job).is_some_and(|latest| latest < now)
}

/// The same for one of the partitions that it may start in.
pub(crate) fn is_too_late_in(cluster: &Cluster, turn: Turn<'_>, now: UtcMicros) -> bool {
    cluster.latest_start_in(turn.job, turn.partition).is_some_and(|latest| latest < now)
}

/// When the next job will have waited too long for its deadline: another cycle decides otherwise then.
pub(crate) fn next_deadline(cluster: &Cluster, now: UtcMicros) -> Option<UtcMicros> {
    let from = (now, daybook_schemas::JobId(0));
    cluster.deadlines().range(from..).next().map(|(latest, _)| latest.plus_seconds(1))
}
