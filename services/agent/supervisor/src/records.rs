//! The records in a run's directory.

use daybook_schemas::UtcMicros;
use daybook_schemas::orders::{RunOrder, RunWish, SignalOrder};
use daybook_schemas::run::{EndCause, ExitStatus, ProcessUsage};
use serde::{Deserialize, Serialize};

/// The intent.
pub const ORDER: &str = "order.json";
/// What the run is to do beside running.
pub const WISH: &str = "wish.json";
/// Wakes the supervisor: one byte, to look at [`WISH`] again.
pub const CONTROL: &str = "control";
/// Locked by the supervisor as long as it lives.
pub const LOCK: &str = "lock";
/// Made exclusively by the one supervisor that starts the script.
pub const CLAIM: &str = "claim";
/// The script's process exists.
pub const STARTED: &str = "started.json";
/// The run is over.
pub const EXIT: &str = "exit.json";

/// What the agent intends: everything that the supervisor needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Intent {
    /// The order.
    pub order: RunOrder,
    /// The node that this agent is.
    pub node: String,
    /// The boot under which the run may start.
    pub boot_id: String,
    /// The spooled script.
    pub script: String,
    /// The spooled environment: NUL-terminated `NAME=value`.
    pub environment: String,
}

/// What the run is to do now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wish {
    /// Run, or end because of something.
    pub wish: RunWish,
    /// Signals to send, each once.
    pub signals: Vec<SignalOrder>,
}

/// Who supervises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The supervisor's process id.
    pub pid: i32,
    /// Its start time in clock ticks since boot: tells it from a later process with the same id.
    pub start_time: u64,
}

/// The script has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The script's process id.
    pub pid: i32,
    /// When.
    pub at: UtcMicros,
}

/// The run is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// When.
    pub at: UtcMicros,
    /// What ended it.
    pub cause: EndCause,
    /// The script's status.
    pub exit: ExitStatus,
    /// For people.
    pub message: Option<String>,
    /// What it used.
    pub usage: Option<ProcessUsage>,
}
