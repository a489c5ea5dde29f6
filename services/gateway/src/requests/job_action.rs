use daybook_model::{Cluster, Hold, Job};
use daybook_schemas::Body;
use daybook_schemas::api::{ApiError, ErrorCode, JobAction, JobSelector, Peer, TargetOutcome};
use daybook_schemas::events::{JobHeld, JobReleased, JobRequeued, JobTarget};
use daybook_schemas::job::JobState;

use super::{Decided, selected};
use crate::authority::{Authority, denied};

/// Which action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActionKind {
    Hold,
    Release,
    Requeue,
}

/// `POST /v1/jobs/hold`, `release`, `requeue`.
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
        let records = selected(cluster, target)?;
        if records.iter().any(|job| !authority.may_change(cluster, peer.uid, job)) {
            return Err(denied());
        }
        let is_operator = authority.is_operator(cluster, peer.uid);
        let meant = JobTarget { job: target.job, tasks: target.tasks.clone() };
        match self.kind {
            ActionKind::Hold => {
                all_over(&records)?;
                let by_administrator = is_operator && !self.action.hold;
                Ok(vec![JobHeld { target: meant, by_administrator }.into()])
            }
            ActionKind::Release => {
                all_over(&records)?;
                if !is_operator && records.iter().any(|job| job.hold == Some(Hold::Admin)) {
                    return Err(denied());
                }
                Ok(vec![JobReleased { target: meant }.into()])
            }
            ActionKind::Requeue => self.requeue(&records),
        }
    }

    fn requeue(&self, records: &[std::sync::Arc<Job>]) -> Result<Vec<Body>, ApiError> {
        let can = |job: &&std::sync::Arc<Job>| job.state != JobState::Pending && job.tasks_waiting.is_none();
        let meant: Vec<_> = records.iter().filter(can).collect();
        if meant.is_empty() {
            return Err(ApiError::new(ErrorCode::WrongState, "Job is pending execution"));
        }
        if meant.iter().any(|job| !job.requeue) {
            return Err(ApiError::new(ErrorCode::WrongState, "Requested operation is presently disabled"));
        }
        Ok(meant.into_iter().map(|job| JobRequeued { job: job.id, hold: self.action.hold }.into()).collect())
    }
}

/// What is over can neither be held nor released.
fn all_over(records: &[std::sync::Arc<Job>]) -> Result<(), ApiError> {
    if records.iter().all(|job| job.state.is_ended()) {
        return Err(ApiError::new(ErrorCode::AlreadyDone, "Job/step already completing or completed"));
    }
    Ok(())
}
