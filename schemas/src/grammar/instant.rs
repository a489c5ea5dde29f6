//! Points in time as people type them: `now+1hour`, `16:00`, `tomorrow`, `2030-01-01T12:34:56`, `12/25/29`.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _, ZonedDateTime};

use crate::units::UtcMicros;

/// Text that is no point in time. The message is the one that Slurm's clients print.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid time specification (pos={position}): {text}")]
pub struct InvalidInstantText {
    /// The byte from which it cannot be read.
    pub position: usize,
    /// As typed.
    pub text: String,
}

/// What a time without a day, or a day without a year, means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bare {
    /// The next one (`--begin`): a time of day that has passed is tomorrow's, a day that has passed is next year's.
    Future,
    /// A recent one (`sacct -S`, `-E`): a time of day is today's, a day in a later month than this one was last year's.
    Past,
}

/// Reads a point in time in the time zone `zone`, as seen at `now`; whole seconds.
///
/// Forms: `now`, `now+N[UNIT]`, `now-N[UNIT]` (seconds, minutes, hours, days, weeks; seconds without a unit);
/// `HH:MM[:SS][AM|PM]`, `midnight`, `elevenses`, `noon`, `fika`, `teatime`; `MMDD[YY]`, `MM/DD[/YY]`, `MM.DD[.YY]`,
/// `YYYY-MM-DD`, `today`, `tomorrow`; a day and a time in either order with a space between them, or `T` behind the day.
/// A local time that a clock change skips is read as if the clock had not changed yet.
pub fn parse_instant(
    text: &str,
    now: UtcMicros,
    zone: &TimeZone,
    bare: Bare,
) -> Result<UtcMicros, InvalidInstantText> {
    let invalid = |position| InvalidInstantText { position, text: text.to_string() };
    let lower = text.trim().to_ascii_lowercase();
    if let Some(offset) = lower.strip_prefix("now") {
        return offset_from(now, offset).ok_or_else(|| invalid(if offset.is_empty() { 3 } else { 4 }));
    }
    let now = local(now, zone).ok_or_else(|| invalid(0))?;
    let day = |part: &str| read_day(part, &now, bare);
    let moment = match split_day_and_time(&lower) {
        (only, None) => match (day(only), read_time(only)) {
            (Some(day), _) => day.to_datetime(Time::midnight()),
            (None, Some(time)) => on_some_day(time, &now, bare).ok_or_else(|| invalid(0))?,
            (None, None) => return Err(invalid(0)),
        },
        (first, Some(second)) => match (day(first), read_time(second), read_time(first), day(second)) {
            (Some(day), Some(time), ..) | (_, _, Some(time), Some(day)) => day.to_datetime(time),
            (Some(_), None, ..) | (_, _, Some(_), None) => return Err(invalid(lower.len() - second.len())),
            _ => return Err(invalid(0)),
        },
    };
    let zoned = moment.to_zoned_datetime(zone.clone()).map_err(|_| invalid(0))?;
    Ok(UtcMicros::from_seconds(zoned.timestamp().as_second()))
}

/// As every Slurm command shows an instant: local time without a zone, `2026-12-02T01:43:27`.
pub fn format_local(instant: UtcMicros, zone: &TimeZone) -> String {
    match local(instant, zone) {
        Some(zoned) => zoned.strftime("%Y-%m-%dT%H:%M:%S").to_string(),
        None => "Unknown".to_string(),
    }
}

fn local(instant: UtcMicros, zone: &TimeZone) -> Option<ZonedDateTime> {
    Some(Timestamp::from_second(instant.seconds()).ok()?.to_zoned_datetime(zone.clone()))
}

/// `+2days`, `-1hour`, `+60`, or nothing.
fn offset_from(now: UtcMicros, offset: &str) -> Option<UtcMicros> {
    if offset.is_empty() {
        return Some(UtcMicros::from_seconds(now.seconds()));
    }
    let (sign, count) = match offset.split_at_checked(1)? {
        ("+", count) => (1, count),
        ("-", count) => (-1, count),
        _ => return None,
    };
    let digits = count.len() - count.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = count.split_at(digits);
    let number: i64 = number.parse().ok()?;
    let unit_seconds = match unit.trim() {
        "" | "second" | "seconds" => 1,
        "minute" | "minutes" => 60,
        "hour" | "hours" => 3_600,
        "day" | "days" => 86_400,
        "week" | "weeks" => 604_800,
        _ => return None,
    };
    let moved = now.seconds().checked_add(number.checked_mul(unit_seconds)?.checked_mul(sign)?)?;
    // Beyond the calendar nothing can be shown, so nothing is accepted.
    Timestamp::from_second(moved).ok()?;
    Some(UtcMicros::from_seconds(moved))
}

fn on_some_day(time: Time, now: &ZonedDateTime, bare: Bare) -> Option<DateTime> {
    let today = now.date().to_datetime(time);
    let passed = bare == Bare::Future && today <= now.datetime();
    if passed { today.checked_add(1.day()).ok() } else { Some(today) }
}

