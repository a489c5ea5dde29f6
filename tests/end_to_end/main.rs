//! Whole clusters with real processes: from `sbatch` to the ledger.

mod accounts;
mod arrays;
mod crash;
mod licenses;
mod lifecycle;
mod refusals;
mod restart;
mod storage;
mod why;
