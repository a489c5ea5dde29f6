//! Points in time as people type them: `now+1hour`, `16:00`, `tomorrow`, `2030-01-01T12:34:56`, `12/25/29`,
//! in the local time zone.

use daybook_schemas::UtcMicros;
use jiff::civil::{Date, DateTime, Time};
use jiff::{Span, ToSpan as _, ZonedDateTime};

/// Text that is no point in time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Invalid time specification (pos={position}): {text}")]
pub struct InvalidTime {
    pub position: usize,
    pub text: String,
}

/// Reads a point in time. A time of day that has passed is tomorrow's; a day without a year that has passed, next year's.
pub fn parse(text: &str, now: &ZonedDateTime) -> Result<UtcMicros, InvalidTime> {
    let invalid = |position| InvalidTime { position, text: text.to_string() };
    let lower = text.trim().to_ascii_lowercase();
    if let Some(offset) = lower.strip_prefix("now") {
        return now_and_offset(now, offset).ok_or_else(|| invalid(if offset.is_empty() { 3 } else { 4 }));
    }
    if let Some(seconds) = lower.strip_prefix("uts") {
        return seconds.parse().map(UtcMicros::from_seconds).map_err(|_| invalid(3));
    }
    let (date, time, position) = match split_date_and_time(&lower) {
        (first, Some(second)) => {
            let position = lower.len() - second.len();
            match (parse_date(first, now), parse_time_of_day(second)) {
                (Some(date), Some(time)) => (Some(date), Some(time), 0),
                (None, _) => match (parse_time_of_day(first), parse_date(second, now)) {
                    (Some(time), Some(date)) => (Some(date), Some(time), 0),
                    _ => return Err(invalid(0)),
                },
                (Some(_), None) => return Err(invalid(position)),
            }
        }
        (only, None) => (parse_date(only, now), parse_time_of_day(only), 0),
    };
    let moment = match (date, time) {
        (Some(date), time) => date.to_datetime(time.unwrap_or(Time::midnight())),
        (None, Some(time)) => next_time_of_day(time, now).ok_or_else(|| invalid(position))?,
        (None, None) => return Err(invalid(position)),
    };
    local(moment, now).ok_or_else(|| invalid(position))
}

fn local(moment: DateTime, now: &ZonedDateTime) -> Option<UtcMicros> {
    let zoned = moment.to_zoned_datetime(now.time_zone().clone()).ok()?;
    Some(UtcMicros(zoned.timestamp().as_microsecond()))
}

fn next_time_of_day(time: Time, now: &ZonedDateTime) -> Option<DateTime> {
    let today = now.date().to_datetime(time);
    if today > now.datetime() { Some(today) } else { today.checked_add(1.day()).ok() }
}

