//! Signals by name or number.

use nix::sys::signal::Signal;

/// The highest signal number.
const SIGNAL_MAX: i32 = 64;

/// `KILL`, `SIGKILL`, `kill` or `9`.
pub fn parse(text: &str) -> Option<i32> {
    if let Ok(number) = text.parse::<i32>() {
        return (1..=SIGNAL_MAX).contains(&number).then_some(number);
    }
    let name = text.to_ascii_uppercase();
    let name = if name.starts_with("SIG") { name } else { format!("SIG{name}") };
    name.parse::<Signal>().ok().map(|signal| signal as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_read() {
        for (text, number) in [("USR1", Some(10)), ("SIGTERM", Some(15)), ("kill", Some(9)), ("12", Some(12))]
        {
            assert_eq!(parse(text), number, "{text}");
        }
        for text in ["FOO", "", "0", "65", "-1"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
