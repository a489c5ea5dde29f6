#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_model::{Cluster, Job, Run};
use daybook_schemas::api::{ApiError, ErrorCode, JobAction, JobSelector, Peer, TargetOutcome};
use daybook_schemas::events::{JobResumeRequested, JobSuspendRequested};
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::JobState;
use daybook_schemas::orders::RunWish;
use daybook_schemas::{Body, NodeName};

use super::{Decided, invalid_job, selected};
use crate::authority::{Authority, denied};

/// `POST /v1/jobs/suspend` and `resume`.
pub(crate) struct Suspension {
    /// To go on.
    pub(crate) resume: bool,
    pub(crate) action: JobAction,
}

/// CPUs that runs of the same request take again, by node.
type Taken = BTreeMap<NodeName, IndexSet>;

impl Suspension {
    pub(super) fn decide(
        &self,
        cluster: &Cluster,
        authority: &Authority,
        peer: Peer,
    ) -> (Decided, Vec<Body>) {
        let (mut targets, mut bodies, mut taken) = (Vec::new(), Vec::new(), Taken::new());
        for target in &self.action.jobs {
            let records = match selected(cluster, target) {
                Ok(records) => records,
                Err(error) => {
                    targets.push(TargetOutcome { target: target.clone(), error: Some(error) });
                    continue;
                }
            };
            if !records.iter().all(|job| may_suspend(cluster, authority, peer, job)) {
                targets.push(TargetOutcome { target: target.clone(), error: Some(denied()) });
                continue;
            }
            let judged = records.iter().map(|job| (job, self.judge(cluster, peer, job, &mut taken)));
            let judged: Vec<_> = judged.collect();
            bodies.extend(judged.iter().filter_map(|(_, outcome)| outcome.clone().ok().flatten()));
            let errors = judged.into_iter().map(|(job, outcome)| (job, outcome.err()));
            targets.extend(outcomes(cluster, target, errors.collect()));
        }
        (Decided { targets, ..Decided::default() }, bodies)
    }

    /// The event, where there is something to do.
    fn judge(
        &self,
        cluster: &Cluster,
        peer: Peer,
        job: &Job,
        taken: &mut Taken,
    ) -> Result<Option<Body>, ApiError> {
        if job.state == JobState::Pending {
            return Err(ApiError::new(ErrorCode::WrongState, "Job is pending execution"));
        }
        let over = || ApiError::new(ErrorCode::AlreadyDone, "Job/step already completing or completed");
        let run = job.run.and_then(|run| cluster.runs().get(&run)).filter(|run| run.end.is_none());
        let run = run.ok_or_else(over)?;
        let (job, uid) = (job.id, peer.uid);
        match (self.resume, run.wish) {
            // As in Slurm: what was stopped for another job stays so until somebody says otherwise.
            (false, RunWish::Suspend) if run.is_kept_stopped => Ok(None),
            (false, RunWish::Run | RunWish::Suspend) => Ok(Some(JobSuspendRequested { job, uid }.into())),
            (true, RunWish::Suspend) => {
                take_cpus(cluster, run, taken)?;
                Ok(Some(JobResumeRequested { job, uid }.into()))
            }
            (true, RunWish::Run) => Err(ApiError::new(ErrorCode::WrongState, "Job is not suspended")),
            _ => Err(over()),
        }
    }
}

/// Operators, and coordinators of the job's account; not its owner.
fn may_suspend(cluster: &Cluster, authority: &Authority, peer: Peer, job: &Job) -> bool {
    authority.is_operator(cluster, peer.uid) || authority.coordinates(cluster, &job.account)
}

/// What it gave back must be free, of other runs that go on with the same request too.
fn take_cpus(cluster: &Cluster, run: &Run, taken: &mut Taken) -> Result<(), ApiError> {
    if !run.are_cpus_given_back {
        return Ok(());
    }
    let is_taken = run
        .nodes
        .iter()
        .any(|share| taken.get(&share.node).is_some_and(|taken| !taken.intersection(&share.cpus).is_empty()));
    if is_taken || !cluster.can_go_on(run) {
        return Err(ApiError::new(ErrorCode::WrongState, "Requested nodes are busy")
            .detail("other jobs have its CPUs: resume it when they have ended, or suspend them"));
    }
    for share in run.nodes.iter() {
        let cpus = taken.entry(share.node.clone()).or_default();
        share.cpus.iter().for_each(|cpu| {
            cpus.insert(cpu);
        });
    }
    Ok(())
}

/// One outcome for a job; of an array one for all of its tasks where all went well, else one for each error.
fn outcomes(
    cluster: &Cluster,
    target: &JobSelector,
    judged: Vec<(&Arc<Job>, Option<ApiError>)>,
) -> Vec<TargetOutcome> {
    let Some(array) = cluster.arrays().get(&target.job) else {
        let error = judged.into_iter().find_map(|(_, error)| error);
        return vec![TargetOutcome { target: target.clone(), error }];
    };
    let mut by_message: BTreeMap<String, (IndexSet, ApiError)> = BTreeMap::new();
    let mut note = |tasks: &IndexSet, error: ApiError| {
        let found = by_message.entry(error.message.clone()).or_insert_with(|| (IndexSet::new(), error));
        tasks.iter().for_each(|task| {
            found.0.insert(task);
        });
    };
    let asked = target.tasks.as_ref();
    if let Some(asked) = asked {
        let unknown = asked.difference(array.tasks());
        if !unknown.is_empty() {
            note(&unknown, invalid_job());
        }
    }
    for (job, error) in judged {
        let Some(error) = error else { continue };
        let tasks = match (&job.tasks_waiting, job.task) {
            (Some(waiting), _) => asked.map_or(waiting.clone(), |asked| waiting.intersection(asked)),
            (None, Some(task)) => [task.task].into_iter().collect(),
            (None, None) => IndexSet::new(),
        };
        note(&tasks, error);
    }
    if by_message.is_empty() {
        return vec![TargetOutcome { target: target.clone(), error: None }];
    }
    let outcome = |(tasks, error)| TargetOutcome {
        target: JobSelector { job: target.job, tasks: Some(tasks) },
        error: Some(error),
    };
    by_message.into_values().map(outcome).collect()
}
