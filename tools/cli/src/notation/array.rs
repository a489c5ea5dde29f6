//! `--array`: `0-9`, `1,3,5-9:2`, with `%N` behind it for how many run at once.

use daybook_schemas::grammar::index_set::IndexSet;
use daybook_schemas::job::ArrayRequest;

/// Slurm's sentence for a specification that cannot be read.
pub const INVALID: &str = "Invalid job array specification";

/// Reads it. Empty text is no array; a throttle of nothing or 0 is none.
pub fn parse(text: &str) -> Result<Option<ArrayRequest>, &'static str> {
    if text.is_empty() {
        return Ok(None);
    }
    let (tasks, throttle) = match text.split_once('%') {
        Some((tasks, throttle)) => (tasks, throttle),
        None => (text, ""),
    };
    let tasks: IndexSet = tasks.parse().map_err(|_| INVALID)?;
    let running_max = match throttle {
        "" => None,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().map_err(|_| INVALID)?)
        }
        _ => return Err(INVALID),
    };
    if tasks.is_empty() {
        return Err(INVALID);
    }
    Ok(Some(ArrayRequest { tasks, running_max: running_max.filter(|&most| most > 0) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read_as_slurm_reads_them() {
        for (text, shown) in [
            ("0-9%2", Ok("0-9 2")),
            ("1,3,5-9:2,20", Ok("1,3,5,7,9,20 0")),
            ("1,1", Ok("1 0")),
            ("0-9%", Ok("0-9 0")),
            ("1-3%0", Ok("1-3 0")),
            ("", Ok("none")),
            ("5-1", Err(INVALID)),
            ("a", Err(INVALID)),
            ("-3", Err(INVALID)),
            ("%5", Err(INVALID)),
            ("1%x", Err(INVALID)),
        ] {
            let read = parse(text).map(|array| match array {
                None => "none".to_string(),
                Some(array) => format!("{} {}", array.tasks, array.running_max.unwrap_or(0)),
            });
            assert_eq!(read, shown.map(str::to_string), "{text}");
        }
    }
}
