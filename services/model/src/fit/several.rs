//! Demands of several nodes: which nodes, and what of them.
//!
//! Without a network all nodes are equally close, and the preferred ones are taken. With one, a demand goes to the lowest
//! switch that can hold it: of several on one level to the one where the fewest nodes would do for it. Below a higher
//! switch it fills leaf switches, those with most room first, so that it is on few; the last is the one that it fits
//! best. Weights, and with `LLN` loads, count among the nodes of a switch.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::contiguous::among_neighbours;
use super::demand::{Demand, GpuCounts, MemoryNeed};
use super::load::Load;
use super::network::Group;
use super::place::{Terrain, cut};
use super::site::{Free, Share, Site};

/// What one node can add to a demand of several nodes.
pub(super) struct Room<'f> {
    pub(super) site: usize,
    pub(super) order: u32,
    weight: u32,
    load: Load,
    avoided: bool,
    pub(super) required: bool,
    pub(super) tasks: u32,
    free: Cow<'f, Free>,
}

pub(super) fn on_several<'f>(
    demand: &Demand<'_>,
    terrain: Terrain<'_, '_>,
    order: &[usize],
    free: &dyn Fn(usize) -> Option<Cow<'f, Free>>,
) -> Option<Vec<Share>> {
    let mut rooms: Vec<Room<'f>> = Vec::new();
    for &at in order {
        let (site, Some(free)) = (&terrain.sites[at], free(at)) else { continue };
        let Some(tasks) = site.tasks_max(&free, demand) else { continue };
        let name = &site.node.definition.name;
        rooms.push(Room {
            site: at,
            order: site.node.order,
            weight: site.weight,
            load: Load::of(site, &free, demand.least_loaded),
            avoided: !demand.wants_gpus() && !site.gpus.is_empty(),
            required: demand.request.nodes_required.binary_search(name).is_ok(),
            tasks,
            free,
        });
    }
    if rooms.iter().filter(|room| room.required).count() < demand.request.nodes_required.len() {
        return None;
    }
    if terrain.network.is_flat() {
        return among(demand, terrain, &mut rooms.iter().collect::<Vec<_>>());
    }
    below_switches(demand, terrain, &rooms)
}

/// Among rooms that are equally close to each other.
fn among(demand: &Demand<'_>, terrain: Terrain<'_, '_>, rooms: &mut [&Room<'_>]) -> Option<Vec<Share>> {
    if demand.request.contiguous {
        return among_neighbours(demand, terrain, rooms);
    }
    let mut found = Attempt::all(demand).iter().filter_map(|attempt| {
        attempt.sort(demand, rooms, |_| 0);
        take_in_order(demand, terrain.sites, rooms)
    });
    match demand.gpus_per_job.is_empty() || demand.nodes_max == Some(demand.nodes_min) {
        true => found.next(),
        // Where preferred nodes have no GPUs, those that have come on top of them: the fewest nodes are the fewest CPUs.
        false => found.min_by_key(Vec::len),
    }
}

/// In which order rooms are taken. A demand of exactly so many nodes takes the preferred ones. One that may spread takes
/// large rooms first, for few nodes. With `LLN` both take the least loaded. Where neither has enough tasks, or enough GPUs, the largest rooms decide.
#[derive(Clone, Copy)]
enum Attempt {
    Preferred,
    Tasks,
    Gpus,
}

