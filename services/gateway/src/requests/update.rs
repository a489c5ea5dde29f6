use std::sync::Arc;

use daybook_model::{Charge, Cluster, Job};
use daybook_schemas::api::{ApiError, ErrorCode, JobSelector, JobUpdateRequest, Peer, TargetOutcome};
use daybook_schemas::events::JobUpdated;
use daybook_schemas::job::{JobState, ResourceRequest, TimeLimit};
use daybook_schemas::{Body, JobId, UtcMicros};

use super::cancel::own_selector;
use super::charging::charging;
use super::job_action::{hold, release};
use super::limits::check_change;
use super::partitions::{
    Accepting, Asked, Submitter, accepting, check_access, check_fits, check_limits, joined,
};
use super::parts::{Meant, meant};
use super::reservation::check_named;
use super::submission::{check_licenses, check_request};
use super::time_limits::{check_deadline, check_time_min, limits_in, shortest};
use super::wckey::wckey;
use super::{Decided, Decision, invalid_job};
use crate::authority::{Authority, denied, not_the_owner};

/// A priority that is none: the job's own again.
const PRIORITY_OWN: u32 = u32::MAX;

/// `POST /v1/jobs/update`: of an array each record by itself.
pub(crate) struct Update(pub(crate) JobUpdateRequest);

/// Who asks, and what they may.
struct Asker<'a> {
    cluster: &'a Cluster,
    authority: &'a Authority,
    peer: Peer,
    now: UtcMicros,
}

impl Update {
    /// Whether it has to be decided with nothing else beside it: each of two may be right, and both together wrong.
    pub(super) fn is_alone(&self) -> bool {
        self.0.change.dependencies.is_some()
    }

    pub(super) fn decide(
        &self,
        cluster: &Cluster,
        authority: &Authority,
        peer: Peer,
        now: UtcMicros,
    ) -> Decision {
        let asker = Asker { cluster, authority, peer, now };
        let selector = JobSelector { job: self.0.change.job, tasks: self.0.tasks.clone() };
        let Meant { records, parted } = meant(cluster, &selector)?;
        // Of an array's tasks those that are over are not meant.
        let mut live: Vec<_> = records.iter().filter(|(_, job)| !job.state.is_ended()).collect();
        if live.is_empty() {
            live = records.iter().take(1).collect();
        }
        let alone = live.len() == 1;
        let (mut targets, mut bodies) = (Vec::new(), Vec::new());
        for (id, job) in live {
            let target = if alone { selector.clone() } else { own_selector(cluster, *id) };
            let error = match asker.judge(&self.0.change, *id, job, &target) {
                Ok(more) => {
                    bodies.extend(more);
                    None
                }
                Err(error) if alone => return Err(error),
                Err(error) => Some(error),
            };
            targets.push(TargetOutcome { target, error });
        }
        if targets.is_empty() {
            return Err(invalid_job());
        }
        if let Some(parted) = parted.filter(|_| !bodies.is_empty()) {
            bodies.insert(0, parted.into());
        }
        Ok((Decided { targets, ..Decided::default() }, bodies))
    }
}