/// `+2days`, `-1hour`, `+60` (seconds), or nothing.
fn now_and_offset(now: &ZonedDateTime, offset: &str) -> Option<UtcMicros> {
    let second = now.timestamp().as_second();
    if offset.is_empty() {
        return Some(UtcMicros::from_seconds(second));
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
    let moved = second.checked_add(number.checked_mul(unit_seconds)?.checked_mul(sign)?)?;
    // Beyond the calendar nothing can be shown, so nothing is accepted.
    jiff::Timestamp::from_second(moved).ok()?;
    Some(UtcMicros::from_seconds(moved))
}

/// Splits at `T` between digits, or at white space (but not before `AM` and `PM`).
fn split_date_and_time(text: &str) -> (&str, Option<&str>) {
    if let Some((date, time)) = text.split_once('t')
        && date.ends_with(|c: char| c.is_ascii_digit())
        && time.starts_with(|c: char| c.is_ascii_digit())
    {
        return (date, Some(time));
    }
    if let Some((first, second)) = text.split_once(char::is_whitespace)
        && !matches!(second.trim(), "am" | "pm")
    {
        return (first, Some(second.trim()));
    }
    (text, None)
}

/// `2030-01-01`, `12/25`, `12/25/29`, `12.25.29`, `1225`, `122529`, `today`, `tomorrow`.
fn parse_date(text: &str, now: &ZonedDateTime) -> Option<Date> {
    match text {
        "today" => return Some(now.date()),
        "tomorrow" => return now.date().checked_add(1.day()).ok(),
        _ => {}
    }
    let number = |part: &str| -> Option<i16> {
        let digits = (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        if digits { part.parse().ok() } else { None }
    };
    let day_of = |month: i16, day: i16, year: Option<i16>| -> Option<Date> {
        let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
        match year {
            Some(year) => Date::new(if year < 100 { 2000 + year } else { year }, month, day).ok(),
            None => {
                let this_year = Date::new(now.year(), month, day).ok()?;
                if this_year < now.date() {
                    this_year.checked_add(Span::new().years(1)).ok()
                } else {
                    Some(this_year)
                }
            }
        }
    };
    let parts: Vec<&str> = text.split('-').collect();
    if let [year, month, day] = parts.as_slice() {
        return if year.len() == 4 {
            day_of(number(month)?, number(day)?, Some(number(year)?))
        } else {
            None
        };
    }
    for separator in ['/', '.'] {
        let parts: Vec<&str> = text.split(separator).collect();
        match parts.as_slice() {
            [month, day] => return day_of(number(month)?, number(day)?, None),
            [month, day, year] => return day_of(number(month)?, number(day)?, Some(number(year)?)),
            _ => {}
        }
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match (digits, text.len()) {
        (true, 4) => day_of(number(&text[..2])?, number(&text[2..])?, None),
        (true, 6) => day_of(number(&text[..2])?, number(&text[2..4])?, Some(number(&text[4..])?)),
        _ => None,
    }
}

/// `16:00`, `4:00pm`, `16:00:30`, `noon`, `midnight`, `elevenses`, `fika`, `teatime`.
fn parse_time_of_day(text: &str) -> Option<Time> {
    match text {
        "midnight" => return Some(Time::midnight()),
        "elevenses" => return Time::new(11, 0, 0, 0).ok(),
        "noon" => return Time::new(12, 0, 0, 0).ok(),
        "fika" => return Time::new(15, 0, 0, 0).ok(),
        "teatime" => return Time::new(16, 0, 0, 0).ok(),
        _ => {}
    }
    let (text, half_day) = if let Some(text) = text.strip_suffix("am") {
        (text.trim_end(), Some(0))
    } else if let Some(text) = text.strip_suffix("pm") {
        (text.trim_end(), Some(12))
    } else {
        (text, None)
    };
    let number = |part: &str| -> Option<i8> {
        let digits = (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        if digits { part.parse().ok() } else { None }
    };
    let parts: Vec<&str> = text.split(':').collect();
    let (hour, minute, second) = match parts.as_slice() {
        [hour, minute] => (number(hour)?, number(minute)?, 0),
        [hour, minute, second] => (number(hour)?, number(minute)?, number(second)?),
        _ => return None,
    };
    let hour = match half_day {
        None => hour,
        Some(later) if (1..=12).contains(&hour) => hour % 12 + later,
        Some(_) => return None,
    };
    Time::new(hour, minute, second, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> String {
        let now: ZonedDateTime = "2026-12-02T01:07:22[UTC]".parse().expect("a valid instant");
        match parse(text, &now) {
            Ok(instant) => instant.to_string().replace(".000000Z", ""),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn forms_are_read_as_slurm_reads_them() {
        for (text, moment) in [
            ("now", "2026-12-02T01:07:22"),
            ("now+1hour", "2026-12-02T02:07:22"),
            ("now+60", "2026-12-02T01:08:22"),
            ("now-2days", "2026-11-30T01:07:22"),
            ("16:00", "2026-12-02T16:00:00"),
            ("01:00", "2026-12-03T01:00:00"),
            ("4:30pm", "2026-12-02T16:30:00"),
            ("12:30 AM", "2026-12-03T00:30:00"),
            ("tomorrow", "2026-12-03T00:00:00"),
            ("today", "2026-12-02T00:00:00"),
            ("2030-01-01", "2030-01-01T00:00:00"),
            ("2030-01-01T12:34:56", "2030-01-01T12:34:56"),
            ("2030-01-01 12:34", "2030-01-01T12:34:00"),
            ("midnight", "2026-12-03T00:00:00"),
            ("noon", "2026-12-02T12:00:00"),
            ("noon tomorrow", "2026-12-03T12:00:00"),
            ("now+2days", "2026-12-04T01:07:22"),
            ("teatime", "2026-12-02T16:00:00"),
            ("12/25/29", "2029-12-25T00:00:00"),
            ("12/25", "2026-12-25T00:00:00"),
            ("01/05", "2027-01-05T00:00:00"),
            ("122529", "2029-12-25T00:00:00"),
            ("now+1week", "2026-12-09T01:07:22"),
            ("2020-01-01", "2020-01-01T00:00:00"),
            ("uts1000", "1970-01-01T00:16:40"),
        ] {
            assert_eq!(at(text), moment, "{text}");
        }
    }

    #[test]
    fn mistakes_name_the_place() {
        for (text, position) in [
            ("garbage", 0),
            ("now+1min", 4),
            ("", 0),
            ("25:00", 0),
            ("2030-13-01", 0),
            ("2030-01-01Tx", 0),
            ("now+99999999999999999999", 4),
            ("now+9999999999999days", 4),
            ("13:00pm", 0),
        ] {
            assert_eq!(at(text), format!("Invalid time specification (pos={position}): {text}"), "{text}");
        }
    }
}
