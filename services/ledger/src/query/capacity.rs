//! The physical book in a window: seconds by class, adding up to the installed time.

use std::collections::BTreeMap;

use daybook_schemas::api::{CapacityAnswer, CapacityClass, CapacityQuery, CapacityRow};
use daybook_schemas::{GpuUuid, NodeName, UtcMicros};

use super::QueryError;
use crate::error::LedgerError;
use crate::keys;
use crate::rows::{CPU_INTERVALS, CpuInterval, GPU_INTERVALS, GpuInterval, NodeRow, SPANS, Span, Table};
use crate::store::{View, damaged, decode};

/// Whole seconds, `from` included, `to` not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) from: i64,
    pub(crate) to: i64,
}

impl Window {
    /// How many seconds of it lie between `from` and `to`.
    fn seconds_of(self, from: i64, to: i64) -> u64 {
        u64::try_from(to.min(self.to).saturating_sub(from.max(self.from))).unwrap_or(0)
    }
}

/// Answers `POST /v1/ledger/capacity`. What is open at the watermark goes on until the window's end, at most until `now`.
pub(crate) fn capacity(
    view: &View<'_>,
    query: &CapacityQuery,
    now: UtcMicros,
) -> Result<CapacityAnswer, QueryError> {
    if query.start.zip(query.end).is_some_and(|(start, end)| end < start) {
        return Err(QueryError::Backwards);
    }
    let cursor = view.cursor()?;
    let watermark = cursor.time.seconds();
    let from = match query.start {
        Some(start) => start.seconds(),
        None => view.cluster()?.registered_since.unwrap_or(watermark),
    };
    let to = query.end.map_or(watermark, |end| end.seconds().min(now.seconds().max(watermark))).max(from);
    let window = Window { from, to };
    let mut rows: BTreeMap<(NodeName, GpuUuid), CapacityRow> = BTreeMap::new();
    for entry in view.scan(SPANS, &[], None)? {
        let (key, value) = entry?;
        let (node, uuid, since) =
            keys::gpu_at_back(&key).ok_or_else(|| damaged(SPANS.0, &"its key is no span's"))?;
        if !query.nodes.is_empty() && !query.nodes.contains(&node) {
            continue;
        }
        let span: Span = decode(SPANS.0, &value)?;
        add_span(view, &mut rows, (node, uuid), (since, span.to), window)?;
    }
    Ok(CapacityAnswer {
        start: UtcMicros::from_seconds(window.from),
        end: UtcMicros::from_seconds(window.to),
        complete_up_to: cursor.seq,
        rows: rows.into_values().collect(),
    })
}

/// Adds one installed time of a GPU or node to its row.
fn add_span(
    view: &View<'_>,
    rows: &mut BTreeMap<(NodeName, GpuUuid), CapacityRow>,
    of: (NodeName, GpuUuid),
    span: (i64, Option<i64>),
    window: Window,
) -> Result<(), LedgerError> {
    let inside =
        Window { from: window.from.max(span.0), to: span.1.map_or(window.to, |to| to.min(window.to)) };
    if inside.from >= inside.to {
        return Ok(());
    }
    let (node, uuid) = &of;
    let gpu = (!uuid.as_str().is_empty()).then_some(uuid);
    let mut seconds: BTreeMap<CapacityClass, u64> = BTreeMap::new();
    let mut installed = 0u64;
    for part in interval_parts(view, node, gpu, inside)? {
        // Of a GPU the installed time is that of its span, whatever the intervals say: they must add up to it.
        installed =
            installed.checked_add(part.installed).ok_or(LedgerError::TooLarge("an installed time"))?;
        let sum = seconds.entry(part.class).or_default();
        *sum = sum.checked_add(part.seconds).ok_or(LedgerError::TooLarge("a time by class"))?;
    }
    if gpu.is_some() {
        installed = inside.seconds_of(inside.from, inside.to);
    }
    let row = rows.entry(of.clone()).or_insert_with(|| CapacityRow {
        node: node.clone(),
        gpu: gpu.cloned(),
        installed: 0,
        seconds: BTreeMap::new(),
    });
    row.installed = row.installed.checked_add(installed).ok_or(LedgerError::TooLarge("an installed time"))?;
    for (class, more) in seconds.into_iter().filter(|(_, seconds)| *seconds > 0) {
        let sum = row.seconds.entry(class).or_default();
        *sum = sum.checked_add(more).ok_or(LedgerError::TooLarge("a time by class"))?;
    }
    Ok(())
}

/// A piece of a window: so many seconds (times CPUs for a node) of one class, and how much of `installed` it stands for.
pub(crate) struct Part {
    pub(crate) class: CapacityClass,
    pub(crate) seconds: u64,
    pub(crate) installed: u64,
}

/// What a GPU's (or, without one, a node's) intervals say of a window: the closed ones, and the open one to its end.
pub(crate) fn interval_parts(
    view: &View<'_>,
    node: &NodeName,
    gpu: Option<&GpuUuid>,
    window: Window,
) -> Result<Vec<Part>, LedgerError> {
    let mut parts = Vec::new();
    let open = view.get::<NodeRow>(node)?;
    match gpu {
        Some(uuid) => {
            overlapping(view, GPU_INTERVALS, keys::gpu(node, uuid), window, |from, row: GpuInterval| {
                parts.push(part(row.class, window.seconds_of(from, row.to), 1));
                row.to
            })?;
            if let Some(open) = open.as_ref().and_then(|node| node.gpus.get(uuid)) {
                parts.push(part(open.class, window.seconds_of(open.from, window.to), 1));
            }
        }
        None => {
            let mut add = |cpus: u32, allocated: u32, rest: CapacityClass, seconds: u64| {
                parts.push(part(CapacityClass::Allocated, seconds, allocated));
                parts.push(part(rest, seconds, cpus.saturating_sub(allocated)));
            };
            overlapping(view, CPU_INTERVALS, keys::name(node.as_str()), window, |from, row: CpuInterval| {
                add(row.cpus, row.cpus_allocated, row.rest, window.seconds_of(from, row.to));
                row.to
            })?;
            if let Some(open) = open.map(|node| node.open) {
                add(open.cpus, open.cpus_allocated, open.rest, window.seconds_of(open.from, window.to));
            }
        }
    }
    Ok(parts)
}

fn part(class: CapacityClass, seconds: u64, times: u32) -> Part {
    let seconds = seconds.saturating_mul(u64::from(times));
    Part { class, seconds, installed: seconds }
}

/// Gives the intervals that overlap a window, in order.
fn overlapping<T: serde::de::DeserializeOwned>(
    view: &View<'_>,
    table: Table,
    prefix: Vec<u8>,
    window: Window,
    mut take: impl FnMut(i64, T) -> i64,
) -> Result<(), LedgerError> {
    let at = |second: i64| [prefix.as_slice(), &keys::seconds(second)].concat();
    let first = view
        .last_at(table, &prefix, &at(window.from))?
        .map_or_else(|| at(window.from), |(key, _)| key.to_vec());
    for entry in view.scan(table, &first, Some(at(window.to)))? {
        let (key, value) = entry?;
        let from = key.len().checked_sub(8).and_then(|cut| keys::seconds_back(&key[cut..]));
        let from = from.ok_or_else(|| damaged(table.0, &"its key has no instant"))?;
        take(from, decode(table.0, &value)?);
    }
    Ok(())
}
