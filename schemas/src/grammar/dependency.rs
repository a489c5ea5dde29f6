//! `--dependency`: `afterok:12:13_4,after:14+5`, `afterok:12?afterany:13`, `singleton`.

use crate::job::{Dependencies, Dependency, DependencyKind};
use crate::units::JobId;

/// Text that says no dependencies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDependency {
    /// It cannot be read.
    #[error(
        "\"{0}\" is no dependency: expected such as afterok:12:13, after:12+5 or singleton, joined all by , or all by ?"
    )]
    Unreadable(String),
    /// Slurm has it, Daybook does not.
    #[error("dependency \"{0}\" is not supported")]
    NotSupported(String),
    /// More than [`CONDITIONS_MAX`].
    #[error("more than {CONDITIONS_MAX} conditions")]
    TooMany,
}

/// The most conditions of one job.
pub const CONDITIONS_MAX: usize = 1_000;

/// Reads the conditions; empty text is none.
pub fn parse(text: &str) -> Result<Dependencies, InvalidDependency> {
    let any = text.contains('?');
    if any && text.contains(',') {
        return Err(InvalidDependency::Unreadable(text.to_string()));
    }
    let mut conditions = Vec::new();
    for part in text.split(if any { '?' } else { ',' }).filter(|_| !text.is_empty()) {
        read_part(part, &mut conditions)?;
        if conditions.len() > CONDITIONS_MAX {
            return Err(InvalidDependency::TooMany);
        }
    }
    Ok(Dependencies { conditions, any })
}

/// One `KIND:JOB:JOB`, or a condition without a job.
fn read_part(part: &str, into: &mut Vec<Dependency>) -> Result<(), InvalidDependency> {
    let unreadable = || InvalidDependency::Unreadable(part.to_string());
    let mut words = part.split(':');
    let kind_word = words.next().unwrap_or_default().to_ascii_lowercase();
    if matches!(kind_word.as_str(), "expand" | "afterburstbuffer") {
        return Err(InvalidDependency::NotSupported(kind_word));
    }
    let kind = KINDS.into_iter().find(|kind| word(*kind) == kind_word).ok_or_else(unreadable)?;
    if kind == DependencyKind::Singleton {
        into.push(Dependency { kind, job: None, task: None, delay_minutes: 0 });
        return if words.next().is_none() { Ok(()) } else { Err(unreadable()) };
    }
    let before = into.len();
    for word in words {
        into.push(read_job(kind, word).ok_or_else(unreadable)?);
    }
    if into.len() > before { Ok(()) } else { Err(unreadable()) }
}

/// `12`, `12_3`, `12_*`, and behind `after` also `12+5`.
fn read_job(kind: DependencyKind, text: &str) -> Option<Dependency> {
    let (id, delay_minutes) = match text.split_once('+') {
        Some((id, delay)) if kind == DependencyKind::After => (id, number(delay)?),
        Some(_) => return None,
        None => (text, 0),
    };
    let (job, task) = match id.split_once('_') {
        Some((job, "*")) => (job, None),
        Some((job, task)) => (job, Some(number(task)?)),
        None => (id, None),
    };
    let job = number(job).filter(|&job| job > 0).map(JobId)?;
    Some(Dependency { kind, job: Some(job), task, delay_minutes })
}

fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

const KINDS: [DependencyKind; 6] = [
    DependencyKind::After,
    DependencyKind::AfterAny,
    DependencyKind::AfterOk,
    DependencyKind::AfterNotOk,
    DependencyKind::AfterCorr,
    DependencyKind::Singleton,
];

/// Slurm's word, such as `afterok`.
pub fn word(kind: DependencyKind) -> &'static str {
    match kind {
        DependencyKind::After => "after",
        DependencyKind::AfterAny => "afterany",
        DependencyKind::AfterOk => "afterok",
        DependencyKind::AfterNotOk => "afternotok",
        DependencyKind::AfterCorr => "aftercorr",
        DependencyKind::Singleton => "singleton",
    }
}

/// What squeue says of a condition that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependencyStatus {
    /// It may hold later.
    Unfulfilled,
    /// It never will.
    Failed,
}

