use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use daybook_schemas::NodeName;
use daybook_schemas::job::{Reason, ResourceRequest, TimeLimit};
use daybook_schemas::node::PartitionDefinition;
use daybook_schemas::topology::Topology;

use super::demand::{Demand, MemoryNeed};
use super::network::Network;
use super::place::{Terrain, eligible, place};
use super::site::Site;
use crate::cluster::Cluster;

/// Why a request could not start even in an empty cluster. The text is Slurm's last line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// There is no configuration yet, or no such partition.
    #[error("Invalid partition name specified")]
    NoPartition(String),
    /// `-w` or `-x` names a node that is not configured.
    #[error("Invalid node name specified")]
    NoNode(NodeName),
    /// No node of the cluster has this feature.
    #[error("Invalid feature specification")]
    NoFeature(String),
    /// Fewer nodes at most than at least, or none.
    #[error("Node count specification invalid")]
    NodeCount,
    /// No node of the partition has as many CPUs as a node would need.
    #[error("Requested node configuration is not available")]
    CpusPerNode,
    /// No node of the partition has as much memory as a node would need.
    #[error("Requested node configuration is not available")]
    MemoryPerNode,
    /// No choice of the partition's nodes has all that is wanted.
    #[error("Requested node configuration is not available")]
    NodeConfiguration,
}

impl Impossible {
    /// Slurm's line before the last, where it has one.
    pub fn detail(&self) -> Option<&'static str> {
        match self {
            Impossible::CpusPerNode => Some("CPU count per node can not be satisfied"),
            Impossible::MemoryPerNode => Some("Memory specification can not be satisfied"),
            _ => None,
        }
    }
}

/// Whether every node and feature that a request names is there.
pub fn check_names(cluster: &Cluster, request: &ResourceRequest) -> Result<(), Impossible> {
    let mut named = request.nodes_required.iter().chain(&request.nodes_excluded);
    if let Some(unknown) = named.find(|name| !cluster.nodes().contains_key(*name)) {
        return Err(Impossible::NoNode(unknown.clone()));
    }
    let known =
        |feature: &String| cluster.nodes().values().any(|node| node.definition.features.contains(feature));
    match request.features.iter().find(|feature| !known(feature)) {
        Some(unknown) => Err(Impossible::NoFeature(unknown.clone())),
        None => Ok(()),
    }
}

/// Whether a request could start in a partition with all its nodes up, unbroken and empty.
///
/// What breaks a limit of the partition is no matter of this function ([`partition_limit`]): such jobs are accepted
/// and wait, unless `EnforcePartLimits` is set. Linear in the partition's nodes.
pub fn could_ever_start(
    cluster: &Cluster,
    partition: &str,
    request: &ResourceRequest,
) -> Result<(), Impossible> {
    let no_partition = || Impossible::NoPartition(partition.to_string());
    let configured = cluster.configured().ok_or_else(no_partition)?;
    let partition = cluster.partition(partition).ok_or_else(no_partition)?;
    check_names(cluster, request)?;
    if request.nodes_min == 0 || request.nodes_max.is_some_and(|most| most < request.nodes_min) {
        return Err(Impossible::NodeCount);
    }
    let sites: Vec<Site<'_>> = partition
        .nodes
        .iter()
        .filter_map(|name| cluster.nodes().get(name))
        .map(|node| Site::unbroken(node))
        .collect();
    let demand = Demand::new(request, partition, &configured.parameters);
    node_suffices(&sites, &demand)?;
    if partition_size_limit(cluster, partition, request).is_some() {
        return Ok(());
    }
    let members: Vec<usize> = (0..sites.len()).collect();
    let order = eligible(&sites, &members, &demand);
    let whole = |at: usize| Some(Cow::Owned(sites[at].whole()));
    let network = network_of(configured.topology.as_ref(), &sites);
    let terrain = Terrain { sites: &sites, network: &network, steps: &Cell::new(0), rating: None };
    place(&demand, terrain, &order, &whole).map(|_| ()).ok_or(Impossible::NodeConfiguration)
}

