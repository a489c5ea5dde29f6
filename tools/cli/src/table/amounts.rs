//! Amounts of memory, in the unit that fits or that is asked for.

/// Units of memory, each 1,024 of the one before. The first are bytes.
const UNITS: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];
/// MiB as an index of [`UNITS`].
pub const MEBI: usize = 2;

/// How sacct is asked to write memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryUnits {
    /// In the largest unit that leaves at most a half.
    #[default]
    Fitting,
    /// `--noconvert`: as stored.
    Stored,
    /// `--units`: in this one.
    Only(usize),
}

impl MemoryUnits {
    /// The unit of `K`, `M`, `G`, `T` or `P`, in any letter case.
    pub fn parse(letter: &str) -> Option<MemoryUnits> {
        let letter = letter.to_ascii_uppercase();
        (1..=5).find(|&unit| UNITS[unit] == letter).map(MemoryUnits::Only)
    }
}

/// `500M`, `1G`, `62.50G`: an amount that is stored in `unit`. A larger unit is taken where whole halves of it remain.
pub fn memory(amount: u64, unit: usize, form: MemoryUnits) -> String {
    let (mut divisor, mut shown) = (1_u64, unit);
    match form {
        MemoryUnits::Stored => {}
        MemoryUnits::Fitting => {
            while shown + 1 < UNITS.len() && amount / divisor >= 1024 && amount.is_multiple_of(divisor * 512)
            {
                divisor *= 1024;
                shown += 1;
            }
        }
        MemoryUnits::Only(wanted) if wanted < unit => {
            let factor = 1024_u64.saturating_pow((unit - wanted) as u32);
            return format!("{}{}", amount.saturating_mul(factor), UNITS[wanted]);
        }
        MemoryUnits::Only(wanted) => {
            while shown < wanted.min(UNITS.len() - 1) {
                divisor *= 1024;
                shown += 1;
            }
        }
    }
    if amount.is_multiple_of(divisor) {
        return format!("{}{}", amount / divisor, UNITS[shown]);
    }
    let hundredths = (u128::from(amount) * 100 + u128::from(divisor) / 2) / u128::from(divisor);
    format!("{}.{:02}{}", hundredths / 100, hundredths % 100, UNITS[shown])
}

/// Rewrites an amount such as `1024M`; what is no amount stays as it is.
pub fn memory_text(text: &str, form: MemoryUnits) -> String {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let amount = number.parse::<u64>().ok();
    let unit = UNITS.iter().position(|name| !unit.is_empty() && *name == unit);
    match (amount, unit) {
        (Some(0), Some(_)) if form == MemoryUnits::Fitting => "0".to_string(),
        (Some(amount), Some(unit)) if form == MemoryUnits::Stored && unit > MEBI => {
            memory(amount.saturating_mul(1024_u64.saturating_pow((unit - MEBI) as u32)), MEBI, form)
        }
        (Some(amount), Some(unit)) => memory(amount, unit, form),
        _ => text.to_string(),
    }
}

/// Rewrites a TRES list as Slurm shows it: `cpu=1,mem=1024M` is `cpu=1,mem=1G`, and GPUs are counted in all and not by
/// type (`gres/gpu=2,gres/gpu:a100=2` is `gres/gpu=2`), as in a cluster that does not name types as TRES.
pub fn tres(text: &str, form: MemoryUnits) -> String {
    let parts: Vec<String> = text
        .split(',')
        .filter(|part| !part.starts_with("gres/gpu:"))
        .map(|part| match part.strip_prefix("mem=") {
            Some(amount) => format!("mem={}", memory_text(amount, form)),
            None => part.to_string(),
        })
        .collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_takes_the_unit_that_leaves_halves() {
        use MemoryUnits::{Fitting, Only, Stored};
        for (amount, unit, form, text) in [
            (500, MEBI, Fitting, "500M"),
            (1_024, MEBI, Fitting, "1G"),
            (1_536, MEBI, Fitting, "1.50G"),
            (2_000, MEBI, Fitting, "2000M"),
            (64_000, MEBI, Fitting, "62.50G"),
            (32_000, MEBI, Fitting, "32000M"),
            (10_584, 1, Fitting, "10584K"),
            (10_838_016, 0, Fitting, "10584K"),
            (0, MEBI, Fitting, "0M"),
            (10_584, 1, Only(3), "0.01G"),
            (1, MEBI, Only(1), "1024K"),
            (1_024, MEBI, Stored, "1024M"),
        ] {
            assert_eq!(memory(amount, unit, form), text);
        }
    }

    #[test]
    fn texts_of_amounts_are_rewritten() {
        use MemoryUnits::{Fitting, Only, Stored};
        for (text, form, rewritten) in [
            ("1024M", Fitting, "1G"),
            ("1G", Stored, "1024M"),
            ("1G", Only(2), "1024M"),
            ("0M", Fitting, "0"),
            ("0", Fitting, "0"),
            ("N/A", Fitting, "N/A"),
        ] {
            assert_eq!(memory_text(text, form), rewritten, "{text}");
        }
        assert_eq!(tres("cpu=1,mem=2048M,node=1", Fitting), "cpu=1,mem=2G,node=1");
        assert_eq!(tres("cpu=1,gres/gpu=2,gres/gpu:a100=2", Fitting), "cpu=1,gres/gpu=2");
    }
}
