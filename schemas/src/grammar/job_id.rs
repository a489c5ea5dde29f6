//! Job ids as people type and read them: `12`, `12_3`, `12_[1-5,7]`, `12.batch`, `12_3.0`.

use std::fmt;

use crate::api::JobSelector;
use crate::events::ArrayTaskId;
use crate::grammar::index_set::IndexSet;
use crate::job::ArrayRequest;
use crate::units::JobId;

/// Text that is no job id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no job id: expected such as 12, 12_3, 12_[1-5] or 12.batch")]
pub struct InvalidJobIdText(pub String);

/// A step's name behind the dot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepName {
    /// The batch script: `12.batch`.
    Batch,
    /// What runs outside of steps: `12.extern`.
    Extern,
    /// An `srun` of the job, from 0: `12.0`.
    Number(u32),
}

/// A job, array or task, and perhaps one step of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobStepSelector {
    /// The job.
    pub job: JobSelector,
    /// Only this step; absent: all of the job.
    pub step: Option<StepName>,
}

/// Reads a job id. The throttle of `12_[1-5%2]`, as squeue shows it, is left out.
pub fn parse_selector(text: &str) -> Result<JobSelector, InvalidJobIdText> {
    let invalid = || InvalidJobIdText(text.to_string());
    let (job, tasks) = match text.split_once('_') {
        Some((job, tasks)) => (job, Some(tasks)),
        None => (text, None),
    };
    let job = read_number(job).filter(|&job| job > 0).map(JobId).ok_or_else(invalid)?;
    let tasks = tasks.map(|tasks| read_tasks(tasks).ok_or_else(invalid)).transpose()?;
    Ok(JobSelector { job, tasks })
}

/// Reads a job id that may have a step behind it.
pub fn parse_step_selector(text: &str) -> Result<JobStepSelector, InvalidJobIdText> {
    let invalid = || InvalidJobIdText(text.to_string());
    let (job, step) = match text.split_once('.') {
        None => (text, None),
        Some((job, "batch")) => (job, Some(StepName::Batch)),
        Some((job, "extern")) => (job, Some(StepName::Extern)),
        Some((job, number)) => (job, Some(StepName::Number(read_number(number).ok_or_else(invalid)?))),
    };
    Ok(JobStepSelector { job: parse_selector(job).map_err(|_| invalid())?, step })
}

/// `3` or `[1-5,7%2]`.
fn read_tasks(text: &str) -> Option<IndexSet> {
    let Some(inside) = text.strip_prefix('[') else {
        return read_number(text).map(|task| IndexSet::range(task, task));
    };
    let inside = inside.strip_suffix(']')?;
    let tasks = match inside.split_once('%') {
        Some((tasks, throttle)) => read_number(throttle).map(|_| tasks)?,
        None => inside,
    };
    tasks.parse().ok().filter(|tasks: &IndexSet| !tasks.is_empty())
}

fn read_number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// The ids of a list, at the commas outside brackets: `1,2_[3,4]` is `1` and `2_[3,4]`.
pub fn split_list(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut inside) = (Vec::new(), 0, false);
    for (position, character) in text.char_indices() {
        match character {
            '[' => inside = true,
            ']' => inside = false,
            ',' if !inside => {
                parts.push(&text[start..position]);
                start = position + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// A job record's id as squeue and sacct show it: `10`, `10_3` for a task, `10_[2-9%2]` for an array's waiting tasks.
pub fn format_id(job: JobId, task: Option<ArrayTaskId>, waiting: Option<&ArrayRequest>) -> String {
    match (task, waiting) {
        (Some(task), _) => format!("{}_{}", task.array_job, task.task),
        (None, Some(waiting)) => format!("{job}_[{}]", super::array::format(waiting)),
        (None, None) => job.to_string(),
    }
}

/// As people name it.
impl fmt::Display for JobSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tasks {
            None => write!(f, "{}", self.job),
            Some(tasks) if tasks.len() == 1 => write!(f, "{}_{tasks}", self.job),
            Some(tasks) => write!(f, "{}_[{tasks}]", self.job),
        }
    }
}

impl fmt::Display for StepName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepName::Batch => f.write_str("batch"),
            StepName::Extern => f.write_str("extern"),
            StepName::Number(number) => write!(f, "{number}"),
        }
    }
}

impl fmt::Display for JobStepSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.step {
            None => write!(f, "{}", self.job),
            Some(step) => write!(f, "{}.{step}", self.job),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_shown_as_they_are_read() {
        for text in ["12", "12_3", "12_[1-5,7]", "4294967295_0"] {
            assert_eq!(parse_selector(text).map(|id| id.to_string()), Ok(text.to_string()));
        }
        for (text, shown) in [("12_[2-9%2]", "12_[2-9]"), ("12_[3]", "12_3"), ("012", "12")] {
            assert_eq!(parse_selector(text).map(|id| id.to_string()), Ok(shown.to_string()));
        }
        for text in ["12", "12_3", "12.batch", "12.extern", "12.0", "12_3.batch", "12_[1-2].4"] {
            assert_eq!(parse_step_selector(text).map(|id| id.to_string()), Ok(text.to_string()));
        }
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "abc",
            "0",
            "12_",
            "12_[",
            "12_[]",
            "12_[1",
            "12_1]",
            "12_a",
            "12_[a]",
            "12.0",
            "-1",
            "+1",
            "99999999999",
            "12_1-2",
            "12_[1%x]",
            "12_[%2]",
            "_3",
            "12_3_4",
            " 12",
        ] {
            assert!(parse_selector(text).is_err(), "{text}");
        }
        for text in ["12.", "12.x", "12.-1", "12.0.1", ".0", "0.batch", "12.Batch"] {
            assert_eq!(parse_step_selector(text), Err(InvalidJobIdText(text.to_string())));
        }
    }

    #[test]
    fn lists_are_split_outside_brackets() {
        assert_eq!(split_list("1,2_[3,4],5"), ["1", "2_[3,4]", "5"]);
        assert_eq!(split_list("1"), ["1"]);
        assert_eq!(split_list("1_[2,3"), ["1_[2,3"]);
    }

    #[test]
    fn records_have_their_display_ids() {
        let waiting = ArrayRequest { tasks: IndexSet::range(2, 9), running_max: Some(2) };
        let task = ArrayTaskId { array_job: JobId(10), task: 3 };
        assert_eq!(format_id(JobId(10), None, None), "10");
        assert_eq!(format_id(JobId(14), Some(task), None), "10_3");
        assert_eq!(format_id(JobId(10), None, Some(&waiting)), "10_[2-9%2]");
        let one = ArrayRequest { tasks: IndexSet::range(1, 1), running_max: None };
        assert_eq!(format_id(JobId(16), None, Some(&one)), "16_[1]");
    }
}
