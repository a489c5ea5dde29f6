use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{NodeName, RunId, UtcMicros};

/// What a run's processes have used on a node until the event's time, as its agent saw it. An event of the detail stream.
///
/// All but the memory counts from the run's begin, so an observation that is lost loses nothing but its share of the peak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunUsage {
    /// The run.
    pub run: RunId,
    /// The node.
    pub node: NodeName,
    /// The observation before this one; absent: there is none, or nobody knows it (the agent was away in between).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_since: Option<UtcMicros>,
    /// CPU time in user mode, microseconds.
    pub user_cpu_us: u64,
    /// CPU time in the kernel, microseconds.
    pub system_cpu_us: u64,
    /// Memory of all its processes together, without the cache of files, KiB: the largest amount seen since
    /// `observed_since`.
    pub resident_kib: u64,
    /// Bytes read from block devices; absent: nobody counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes written to block devices; absent: nobody counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Its processes now.
    pub processes: u32,
}