impl Attempt {
    fn all(demand: &Demand<'_>) -> &'static [Attempt] {
        match demand.gpus_per_job.is_empty() {
            true => &[Attempt::Preferred, Attempt::Tasks],
            false => &[Attempt::Preferred, Attempt::Tasks, Attempt::Gpus],
        }
    }

    /// Sorts rooms: required ones first, then by the rank of their leaf, then as the attempt says. `rooms` are in the
    /// order of preference, or in that of an earlier attempt.
    fn sort(self, demand: &Demand<'_>, rooms: &mut [&Room<'_>], rank: impl Fn(&Room<'_>) -> usize) {
        match self {
            Attempt::Preferred if demand.least_loaded => rooms.sort_by_key(|room| {
                (!room.required, rank(room), room.weight, room.avoided, room.load, room.order)
            }),
            Attempt::Preferred if demand.nodes_max == Some(demand.nodes_min) => {
                rooms.sort_by_key(|room| (!room.required, rank(room)));
            }
            Attempt::Preferred => rooms.sort_by_key(|room| {
                let size = Reverse(room.tasks);
                (!room.required, rank(room), room.weight, room.avoided, size, room.order)
            }),
            Attempt::Tasks => rooms.sort_by_key(|room| {
                (!room.required, rank(room), Reverse(room.tasks), room.weight, room.order)
            }),
            Attempt::Gpus => rooms.sort_by_key(|room| {
                let size = Reverse(room.free.gpus.count());
                (!room.required, rank(room), size, room.weight, room.order)
            }),
        }
    }

    /// What a room adds to the size of its leaf.
    fn size(self, demand: &Demand<'_>, room: &Room<'_>) -> u64 {
        match self {
            Attempt::Preferred if demand.nodes_max == Some(demand.nodes_min) => 1,
            Attempt::Preferred | Attempt::Tasks => room.tasks.into(),
            Attempt::Gpus => room.free.gpus.count().into(),
        }
    }
}

/// Rooms by the leaf that they are on.
struct Leaves<'r, 'f> {
    rooms: &'r [Room<'f>],
    /// Positions in `rooms`, ascending.
    by_leaf: Vec<Vec<usize>>,
}

impl<'r, 'f> Leaves<'r, 'f> {
    /// The rooms below a switch, the preferred first.
    fn below(&self, group: &Group) -> Vec<&'r Room<'f>> {
        let mut below: Vec<usize> =
            group.leaves.iter().flat_map(|leaf| &self.by_leaf[*leaf]).copied().collect();
        below.sort_unstable();
        below.into_iter().map(|at| &self.rooms[at]).collect()
    }

    fn count(&self, group: &Group) -> usize {
        group.leaves.iter().map(|leaf| self.by_leaf[*leaf].len()).sum()
    }
}

fn below_switches(demand: &Demand<'_>, terrain: Terrain<'_, '_>, rooms: &[Room<'_>]) -> Option<Vec<Share>> {
    let network = terrain.network;
    let mut leaves = Leaves { rooms, by_leaf: vec![Vec::new(); network.leaves()] };
    for (at, room) in rooms.iter().enumerate() {
        if let Some(leaf) = network.leaf(room.site) {
            leaves.by_leaf[leaf].push(at);
        }
    }
    let mut candidates: Vec<(u32, usize, usize)> = Vec::new();
    for (number, group) in network.groups().iter().enumerate() {
        terrain.count_steps(group.leaves.len());
        let count = leaves.count(group);
        if count >= demand.nodes_min as usize {
            candidates.push((group.level, count, number));
        }
    }
    candidates.sort_unstable();
    let most = demand.request.nodes_max.map_or(0, |_| demand.most_nodes()) as usize;
    let mut best: Option<Vec<Share>> = None;
    for (_, count, number) in candidates {
        if best.as_ref().is_some_and(|best| best.len() >= count.min(most)) {
            continue;
        }
        let group = &network.groups()[number];
        let mut below = leaves.below(group);
        terrain.count_steps(below.len());
        let required = below.iter().filter(|room| room.required).count();
        let tasks = below.iter().fold(0u32, |sum, room| sum.saturating_add(room.tasks));
        if required < demand.request.nodes_required.len() || tasks < demand.tasks {
            continue;
        }
        let found = match (demand.request.contiguous, group.leaves.len()) {
            (true, _) => among_neighbours(demand, terrain, &mut below),
            (false, 1) => among(demand, terrain, &mut below),
            (false, _) => on_few_leaves(demand, terrain, group, &mut below),
        };
        let Some(shares) = found else { continue };
        if shares.len() >= most {
            return Some(shares);
        }
        // A range of nodes is taken as far as it goes, also where a higher switch has more of them.
        if best.as_ref().is_none_or(|best| best.len() < shares.len()) {
            best = Some(shares);
        }
    }
    best
}

