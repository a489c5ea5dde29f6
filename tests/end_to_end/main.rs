//! Whole clusters with real processes: from `sbatch` to the ledger.

mod accounts;
mod arrays;
mod care;
mod changes;
mod crash;
mod examples;
mod licenses;
mod lifecycle;
mod limits;
mod partitions;
mod preemption;
mod priorities;
mod refusals;
mod reservations;
mod restart;
mod storage;
mod suspension;
mod wckeys;
mod why;
