//! The live queue: every question about the present.
//!
//! Answers come from a snapshot of the model that has everything acknowledged before the question came. Nothing is
//! changed here.

mod accounts;
mod filter;
mod priorities;
mod resources;
mod routes;
mod statistics;
mod table;
mod views;

pub use filter::matches;
pub use routes::{Queue, router};
pub use table::job_table;
pub use views::{node_view, partition_view};
