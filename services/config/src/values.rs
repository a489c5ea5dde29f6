//! Values of keys: numbers, amounts of memory, yes or no, lists.

use daybook_schemas::Mebibytes;
use daybook_schemas::grammar::{duration, memory};
use daybook_schemas::job::TimeLimit;

use crate::diagnostic::{Findings, did_you_mean};
use crate::lines::Pair;

/// A whole number within bounds. As in Slurm, `k` and `m` behind it are factors of 1024.
pub(crate) fn number(pair: &Pair, min: u64, max: u64, findings: &mut Findings) -> Option<u64> {
    let remedy = format!("expected a whole number from {min} to {max}");
    let Some(value) = parse_number(&pair.value) else {
        findings.error(&pair.place, format!("{} is no number", pair.text()), remedy);
        return None;
    };
    if value < min || value > max {
        findings.error(&pair.place, format!("{} is out of range", pair.text()), remedy);
        return None;
    }
    Some(value)
}

/// [`number`] for what is 32 bits wide.
pub(crate) fn number32(pair: &Pair, min: u32, max: u32, findings: &mut Findings) -> Option<u32> {
    number(pair, min.into(), max.into(), findings).and_then(|value| u32::try_from(value).ok())
}

/// Digits, perhaps with a factor behind them.
pub(crate) fn parse_number(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1024),
        b'm' | b'M' => (&text[..text.len() - 1], 1024 * 1024),
        _ => (text, 1),
    };
    let legal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if legal { digits.parse::<u64>().ok()?.checked_mul(factor) } else { None }
}

/// `UNLIMITED` or `INFINITE`.
pub(crate) fn is_unlimited(pair: &Pair) -> bool {
    ["unlimited", "infinite", "-1"].iter().any(|word| pair.value.eq_ignore_ascii_case(word))
}

/// The most MiB that a node can have: 4 PiB.
const MEBIBYTES_MAX: u64 = 1 << 32;

/// MiB, without a unit (Slurm takes none here, and reads `16K` as 16384 MiB, which nobody means).
pub(crate) fn mebibytes(pair: &Pair, min: u64, findings: &mut Findings) -> Option<Mebibytes> {
    let plain = !pair.value.is_empty() && pair.value.bytes().all(|byte| byte.is_ascii_digit());
    if plain {
        return number(pair, min, MEBIBYTES_MAX, findings).map(Mebibytes);
    }
    let remedy = match memory::parse_mebibytes(&pair.value) {
        Ok(amount) => format!("it is counted in MiB, without a unit: {}={amount}", pair.key),
        Err(_) => format!("expected a whole number of MiB, such as {}=16000", pair.key),
    };
    findings.error(&pair.place, format!("{} is no amount of memory", pair.text()), remedy);
    None
}

/// `YES` or `NO`, also as `TRUE`, `UP`, `1` and `FALSE`, `DOWN`, `0`.
pub(crate) fn boolean(pair: &Pair, findings: &mut Findings) -> Option<bool> {
    match pair.value.to_ascii_lowercase().as_str() {
        "yes" | "true" | "up" | "1" => Some(true),
        "no" | "false" | "down" | "0" => Some(false),
        _ => {
            let what = format!("{} is neither YES nor NO", pair.text());
            findings.error(&pair.place, what, format!("{0}=YES or {0}=NO", pair.key));
            None
        }
    }
}

/// A time limit.
pub(crate) fn time_limit(pair: &Pair, findings: &mut Findings) -> Option<TimeLimit> {
    match duration::parse_time_limit(&pair.value) {
        Ok(limit) => Some(limit),
        Err(_) => {
            let remedy =
                "expected minutes, HOURS:MINUTES:SECONDS, DAYS-HOURS or UNLIMITED: 90, 1:30:00, 2-12";
            findings.error(&pair.place, format!("{} is no time limit", pair.text()), remedy);
            None
        }
    }
}

/// The words between commas, without empty ones.
pub(crate) fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(String::from).collect()
}

/// The entry of a table of words, whatever the letter case.
pub(crate) fn choice<T: Copy>(pair: &Pair, table: &[(&str, T)], findings: &mut Findings) -> Option<T> {
    let found = table.iter().find(|(word, _)| pair.value.eq_ignore_ascii_case(word));
    if found.is_none() {
        let words: Vec<&str> = table.iter().map(|&(word, _)| word).collect();
        let remedy =
            did_you_mean(&pair.value, words.iter().copied(), format!("expected {}", words.join(", ")));
        findings.error(&pair.place, format!("{} is not known", pair.text()), remedy);
    }
    found.map(|&(_, value)| value)
}
