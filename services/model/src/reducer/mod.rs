//! The one reducer. One file for each family of events; nothing here fails on a valid commit.

mod accounts;
mod change;
mod cluster;
mod job;
mod node;
mod partition;
mod preemption;
mod reservation;
mod run;
mod suspension;
mod used_up;

use std::collections::BTreeMap;
use std::sync::Arc;

use daybook_schemas::events::{Body, FORMAT_VERSION, LogDurabilityDeclared, PlannerCycle};
use daybook_schemas::{Commit, Event, JobId, NodeName, Subject};
use imbl::OrdMap;

use crate::cluster::Cluster;
use crate::judgement::changes_judgements;

pub(crate) fn apply(cluster: &mut Cluster, commit: &Commit) -> Result<(), String> {
    if commit.seq != cluster.position.next() {
        return Err(format!("commit {} does not follow {}", commit.seq, cluster.position));
    }
    cluster.position = commit.seq;
    cluster.advance_time(commit.time.max(cluster.time));
    reservation::move_on(cluster);
    match commit.subject {
        Subject::Jobs => cluster.jobs_seq = commit.seq,
        Subject::Plan => cluster.plan_seq = commit.seq,
        _ => {}
    }
    if let Subject::Node(name) = &commit.subject
        && let Some(node) = cluster.nodes.get_mut(name)
    {
        Arc::make_mut(node).last_reported = cluster.time;
    }
    for (_, event) in commit.counted() {
        apply_event(cluster, event)?;
    }
    reservation::note_use(cluster);
    cluster.regroup_charges();
    cluster.begin_accruing();
    forget_old_jobs(cluster);
    Ok(())
}

fn apply_event(cluster: &mut Cluster, event: &Event) -> Result<(), String> {
    if changes_judgements(&event.body) {
        cluster.forget_judgements();
    }
    match &event.body {
        Body::ClusterConfigured(data) => cluster::configured(cluster, data),
        Body::PartitionUpdated(data) => partition::updated(cluster, data),
        Body::PartitionDeleted(data) => partition::deleted(cluster, data),
        Body::NodeRegistered(data) => node::registered(cluster, data),
        Body::NodeLeaseLost(data) => node::lease_lost(cluster, data),
        Body::NodeLeaseRegained(data) => node::lease_regained(cluster, &data.node),
        Body::NodeTimedOut(data) => node::timed_out(cluster, data),
        Body::NodeUpdated(data) => node::updated(cluster, event, data),
        Body::JobSubmitted(data) => job::submitted(cluster, data),
        Body::JobUpdated(data) => change::updated(cluster, data),
        Body::JobParted(data) => change::parted(cluster, data),
        Body::JobHeld(data) => change::held(cluster, data),
        Body::JobReleased(data) => change::released(cluster, data),
        Body::JobCancelRequested(data) => job::cancel_requested(cluster, data),
        Body::JobRequeued(data) => job::requeued(cluster, data),
        Body::JobFinished(data) => job::finished(cluster, data),
        Body::JobSuspendRequested(data) => suspension::suspend_requested(cluster, data),
        Body::JobResumeRequested(data) => suspension::resume_requested(cluster, data),
        Body::ReservationCreated(data) => reservation::written(cluster, &data.reservation),
        Body::ReservationUpdated(data) => reservation::written(cluster, &data.reservation),
        Body::ReservationDeleted(data) => reservation::deleted(cluster, &data.name),
        Body::RunAllocated(data) => run::allocated(cluster, data),
        Body::RunStarted(data) => run::started(cluster, event, data),
        Body::RunEnded(data) => run::ended(cluster, event, data),
        Body::RunLost(data) => run::lost(cluster, data),
        Body::RunNodeReleased(data) => run::node_released(cluster, data),
        Body::RunPreempted(data) => preemption::preempted(cluster, data),
        Body::RunSuspended(data) => suspension::suspended(cluster, event, data),
        Body::RunResumed(data) => suspension::resumed(cluster, event, data),
        Body::RunResumeOrdered(data) => suspension::resume_ordered(cluster, data),
        Body::RunUsedUp(data) => used_up::used_up(cluster, data),
        Body::PlannerCycle(data) => planner_cycle(cluster, data),
        Body::PrioritiesCalculated(data) => crate::priority::calculated(cluster, data),
        body @ (Body::AccountDefined(_)
        | Body::AccountRemoved(_)
        | Body::AssociationDefined(_)
        | Body::AssociationRemoved(_)
        | Body::QosDefined(_)
        | Body::QosRemoved(_)
        | Body::UserDefined(_)
        | Body::UserRemoved(_)
        | Body::WckeyDefined(_)
        | Body::WckeyRemoved(_)) => accounts::changed(cluster, body),
        Body::LogVersionBarrier(data) if data.format_version > FORMAT_VERSION => {
            return Err(format!(
                "the log goes on in format {} ({}), this program reads up to {FORMAT_VERSION}: use a newer daybook",
                data.format_version, data.reason
            ));
        }
        // Measurements are in the detail stream, and decide nothing.
        Body::RunUsage(_) => {}
        Body::LogVersionBarrier(_) => {}
        Body::LogDurabilityDeclared(data) => {
            cluster.durability = Some(Arc::new(LogDurabilityDeclared::clone(data)))
        }
    }
    Ok(())
}

