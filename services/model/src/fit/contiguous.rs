//! Demands whose nodes are neighbours in the order of the configuration (`--contiguous`).

use std::collections::BTreeSet;

use super::demand::Demand;
use super::place::Terrain;
use super::several::{Room, take_in_order};
use super::site::Share;

/// Windows of neighbours that are tried for one demand: those that fail have enough nodes and tasks, but not the GPUs or
/// the memory, which only unlike nodes make happen.
const WINDOWS_MAX: usize = 1_000;

/// Takes neighbours only: from the shortest row of free nodes that is long enough, so that long rows stay long; where a
/// range of nodes is wanted and no row has all of it, from the longest. Weights do not count.
pub(super) fn among_neighbours(
    demand: &Demand<'_>,
    terrain: Terrain<'_, '_>,
    rooms: &mut [&Room<'_>],
) -> Option<Vec<Share>> {
    rooms.sort_by_key(|room| room.order);
    terrain.count_steps(rooms.len());
    let wanted = match demand.request.nodes_max {
        Some(_) => demand.most_nodes(),
        None => demand.nodes_min,
    } as usize;
    let mut rows: Vec<&[&Room<'_>]> =
        rooms.chunk_by(|one, next| one.order.checked_add(1) == Some(next.order)).collect();
    rows.retain(|row| row.len() >= demand.nodes_min as usize);
    rows.sort_by_key(|row| match row.len() >= wanted {
        true => (false, row.len()),
        false => (true, usize::MAX - row.len()),
    });
    let mut windows_left = WINDOWS_MAX;
    for row in rows {
        for start in starts(demand, row) {
            if windows_left == 0 {
                return None;
            }
            windows_left -= 1;
            let found = take_in_order(demand, terrain.sites, &row[start..]);
            terrain.count_steps(found.as_ref().map_or(demand.nodes_min as usize, Vec::len));
            if let Some(shares) = found.filter(|shares| suits(demand, terrain, &row[start..], shares)) {
                return Some(shares);
            }
        }
    }
    None
}

/// Where in a row a window with enough tasks, and with all required nodes of the row, can begin.
fn starts(demand: &Demand<'_>, row: &[&Room<'_>]) -> Vec<usize> {
    let most = demand.most_nodes() as usize;
    let mut before = Vec::with_capacity(row.len() + 1);
    let mut sum = 0u64;
    before.push(sum);
    for room in row {
        sum += u64::from(room.tasks);
        before.push(sum);
    }
    let first = row.iter().position(|room| room.required);
    let last = row.iter().rposition(|room| room.required);
    (0..row.len())
        .filter(|start| {
            let end = start.saturating_add(most).min(row.len());
            end - start >= demand.nodes_min as usize
                && before[end] - before[*start] >= u64::from(demand.tasks)
                && first.is_none_or(|first| *start <= first)
                && last.is_none_or(|last| last < end)
        })
        .collect()
}

/// Whether all required nodes are in it, and no more switches than allowed.
fn suits(demand: &Demand<'_>, terrain: Terrain<'_, '_>, window: &[&Room<'_>], shares: &[Share]) -> bool {
    let taken = &window[..shares.len().min(window.len())];
    let required = taken.iter().filter(|room| room.required).count();
    let leaves: BTreeSet<_> = shares.iter().map(|share| terrain.network.leaf(share.site)).collect();
    required == demand.request.nodes_required.len()
        && demand.switches_max.is_none_or(|most| leaves.len() <= most as usize)
}
