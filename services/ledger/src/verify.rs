//! Whether the books are right: each GPU's intervals tile its installed time, its allocated ones are those of the runs'
//! records and the other way round, and each node's CPUs and memory are given to as many runs as their intervals say.

use daybook_schemas::api::CapacityClass;
use daybook_schemas::{GpuUuid, NodeName, RunId, Seq};

use crate::bounds::FAULTS_MAX;
use crate::error::LedgerError;
use crate::fold::count;
use crate::keys;
use crate::query::{Window, interval_parts};
use crate::rows::{
    CPU_INTERVALS, CpuInterval, GPU_INTERVALS, GpuInterval, JobRow, NodeRow, RECORDS, RecordKey, RecordRow,
    SHARE_INTERVALS, SPANS, ShareInterval, Span,
};
use crate::store::{View, damaged, decode};

/// What a verification found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyReport {
    /// Up to where the books were checked.
    pub position: Seq,
    /// GPUs and nodes with their installed times, each checked.
    pub spans: u64,
    /// Closed intervals checked.
    pub intervals: u64,
    /// Records checked.
    pub records: u64,
    /// Hash of all rows.
    pub hash: String,
    /// Hash of the rows as posted afresh from the log up to the same position.
    pub fresh_hash: String,
    /// What is wrong, the first ones in words.
    pub faults: Vec<String>,
    /// How many faults there are in all.
    pub fault_count: u64,
}

impl VerifyReport {
    /// Whether nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.fault_count == 0 && self.hash == self.fresh_hash
    }
}

/// Faults and counts of a check.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) spans: u64,
    pub(crate) intervals: u64,
    pub(crate) records: u64,
    pub(crate) faults: Vec<String>,
    pub(crate) count: u64,
}

impl Faults {
    fn add(&mut self, fault: String) {
        self.count += 1;
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(fault);
        }
    }
}

pub(crate) fn check(view: &View<'_>) -> Result<Faults, LedgerError> {
    let mut faults = Faults::default();
    let watermark = view.cursor()?.time.seconds();
    for entry in view.scan(SPANS, &[], None)? {
        let (key, value) = entry?;
        let (node, uuid, from) =
            keys::gpu_at_back(&key).ok_or_else(|| damaged(SPANS.0, &"its key is no span's"))?;
        let span: Span = decode(SPANS.0, &value)?;
        faults.spans += 1;
        let row = view.get::<NodeRow>(&node)?;
        let installed = Window { from, to: span.to.unwrap_or(watermark) };
        if uuid.as_str().is_empty() {
            check_node(view, &mut faults, &node, row.as_ref(), span.to.is_none(), installed)?;
        } else {
            check_gpu(view, &mut faults, (&node, &uuid), row.as_ref(), span.to.is_none(), installed)?;
        }
    }
    check_records(view, &mut faults)?;
    Ok(faults)
}

/// A GPU's intervals follow one another from the begin of its installed time to its end, and add up to it.
fn check_gpu(
    view: &View<'_>,
    faults: &mut Faults,
    (node, uuid): (&NodeName, &GpuUuid),
    row: Option<&NodeRow>,
    is_open: bool,
    installed: Window,
) -> Result<(), LedgerError> {
    let name = format!("GPU {uuid} of node {node}");
    let mut at = installed.from;
    for entry in
        view.scan(GPU_INTERVALS, &keys::gpu_at(node, uuid, at), Some(keys::gpu_at(node, uuid, installed.to)))?
    {
        let (key, value) = entry?;
        let (_, _, from) =
            keys::gpu_at_back(&key).ok_or_else(|| damaged(GPU_INTERVALS.0, &"its key is no GPU's"))?;
        let interval: GpuInterval = decode(GPU_INTERVALS.0, &value)?;
        faults.intervals += 1;
        follows(faults, &name, at, from, interval.to);
        at = interval.to;
        if (interval.class == CapacityClass::Allocated) != interval.run.is_some() {
            faults.add(format!(
                "{name}: the interval from {from} is {:?} with run {:?}",
                interval.class, interval.run
            ));
        }
        if let Some(run) = interval.run
            && !holds(view, run, node, uuid, from, Some(interval.to))?
        {
            faults.add(format!(
                "{name}: allocated to run {run} from {from} to {}, its record says otherwise",
                interval.to
            ));
        }
    }
    match (is_open, row.and_then(|row| row.gpus.get(uuid))) {
        (true, Some(open)) => {
            follows(faults, &name, at, open.from, open.from.max(installed.to));
            if let Some(run) = open.run
                && !holds(view, run, node, uuid, open.from, None)?
            {
                faults.add(format!(
                    "{name}: allocated to run {run} since {}, its record says otherwise",
                    open.from
                ));
            }
        }
        (true, None) => {
            faults.add(format!("{name}: installed since {}, but its node does not have it", installed.from))
        }
        (false, _) if at != installed.to => {
            faults.add(format!("{name}: its intervals end at {at}, its installed time at {}", installed.to));
        }
        (false, _) => {}
    }
    let sum: u64 = interval_parts(view, node, Some(uuid), installed)?.iter().map(|part| part.seconds).sum();
    let length = u64::try_from(installed.to.saturating_sub(installed.from)).unwrap_or(0);
    if sum != length {
        faults
            .add(format!("{name}: {length} seconds installed from {}, {sum} in its classes", installed.from));
    }
    Ok(())
}

