//! `--array`: `0-9`, `1,3,5-9:2`, with `%N` behind it for how many tasks run at once.

use crate::grammar::index_set::IndexSet;
use crate::job::ArrayRequest;

/// Text that is no array of tasks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no array of tasks: expected such as 0-9, 1,3,5-9:2 or 0-99%4")]
pub struct InvalidArray(pub String);

/// Reads it. Empty text is no array; a throttle of nothing or 0 is none.
pub fn parse(text: &str) -> Result<Option<ArrayRequest>, InvalidArray> {
    let invalid = || InvalidArray(text.to_string());
    if text.is_empty() {
        return Ok(None);
    }
    let (tasks, throttle) = text.split_once('%').unwrap_or((text, ""));
    let tasks: IndexSet = tasks.parse().map_err(|_| invalid())?;
    let running_max = match throttle {
        "" => 0,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().map_err(|_| invalid())?
        }
        _ => return Err(invalid()),
    };
    if tasks.is_empty() {
        return Err(invalid());
    }
    Ok(Some(ArrayRequest { tasks, running_max: Some(running_max).filter(|&most| most > 0) }))
}

/// As squeue shows tasks: `0-9%2`, `1,3,5-7`, `0-20:4`.
pub fn format(array: &ArrayRequest) -> String {
    let tasks = array.tasks.step_notation();
    match array.running_max {
        Some(most) => format!("{tasks}%{most}"),
        None => tasks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_read_as_slurm_reads_them() {
        for (text, shown) in [
            ("0-9", "0-9"),
            ("0-9%2", "0-9%2"),
            ("1,3,5-9:2,20", "1,3,5,7,9,20"),
            ("0-20:4%3", "0-20:4%3"),
            ("0-9:3", "0-9:3"),
            ("0-10:3", "0-9:3"),
            ("1-3:2", "1,3"),
            ("1,1", "1"),
            ("3,2,1", "1-3"),
            ("0-9%", "0-9"),
            ("1-3%0", "1-3"),
            ("0-0", "0"),
        ] {
            let read = parse(text).map(|array| array.map(|array| format(&array)));
            assert_eq!(read, Ok(Some(shown.to_string())), "{text}");
        }
        assert_eq!(parse(""), Ok(None));
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "5-1",
            "a",
            "-3",
            "%5",
            "1%x",
            "1%2%3",
            "1%-1",
            "1,",
            ",1",
            "1-",
            "1:2",
            "1-9:0",
            "1--2",
            " 1",
            "1 2",
            "[1-3]",
            "4294967296",
            "1%4294967296",
        ] {
            assert_eq!(parse(text), Err(InvalidArray(text.to_string())));
        }
    }
}
