//! GPU jobs as CSV: `job_id,user,account,submit,start,end,run,gpus,gpu_type,nodes,cpus,mem_mib,time_limit,state`.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::{JOBS_MAX, Trace, TraceError, TraceJob, Unit};

/// Jobs of whole GPUs that ran; others are left out and counted. Without a time limit the estimate is the run time.
pub(super) fn read(name: &str, text: Box<dyn BufRead>) -> Result<Trace, TraceError> {
    let mut trace = Trace { jobs: Vec::new(), unit: Unit::Gpu, processors: None, dropped: BTreeMap::new() };
    let mut rows = csv::ReaderBuilder::new().from_reader(text);
    let header = rows.headers().map_err(|error| fault(name, &error))?.clone();
    let column = |wanted: &str| header.iter().position(|title| title == wanted);
    let needed = |wanted: &str| {
        let what = || format!("there is no column \"{wanted}\" in its first line");
        column(wanted).ok_or_else(|| TraceError::Content { path: name.to_string(), what: what() })
    };
    let (id, submit, run, gpus) = (needed("job_id")?, needed("submit")?, needed("run")?, needed("gpus")?);
    let (limit, state) = (needed("time_limit")?, needed("state")?);
    let (user, account) = (column("user"), column("account"));
    let (gpu_type, nodes, cpus, memory) =
        (column("gpu_type"), column("nodes"), column("cpus"), column("mem_mib"));
    for row in rows.records() {
        let row = row.map_err(|error| fault(name, &error))?;
        let line = row.position().map_or(0, csv::Position::line);
        let text = |column: Option<usize>| column.and_then(|column| row.get(column)).unwrap_or("");
        let number = |column: Option<usize>| -> Result<Option<f64>, TraceError> {
            match text(column) {
                "" => Ok(None),
                word => match word.parse::<f64>() {
                    Ok(number) if number.is_finite() && (0.0..9e15).contains(&number) => Ok(Some(number)),
                    _ => {
                        let title = column.and_then(|column| header.get(column)).unwrap_or("");
                        let what = format!("{title} is \"{word}\", which is no number from 0");
                        Err(TraceError::Line { path: name.to_string(), line, what })
                    }
                },
            }
        };
        let (Some(submit), Some(run)) = (number(Some(submit))?, number(Some(run))?) else {
            trace.drop_job("no submission or no run time");
            continue;
        };
        let gpus = number(Some(gpus))?.unwrap_or(0.0);
        if text(Some(state)) == "PENDING" {
            trace.drop_job("it never ran");
        } else if gpus == 0.0 {
            trace.drop_job("no GPU");
        } else if gpus.fract() != 0.0 {
            trace.drop_job("a part of a GPU");
        } else {
            let run = run as u64;
            let limit = number(Some(limit))?.map_or(run, |limit| limit as u64);
            trace.jobs.push(TraceJob {
                id: text(Some(id)).to_string(),
                submit: submit as u64,
                run,
                estimate: if limit > 0 { limit.max(run) } else { run },
                processors: gpus.min(f64::from(u32::MAX)) as u32,
                cpus: number(cpus)?.map_or(0, |cpus| cpus.ceil().min(f64::from(u32::MAX)) as u32),
                memory: number(memory)?.map_or(0, |memory| memory.ceil() as u64),
                nodes: number(nodes)?
                    .map(|nodes| nodes.min(f64::from(u32::MAX)) as u32)
                    .filter(|nodes| *nodes > 0),
                gpu_type: text(gpu_type).to_string(),
                user: text(user).to_string(),
                program: text(account).to_string(),
            });
        }
        if trace.jobs.len() > JOBS_MAX {
            let what = format!("there are more than {JOBS_MAX} jobs");
            return Err(TraceError::Content { path: name.to_string(), what });
        }
    }
    Ok(trace)
}

fn fault(name: &str, error: &csv::Error) -> TraceError {
    TraceError::Content { path: name.to_string(), what: error.to_string() }
}