impl Asker<'_> {
    /// The events of the change of one record that has this id by then.
    fn judge(
        &self,
        asked: &JobUpdated,
        id: JobId,
        job: &Arc<Job>,
        target: &JobSelector,
    ) -> Result<Vec<Body>, ApiError> {
        if !self.authority.may_change(self.cluster, self.peer.uid, job) {
            return Err(not_the_owner());
        }
        if job.state.is_ended() {
            return Err(ApiError::new(ErrorCode::AlreadyDone, "Job/step already completing or completed"));
        }
        let is_operator = self.authority.is_operator(self.cluster, self.peer.uid);
        let lower = |name: &Option<String>| name.as_ref().map(|name| name.to_ascii_lowercase());
        let (account, qos) = (lower(&asked.account), lower(&asked.qos));
        let mut change = JobUpdated { job: id, account, qos, ..asked.clone() };
        let mut bodies = Vec::new();
        if let Some(priority) = change.priority {
            check_priority(job, priority, is_operator)?;
            let records = std::slice::from_ref(job);
            match priority {
                0 => bodies.push(hold(records, target, is_operator, self.peer)?),
                PRIORITY_OWN => bodies.push(release(records, target, is_operator)?),
                _ => {}
            }
            change.priority = Some(priority).filter(|priority| !matches!(*priority, 0 | PRIORITY_OWN));
        }
        check_site_factor(self.cluster, &change, is_operator)?;
        if job.state != JobState::Pending {
            check_running(self.cluster, job, &mut change, is_operator)?;
        } else {
            self.check_waiting(job, &mut change, is_operator)?;
        }
        if change != (JobUpdated { job: id, ..JobUpdated::default() }) {
            bodies.push(change.into());
        }
        Ok(bodies)
    }

    /// What is asked for is looked at as at a submission. Of several partitions those that accept jobs stay.
    fn check_waiting(&self, job: &Job, change: &mut JobUpdated, is_operator: bool) -> Result<(), ApiError> {
        let cluster = self.cluster;
        let partitions: Accepting = match &change.partition {
            Some(names) => accepting(cluster, names)?,
            None => job.partitions().iter().filter_map(|name| cluster.partition(name)).cloned().collect(),
        };
        if change.partition.is_some() {
            let submitter = Submitter {
                user: &job.spec.user,
                is_administrator: is_operator,
                host: &job.spec.submit_host,
            };
            partitions.iter().try_for_each(|partition| check_access(partition, &submitter))?;
        }
        let is_limited = change.partition.is_some() || change.account.is_some() || change.qos.is_some();
        if is_limited {
            // Another account, QOS or partition must go with the others as at a submission.
            let own = Some(job.account.as_ref()).filter(|own| !own.is_empty());
            let account = change.account.as_deref().or(own);
            let qos = change.qos.as_deref().unwrap_or(&job.qos);
            charging(cluster, &job.spec.user.name, &partitions, account, Some(qos))?;
        }
        if is_limited && !is_operator {
            let asked = Asked {
                request: change.request.as_ref().unwrap_or(&job.request),
                time_limit: change.time_limit.or((!job.has_default_limit).then_some(job.time_limit)),
                account: change.account.as_deref().unwrap_or(&job.account),
                qos: change.qos.as_deref().unwrap_or(&job.qos),
            };
            check_limits(cluster, &partitions, &asked)?;
        }
        if !is_operator {
            check_policy(cluster, job, change, &partitions)?;
        }
        let lifted = cluster.lifted(change.qos.as_deref().unwrap_or(&job.qos));
        let max_time = partitions.iter().map(|partition| lifted.of(partition).max_time).max();
        let max_time = max_time.unwrap_or(TimeLimit::Unlimited);
        // As in Slurm: raising it beyond the partition's limit is a matter of permission.
        let is_raised = |limit: &TimeLimit| *limit > job.time_limit && *limit > max_time;
        if !is_operator && change.time_limit.as_ref().is_some_and(is_raised) {
            return Err(denied());
        }
        if !is_operator && change.nice.is_some_and(|nice| nice < job.nice) && !job.priority_fixed {
            return Err(denied());
        }
        let is_by_partition = change.time_limit.is_none() && job.has_default_limit && partitions.len() > 1;
        let limits = match is_by_partition {
            true => limits_in(cluster, &partitions, None),
            false => vec![change.time_limit.unwrap_or(job.time_limit)],
        };
        let time_min = change.time_min.filter(|least| *least > TimeLimit::Seconds(0));
        check_time_min(time_min, &limits)?;
        // A new least of 0 takes the old one away.
        let least = if change.time_min.is_some() { time_min } else { job.time_min };
        // The one that it has binds a new limit, too.
        let is_bound = change.time_limit.is_some() || change.time_min.is_some();
        let deadline = change.deadline.or(job.deadline.filter(|_| is_bound)).filter(|at| at.0 > 0);
        check_deadline(deadline, shortest(&limits, least), self.now)?;
        if let Some(dependencies) = &change.dependencies {
            let problem = |what| Err(ApiError::new(ErrorCode::InvalidDependency, what));
            let array = job.task.map(|task| task.array_job);
            let own = |other: Option<JobId>| other == Some(change.job) || other == Some(job.id);
            if dependencies.conditions.iter().any(|on| own(on.job) || on.job.is_some() && on.job == array) {
                return problem("Job dependency problem");
            }
            if cluster.would_wait_for_itself(job.id, dependencies) {
                return problem("Circular job dependency");
            }
        }
        if let Some(request) = &change.request {
            check_request(request)?;
            check_licenses(cluster, request)?;
            check_fits(cluster, &partitions, request)?;
        } else if change.partition.is_some() && job.hold.is_none() {
            check_fits(cluster, &partitions, &job.request)?;
        }
        if let Some(names) = change.reservation.as_deref().filter(|names| !names.is_empty()) {
            let account = change.account.as_deref().unwrap_or(&job.account);
            check_named(cluster, names, job.spec.user.uid, account, self.now)?;
        }
        if let Some(asked) = &change.wckey {
            change.wckey = wckey(cluster, &job.spec.user.name, Some(asked))?.or_else(|| Some(String::new()));
        }
        if let Some(names) = &mut change.partition {
            *names = joined(&partitions);
        }
        Ok(())
    }
}

