//! Notations of a job's options, read into what the interface takes.

pub mod array;
pub mod dependency;
pub mod features;
pub mod gpus;
pub mod node_count;
