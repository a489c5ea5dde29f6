//! What can be asked, one file each: is it valid, may this user, and which events follow.

mod accounts;
mod cancel;
mod charging;
mod job_action;
mod limits;
mod node_update;
mod partition_change;
mod partitions;
mod parts;
mod reconfiguration;
mod reservation;
mod submission;
mod suspension;
mod time_limits;
mod top;
mod update;
mod wckey;

pub(crate) use accounts::AccountsRequest;
pub(crate) use cancel::{Cancel, check_restricted};
pub(crate) use job_action::{Action, ActionKind};
pub(crate) use node_update::NodeUpdate;
pub(crate) use partition_change::{CreatePartition, DeletePartition, UpdatePartition};
pub(crate) use reconfiguration::{Reconfigure, may_reconfigure};
pub(crate) use reservation::ReservationChange;
pub(crate) use submission::{Submission, check_payload};
pub(crate) use suspension::Suspension;
pub(crate) use update::Update;

use std::sync::Arc;

use daybook_model::{Cluster, Job};
use daybook_schemas::api::{AccountsTarget, ApiError, ErrorCode, JobSelector, Peer, TargetOutcome};
use daybook_schemas::{Body, JobId, UtcMicros};

use crate::authority::Authority;

/// A request that changes something.
pub(crate) enum Request {
    Submission(Box<Submission>),
    Cancel(Cancel),
    Action(Action),
    Suspension(Suspension),
    Update(Box<Update>),
    NodeUpdate(NodeUpdate),
    Accounts(Box<AccountsRequest>),
    CreatePartition(CreatePartition),
    UpdatePartition(UpdatePartition),
    DeletePartition(DeletePartition),
    Reconfigure(Box<Reconfigure>),
    Reservation(Box<ReservationChange>),
}

/// What is answered once the events are in the log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decided {
    /// Of a submission: the job.
    pub(crate) job: Option<JobId>,
    /// Of the others: what became of each target.
    pub(crate) targets: Vec<TargetOutcome>,
    /// Of a reservation: its name.
    pub(crate) reservation: Option<String>,
    /// There is more that the request means; it has to be asked again.
    pub(crate) more: bool,
    /// Of a change of accounts: what it reaches.
    pub(crate) accounts: Vec<AccountsTarget>,
}

/// The answer and the events, or why not.
pub(crate) type Decision = Result<(Decided, Vec<Body>), ApiError>;

impl Request {
    /// Decides against a snapshot, at an instant. Pure but for the machine's user database. `next_id` is the first free job
    /// id.
    pub(crate) fn decide(
        &self,
        cluster: &Cluster,
        authority: &Authority,
        peer: Peer,
        next_id: JobId,
        now: UtcMicros,
    ) -> Decision {
        match self {
            Request::Submission(request) => request.decide(cluster, authority, peer, (next_id, now)),
            Request::Cancel(request) => request.decide(cluster, authority, peer),
            Request::Action(request) => Ok(request.decide(cluster, authority, peer)),
            Request::Suspension(request) => Ok(request.decide(cluster, authority, peer)),
            Request::Update(request) => request.decide(cluster, authority, peer, now),
            Request::NodeUpdate(request) => request.decide(cluster, authority, peer),
            Request::Reservation(request) => request.decide(cluster, authority, peer, now),
            Request::Accounts(request) => request.decide(cluster, authority, peer),
            Request::CreatePartition(request) => request.decide(cluster, authority, peer),
            Request::UpdatePartition(request) => request.decide(cluster, authority, peer),
            Request::DeletePartition(request) => request.decide(cluster, authority, peer),
            Request::Reconfigure(request) => request.decide(cluster, authority, peer),
        }
    }

    /// Whether it changes what other requests are decided by: nothing else is decided by the same snapshot.
    pub(crate) fn is_alone(&self) -> bool {
        use Request::{CreatePartition, DeletePartition, Reconfigure, UpdatePartition};
        match self {
            Request::Update(request) => request.is_alone(),
            CreatePartition(_) | UpdatePartition(_) | DeletePartition(_) | Reconfigure(_) => true,
            // Another one may take the same CPUs.
            Request::Suspension(request) => request.resume,
            // What it allows may depend on what is in the state.
            Request::Accounts(_) | Request::Reservation(_) => true,
            _ => false,
        }
    }

    /// The targets that the request names, as done: what a repeated request is answered with.
    pub(crate) fn named_targets(&self) -> Vec<TargetOutcome> {
        let selectors: &[JobSelector] = match self {
            Request::Cancel(request) => &request.0.filter.jobs,
            Request::Action(request) => &request.action.jobs,
            Request::Suspension(request) => &request.action.jobs,
            _ => &[],
        };
        selectors.iter().map(|target| TargetOutcome { target: target.clone(), error: None }).collect()
    }
}

fn invalid_job() -> ApiError {
    ApiError::new(ErrorCode::InvalidJobId, "Invalid job id specified")
}

/// The records that a selector means, with their own ids; an error where there is none.
fn selected(cluster: &Cluster, selector: &JobSelector) -> Result<Vec<Arc<Job>>, ApiError> {
    let Some(array) = cluster.arrays().get(&selector.job) else {
        let job = cluster.jobs().get(&selector.job).filter(|_| selector.tasks.is_none());
        return job.cloned().map(|job| vec![job]).ok_or_else(invalid_job);
    };
    let meant = match &selector.tasks {
        Some(tasks) => array.tasks().intersection(tasks),
        None => array.tasks().clone(),
    };
    let mut found: Vec<Arc<Job>> = Vec::new();
    if let Some(record) = cluster.jobs().get(&selector.job)
        && record.tasks_waiting.as_ref().is_some_and(|waiting| !waiting.intersection(&meant).is_empty())
    {
        found.push(record.clone());
    }
    // Started ones, and those that left the array's record before.
    let waiting = cluster.jobs().get(&selector.job).and_then(|record| record.tasks_waiting.as_ref());
    let apart = waiting.map_or(meant.clone(), |waiting| meant.difference(waiting));
    let apart = apart.iter().filter_map(|task| cluster.jobs().get(&array.task_job_id(task)?).cloned());
    found.extend(apart.filter(|record| record.tasks_waiting.is_none()));
    if found.is_empty() && meant.is_empty() { Err(invalid_job()) } else { Ok(found) }
}
