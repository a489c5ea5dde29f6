//! What a whole is: factors are parts of these.

use std::sync::Arc;

use daybook_schemas::events::ClusterConfigured;
use imbl::OrdMap;

use crate::accounts::Accounts;
use crate::cluster::Cluster;
use crate::counts::Counts;

/// What the cluster and its partitions have, and the highest numbers that factors are divided by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Scale {
    pub(crate) nodes: u64,
    pub(crate) cpus: u64,
    /// The highest `PriorityJobFactor`.
    pub(crate) partition_factor_max: u32,
    pub(crate) partitions: OrdMap<Arc<str>, Arc<Counts>>,
}

impl Scale {
    pub(crate) fn of(configured: &ClusterConfigured) -> Scale {
        let nodes: OrdMap<&str, _> = configured.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
        let counts = |names: &[daybook_schemas::NodeName]| {
            Counts::of_definitions(names.iter().filter_map(|name| nodes.get(name.as_str()).copied()))
        };
        Scale {
            nodes: configured.nodes.len() as u64,
            cpus: configured.nodes.iter().map(|node| u64::from(node.cpus)).sum(),
            partition_factor_max: configured
                .partitions
                .iter()
                .map(|partition| partition.priority_job_factor)
                .max()
                .unwrap_or(0),
            partitions: configured
                .partitions
                .iter()
                .map(|partition| (Arc::from(partition.name.as_str()), Arc::new(counts(&partition.nodes))))
                .collect(),
        }
    }
}

/// The highest priorities among QOS and associations.
pub(super) fn highest(accounts: &Accounts) -> (u32, u32) {
    let qos = accounts.all_qos().values().map(|qos| qos.priority).max().unwrap_or(0);
    let associations = accounts.associations().values().filter_map(|association| association.priority);
    (qos, associations.max().unwrap_or(0))
}

impl Cluster {
    /// Measures the cluster anew: after every change of the configuration.
    pub(crate) fn measure(&mut self) {
        self.scale = self.configured.as_deref().map(Scale::of).unwrap_or_default();
    }
}
