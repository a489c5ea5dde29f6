use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::LedgerError;

/// An amount of GPU time: one GPU-second is 50,400 quanta, so that sevenths (MIG) and sixteenths (time slices) of it
/// are whole. 64 bits hold eleven million GPU-years; what does not fit is an error, never a wrapped figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Quanta(u64);

impl Quanta {
    /// Quanta in one GPU-second.
    pub const PER_GPU_SECOND: u64 = 50_400;
    /// Nothing.
    pub const ZERO: Quanta = Quanta(0);

    /// So many whole GPUs for one second each, or one GPU for so many seconds.
    pub fn of_gpu_seconds(seconds: u64) -> Result<Quanta, LedgerError> {
        seconds
            .checked_mul(Quanta::PER_GPU_SECOND)
            .map(Quanta)
            .ok_or(LedgerError::TooLarge("an amount of GPU time"))
    }

    /// The sum.
    pub fn plus(self, other: Quanta) -> Result<Quanta, LedgerError> {
        self.0.checked_add(other.0).map(Quanta).ok_or(LedgerError::TooLarge("a sum of GPU time"))
    }

    /// The amount itself.
    pub fn get(self) -> u64 {
        self.0
    }

    /// In whole GPU-seconds, where it is such.
    pub fn whole_gpu_seconds(self) -> Option<u64> {
        self.0.is_multiple_of(Quanta::PER_GPU_SECOND).then_some(self.0 / Quanta::PER_GPU_SECOND)
    }
}

impl fmt::Display for Quanta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sevenths_and_sixteenths_of_a_gpu_second_are_whole() {
        let second = Quanta::of_gpu_seconds(1).unwrap();
        for parts in [2, 3, 4, 5, 6, 7, 8, 9, 16] {
            assert_eq!(second.get() % parts, 0, "{parts}");
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        assert!(Quanta::of_gpu_seconds(u64::MAX / 2).is_err());
        let most = Quanta::of_gpu_seconds(u64::MAX / Quanta::PER_GPU_SECOND).unwrap();
        assert!(most.plus(most).is_err());
        assert_eq!(most.plus(Quanta::ZERO).unwrap().whole_gpu_seconds(), Some(u64::MAX / 50_400));
        assert_eq!(Quanta(50_399).whole_gpu_seconds(), None);
    }
}