fn planner_cycle(cluster: &mut Cluster, data: &PlannerCycle) {
    cluster.last_cycle = Some(data.now);
    cluster.close_rooms(data.input);
    cluster.totals.note_cycle(cluster.position, data);
    let (mut starts, mut nodes) = (OrdMap::new(), BTreeMap::new());
    for planned in &data.reservations {
        let start = starts.entry(planned.job).or_insert(planned.start);
        *start = (*start).min(planned.start);
        // Of an array several tasks may be planned.
        let known: &mut Vec<Arc<[NodeName]>> = nodes.entry(planned.job).or_default();
        known.push(Arc::from(planned.nodes.as_slice()));
    }
    cluster.expected_starts = starts;
    cluster.planned_nodes = nodes.into_iter().map(|(job, nodes)| (job, Arc::from(nodes))).collect();
    for change in &data.reasons {
        cluster.change_job(change.job, |job| {
            job.reason = change.reason;
            job.reason_detail = Arc::from(change.detail.as_str());
        });
    }
}

/// Ended jobs leave memory `MinJobAge` after their end; each commit removes what has become due since the one before.
fn forget_old_jobs(cluster: &mut Cluster) {
    let Some(configured) = &cluster.configured else { return };
    let age = i64::try_from(configured.parameters.min_job_age.0).unwrap_or(i64::MAX);
    let due: Vec<JobId> = cluster
        .ended
        .iter()
        .take_while(|(ended, _)| ended.plus_seconds(age) <= cluster.time)
        .map(|(_, job)| *job)
        .collect();
    for id in due {
        if let Some(task) = cluster.remove_job(id).and_then(|job| array_of(cluster, &job)) {
            cluster.change_array(task, |array| array.records = array.records.saturating_sub(1));
            if cluster.arrays.get(&task).is_some_and(|array| array.records == 0) {
                cluster.arrays.remove(&task);
            }
        }
    }
}

/// The array that a record belongs to.
fn array_of(cluster: &Cluster, job: &crate::Job) -> Option<JobId> {
    let id = job.task.map_or(job.id, |task| task.array_job);
    cluster.arrays.contains_key(&id).then_some(id)
}

impl Cluster {
    /// Changes what is known of an array.
    pub(crate) fn change_array(&mut self, id: JobId, change: impl FnOnce(&mut crate::ArrayState)) {
        if let Some(array) = self.arrays.get_mut(&id) {
            change(Arc::make_mut(array));
        }
    }

    /// Changes a node.
    pub(crate) fn change_node(
        &mut self,
        name: &daybook_schemas::NodeName,
        change: impl FnOnce(&mut crate::Node),
    ) {
        let position = self.position;
        if let Some(node) = self.nodes.get_mut(name) {
            let node = Arc::make_mut(node);
            change(node);
            node.changed = position;
        }
    }

    /// Changes a run, and marks the nodes that have to know.
    pub(crate) fn change_run(&mut self, id: daybook_schemas::RunId, change: impl FnOnce(&mut crate::Run)) {
        let Some(run) = self.runs.get_mut(&id) else { return };
        let run = Arc::make_mut(run);
        change(run);
        let held_on = run.held_on.clone();
        held_on.iter().for_each(|node| self.change_node(node, |_| {}));
        self.charge_holding(id);
    }
}
