//! Lists of host names: `node[01-03,07],gpu1`.

use std::fmt;

/// Text that is no host list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no host list: {why}")]
pub struct InvalidHostList {
    /// The list as given, cut where it is long.
    pub text: String,
    /// What is wrong with it.
    pub why: HostListFault,
}

/// What is wrong with a host list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostListFault {
    /// A bracket without its counterpart, or one inside another.
    Brackets,
    /// Not numbers and ranges between brackets.
    Range(String),
    /// A character that no host name has.
    Character(char),
    /// A name of more than [`NAME_BYTES_MAX`] bytes.
    NameTooLong,
    /// More than [`NAMES_MAX`] names.
    TooManyNames,
}

impl fmt::Display for HostListFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostListFault::Brackets => f.write_str("its brackets do not match; write such as node[01-04,07]"),
            HostListFault::Range(range) => {
                write!(f, "\"{range}\" is no range of numbers; write such as 01-04, the lower one first")
            }
            HostListFault::Character(character) => write!(f, "no host name has {character:?} in it"),
            HostListFault::NameTooLong => write!(f, "a name is longer than {NAME_BYTES_MAX} bytes"),
            HostListFault::TooManyNames => write!(f, "it stands for more than {NAMES_MAX} names"),
        }
    }
}

/// The most names that one list may stand for; keeps hostile input from filling memory.
pub const NAMES_MAX: usize = 65_536;
/// The longest host name, in bytes.
pub const NAME_BYTES_MAX: usize = 255;
/// So much of a refused list is shown.
const SHOWN_CHARACTERS_MAX: usize = 80;

/// The names of a host list, in the order written, repeated ones as often as written. Empty text is the empty list.
///
/// A name may have several brackets; the last one counts fastest. Leading zeros of a range's first number are kept.
pub fn expand(text: &str) -> Result<Vec<String>, InvalidHostList> {
    let fault = |why| InvalidHostList { text: text.chars().take(SHOWN_CHARACTERS_MAX).collect(), why };
    let mut names = Vec::new();
    for part in split_outside_brackets(text).ok_or_else(|| fault(HostListFault::Brackets))? {
        let part = part.trim();
        if !part.is_empty() {
            expand_part(part, &mut names).map_err(fault)?;
        }
    }
    Ok(names)
}

/// The parts between commas that stand outside brackets; `None` where brackets do not match.
fn split_outside_brackets(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut inside) = (Vec::new(), 0, false);
    for (position, character) in text.char_indices() {
        match character {
            '[' if inside => return None,
            '[' => inside = true,
            ']' if !inside => return None,
            ']' => inside = false,
            ',' if !inside => {
                parts.push(&text[start..position]);
                start = position + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    (!inside).then_some(parts)
}

/// A piece of one name: fixed text and, behind it, the numbers of a bracket.
struct Piece<'a> {
    text: &'a str,
    ranges: Vec<NumberRange>,
}

/// Inclusive; written with at least `width` digits.
struct NumberRange {
    first: u64,
    last: u64,
    width: usize,
}

/// Adds the names that one part stands for.
fn expand_part(part: &str, into: &mut Vec<String>) -> Result<(), HostListFault> {
    let (mut pieces, mut rest) = (Vec::new(), part);
    let mut count: u64 = 1;
    let mut bytes = 0;
    while let Some((text, behind)) = rest.split_once('[') {
        let (inside, behind) = behind.split_once(']').ok_or(HostListFault::Brackets)?;
        let ranges = inside.split(',').map(read_range).collect::<Result<Vec<_>, _>>()?;
        let numbers = ranges.iter().fold(0u64, |sum, range| sum.saturating_add(range.last - range.first + 1));
        count = count.saturating_mul(numbers);
        bytes += text.len() + ranges.iter().map(NumberRange::digits_max).max().unwrap_or(0);
        pieces.push(Piece { text, ranges });
        rest = behind;
    }
    let legal = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    let texts = pieces.iter().map(|piece| piece.text).chain([rest]);
    if let Some(character) = texts.flat_map(str::chars).find(|&c| !legal(c)) {
        return Err(HostListFault::Character(character));
    }
    if bytes + rest.len() > NAME_BYTES_MAX {
        return Err(HostListFault::NameTooLong);
    }
    if count > (NAMES_MAX - into.len().min(NAMES_MAX)) as u64 {
        return Err(HostListFault::TooManyNames);
    }
    let mut names = vec![String::new()];
    for piece in &pieces {
        let with_numbers = |name: &String| {
            let start = format!("{name}{}", piece.text);
            piece.ranges.iter().flat_map(NumberRange::texts).map(move |number| format!("{start}{number}"))
        };
        names = names.iter().flat_map(with_numbers).collect();
    }
    into.extend(names.into_iter().map(|name| name + rest));
    Ok(())
}

fn read_range(text: &str) -> Result<NumberRange, HostListFault> {
    let fault = || HostListFault::Range(text.chars().take(SHOWN_CHARACTERS_MAX).collect());
    let (first_digits, last_digits) = text.split_once('-').unwrap_or((text, text));
    let number = |digits: &str| -> Option<u64> {
        let legal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        // u64::MAX itself is left out, so that the count of a range always fits.
        if legal { digits.parse().ok().filter(|&number| number < u64::MAX) } else { None }
    };
    let first = number(first_digits).ok_or_else(fault)?;
    let last = number(last_digits).ok_or_else(fault)?;
    if last < first { Err(fault()) } else { Ok(NumberRange { first, last, width: first_digits.len() }) }
}

impl NumberRange {
    fn digits_max(&self) -> usize {
        self.width.max(self.last.to_string().len())
    }

    fn texts(&self) -> impl Iterator<Item = String> + '_ {
        let width = self.width;
        (self.first..=self.last).map(move |number| format!("{number:0width$}"))
    }
}