/// One condition as squeue and scontrol show it: `afterok:24(unfulfilled)`, `aftercorr:26_*(failed)`,
/// `after:24+1(unfulfilled)`. `whole_array`: the other job is an array, meant as a whole.
pub fn format_condition(condition: &Dependency, whole_array: bool, status: DependencyStatus) -> String {
    let status = match status {
        DependencyStatus::Unfulfilled => "unfulfilled",
        DependencyStatus::Failed => "failed",
    };
    format!("{}({status})", notation(condition, whole_array))
}

/// The conditions as they are typed.
pub fn format(dependencies: &Dependencies) -> String {
    let parts: Vec<String> =
        dependencies.conditions.iter().map(|condition| notation(condition, false)).collect();
    parts.join(separator(dependencies))
}

/// What stands between the conditions.
pub fn separator(dependencies: &Dependencies) -> &'static str {
    if dependencies.any { "?" } else { "," }
}

fn notation(condition: &Dependency, whole_array: bool) -> String {
    let mut text = word(condition.kind).to_string();
    if let Some(job) = condition.job {
        text.push_str(&format!(":{job}"));
        match condition.task {
            Some(task) => text.push_str(&format!("_{task}")),
            None if whole_array => text.push_str("_*"),
            None => {}
        }
    }
    if condition.delay_minutes > 0 {
        text.push_str(&format!("+{}", condition.delay_minutes));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_in_order_and_shown_one_by_one() {
        for (text, shown) in [
            ("afterok:24", "afterok:24"),
            ("AfterOK:24", "afterok:24"),
            ("afterany:24:25", "afterany:24,afterany:25"),
            ("afterok:1,afternotok:2", "afterok:1,afternotok:2"),
            ("afterok:24?afterok:25", "afterok:24?afterok:25"),
            ("afterok:24:25?singleton", "afterok:24?afterok:25?singleton"),
            ("after:24+1", "after:24+1"),
            ("after:1+5,afterok:2:3_4", "after:1+5,afterok:2,afterok:3_4"),
            ("after:24+0", "after:24"),
            ("aftercorr:26", "aftercorr:26"),
            ("aftercorr:26_*", "aftercorr:26"),
            ("afterok:26_3", "afterok:26_3"),
            ("singleton", "singleton"),
            ("", ""),
        ] {
            let read = parse(text);
            assert_eq!(read.as_ref().map(format), Ok(shown.to_string()), "{text}");
            assert_eq!(parse(shown), read, "{shown}");
        }
    }

    #[test]
    fn mistakes_are_unreadable() {
        for text in [
            "bad",
            "foo:1",
            "afterok",
            "afterok:",
            "afterok:abc",
            "afterok:0",
            "afterok:1+5",
            "afterok:1_",
            "afterok:-1",
            "after:1+",
            "after:1+x",
            "after:+5",
            "singleton:1",
            ",",
            "afterok:1,",
            "afterok:1:",
            "?",
            "afterok 1",
            "afterok:1,after:2?after:3",
        ] {
            assert!(matches!(parse(text), Err(InvalidDependency::Unreadable(_))), "{text}");
        }
    }

    #[test]
    fn what_slurm_has_and_daybook_has_not_is_named() {
        assert_eq!(parse("expand:24"), Err(InvalidDependency::NotSupported("expand".to_string())));
    }

    #[test]
    fn conditions_are_bounded() {
        let many = |count: usize| format!("afterok{}", ":1".repeat(count));
        assert_eq!(parse(&many(CONDITIONS_MAX)).map(|read| read.conditions.len()), Ok(CONDITIONS_MAX));
        assert_eq!(parse(&many(CONDITIONS_MAX + 1)), Err(InvalidDependency::TooMany));
    }

    #[test]
    fn open_conditions_are_shown_as_recorded() {
        use DependencyStatus::{Failed, Unfulfilled};
        for (text, whole_array, status, shown) in [
            ("afterok:24", false, Unfulfilled, "afterok:24(unfulfilled)"),
            ("afterok:25", false, Failed, "afterok:25(failed)"),
            ("after:24+1", false, Unfulfilled, "after:24+1(unfulfilled)"),
            ("aftercorr:26", true, Failed, "aftercorr:26_*(failed)"),
            ("afterok:26_3", true, Unfulfilled, "afterok:26_3(unfulfilled)"),
            ("singleton", false, Unfulfilled, "singleton(unfulfilled)"),
        ] {
            let read = parse(text).unwrap();
            assert_eq!(format_condition(&read.conditions[0], whole_array, status), shown);
        }
    }
}
