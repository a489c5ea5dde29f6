use std::collections::BTreeSet;
use std::sync::Arc;

use daybook_schemas::JobId;
use daybook_schemas::events::{ClusterConfigured, PartitionDeleted, PartitionUpdated};
use daybook_schemas::node::PartitionDefinition;

use crate::cluster::Cluster;
use crate::job::Job;

/// One partition is as said here; a new one is the last. Only one is the default.
pub(super) fn updated(cluster: &mut Cluster, data: &PartitionUpdated) {
    let Some(configured) = cluster.configured.clone() else { return };
    let mut configured = Arc::unwrap_or_clone(configured);
    let changed = &data.partition;
    if changed.default {
        configured.partitions.iter_mut().for_each(|partition| partition.default = false);
    }
    match configured.partitions.iter_mut().find(|partition| partition.name == changed.name) {
        Some(partition) => *partition = changed.clone(),
        None => configured.partitions.push(changed.clone()),
    }
    reconfigure(cluster, Arc::new(configured), |job| job.may_start_in(&changed.name));
}

/// Jobs that wait in it nevertheless (submitted at the same time) stay, and do not start there.
pub(super) fn deleted(cluster: &mut Cluster, data: &PartitionDeleted) {
    let Some(configured) = cluster.configured.clone() else { return };
    let mut configured = Arc::unwrap_or_clone(configured);
    configured.partitions.retain(|partition| partition.name != data.name);
    reconfigure(cluster, Arc::new(configured), |job| job.may_start_in(&data.name));
}

/// Puts a configuration in force. Tiers and limits of partitions are part of the queue's order and kinds: the waiting
/// records that `concerned` tells are taken out under the old ones and put in under the new.
pub(super) fn reconfigure(
    cluster: &mut Cluster,
    configured: Arc<ClusterConfigured>,
    concerned: impl Fn(&Job) -> bool,
) {
    cluster.forget_what_is_possible();
    let was_multifactor = cluster.priority_parameters().is_some();
    let enforced_limits = cluster.enforces_limits();
    let waiting = queued(cluster).into_iter().filter_map(|id| cluster.jobs.get(&id).cloned());
    let waiting: Vec<Arc<Job>> = waiting.filter(|job| concerned(job)).collect();
    waiting.iter().for_each(|job| cluster.unindex(job));
    cluster.name_partitions(&configured.partitions);
    cluster.configured = Some(configured);
    waiting.iter().for_each(|job| cluster.index(job));
    cluster.reconfigure_priorities(was_multifactor);
    match cluster.enforces_limits() == enforced_limits {
        true => cluster.note_stale_charges(),
        false => cluster.derive_charges(),
    }
}

/// Those whose place in an index depends on the configuration.
fn queued(cluster: &Cluster) -> BTreeSet<JobId> {
    let ready = cluster.ready.iter().map(|key| key.job);
    let dated = cluster.delayed.iter().chain(cluster.deadlines.iter()).map(|(_, job)| *job);
    let hopeless = cluster.jobs.values().filter(|job| job.dependencies_hopeless()).map(|job| job.id);
    ready.chain(dated).chain(hopeless).collect()
}

impl Cluster {
    /// Makes the partitions by name anew. Names that were there stay the same copies, by which jobs share them.
    pub(crate) fn name_partitions(&mut self, partitions: &[PartitionDefinition]) {
        let named = partitions
            .iter()
            .map(|partition| (self.shared_partition(&partition.name), Arc::new(partition.clone())));
        self.partitions = named.collect();
    }
}