/// The shortest notation of a set of names, as Slurm writes it: sorted by prefix and then by number, each name once,
/// numbers with leading zeros kept as they are. [`expand`] gives the names back.
pub fn compress<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<NumberedName<'a>> = names.into_iter().map(NumberedName::of).collect();
    names.sort_unstable();
    names.dedup();
    let mut groups: Vec<Group<'a>> = Vec::new();
    for name in names {
        match groups.last_mut() {
            Some(group)
                if name.number.is_some() && group.prefix == name.prefix && !group.ranges.is_empty() =>
            {
                group.add(&name);
            }
            _ => groups.push(Group::new(&name)),
        }
    }
    groups.iter().map(Group::notation).collect::<Vec<_>>().join(",")
}

/// A name with its last number taken apart. The order of the fields is the order of names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NumberedName<'a> {
    prefix: &'a str,
    width: usize,
    /// `None`: the name does not end in digits (or in more than a number can have), and is all prefix.
    number: Option<u64>,
}

impl<'a> NumberedName<'a> {
    fn of(name: &'a str) -> NumberedName<'a> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = &name[prefix.len()..];
        match digits.parse().ok().filter(|&number: &u64| number < u64::MAX) {
            Some(number) => NumberedName { prefix, width: digits.len(), number: Some(number) },
            None => NumberedName { prefix: name, width: 0, number: None },
        }
    }
}

/// Names of one prefix.
struct Group<'a> {
    prefix: &'a str,
    /// Empty: a name without a number.
    ranges: Vec<NumberRange>,
}

impl<'a> Group<'a> {
    fn new(name: &NumberedName<'a>) -> Group<'a> {
        let range = |number| NumberRange { first: number, last: number, width: name.width };
        Group { prefix: name.prefix, ranges: name.number.map(range).into_iter().collect() }
    }

    fn add(&mut self, name: &NumberedName<'a>) {
        let Some(number) = name.number else { return };
        match self.ranges.last_mut() {
            Some(range)
                if range.last.checked_add(1) == Some(number) && range.writes_width(number, name.width) =>
            {
                range.last = number;
            }
            _ => self.ranges.push(NumberRange { first: number, last: number, width: name.width }),
        }
    }

    fn notation(&self) -> String {
        let texts: Vec<String> = self.ranges.iter().map(NumberRange::notation).collect();
        match texts.as_slice() {
            [] => self.prefix.to_string(),
            [text] if self.ranges[0].first == self.ranges[0].last => format!("{}{text}", self.prefix),
            texts => format!("{}[{}]", self.prefix, texts.join(",")),
        }
    }
}

impl NumberRange {
    /// Whether this range writes `number` with `width` digits.
    fn writes_width(&self, number: u64, width: usize) -> bool {
        number.to_string().len().max(self.width) == width
    }

