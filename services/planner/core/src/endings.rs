//! Jobs that end without having started: what they wait for can never be, or their deadline is too near. And runs that end
//! because what their limits let them use is used up.

use daybook_model::{Cluster, Job};
use daybook_schemas::UtcMicros;
use daybook_schemas::events::{CycleBound, JobFinished, RunUsedUp};
use daybook_schemas::job::{JobState, Reason};

use crate::cycle::Cycle;
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

/// Ends runs whose limits are used up, at most as many as the policy says, and has another cycle look when the next are.
pub(crate) fn end_used_up(cluster: &Cluster, cycle: &mut Cycle, policy: &Policy) {
    let found = cluster.used_up(cycle.now);
    let most = policy.used_up_max as usize;
    if found.runs.len() > most {
        cycle.bound.get_or_insert(CycleBound::UsedUp);
    }
    let runs = found.runs.into_iter().take(most);
    cycle.used_up = runs.map(|(run, limit)| RunUsedUp { run, limit }).collect();
    cycle.wake = cycle.wake.into_iter().chain(found.next).min();
}
