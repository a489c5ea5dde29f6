//! Chooses nodes for a demand, and what it gets of each.

use std::borrow::Cow;
use std::cell::Cell;

use super::demand::{Demand, GpuCounts};
use super::load::Load;
use super::network::Network;
use super::several::on_several;
use super::site::{Free, Share, Site};

/// Where demands are placed.
#[derive(Clone, Copy)]
pub struct Terrain<'t, 'a> {
    /// All nodes, in the order of the configuration.
    pub sites: &'t [Site<'a>],
    /// How they are connected.
    pub network: &'t Network,
    /// Goes up with the work that comes with a network or with neighbours wanted; one look at each node is the
    /// caller's to count.
    pub steps: &'t Cell<u64>,
    /// What decides between nodes on which a demand of one node fits; `None`: only how many GPUs they have free.
    pub rating: Option<&'t dyn Rating>,
}

/// How good nodes are for a demand of one node: first by what it costs those who come later, then by what is free.
pub type Rank = (i64, u64);

/// Ranks nodes for demands of one node.
pub trait Rating {
    /// The number of a demand, for [`Rating::rank`]; those that take the same of a node may share one.
    fn number(&self, demand: &Demand<'_>) -> usize;

    /// How good it is to give the demand with this number its part of `free`, which is what the node `at` could give; less
    /// is better. The first part is not below 0 for a demand that takes no GPU.
    fn rank(&self, number: usize, at: usize, free: &Free) -> Rank;
}

impl Terrain<'_, '_> {
    /// Counts work.
    pub(super) fn count_steps(&self, steps: usize) {
        self.steps.set(self.steps.get().saturating_add(steps as u64));
    }
}

/// The members that a demand may use at all, the preferred first: lowest weight, for a demand without GPUs the nodes
/// without GPUs, then the order of the configuration.
pub fn eligible(sites: &[Site<'_>], members: &[usize], demand: &Demand<'_>) -> Vec<usize> {
    let request = demand.request;
    let may_use = |at: &usize| {
        let node = sites[*at].node;
        request.nodes_excluded.binary_search(&node.definition.name).is_err()
            && request.features.iter().all(|feature| node.features().contains(feature))
    };
    let mut order: Vec<usize> = members.iter().copied().filter(may_use).collect();
    let avoid_gpus = !demand.wants_gpus();
    order.sort_by_key(|at| {
        let node = sites[*at].node;
        (node.definition.weight, avoid_gpus && !sites[*at].gpus.is_empty(), node.order, *at)
    });
    order
}

/// Nodes and resources for a demand, in the order of the configuration; `None` where it does not fit.
///
/// `order` are the nodes that it may use, the preferred first ([`eligible`]); `free` tells what each could give, and
/// `None` for a node that gives nothing. With more resources free in the same nodes the answer never turns to `None`
/// for demands of one node, or of several without job-wide GPUs and a limit on switches.
pub fn place<'f>(
    demand: &Demand<'_>,
    terrain: Terrain<'_, '_>,
    order: &[usize],
    free: &dyn Fn(usize) -> Option<Cow<'f, Free>>,
) -> Option<Vec<Share>> {
    let wants_many = demand.request.nodes_max.is_some() && demand.nodes_max.is_some_and(|most| most > 1);
    if demand.nodes_max == Some(0) || demand.nodes_max.is_some_and(|most| most < demand.nodes_min) {
        return None;
    }
    if demand.nodes_min == 1
        && !wants_many
        && let Some(share) = on_one(demand, terrain, order, free)
    {
        return Some(vec![share]);
    }
    if demand.nodes_max == Some(1) || demand.nodes_min == 1 && demand.tasks == 1 && only_one_node(demand) {
        return None;
    }
    let shares = on_several(demand, terrain, order, free);
    if shares.is_none() && demand.nodes_min == 1 && wants_many && !terrain.network.is_flat() {
        // A node under no switch is in no job of several.
        return on_one(demand, terrain, order, free).map(|share| vec![share]);
    }
    shares
}

/// Whether more nodes than one would not help a demand of one task.
fn only_one_node(demand: &Demand<'_>) -> bool {
    demand.gpus_per_job.is_empty() && demand.request.nodes_max.is_none()
}

/// A node on which a demand fits.
struct Choice<'f> {
    /// Its weight, and whether it has GPUs that the demand does not want.
    class: (u32, bool),
    /// How busy it is, where that counts.
    load: Load,
    /// How good it is; made when there is another to choose.
    rank: Option<Rank>,
    at: usize,
    free: Cow<'f, Free>,
    share: Share,
}

