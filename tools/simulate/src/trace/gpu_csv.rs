//! GPU jobs as CSV: `job_id,user,account,submit,start,end,run,gpus,gpu_type,nodes,cpus,mem_mib,time_limit,state`.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::{JOBS_MAX, Trace, TraceError, TraceJob, Unit};
use crate::rows::{Row, Rows};

/// All columns; others are refused.
const KNOWN: [&str; 14] = [
    "job_id",
    "user",
    "account",
    "submit",
    "start",
    "end",
    "run",
    "gpus",
    "gpu_type",
    "nodes",
    "cpus",
    "mem_mib",
    "time_limit",
    "state",
];

/// Jobs of whole GPUs that ran; others are left out and counted. Without a time limit the estimate is the run time.
pub(super) fn read(name: &str, text: Box<dyn BufRead>) -> Result<Trace, TraceError> {
    let mut trace = Trace { jobs: Vec::new(), unit: Unit::Gpu, processors: None, dropped: BTreeMap::new() };
    let rows = Rows::of(name.to_string(), text)?;
    rows.only(&KNOWN)?;
    let [id, submit, run, gpus, limit, state] =
        rows.columns(["job_id", "submit", "run", "gpus", "time_limit", "state"])?;
    let (user, account) = (rows.column("user"), rows.column("account"));
    let (gpu_type, nodes) = (rows.column("gpu_type"), rows.column("nodes"));
    let (cpus, memory) = (rows.column("cpus"), rows.column("mem_mib"));
    rows.each(JOBS_MAX, |row| {
        let (Some(submit), Some(run)) = (decimal(row, Some(submit))?, decimal(row, Some(run))?) else {
            trace.drop_job("no submission or no run time");
            return Ok(());
        };
        let gpus = decimal(row, Some(gpus))?.unwrap_or(0.0);
        if row.text(Some(state)) == "PENDING" {
            trace.drop_job("it never ran");
        } else if gpus == 0.0 {
            trace.drop_job("no GPU");
        } else if gpus.fract() != 0.0 {
            trace.drop_job("a part of a GPU");
        } else {
            let run = run as u64;
            let limit = decimal(row, Some(limit))?.map_or(run, |limit| limit as u64);
            trace.jobs.push(TraceJob {
                id: row.text(Some(id)).to_string(),
                submit: submit as u64,
                run,
                estimate: if limit > 0 { limit.max(run) } else { run },
                processors: whole_u32(gpus),
                cpus: decimal(row, cpus)?.map_or(0, |cpus| whole_u32(cpus.ceil())),
                memory: decimal(row, memory)?.map_or(0, |memory| memory.ceil() as u64),
                nodes: decimal(row, nodes)?.map(whole_u32).filter(|nodes| *nodes > 0),
                gpu_type: types(row, gpu_type)?,
                user: row.text(user).to_string(),
                program: row.text(account).to_string(),
            });
        }
        Ok(())
    })?;
    Ok(trace)
}

fn decimal(row: &Row<'_>, column: Option<usize>) -> Result<Option<f64>, TraceError> {
    let Some(column) = column else { return Ok(None) };
    match row.text(Some(column)) {
        "" => Ok(None),
        word => match word.parse::<f64>() {
            Ok(number) if number.is_finite() && (0.0..9e15).contains(&number) => Ok(Some(number)),
            _ => {
                let title = row.title(column);
                Err(row.fault(format!("{title} is \"{word}\", which is no number from 0")))
            }
        },
    }
}

fn whole_u32(number: f64) -> u32 {
    number.min(f64::from(u32::MAX)) as u32
}

/// Types joined by `|`, sorted; empty: any.
fn types(row: &Row<'_>, column: Option<usize>) -> Result<String, TraceError> {
    let text = row.text(column);
    if text.is_empty() {
        return Ok(String::new());
    }
    let mut types: Vec<&str> = text.split('|').map(str::trim).collect();
    if types.contains(&"") {
        return Err(row.fault(format!("gpu_type is \"{text}\", in which a type between two | is missing")));
    }
    types.sort_unstable();
    types.dedup();
    Ok(types.join("|"))
}
