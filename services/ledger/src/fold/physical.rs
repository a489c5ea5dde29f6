//! The physical book: what every GPU and every node's CPUs and memory were doing, in intervals of whole seconds.
//!
//! Each change of a node goes through [`settle`], which closes the intervals whose class has changed at one instant and
//! opens the next ones there: so they are contiguous, whatever happens. An interval that would be empty is not written.

use daybook_schemas::events::RunAllocated;
use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::{GpuUuid, Mebibytes, NodeName, RunId, Seq, UtcMicros};

use super::Place;
use crate::error::LedgerError;
use crate::keys;
use crate::posting::Posting;
use crate::rows::{
    CPU_INTERVALS, CpuInterval, GPU_INTERVALS, GpuInterval, NodeRow, OpenCpus, OpenGpu, SHARE_INTERVALS,
    SPANS, Share, ShareInterval, Span,
};

/// Gives a run its share of each node; from which second on, node by node.
pub(super) fn allocate(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    data: &RunAllocated,
) -> Result<Vec<i64>, LedgerError> {
    let mut from = Vec::with_capacity(data.nodes.len());
    for given in &data.nodes {
        let Some(mut node) = posting.take::<NodeRow>(&given.node)? else {
            from.push(place.now.seconds());
            continue;
        };
        let at = place.now.seconds().max(node.boundary);
        let share = node.shares.entry(data.run).or_insert(Share {
            cpus: IndexSet::new(),
            memory: Mebibytes(0),
            gpus: Default::default(),
            from: at,
            given_up: false,
            cpus_given_back: IndexSet::new(),
        });
        for cpu in given.cpus.iter() {
            share.cpus.insert(cpu);
        }
        share.memory = Mebibytes(share.memory.0.saturating_add(given.memory.0));
        share.gpus.extend(given.gpus.iter().map(|gpu| gpu.uuid.clone()));
        from.push(at);
        settle(posting, place.seq, &given.node, node, at)?;
    }
    Ok(from)
}

/// Takes a run's share of a node back; at which second.
pub(super) fn release(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    run: RunId,
    name: &NodeName,
    at: UtcMicros,
) -> Result<i64, LedgerError> {
    let Some(mut node) = posting.take::<NodeRow>(name)? else { return Ok(at.seconds()) };
    let at = at.seconds().max(node.boundary);
    match node.shares.remove(&run) {
        // The books have gone on without it.
        Some(share) if share.given_up => posting.put(name, node)?,
        share => {
            close_share(posting, name, run, share.as_ref(), at)?;
            settle(posting, place.seq, name, node, at)?;
        }
    }
    Ok(at)
}

/// Goes on without what a run holds of a node that has been silent for too long; from which second on. It still counts as
/// taken where allocations are judged.
pub(super) fn give_up(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    run: RunId,
    name: &NodeName,
    at: UtcMicros,
) -> Result<i64, LedgerError> {
    let Some(mut node) = posting.take::<NodeRow>(name)? else { return Ok(at.seconds()) };
    let at = at.seconds().max(node.boundary);
    let share = node.shares.get_mut(&run).filter(|share| !share.given_up).map(|share| {
        share.given_up = true;
        share.clone()
    });
    close_share(posting, name, run, share.as_ref(), at)?;
    settle(posting, place.seq, name, node, at)?;
    Ok(at)
}

/// Gives a stopped run's CPUs of a node back, or takes them again. Memory and GPUs stay with it.
pub(super) fn turn_cpus(
    posting: &mut Posting<'_>,
    place: Place<'_>,
    run: RunId,
    name: &NodeName,
    at: UtcMicros,
    are_given_back: bool,
) -> Result<(), LedgerError> {
    let Some(mut node) = posting.take::<NodeRow>(name)? else { return Ok(()) };
    let at = at.seconds().max(node.boundary);
    let before = node.shares.get(&run).filter(|share| !share.given_up).cloned();
    if let Some(share) = node.shares.get_mut(&run) {
        let (from, to) = match are_given_back {
            true => (&mut share.cpus, &mut share.cpus_given_back),
            false => (&mut share.cpus_given_back, &mut share.cpus),
        };
        *to = std::mem::replace(from, IndexSet::new());
        share.from = at.max(share.from);
    }
    close_share(posting, name, run, before.as_ref(), at)?;
    settle(posting, place.seq, name, node, at)
}

fn close_share(
    posting: &mut Posting<'_>,
    name: &NodeName,
    run: RunId,
    share: Option<&Share>,
    at: i64,
) -> Result<(), LedgerError> {
    let Some(share) = share.filter(|share| at > share.from) else { return Ok(()) };
    let row = ShareInterval { to: at, cpus: count(&share.cpus), memory: share.memory };
    posting.append(SHARE_INTERVALS, &keys::share(name, share.from, run), &row)
}

/// A node that a configuration names for the first time; its books begin at `at`.
pub(super) fn found(
    posting: &mut Posting<'_>,
    seq: Seq,
    name: &NodeName,
    mut node: NodeRow,
    at: i64,
) -> Result<(), LedgerError> {
    node.installed_since = at;
    node.boundary = at;
    node.open = open_cpus(&node, at, seq);
    posting.append(SPANS, &keys::span(name, None, at), &Span { to: None })?;
    renumber(posting, seq, name, &mut node, at)?;
    settle(posting, seq, name, node, at)
}

