//! `--dependency`: `afterok:12:13,after:14+5`, `afterok:12?afterany:13`, `singleton`.

use daybook_schemas::JobId;
use daybook_schemas::job::{Dependencies, Dependency, DependencyKind};

/// Slurm's sentences for what cannot be read and what does not exist here.
pub const PROBLEM: &str = "Job dependency problem";
pub const NOT_SUPPORTED: &str = "Requested operation not supported on this system";

/// The most conditions of one job.
const CONDITIONS_MAX: usize = 1_000;

/// Reads the conditions; empty text is none.
pub fn parse(text: &str) -> Result<Dependencies, &'static str> {
    let any = text.contains('?');
    if any && text.contains(',') {
        return Err(PROBLEM);
    }
    let mut conditions = Vec::new();
    for part in text.split(if any { '?' } else { ',' }).filter(|_| !text.is_empty()) {
        read_part(part, &mut conditions)?;
        if conditions.len() > CONDITIONS_MAX {
            return Err(PROBLEM);
        }
    }
    Ok(Dependencies { conditions, any })
}

/// One `KIND:JOB:JOB`.
fn read_part(part: &str, into: &mut Vec<Dependency>) -> Result<(), &'static str> {
    let mut words = part.split(':');
    let kind = match words.next().unwrap_or_default().to_ascii_lowercase().as_str() {
        "after" => DependencyKind::After,
        "afterany" => DependencyKind::AfterAny,
        "afterok" => DependencyKind::AfterOk,
        "afternotok" => DependencyKind::AfterNotOk,
        "aftercorr" => DependencyKind::AfterCorr,
        "singleton" => {
            into.push(Dependency {
                kind: DependencyKind::Singleton,
                job: None,
                task: None,
                delay_minutes: 0,
            });
            return if words.next().is_none() { Ok(()) } else { Err(PROBLEM) };
        }
        "expand" | "afterburstbuffer" => return Err(NOT_SUPPORTED),
        _ => return Err(PROBLEM),
    };
    let before = into.len();
    for word in words {
        let (id, delay) = match word.split_once('+') {
            Some((id, delay)) if kind == DependencyKind::After => (id, number(delay)?),
            Some(_) => return Err(PROBLEM),
            None => (word, 0),
        };
        let (job, task) = match id.split_once('_') {
            Some((job, "*")) => (job, None),
            Some((job, task)) => (job, Some(number(task)?)),
            None => (id, None),
        };
        let job = Some(JobId(number(job)?));
        into.push(Dependency { kind, job, task, delay_minutes: delay });
    }
    if into.len() > before { Ok(()) } else { Err(PROBLEM) }
}

fn number(text: &str) -> Result<u32, &'static str> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().map_err(|_| PROBLEM) } else { Err(PROBLEM) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match parse(text) {
            Err(error) => error.to_string(),
            Ok(read) => {
                let parts: Vec<String> = read
                    .conditions
                    .iter()
                    .map(|one| {
                        let job = one.job.map_or(String::new(), |job| format!(" {job}"));
                        let task = one.task.map_or(String::new(), |task| format!("_{task}"));
                        format!("{:?}{job}{task}+{}", one.kind, one.delay_minutes)
                    })
                    .collect();
                parts.join(if read.any { " or " } else { " and " })
            }
        }
    }

    #[test]
    fn conditions_are_read_in_order() {
        for (text, conditions) in [
            ("afterok:24", "AfterOk 24+0"),
            ("afterany:24:25", "AfterAny 24+0 and AfterAny 25+0"),
            ("afterok:1,afternotok:2", "AfterOk 1+0 and AfterNotOk 2+0"),
            ("afterok:24?afterok:25", "AfterOk 24+0 or AfterOk 25+0"),
            ("after:24+1", "After 24+1"),
            ("aftercorr:26", "AfterCorr 26+0"),
            ("afterok:26_3", "AfterOk 26_3+0"),
            ("singleton", "Singleton+0"),
            ("", ""),
        ] {
            assert_eq!(shown(text), conditions, "{text}");
        }
    }

    #[test]
    fn mistakes_are_a_dependency_problem() {
        for text in [
            "bad",
            "foo:1",
            "afterok",
            "afterok:",
            "afterok:abc",
            "afterok:1+5",
            "afterok:1,after:2?after:3",
            ",",
        ] {
            assert_eq!(shown(text), PROBLEM, "{text}");
        }
        assert_eq!(shown("expand:24"), NOT_SUPPORTED);
    }
}
