use daybook_schemas::grammar::index_set::IndexSet;

/// A set of small numbers (CPUs of a node, positions in its list of GPUs) as bits.
#[derive(Clone, Debug, Default)]
pub struct Bits {
    words: Vec<u64>,
}

impl PartialEq for Bits {
    fn eq(&self, other: &Bits) -> bool {
        let longest = self.words.len().max(other.words.len());
        (0..longest).all(|at| self.word(at) == other.word(at))
    }
}

impl Eq for Bits {}

impl Bits {
    /// The numbers below `count`.
    pub fn below(count: u32) -> Bits {
        let mut words = vec![u64::MAX; count as usize / 64];
        if !count.is_multiple_of(64) {
            words.push((1 << (count % 64)) - 1);
        }
        Bits { words }
    }

    fn word(&self, at: usize) -> u64 {
        self.words.get(at).copied().unwrap_or(0)
    }

    /// How many numbers are in it.
    pub fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// How many are in both.
    pub fn count_common(&self, other: &Bits) -> u32 {
        self.words.iter().zip(&other.words).map(|(a, b)| (a & b).count_ones()).sum()
    }

    /// Whether none is in it.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Whether a number is in it.
    pub fn contains(&self, index: u32) -> bool {
        self.word(index as usize / 64) & (1 << (index % 64)) != 0
    }

    /// Puts a number in.
    pub fn insert(&mut self, index: u32) {
        let at = index as usize / 64;
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        self.words[at] |= 1 << (index % 64);
    }

    /// Puts all of another set in.
    pub fn insert_all(&mut self, other: &Bits) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
    }

    /// Takes all of another set out.
    pub fn remove_all(&mut self, other: &Bits) {
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a &= !b);
    }

    /// Whether some number is in both.
    pub fn overlaps(&self, other: &Bits) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// What is in both.
    #[must_use]
    pub fn common(&self, other: &Bits) -> Bits {
        Bits { words: self.words.iter().zip(&other.words).map(|(a, b)| a & b).collect() }
    }

    /// The numbers, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
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
        for (count, last) in
            [(0, None), (1, Some(0)), (63, Some(62)), (64, Some(63)), (65, Some(64)), (130, Some(129))]
        {
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
    fn sets_of_other_capacity_and_the_same_numbers_are_equal() {
        let mut bits: Bits = [1, 200].into_iter().collect();
        bits.remove_all(&[200].into_iter().collect());
        assert_eq!(bits, [1].into_iter().collect());
    }
}
