//! Points in time as Slurm's commands show them: local, to the second.

use std::fmt::Write as _;

use daybook_schemas::UtcMicros;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// In which form instants are shown (`SLURM_TIME_FORMAT`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Form {
    /// `2026-12-02T01:07:22`.
    #[default]
    Standard,
    /// Short, by the distance from now.
    Relative,
    /// As strftime has it.
    Pattern(String),
}

/// Shows instants in one zone and form.
#[derive(Clone, Debug)]
pub struct Instants {
    zone: TimeZone,
    form: Form,
    /// Seconds since 1970.
    now: i64,
}

impl Instants {
    /// In this zone, in the standard form.
    pub fn new(zone: TimeZone, now: i64) -> Instants {
        Instants { zone, form: Form::default(), now }
    }

    /// In the machine's zone and the form of `SLURM_TIME_FORMAT`.
    pub fn from_environment() -> Instants {
        let now = Timestamp::now().as_second();
        let instants = Instants::new(TimeZone::system(), now);
        match std::env::var("SLURM_TIME_FORMAT") {
            Ok(pattern) => instants.with_format(&pattern),
            Err(_) => instants,
        }
    }

    /// With the form that a value of `SLURM_TIME_FORMAT` names: `standard`, `relative`, or a pattern of strftime.
    #[must_use]
    pub fn with_format(mut self, pattern: &str) -> Instants {
        self.form = match pattern {
            "" | "standard" => Form::Standard,
            "relative" => Form::Relative,
            pattern => Form::Pattern(pattern.to_string()),
        };
        self
    }

    /// The same with the server's clock.
    #[must_use]
    pub fn at(mut self, now: i64) -> Instants {
        self.now = now;
        self
    }

    /// Takes the server's clock.
    pub fn set_now(&mut self, now: i64) {
        self.now = now;
    }

    /// The present, seconds since 1970.
    pub fn now(&self) -> i64 {
        self.now
    }

    /// Appends the instant of a second since 1970; outside the calendar `Unknown`.
    pub fn write(&self, second: i64, out: &mut String) {
        let Ok(instant) = Timestamp::from_second(second) else {
            out.push_str("Unknown");
            return;
        };
        match &self.form {
            Form::Standard => {
                let local = self.zone.to_datetime(instant);
                let _ = write!(
                    out,
                    "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
                    local.year(),
                    local.month(),
                    local.day(),
                    local.hour(),
                    local.minute(),
                    local.second()
                );
            }
            Form::Relative => self.write_pattern(self.relative_pattern(instant), instant, out),
            Form::Pattern(pattern) => self.write_pattern(pattern, instant, out),
        }
    }

    fn write_pattern(&self, pattern: &str, instant: Timestamp, out: &mut String) {
        let local = instant.to_zoned_datetime(self.zone.clone());
        match jiff::fmt::strtime::format(pattern, &local) {
            Ok(text) => out.push_str(&text),
            Err(_) => out.push_str(pattern),
        }
    }

    fn relative_pattern(&self, instant: Timestamp) -> &'static str {
        let date = self.zone.to_datetime(instant).date();
        let today = Timestamp::from_second(self.now).map_or(date, |now| self.zone.to_datetime(now).date());
        match date.duration_since(today).as_hours() / 24 {
            0 => "%H:%M:%S",
            -1 => "Ystday %H:%M",
            1 => "Tomorr %H:%M",
            2..=6 => "%a %H:%M",
            -365..=365 => "%-d %b %H:%M",
            _ => "%-d %b %Y",
        }
    }

    /// The text of an instant.
    pub fn text(&self, at: UtcMicros) -> String {
        let mut out = String::new();
        self.write(at.seconds(), &mut out);
        out
    }

    /// The text of an instant, or of its absence.
    pub fn text_or(&self, at: Option<UtcMicros>, absent: &str) -> String {
        at.map_or_else(|| absent.to_string(), |at| self.text(at))
    }

    /// `Wed Dec 02 01:24:07 2026`: the line above a long listing.
    pub fn headline(&self) -> String {
        let mut out = String::new();
        if let Ok(now) = Timestamp::from_second(self.now) {
            self.write_pattern("%a %b %d %H:%M:%S %Y", now, &mut out);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-12-02T01:24:07Z.
    const NOW: i64 = 1_796_174_647;

    fn shown(second: i64, form: &str) -> String {
        let mut out = String::new();
        Instants::new(TimeZone::UTC, NOW).with_format(form).write(second, &mut out);
        out
    }

    #[test]
    fn instants_are_shown_in_the_form_asked_for() {
        for (second, form, text) in [
            (NOW, "standard", "2026-12-02T01:24:07"),
            (NOW, "%s", "1796174647"),
            (NOW, "%H:%M", "01:24"),
            (NOW, "relative", "01:24:07"),
            (NOW - 86_400, "relative", "Ystday 01:24"),
            (NOW + 86_400, "relative", "Tomorr 01:24"),
            (NOW + 3 * 86_400, "relative", "Sat 01:24"),
            (NOW - 3 * 86_400, "relative", "29 Nov 01:24"),
            (NOW - 800 * 86_400, "relative", "23 Sep 2024"),
        ] {
            assert_eq!(shown(second, form), text, "{form}");
        }
    }

    #[test]
    fn the_headline_is_as_asctime_writes_it() {
        assert_eq!(Instants::new(TimeZone::UTC, NOW).headline(), "Wed Dec 02 01:24:07 2026");
    }
}
