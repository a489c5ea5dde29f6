//! Signals by name or number: `TERM`, `SIGTERM`, `15` (Linux numbers).

/// Text that names no signal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no signal: expected a name such as TERM or SIGUSR1, or a number from 1 to 64")]
pub struct InvalidSignal(pub String);

/// The highest signal number.
pub const SIGNAL_MAX: i32 = 64;

/// Names without `SIG`; where two mean the same, the first is shown.
const NAMES: &[(&str, i32)] = &[
    ("HUP", 1),
    ("INT", 2),
    ("QUIT", 3),
    ("ILL", 4),
    ("TRAP", 5),
    ("ABRT", 6),
    ("IOT", 6),
    ("BUS", 7),
    ("FPE", 8),
    ("KILL", 9),
    ("USR1", 10),
    ("SEGV", 11),
    ("USR2", 12),
    ("PIPE", 13),
    ("ALRM", 14),
    ("TERM", 15),
    ("STKFLT", 16),
    ("CHLD", 17),
    ("CONT", 18),
    ("STOP", 19),
    ("TSTP", 20),
    ("TTIN", 21),
    ("TTOU", 22),
    ("URG", 23),
    ("XCPU", 24),
    ("XFSZ", 25),
    ("VTALRM", 26),
    ("PROF", 27),
    ("WINCH", 28),
    ("IO", 29),
    ("POLL", 29),
    ("PWR", 30),
    ("SYS", 31),
];

/// The number of a signal, in any letter case, with or without `SIG`, or as a number from 1 to [`SIGNAL_MAX`].
pub fn parse(text: &str) -> Result<i32, InvalidSignal> {
    let invalid = || InvalidSignal(text.to_string());
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number: i32 = text.parse().map_err(|_| invalid())?;
        return if (1..=SIGNAL_MAX).contains(&number) { Ok(number) } else { Err(invalid()) };
    }
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    NAMES.iter().find(|known| known.0 == name).map(|known| known.1).ok_or_else(invalid)
}

/// The name without `SIG`; `None` for numbers without one.
pub fn name(number: i32) -> Option<&'static str> {
    NAMES.iter().find(|known| known.1 == number).map(|known| known.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_read() {
        for (text, number) in
            [("USR1", 10), ("SIGTERM", 15), ("kill", 9), ("sigint", 2), ("12", 12), ("64", 64), ("IOT", 6)]
        {
            assert_eq!(parse(text), Ok(number), "{text}");
        }
        for text in ["FOO", "", "SIG", "SIGSIGTERM", "0", "65", "-1", "+9", "99999999999", "TERM ", "9.0"] {
            assert_eq!(parse(text), Err(InvalidSignal(text.to_string())));
        }
    }

    #[test]
    fn names_are_read_back() {
        assert_eq!(name(6), Some("ABRT"));
        assert_eq!(name(34), None);
        for number in 1..=31 {
            assert_eq!(name(number).map(parse), Some(Ok(number)));
        }
    }
}
