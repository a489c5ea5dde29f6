use std::collections::BTreeSet;

use daybook_model::{Cluster, Job};
use daybook_schemas::Body;
use daybook_schemas::api::{ApiError, CancelRequest, ErrorCode, JobFilter, JobSelector, Peer, TargetOutcome};
use daybook_schemas::events::{JobCancelRequested, JobTarget};
use daybook_schemas::job::JobState;
use daybook_schemas::reservation::named;

use super::{Decided, Decision, invalid_job, selected};
use crate::authority::{Authority, denied};

/// `POST /v1/jobs/cancel`.
pub(crate) struct Cancel(pub(crate) CancelRequest);

impl Cancel {
    pub(super) fn decide(&self, cluster: &Cluster, authority: &Authority, peer: Peer) -> Decision {
        let filter = &self.0.filter;
        let (mut targets, mut bodies) = (Vec::new(), Vec::new());
        let mut meant = self.targets(cluster, authority, peer);
        let more = meant.len() > SELECTORS_MAX;
        if more && self.0.signal.is_some() {
            // Signalled jobs stay in the filter, so it could not be asked again for the rest.
            return Err(ApiError::new(ErrorCode::TooLarge, "Too many jobs for one signal").detail(format!(
                "{} jobs are meant, at most {SELECTORS_MAX} are signalled at once",
                meant.len()
            )));
        }
        meant.truncate(SELECTORS_MAX);
        for target in meant {
            let outcome = self.judge(cluster, authority, peer, &target, filter);
            if outcome.is_ok() {
                bodies.push(self.event(&target, peer));
            }
            let error = outcome.err();
            // Of what nobody named, what may not be touched is left alone without a word.
            if !filter.jobs.is_empty() || error.is_none() {
                targets.push(TargetOutcome { target, error });
            }
        }
        Ok((Decided { targets, more, ..Decided::default() }, bodies))
    }

    /// What is named, or else everything that the filter matches.
    fn targets(&self, cluster: &Cluster, authority: &Authority, peer: Peer) -> Vec<JobSelector> {
        let filter = &self.0.filter;
        if !filter.jobs.is_empty() {
            return filter.jobs.clone();
        }
        let meant = cluster.jobs().values().filter(|job| {
            !job.state.is_ended()
                && fits(job, filter, cluster)
                && authority.may_change(cluster, peer.uid, job)
        });
        let ids: BTreeSet<_> = meant.map(|job| job.id).collect();
        ids.into_iter().map(|job| own_selector(cluster, job)).collect()
    }

    fn judge(
        &self,
        cluster: &Cluster,
        authority: &Authority,
        peer: Peer,
        target: &JobSelector,
        filter: &JobFilter,
    ) -> Result<(), ApiError> {
        let records = selected(cluster, target)?;
        if records.iter().any(|job| !authority.may_change(cluster, peer.uid, job)) {
            return Err(denied());
        }
        let alive = records.iter().filter(|job| !job.state.is_ended());
        let mut meant = alive.filter(|job| fits(job, filter, cluster)).peekable();
        if meant.peek().is_none() {
            return Err(ApiError::new(ErrorCode::AlreadyDone, "Job/step already completing or completed"));
        }
        if self.0.signal.is_some() && meant.all(|job| job.state == JobState::Pending) {
            return Err(ApiError::new(ErrorCode::WrongState, "Job is pending execution"));
        }
        Ok(())
    }

    fn event(&self, target: &JobSelector, peer: Peer) -> Body {
        JobCancelRequested {
            target: JobTarget { job: target.job, tasks: target.tasks.clone() },
            uid: peer.uid,
            signal: self.0.signal,
            batch: self.0.batch,
        }
        .into()
    }
}

/// How a record is named alone: an array's waiting tasks by their indices, so that what runs is left out.
fn own_selector(cluster: &Cluster, job: daybook_schemas::JobId) -> JobSelector {
    let record = cluster.jobs().get(&job);
    match record.and_then(|record| record.tasks_waiting.clone()) {
        Some(tasks) => JobSelector { job, tasks: Some(tasks) },
        None => match record.and_then(|record| record.task) {
            Some(task) => JobSelector { job: task.array_job, tasks: Some([task.task].into_iter().collect()) },
            None => JobSelector { job, tasks: None },
        },
    }
}

/// Everything of a filter but the ids.
fn fits(job: &Job, filter: &JobFilter, cluster: &Cluster) -> bool {
    let listed = |list: &[String], value: &str| list.is_empty() || list.iter().any(|item| item == value);
    (filter.uids.is_empty() || filter.uids.contains(&job.spec.user.uid))
        && listed(&filter.partitions, &job.partition)
        && listed(&filter.accounts, &job.account)
        && listed(&filter.qos, &job.qos)
        && listed(&filter.names, &job.name)
        && (filter.states.is_empty() || filter.states.contains(&cluster.shown_state(job)))
        && (filter.reservations.is_empty() || is_of(job, filter, cluster))
        && (filter.nodes.is_empty() || runs_on(cluster, job, &filter.nodes))
}

/// Whether it runs in one of the reservations, or asks for one.
fn is_of(job: &Job, filter: &JobFilter, cluster: &Cluster) -> bool {
    let shown = cluster.shown_reservation(job);
    shown
        .is_some_and(|names| named(names).any(|name| filter.reservations.iter().any(|wanted| wanted == name)))
}

fn runs_on(cluster: &Cluster, job: &Job, nodes: &[String]) -> bool {
    let run = job.run.and_then(|run| cluster.runs().get(&run));
    run.is_some_and(|run| run.nodes.iter().any(|share| nodes.iter().any(|name| name == share.node.as_str())))
}

/// The most jobs that one request may name, or a filter takes at once: its events are one commit.
const SELECTORS_MAX: usize = 4_000;

/// A cancellation names something, and not more than can be handled at once.
pub(crate) fn check_restricted(filter: &JobFilter) -> Result<(), ApiError> {
    if filter.jobs.len() > SELECTORS_MAX {
        return Err(ApiError::new(ErrorCode::TooLarge, "Invalid job id specified")
            .detail(format!("a request may name at most {SELECTORS_MAX} jobs")));
    }
    if *filter == JobFilter::default() { Err(invalid_job()) } else { Ok(()) }
}
