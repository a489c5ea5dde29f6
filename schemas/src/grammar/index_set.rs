//! Sets of small numbers in Slurm's notation: array tasks, CPU ids (`0-9`, `1,3,5-9:2`).

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A set of numbers, kept as disjoint, ascending, non-adjacent ranges. In JSON its notation as a string.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexSet {
    /// Inclusive ranges.
    ranges: Vec<(u32, u32)>,
}

/// Text that is no set of numbers.
#[derive(Debug, thiserror::Error)]
#[error("\"{0}\" is no set of numbers: expected such as 0-9, 1,3,5 or 0-20:4")]
pub struct InvalidIndexSet(pub String);

/// The most numbers that stepped ranges (`a-b:s`) of one text may stand for, as each is kept by itself; Slurm's largest
/// array has as many. Plain ranges are not bounded: they are kept as they are.
pub const STEPPED_NUMBERS_MAX: u64 = 4_000_001;

impl IndexSet {
    /// The empty set.
    pub fn new() -> IndexSet {
        IndexSet::default()
    }

    /// The numbers from `first` to `last`, both included; empty if `last < first`.
    pub fn range(first: u32, last: u32) -> IndexSet {
        IndexSet { ranges: if first <= last { vec![(first, last)] } else { Vec::new() } }
    }

    /// How many numbers are in it.
    pub fn len(&self) -> u64 {
        self.ranges.iter().map(|&(first, last)| u64::from(last - first) + 1).sum()
    }

    /// Whether none is in it.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether `index` is in it. Logarithmic in the number of ranges.
    pub fn contains(&self, index: u32) -> bool {
        let at = self.ranges.partition_point(|&(_, last)| last < index);
        self.ranges.get(at).is_some_and(|&(first, _)| first <= index)
    }

    /// The lowest.
    pub fn first(&self) -> Option<u32> {
        self.ranges.first().map(|range| range.0)
    }

    /// The highest.
    pub fn last(&self) -> Option<u32> {
        self.ranges.last().map(|range| range.1)
    }

    /// How many numbers of the set are below `index`.
    pub fn rank(&self, index: u32) -> u64 {
        let mut below = 0;
        for &(first, last) in &self.ranges {
            if index <= first {
                break;
            }
            below += u64::from(last.min(index - 1) - first) + 1;
        }
        below
    }

    /// Puts a number in; false if it was there.
    pub fn insert(&mut self, index: u32) -> bool {
        let at = self.ranges.partition_point(|&(_, last)| last < index);
        if self.ranges.get(at).is_some_and(|&(first, _)| first <= index) {
            return false;
        }
        let joins_before = at > 0 && self.ranges[at - 1].1.checked_add(1) == Some(index);
        let joins_after = self.ranges.get(at).is_some_and(|&(first, _)| index.checked_add(1) == Some(first));
        match (joins_before, joins_after) {
            (true, true) => {
                self.ranges[at - 1].1 = self.ranges[at].1;
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at - 1].1 = index,
            (false, true) => self.ranges[at].0 = index,
            (false, false) => self.ranges.insert(at, (index, index)),
        }
        true
    }

    /// Takes a number out; false if it was not there.
    pub fn remove(&mut self, index: u32) -> bool {
        let at = self.ranges.partition_point(|&(_, last)| last < index);
        let Some(&(first, last)) = self.ranges.get(at).filter(|range| range.0 <= index) else { return false };
        match (first == index, last == index) {
            (true, true) => {
                self.ranges.remove(at);
            }
            (true, false) => self.ranges[at].0 = index + 1,
            (false, true) => self.ranges[at].1 = index - 1,
            (false, false) => {
                self.ranges[at].1 = index - 1;
                self.ranges.insert(at + 1, (index + 1, last));
            }
        }
        true
    }

