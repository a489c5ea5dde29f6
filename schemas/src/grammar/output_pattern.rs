//! File name patterns of `--output`, `--error` and `--input`: `slurm-%j.out`, `out/%x_%A_%3a.txt`.

use crate::units::JobId;

/// What a batch job's patterns are replaced by.
#[derive(Clone, Copy, Debug)]
pub struct PatternValues<'a> {
    /// `%j` and `%J`: the job's (or started task's) own id.
    pub job: JobId,
    /// `%A`: the array's id, or the job's.
    pub array_job: JobId,
    /// `%a`, and `%b` for its last digit; absent: no started task of an array.
    pub array_task: Option<u32>,
    /// `%N`: the short name of the host that runs the script.
    pub node: &'a str,
    /// `%u`.
    pub user: &'a str,
    /// `%x`: the job's name.
    pub name: &'a str,
}

/// What `%a` gives where there is no task: Slurm's "no value".
const NO_TASK: u32 = u32::MAX - 1;
/// The widest that a number is padded to, as in Slurm.
const WIDTH_MAX: usize = 10;

/// Replaces the patterns of a batch job's file name.
///
/// A width in front of a number's letter (`%5j`) pads it with zeros, to ten digits at most. `%n` and `%t` are 0, `%s` is
/// `batch`, `%%` is `%`. What is not known stays as it is. A backslash anywhere turns replacing off and is taken out
/// (two of them leave one).
pub fn expand(pattern: &str, values: &PatternValues<'_>) -> String {
    if pattern.contains('\\') {
        return without_backslashes(pattern);
    }
    let mut text = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    while let Some((before, behind)) = rest.split_once('%') {
        text.push_str(before);
        let letter_at = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        let (digits, from_letter) = behind.split_at(letter_at);
        let letter = from_letter.chars().next();
        match letter.and_then(|letter| replacement(letter, digits, values)) {
            Some(replaced) => {
                text.push_str(&replaced);
                rest = &from_letter[1..];
            }
            None => {
                text.push('%');
                rest = behind;
            }
        }
    }
    text.push_str(rest);
    text
}

/// What a letter stands for, or `None`. All known letters are one byte long.
fn replacement(letter: char, digits: &str, values: &PatternValues<'_>) -> Option<String> {
    let width = digits.parse().unwrap_or(if digits.is_empty() { 0 } else { WIDTH_MAX }).min(WIDTH_MAX);
    let number = |number: u32| Some(format!("{number:0width$}"));
    let task = values.array_task.unwrap_or(NO_TASK);
    match letter {
        'j' | 'J' => number(values.job.0),
        'A' => number(values.array_job.0),
        'a' => number(task),
        'b' => number(task % 10),
        'n' | 't' => number(0),
        'N' => Some(values.node.to_string()),
        's' => Some("batch".to_string()),
        'u' => Some(values.user.to_string()),
        'x' => Some(values.name.to_string()),
        '%' if digits.is_empty() => Some("%".to_string()),
        _ => None,
    }
}

fn without_backslashes(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.extend(characters.next()),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(array_task: Option<u32>) -> PatternValues<'static> {
        PatternValues {
            job: JobId(21),
            array_job: JobId(20),
            array_task,
            node: "vm",
            user: "alice",
            name: "my job",
        }
    }

    #[test]
    fn patterns_are_replaced_as_recorded() {
        for (pattern, name) in [
            ("slurm-%j.out", "slurm-21.out"),
            ("slurm-%A_%a.out", "slurm-20_0.out"),
            (
                "a_%A_%a_%j_%x_%N_%u_%%_%3a_%t_%n_%s_%J.out",
                "a_20_0_21_my job_vm_alice_%_000_0_0_batch_21.out",
            ),
            ("o_%5j_%j.txt", "o_00021_21.txt"),
            ("%99j", "0000000021"),
            ("%99999999999999999999j", "0000000021"),
            ("%0j", "21"),
            ("%1j", "21"),
            ("%5x|%4s", "my job|batch"),
            ("%U_%5U_%", "%U_%5U_%"),
            ("%5", "%5"),
            ("%%j", "%j"),
            ("%5%j", "%521"),
            ("100%é%j", "100%é21"),
            ("/tmp/ab\\%j", "/tmp/ab%j"),
            ("a\\\\b%j", "a\\b%j"),
            ("ab\\", "ab"),
            ("", ""),
        ] {
            assert_eq!(expand(pattern, &task(Some(0))), name, "{pattern}");
        }
    }

    #[test]
    fn a_job_without_a_task_has_slurms_no_value() {
        assert_eq!(expand("x_%A_%a_%b", &task(None)), "x_20_4294967294_4");
        assert_eq!(expand("%a %b", &task(Some(1234))), "1234 4");
    }

    #[test]
    fn what_is_put_in_is_not_replaced_again() {
        let values = PatternValues { name: "%j", user: "\\", ..task(None) };
        assert_eq!(expand("%x%u", &values), "%j\\");
    }
}
