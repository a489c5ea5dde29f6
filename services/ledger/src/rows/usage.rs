use daybook_schemas::{NodeName, RunId, Seq, UtcMicros};
use serde::{Deserialize, Serialize};

use super::{Row, Table, USAGE};
use crate::keys;

/// A run on one of its nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UsageKey {
    pub(crate) run: RunId,
    pub(crate) node: NodeName,
}

/// What was seen of a run while it ran, on one of its nodes. It is made of the detail stream alone, so it is the same however
/// far the books are in the other stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct UsageRow {
    /// The last observation.
    pub(crate) at: UtcMicros,
    /// The most of each that was seen: a counter that went back has been reset, and is not believed.
    pub(crate) user_cpu_us: u64,
    pub(crate) system_cpu_us: u64,
    pub(crate) peak_kib: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) read_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) written_bytes: Option<u64>,
    /// At the last observation.
    pub(crate) resident_kib: u64,
    pub(crate) processes: u32,
    /// Microseconds that lie between two observations of an agent that was there all the time.
    pub(crate) observed_us: u64,
    pub(crate) observations: u64,
    /// The commit of the last one, in the detail stream.
    pub(crate) evidence: Seq,
}

impl Row for UsageRow {
    type Key = UsageKey;
    const TABLE: Table = USAGE;
    fn key(key: &UsageKey) -> Vec<u8> {
        keys::usage(key.run, &key.node)
    }
}