/// Installs the GPUs that are named and not yet there, and lets those go that nobody names any more.
pub(super) fn renumber(
    posting: &mut Posting<'_>,
    seq: Seq,
    name: &NodeName,
    node: &mut NodeRow,
    at: i64,
) -> Result<(), LedgerError> {
    let at = at.max(node.boundary);
    let named = node.named_gpus();
    for (uuid, open) in &mut node.gpus {
        open.leaving = !named.contains_key(uuid);
    }
    for (uuid, index) in named {
        if let Some(open) = node.gpus.get_mut(&uuid) {
            open.index = index;
            continue;
        }
        posting.append(SPANS, &keys::span(name, Some(&uuid), at), &Span { to: None })?;
        node.boundary = at;
        let class = node.gpu_class(&uuid);
        let open = OpenGpu { index, class, run: None, from: at, seq, installed_since: at, leaving: false };
        node.gpus.insert(uuid, open);
    }
    Ok(())
}

/// Closes at `at` what is no longer as it was, opens what follows, and puts the node's row back (or lets it go).
pub(super) fn settle(
    posting: &mut Posting<'_>,
    seq: Seq,
    name: &NodeName,
    mut node: NodeRow,
    at: i64,
) -> Result<(), LedgerError> {
    let at = at.max(node.boundary);
    let uuids: Vec<GpuUuid> = node.gpus.keys().cloned().collect();
    for uuid in uuids {
        settle_gpu(posting, seq, name, &mut node, &uuid, at)?;
    }
    let open = open_cpus(&node, at, seq);
    let gone = node.leaving && node.booked_shares().next().is_none();
    if gone || !same_cpus(&open, &node.open) {
        close_cpus(posting, seq, name, &node.open, at)?;
        node.open = open;
        node.boundary = at;
    }
    if gone {
        return end_span(posting, name, None, node.installed_since, at);
    }
    posting.put(name, node)
}

fn settle_gpu(
    posting: &mut Posting<'_>,
    seq: Seq,
    name: &NodeName,
    node: &mut NodeRow,
    uuid: &GpuUuid,
    at: i64,
) -> Result<(), LedgerError> {
    let run = node.holder(uuid);
    let class = match run {
        Some(_) => daybook_schemas::api::CapacityClass::Allocated,
        None => node.gpu_class(uuid),
    };
    let Some(open) = node.gpus.get_mut(uuid) else { return Ok(()) };
    let gone = open.leaving && run.is_none();
    if !gone && open.class == class && open.run == run {
        return Ok(());
    }
    node.boundary = at;
    if at > open.from {
        let row = GpuInterval { to: at, class: open.class, run: open.run, seqs: (open.seq, seq) };
        posting.append(GPU_INTERVALS, &keys::gpu_at(name, uuid, open.from), &row)?;
    }
    if gone {
        let since = open.installed_since;
        node.gpus.remove(uuid);
        return end_span(posting, name, Some(uuid), since, at);
    }
    (open.class, open.run, open.from, open.seq) = (class, run, at, seq);
    Ok(())
}

fn end_span(
    posting: &mut Posting<'_>,
    name: &NodeName,
    uuid: Option<&GpuUuid>,
    since: i64,
    at: i64,
) -> Result<(), LedgerError> {
    let key = keys::span(name, uuid, since);
    if at > since {
        posting.append(SPANS, &key, &Span { to: Some(at) })
    } else {
        posting.unappend(SPANS, &key)
    }
}

fn close_cpus(
    posting: &mut Posting<'_>,
    seq: Seq,
    name: &NodeName,
    open: &OpenCpus,
    at: i64,
) -> Result<(), LedgerError> {
    if at <= open.from {
        return Ok(());
    }
    let row = CpuInterval {
        to: at,
        cpus: open.cpus,
        cpus_allocated: open.cpus_allocated,
        memory: open.memory,
        memory_allocated: open.memory_allocated,
        rest: open.rest,
        seqs: (open.seq, seq),
    };
    posting.append(CPU_INTERVALS, &keys::node_at(name, open.from), &row)
}

/// What a node's CPUs and memory are from `at` on. A node that leaves has only what its runs still hold; one that was
/// configured smaller than what is held has that much.
fn open_cpus(node: &NodeRow, at: i64, seq: Seq) -> OpenCpus {
    let cpus_allocated =
        node.booked_shares().fold(0u32, |sum, (_, share)| sum.saturating_add(count(&share.cpus)));
    let memory_allocated =
        node.booked_shares().fold(0u64, |sum, (_, share)| sum.saturating_add(share.memory.0));
    let (cpus, memory) = if node.leaving { (0, 0) } else { (node.cpus, node.memory.0) };
    OpenCpus {
        from: at,
        seq,
        cpus: cpus.max(cpus_allocated),
        cpus_allocated,
        memory: Mebibytes(memory.max(memory_allocated)),
        memory_allocated: Mebibytes(memory_allocated),
        rest: node.class(),
    }
}

fn same_cpus(one: &OpenCpus, other: &OpenCpus) -> bool {
    OpenCpus { from: other.from, seq: other.seq, ..one.clone() } == *other
}

pub(crate) fn count(cpus: &IndexSet) -> u32 {
    u32::try_from(cpus.len()).unwrap_or(u32::MAX)
}