fn follows(faults: &mut Faults, name: &str, at: i64, from: i64, to: i64) {
    if from != at {
        let word = if from < at { "overlaps the one before" } else { "leaves a gap" };
        faults.add(format!("{name}: the interval from {from} {word}, which ended at {at}"));
    }
    if to < from {
        faults.add(format!("{name}: the interval from {from} ends before it, at {to}"));
    }
}

/// Whether the run's record says that it had this GPU from when to when.
fn holds(
    view: &View<'_>,
    run: RunId,
    node: &NodeName,
    uuid: &GpuUuid,
    from: i64,
    to: Option<i64>,
) -> Result<bool, LedgerError> {
    let Some(record) = record_of(view, run)? else { return Ok(false) };
    Ok(record.shares.iter().any(|share| {
        share.node == *node
            && share.from == from
            && share.to == to
            && share.gpus.iter().any(|gpu| gpu.uuid == *uuid)
    }))
}

/// A run's record: mostly that of the attempt with its number, otherwise (after a cancelled wait) a later one.
fn record_of(view: &View<'_>, run: RunId) -> Result<Option<RecordRow>, LedgerError> {
    let last = view.get::<JobRow>(&run.job)?.map_or(0, |job| job.attempt);
    for attempt in run.start..=last {
        let record = view.get::<RecordRow>(&RecordKey { job: run.job, attempt })?;
        if let Some(record) = record.filter(|record| record.run == Some(run)) {
            return Ok(Some(record));
        }
    }
    Ok(None)
}

/// A node's intervals follow one another, and what they say is allocated is what its runs had.
fn check_node(
    view: &View<'_>,
    faults: &mut Faults,
    node: &NodeName,
    row: Option<&NodeRow>,
    is_open: bool,
    installed: Window,
) -> Result<(), LedgerError> {
    let name = format!("node {node}");
    let mut shares = shares_of(view, node, row, installed)?.into_iter().peekable();
    let mut held: Vec<(Option<i64>, u32, u64)> = Vec::new();
    let mut given = |from: i64| {
        while let Some((_, to, cpus, memory)) = shares.next_if(|share| share.0 <= from) {
            held.push((to, cpus, memory));
        }
        held.retain(|(to, _, _)| to.is_none_or(|to| to > from));
        held.iter().fold((0u64, 0u64), |(cpus, memory), one| (cpus + u64::from(one.1), memory + one.2))
    };
    let mut at = installed.from;
    for entry in
        view.scan(CPU_INTERVALS, &keys::node_at(node, at), Some(keys::node_at(node, installed.to)))?
    {
        let (key, value) = entry?;
        let (_, from) =
            keys::node_at_back(&key).ok_or_else(|| damaged(CPU_INTERVALS.0, &"its key is no node's"))?;
        let interval: CpuInterval = decode(CPU_INTERVALS.0, &value)?;
        faults.intervals += 1;
        follows(faults, &name, at, from, interval.to);
        at = interval.to;
        let said = (u64::from(interval.cpus_allocated), interval.memory_allocated.0);
        let had = given(from);
        if said != had {
            faults.add(format!("{name}: from {from} CPUs and MiB {said:?} allocated, its runs had {had:?}"));
        }
        if interval.cpus < interval.cpus_allocated || interval.memory < interval.memory_allocated {
            faults.add(format!("{name}: more is allocated from {from} than it has"));
        }
    }
    match (is_open, row) {
        (true, Some(row)) => {
            follows(faults, &name, at, row.open.from, row.open.from.max(installed.to));
            let said = (u64::from(row.open.cpus_allocated), row.open.memory_allocated.0);
            let had = given(row.open.from);
            if said != had {
                faults.add(format!("{name}: now CPUs and MiB {said:?} allocated, its runs have {had:?}"));
            }
        }
        (true, None) => faults.add(format!("{name}: installed since {}, but it has no row", installed.from)),
        (false, _) if at != installed.to => {
            faults.add(format!("{name}: its intervals end at {at}, its installed time at {}", installed.to));
        }
        (false, _) => {}
    }
    Ok(())
}

