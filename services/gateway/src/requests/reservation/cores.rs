//! Which cores a reservation keeps that keeps no whole nodes (`CoreCnt`). Slurm's rules: of named nodes a count for each, in
//! the order of the configuration; of a number of nodes the same share of each; else as many as each node can give, node by
//! node.

use daybook_model::{Cluster, Node};
use daybook_schemas::UtcMicros;
use daybook_schemas::api::{ApiError, ErrorCode, NamedNodes, ReservationWish};
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::reservation::{NodeChoice, ReservationDefinition, ReservedCpus};

use super::nodes;

/// Chooses the nodes and their cores.
pub(super) fn choose(
    cluster: &Cluster,
    made: &mut ReservationDefinition,
    wish: &ReservationWish,
    counts: &[u32],
    now: UtcMicros,
) -> Result<(), ApiError> {
    if counts.is_empty() || counts.contains(&0) {
        return Err(inconsistent("each count is at least 1"));
    }
    nodes::check_partition_nodes(made, wish)?;
    let wants_all = matches!(wish.nodes, Some(NamedNodes::All)) || made.choice == NodeChoice::Partition;
    let is_named = wants_all || wish.nodes.is_some();
    let members = nodes::members(cluster, made)?;
    let question = Question { cluster, made: &*made, is_named, now };
    let (choice, mut cpus) = match (&wish.nodes, wish.node_count) {
        (Some(NamedNodes::These(names)), _) => {
            let mut named = Vec::new();
            for name in names {
                let node = cluster.nodes().get(name).filter(|node| !node.retired);
                named.push(node.ok_or_else(nodes::invalid_name)?.as_ref());
            }
            named.sort_by_key(|node| (node.order, &node.definition.name));
            named.dedup_by_key(|node| &node.definition.name);
            (NodeChoice::Named, question.each(&named, counts)?)
        }
        _ if wants_all => {
            let choice = match (made.choice, &made.partition) {
                (NodeChoice::Partition, _) => NodeChoice::Partition,
                (_, Some(_)) => NodeChoice::Named,
                (_, None) => NodeChoice::All,
            };
            (choice, question.each(&members, counts)?)
        }
        (_, nodes_wanted) => {
            let [count] = counts else {
                return Err(inconsistent("a count for each node goes with the nodes' names (Nodes=)"));
            };
            let members = question.preferred(&members)?;
            let cpus = match nodes_wanted {
                Some(nodes) => question.shared(&members, *count, nodes)?,
                None => question.in_all(&members, *count)?,
            };
            (NodeChoice::Counted, cpus)
        }
    };
    cpus.sort_unstable_by(|a, b| a.node.cmp(&b.node));
    made.choice = choice;
    made.nodes = cpus.iter().map(|kept| kept.node.clone()).collect();
    made.cpus = cpus;
    Ok(())
}

/// Whether the CPUs that a reservation keeps can still be its own, at another time or with other flags.
pub(super) fn check_kept(
    cluster: &Cluster,
    made: &ReservationDefinition,
    now: UtcMicros,
) -> Result<(), ApiError> {
    for kept in &made.cpus {
        let Some(node) = cluster.nodes().get(&kept.node) else { continue };
        let taken = Taken::of(cluster, made, node, now);
        if !taken.reserved_of(&kept.cpus).is_empty() {
            return Err(nodes::overlap());
        }
        if !made.flags.ignore_jobs && !taken.busy.intersection(&kept.cpus).is_empty() {
            return Err(nodes::busy());
        }
    }
    Ok(())
}

/// Slurm's sentence for counts that do not go with the nodes.
fn inconsistent(why: &str) -> ApiError {
    ApiError::new(ErrorCode::InvalidReservation, "Core count for reservation node list is not consistent!")
        .detail(why)
}

fn impossible() -> ApiError {
    ApiError::new(ErrorCode::UnavailableConfiguration, "Requested node configuration is not available")
}

/// What of a node others have.
struct Taken {
    /// Another reservation keeps all of it.
    is_whole: bool,
    /// CPUs that other reservations keep.
    reserved: IndexSet,
    /// CPUs of runs that go on into the reservation.
    busy: IndexSet,
}

impl Taken {
    fn of(cluster: &Cluster, made: &ReservationDefinition, node: &Node, now: UtcMicros) -> Taken {
        let name = &node.definition.name;
        let mut taken = Taken { is_whole: false, reserved: IndexSet::new(), busy: IndexSet::new() };
        for other in nodes::others_on(cluster, made, name, now) {
            match other.definition.cpus_of(name) {
                None => taken.is_whole = true,
                Some(cpus) => taken.reserved = taken.reserved.union(cpus),
            }
        }
        for run in nodes::going_on(cluster, made, node) {
            let here = run.nodes.iter().filter(|share| share.node == *name);
            here.for_each(|share| taken.busy = taken.busy.union(&share.cpus));
        }
        taken
    }

