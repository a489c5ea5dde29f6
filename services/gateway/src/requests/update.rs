use daybook_model::{Cluster, Job};
use daybook_schemas::api::{ApiError, ErrorCode, JobSelector, JobUpdateRequest, Peer, TargetOutcome};
use daybook_schemas::job::{JobState, TimeLimit};

use super::partitions::{
    Accepting, Asked, Submitter, accepting, check_access, check_fits, check_limits, joined,
};
use super::submission::check_request;
use super::{Decided, Decision, invalid_job};
use crate::authority::{Authority, denied};

/// `POST /v1/jobs/update`.
pub(crate) struct Update(pub(crate) JobUpdateRequest);

impl Update {
    pub(super) fn decide(&self, cluster: &Cluster, authority: &Authority, peer: Peer) -> Decision {
        let change = &self.0.change;
        let job = cluster.jobs().get(&change.job).ok_or_else(invalid_job)?;
        if !authority.may_change(cluster, peer.uid, job) {
            return Err(denied());
        }
        if job.state.is_ended() {
            return Err(ApiError::new(ErrorCode::AlreadyDone, "Job/step already completing or completed"));
        }
        let is_administrator = authority.is_administrator(cluster, peer.uid);
        if job.state != JobState::Pending {
            self.check_running(job, is_administrator)?;
        } else {
            self.check_waiting(cluster, job, is_administrator)?;
        }
        let mut change = change.clone();
        if let Some(names) = &mut change.partition {
            *names = joined(&accepting(cluster, names)?);
        }
        let target = JobSelector { job: change.job, tasks: None };
        let decided =
            Decided { job: None, targets: vec![TargetOutcome { target, error: None }], more: false };
        Ok((decided, vec![change.into()]))
    }

    /// Of a running job: name, comment, requeue, and the time limit (an owner may only lower it).
    fn check_running(&self, job: &Job, is_administrator: bool) -> Result<(), ApiError> {
        let change = &self.0.change;
        let needs_waiting = change.partition.is_some()
            || change.account.is_some()
            || change.begin.is_some()
            || change.nice.is_some()
            || change.dependencies.is_some()
            || change.request.is_some();
        if needs_waiting {
            return Err(ApiError::new(ErrorCode::WrongState, "Job is no longer pending execution"));
        }
        match change.time_limit {
            Some(limit) if !is_administrator && is_longer(limit, job.time_limit) => Err(denied()),
            _ => Ok(()),
        }
    }

    fn check_waiting(&self, cluster: &Cluster, job: &Job, is_administrator: bool) -> Result<(), ApiError> {
        let change = &self.0.change;
        let partitions: Accepting = match &change.partition {
            Some(names) => accepting(cluster, names)?,
            None => job.partitions().iter().filter_map(|name| cluster.partition(name)).cloned().collect(),
        };
        if change.partition.is_some() {
            let submitter = Submitter { user: &job.spec.user, is_administrator, host: &job.spec.submit_host };
            partitions.iter().try_for_each(|partition| check_access(partition, &submitter))?;
        }
        if change.partition.is_some() && !is_administrator {
            let asked = Asked {
                request: change.request.as_ref().unwrap_or(&job.request),
                time_limit: change.time_limit.or((!job.has_default_limit).then_some(job.time_limit)),
                account: change.account.as_deref().unwrap_or(&job.account),
                qos: &job.qos,
            };
            check_limits(cluster, &partitions, &asked)?;
        }
        let max_time = partitions.iter().map(|partition| partition.max_time).max();
        let max_time = max_time.unwrap_or(TimeLimit::Unlimited);
        if !is_administrator && change.time_limit.is_some_and(|limit| is_longer(limit, max_time)) {
            return Err(ApiError::new(
                ErrorCode::InvalidTimeLimit,
                "Requested time limit is invalid (missing or exceeds some limit)",
            ));
        }
        if !is_administrator && change.nice.is_some_and(|nice| nice < job.nice) {
            return Err(denied());
        }
        let conditions = change.dependencies.iter().flat_map(|dependencies| &dependencies.conditions);
        for condition in conditions {
            if condition.job == Some(job.id) {
                return Err(ApiError::new(ErrorCode::InvalidDependency, "Job dependency problem"));
            }
        }
        if let Some(request) = &change.request {
            check_request(request)?;
            check_fits(cluster, &partitions, request)?;
        }
        Ok(())
    }
}

fn is_longer(limit: TimeLimit, than: TimeLimit) -> bool {
    // `Unlimited` is the greatest.
    limit > than
}