/// A node that can take all of it. Of those of the lowest weight (and then, for a demand without GPUs, those without
/// GPUs), and with `LLN` of the least loaded of those, the one with the lowest cost; of several the one with the fewest free GPUs, so that whole nodes stay whole,
/// or for a demand without GPUs the first.
fn on_one<'f>(
    demand: &Demand<'_>,
    terrain: Terrain<'_, '_>,
    order: &[usize],
    free: &dyn Fn(usize) -> Option<Cow<'f, Free>>,
) -> Option<Share> {
    let required = demand.request.nodes_required.first();
    let wanted = demand.gpus_per_node.plus(&demand.gpus_per_task, demand.tasks).plus(&demand.gpus_per_job, 1);
    let mut ranks = Ranks { rating: terrain.rating, demand, number: None };
    let mut best: Option<Choice<'f>> = None;
    for &at in order {
        let site = &terrain.sites[at];
        let class = (site.weight, wanted.is_empty() && !site.gpus.is_empty());
        if best.as_ref().is_some_and(|best| best.class < class) {
            break;
        }
        if required.is_some_and(|name| *name != site.node.definition.name) {
            continue;
        }
        let Some(free) = free(at) else { continue };
        if site.tasks_max(&free, demand).is_none_or(|most| most < demand.tasks) {
            continue;
        }
        let load = Load::of(site, &free, demand.least_loaded);
        let mut rank = None;
        if best.as_ref().is_some_and(|best| best.class == class && best.load < load) {
            continue;
        }
        if let Some(best) = best.as_mut().filter(|best| best.load == load) {
            let there = *best.rank.get_or_insert_with(|| ranks.of(best.at, &best.free));
            if wanted.is_empty() && !demand.least_loaded && ranks.is_best(&best.free, Some(there)) {
                break;
            }
            if there <= *rank.insert(ranks.of(at, &free)) {
                continue;
            }
        }
        let Some(share) = cut(demand, site, at, &free, demand.tasks, &wanted) else { continue };
        if wanted.is_empty() && !demand.least_loaded && ranks.is_best(&free, rank) {
            return Some(share);
        }
        best = Some(Choice { class, load, rank, at, free, share });
    }
    best.map(|best| best.share)
}

/// How good nodes are for one demand.
struct Ranks<'r, 'd> {
    rating: Option<&'r dyn Rating>,
    demand: &'r Demand<'d>,
    number: Option<usize>,
}

impl Ranks<'_, '_> {
    fn of(&mut self, at: usize, free: &Free) -> Rank {
        // Without a free GPU nothing of a node can become useless.
        match self.rating.filter(|_| !free.gpus.is_empty()) {
            Some(rating) => {
                rating.rank(*self.number.get_or_insert_with(|| rating.number(self.demand)), at, free)
            }
            None if self.demand.wants_gpus() => (0, free.gpus.count().into()),
            None => (0, 0),
        }
    }

    /// Whether no other node can be better for a demand without GPUs: it makes others useless and never useful, unless it
    /// has the node alone.
    fn is_best(&self, free: &Free, rank: Option<Rank>) -> bool {
        let costs_nothing = rank == Some((0, 0)) || free.gpus.is_empty();
        self.rating.is_none() || costs_nothing && !self.demand.exclusive
    }
}

/// The share of one node; `None` where the memory or the GPUs for it are not there.
pub(super) fn cut(
    demand: &Demand<'_>,
    site: &Site<'_>,
    at: usize,
    free: &Free,
    tasks: u32,
    wanted: &GpuCounts<'_>,
) -> Option<Share> {
    let cpu_count =
        if demand.exclusive { free.cpu_count } else { tasks.saturating_mul(demand.cpus_per_task) };
    if cpu_count > free.cpu_count {
        return None;
    }
    let mut gpus = site.choose_gpus(free, wanted, cpu_count)?;
    if demand.exclusive {
        gpus = free.gpus.clone();
    }
    let memory = site.memory_of(demand, cpu_count, gpus.count());
    if demand.memory_is_consumed && memory > demand.memory_there(free) {
        return None;
    }
    let cpus = match demand.exclusive {
        true => free.cpus.clone(),
        false => site.choose_cpus(free, cpu_count, site.cpus_near(&gpus).as_ref()),
    };
    Some(Share { site: at, cpus, memory, gpus, tasks })
}
