//! The ledger's rows. Values are JSON, keys are bytes in the order in which they are read.
//!
//! Rows that change are read, changed and written back by key; rows of the physical book are written once, when their
//! interval is closed.

mod interval;
mod job;
mod node;
mod record;
mod run;
mod usage;

pub(crate) use interval::{CpuInterval, GpuInterval, ShareInterval, Span};
pub use interval::{NodeAct, NodeHistory, VoidAllocation};
pub(crate) use job::{Hold, JobRow, Phase, SubmissionRow};
pub(crate) use node::{NodeRow, OpenCpus, OpenGpu, Share};
pub(crate) use record::{BatchStep, RecordKey, RecordRow, RunShare};
pub(crate) use run::RunRow;
pub(crate) use usage::{UsageKey, UsageRow};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A table of the database (a column family).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Table(pub(crate) &'static str);

pub(crate) const SUBMISSIONS: Table = Table("submissions");
pub(crate) const JOBS: Table = Table("jobs");
pub(crate) const RECORDS: Table = Table("records");
/// Records that have not ended, by key.
pub(crate) const RECORDS_OPEN: Table = Table("records_open");
/// Records that have ended, by length class and end.
pub(crate) const RECORDS_ENDED: Table = Table("records_ended");
pub(crate) const RUNS: Table = Table("runs");
pub(crate) const NODES: Table = Table("nodes");
pub(crate) const GPU_INTERVALS: Table = Table("gpu_intervals");
pub(crate) const CPU_INTERVALS: Table = Table("cpu_intervals");
pub(crate) const SHARE_INTERVALS: Table = Table("share_intervals");
pub(crate) const SPANS: Table = Table("spans");
pub(crate) const VOID: Table = Table("void");
pub(crate) const NODE_HISTORY: Table = Table("node_history");
/// What was seen of runs while they ran, by run and node.
pub(crate) const USAGE: Table = Table("usage");
/// Cursor, schema version, the configuration's few figures. RocksDB's own first table.
pub(crate) const META: Table = Table("default");

/// All of them, in the order in which they are hashed.
pub(crate) const TABLES: [Table; 15] = [
    META,
    SUBMISSIONS,
    JOBS,
    RECORDS,
    RECORDS_OPEN,
    RECORDS_ENDED,
    RUNS,
    NODES,
    GPU_INTERVALS,
    CPU_INTERVALS,
    SHARE_INTERVALS,
    SPANS,
    VOID,
    NODE_HISTORY,
    USAGE,
];

/// A row that is read, changed and written back.
pub(crate) trait Row: Clone + PartialEq + Serialize + DeserializeOwned {
    type Key: Ord + Clone + std::fmt::Debug;
    const TABLE: Table;
    fn key(key: &Self::Key) -> Vec<u8>;
}
