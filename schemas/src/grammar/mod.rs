//! Slurm's notations, read and written. Each file has one notation: reading it gives our types or an error that says what
//! would be right, and showing it gives what Slurm's commands show.

pub mod array;
pub mod billing_weights;
pub mod dependency;
pub mod duration;
pub mod gres;
pub mod hostlist;
pub mod index_set;
pub mod instant;
pub mod job_id;
pub mod license;
pub mod memory;
pub mod output_pattern;
pub mod signal;
pub mod tres;
