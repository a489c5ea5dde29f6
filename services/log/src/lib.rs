//! The event log: one trait, [`EventLog`], and what keeps it.
//!
//! - [`embedded`]: RocksDB in one directory; the default on one machine (cargo feature `embedded`, on by default).
//! - [`jetstream`]: two streams of a NATS server or cluster, for several machines (cargo feature `jetstream`).
//! - [`memory`]: in this process only, with faults on demand; tests and simulation.
//! - [`copy`]: moves a log between a directory and a bus.
//! - [`follow`]: keeps a projection at the end of a stream, contiguously, and hands out snapshots.
//! - [`bounds`]: every limit of this crate.
//!
//! Rules that every implementation keeps ([`conformance`] has them as tests):
//! an acknowledged append is on stable storage; sequence numbers are contiguous from 1 in each stream; the
//! log's timestamps never go back; an event id is accepted once, for ever; a draft is appended whole or not at all;
//! a blob that a commit was appended with is readable whenever the commit is.

mod admission;
pub mod bounds;
pub mod clock;
pub mod conformance;
#[cfg(feature = "jetstream")]
pub mod copy;
#[cfg(feature = "embedded")]
pub mod embedded;
mod ends;
mod event_log;
pub mod follow;
#[cfg(feature = "jetstream")]
pub mod jetstream;
pub mod memory;
mod prepared;

pub use event_log::{Append, AppendError, Appended, Durability, EventLog, LogHandle, ReadError};
