//! The ledger: what every job, every run, every GPU and every node was doing, posted from the log.
//!
//! It follows the state stream and keeps rows of its own in one RocksDB directory: records (one for each attempt of a job to
//! run, which is what sacct shows) and the physical book (an interval for every GPU and every node's CPUs and memory, at
//! every instant). Rows and position are written in one batch. It knows nothing of the live model; `docs/ledger.md` states
//! every rule with an example.
//!
//! - [`Ledger`]: follows a log, answers the interface's questions, verifies itself.
//! - [`Book`]: the rows alone, for whoever has commits in hand.
//! - [`router`]: the ledger's operations over HTTP.
//! - [`Quanta`]: amounts of GPU time.

mod amount;
mod book;
pub mod bounds;
mod error;
mod fold;
mod keys;
mod ledger;
mod posting;
mod query;
mod router;
mod rows;
mod store;
mod verify;

pub use amount::Quanta;
pub use book::Book;
pub use error::LedgerError;
pub use ledger::{Ledger, LedgerOptions};
pub use query::QueryError;
pub use router::router;
pub use rows::{NodeAct, NodeHistory, VoidAllocation};
pub use verify::VerifyReport;