/// The limits of its QOS and associations hold for what the job becomes.
fn check_policy(
    cluster: &Cluster,
    job: &Job,
    change: &JobUpdated,
    partitions: &Accepting,
) -> Result<(), ApiError> {
    let first = job.charged_partition();
    let before = Charge::of(job, first);
    let charge = Charge {
        partition: partitions.first().map_or(first.clone(), |first| Arc::from(first.name.as_str())),
        qos: change.qos.as_deref().map_or(before.qos.clone(), Arc::from),
        account: change.account.as_deref().map_or(before.account.clone(), Arc::from),
        user: before.user.clone(),
    };
    let count = job.tasks_waiting.as_ref().map_or(1, |tasks| tasks.len());
    let request = change.request.as_ref().unwrap_or(&job.request);
    let time = change.time_limit.unwrap_or_else(|| cluster.time_limit_in(job, &charge.partition));
    check_change(cluster, (job.id, &before, &charge), (count, request, time))
}

/// The site's own part of a priority is not its owner's.
fn check_site_factor(cluster: &Cluster, change: &JobUpdated, is_operator: bool) -> Result<(), ApiError> {
    if change.site_factor.is_none() {
        return Ok(());
    }
    if cluster.priority_parameters().is_none() {
        return Err(ApiError::new(ErrorCode::InvalidRequest, "The job has no site factor")
            .detail("it is a part of priorities with PriorityType=priority/multifactor only"));
    }
    if is_operator { Ok(()) } else { Err(denied()) }
}

/// Only an administrator raises a priority; a held job has none until it is released.
fn check_priority(job: &Job, priority: u32, is_operator: bool) -> Result<(), ApiError> {
    let wrong_state = |what| Err(ApiError::new(ErrorCode::WrongState, what));
    if matches!(priority, 0 | PRIORITY_OWN) {
        return Ok(());
    }
    if job.hold.is_some() {
        return wrong_state("Job is in held state, pending scheduler release");
    }
    if job.state != JobState::Pending {
        return wrong_state("Job is no longer pending execution");
    }
    if priority > job.priority && !is_operator { Err(denied()) } else { Ok(()) }
}

/// Of a running job: name, comment, requeue, and the time limit (an owner may only lower it).
fn check_running(
    cluster: &Cluster,
    job: &Job,
    change: &mut JobUpdated,
    is_operator: bool,
) -> Result<(), ApiError> {
    if change.request.as_ref().is_some_and(|request| is_as_it_runs(cluster, job, request)) {
        change.request = None;
    }
    let needs_waiting = change.partition.is_some()
        || change.account.is_some()
        || change.qos.is_some()
        || change.wckey.is_some()
        || change.reservation.is_some()
        || change.begin.is_some()
        || change.nice.is_some()
        || change.site_factor.is_some()
        || change.time_min.is_some()
        || change.deadline.is_some()
        || change.dependencies.is_some()
        || change.request.is_some();
    if needs_waiting {
        return Err(ApiError::new(ErrorCode::WrongState, "Job is no longer pending execution"));
    }
    match change.time_limit {
        // `Unlimited` is the greatest.
        Some(limit) if !is_operator && limit > job.time_limit => Err(denied()),
        _ => Ok(()),
    }
}

/// Whether a running job has just what is asked for, so that nothing is to be changed.
fn is_as_it_runs(cluster: &Cluster, job: &Job, asked: &ResourceRequest) -> bool {
    let run = job.run.and_then(|run| cluster.runs().get(&run));
    let nodes = run.and_then(|run| u32::try_from(run.nodes.len()).ok());
    let same_size = nodes == Some(asked.nodes_min) && asked.nodes_max.is_none_or(|most| nodes == Some(most));
    let (nodes_min, nodes_max) = (job.request.nodes_min, job.request.nodes_max);
    *asked == *job.request
        || same_size && ResourceRequest { nodes_min, nodes_max, ..asked.clone() } == *job.request
}
