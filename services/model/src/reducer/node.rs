use std::sync::Arc;

use daybook_schemas::Event;
use daybook_schemas::events::{NodeRegistered, NodeUpdated};
use daybook_schemas::node::NodeUpdateState;
use daybook_schemas::orders::RunWish;

use crate::cluster::Cluster;
use crate::node::{NodeReason, Registration};

pub(super) fn registered(cluster: &mut Cluster, data: &NodeRegistered) {
    let at = cluster.time;
    cluster.change_node(&data.node, |node| {
        node.registration = Some(Arc::new(Registration {
            boot_id: data.boot_id.clone(),
            at,
            gpus: data.gpus.clone(),
            agent_version: data.agent_version.clone(),
            operating_system: data.operating_system.clone(),
            architecture: data.architecture.clone(),
        }));
    });
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

/// What runs on a node that is set down is ended there, and told so to its other nodes.
fn end_runs(cluster: &mut Cluster, data: &NodeUpdated) {
    let Some(node) = cluster.nodes.get(&data.node).cloned() else { return };
    for run in &node.runs {
        if cluster.runs.get(run).is_some_and(|run| run.end.is_none() && run.wish == RunWish::Run) {
            cluster.change_run(*run, |run| run.wish = RunWish::NodeDown);
        }
    }
}