/// What a run had of a node: from, to (`None`: still), CPUs, MiB.
type Given = (i64, Option<i64>, u32, u64);

/// What runs had of a node in an installed time, by begin.
fn shares_of(
    view: &View<'_>,
    node: &NodeName,
    row: Option<&NodeRow>,
    installed: Window,
) -> Result<Vec<Given>, LedgerError> {
    let mut shares = Vec::new();
    let until = keys::node_at(node, installed.to.saturating_add(1));
    for entry in view.scan(SHARE_INTERVALS, &keys::node_at(node, installed.from), Some(until))? {
        let (key, value) = entry?;
        let (_, from, _) =
            keys::share_back(&key).ok_or_else(|| damaged(SHARE_INTERVALS.0, &"its key is no share's"))?;
        let share: ShareInterval = decode(SHARE_INTERVALS.0, &value)?;
        shares.push((from, Some(share.to), share.cpus, share.memory.0));
    }
    for (_, share) in row.iter().flat_map(|row| row.booked_shares()) {
        shares.push((share.from, None, count(&share.cpus), share.memory.0));
    }
    shares.sort_unstable();
    Ok(shares)
}

/// Every GPU second of a record stands in the physical book, and times are in order.
fn check_records(view: &View<'_>, faults: &mut Faults) -> Result<(), LedgerError> {
    for entry in view.scan(RECORDS, &[], None)? {
        let (key, value) = entry?;
        let key = keys::record_back(&key).ok_or_else(|| damaged(RECORDS.0, &"its key is no record's"))?;
        let record: RecordRow = decode(RECORDS.0, &value)?;
        faults.records += 1;
        let name = format!("record {}.{}", key.job, key.attempt);
        if record.started.zip(record.ended).is_some_and(|(started, ended)| ended < started) {
            faults.add(format!("{name}: it ended before it started"));
        }
        if record.state.is_ended() != record.ended.is_some() {
            faults.add(format!("{name}: {} with the end {:?}", record.state.word(), record.ended));
        }
        for share in &record.shares {
            for gpu in &share.gpus {
                if !stands(view, &record, &share.node, &gpu.uuid, share.from, share.to)? {
                    faults.add(format!(
                        "{name}: GPU {} of node {} is not in the physical book",
                        gpu.uuid, share.node
                    ));
                }
            }
        }
    }
    Ok(())
}

fn stands(
    view: &View<'_>,
    record: &RecordRow,
    node: &NodeName,
    uuid: &GpuUuid,
    from: i64,
    to: Option<i64>,
) -> Result<bool, LedgerError> {
    let Some(to) = to else {
        let open = view.get::<NodeRow>(node)?.and_then(|node| node.gpus.get(uuid).cloned());
        return Ok(open.is_some_and(|open| open.run == record.run && open.from == from));
    };
    if from == to {
        return Ok(true);
    }
    let key = keys::gpu_at(node, uuid, from);
    let entry = view.last_at(GPU_INTERVALS, &key, &key)?;
    let interval: Option<GpuInterval> =
        entry.map(|(_, value)| decode(GPU_INTERVALS.0, &value)).transpose()?;
    Ok(interval.is_some_and(|interval| interval.run == record.run && interval.to == to))
}
