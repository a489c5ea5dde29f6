//! `scontrol top`: jobs go in front of their owner's others, by `nice` of both.

use std::sync::Arc;

use daybook_model::{Cluster, Job};
use daybook_schemas::Body;
use daybook_schemas::api::{ApiError, ErrorCode, JobSelector, Peer, TargetOutcome};
use daybook_schemas::events::JobUpdated;
use daybook_schemas::job::JobState;

use super::{Decided, selected};
use crate::authority::{Authority, denied, not_the_owner};

/// The most other jobs that give way; they are those in front.
const OTHERS_MAX: usize = 1_000;

/// The named jobs get more priority than the owner's others of the same partition, account and QOS, in the order named.
/// What they get the others lose together, so that nobody else's jobs fall behind. A priority that was set by hand stays.
pub(super) fn decide(
    cluster: &Cluster,
    authority: &Authority,
    peer: Peer,
    named: &[JobSelector],
) -> (Decided, Vec<Body>) {
    let mut raised: Vec<Arc<Job>> = Vec::new();
    let mut targets = Vec::new();
    for target in named {
        let error = match judge(cluster, authority, peer, target, raised.first()) {
            Ok(job) => {
                if !job.priority_fixed && !raised.iter().any(|other| other.id == job.id) {
                    raised.push(job);
                }
                None
            }
            Err(error) => Some(error),
        };
        targets.push(TargetOutcome { target: target.clone(), error });
    }
    let failed = targets.iter().any(|target| target.error.is_some());
    let bodies = if failed { Vec::new() } else { reorder(cluster, &raised) };
    (Decided { targets, ..Decided::default() }, bodies)
}

fn judge(
    cluster: &Cluster,
    authority: &Authority,
    peer: Peer,
    target: &JobSelector,
    first: Option<&Arc<Job>>,
) -> Result<Arc<Job>, ApiError> {
    let records = selected(cluster, target)?;
    let is_operator = authority.is_operator(cluster, peer.uid);
    let is_enabled = cluster.configured().is_some_and(|configured| configured.parameters.enable_user_top);
    if !is_operator && !is_enabled {
        return Err(denied());
    }
    if records.iter().any(|job| !authority.may_change(cluster, peer.uid, job)) {
        return Err(not_the_owner());
    }
    let Some(job) = records.into_iter().find(|job| job.state == JobState::Pending) else {
        return Err(ApiError::new(ErrorCode::WrongState, "Job is no longer pending execution"));
    };
    if job.hold.is_some() {
        return Err(ApiError::new(ErrorCode::WrongState, "Job is in held state, pending scheduler release"));
    }
    match first {
        Some(first) if !are_of_one_queue(first, &job) => Err(denied().detail(format!(
            "job {} is not of the same user, partition, account and QOS as job {}",
            job.id, first.id
        ))),
        _ => Ok(job),
    }
}

fn are_of_one_queue(a: &Job, b: &Job) -> bool {
    a.spec.user.uid == b.spec.user.uid
        && a.partition == b.partition
        && a.account == b.account
        && a.qos == b.qos
}

fn reorder(cluster: &Cluster, raised: &[Arc<Job>]) -> Vec<Body> {
    let Some(first) = raised.first() else { return Vec::new() };
    let mut others: Vec<&Arc<Job>> = cluster
        .active_of(first.spec.user.uid)
        .filter(|job| job.state == JobState::Pending && job.hold.is_none() && !job.priority_fixed)
        .filter(|job| are_of_one_queue(first, job) && raised.iter().all(|other| other.id != job.id))
        .collect();
    others.sort_by_key(|job| (std::cmp::Reverse(job.priority), job.id));
    others.truncate(OTHERS_MAX);
    let most = others.iter().copied().chain(raised).map(|job| i64::from(job.priority)).max().unwrap_or(0);
    let count = i64::try_from(raised.len()).unwrap_or(i64::MAX);
    let mut bodies = Vec::new();
    let mut gained = 0i64;
    for (place, job) in (0i64..).zip(raised) {
        // The last of them is one in front of the first other.
        let gain = most.saturating_add(count - place).saturating_sub(i64::from(job.priority));
        gained = gained.saturating_add(gain);
        bodies.push(with_nice(job, -gain));
    }
    if let Some(each) = i64::try_from(others.len()).ok().filter(|others| *others > 0) {
        let loss = gained.saturating_add(each - 1) / each;
        bodies.extend(others.into_iter().map(|job| with_nice(job, loss)));
    }
    bodies
}

fn with_nice(job: &Job, more: i64) -> Body {
    let nice = i64::from(job.nice).saturating_add(more);
    let nice = i32::try_from(nice).unwrap_or(if more < 0 { i32::MIN } else { i32::MAX });
    JobUpdated { job: job.id, nice: Some(nice), ..JobUpdated::default() }.into()
}
