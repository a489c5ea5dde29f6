use std::sync::Arc;

use daybook_schemas::events::ClusterConfigured;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::node::{NodeDefinition, NodeUpdateState};
use daybook_schemas::{JobId, Mebibytes, NodeName, UtcMicros};

use crate::cluster::Cluster;
use crate::job::Job;
use crate::node::{Node, NodeReason};

/// Nodes keep their state and runs; those no longer named go, at the latest when their last run is released.
pub(super) fn configured(cluster: &mut Cluster, data: &ClusterConfigured) {
    cluster.forget_what_is_possible();
    // Partition tiers are part of the queue's order: take the waiting records out under the old ones.
    let waiting: Vec<Arc<Job>> =
        queued(cluster).iter().filter_map(|id| cluster.jobs.get(id).cloned()).collect();
    waiting.iter().for_each(|job| cluster.unindex(job));
    cluster.partitions = data
        .partitions
        .iter()
        .map(|partition| (Arc::from(partition.name.as_str()), Arc::new(partition.clone())))
        .collect();
    cluster.next_job_id = cluster.next_job_id.max(data.parameters.first_job_id);
    cluster.configured = Some(Arc::new(data.clone()));
    waiting.iter().for_each(|job| cluster.index(job));

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

fn queued(cluster: &Cluster) -> Vec<JobId> {
    let ready = cluster.ready.iter().map(|key| key.job);
    ready.chain(cluster.delayed.iter().map(|(_, job)| *job)).collect()
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