    /// The numbers, ascending. There may be 2^32 of them: compare [`IndexSet::len`] with a bound first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.ranges.iter().flat_map(|&(first, last)| first..=last)
    }

    /// The inclusive ranges, ascending.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// The numbers that are in both. Linear in the number of ranges.
    #[must_use]
    pub fn intersection(&self, other: &IndexSet) -> IndexSet {
        let (mut left, mut right) = (0, 0);
        let mut ranges = Vec::new();
        while let (Some(&a), Some(&b)) = (self.ranges.get(left), other.ranges.get(right)) {
            let (first, last) = (a.0.max(b.0), a.1.min(b.1));
            if first <= last {
                ranges.push((first, last));
            }
            if a.1 < b.1 { left += 1 } else { right += 1 }
        }
        IndexSet { ranges }
    }

    /// The numbers that are in either. Linear in the number of ranges.
    #[must_use]
    pub fn union(&self, other: &IndexSet) -> IndexSet {
        let mut ranges: Vec<(u32, u32)> = self.ranges.iter().chain(&other.ranges).copied().collect();
        ranges.sort_unstable();
        ranges.dedup_by(|next, before| {
            let touches = before.1.checked_add(1).is_none_or(|after| next.0 <= after);
            if touches {
                before.1 = before.1.max(next.1);
            }
            touches
        });
        IndexSet { ranges }
    }

    /// The numbers of this set that are not in the other. Linear in the number of ranges.
    #[must_use]
    pub fn difference(&self, other: &IndexSet) -> IndexSet {
        let mut ranges = Vec::new();
        for &(first, last) in &self.ranges {
            let mut from = first;
            let at = other.ranges.partition_point(|range| range.1 < first);
            let mut open = true;
            for &(gone_first, gone_last) in &other.ranges[at..] {
                if gone_first > last {
                    break;
                }
                if gone_first > from {
                    ranges.push((from, gone_first - 1));
                }
                if gone_last >= last {
                    open = false;
                    break;
                }
                from = gone_last + 1;
            }
            if open {
                ranges.push((from, last));
            }
        }
        IndexSet { ranges }
    }

    /// Slurm's shortest notation for array tasks: `0-20:4` where the step is regular, else ranges and numbers.
    pub fn step_notation(&self) -> String {
        if let Some(step) = self.regular_step()
            && step > 1
            && self.len() > 2
        {
            return format!("{}-{}:{step}", self.ranges[0].0, self.ranges[self.ranges.len() - 1].1);
        }
        self.to_string()
    }

    /// The distance between neighbours where it is the same everywhere; `None` for irregular sets and for fewer than two.
    pub fn regular_step(&self) -> Option<u32> {
        if self.ranges.len() == 1 {
            return (self.len() > 1).then_some(1);
        }
        let starts = || self.ranges.iter().map(|range| range.0);
        let step = starts().nth(1)?.checked_sub(starts().next()?)?;
        let regular = self.ranges.iter().all(|range| range.0 == range.1)
            && starts().zip(starts().skip(1)).all(|(a, b)| b - a == step);
        regular.then_some(step)
    }
}

impl FromIterator<u32> for IndexSet {
    fn from_iter<I: IntoIterator<Item = u32>>(numbers: I) -> IndexSet {
        let mut numbers: Vec<u32> = numbers.into_iter().collect();
        numbers.sort_unstable();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for number in numbers {
            match ranges.last_mut() {
                Some(range) if number <= range.1 => {}
                Some(range) if range.1 + 1 == number => range.1 = number,
                _ => ranges.push((number, number)),
            }
        }
        IndexSet { ranges }
    }
}

