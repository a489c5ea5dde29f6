use daybook_schemas::grammar::index_set::IndexSet;

/// Words that lie in the set itself: 128 numbers without an allocation, as many as most nodes have CPUs.
const LOW_WORDS: usize = 2;

/// A set of small numbers (CPUs of a node, positions in its list of GPUs) as bits.
#[derive(Clone, Debug, Default)]
pub struct Bits {
    low: [u64; LOW_WORDS],
    high: Vec<u64>,
}

impl PartialEq for Bits {
    fn eq(&self, other: &Bits) -> bool {
        let longest = self.high.len().max(other.high.len());
        self.low == other.low && (LOW_WORDS..LOW_WORDS + longest).all(|at| self.word(at) == other.word(at))
    }
}

impl Eq for Bits {}

impl Bits {
    /// The numbers below `count`.
    pub fn below(count: u32) -> Bits {
        let mut bits = Bits::default();
        let words = count.div_ceil(64) as usize;
        bits.high.resize(words.saturating_sub(LOW_WORDS), 0);
        for (at, word) in bits.words_mut().take(words).enumerate() {
            let numbers = (count - at as u32 * 64).min(64);
            *word = u64::MAX >> (64 - numbers);
        }
        bits
    }

    /// A set in Slurm's notation; numbers from `end` on are left out.
    pub fn of(set: &IndexSet, end: u32) -> Bits {
        let mut bits = Bits::default();
        for (first, last) in set.ranges().iter().take_while(|(first, _)| *first < end) {
            let last = (*last).min(end - 1);
            for word in first / 64..=last / 64 {
                let lowest = first.saturating_sub(word * 64);
                let highest = (last - word * 64).min(63);
                *bits.word_mut(word as usize) |= (u64::MAX << lowest) & (u64::MAX >> (63 - highest));
            }
        }
        bits
    }

    fn word_mut(&mut self, at: usize) -> &mut u64 {
        if at >= LOW_WORDS && self.high.len() <= at - LOW_WORDS {
            self.high.resize(at - LOW_WORDS + 1, 0);
        }
        match at.checked_sub(LOW_WORDS) {
            None => &mut self.low[at],
            Some(at) => &mut self.high[at],
        }
    }

    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        self.low.iter().chain(&self.high).copied()
    }

    fn words_mut(&mut self) -> impl Iterator<Item = &mut u64> {
        self.low.iter_mut().chain(&mut self.high)
    }

    fn word(&self, at: usize) -> u64 {
        match self.low.get(at) {
            Some(word) => *word,
            None => self.high.get(at - LOW_WORDS).copied().unwrap_or(0),
        }
    }

    /// How many numbers are in it.
    pub fn count(&self) -> u32 {
        self.words().map(u64::count_ones).sum()
    }

    /// How many are in both.
    pub fn count_common(&self, other: &Bits) -> u32 {
        self.words().zip(other.words()).map(|(a, b)| (a & b).count_ones()).sum()
    }

    /// Whether none is in it.
    pub fn is_empty(&self) -> bool {
        self.words().all(|word| word == 0)
    }

    /// Whether a number is in it.
    pub fn contains(&self, index: u32) -> bool {
        self.word(index as usize / 64) & (1 << (index % 64)) != 0
    }

    /// Puts a number in.
    pub fn insert(&mut self, index: u32) {
        *self.word_mut(index as usize / 64) |= 1 << (index % 64);
    }

    /// Puts all of another set in.
    pub fn insert_all(&mut self, other: &Bits) {
        if self.high.len() < other.high.len() {
            self.high.resize(other.high.len(), 0);
        }
        self.words_mut().zip(other.words()).for_each(|(a, b)| *a |= b);
    }

    /// Takes all of another set out.
    pub fn remove_all(&mut self, other: &Bits) {
        self.words_mut().zip(other.words()).for_each(|(a, b)| *a &= !b);
    }

    /// Whether some number is in both.
    pub fn overlaps(&self, other: &Bits) -> bool {
        self.words().zip(other.words()).any(|(a, b)| a & b != 0)
    }

    /// What is in both.
    #[must_use]
    pub fn common(&self, other: &Bits) -> Bits {
        let mut common = self.clone();
        common.high.truncate(other.high.len());
        common.words_mut().zip(other.words()).for_each(|(a, b)| *a &= b);
        common
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words().enumerate().flat_map(|(at, word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(at as u32 * 64 + bit)
            })
        })
    }

    /// The same set in Slurm's notation.
    pub fn to_index_set(&self) -> IndexSet {
        self.iter().collect()
    }
}

impl FromIterator<u32> for Bits {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> Bits {
        let mut bits = Bits::default();
        numbers.into_iter().for_each(|number| bits.insert(number));
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn a_set_counts_and_lists_what_was_put_in_whatever_its_length() {
        for (count, last) in [
            (0, None),
            (1, Some(0)),
            (63, Some(62)),
            (64, Some(63)),
            (65, Some(64)),
            (128, Some(127)),
            (129, Some(128)),
            (256, Some(255)),
        ] {
            let bits = Bits::below(count);
            assert_eq!((bits.count(), bits.iter().last()), (count, last), "below {count}");
        }
        let mut bits: Bits = [3, 70, 71].into_iter().collect();
        bits.remove_all(&Bits::below(71));
        assert_eq!(bits.iter().collect::<Vec<_>>(), [71]);
        bits.insert_all(&Bits::below(2));
        assert_eq!(bits.to_index_set().to_string(), "0-1,71");
        assert_eq!(bits.count_common(&Bits::below(72)), 3);
        assert!(!Bits::below(3).overlaps(&[3].into_iter().collect()));
    }

    #[test]
    fn a_set_in_slurms_notation_is_read_by_words() {
        for (set, end) in [("0", 1), ("0-63", 64), ("3,62-65,127-130,200", 256), ("1-300", 100), ("5-9", 3)] {
            let set: super::IndexSet = set.parse().unwrap();
            let one_by_one: Bits = set.iter().take_while(|index| *index < end).collect();
            assert_eq!(Bits::of(&set, end), one_by_one, "{set} below {end}");
        }
    }

    #[test]
    fn the_words_outside_the_set_itself_behave_as_those_inside() {
        let mut wide: Bits = [1, 127, 128, 300].into_iter().collect();
        let narrow: Bits = [1, 128].into_iter().collect();
        assert_eq!(wide.common(&narrow), narrow);
        assert_eq!(narrow.common(&wide), narrow);
        assert_eq!((wide.count_common(&narrow), wide.count(), wide.contains(300)), (2, 4, true));
        assert!(!narrow.contains(300) && wide.overlaps(&narrow));
        wide.remove_all(&narrow);
        assert_eq!(wide.iter().collect::<Vec<_>>(), [127, 300]);
        let mut both = narrow.clone();
        both.insert_all(&wide);
        assert_eq!(both, [1, 127, 128, 300].into_iter().collect());
        both.remove_all(&Bits::below(301));
        assert!(both.is_empty() && both == Bits::default());
    }

    #[test]
    fn sets_of_other_capacity_and_the_same_numbers_are_equal() {
        let mut bits: Bits = [1, 200].into_iter().collect();
        bits.remove_all(&[200].into_iter().collect());
        assert_eq!(bits, [1].into_iter().collect());
    }
}
