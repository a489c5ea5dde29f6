//! The figure of a planning cycle.

use std::collections::BTreeMap;

use daybook_model::Cluster;

use super::Memo;
use super::mix::{Mix, Shape, WHOLE_GPU};
use super::room::Room;

/// What of a cluster's free GPUs those who usually come could not use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figure {
    /// Free on GPUs of nodes that may be used, in thousandths of a GPU.
    pub gpus_free: u64,
    /// What of it the mix could not use, in thousandths of a GPU, rounded down; `None`: nobody has asked for a GPU yet.
    pub gpus_unusable: Option<u64>,
    /// Nodes with something free on GPUs, and different states among them: the work that it was.
    pub steps: usize,
}

/// Adds up [`super::unusable`] over what nodes have free. Equal rooms are looked at once, and those without a free GPU not at
/// all.
pub fn of_cycle<'a>(rooms: impl IntoIterator<Item = Room<'a>>, mix: &Mix) -> Figure {
    let mut alike: BTreeMap<Room<'a>, u64> = BTreeMap::new();
    let mut figure = Figure::default();
    for room in rooms.into_iter().filter(|room| !room.gpus().is_empty()) {
        figure.steps += 1;
        figure.gpus_free += room.gpu_thousandths();
        *alike.entry(room).or_insert(0) += 1;
    }
    if !mix.is_empty() {
        figure.steps += alike.len();
        let mut memo = Memo::new(mix);
        let weighted = alike.iter().map(|(room, count)| u128::from(memo.unusable(room)) * u128::from(*count));
        let weighted: u128 = weighted.sum();
        // No more than what is free, which is 64 bits.
        figure.gpus_unusable = u64::try_from(weighted / u128::from(mix.weight())).ok();
    }
    figure
}

/// What usually comes to a cluster: the requests for GPUs that were submitted, as the model counts them. It knows
/// amounts, not places: partitions, features and named nodes are not in it.
pub fn usual_mix(cluster: &Cluster) -> Mix {
    let shapes = cluster.usual_requests().map(|(request, count)| {
        let shape = Shape {
            cpus: request.cpus.saturating_mul(1_000),
            memory: request.memory,
            gpus: request.gpus,
            share: WHOLE_GPU,
            gpu_types: request.gpu_types.clone(),
            exclusive: request.exclusive,
        };
        (shape, count)
    });
    Mix::usual(shapes)
}
