//! What a start would take.

use daybook_schemas::job::{GpuScope, ResourceRequest, TimeLimit};
use daybook_schemas::license::License;
use daybook_schemas::run::RunNode;

use crate::charges::{Amounts, Tres, amounts};
use crate::cluster::Cluster;
use crate::counts::Counts;

/// What a start takes, or takes at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// In all.
    pub amounts: Amounts,
    /// On the node that gives most of it.
    pub per_node: Amounts,
    /// For how long.
    pub time: TimeLimit,
}

impl Need {
    /// What a request will take at least in a partition, wherever it is placed.
    pub fn of_request(
        cluster: &Cluster,
        request: &ResourceRequest,
        partition: &str,
        time: TimeLimit,
    ) -> Need {
        let partition = cluster.partition(partition).map(|partition| &**partition);
        let counts = Counts::of_asked(cluster, request, partition);
        let nodes_most = request.nodes_max.unwrap_or(request.tasks).max(request.nodes_min).max(1);
        let mut per_node = Counts { cpus: counts.cpus.div_ceil(nodes_most), nodes: 1, ..Counts::default() };
        for wish in &request.gpus {
            let each = match wish.scope {
                GpuScope::Node => wish.count,
                GpuScope::Job => wish.count.div_ceil(nodes_most),
                GpuScope::Task => wish.count.saturating_mul(request.tasks.div_ceil(nodes_most)),
            };
            let count = per_node.gpus.entry(wish.gpu_type.clone().unwrap_or_default()).or_insert(0u32);
            *count = count.saturating_add(each);
        }
        per_node.memory.0 = counts.memory.0.div_ceil(u64::from(nodes_most));
        per_node.billing = partition.and_then(|partition| cluster.bill(partition, &per_node, &[]));
        Need { amounts: amounts(&counts, &request.licenses), per_node: amounts(&per_node, &[]), time }
    }

    /// What a placed run takes that is billed so (`None`: its CPUs). What is billed on a node is what the partition's
    /// weights make of it, without licences.
    pub fn of_run(
        cluster: &Cluster,
        partition: &str,
        (nodes, billing): (&[RunNode], Option<u64>),
        licenses: &[License],
        time: TimeLimit,
    ) -> Need {
        let partition = cluster.partition(partition);
        let mut per_node = Amounts::new();
        for share in nodes {
            let mut counts = Counts::of_nodes(std::slice::from_ref(share));
            counts.billing = partition.and_then(|partition| cluster.bill(partition, &counts, &[]));
            for (tres, amount) in amounts(&counts, &[]) {
                let most = per_node.entry(tres).or_default();
                *most = amount.max(*most);
            }
        }
        let counts = Counts { billing, ..Counts::of_nodes(nodes) };
        Need { amounts: amounts(&counts, licenses), per_node, time }
    }

    /// Of a resource in all; of one that is not known by name 0.
    pub(super) fn of(&self, tres: Option<&Tres>) -> u64 {
        tres.and_then(|tres| self.amounts.get(tres)).copied().unwrap_or(0)
    }

    pub(super) fn on_a_node(&self, tres: Option<&Tres>) -> u64 {
        tres.and_then(|tres| self.per_node.get(tres)).copied().unwrap_or(0)
    }

    /// Of a resource times the time limit, in thousandths of resource-seconds; `None`: without end, or more than can be
    /// counted.
    pub(super) fn over_time(&self, tres: Option<&Tres>) -> Option<i128> {
        match (self.of(tres), self.time) {
            (0, _) => Some(0),
            (amount, TimeLimit::Seconds(seconds)) => {
                i128::from(amount).checked_mul(i128::from(seconds))?.checked_mul(1_000)
            }
            (_, TimeLimit::Unlimited) => None,
        }
    }
}
