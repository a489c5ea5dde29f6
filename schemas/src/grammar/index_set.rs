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

    /// The numbers, ascending.
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
        /// More numbers than any array or machine has; keeps hostile input from filling memory.
        const NUMBERS_MAX: u64 = 16_000_000;
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
                    if stepped > NUMBERS_MAX {
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
        schemars::json_schema!({ "type": "string", "pattern": "^([0-9]+(-[0-9]+(:[0-9]+)?)?(,[0-9]+(-[0-9]+(:[0-9]+)?)?)*)?$" })
    }
}
