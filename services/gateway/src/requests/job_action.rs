use std::sync::Arc;

use daybook_model::{Cluster, Hold, Job};
use daybook_schemas::Body;
use daybook_schemas::api::{ApiError, ErrorCode, JobAction, JobSelector, Peer, TargetOutcome};
use daybook_schemas::events::{JobHeld, JobReleased, JobRequeued, JobTarget};
use daybook_schemas::job::JobState;

use super::parts::{Meant, meant};
use super::{Decided, selected};
use crate::authority::{Authority, denied, not_the_owner};

/// Which action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActionKind {
    Hold,
    Release,
    Requeue,
    Top,
}

/// `POST /v1/jobs/hold`, `release`, `requeue`, `top`.
pub(crate) struct Action {
    pub(crate) kind: ActionKind,
    pub(crate) action: JobAction,
}

impl Action {
    pub(super) fn decide(
        &self,
        cluster: &Cluster,
        authority: &Authority,
        peer: Peer,
    ) -> (Decided, Vec<Body>) {
        if self.kind == ActionKind::Top {
            return super::top::decide(cluster, authority, peer, &self.action.jobs);
        }
        let (mut targets, mut bodies) = (Vec::new(), Vec::new());
        for target in &self.action.jobs {
            let error = match self.judge(cluster, authority, peer, target) {
                Ok(more) => {
                    bodies.extend(more);
                    None
                }
                Err(error) => Some(error),
            };
            targets.push(TargetOutcome { target: target.clone(), error });
        }
        (Decided { targets, ..Decided::default() }, bodies)
    }

    fn judge(
        &self,
        cluster: &Cluster,
        authority: &Authority,
        peer: Peer,
        target: &JobSelector,
    ) -> Result<Vec<Body>, ApiError> {
        let may_change = |job: &Arc<Job>| authority.may_change(cluster, peer.uid, job);
        if self.kind == ActionKind::Requeue {
            let records = selected(cluster, target)?;
            return if records.iter().all(may_change) { self.requeue(&records) } else { Err(denied()) };
        }
        let Meant { records, parted } = meant(cluster, target)?;
        let records: Vec<Arc<Job>> = records.into_iter().map(|(_, job)| job).collect();
        if !records.iter().all(may_change) {
            return Err(not_the_owner());
        }
        let is_operator = authority.is_operator(cluster, peer.uid);
        let change = if self.kind == ActionKind::Hold {
            hold(&records, target, is_operator && !self.action.hold, peer)?
        } else {
            release(&records, target, is_operator)?
        };
        Ok(parted.map(Body::from).into_iter().chain([change]).collect())
    }

    /// As in Slurm a job that may not be requeued is refused whatever its state is.
    fn requeue(&self, records: &[Arc<Job>]) -> Result<Vec<Body>, ApiError> {
        if records.iter().any(|job| !job.requeue) {
            return Err(ApiError::new(ErrorCode::WrongState, "Requested operation is presently disabled"));
        }
        let has_started = |job: &&Arc<Job>| job.state != JobState::Pending && job.tasks_waiting.is_none();
        let meant: Vec<_> = records.iter().filter(has_started).collect();
        if meant.is_empty() {
            return Err(ApiError::new(ErrorCode::WrongState, "Job is pending execution"));
        }
        Ok(meant.into_iter().map(|job| JobRequeued { job: job.id, hold: self.action.hold }.into()).collect())
    }
}

/// An administrator's hold, unless the job is their own.
pub(super) fn hold(
    records: &[Arc<Job>],
    target: &JobSelector,
    as_administrator: bool,
    peer: Peer,
) -> Result<Body, ApiError> {
    all_over(records)?;
    let by_administrator = as_administrator && records.iter().any(|job| job.spec.user.uid != peer.uid);
    let target = JobTarget { job: target.job, tasks: target.tasks.clone() };
    Ok(JobHeld { target, by_administrator }.into())
}

/// Only an administrator takes back an administrator's hold.
pub(super) fn release(
    records: &[Arc<Job>],
    target: &JobSelector,
    is_administrator: bool,
) -> Result<Body, ApiError> {
    all_over(records)?;
    if !is_administrator && records.iter().any(|job| job.hold == Some(Hold::Admin)) {
        return Err(denied());
    }
    let target = JobTarget { job: target.job, tasks: target.tasks.clone() };
    Ok(JobReleased { target, as_owner: !is_administrator }.into())
}

/// What is over can neither be held nor released.
fn all_over(records: &[Arc<Job>]) -> Result<(), ApiError> {
    if records.iter().all(|job| job.state.is_ended()) {
        return Err(ApiError::new(ErrorCode::AlreadyDone, "Job/step already completing or completed"));
    }
    Ok(())
}
