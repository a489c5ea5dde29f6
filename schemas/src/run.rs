//! What a run is given and how it ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::grammar::index_set::IndexSet;
use crate::units::{GpuUuid, Mebibytes, NodeName};

/// A run's share of one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunNode {
    /// The node.
    pub node: NodeName,
    /// The CPUs, by index on the node.
    pub cpus: IndexSet,
    /// Memory.
    pub memory: Mebibytes,
    /// GPUs, in order of index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<AllocatedGpu>,
    /// Tasks placed here.
    pub tasks: u32,
}

/// One GPU given to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AllocatedGpu {
    /// Its index on the node.
    pub index: u32,
    /// Its identity.
    pub uuid: GpuUuid,
    /// Its type.
    pub gpu_type: String,
}

/// What made a run end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EndCause {
    /// The batch script ended by itself (or by a signal that nobody of Daybook sent).
    Exited,
    /// The time limit.
    TimeLimit,
    /// Somebody cancelled the job.
    Cancelled,
    /// Put back into the queue.
    Requeued,
    /// It could not be started (bad directory, unwritable output, …); Slurm's 0:53.
    LaunchFailed,
    /// The node failed, or was set down.
    NodeFailed,
    /// The node was no good for it: its prolog failed, or it could not be confined. The script was not started; Slurm's 0:53.
    NodeUnfit,
    /// The kernel ended it for lack of memory.
    OutOfMemory,
    /// It gave way to another job.
    Preempted,
    /// Nobody saw the end: it lies at the last evidence.
    Lost,
}

/// How a process ended; Slurm prints `code:signal`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExitStatus {
    /// 0 to 255.
    pub code: u32,
    /// The signal, 0 for none.
    pub signal: u32,
}

impl ExitStatus {
    /// Whether it means success.
    pub fn is_success(self) -> bool {
        self.code == 0 && self.signal == 0
    }
}

impl std::fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.code, self.signal)
    }
}

/// What the batch script and its children used, as the kernel told at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessUsage {
    /// CPU time in user mode, microseconds.
    pub user_cpu_us: u64,
    /// CPU time in the kernel, microseconds.
    pub system_cpu_us: u64,
    /// The largest resident set of one process, KiB.
    pub max_rss_kib: u64,
    /// Bytes read from block devices; absent: nobody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes written to block devices; absent: nobody counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
}
