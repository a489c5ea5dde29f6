//! Amounts of memory: `100`, `100M`, `1G`, `1GB`, `1024K`, `2T`; without a unit MiB.

use crate::units::Mebibytes;

/// Text that is no amount of memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no amount of memory: expected a whole number with K, M, G, T or nothing (MiB) behind it")]
pub struct InvalidMemory(pub String);

/// The most: 2^44 MiB, so that sums over a cluster do not overflow.
const MEBIBYTES_MAX: u64 = 1 << 44;

const UNITS: [&str; 5] = ["K", "M", "G", "T", "P"];

/// Reads an amount of memory; KiB are rounded up to MiB.
pub fn parse_mebibytes(text: &str) -> Result<Mebibytes, InvalidMemory> {
    let invalid = || InvalidMemory(text.to_string());
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| invalid())?;
    let unit = unit.to_ascii_uppercase();
    let unit = if unit.len() > 1 { unit.strip_suffix('B').ok_or_else(invalid)? } else { unit.as_str() };
    let mebibytes = match unit {
        "K" => Some(number.div_ceil(1024)),
        "" | "M" => Some(number),
        "G" => number.checked_mul(1024),
        "T" => number.checked_mul(1024 * 1024),
        _ => None,
    };
    mebibytes.filter(|&mebibytes| mebibytes <= MEBIBYTES_MAX).map(Mebibytes).ok_or_else(invalid)
}

/// As Slurm shows memory: in the largest unit in which it is a whole or a half number (`500M`, `16000M`, `62.50G`,
/// `1G`, `2T`); `0` without a unit.
pub fn format_mebibytes(amount: Mebibytes) -> String {
    format_from(amount.0, 1)
}

/// As sacct shows measured memory (MaxRSS): `10584K`, `2M`, `0`.
pub fn format_kibibytes(amount: u64) -> String {
    format_from(amount, 0)
}

/// A number in the unit with this index, moved up as far as it stays a multiple of one half.
fn format_from(mut number: u64, mut unit: usize) -> String {
    if number == 0 {
        return "0".to_string();
    }
    while number >= 1024 && unit + 1 < UNITS.len() {
        match number % 1024 {
            0 => (number, unit) = (number / 1024, unit + 1),
            512 => return format!("{}.50{}", number / 1024, UNITS[unit + 1]),
            _ => break,
        }
    }
    format!("{number}{}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_in_any_letter_case() {
        for (text, mebibytes) in [
            ("100", 100),
            ("100M", 100),
            ("300MB", 300),
            ("1G", 1024),
            ("1GB", 1024),
            ("2g", 2048),
            ("1K", 1),
            ("1024K", 1),
            ("1025k", 2),
            ("614400K", 600),
            ("2T", 2 * 1024 * 1024),
            ("0", 0),
            ("0K", 0),
        ] {
            assert_eq!(parse_mebibytes(text), Ok(Mebibytes(mebibytes)), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "abc",
            "1.5G",
            "-1",
            "+1",
            "1X",
            "1GG",
            "1B",
            "1GiB",
            "G",
            "18446744073709551615",
            "18446744073709551615T",
            "20000000T",
            "1 G",
            " 1",
            "1é",
        ] {
            assert!(parse_mebibytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn amounts_are_shown_as_recorded() {
        for (mebibytes, text) in [
            (0, "0"),
            (1, "1M"),
            (500, "500M"),
            (1000, "1000M"),
            (1024, "1G"),
            (1536, "1.50G"),
            (16_000, "16000M"),
            (32_000, "32000M"),
            (64_000, "62.50G"),
            (2 * 1024 * 1024, "2T"),
            (1024 * 1024 + 512, "1024.50G"),
            (1024 * 1024 * 1024, "1P"),
            (1024 * 1024 * 1024 * 1024 * 2, "2048P"),
        ] {
            assert_eq!(format_mebibytes(Mebibytes(mebibytes)), text);
        }
        for (kibibytes, text) in
            [(0, "0"), (10_584, "10584K"), (219_556, "219556K"), (2_048, "2M"), (1_536, "1.50M")]
        {
            assert_eq!(format_kibibytes(kibibytes), text);
        }
    }
}
