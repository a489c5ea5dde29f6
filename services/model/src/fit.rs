//! What a request takes, and where it fits: one arithmetic for the planner (what starts now, what could start later)
//! and for the gateway (what could never start and is refused when it is submitted).
//!
//! - [`Bits`]: CPUs and GPUs of a node as bits.
//! - [`Demand`]: a request with the partition's and the cluster's defaults filled in.
//! - [`Site`], [`Free`], [`Share`]: a node, what it could give, and what of it a run gets.
//! - [`Network`], [`Terrain`]: how the nodes are connected, and all that a placement looks at.
//! - [`place`]: chooses nodes and resources.
//! - [`could_ever_start`], [`partition_limit`]: judgements that no free resource changes.

mod bits;
mod close;
mod contiguous;
mod demand;
mod ever;
mod network;
mod place;
mod select;
mod several;
mod site;

pub use bits::Bits;
pub use demand::{Demand, GpuCounts, MemoryNeed};
pub use ever::{Impossible, admission_refusal, could_ever_start, partition_limit, partition_size_limit};
pub use network::Network;
pub use place::{Terrain, eligible, place};
pub use site::{Amounts, Free, Share, Site};
