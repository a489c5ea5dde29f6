//! Traces of real clusters, replayed through the planner and the model of Daybook under a simulated clock. There is
//! no second scheduler: every arrival, start and end is a commit that [`daybook_model::Cluster`] folds, and every
//! decision is [`daybook_plan::plan`]'s.
//!
//! - [`trace`]: what arrives, from the Standard Workload Format or a CSV of GPU jobs.
//! - [`machine`]: the nodes that it arrives at.
//! - [`simulation`]: the clock.
//! - [`policy`]: the policies by name.
//! - [`starts`]: the file of every job's start.
//! - [`figures`]: waits, slowdown, utilisation.
//! - [`packing`]: another experiment, without time: pods that arrive and never leave.

pub mod figures;
pub mod machine;
mod node_list;
pub mod packing;
pub mod policy;
mod request;
mod rows;
pub mod simulation;
pub mod starts;
pub mod trace;
