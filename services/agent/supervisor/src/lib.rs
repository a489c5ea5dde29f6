//! The process that starts one run's batch script, watches it and keeps how it ended.
//!
//! A supervisor outlives the agent that started it: the agent may be stopped, upgraded or killed while jobs run.
//! Both speak through one directory for each run:
//!
//! | file | written by | what |
//! |---|---|---|
//! | `order.json` | agent | the [`launch::Intent`], on stable storage before a supervisor exists; the supervisor's lock is on it |
//! | `environment` | agent | the script's environment, `NAME=value` each with a NUL behind it |
//! | `control` | agent | a FIFO for [`control::Message`]s |
//! | `record` | supervisor | [`record::Entry`]s, one a line; created with `O_EXCL`, so its existence is the claim |
//!
//! **At most once.** Only the supervisor that creates `record` runs the script; any other leaves at once. While it
//! lives it holds a lock on `order.json`, so: no record, nothing was started; a record and a lock, it runs; a record
//! with an end, it is over; a record without an end and without a lock, nobody saw the end.
//! The record's creation needs no sync of its own: a process that dies loses nothing of the page cache, and a machine
//! that dies comes back with another boot id than the intent's, which alone says that the run must not start again.
//! The end is synced before the supervisor leaves.
//!
//! Removing a run's directory starts with `order.json`. A directory without one holds nothing.

pub mod control;
pub mod launch;
pub mod process;
pub mod record;

use daybook_schemas::UtcMicros;

/// The intent's file name in a run's directory.
pub const ORDER_FILE: &str = "order.json";
/// The environment's file name in a run's directory.
pub const ENVIRONMENT_FILE: &str = "environment";
/// The record's file name in a run's directory.
pub const RECORD_FILE: &str = "record";
/// The FIFO's file name in a run's directory.
pub const CONTROL_FILE: &str = "control";
/// What a supervisor writes on its standard output once the script's process exists and the record says so.
pub const STARTED_LINE: &str = "started\n";

/// The present instant by the machine's clock.
pub fn now() -> UtcMicros {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    UtcMicros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