    fn notation(&self) -> String {
        let width = self.width;
        match self.first == self.last {
            true => format!("{:0width$}", self.first),
            false => format!("{:0width$}-{:0width$}", self.first, self.last),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_are_expanded_in_the_order_written() {
        for (text, names) in [
            ("", ""),
            ("n1", "n1"),
            ("node[01-03,7],gpu0[1-2]", "node01 node02 node03 node7 gpu01 gpu02"),
            ("n[1-3,5],g0[08-10]", "n1 n2 n3 n5 g008 g009 g010"),
            ("n[8-10]", "n8 n9 n10"),
            ("n[08-10]", "n08 n09 n10"),
            ("r[1-2]n[1-2]-ib", "r1n1-ib r1n2-ib r2n1-ib r2n2-ib"),
            ("a, b", "a b"),
            ("a,,b,", "a b"),
            ("b,a,b", "b a b"),
            ("[1-2]", "1 2"),
            ("n[3]", "n3"),
        ] {
            assert_eq!(expand(text).unwrap_or_default().join(" "), names, "{text}");
        }
    }

    #[test]
    fn broken_lists_are_refused_with_their_fault() {
        let range = |text: &str| HostListFault::Range(text.to_string());
        for (text, why) in [
            ("n[1-3", HostListFault::Brackets),
            ("n1]", HostListFault::Brackets),
            ("n[[1]]", HostListFault::Brackets),
            ("n]1[", HostListFault::Brackets),
            ("n[3-1]", range("3-1")),
            ("n[a-b]", range("a-b")),
            ("n[]", range("")),
            ("n[1,]", range("")),
            ("n[1-2-3]", range("1-2-3")),
            ("n[-1]", range("-1")),
            ("n[18446744073709551615]", range("18446744073709551615")),
            ("n 1", HostListFault::Character(' ')),
            ("n(1)", HostListFault::Character('(')),
            ("../n1", HostListFault::Character('/')),
            ("nöde1", HostListFault::Character('ö')),
            ("n[0-65536]", HostListFault::TooManyNames),
            ("n[0-65535],m", HostListFault::TooManyNames),
            ("n[0-18446744073709551614]", HostListFault::TooManyNames),
            ("n[1-400]m[1-400]", HostListFault::TooManyNames),
            (
                "n[1-99]m[1-99]m[1-99]m[1-99]m[1-99]m[1-99]m[1-99]m[1-99]m[1-99]m[1-99]",
                HostListFault::TooManyNames,
            ),
        ] {
            assert_eq!(expand(text).map_err(|error| error.why), Err(why), "{text}");
        }
        let long = "n".repeat(NAME_BYTES_MAX);
        assert_eq!(
            expand(&format!("{long}[0-9]")).map_err(|error| error.why),
            Err(HostListFault::NameTooLong)
        );
        assert_eq!(expand(&long).map(|names| names.len()), Ok(1));
        assert_eq!(expand("n[0-65535]").map(|names| names.len()), Ok(NAMES_MAX));
    }

    #[test]
    fn a_fault_says_what_to_write() {
        let error = expand("n[3-1]").unwrap_err();
        assert_eq!(
            error.to_string(),
            "\"n[3-1]\" is no host list: \"3-1\" is no range of numbers; write such as 01-04, the lower one first"
        );
    }

    #[test]
    fn compressing_sorts_and_keeps_zeros() {
        for (names, text) in [
            ("", ""),
            ("login", "login"),
            ("n1", "n1"),
            ("n1 n2 n3 g1", "g1,n[1-3]"),
            ("node04 node01 node02", "node[01-02,04]"),
            ("gpu01 gpu02 node01 node02", "gpu[01-02],node[01-02]"),
            ("n10 n9 n8", "n[8-10]"),
            ("n99 n100", "n[99-100]"),
            ("g010 g009 g008", "g[008-010]"),
            ("g099 g100", "g[099-100]"),
            ("n08 n9", "n[9,08]"),
            ("n1 n01 n2 n02", "n[1-2,01-02]"),
            ("n1 n1 n2", "n[1-2]"),
            ("r1n1 r1n2 r2n1", "r1n[1-2],r2n1"),
            ("n n1 n2", "n,n[1-2]"),
            ("a-ib b-ib", "a-ib,b-ib"),
            ("1 2 3", "[1-3]"),
            ("n99999999999999999999999 n1", "n1,n99999999999999999999999"),
        ] {
            assert_eq!(compress(names.split_whitespace()), text, "{names}");
        }
    }

    proptest! {
        #[test]
        fn compressed_names_expand_to_the_same_set(names in prop::collection::btree_set("[ab]{0,2}[019]{1,4}|[a-z]{1,3}(-ib)?", 0..40)) {
            let text = compress(names.iter().map(String::as_str));
            let back: std::collections::BTreeSet<String> = expand(&text).unwrap().into_iter().collect();
            prop_assert_eq!(back, names);
        }

        #[test]
        fn no_text_makes_it_panic(text in "[n0-9,\\[\\]a -]{0,40}") {
            let _ = expand(&text);
        }
    }
}
