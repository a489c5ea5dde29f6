//! Control groups: what confines a run on its node, and what tells how much it used.
//!
//! A run has one group, which exists under the same name in every hierarchy that is used: in those of version 1 (one
//! for each controller), in the one of version 2, or in both, where a machine mounts both. Everything here works on the
//! kernel's files; `docs/decisions/0022-cgroups.md` says why no library does it.

mod device_program;
mod fault;
mod group;
mod hierarchies;
mod machine_cpus;
mod node_groups;
mod rules;
mod usage;

pub use fault::Fault;
pub use group::{Confinement, Device, Group};
pub use hierarchies::{Abilities, Controller, Hierarchies};
pub use machine_cpus::MachineCpus;
pub use node_groups::NodeGroups;
pub use rules::{Confining, Rules, Versions};
pub use usage::GroupUsage;
