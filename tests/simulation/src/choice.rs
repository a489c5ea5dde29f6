//! Everything that is chosen, from one seed.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};

/// The one source of choices of a simulation: equal seeds choose equally.
pub struct Choice(Xoshiro256PlusPlus);

impl Choice {
    /// The choices of a seed.
    pub fn of(seed: u64) -> Choice {
        Choice(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `end`; 0 where there is none.
    pub fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.any() % end }
    }

    /// A number from `first` to `last`, both included.
    pub fn between(&mut self, first: u32, last: u32) -> u32 {
        first + self.below(u64::from(last - first) + 1) as u32
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }

    /// One of them; `None` where there is none.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        from.get(self.below(from.len() as u64) as usize).cloned()
    }

    /// One of them, by weight; `None` where all weigh nothing.
    pub fn weighted<T>(&mut self, from: Vec<(u32, T)>) -> Option<T> {
        let sum: u64 = from.iter().map(|(weight, _)| u64::from(*weight)).sum();
        let mut left = self.below(sum);
        from.into_iter().find_map(|(weight, item)| match left.checked_sub(u64::from(weight)) {
            Some(rest) => {
                left = rest;
                None
            }
            None => Some(item),
        })
    }
}