/// Splits at `T` between digits, or at white space (but not before `AM` and `PM`).
fn split_day_and_time(text: &str) -> (&str, Option<&str>) {
    if let Some((day, time)) = text.split_once('t')
        && day.ends_with(|c: char| c.is_ascii_digit())
        && time.starts_with(|c: char| c.is_ascii_digit())
    {
        return (day, Some(time));
    }
    if let Some((first, second)) = text.split_once(char::is_whitespace)
        && !matches!(second.trim(), "am" | "pm")
    {
        return (first, Some(second.trim_start()));
    }
    (text, None)
}

/// `2030-01-01`, `12/25`, `12/25/29`, `12.25.29`, `1225`, `122529`, `today`, `tomorrow`.
fn read_day(text: &str, now: &ZonedDateTime, bare: Bare) -> Option<Date> {
    match text {
        "today" => return Some(now.date()),
        "tomorrow" => return now.date().tomorrow().ok(),
        _ => {}
    }
    if let [year, month, day] = text.split('-').collect::<Vec<_>>().as_slice() {
        return if year.len() == 4 {
            Date::new(digits(year)?, small(month)?, small(day)?).ok()
        } else {
            None
        };
    }
    let parts: Vec<&str> = match text.len() {
        4 | 6 if text.bytes().all(|byte| byte.is_ascii_digit()) => {
            [text.get(..2), text.get(2..4), text.get(4..)]
                .into_iter()
                .flatten()
                .filter(|part| !part.is_empty())
                .collect()
        }
        _ => text.split(if text.contains('/') { '/' } else { '.' }).collect(),
    };
    match parts.as_slice() {
        [month, day] => day_of_some_year(small(month)?, small(day)?, now, bare),
        [month, day, year] => {
            let year = digits(year)?;
            Date::new(if year < 100 { 2000 + year } else { year }, small(month)?, small(day)?).ok()
        }
        _ => None,
    }
}

fn day_of_some_year(month: i8, day: i8, now: &ZonedDateTime, bare: Bare) -> Option<Date> {
    let passed = (month, day) < (now.month(), now.day());
    let year = match bare {
        Bare::Future if passed => now.year() + 1,
        Bare::Past if month > now.month() => now.year() - 1,
        _ => now.year(),
    };
    Date::new(year, month, day).ok()
}

/// One to four digits.
fn digits(text: &str) -> Option<i16> {
    let legal = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if legal { text.parse().ok() } else { None }
}

/// One or two digits.
fn small(text: &str) -> Option<i8> {
    if text.len() <= 2 { i8::try_from(digits(text)?).ok() } else { None }
}