impl fmt::Display for IndexSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, &(first, last)) in self.ranges.iter().enumerate() {
            if position > 0 {
                f.write_str(",")?;
            }
            if first == last {
                write!(f, "{first}")?;
            } else {
                write!(f, "{first}-{last}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for IndexSet {
    type Err = InvalidIndexSet;

    /// Reads numbers, ranges `a-b` and stepped ranges `a-b:s`, joined by commas. Empty text is the empty set.
    fn from_str(text: &str) -> Result<IndexSet, InvalidIndexSet> {
        let invalid = || InvalidIndexSet(text.to_string());
        let number = |part: &str| -> Result<u32, InvalidIndexSet> {
            if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(invalid());
            }
            part.parse().map_err(|_| invalid())
        };
        if text.is_empty() {
            return Ok(IndexSet::new());
        }
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        let mut stepped: u64 = 0;
        for part in text.split(',') {
            let (range, step) = match part.split_once(':') {
                Some((range, step)) => (range, Some(number(step)?)),
                None => (part, None),
            };
            let (first, last) = match range.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None if step.is_none() => (number(range)?, number(range)?),
                None => return Err(invalid()),
            };
            if last < first || step == Some(0) {
                return Err(invalid());
            }
            match step {
                None | Some(1) => ranges.push((first, last)),
                Some(step) => {
                    stepped += u64::from((last - first) / step) + 1;
                    if stepped > STEPPED_NUMBERS_MAX {
                        return Err(invalid());
                    }
                    ranges.extend((first..=last).step_by(step as usize).map(|index| (index, index)));
                }
            }
        }
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            match merged.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => merged.push((first, last)),
            }
        }
        Ok(IndexSet { ranges: merged })
    }
}

impl Serialize for IndexSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.step_notation())
    }
}

impl<'de> Deserialize<'de> for IndexSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<IndexSet, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for IndexSet {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "IndexSet".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A set of numbers: ranges, stepped ranges and numbers joined by commas.",
            "pattern": "^([0-9]+(-[0-9]+(:[0-9]+)?)?(,[0-9]+(-[0-9]+(:[0-9]+)?)?)*)?$",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set(text: &str) -> IndexSet {
        text.parse().unwrap()
    }

