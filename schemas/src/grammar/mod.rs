//! Slurm's notations, read and written.

pub mod index_set;
