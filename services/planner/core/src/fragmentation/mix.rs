//! The usual requests.

use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A whole GPU, in thousandths.
pub const WHOLE_GPU: u32 = 1_000;

/// All the memory of a node, so that nobody may have any of it yet.
pub const WHOLE_MEMORY: u64 = u64::MAX;

/// The most shapes of a mix.
pub const SHAPES_MAX: usize = 1_024;

/// The usual requests are the most frequent that cover so much of what was submitted, in thousandths.
const COVERED_PER_MILLE: u32 = 950;

/// And at most so many: what a cycle spends on the figure, and on the score of a placement.
const USUAL_MAX: usize = 64;

/// How large the part of a GPU is that a placement spares most, in thousandths: found on the openb trace, where a third to a
/// fifth does as well, and so does three times the weight.
const AVERAGE_PART: u32 = WHOLE_GPU / 4;

/// What a shape's count counts at most as.
const COUNT_MAX: u64 = 1 << 20;

/// What a request takes of one node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// CPUs, in thousandths.
    pub cpus: u64,
    /// Memory in MiB; 0: none is counted; or [`WHOLE_MEMORY`].
    pub memory: u64,
    /// GPUs; 0: none.
    pub gpus: u32,
    /// Thousandths of each of those, 1 to [`WHOLE_GPU`].
    pub share: u32,
    /// The types of GPU that it accepts; empty: any.
    pub gpu_types: Vec<String>,
    /// It has the node alone, with all its GPUs.
    pub exclusive: bool,
}

impl Shape {
    /// Whether a GPU of this type will do.
    pub fn accepts(&self, gpu_type: &str) -> bool {
        self.gpu_types.is_empty() || self.gpu_types.iter().any(|accepted| accepted == gpu_type)
    }

    /// What it takes of GPUs, in thousandths.
    pub fn gpu_thousandths(&self) -> u64 {
        u64::from(self.gpus) * u64::from(self.share)
    }
}

/// A shape and how often it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Usual {
    pub(super) shape: Shape,
    pub(super) weight: u64,
}

/// Requests as they usually come, each with how often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mix {
    shapes: Vec<Usual>,
    weight: u64,
}

impl Mix {
    /// The most frequent shapes that together are at least `per_mille` of all, at most `most` of them (and at most
    /// [`SHAPES_MAX`]). Equal shapes count together; equally frequent ones stand in the order of the shapes. A
    /// count above 2^20 counts as that.
    pub fn of(counts: impl IntoIterator<Item = (Shape, u64)>, per_mille: u32, most: usize) -> Mix {
        let mut all: BTreeMap<Shape, u64> = BTreeMap::new();
        for (shape, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            let sum = all.entry(shape).or_insert(0);
            *sum = sum.saturating_add(count).min(COUNT_MAX);
        }
        let total: u128 = all.values().map(|count| u128::from(*count)).sum();
        let mut sorted: Vec<(Shape, u64)> = all.into_iter().collect();
        sorted.sort_by_key(|(_, count)| Reverse(*count));
        let mut mix = Mix::default();
        for (shape, weight) in sorted.into_iter().take(most.min(SHAPES_MAX)) {
            if u128::from(mix.weight) * 1_000 >= total * u128::from(per_mille) {
                break;
            }
            mix.weight += weight;
            mix.shapes.push(Usual { shape, weight });
        }
        mix
    }

    /// The usual requests, as the planner takes them from what was submitted.
    pub fn usual(counts: impl IntoIterator<Item = (Shape, u64)>) -> Mix {
        Mix::of(counts, COVERED_PER_MILLE, USUAL_MAX)
    }

    /// With one request more that comes as often as all others together: a part of a GPU (in thousandths) with its part
    /// of the CPUs that the mix asks beside a GPU, on the average. A rest that such a request cannot use is lost to nearly
    /// everybody, so it is what a placement should avoid most. A mix that wants no GPU stays as it is.
    #[must_use]
    pub fn with_average_part(mut self, share: u32) -> Mix {
        let wanting = self.shapes.iter().filter(|usual| usual.shape.gpus > 0);
        let (cpus, gpus) = wanting.fold((0u128, 0u128), |(cpus, gpus), usual| {
            let (shape, weight) = (&usual.shape, u128::from(usual.weight));
            (
                cpus.saturating_add(weight.saturating_mul(shape.cpus.into())),
                gpus + weight * u128::from(shape.gpu_thousandths()),
            )
        });
        let share = share.clamp(1, WHOLE_GPU);
        let Some(cpus) = cpus.saturating_mul(share.into()).checked_div(gpus) else { return self };
        let cpus = u64::try_from(cpus).unwrap_or(u64::MAX);
        let shape = Shape { cpus, memory: 0, gpus: 1, share, gpu_types: Vec::new(), exclusive: false };
        self.shapes.push(Usual { shape, weight: self.weight });
        self.weight *= 2;
        self
    }

    pub(super) fn shapes(&self) -> &[Usual] {
        &self.shapes
    }

    /// How many shapes it has.
    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    /// Whether nothing is known of who comes.
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    /// The sum of its weights: what figures are divided by.
    pub fn weight(&self) -> u64 {
        self.weight
    }
}

/// What the planner scores a placement by: the usual requests, and an average part of a GPU.
pub fn placement_mix(usual: Mix) -> Mix {
    usual.with_average_part(AVERAGE_PART)
}
