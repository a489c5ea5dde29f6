//! The packing experiment: pods arrive one by one in a drawn order and never leave; one that fits nowhere is lost. What
//! counts is how much of the GPUs is given away when so much has arrived as there is, and when 30 % more has.
//!
//! It is the setting of "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent"
//! (Weng et al., USENIX ATC 2023), with its pods and nodes. Pods may want a part of one GPU, which the planner does
//! not give; the score of `fragmentation` is the planner's own figure ([`daybook_plan::fragmentation`]).
//!
//! - [`input`]: pods and nodes.
//! - [`policy`]: what decides, by name.
//! - [`experiment`]: one order of arrivals.
//! - [`figures`]: several orders together.

pub mod experiment;
pub mod figures;
pub mod input;
pub mod policy;
mod ranking;
