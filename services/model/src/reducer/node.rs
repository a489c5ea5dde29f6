use std::sync::Arc;

use daybook_schemas::events::{NodeLeaseLost, NodeRegistered, NodeTimedOut, NodeUpdated};
use daybook_schemas::node::NodeUpdateState;
use daybook_schemas::orders::RunWish;
use daybook_schemas::run::{EndCause, ExitStatus};
use daybook_schemas::{Event, NodeName};

use crate::cluster::Cluster;
use crate::node::{NodeReason, Registration, Silence};

pub(super) fn registered(cluster: &mut Cluster, data: &NodeRegistered) {
    let at = cluster.time;
    let mut is_other = false;
    cluster.change_node(&data.node, |node| {
        let unbroken = node.unbroken_gpus().to_vec();
        node.silence = None;
        node.registration = Some(Arc::new(Registration {
            boot_id: data.boot_id.clone(),
            at,
            gpus: data.gpus.clone(),
            agent_version: data.agent_version.clone(),
            operating_system: data.operating_system.clone(),
            architecture: data.architecture.clone(),
        }));
        is_other = node.unbroken_gpus() != unbroken;
    });
    if is_other {
        cluster.forget_what_is_possible();
    }
}

pub(super) fn updated(cluster: &mut Cluster, event: &Event, data: &NodeUpdated) {
    let at = cluster.time;
    let reason = data.reason.as_ref().map(|text| {
        let by = event.actor.name.clone();
        Arc::new(NodeReason { text: text.clone(), by, uid: event.actor.uid, at })
    });
    cluster.change_node(&data.node, |node| {
        match data.state {
            Some(NodeUpdateState::Drain) => node.drain = true,
            Some(NodeUpdateState::Undrain) => node.drain = false,
            Some(NodeUpdateState::Down) => node.down = true,
            Some(NodeUpdateState::Resume) => {
                node.drain = false;
                node.down = false;
            }
            None => {}
        }
        if reason.is_some() {
            node.reason = reason;
        }
        if !node.drain && !node.down && data.state.is_some() {
            node.reason = None;
        }
    });
    if data.state == Some(NodeUpdateState::Down) {
        end_runs(cluster, data);
    }
}

pub(super) fn lease_lost(cluster: &mut Cluster, data: &NodeLeaseLost) {
    let noticed = cluster.time;
    let last_heard = data.last_heard.min(noticed);
    cluster.change_node(&data.node, |node| {
        if node.registration.is_some() && node.silence.is_none() {
            node.silence = Some(Silence { last_heard, noticed, timed_out: false });
        }
    });
}

pub(super) fn lease_regained(cluster: &mut Cluster, name: &NodeName) {
    cluster.change_node(name, |node| node.silence = None);
}

/// Ends what runs on a node that has been silent for too long, and lets the jobs go on without it. What the runs hold there
/// stays taken: their processes may well be there, and only the node can say that they are not.
pub(super) fn timed_out(cluster: &mut Cluster, data: &NodeTimedOut) {
    let Some(node) = cluster.nodes.get(&data.node).cloned() else { return };
    if node.silence.is_none_or(|silence| silence.timed_out) {
        return;
    }
    cluster.change_node(&data.node, |node| {
        node.silence = node.silence.map(|silence| Silence { timed_out: true, ..silence });
    });
    for id in &node.runs {
        super::run::end_run(cluster, *id, data.last_evidence, EndCause::NodeFailed, ExitStatus::default());
        cluster.change_run(*id, |run| drop(run.given_up_on.insert(data.node.clone())));
        super::run::part_if_given_up(cluster, *id);
    }
}

/// What runs on a node that is set down is ended there, and told so to its other nodes.
fn end_runs(cluster: &mut Cluster, data: &NodeUpdated) {
    let Some(node) = cluster.nodes.get(&data.node).cloned() else { return };
    for run in &node.runs {
        if cluster.runs.get(run).is_some_and(|run| run.end.is_none() && run.wish == RunWish::Run) {
            cluster.change_run(*run, |run| run.wish = RunWish::NodeDown);
        }
    }
}
