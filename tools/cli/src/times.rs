//! Points in time that are typed on this machine, in its time zone.

use daybook_schemas::UtcMicros;
use daybook_schemas::grammar::instant::{Bare, InvalidInstantText, parse_instant};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Reads a time that lies ahead, such as `16:00` or `now+2hours`. Finding the time zone takes milliseconds.
pub fn parse_future(text: &str) -> Result<UtcMicros, InvalidInstantText> {
    let now = UtcMicros(Timestamp::now().as_microsecond());
    parse_instant(text, now, &TimeZone::system(), Bare::Future)
}