    /// Of these CPUs those that are reserved.
    fn reserved_of(&self, cpus: &IndexSet) -> IndexSet {
        if self.is_whole { cpus.clone() } else { self.reserved.intersection(cpus) }
    }
}

struct Question<'q> {
    cluster: &'q Cluster,
    made: &'q ReservationDefinition,
    /// Nodes that are named, up or not.
    is_named: bool,
    now: UtcMicros,
}

impl<'q> Question<'q> {
    /// So many cores of each of these nodes.
    fn each(&self, named: &[&Node], counts: &[u32]) -> Result<Vec<ReservedCpus>, ApiError> {
        if named.len() != counts.len() {
            let why = format!("{} counts for {} nodes", counts.len(), named.len());
            return Err(inconsistent(&why));
        }
        if named.iter().zip(counts).any(|(node, count)| cores_of(node) < *count) {
            return Err(impossible());
        }
        let is_whole = |node: &&Node| Taken::of(self.cluster, self.made, node, self.now).is_whole;
        if named.iter().any(is_whole) {
            return Err(nodes::overlap());
        }
        let chosen = named.iter().zip(counts).map(|(node, count)| self.cores(node, *count));
        chosen.collect()
    }

    /// Nodes with the features, those on which nothing runs first, then those of the lowest weight.
    fn preferred<'n>(&self, members: &[&'n Node]) -> Result<Vec<&'n Node>, ApiError> {
        let mut fitting = nodes::with_features(self.made, members)?;
        fitting.sort_by_key(|node| (!node.runs.is_empty(), node.definition.weight, node.order));
        Ok(fitting)
    }

    /// So many cores of so many nodes: as many of each, and one more of the first where that does not come out even.
    fn shared(&self, members: &[&Node], count: u32, nodes: u32) -> Result<Vec<ReservedCpus>, ApiError> {
        if nodes == 0 {
            return Err(ApiError::new(ErrorCode::NodeCountInvalid, "Node count specification invalid"));
        }
        if count < nodes {
            return Err(inconsistent("there are fewer cores than nodes"));
        }
        let share = |number: u32| count / nodes + u32::from(number < count % nodes);
        let wide_enough = |least: u32| members.iter().filter(|node| cores_of(node) >= least).count();
        let larger = (count % nodes) as usize;
        if wide_enough(count / nodes) < nodes as usize || wide_enough(count / nodes + 1) < larger {
            return Err(impossible());
        }
        let (mut left, mut chosen) = (members.to_vec(), Vec::new());
        for number in 0..nodes {
            let found = left.iter().position(|node| self.free(node).len() as u32 >= share(number));
            let node = left.remove(found.ok_or_else(nodes::busy)?);
            chosen.push(self.cores(node, share(number))?);
        }
        Ok(chosen)
    }

    /// So many cores, of as few of the preferred nodes as have them.
    fn in_all(&self, members: &[&Node], count: u32) -> Result<Vec<ReservedCpus>, ApiError> {
        let all: u64 = members.iter().map(|node| u64::from(cores_of(node))).sum();
        if all < u64::from(count) {
            return Err(impossible());
        }
        let (mut missing, mut chosen) = (count, Vec::new());
        for node in members {
            let here = missing.min(self.free(node).len() as u32);
            if here > 0 {
                chosen.push(self.cores(node, here)?);
                missing -= here;
            }
            if missing == 0 {
                return Ok(chosen);
            }
        }
        Err(nodes::busy())
    }

    /// The cores of a node that can be kept, those first that nobody has at any rate.
    fn free(&self, node: &Node) -> Vec<u32> {
        if !node.is_schedulable() && !self.is_named {
            return Vec::new();
        }
        let taken = Taken::of(self.cluster, self.made, node, self.now);
        let mut free: Vec<(bool, u32)> = Vec::new();
        for core in 0..cores_of(node) {
            let cpus = cpus_of(node, core);
            let is_busy = !taken.busy.intersection(&cpus).is_empty();
            if taken.reserved_of(&cpus).is_empty() && (self.made.flags.ignore_jobs || !is_busy) {
                free.push((is_busy, core));
            }
        }
        free.sort_unstable();
        free.into_iter().map(|(_, core)| core).collect()
    }

    /// The CPUs of so many cores of a node.
    fn cores(&self, node: &Node, count: u32) -> Result<ReservedCpus, ApiError> {
        let free = self.free(node);
        let chosen = free.get(..count as usize).ok_or_else(nodes::busy)?;
        let cpus = chosen.iter().flat_map(|core| cpus_of(node, *core).iter().collect::<Vec<_>>()).collect();
        Ok(ReservedCpus { node: node.definition.name.clone(), cpus })
    }
}

fn threads_of(node: &Node) -> u32 {
    node.definition.threads_per_core.max(1)
}

fn cores_of(node: &Node) -> u32 {
    node.definition.cpus / threads_of(node)
}

/// The CPUs of a core.
fn cpus_of(node: &Node, core: u32) -> IndexSet {
    let threads = threads_of(node);
    (core * threads..(core + 1) * threads).collect()
}

#[cfg(test)]
mod tests;
