//! Chooses nodes for a demand, and what it gets of each.

use std::borrow::Cow;
use std::cmp::Reverse;

use super::demand::{Demand, GpuCounts, MemoryNeed};
use super::site::{Free, Share, Site};

/// The members that a demand may use at all, the preferred first: lowest weight, for a demand without GPUs the nodes
/// without GPUs, then the order of the configuration.
pub fn eligible(sites: &[Site<'_>], members: &[usize], demand: &Demand<'_>) -> Vec<usize> {
    let request = demand.request;
    let may_use = |at: &usize| {
        let definition = &sites[*at].node.definition;
        request.nodes_excluded.binary_search(&definition.name).is_err()
            && request.features.iter().all(|feature| definition.features.contains(feature))
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
/// for demands of one node, or of several without job-wide GPUs.
pub fn place<'f>(
    demand: &Demand<'_>,
    sites: &[Site<'_>],
    order: &[usize],
    free: &dyn Fn(usize) -> Option<Cow<'f, Free>>,
) -> Option<Vec<Share>> {
    let wants_many = demand.request.nodes_max.is_some() && demand.nodes_max.is_some_and(|most| most > 1);
    if demand.nodes_max == Some(0) || demand.nodes_max.is_some_and(|most| most < demand.nodes_min) {
        return None;
    }
    if demand.nodes_min == 1
        && !wants_many
        && let Some(share) = on_one(demand, sites, order, free)
    {
        return Some(vec![share]);
    }
    if demand.nodes_max == Some(1) || demand.nodes_min == 1 && demand.tasks == 1 && only_one_node(demand) {
        return None;
    }
    on_several(demand, sites, order, free)
}

/// Whether more nodes than one would not help a demand of one task.
fn only_one_node(demand: &Demand<'_>) -> bool {
    demand.gpus_per_job.is_empty() && demand.request.nodes_max.is_none()
}

/// The first node that can take all of it; for GPUs the one with the fewest free among those of the lowest weight, so
/// that whole nodes stay whole.
fn on_one<'f>(
    demand: &Demand<'_>,
    sites: &[Site<'_>],
    order: &[usize],
    free: &dyn Fn(usize) -> Option<Cow<'f, Free>>,
) -> Option<Share> {
    let required = demand.request.nodes_required.first();
    let wanted = demand.gpus_per_node.plus(&demand.gpus_per_task, demand.tasks).plus(&demand.gpus_per_job, 1);
    let mut best: Option<(u32, u32, Share)> = None;
    for &at in order {
        let site = &sites[at];
        let weight = site.weight;
        if best.as_ref().is_some_and(|(lowest, ..)| *lowest < weight) {
            break;
        }
        if required.is_some_and(|name| *name != site.node.definition.name) {
            continue;
        }
        let Some(free) = free(at) else { continue };
        if site.tasks_max(&free, demand).is_none_or(|most| most < demand.tasks) {
            continue;
        }
        let gpus_free = free.gpus.count();
        if best.as_ref().is_some_and(|(_, fewest, _)| *fewest <= gpus_free) {
            continue;
        }
        let Some(share) = cut(demand, site, at, &free, demand.tasks, &wanted) else { continue };
        if wanted.is_empty() {
            return Some(share);
        }
        best = Some((weight, gpus_free, share));
    }
    best.map(|(.., share)| share)
}

/// What one node can add to a demand of several nodes.
struct Room<'f> {
    site: usize,
    order: u32,
    weight: u32,
    avoided: bool,
    required: bool,
    tasks: u32,
    free: Cow<'f, Free>,
}

fn on_several<'f>(
    demand: &Demand<'_>,
    sites: &[Site<'_>],
    order: &[usize],
    free: &dyn Fn(usize) -> Option<Cow<'f, Free>>,
) -> Option<Vec<Share>> {
    let mut rooms: Vec<Room<'f>> = Vec::new();
    for &at in order {
        let (site, Some(free)) = (&sites[at], free(at)) else { continue };
        let Some(tasks) = site.tasks_max(&free, demand) else { continue };
        let name = &site.node.definition.name;
        rooms.push(Room {
            site: at,
            order: site.node.order,
            weight: site.weight,
            avoided: !demand.wants_gpus() && !site.gpus.is_empty(),
            required: demand.request.nodes_required.binary_search(name).is_ok(),
            tasks,
            free,
        });
    }
    if rooms.iter().filter(|room| room.required).count() < demand.request.nodes_required.len() {
        return None;
    }
    // A demand of exactly so many nodes takes the preferred ones. One that may spread takes large rooms first, for
    // few nodes. Where neither has enough tasks, or enough GPUs, the largest rooms decide.
    if demand.nodes_max != Some(demand.nodes_min) {
        rooms
            .sort_by_key(|room| (!room.required, room.weight, room.avoided, Reverse(room.tasks), room.order));
    } else {
        rooms.sort_by_key(|room| !room.required);
    }
    if let Some(shares) = take_in_order(demand, sites, &rooms) {
        return Some(shares);
    }
    rooms.sort_by_key(|room| (!room.required, Reverse(room.tasks), room.weight, room.order));
    if let Some(shares) = take_in_order(demand, sites, &rooms) {
        return Some(shares);
    }
    if demand.gpus_per_job.is_empty() {
        return None;
    }
    rooms.sort_by_key(|room| (!room.required, Reverse(room.free.gpus.count()), room.weight, room.order));
    take_in_order(demand, sites, &rooms)
}

/// Takes rooms from the front until there are enough nodes, tasks and GPUs, and distributes over them.
fn take_in_order(demand: &Demand<'_>, sites: &[Site<'_>], rooms: &[Room<'_>]) -> Option<Vec<Share>> {
    let most = demand.nodes_max.unwrap_or(u32::MAX);
    let most = if demand.tasks_bound_nodes() { most.min(demand.tasks.max(demand.nodes_min)) } else { most };
    // A range of nodes is taken as far as it goes.
    let at_least = if demand.request.nodes_max.is_some() { most } else { demand.nodes_min };
    let mut chosen: Vec<&Room<'_>> = Vec::new();
    let (mut tasks, mut gpus) = (0u32, vec![0u32; demand.gpus_per_job.typed.len()]);
    let mut gpus_any = 0u32;
    for room in rooms {
        let count = chosen.len() as u32;
        let gpus_enough = gpus_any >= demand.gpus_per_job.total()
            && gpus.iter().zip(&demand.gpus_per_job.typed).all(|(have, (_, need))| have >= need);
        let enough = count >= at_least.max(demand.nodes_min) && tasks >= demand.tasks && gpus_enough;
        if count == most || enough && !room.required {
            break;
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
        site.has_gpus(free, gpus) && memory <= free.memory
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

/// The share of one node; `None` where the memory or the GPUs for it are not there.
fn cut(
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
    let mut gpus = site.choose_gpus(free, wanted)?;
    if demand.exclusive {
        gpus = free.gpus.clone();
    }
    let memory = site.memory_of(demand, cpu_count, gpus.count());
    if demand.memory_is_consumed && memory > free.memory {
        return None;
    }
    let cpus = if demand.exclusive { free.cpus.clone() } else { site.choose_cpus(free, cpu_count) };
    Some(Share { site: at, cpus, memory, gpus, tasks })
}