/// `16:00`, `4:00pm`, `16:00:30`, and the words for times of day.
fn read_time(text: &str) -> Option<Time> {
    let hour_of_word = match text {
        "midnight" => Some(0),
        "elevenses" => Some(11),
        "noon" => Some(12),
        "fika" => Some(15),
        "teatime" => Some(16),
        _ => None,
    };
    if let Some(hour) = hour_of_word {
        return Time::new(hour, 0, 0, 0).ok();
    }
    let (clock, half_day) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
        (Some(clock), _) => (clock.trim_end(), Some(0)),
        (_, Some(clock)) => (clock.trim_end(), Some(12)),
        _ => (text, None),
    };
    let (hour, minute, second) = match clock.split(':').collect::<Vec<_>>().as_slice() {
        [hour, minute] => (small(hour)?, small(minute)?, 0),
        [hour, minute, second] => (small(hour)?, small(minute)?, small(second)?),
        _ => return None,
    };
    let hour = match half_day {
        None => hour,
        Some(later) if (1..=12).contains(&hour) => hour % 12 + later,
        Some(_) => return None,
    };
    // jiff reads a leap second as the 59th; it is no time that people mean here.
    if second > 59 { None } else { Time::new(hour, minute, second, 0).ok() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-12-02T01:07:22.000000Z";

    fn at(text: &str, bare: Bare) -> String {
        match parse_instant(text, NOW.parse().unwrap(), &TimeZone::UTC, bare) {
            Ok(instant) => format_local(instant, &TimeZone::UTC),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn begin_means_the_future() {
        for (text, moment) in [
            ("now", "2026-12-02T01:07:22"),
            ("NOW", "2026-12-02T01:07:22"),
            ("now+1hour", "2026-12-02T02:07:22"),
            ("now+60", "2026-12-02T01:08:22"),
            ("now+1week", "2026-12-09T01:07:22"),
            ("now+2days", "2026-12-04T01:07:22"),
            ("now-1day", "2026-12-01T01:07:22"),
            ("now+5 minutes", "2026-12-02T01:12:22"),
            ("16:00", "2026-12-02T16:00:00"),
            ("01:00", "2026-12-03T01:00:00"),
            ("1:07:22", "2026-12-03T01:07:22"),
            ("1:07:23", "2026-12-02T01:07:23"),
            ("4:30pm", "2026-12-02T16:30:00"),
            ("12:30 AM", "2026-12-03T00:30:00"),
            ("12:30PM", "2026-12-02T12:30:00"),
            ("tomorrow", "2026-12-03T00:00:00"),
            ("today", "2026-12-02T00:00:00"),
            ("midnight", "2026-12-03T00:00:00"),
            ("noon", "2026-12-02T12:00:00"),
            ("elevenses", "2026-12-02T11:00:00"),
            ("fika", "2026-12-02T15:00:00"),
            ("teatime", "2026-12-02T16:00:00"),
            ("noon tomorrow", "2026-12-03T12:00:00"),
            ("tomorrow noon", "2026-12-03T12:00:00"),
            ("2030-01-01", "2030-01-01T00:00:00"),
            ("2030-01-01T12:34:56", "2030-01-01T12:34:56"),
            ("2030-01-01T12:34", "2030-01-01T12:34:00"),
            ("2030-01-01 12:34", "2030-01-01T12:34:00"),
            ("2020-01-01", "2020-01-01T00:00:00"),
            ("12/25/29", "2029-12-25T00:00:00"),
            ("12/25/2029", "2029-12-25T00:00:00"),
            ("12.25.29", "2029-12-25T00:00:00"),
            ("12/25", "2026-12-25T00:00:00"),
            ("12/02", "2026-12-02T00:00:00"),
            ("12/01", "2027-12-01T00:00:00"),
            ("01/05", "2027-01-05T00:00:00"),
            ("0105", "2027-01-05T00:00:00"),
            ("122529", "2029-12-25T00:00:00"),
            ("12/25 16:00", "2026-12-25T16:00:00"),
        ] {
            assert_eq!(at(text, Bare::Future), moment, "{text}");
        }
    }

    #[test]
    fn accounting_means_the_past() {
        for (text, moment) in [
            ("01:00", "2026-12-02T01:00:00"),
            ("23:59", "2026-12-02T23:59:00"),
            ("midnight", "2026-12-02T00:00:00"),
            ("12/01", "2026-12-01T00:00:00"),
            ("12/31", "2026-12-31T00:00:00"),
            ("01/05", "2026-01-05T00:00:00"),
            ("now-3minutes", "2026-12-02T01:04:22"),
            ("2030-01-01", "2030-01-01T00:00:00"),
        ] {
            assert_eq!(at(text, Bare::Past), moment, "{text}");
        }
        let spring: UtcMicros = "2026-03-02T00:00:00.000000Z".parse().unwrap();
        let read = parse_instant("12/31", spring, &TimeZone::UTC, Bare::Past).unwrap();
        assert_eq!(format_local(read, &TimeZone::UTC), "2025-12-31T00:00:00");
    }

    #[test]
    fn mistakes_name_the_place() {
        for (text, position) in [
            ("garbage", 0),
            ("", 0),
            ("uptime", 0),
            ("now+1min", 4),
            ("now+", 4),
            ("now*2", 4),
            ("nowhere", 4),
            ("now+99999999999999999999", 4),
            ("now+9999999999999days", 4),
            ("now-9999999999999days", 4),
            ("25:00", 0),
            ("10:60", 0),
            ("10:00:60", 0),
            ("13:00pm", 0),
            ("0:30am", 0),
            ("2030-13-01", 0),
            ("2030-02-30", 0),
            ("30-01-01", 0),
            ("13/01", 0),
            ("02/29", 0),
            ("123", 0),
            ("12345", 0),
            ("2030-01-01Tx", 0),
            ("2030-01-01T9", 11),
            ("tomorrow later", 9),
            ("1é:00", 0),
            ("ééé", 0),
            ("12é", 0),
        ] {
            assert_eq!(
                at(text, Bare::Future),
                format!("Invalid time specification (pos={position}): {text}")
            );
        }
    }

    #[test]
    fn local_time_is_of_the_zone() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let read = |text: &str, now: &str| {
            let instant = parse_instant(text, now.parse().unwrap(), &zone, Bare::Future).unwrap();
            (instant.to_string(), format_local(instant, &zone))
        };
        let pair = |utc: &str, local: &str| (utc.to_string(), local.to_string());
        assert_eq!(read("16:00", NOW), pair("2026-12-02T15:00:00.000000Z", "2026-12-02T16:00:00"));
        // It is already the next day there.
        let evening = "2026-12-02T23:30:00.000000Z";
        assert_eq!(read("today", evening), pair("2026-12-02T23:00:00.000000Z", "2026-12-03T00:00:00"));
        // 02:30 does not exist on the day the clocks go forward.
        assert_eq!(read("2027-03-28T02:30", NOW), pair("2027-03-28T01:30:00.000000Z", "2027-03-28T03:30:00"));
        // Days that a clock change makes longer keep their time of day only by date, not by `now+1day`.
        let before_change = "2026-10-24T10:00:00.000000Z";
        assert_eq!(read("now+1day", before_change).1, "2026-10-25T11:00:00");
    }
}
