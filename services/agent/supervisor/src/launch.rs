//! What an agent asks of a supervisor.

use std::collections::BTreeMap;

use daybook_schemas::UtcMicros;
use serde::{Deserialize, Serialize};

/// The content of `order.json`: that the agent means to start a run, and how.
///
/// The supervisor reads it as `Intent<serde::de::IgnoredAny>`; the order is the agent's own, for its restart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent<Order> {
    /// The kernel's boot id. Under another one the run is never started.
    pub boot_id: String,
    /// When it was written.
    pub written_at: UtcMicros,
    /// What the supervisor does.
    pub launch: Launch,
    /// What the agent was ordered.
    pub order: Order,
}

/// Everything that a supervisor needs to know, resolved: it looks nothing up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The job's id, for the lines that Slurm writes into the job's output.
    pub job: u32,
    /// The node's name, likewise.
    pub node: String,
    /// Whom the script runs as; absent: as the supervisor itself (which then is no root).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// The spooled script's path: what is executed and `$0`.
    pub script: String,
    /// Arguments behind it.
    pub arguments: Vec<String>,
    /// Where it starts.
    pub work_dir: String,
    /// Standard input's path.
    pub std_in: String,
    /// Standard output's path, relative to `work_dir` unless absolute.
    pub std_out: String,
    /// Standard error's path; absent: into standard output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub std_err: Option<String>,
    /// Whether the output files are continued and not emptied.
    pub append: bool,
    /// The umask, for the output files too.
    pub umask: u32,
    /// Soft resource limits by name without `RLIMIT_`; `u64::MAX` is unlimited. `RSS` sets the hard limit too.
    pub limits: BTreeMap<String, u64>,
    /// How long it may run, in seconds; absent: without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_limit_seconds: Option<u64>,
    /// From TERM to KILL, in seconds.
    pub kill_wait_seconds: u64,
}

/// A Unix identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
    /// All groups.
    pub groups: Vec<u32>,
}
