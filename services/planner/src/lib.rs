//! Decides which waiting jobs start, where, and why the others wait.
//!
//! - [`plan`]: the pure core. `plan(&cluster, now, &policy)` gives a [`Cycle`]; the same inputs give the same bytes
//!   on every machine. EASY backfill: jobs start in the order of the queue while they fit; the first K blocked jobs
//!   of each partition get a protected start, and what is behind them starts only where it does not delay those.
//! - [`Policy`]: what it decides by, with a hash that is recorded.
//! - [`Planner`]: the thin loop around it: plans on the newest snapshot, appends, waits until it sees its own commit.
//! - [`leases`]: what follows from the silence of nodes' agents.
//! - [`replay`]: decides every recorded cycle again and compares.
//!
//! What fits on a node is `daybook_model::fit`'s arithmetic. Reasons: only changes are recorded, and `Priority` only
//! where it replaces another recorded reason (`docs/decisions/` says why).

mod cycle;
mod ground;
pub mod leases;
mod plan;
mod policy;
mod queue;
pub mod replay;
mod reserve;
mod run;
mod shape;

pub use cycle::{Cycle, Start};
pub use plan::plan;
pub use policy::Policy;
pub use run::Planner;