fn network_of(topology: Option<&Topology>, sites: &[Site<'_>]) -> Network {
    if topology.is_none() {
        return Network::default();
    }
    let numbers: BTreeMap<&NodeName, usize> =
        sites.iter().enumerate().map(|(at, site)| (&site.node.definition.name, at)).collect();
    Network::new(topology, sites.len(), |name| numbers.get(name).copied())
}

/// Whether some node has what every node of the run must have.
fn node_suffices(sites: &[Site<'_>], demand: &Demand<'_>) -> Result<(), Impossible> {
    let tasks = demand.request.tasks_per_node.unwrap_or(1).min(demand.tasks).max(1);
    let cpus = u64::from(tasks) * u64::from(demand.cpus_per_task);
    if !sites.iter().any(|site| u64::from(site.node.definition.cpus) >= cpus) {
        return Err(Impossible::CpusPerNode);
    }
    let memory = match demand.memory {
        MemoryNeed::Nothing | MemoryNeed::Whole => 0,
        MemoryNeed::PerNode(amount) => amount,
        MemoryNeed::PerCpu(amount) => amount.saturating_mul(u64::from(demand.cpus_per_task)),
        MemoryNeed::PerGpu(amount) => amount.saturating_mul(u64::from(
            demand.gpus_per_node.total().saturating_add(demand.gpus_per_task.total()).max(1),
        )),
    };
    if !sites.iter().any(|site| site.node.definition.memory.0 >= memory) {
        return Err(Impossible::MemoryPerNode);
    }
    let wanted = demand.gpus_per_node.plus(&demand.gpus_per_task, 1);
    if !sites.iter().any(|site| site.has_gpus(&site.whole(), &wanted)) {
        return Err(Impossible::NodeConfiguration);
    }
    Ok(())
}

/// The limit of a partition that a request breaks: its time, its number of nodes, or its size. `EnforcePartLimits`
/// refuses such jobs; otherwise they wait, with this as their reason, until limit or job is changed.
pub fn partition_limit(
    cluster: &Cluster,
    partition: &PartitionDefinition,
    request: &ResourceRequest,
    time_limit: TimeLimit,
) -> Option<Reason> {
    // Unlimited is greater than any number of minutes.
    if time_limit > partition.max_time {
        return Some(Reason::PartitionTimeLimit);
    }
    partition_size_limit(cluster, partition, request)
}

/// The part of [`partition_limit`] that no time limit changes.
pub fn partition_size_limit(
    cluster: &Cluster,
    partition: &PartitionDefinition,
    request: &ResourceRequest,
) -> Option<Reason> {
    let nodes = u32::try_from(partition.nodes.len()).unwrap_or(u32::MAX);
    let required = u32::try_from(request.nodes_required.len()).unwrap_or(u32::MAX);
    let asked = request.nodes_min.max(required);
    let above = asked > partition.max_nodes.unwrap_or(u32::MAX) || asked > nodes;
    let below = request.nodes_max.is_some_and(|most| most < partition.min_nodes);
    if above || below {
        return Some(Reason::PartitionNodeLimit);
    }
    let cpus_of = |name| cluster.nodes().get(name).map_or(0, |node| u64::from(node.definition.cpus));
    let wanted = u64::from(request.tasks.max(asked)) * u64::from(request.cpus_per_task.max(1));
    // The sum is needed only for requests of more than the first node has.
    let is_small = partition.nodes.first().is_some_and(|name| cpus_of(name) >= wanted);
    let enough = |sum: u64, name| match sum + cpus_of(name) {
        sum if sum >= wanted => ControlFlow::Break(()),
        sum => ControlFlow::Continue(sum),
    };
    let is_large = !is_small && partition.nodes.iter().try_fold(0, enough).is_continue();
    is_large.then_some(Reason::PartitionConfig)
}
