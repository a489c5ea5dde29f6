use daybook_model::{Cluster, Job};
use daybook_schemas::UtcMicros;
use daybook_schemas::api::{ApiError, ErrorCode, JobSelector, JobUpdateRequest, Peer, TargetOutcome};
use daybook_schemas::events::JobUpdated;
use daybook_schemas::job::{JobState, TimeLimit};

use super::charging::charging;
use super::reservation::check_named;
use super::submission::{check_fits, check_licenses, check_partition, check_request};
use super::{Decided, Decision, invalid_job};
use crate::authority::{Authority, denied};

/// `POST /v1/jobs/update`.
pub(crate) struct Update(pub(crate) JobUpdateRequest);

impl Update {
    pub(super) fn decide(
        &self,
        cluster: &Cluster,
        authority: &Authority,
        peer: Peer,
        now: UtcMicros,
    ) -> Decision {
        let change = &self.0.change;
        let job = cluster.jobs().get(&change.job).ok_or_else(invalid_job)?;
        if !authority.may_change(cluster, peer.uid, job) {
            return Err(denied());
        }
        if job.state.is_ended() {
            return Err(ApiError::new(ErrorCode::AlreadyDone, "Job/step already completing or completed"));
        }
        let is_operator = authority.is_operator(cluster, peer.uid);
        if job.state != JobState::Pending {
            self.check_running(job, is_operator)?;
        } else {
            self.check_waiting(cluster, job, is_operator)?;
            self.check_charging(cluster, job)?;
            self.check_reservation(cluster, job, now)?;
        }
        let target = JobSelector { job: change.job, tasks: None };
        let decided = Decided { targets: vec![TargetOutcome { target, error: None }], ..Decided::default() };
        let lower = |name: &Option<String>| name.as_ref().map(|name| name.to_ascii_lowercase());
        let change =
            JobUpdated { account: lower(&change.account), qos: lower(&change.qos), ..change.clone() };
        Ok((decided, vec![change.into()]))
    }

    /// Of a running job: name, comment, requeue, and the time limit (an owner may only lower it).
    fn check_running(&self, job: &Job, is_operator: bool) -> Result<(), ApiError> {
        let change = &self.0.change;
        let needs_waiting = change.partition.is_some()
            || change.account.is_some()
            || change.qos.is_some()
            || change.reservation.is_some()
            || change.begin.is_some()
            || change.nice.is_some()
            || change.dependencies.is_some()
            || change.request.is_some();
        if needs_waiting {
            return Err(ApiError::new(ErrorCode::WrongState, "Job is no longer pending execution"));
        }
        match change.time_limit {
            Some(limit) if !is_operator && is_longer(limit, job.time_limit) => Err(denied()),
            _ => Ok(()),
        }
    }

    /// What it asks for after the change has to be there, and open to it.
    fn check_reservation(&self, cluster: &Cluster, job: &Job, now: UtcMicros) -> Result<(), ApiError> {
        let change = &self.0.change;
        let Some(names) = change.reservation.as_deref().filter(|names| !names.is_empty()) else {
            return Ok(());
        };
        let account = change.account.as_deref().unwrap_or(&job.account);
        check_named(cluster, names, job.spec.user.uid, account, now)
    }

    fn check_waiting(&self, cluster: &Cluster, job: &Job, is_operator: bool) -> Result<(), ApiError> {
        let change = &self.0.change;
        let partition_name = change.partition.as_deref().unwrap_or(&job.partition);
        if change.partition.is_some() {
            check_partition(cluster, partition_name)?;
        }
        let max_time =
            cluster.partition(partition_name).map_or(TimeLimit::Unlimited, |partition| partition.max_time);
        if !is_operator && change.time_limit.is_some_and(|limit| is_longer(limit, max_time)) {
            return Err(ApiError::new(
                ErrorCode::InvalidTimeLimit,
                "Requested time limit is invalid (missing or exceeds some limit)",
            ));
        }
        if !is_operator && change.nice.is_some_and(|nice| nice < job.nice) {
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
            check_licenses(cluster, request)?;
            check_fits(cluster, partition_name, request)?;
        }
        Ok(())
    }

    /// Another account, QOS or partition must go with the others as at a submission.
    fn check_charging(&self, cluster: &Cluster, job: &Job) -> Result<(), ApiError> {
        let change = &self.0.change;
        if change.account.is_none() && change.qos.is_none() && change.partition.is_none() {
            return Ok(());
        }
        let partition = change.partition.as_deref().unwrap_or(&job.partition);
        let account = change.account.as_deref().or(Some(job.account.as_ref()).filter(|own| !own.is_empty()));
        let qos = change.qos.as_deref().unwrap_or(&job.qos);
        charging(cluster, &job.spec.user.name, partition, account, Some(qos)).map(|_| ())
    }
}

fn is_longer(limit: TimeLimit, than: TimeLimit) -> bool {
    // `Unlimited` is the greatest.
    limit > than
}
