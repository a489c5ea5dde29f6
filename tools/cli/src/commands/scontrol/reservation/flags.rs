//! The flags of a reservation, which may be shortened.

use daybook_schemas::Seconds;
use daybook_schemas::api::{FlagChange, ReservationFlag};
use daybook_schemas::grammar::duration;
use daybook_schemas::reservation::Repeat;

/// What a word stands for.
#[derive(Clone, Copy)]
enum Word {
    Flag(ReservationFlag),
    /// `PURGE_COMP`, with a time behind `=`.
    Purge,
    /// `SPEC_NODES`: nodes that are named are so anyway.
    Nothing,
    /// Slurm's, not Daybook's yet.
    Refused,
}

/// How long a reservation that nobody uses stays, where `PURGE_COMP` names no time.
const PURGE_SECONDS: u64 = 300;

/// Each word with the fewest letters that stand for it.
const WORDS: &[(&str, usize, Word)] = &[
    ("MAINTENANCE", 3, Word::Flag(ReservationFlag::Maintenance)),
    ("MAGNETIC", 3, Word::Flag(ReservationFlag::Magnetic)),
    ("OVERLAP", 1, Word::Flag(ReservationFlag::Overlap)),
    ("FLEX", 2, Word::Flag(ReservationFlag::Flex)),
    ("IGNORE_JOBS", 1, Word::Flag(ReservationFlag::IgnoreJobs)),
    ("HOURLY", 1, Word::Flag(ReservationFlag::Repeat(Repeat::Hourly))),
    ("DAILY", 1, Word::Flag(ReservationFlag::Repeat(Repeat::Daily))),
    ("WEEKDAY", 5, Word::Flag(ReservationFlag::Repeat(Repeat::Weekday))),
    ("WEEKEND", 5, Word::Flag(ReservationFlag::Repeat(Repeat::Weekend))),
    ("WEEKLY", 5, Word::Flag(ReservationFlag::Repeat(Repeat::Weekly))),
    ("PART_NODES", 2, Word::Flag(ReservationFlag::PartitionNodes)),
    ("TIME_FLOAT", 1, Word::Flag(ReservationFlag::TimeFloat)),
    ("PURGE_COMP", 2, Word::Purge),
    ("SPEC_NODES", 2, Word::Nothing),
    ("ANY_NODES", 1, Word::Refused),
    ("FIRST_CORES", 2, Word::Refused),
    ("LICENSE_ONLY", 1, Word::Refused),
    ("NO_HOLD_JOBS_AFTER_END", 2, Word::Refused),
    ("REPLACE_DOWN", 8, Word::Refused),
    ("REPLACE", 1, Word::Refused),
    ("STATIC_ALLOC", 2, Word::Refused),
    ("USER_DELETE", 1, Word::Refused),
];

/// A flag that cannot be.
pub enum BadFlag {
    /// It is none of Slurm's.
    Unknown,
    /// Slurm has it.
    Refused(&'static str),
}

/// Reads `MAINT,IGNORE_JOBS`; a `-` before a word, or `removes`, takes it away.
pub fn parse(text: &str, removes: bool) -> Result<Vec<FlagChange>, BadFlag> {
    let mut changes = Vec::new();
    for word in text.split(',').filter(|word| !word.is_empty()) {
        let (set, word) = match (word.strip_prefix('-'), word.strip_prefix('+')) {
            (Some(word), _) => (false, word),
            (_, Some(word)) => (true, word),
            _ => (!removes, word),
        };
        let (word, value) = word.split_once('=').map_or((word, None), |(word, value)| (word, Some(value)));
        let upper = word.to_ascii_uppercase();
        let found = WORDS.iter().find(|(name, least, _)| name.starts_with(&upper) && upper.len() >= *least);
        let (name, _, meaning) = found.ok_or(BadFlag::Unknown)?;
        let flag = match (meaning, value) {
            (Word::Refused, _) => return Err(BadFlag::Refused(name)),
            (Word::Purge, None) => ReservationFlag::Purge(Seconds(PURGE_SECONDS)),
            (Word::Purge, Some(value)) => {
                let after = duration::parse(value).map_err(|_| BadFlag::Unknown)?;
                ReservationFlag::Purge(after.ok_or(BadFlag::Unknown)?)
            }
            (_, Some(_)) => return Err(BadFlag::Unknown),
            (Word::Nothing, None) => continue,
            (Word::Flag(flag), None) => *flag,
        };
        changes.push(FlagChange { flag, set });
    }
    Ok(changes)
}

/// Whether all nodes of a partition are asked for.
pub fn has_partition_nodes(changes: &[FlagChange]) -> bool {
    changes.iter().any(|change| change.set && change.flag == ReservationFlag::PartitionNodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_may_be_shortened_and_taken_away() {
        let read = |text: &str| parse(text, false).ok().map(|changes| format!("{changes:?}"));
        let set = |flag, set| format!("{:?}", vec![FlagChange { flag, set }]);
        for (text, expected) in [
            ("maint", Some(set(ReservationFlag::Maintenance, true))),
            ("-MAINT", Some(set(ReservationFlag::Maintenance, false))),
            ("Weekl", Some(set(ReservationFlag::Repeat(Repeat::Weekly), true))),
            ("weekd", Some(set(ReservationFlag::Repeat(Repeat::Weekday), true))),
            ("purge_comp", Some(set(ReservationFlag::Purge(Seconds(300)), true))),
            ("PURGE_COMP=00:10:00", Some(set(ReservationFlag::Purge(Seconds(600)), true))),
            ("SPEC_NODES", Some("[]".to_string())),
            ("ma", None),
            ("nosuch", None),
            ("flex=1", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
        assert!(matches!(parse("replace", false), Err(BadFlag::Refused("REPLACE"))));
        assert!(matches!(parse("any", false), Err(BadFlag::Refused("ANY_NODES"))));
    }
}
