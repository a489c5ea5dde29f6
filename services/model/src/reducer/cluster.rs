use std::sync::Arc;

use daybook_schemas::events::ClusterConfigured;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::node::{NodeDefinition, NodeUpdateState};
use daybook_schemas::{Mebibytes, NodeName, UtcMicros};

use crate::cluster::Cluster;
use crate::node::{Node, NodeReason};

/// Nodes keep their state and runs; those no longer named go, at the latest when their last run is released.
pub(super) fn configured(cluster: &mut Cluster, data: &ClusterConfigured) {
    cluster.next_job_id = cluster.next_job_id.max(data.parameters.first_job_id);
    let data_in_force = Arc::new(data.clone());
    super::partition::reconfigure(cluster, data_in_force, |_| true);

    let known: Vec<NodeName> = cluster.nodes.keys().cloned().collect();
    for name in known {
        if !data.nodes.iter().any(|node| node.name == name) {
            retire(cluster, &name);
        }
    }
    for (order, definition) in data.nodes.iter().enumerate() {
        define(cluster, u32::try_from(order).unwrap_or(u32::MAX), definition);
    }
}

fn retire(cluster: &mut Cluster, name: &NodeName) {
    // What has been given up goes with the node: nobody will ever say that it is over.
    let runs = cluster.nodes.get(name).map(|node| node.runs.clone()).unwrap_or_default();
    for id in &runs {
        if cluster.runs.get(id).is_some_and(|run| run.given_up_on.contains(name)) {
            super::run::free_node(cluster, *id, name);
        }
    }
    match cluster.nodes.get(name) {
        Some(node) if node.runs.is_empty() => {
            cluster.nodes.remove(name);
        }
        _ => cluster.change_node(name, |node| node.retired = true),
    }
}

fn define(cluster: &mut Cluster, order: u32, definition: &NodeDefinition) {
    let definition = Arc::new(definition.clone());
    if cluster.nodes.contains_key(&definition.name) {
        cluster.change_node(&definition.name, |node| {
            node.definition = definition.clone();
            node.active_features = None;
            node.order = order;
            node.retired = false;
        });
        return;
    }
    let initial = definition.initial.as_ref();
    let reason = initial.filter(|initial| !initial.reason.is_empty()).map(|initial| {
        Arc::new(NodeReason {
            text: initial.reason.clone(),
            by: "root".to_string(),
            uid: Some(0),
            at: cluster.time,
        })
    });
    let node = Node {
        order,
        registration: None,
        drain: initial.is_some_and(|initial| initial.state == NodeUpdateState::Drain),
        down: initial.is_some_and(|initial| initial.state == NodeUpdateState::Down),
        fail: initial.is_some_and(|initial| initial.state == NodeUpdateState::Fail),
        active_features: None,
        comment: None,
        extra: None,
        retired: false,
        silence: None,
        last_reported: UtcMicros(0),
        reason,
        cpus_allocated: IndexSet::new(),
        memory_allocated: Mebibytes(0),
        gpus_allocated: IndexSet::new(),
        runs: imbl::OrdSet::new(),
        changed: cluster.position,
        definition,
    };
    cluster.nodes.insert(node.definition.name.clone(), Arc::new(node));
}
