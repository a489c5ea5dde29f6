//! The planner: decides which waiting jobs start, where, and why the others wait.
//!
//! - [`plan`]: the pure core, the crate `daybook-plan` (`core/`): `plan(&cluster, now, &policy)` gives a [`Cycle`].
//! - [`Planner`]: the thin loop around it: plans on the newest snapshot, appends, waits until it sees its own commit.
//! - [`leases`]: what follows from the silence of nodes' agents.
//! - [`replay`]: decides every recorded cycle again and compares.

pub mod leases;
pub mod replay;
mod run;

pub use daybook_plan::{Cycle, Order, Policy, Start, explain, plan};
pub use run::Planner;
