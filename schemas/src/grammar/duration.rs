//! Lengths of time: `MINUTES`, `MINUTES:SECONDS`, `HOURS:MINUTES:SECONDS`, `DAYS-HOURS`, `DAYS-HOURS:MINUTES`,
//! `DAYS-HOURS:MINUTES:SECONDS`.

use crate::job::TimeLimit;
use crate::units::Seconds;

/// Text that is no length of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no length of time: expected such as 90, 10:30, 1:00:00, 2-12 or UNLIMITED")]
pub struct InvalidDuration(pub String);

/// Text that is no number of seconds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no number of seconds: expected a whole number of at most 4294967295")]
pub struct InvalidSeconds(pub String);

/// The longest, so that no sum overflows: about 136 years.
const SECONDS_MAX: u64 = u32::MAX as u64;

/// Reads a length of time; `None` is unlimited (`UNLIMITED`, `INFINITE`, `-1`). Nothing behind `DAYS-` is 0 hours.
pub fn parse(text: &str) -> Result<Option<Seconds>, InvalidDuration> {
    if text == "-1" || text.eq_ignore_ascii_case("unlimited") || text.eq_ignore_ascii_case("infinite") {
        return Ok(None);
    }
    let invalid = || InvalidDuration(text.to_string());
    let number = |part: &str| read_number(part).ok_or_else(invalid);
    let (days, rest) = match text.split_once('-') {
        Some((days, "")) => (number(days)?, "0"),
        Some((days, rest)) => (number(days)?, rest),
        None => (0, text),
    };
    let parts: Vec<u64> = rest.split(':').map(number).collect::<Result<_, _>>()?;
    let (hours, minutes, seconds) = match (parts.as_slice(), text.contains('-')) {
        ([hours], true) => (*hours, 0, 0),
        ([hours, minutes], true) => (*hours, *minutes, 0),
        ([minutes], false) => (0, *minutes, 0),
        ([minutes, seconds], false) => (0, *minutes, *seconds),
        ([hours, minutes, seconds], _) => (*hours, *minutes, *seconds),
        _ => return Err(invalid()),
    };
    let total = days * 86_400 + hours * 3_600 + minutes * 60 + seconds;
    if total > SECONDS_MAX { Err(invalid()) } else { Ok(Some(Seconds(total))) }
}

/// Reads a time limit (`--time`, `MaxTime`): whole minutes, rounded up; 0 is unlimited.
pub fn parse_time_limit(text: &str) -> Result<TimeLimit, InvalidDuration> {
    match parse(text)? {
        None | Some(Seconds(0)) => Ok(TimeLimit::Unlimited),
        Some(Seconds(seconds)) => match u32::try_from(seconds.div_ceil(60)) {
            Ok(minutes) => Ok(TimeLimit::minutes(minutes)),
            Err(_) => Err(InvalidDuration(text.to_string())),
        },
    }
}

/// Reads a plain number of seconds, such as the value of `KillWait=30`.
pub fn parse_seconds(text: &str) -> Result<Seconds, InvalidSeconds> {
    read_number(text).map(Seconds).ok_or_else(|| InvalidSeconds(text.to_string()))
}

/// Digits only, at most [`SECONDS_MAX`].
fn read_number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok().filter(|&number| number <= SECONDS_MAX) } else { None }
}

/// As scontrol and sacct show a limit: `00:10:00`, `01:00:00`, `1-00:00:00`, `UNLIMITED`.
pub fn format_time_limit(limit: TimeLimit) -> String {
    match limit {
        TimeLimit::Seconds(seconds) => format_elapsed(seconds),
        TimeLimit::Unlimited => "UNLIMITED".to_string(),
    }
}

/// As squeue's `%l` and sinfo show a limit: `10:00`, `1:00:00`, `1-00:00:00`, `UNLIMITED`.
pub fn format_time_limit_squeue(limit: TimeLimit) -> String {
    match limit {
        TimeLimit::Seconds(seconds) => format_run_time_squeue(seconds),
        TimeLimit::Unlimited => "UNLIMITED".to_string(),
    }
}