/// On as few leaf switches below one switch as it takes, and on no more than the demand allows.
fn on_few_leaves(
    demand: &Demand<'_>,
    terrain: Terrain<'_, '_>,
    group: &Group,
    rooms: &mut [&Room<'_>],
) -> Option<Vec<Share>> {
    let leaf = |site: usize| terrain.network.leaf(site).unwrap_or(usize::MAX);
    let by_preference = rooms.to_vec();
    let position = |leaf: usize| group.leaves.binary_search(&leaf).unwrap_or(usize::MAX);
    for attempt in Attempt::all(demand) {
        let mut sizes: Vec<(bool, u64, u32)> = vec![(false, 0, 0); group.leaves.len()];
        for room in &by_preference {
            let Some((required, size, count)) = sizes.get_mut(position(leaf(room.site))) else { continue };
            *required |= room.required;
            *size = size.saturating_add(attempt.size(demand, room));
            *count += 1;
        }
        let mut ranked: Vec<usize> = (0..group.leaves.len()).filter(|at| sizes[*at].2 > 0).collect();
        ranked.sort_by_key(|at| (!sizes[*at].0, Reverse(sizes[*at].1), *at));
        let found = on_ranked(demand, terrain, group, &by_preference, *attempt, &ranked);
        let Some(found) = found else { continue };
        let used: BTreeSet<usize> = found.iter().map(|share| position(leaf(share.site))).collect();
        let Some(last) = ranked.iter().rev().find(|at| used.contains(at)).copied() else {
            return Some(found);
        };
        let in_last = found.iter().filter(|share| position(leaf(share.site)) == last).count() as u32;
        // The last leaf may have more room than what is left needs: the smallest that does for it instead.
        let fits_better =
            |at: &usize| !used.contains(at) && sizes[*at].2 >= in_last && sizes[*at].2 < sizes[last].2;
        let better = ranked.iter().copied().filter(fits_better).min_by_key(|at| (sizes[*at].2, *at));
        let Some(better) = better.filter(|_| !sizes[last].0) else { return Some(found) };
        let mut leaves: Vec<usize> =
            ranked.iter().copied().filter(|at| used.contains(at) && *at != last).collect();
        leaves.push(better);
        let again = on_ranked(demand, terrain, group, &by_preference, *attempt, &leaves);
        return Some(again.filter(|again| again.len() == found.len()).unwrap_or(found));
    }
    if demand.switches_max.is_some() {
        return None;
    }
    // Few leaves do not have what is wanted: whatever has it.
    among(demand, terrain, rooms)
}

/// Takes rooms leaf by leaf, of these leaves (positions in the group) in this order.
fn on_ranked(
    demand: &Demand<'_>,
    terrain: Terrain<'_, '_>,
    group: &Group,
    rooms: &[&Room<'_>],
    attempt: Attempt,
    leaves: &[usize],
) -> Option<Vec<Share>> {
    let mut ranks = vec![usize::MAX; group.leaves.len()];
    let most = demand.switches_max.unwrap_or(u32::MAX) as usize;
    leaves.iter().take(most).enumerate().for_each(|(rank, at)| ranks[*at] = rank);
    let rank = |room: &Room<'_>| {
        let leaf = terrain.network.leaf(room.site);
        leaf.and_then(|leaf| group.leaves.binary_search(&leaf).ok()).map_or(usize::MAX, |at| ranks[at])
    };
    let mut chosen: Vec<&Room<'_>> = rooms.iter().copied().filter(|room| rank(room) < usize::MAX).collect();
    terrain.count_steps(rooms.len());
    if chosen.iter().filter(|room| room.required).count() < demand.request.nodes_required.len() {
        return None;
    }
    attempt.sort(demand, &mut chosen, rank);
    take_in_order(demand, terrain.sites, &chosen)
}

/// Takes rooms from the front until there are enough nodes, tasks and GPUs, and distributes over them.
pub(super) fn take_in_order(
    demand: &Demand<'_>,
    sites: &[Site<'_>],
    rooms: &[&Room<'_>],
) -> Option<Vec<Share>> {
    let most = demand.most_nodes();
    // A range of nodes is taken as far as it goes.
    let at_least = if demand.request.nodes_max.is_some() { most } else { demand.nodes_min };
    let mut chosen: Vec<&Room<'_>> = Vec::new();
    let (mut tasks, mut gpus) = (0u32, vec![0u32; demand.gpus_per_job.typed.len()]);
    let mut gpus_any = 0u32;
    let last_required = rooms.iter().rposition(|room| room.required);
    for (at, room) in rooms.iter().enumerate() {
        let count = chosen.len() as u32;
        let gpus_enough = gpus_any >= demand.gpus_per_job.total()
            && gpus.iter().zip(&demand.gpus_per_job.typed).all(|(have, (_, need))| have >= need);
        let enough = count >= at_least.max(demand.nodes_min) && tasks >= demand.tasks && gpus_enough;
        if count == most || enough && last_required.is_none_or(|last| last < at) {
            break;
        }
        // Neighbours stay neighbours only with those between them.
        let brings_gpus = room.free.gpus.count() > demand.gpus_per_node.total();
        let is_of_use = count < at_least || tasks < demand.tasks || brings_gpus || room.required;
        if !is_of_use && !demand.request.contiguous {
            continue;
        }
        tasks = tasks.saturating_add(room.tasks);
        gpus_any += room.free.gpus.count().saturating_sub(demand.gpus_per_node.total());
        for (have, (name, _)) in gpus.iter_mut().zip(&demand.gpus_per_job.typed) {
            *have += sites[room.site].count_of(&room.free.gpus, name);
        }
        chosen.push(room);
    }
    if (chosen.len() as u32) < demand.nodes_min || tasks < demand.tasks {
        return None;
    }
    chosen.sort_by_key(|room| (room.order, room.site));
    distribute(demand, sites, &chosen)
}

/// Slurm's block distribution: each node is filled before the next, and every node gets at least one task (and one of
/// the job-wide GPUs as long as there are any).
fn distribute(demand: &Demand<'_>, sites: &[Site<'_>], chosen: &[&Room<'_>]) -> Option<Vec<Share>> {
    let mut tasks_left = demand.tasks.max(chosen.len() as u32);
    let mut gpus_left = demand.gpus_per_job.clone();
    let mut shares = Vec::with_capacity(chosen.len());
    for (position, room) in chosen.iter().enumerate() {
        let later = (chosen.len() - position - 1) as u32;
        let tasks = room.tasks.min(tasks_left - later);
        tasks_left -= tasks;
        let site = &sites[room.site];
        let mut wanted = demand.gpus_per_node.plus(&demand.gpus_per_task, tasks);
        take_job_gpus(demand, site, &room.free, &mut wanted, &mut gpus_left, later);
        shares.push(cut(demand, site, room.site, &room.free, tasks, &wanted)?);
    }
    (tasks_left == 0 && gpus_left.is_empty()).then_some(shares)
}

/// Adds to `wanted` as many of the job-wide GPUs as this node can give and later nodes need not have.
fn take_job_gpus<'a>(
    demand: &Demand<'a>,
    site: &Site<'_>,
    free: &Free,
    wanted: &mut GpuCounts<'a>,
    left: &mut GpuCounts<'a>,
    later: u32,
) {
    let affords = |gpus: &GpuCounts<'_>| {
        let memory = match demand.memory {
            MemoryNeed::PerGpu(amount) if demand.memory_is_consumed => {
                amount.saturating_mul(u64::from(gpus.total()))
            }
            _ => 0,
        };
        site.has_gpus(free, gpus) && memory <= demand.memory_there(free)
    };
    for kind in 0..=left.typed.len() {
        let one = match left.typed.get(kind) {
            Some((name, _)) => GpuCounts { typed: vec![(*name, 1)], any: 0 },
            None => GpuCounts { typed: Vec::new(), any: 1 },
        };
        loop {
            let has_more = left.typed.get(kind).map_or(left.any, |(_, count)| *count) > 0;
            let more = wanted.plus(&one, 1);
            if !has_more || left.total() <= later || !affords(&more) {
                break;
            }
            *wanted = more;
            match left.typed.get_mut(kind) {
                Some((_, count)) => *count -= 1,
                None => left.any -= 1,
            }
        }
    }
}
