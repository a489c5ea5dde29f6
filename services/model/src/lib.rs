//! The live state of the cluster and the one reducer that makes it.
//!
//! [`Cluster`] is folded from the state stream's commits by [`Cluster::apply`], the same way live, at a restart, in
//! simulation and in time travel. There is no clock, no I/O, no randomness, no floating point and no iteration in
//! hash order in this crate: the same commits give the same state, and the same bytes of a snapshot, everywhere.
//!
//! Cloning a `Cluster` is cheap (persistent maps), so readers get whole snapshots and never a lock.

mod accounts;
mod accrual;
mod allowance;
mod array;
mod billing;
mod charges;
mod circle;
mod cluster;
mod counts;
mod dependency;
pub mod fit;
mod index;
mod job;
mod judgement;
mod license;
mod limits;
mod lines;
mod node;
mod preemption;
mod priority;
mod ready;
mod reducer;
mod reservation;
mod room;
mod run;
mod run_times;
mod sanity;
mod sharing;
mod snapshot;
mod totals;
mod usual;

pub use accounts::{Accounts, TREE_DEPTH_MAX};
pub use accrual::Accrual;
pub use allowance::{Lifted, Need, Refusal, UsedUp};
pub use array::ArrayState;
pub use charges::{Amounts, Charge, Charges, Tres};
pub use cluster::{Cluster, PendingKey};
pub use counts::{Counts, memory_request, node_count};
pub use dependency::{DependencyState, Outcome, condition_notation, dependency_notation};
pub use job::{Hold, Job, Partitions};
pub use judgement::Judgement;
pub use node::{Node, NodeReason, Registration, Silence};
pub use preemption::WayOut;
pub use priority::{Level, Priorities, Standing, addends, priority_of};
pub use ready::{Claim, ReadyKind};
pub use reservation::{Reservation, Window};
pub use room::Room;
pub use run::{Pauses, Run, RunEnd, ran};
pub use sanity::Violation;
pub use snapshot::{REDUCER_VERSION, SnapshotError, read_snapshot, state_hash, write_snapshot};
pub use totals::{RECENT_CYCLES_MAX, Totals};
pub use usual::UsualRequest;

/// How long a requeued job stays back before it may start again (Slurm's two minutes).
pub const REQUEUE_DELAY_SECONDS: i64 = 120;
/// The most signals remembered for one run; older ones are dropped once newer ones come.
pub const SIGNALS_MAX: usize = 64;