/// As squeue's `%M` shows a run time: `0:00`, `1:02:03`, `1-02:03:04`.
pub fn format_run_time_squeue(seconds: u64) -> String {
    let (days, hours, minutes, seconds) = split(seconds);
    match (days, hours) {
        (0, 0) => format!("{minutes}:{seconds:02}"),
        (0, _) => format!("{hours}:{minutes:02}:{seconds:02}"),
        _ => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// As scontrol and sacct show a length of time: `00:00:02`, `1-00:00:00`.
pub fn format_elapsed(seconds: u64) -> String {
    let (days, hours, minutes, seconds) = split(seconds);
    match days {
        0 => format!("{hours:02}:{minutes:02}:{seconds:02}"),
        _ => format!("{days}-{hours:02}:{minutes:02}:{seconds:02}"),
    }
}

/// As sacct shows CPU time (TotalCPU, UserCPU, SystemCPU): `00:00.018` below an hour, `01:02:03`, `1-02:03:04`;
/// `00:00:00` for none.
pub fn format_cpu_time(microseconds: u64) -> String {
    let (days, hours, minutes, seconds) = split(microseconds / 1_000_000);
    let milliseconds = microseconds / 1_000 % 1_000;
    match (days, hours) {
        (0, 0) if microseconds / 1_000 > 0 => format!("{minutes:02}:{seconds:02}.{milliseconds:03}"),
        _ => format_elapsed(microseconds / 1_000_000),
    }
}

/// Days, hours, minutes, seconds.
fn split(seconds: u64) -> (u64, u64, u64, u64) {
    (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use TimeLimit::Unlimited;

    const fn minutes(minutes: u32) -> TimeLimit {
        TimeLimit::minutes(minutes)
    }

    #[test]
    fn time_limits_are_whole_minutes_rounded_up() {
        for (text, limit) in [
            ("10", minutes(10)),
            ("10:30", minutes(11)),
            ("1:2:3", minutes(63)),
            ("1-2", minutes(26 * 60)),
            ("1-2:3", minutes(26 * 60 + 3)),
            ("1-2:3:4", minutes(26 * 60 + 4)),
            ("1-", minutes(24 * 60)),
            ("0-0:0:1", minutes(1)),
            ("0", Unlimited),
            ("0:00", Unlimited),
            ("00:00:30", minutes(1)),
            ("00:01:00", minutes(1)),
            ("infinite", Unlimited),
            ("INFINITE", Unlimited),
            ("UNLIMITED", Unlimited),
            ("-1", Unlimited),
            ("90:00", minutes(90)),
            ("2-0", minutes(48 * 60)),
            ("0:36000", minutes(600)),
            ("71582788", minutes(71_582_788)),
        ] {
            assert_eq!(parse_time_limit(text), Ok(limit), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "abc",
            "1:2:3:4",
            "-",
            "-5",
            "1-2-3",
            "1-2:3:4:5",
            "1::2",
            ":",
            "1:",
            "-1:00",
            "1.5",
            " 1",
            "1 ",
            "+1",
            "99999999999",
            "71582789",
            "1-x",
            "50000-",
            "٣",
        ] {
            assert!(parse_time_limit(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seconds_are_plain_numbers() {
        assert_eq!(parse_seconds("30"), Ok(Seconds(30)));
        assert_eq!(parse_seconds("0"), Ok(Seconds(0)));
        assert_eq!(parse_seconds("4294967295"), Ok(Seconds(u64::from(u32::MAX))));
        for text in ["", "-1", "1s", "4294967296", "1.5", "0x10"] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn limits_are_shown_in_each_commands_form() {
        for (limit, scontrol, squeue) in [
            (minutes(1), "00:01:00", "1:00"),
            (minutes(10), "00:10:00", "10:00"),
            (minutes(60), "01:00:00", "1:00:00"),
            (minutes(90), "01:30:00", "1:30:00"),
            (minutes(1440), "1-00:00:00", "1-00:00:00"),
            (minutes(1563), "1-02:03:00", "1-02:03:00"),
            (Unlimited, "UNLIMITED", "UNLIMITED"),
        ] {
            assert_eq!(format_time_limit(limit), scontrol);
            assert_eq!(format_time_limit_squeue(limit), squeue);
        }
    }

    #[test]
    fn run_times_are_shown_in_each_commands_form() {
        for (seconds, squeue, elapsed) in [
            (0, "0:00", "00:00:00"),
            (2, "0:02", "00:00:02"),
            (62, "1:02", "00:01:02"),
            (3_723, "1:02:03", "01:02:03"),
            (86_400, "1-00:00:00", "1-00:00:00"),
            (93_784, "1-02:03:04", "1-02:03:04"),
        ] {
            assert_eq!(format_run_time_squeue(seconds), squeue);
            assert_eq!(format_elapsed(seconds), elapsed);
        }
    }

    #[test]
    fn cpu_time_has_milliseconds_below_an_hour() {
        for (microseconds, text) in [
            (0, "00:00:00"),
            (999, "00:00:00"),
            (18_400, "00:00.018"),
            (61_002_000, "01:01.002"),
            (3_723_500_000, "01:02:03"),
            (93_784_000_000, "1-02:03:04"),
        ] {
            assert_eq!(format_cpu_time(microseconds), text);
        }
    }

    #[test]
    fn what_scontrol_shows_is_read_back() {
        for minutes in [1, 59, 60, 61, 1439, 1440, 100_000] {
            assert_eq!(
                parse_time_limit(&format_time_limit(TimeLimit::minutes(minutes))),
                Ok(TimeLimit::minutes(minutes))
            );
        }
    }
}
