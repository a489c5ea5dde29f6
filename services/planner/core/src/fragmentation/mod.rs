//! Fragmentation: how much of what is free on GPUs the usual mix of requests could not use.
//!
//! A free GPU is of no use where the CPUs or the memory beside it are gone, where what is left of it is too small, or
//! where its node has too few of them. How much that is depends on who comes: [`unusable`] asks for each request of a
//! [`Mix`], how much of a node's free GPUs as many such requests as fit would leave, and weighs the answers by how
//! often the request comes. The idea is that of fragmentation gradient descent (Weng et al., USENIX ATC 2023); theirs
//! asks whether one request fits, this one how many, so that a node with eight free GPUs and CPUs for two is not
//! counted as good for eight.
//!
//! [`of_cycle`] is the figure of a planning cycle. [`least_growth`] and [`growth`] score a placement, by how much it raises
//! the figure: the planner puts requests of one node where that is least, by a [`placement_mix`]. Integers only; what is
//! divided is rounded down.

mod cycle;
mod mix;
mod room;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub use cycle::{Figure, of_cycle, usual_mix};
pub use mix::{Mix, SHAPES_MAX, Shape, WHOLE_GPU, WHOLE_MEMORY, placement_mix};
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

/// [`least_growth`] of one request that is given in parts, all of one node: what it takes beside GPUs is in the first, and
/// only the last may leave a choice of GPUs. `None` where it does not fit, or has no part.
pub fn growth<'a>(room: &Room<'a>, parts: &[Shape], memo: &mut Memo<'_, 'a>) -> Option<i64> {
    let (last, firsts) = parts.split_last()?;
    let mut rest = Cow::Borrowed(room);
    for part in firsts {
        rest = Cow::Owned(rest.without(part).into_iter().next()?);
    }
    let taken_before = memo.unusable(&rest) as i64 - memo.unusable(room) as i64;
    least_growth(&rest, last, memo).map(|(growth, _)| taken_before + growth)
}

/// How good a node with this room is for a request of one node, which is given in parts; less is better: [`growth`], and
/// for one that wants GPUs how much is free on the node's. `None` where it does not fit.
pub fn placement_rank<'a>(room: &Room<'a>, parts: &[Shape], memo: &mut Memo<'_, 'a>) -> Option<(i64, u64)> {
    let wants_gpus = parts.iter().any(|part| part.gpus > 0);
    Some((growth(room, parts, memo)?, if wants_gpus { room.gpu_thousandths() } else { 0 }))
}

/// A mix, and what its requests can do with the sets of free GPUs that were met: many nodes have the same.
#[derive(Clone, Debug)]
pub struct Memo<'m, 'a> {
    mix: Cow<'m, Mix>,
    known: BTreeMap<Vec<GpuGroup<'a>>, Uses>,
}

/// The most sets of free GPUs that are remembered; then it starts anew.
const MEMO_MAX: usize = 100_000;

impl<'m, 'a> Memo<'m, 'a> {
    /// Nothing met yet.
    pub fn new(mix: &'m Mix) -> Memo<'m, 'a> {
        Memo { mix: Cow::Borrowed(mix), known: BTreeMap::new() }
    }

    /// The same, with a mix of its own.
    pub fn owning(mix: Mix) -> Memo<'static, 'a> {
        Memo { mix: Cow::Owned(mix), known: BTreeMap::new() }
    }

    /// Its mix.
    pub fn mix(&self) -> &Mix {
        &self.mix
    }

    /// [`unusable`] of this mix.
    pub fn unusable(&mut self, room: &Room<'a>) -> u64 {
        if let Some(uses) = self.known.get(room.gpus()) {
            return uses.unusable(&self.mix, room);
        }
        let uses = Uses::of(&self.mix, room.gpus());
        let unusable = uses.unusable(&self.mix, room);
        if self.known.len() >= MEMO_MAX {
            self.known.clear();
        }
        self.known.insert(room.gpus().to_vec(), uses);
        unusable
    }
}
