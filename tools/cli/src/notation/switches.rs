//! `--switches`: `1`, `2@10:00`.

use daybook_schemas::grammar::duration;
use daybook_schemas::job::SwitchRequest;

/// Text that is no number of switches with a time to wait for them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSwitches {
    #[error("Invalid numeric value \"{0}\" for --switches.")]
    Count(String),
    #[error("Invalid time to wait for switches: \"{0}\"")]
    Wait(String),
}

/// The most leaf switches, and how long to wait for that; without an end it is as long as the cluster allows.
pub fn parse(text: &str) -> Result<SwitchRequest, InvalidSwitches> {
    let (count, wait) = text.split_once('@').map_or((text, None), |(count, wait)| (count, Some(wait)));
    let is_plain = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    let number = count.parse::<u32>().ok().filter(|&number| is_plain && number > 0);
    let count = number.ok_or_else(|| InvalidSwitches::Count(count.to_string()))?;
    let wait = match wait {
        None => None,
        Some(wait) => duration::parse(wait).map_err(|_| InvalidSwitches::Wait(wait.to_string()))?,
    };
    Ok(SwitchRequest { count, wait })
}

#[cfg(test)]
mod tests {
    use daybook_schemas::Seconds;

    use super::*;

    #[test]
    fn counts_with_and_without_a_time_are_read() {
        let few = |count, seconds: Option<u64>| Ok(SwitchRequest { count, wait: seconds.map(Seconds) });
        let count = |text: &str| Err(InvalidSwitches::Count(text.to_string()));
        let wait = |text: &str| Err(InvalidSwitches::Wait(text.to_string()));
        for (text, expected) in [
            ("1", few(1, None)),
            ("2@5", few(2, Some(300))),
            ("2@0:30", few(2, Some(30))),
            ("1@1-00:00:00", few(1, Some(86_400))),
            ("1@UNLIMITED", few(1, None)),
            ("0", count("0")),
            ("", count("")),
            ("+1", count("+1")),
            ("few@5", count("few")),
            ("1@", wait("")),
            ("1@soon", wait("soon")),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
