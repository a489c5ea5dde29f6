//! The pure core of the planner: which waiting jobs start, where, and why the others wait.
//!
//! [`plan`]`(&cluster, now, &policy)` gives a [`Cycle`]; the same inputs give the same bytes on every machine. No
//! clock, no I/O, no randomness, no floating point, no iteration in hash order.
//!
//! - **Order**: jobs start in the order of the queue while they fit ([`Policy::weights`] may make another order). When their
//!   priorities are to be made anew, [`calculation`] says; what they then are is the model's.
//! - **Promises**: the first K blocked jobs of each partition get a protected start, from the limits of what runs;
//!   what is behind them starts only where it does not delay those. K = 1 is EASY backfill, K = all is conservative,
//!   and without backfill a blocked job blocks its partition. What is kept for later is kept by count: which CPU of a
//!   node and which GPU of a type it will be is decided when it starts.
//! - **Places**: a job of one node goes where the least becomes useless to those who usually come ([`fragmentation`]).
//! - **Licences** are taken and promised like what is on nodes, by count and over time.
//! - **Reservations** keep whole nodes: what does not use one starts there only if it ends before, and what uses one starts
//!   within it.
//! - **Preemption**: where runs that may be preempted are all that keeps a job from starting, the cheapest of them that are
//!   enough are told to give way, and what they hold is kept for it.
//! - **Bounds** are counts ([`Policy`]); the first that was met is in the record.
//!
//! [`explain`]`(&cluster, now, &policy, job)` says why one job waits, with figures; it walks the queue as [`plan`] does.
//!
//! What fits on a node is `daybook_model::fit`'s arithmetic. Reasons: only changes are recorded, and `Priority` only
//! where it replaces another recorded reason (`docs/decisions/` says why).

mod calculation;
mod costs;
mod cycle;
mod endings;
mod explain;
mod figures;
pub mod fragmentation;
mod ground;
mod judging;
mod kinds;
mod licenses;
mod limits;
mod named;
mod plan;
mod policy;
mod preemption;
mod promises;
mod queue;
mod releases;
mod reservations;
mod resuming;
mod several;
mod timeline;
mod waiting;
mod windows;

pub use calculation::calculation;
pub use cycle::{Cycle, Preemption, Start};
pub use explain::{NAMED_MAX, explain};
pub use plan::plan;
pub use policy::{Order, Policy};
