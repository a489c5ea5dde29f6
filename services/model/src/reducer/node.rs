use std::sync::Arc;

use daybook_schemas::events::{NodeLeaseLost, NodeRegistered, NodeTimedOut, NodeUpdated};
use daybook_schemas::node::{NodeUpdateState, ReturnToService};
use daybook_schemas::orders::RunWish;
use daybook_schemas::run::{EndCause, ExitStatus};
use daybook_schemas::{Authentication, Event, NodeName, UtcMicros};

use crate::cluster::Cluster;
use crate::node::{Node, NodeReason, Registration, Silence};

pub(super) fn registered(cluster: &mut Cluster, data: &NodeRegistered) {
    let at = cluster.time;
    let rule = return_to_service(cluster);
    let mut is_other = false;
    cluster.change_node(&data.node, |node| {
        let before = node.registration.as_ref().map_or("", |registration| registration.boot_id.as_str());
        let rebooted = !before.is_empty() && before != data.boot_id;
        if rebooted && rule != ReturnToService::Always {
            stay_down(node, "Node unexpectedly rebooted", at);
        }
        come_back(node, rule, at);
        let unbroken = node.unbroken_gpus().to_vec();
        node.registration = Some(Arc::new(Registration {
            boot_id: data.boot_id.clone(),
            at,
            gpus: data.gpus.clone(),
            agent_version: data.agent_version.clone(),
            operating_system: data.operating_system.clone(),
            architecture: data.architecture.clone(),
            unconfined: data.unconfined.clone(),
        }));
        is_other = node.unbroken_gpus() != unbroken;
    });
    if is_other {
        cluster.forget_what_is_possible();
    }
}

fn return_to_service(cluster: &Cluster) -> ReturnToService {
    cluster
        .configured
        .as_ref()
        .map_or(ReturnToService::Always, |configured| configured.parameters.return_to_service)
}

/// The node is heard again. Whether it is down from now on is `ReturnToService`'s rule.
fn come_back(node: &mut Node, rule: ReturnToService, at: UtcMicros) {
    let was_given_up = node.silence.take().is_some_and(|silence| silence.timed_out);
    if was_given_up && rule == ReturnToService::Never {
        stay_down(node, "Not responding", at);
    }
}

/// Down until an administrator resumes it.
fn stay_down(node: &mut Node, why: &str, at: UtcMicros) {
    if !node.down {
        node.down = true;
        let reason =
            || Arc::new(NodeReason { text: why.to_string(), by: "planner".to_string(), uid: None, at });
        node.reason.get_or_insert_with(reason);
    }
}

pub(super) fn updated(cluster: &mut Cluster, event: &Event, data: &NodeUpdated) {
    let at = cluster.time;
    // A node that takes itself out of service says why; if it is out already, the reason that is there stands, as in Slurm.
    let is_by_itself = event.actor.authentication == Authentication::Service;
    if is_by_itself
        && data.is_withdrawal()
        && cluster.nodes.get(&data.node).is_some_and(|node| node.drain && node.reason.is_some())
    {
        return;
    }
    let reason = data.reason.as_ref().map(|text| {
        let by = event.actor.name.clone();
        Arc::new(NodeReason { text: text.clone(), by, uid: event.actor.uid, at })
    });
    cluster.change_node(&data.node, |node| {
        match data.state {
            Some(NodeUpdateState::Drain) => node.drain = true,
            Some(NodeUpdateState::Undrain) => node.drain = false,
            Some(NodeUpdateState::Down) => node.down = true,
            Some(NodeUpdateState::Fail) => node.fail = true,
            Some(NodeUpdateState::Resume) => {
                (node.drain, node.down, node.fail) = (false, false, false);
            }
            None => {}
        }
        if reason.is_some() {
            node.reason = reason;
        }
        if !node.drain && !node.down && !node.fail && data.state.is_some() {
            node.reason = None;
        }
        set_properties(node, data);
    });
    if data.features.is_some() || data.active_features.is_some() {
        cluster.forget_what_is_possible();
    }
    if data.state == Some(NodeUpdateState::Down) {
        end_runs(cluster, data);
    }
}

/// Weight and features are the configuration's again when the node is configured anew.
fn set_properties(node: &mut Node, data: &NodeUpdated) {
    if data.weight.is_some() || data.features.is_some() {
        let definition = Arc::make_mut(&mut node.definition);
        definition.weight = data.weight.unwrap_or(definition.weight);
        if let Some(features) = &data.features {
            // What was all of the old ones is still what it has.
            let active = || Arc::from(definition.features.as_slice());
            node.active_features.get_or_insert_with(active);
            definition.features.clone_from(features);
        }
    }
    if let Some(active) = &data.active_features {
        node.active_features = Some(active.clone().into());
    }
    if node.active_features.as_deref().is_some_and(|active| active == node.definition.features) {
        node.active_features = None;
    }
    let text = |text: &String| (!text.is_empty()).then(|| Arc::from(text.as_str()));
    if let Some(comment) = &data.comment {
        node.comment = text(comment);
    }
    if let Some(extra) = &data.extra {
        node.extra = text(extra);
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
    let (rule, at) = (return_to_service(cluster), cluster.time);
    cluster.change_node(name, |node| come_back(node, rule, at));
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
        if cluster.runs.get(run).is_some_and(|run| {
            run.end.is_none()
                && matches!(run.wish, RunWish::Run | RunWish::Suspend | RunWish::GiveWay | RunWish::UsedUp)
        }) {
            cluster.change_run(*run, |run| run.wish = RunWish::NodeDown);
        }
    }
}
