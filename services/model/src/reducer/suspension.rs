//! Runs that are stopped, and go on.
//!
//! An order has its commit's position as its number, and the node's facts name the order that they follow: so it is known
//! whether what a node says is about the last one. A run's CPUs are given back when its node says that it is stopped, and
//! taken again with the order to go on: no CPU is ever in two runs that go on.

use std::sync::Arc;

use daybook_schemas::events::{
    JobResumeRequested, JobSuspendRequested, RunResumeOrdered, RunResumed, RunSuspended,
};
use daybook_schemas::job::JobState;
use daybook_schemas::orders::RunWish;
use daybook_schemas::{Event, RunId, UtcMicros};

use super::run::is_held;
use crate::cluster::Cluster;
use crate::run::{Pauses, Run};

impl Cluster {
    /// Whether a run that has given its CPUs back could have all of them again.
    pub fn can_go_on(&self, run: &Run) -> bool {
        run.nodes.iter().filter(|share| run.held_on.contains(&share.node)).all(|share| {
            let node = self.nodes.get(&share.node);
            node.is_some_and(|node| share.cpus.intersection(&node.cpus_allocated).is_empty())
        })
    }

    /// Runs that were stopped for others and go on when they can, by id.
    pub fn runs_to_go_on(&self) -> impl Iterator<Item = &Arc<Run>> {
        let runs = self.stopped.iter().filter_map(|id| self.runs.get(id));
        runs.filter(|run| run.wish == RunWish::Suspend && run.waits_to_go_on())
    }

    /// The index of the runs that have given their CPUs back.
    pub(crate) fn derive_stopped(&mut self) {
        let stopped = self.runs.values().filter(|run| run.are_cpus_given_back).map(|run| run.id);
        self.stopped = stopped.collect();
    }
}

pub(super) fn suspend_requested(cluster: &mut Cluster, data: &JobSuspendRequested) {
    let Some(run) = present_run(cluster, data.job) else { return };
    if run.wish == RunWish::Run {
        order_stop(cluster, run.id);
    }
    // One that is stopped for another job stays so.
    cluster.change_run(run.id, |run| run.is_kept_stopped = true);
}

/// Tells a run to stop.
pub(super) fn order_stop(cluster: &mut Cluster, id: RunId) {
    let ordered = cluster.position;
    cluster.change_run(id, |run| {
        run.wish = RunWish::Suspend;
        run.ordered = ordered;
        run.is_told_to_stop = true;
    });
}

/// Where its CPUs have been taken meanwhile it goes on when they are free.
pub(super) fn resume_requested(cluster: &mut Cluster, data: &JobResumeRequested) {
    let Some(run) = present_run(cluster, data.job) else { return };
    if !go_on(cluster, run.id) {
        cluster.change_run(run.id, |run| run.is_kept_stopped = false);
    }
}

/// Overtaken where somebody has suspended it for good meanwhile.
pub(super) fn resume_ordered(cluster: &mut Cluster, data: &RunResumeOrdered) {
    if cluster.runs.get(&data.run).is_some_and(|run| run.waits_to_go_on()) {
        go_on(cluster, data.run);
    }
}

fn present_run(cluster: &Cluster, job: daybook_schemas::JobId) -> Option<Arc<Run>> {
    let run = cluster.jobs.get(&job)?.run?;
    cluster.runs.get(&run).filter(|run| run.end.is_none()).cloned()
}

/// Takes its CPUs again and tells it to go on, unless it is being ended; whether that is so.
fn go_on(cluster: &mut Cluster, id: RunId) -> bool {
    let Some(run) = cluster.runs.get(&id).filter(|run| run.is_told_to_stop).cloned() else { return false };
    if run.are_cpus_given_back {
        if !cluster.can_go_on(&run) {
            return false;
        }
        for share in run.nodes.iter().filter(|share| run.held_on.contains(&share.node)) {
            cluster.change_node(&share.node, |node| {
                for cpu in share.cpus.iter() {
                    node.cpus_allocated.insert(cpu);
                }
            });
        }
        cluster.stopped.remove(&id);
    }
    // It makes no room any more, if it did.
    cluster.note_way_given(id);
    let ordered = cluster.position;
    cluster.change_run(id, |run| {
        if run.wish == RunWish::Suspend {
            run.wish = RunWish::Run;
            run.giving_way = None;
        }
        run.ordered = ordered;
        run.is_told_to_stop = false;
        run.is_kept_stopped = false;
        run.are_cpus_given_back = false;
    });
    true
}

/// Time and usage stand still from here on. The CPUs are given back if this is what was ordered last.
pub(super) fn suspended(cluster: &mut Cluster, event: &Event, data: &RunSuspended) {
    if !is_held(cluster, data.run, &data.node) {
        return;
    }
    let Some(run) = cluster.runs.get(&data.run).filter(|run| run.end.is_none()).cloned() else { return };
    if !run.is_stopped() {
        let floor = run.runs_since().max(run.started.unwrap_or(run.allocated));
        let at = event.time.clamp(floor, cluster.time.max(floor));
        cluster.charge_run(data.run, at);
        let pauses = Pauses { stopped: Some(at), changed: at, ran: run.ran(at), paused: run.paused() };
        note(cluster, data.run, pauses, JobState::Suspended);
    }
    if run.is_told_to_stop && run.ordered == data.ordered && !run.are_cpus_given_back {
        for share in run.nodes.iter().filter(|share| run.held_on.contains(&share.node)) {
            cluster.change_node(&share.node, |node| {
                node.cpus_allocated = node.cpus_allocated.difference(&share.cpus);
            });
        }
        cluster.stopped.insert(data.run);
        cluster.change_run(data.run, |run| run.are_cpus_given_back = true);
        cluster.note_way_given(data.run);
    }
}

pub(super) fn resumed(cluster: &mut Cluster, event: &Event, data: &RunResumed) {
    if !is_held(cluster, data.run, &data.node) {
        return;
    }
    let Some(run) = cluster.runs.get(&data.run).filter(|run| run.end.is_none()).cloned() else { return };
    // Before its CPUs are its own again it does not count as going on, whatever a node says.
    let Some((pauses, since)) = run.pauses.and_then(|pauses| Some((pauses, pauses.stopped?))) else { return };
    if run.are_cpus_given_back {
        return;
    }
    let at = event.time.clamp(since, cluster.time.max(since));
    let paused = pauses.paused.saturating_add(at.0 - since.0);
    note(cluster, data.run, Pauses { stopped: None, changed: at, paused, ..pauses }, JobState::Running);
}

/// A run ends: not before it was stopped, and a stop that lasts ends with it. Gives when.
pub(super) fn end_pause(cluster: &mut Cluster, id: RunId, at: UtcMicros) -> UtcMicros {
    let pauses = cluster.runs.get(&id).and_then(|run| run.pauses);
    let Some(pauses) = pauses else { return at };
    let at = at.max(pauses.changed);
    if let Some(since) = pauses.stopped {
        let paused = pauses.paused.saturating_add(at.0.saturating_sub(since.0));
        note(cluster, id, Pauses { stopped: None, changed: at, paused, ..pauses }, JobState::Running);
    }
    at
}

fn note(cluster: &mut Cluster, id: RunId, pauses: Pauses, state: JobState) {
    cluster.change_run(id, |run| run.pauses = Some(pauses));
    if cluster.jobs.get(&id.job).is_some_and(|job| job.run == Some(id)) {
        cluster.change_job(id.job, |job| {
            job.pauses = Some(pauses);
            job.state = state;
        });
    }
}
