//! The Standard Workload Format: 18 columns of numbers, comments behind `;`.
//! <https://www.cs.huji.ac.il/labs/parallel/workload/swf.html>

use std::collections::BTreeMap;
use std::io::BufRead;

use super::{JOBS_MAX, Trace, TraceError, TraceJob, Unit, next_line};

/// Columns, from 0.
const ID: usize = 0;
const SUBMIT: usize = 1;
const RUN: usize = 3;
const ALLOCATED: usize = 4;
const REQUESTED: usize = 7;
const ESTIMATE: usize = 8;
const USER: usize = 11;
const PROGRAM: usize = 13;
/// Columns that have to be there.
const COLUMNS_MIN: usize = ESTIMATE + 1;

/// Processors are those requested, else those allocated; a missing estimate is the run time, and a run beyond its
/// estimate extends it. Jobs without a run time, a submission or processors are left out, and so are those that want
/// more processors than the header says that there are.
pub(super) fn read(name: &str, mut text: Box<dyn BufRead>) -> Result<Trace, TraceError> {
    let mut trace =
        Trace { jobs: Vec::new(), unit: Unit::Processor, processors: None, dropped: BTreeMap::new() };
    let (mut max_procs, mut max_nodes) = (None, None);
    let mut line = Vec::new();
    let mut number = 0;
    while next_line(name, text.as_mut(), number + 1, &mut line)? {
        number += 1;
        let words = String::from_utf8_lossy(&line);
        let words = words.trim();
        if words.is_empty() {
            continue;
        }
        if let Some(comment) = words.strip_prefix(';') {
            if let Some((key, value)) = comment.trim_start_matches([';', ' ']).split_once(':') {
                match key.trim() {
                    "MaxProcs" => max_procs = max_procs.or(value.trim().parse::<u32>().ok()),
                    "MaxNodes" => max_nodes = max_nodes.or(value.trim().parse::<u32>().ok()),
                    _ => {}
                }
            }
            continue;
        }
        let fault = |what: String| TraceError::Line { path: name.to_string(), line: number, what };
        match job(words) {
            Ok(job) => trace.jobs.push(job),
            Err(Left::Out(why)) => trace.drop_job(why),
            Err(Left::Wrong(what)) => return Err(fault(what)),
        }
        if trace.jobs.len() > JOBS_MAX {
            return Err(fault(format!("there are more than {JOBS_MAX} jobs")));
        }
    }
    trace.processors = max_procs.filter(|count| *count > 0).or(max_nodes).filter(|count| *count > 0);
    Ok(trace)
}

enum Left {
    Out(&'static str),
    Wrong(String),
}

fn job(words: &str) -> Result<TraceJob, Left> {
    let columns: Vec<&str> = words.split_ascii_whitespace().collect();
    if columns.len() < COLUMNS_MIN {
        let what = format!("{} columns, at least {COLUMNS_MIN} are needed (SWF has 18)", columns.len());
        return Err(Left::Wrong(what));
    }
    let number = |column: usize| whole(columns[column]).ok_or_else(|| not_a_number(&columns, column));
    let (submit, run, estimate) = (number(SUBMIT)?, number(RUN)?, number(ESTIMATE)?);
    let (allocated, requested) = (number(ALLOCATED)?, number(REQUESTED)?);
    let processors = if requested > 0 { requested } else { allocated };
    if run < 0 {
        return Err(Left::Out("no run time"));
    } else if processors <= 0 {
        return Err(Left::Out("no processors"));
    } else if submit < 0 {
        return Err(Left::Out("no submission"));
    }
    let (run, submit) = (run as u64, submit as u64);
    let estimate = u64::try_from(estimate).ok().filter(|estimate| *estimate > 0).unwrap_or(run).max(run);
    let text = |column: usize| {
        let text = columns.get(column).copied().unwrap_or("-1");
        if text == "-1" { String::new() } else { text.to_string() }
    };
    Ok(TraceJob {
        id: columns[ID].to_string(),
        submit,
        run,
        estimate,
        processors: u32::try_from(processors).unwrap_or(u32::MAX),
        cpus: 0,
        memory: 0,
        nodes: None,
        gpu_type: String::new(),
        user: text(USER),
        program: text(PROGRAM),
    })
}

fn not_a_number(columns: &[&str], column: usize) -> Left {
    Left::Wrong(format!("column {} is \"{}\", which is no number", column + 1, columns[column]))
}

/// A whole number; where there are decimals they are cut off.
fn whole(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let number: f64 = text.parse().ok()?;
    (number.is_finite() && number.abs() < 9e15).then_some(number as i64)
}