    #[test]
    fn texts_are_read_into_ascending_ranges() {
        for (text, shown, stepped, len) in [
            ("", "", "", 0),
            ("0", "0", "0", 1),
            ("0-9", "0-9", "0-9", 10),
            ("1,3,5-9:2,20", "1,3,5,7,9,20", "1,3,5,7,9,20", 6),
            ("0-20:4", "0,4,8,12,16,20", "0-20:4", 6),
            ("0-21:4", "0,4,8,12,16,20", "0-20:4", 6),
            ("0-9:1", "0-9", "0-9", 10),
            ("5-9:100", "5", "5", 1),
            ("1,3", "1,3", "1,3", 2),
            ("1,3,5", "1,3,5", "1-5:2", 3),
            ("1,1,1", "1", "1", 1),
            ("3,2,1", "1-3", "1-3", 3),
            ("5-9,0-6,7", "0-9", "0-9", 10),
            ("1-2,4-5,7-8", "1-2,4-5,7-8", "1-2,4-5,7-8", 6),
            ("007", "7", "7", 1),
            ("0-4294967295", "0-4294967295", "0-4294967295", 1 << 32),
            ("4294967295,4294967294", "4294967294-4294967295", "4294967294-4294967295", 2),
            ("4294967293-4294967295:2", "4294967293,4294967295", "4294967293,4294967295", 2),
        ] {
            let read = set(text);
            assert_eq!((read.to_string().as_str(), read.len()), (shown, len), "{text}");
            assert_eq!(read.step_notation(), stepped, "{text}");
            assert_eq!(set(stepped), read, "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            ",",
            "1,",
            ",1",
            "a",
            "-1",
            "+1",
            "1-",
            "-",
            "5-1",
            "1-2-3",
            "1:2",
            "1-9:",
            "1-9:0",
            "1-9:-1",
            "1-9:2:2",
            "1 2",
            " 1",
            "4294967296",
            "1.5",
            "0-4294967295:2",
            "0-4000001:1,0-8000002:2",
        ] {
            assert!(text.parse::<IndexSet>().is_err(), "{text}");
        }
    }

    #[test]
    fn json_is_the_notation() {
        let read: IndexSet = serde_json::from_str("\"0-20:4\"").unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), "\"0-20:4\"");
        assert_eq!(serde_json::from_str::<IndexSet>("\"\"").unwrap(), IndexSet::new());
        assert!(serde_json::from_str::<IndexSet>("\"5-1\"").is_err());
        assert!(serde_json::from_str::<IndexSet>("[1]").is_err());
    }

    #[test]
    fn the_highest_number_needs_no_room_above_it() {
        let mut top = IndexSet::range(u32::MAX - 1, u32::MAX);
        assert!(!top.insert(u32::MAX));
        assert!(top.remove(u32::MAX) && top.insert(u32::MAX) && top.remove(u32::MAX - 1));
        assert_eq!(top, IndexSet::range(u32::MAX, u32::MAX));
        assert_eq!(IndexSet::range(0, u32::MAX).difference(&top), IndexSet::range(0, u32::MAX - 1));
        assert_eq!(IndexSet::range(0, u32::MAX).rank(u32::MAX), u64::from(u32::MAX));
        assert_eq!([u32::MAX, u32::MAX, u32::MAX - 1].into_iter().collect::<IndexSet>().len(), 2);
        let mut bottom = IndexSet::range(0, 0);
        assert!(bottom.remove(0) && bottom.is_empty() && bottom.insert(0));
    }

    /// Numbers close together, and at both ends.
    fn number() -> impl Strategy<Value = u32> {
        prop_oneof![4 => 0u32..24, 1 => (u32::MAX - 6)..=u32::MAX]
    }

    fn numbers() -> impl Strategy<Value = BTreeSet<u32>> {
        prop::collection::btree_set(number(), 0..20)
    }

    /// Ranges ascend, and between two of them there is a gap.
    fn well_formed(set: &IndexSet) -> bool {
        let ranges = set.ranges();
        ranges.iter().all(|range| range.0 <= range.1)
            && ranges.windows(2).all(|pair| u64::from(pair[0].1) + 1 < u64::from(pair[1].0))
    }

    proptest! {
        #[test]
        fn it_answers_as_a_set_of_numbers_does(one in numbers(), other in numbers(), asked in number()) {
            let set: IndexSet = one.iter().copied().collect();
            let other_set: IndexSet = other.iter().copied().collect();
            prop_assert!(well_formed(&set));
            prop_assert!(set.iter().eq(one.iter().copied()));
            prop_assert_eq!(set.len(), one.len() as u64);
            prop_assert_eq!(set.is_empty(), one.is_empty());
            prop_assert_eq!((set.first(), set.last()), (one.first().copied(), one.last().copied()));
            prop_assert_eq!(set.contains(asked), one.contains(&asked));
            prop_assert_eq!(set.rank(asked), one.range(..asked).count() as u64);
            let both = set.intersection(&other_set);
            prop_assert!(well_formed(&both) && both.iter().eq(one.intersection(&other).copied()));
            let either = set.union(&other_set);
            prop_assert!(well_formed(&either) && either.iter().eq(one.union(&other).copied()));
            let rest = set.difference(&other_set);
            prop_assert!(well_formed(&rest) && rest.iter().eq(one.difference(&other).copied()));
        }

        #[test]
        fn changes_are_those_of_a_set_of_numbers(changes in prop::collection::vec((any::<bool>(), number()), 0..60)) {
            let (mut set, mut model) = (IndexSet::new(), BTreeSet::new());
            for (put_in, number) in changes {
                match put_in {
                    true => prop_assert_eq!(set.insert(number), model.insert(number)),
                    false => prop_assert_eq!(set.remove(number), model.remove(&number)),
                }
                prop_assert!(well_formed(&set) && set.iter().eq(model.iter().copied()));
            }
        }

        #[test]
        fn both_notations_are_read_back(numbers in numbers()) {
            let set: IndexSet = numbers.into_iter().collect();
            prop_assert_eq!(&set.to_string().parse::<IndexSet>().unwrap(), &set);
            prop_assert_eq!(&set.step_notation().parse::<IndexSet>().unwrap(), &set);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9,:-]{0,24}") {
            if let Ok(set) = text.parse::<IndexSet>() {
                prop_assert!(well_formed(&set));
            }
        }
    }
}
