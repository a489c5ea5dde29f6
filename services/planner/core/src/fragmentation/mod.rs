//! Fragmentation: how much of what is free on GPUs the usual mix of requests could not use.
//!
//! A free GPU is of no use where the CPUs or the memory beside it are gone, where what is left of it is too small, or
//! where its node has too few of them. How much that is depends on who comes: [`unusable`] asks for each request of a
//! [`Mix`], how much of a node's free GPUs as many such requests as fit would leave, and weighs the answers by how
//! often the request comes. The idea is that of fragmentation gradient descent (Weng et al., USENIX ATC 2023); theirs
//! asks whether one request fits, this one how many, so that a node with eight free GPUs and CPUs for two is not
//! counted as good for eight.
//!
//! [`of_cycle`] is the figure of a planning cycle, and [`least_growth`] scores a placement: by how much it raises the
//! figure. Integers only; what is divided is rounded down.

mod cycle;
mod mix;
mod room;

use std::collections::BTreeMap;

pub use cycle::{Figure, of_cycle, usual_mix};
pub use mix::{Mix, SHAPES_MAX, Shape, WHOLE_GPU, WHOLE_MEMORY};
pub use room::{GpuGroup, Room};

/// What one request of a mix can do with a node's free GPUs, apart from CPUs and memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Use {
    /// Free on GPUs of its types of which its share can be had, in thousandths.
    large: u64,
    /// How many of its shares those have.
    shares: u64,
    /// How many of it fit.
    fits: u64,
}

/// What each request of a mix can do with some GPUs: the part of [`unusable`] that nodes with the same free GPUs share.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Uses {
    free: u64,
    uses: Vec<Use>,
}

impl Uses {
    fn of(mix: &Mix, gpus: &[GpuGroup<'_>]) -> Uses {
        Uses {
            free: gpus.iter().map(GpuGroup::free_thousandths).sum(),
            uses: mix.shapes().iter().map(|usual| use_of(&usual.shape, gpus)).collect(),
        }
    }

    /// [`unusable`] of a room with these free GPUs.
    fn unusable(&self, mix: &Mix, room: &Room<'_>) -> u64 {
        let each = mix.shapes().iter().zip(&self.uses);
        each.map(|(usual, gpus)| usual.weight * (self.free - usable(&usual.shape, gpus, self.free, room)))
            .sum()
    }
}

/// How much of a node's free GPUs a mix could not use, in thousandths of a GPU times [`Mix::weight`]: between 0 (all
/// of it is of use to everybody) and what is free times the weight (nobody who usually comes can use any).
///
/// To a request that wants no GPU or does not fit all of it is of no use. To another it is what it cannot have a share
/// of, and of the rest the part that goes beyond as many such requests as fit.
pub fn unusable(room: &Room<'_>, mix: &Mix) -> u64 {
    Uses::of(mix, room.gpus()).unusable(mix, room)
}

fn use_of(shape: &Shape, gpus: &[GpuGroup<'_>]) -> Use {
    let mut found = Use { large: 0, shares: 0, fits: 0 };
    if shape.gpus == 0 {
        return found;
    }
    let share = shape.share.max(1);
    let usable = || gpus.iter().filter(|group| group.free >= share && shape.accepts(group.gpu_type));
    for group in usable() {
        found.large += group.free_thousandths();
        found.shares += u64::from(group.free / share) * u64::from(group.count);
    }
    // Each copy has its shares on different GPUs. With one share each that is no bound; whole GPUs are met at once.
    let wanted = u64::from(shape.gpus);
    let mut fits = found.shares / wanted;
    while fits > 0 {
        let had: u64 =
            usable().map(|group| u64::from(group.free / share).min(fits) * u64::from(group.count)).sum();
        if had >= fits * wanted {
            break;
        }
        fits = (had / wanted).min(fits - 1);
    }
    found.fits = fits;
    found
}

fn usable(shape: &Shape, gpus: &Use, free: u64, room: &Room<'_>) -> u64 {
    let needs_all = shape.exclusive || shape.memory == WHOLE_MEMORY;
    if gpus.fits == 0 || needs_all && !room.untouched {
        return 0;
    }
    let fits = at_most(if needs_all { 1 } else { gpus.fits }, room.cpus, shape.cpus);
    let fits = if shape.memory == WHOLE_MEMORY { fits } else { at_most(fits, room.memory, shape.memory) };
    if shape.exclusive {
        return if fits > 0 { free } else { 0 };
    }
    let shares = fits * u64::from(shape.gpus);
    if shares == gpus.shares { gpus.large } else { gpus.large * shares / gpus.shares }
}

/// As many as there is enough for, at most `most`.
fn at_most(most: u64, there: u64, each: u64) -> u64 {
    if each.saturating_mul(most) <= there { most } else { there / each }
}

/// By how much a request raises [`unusable`] where it is put so that it raises it least, and what of the room is then
/// left; `None` where it does not fit.
///
/// What it takes is no longer free, so the growth is negative where it takes what few could use.
pub fn least_growth<'a>(room: &Room<'a>, shape: &Shape, memo: &mut Memo<'_, 'a>) -> Option<(i64, Room<'a>)> {
    let before = memo.unusable(room);
    let growth = |left: Room<'a>| (memo.unusable(&left) as i64 - before as i64, left);
    // Ties: the first, which takes the smallest part that is large enough.
    room.without(shape).into_iter().map(growth).min_by_key(|(growth, _)| *growth)
}

/// A mix, and what its requests can do with the sets of free GPUs that were met: many nodes have the same.
#[derive(Clone, Debug)]
pub struct Memo<'m, 'a> {
    mix: &'m Mix,
    known: BTreeMap<Vec<GpuGroup<'a>>, Uses>,
}

/// The most sets of free GPUs that are remembered; then it starts anew.
const MEMO_MAX: usize = 100_000;

impl<'m, 'a> Memo<'m, 'a> {
    /// Nothing met yet.
    pub fn new(mix: &'m Mix) -> Memo<'m, 'a> {
        Memo { mix, known: BTreeMap::new() }
    }

    /// [`unusable`] of this mix.
    pub fn unusable(&mut self, room: &Room<'a>) -> u64 {
        if let Some(uses) = self.known.get(room.gpus()) {
            return uses.unusable(self.mix, room);
        }
        let uses = Uses::of(self.mix, room.gpus());
        let unusable = uses.unusable(self.mix, room);
        if self.known.len() >= MEMO_MAX {
            self.known.clear();
        }
        self.known.insert(room.gpus().to_vec(), uses);
        unusable
    }
}
