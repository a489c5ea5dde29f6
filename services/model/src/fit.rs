//! What a request takes, and where it fits: one arithmetic for the planner (what starts now, what could start later)
//! and for the gateway (what could never start and is refused when it is submitted).
//!
//! - [`Bits`]: CPUs and GPUs of a node as bits.
//! - [`Demand`]: a request with the partition's and the cluster's defaults filled in.
//! - [`Site`], [`Free`], [`Share`]: a node, what it could give, and what of it a run gets.
//! - [`Network`], [`Terrain`]: how the nodes are connected, and all that a placement looks at.
//! - [`Needed`]: the least that one node must have, by count.
//! - [`place`]: chooses nodes and resources; a [`Rating`] says what a node costs those who come later.
//! - [`could_ever_start`], [`check_names`], [`partition_limit`]: judgements that no free resource changes.

mod bits;
mod close;
mod contiguous;
mod demand;
mod ever;
mod load;
mod needed;
mod network;
mod place;
mod select;
mod several;
mod site;

pub use bits::Bits;
pub use demand::{Demand, GpuCounts, MemoryNeed};
pub use ever::{
    Impossible, admission_refusal, check_names, could_ever_start, partition_limit, partition_size_limit,
};
pub use needed::Needed;
pub use network::Network;
pub use place::{Rank, Rating, Terrain, eligible, place};
pub use site::{Amounts, Free, Share, Site};
