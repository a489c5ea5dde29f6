//! `scontrol hold`, `uhold`, `release`, `requeue`, `requeuehold`, `suspend`, `resume`.

use daybook_schemas::api::{Changed, JobAction, JobColumn, JobFilter, JobQuery, JobSelector, JobTable};
use daybook_schemas::grammar::job_id;
use daybook_schemas::job::JobState;

use crate::client::{CallError, Client};
use crate::{people, say};

/// Puts jobs on hold; `as_owner`: as the owner would, though an administrator asks.
pub fn hold(word: &str, arguments: &[String], as_owner: bool) -> u8 {
    act(word, "/v1/jobs/hold", arguments, as_owner, true)
}

/// Releases held jobs.
pub fn release(word: &str, arguments: &[String]) -> u8 {
    act(word, "/v1/jobs/release", arguments, false, true)
}

/// Puts jobs back into the queue; `held`: and on hold.
pub fn requeue(word: &str, arguments: &[String], held: bool) -> u8 {
    let special = |argument: &&String| argument.to_ascii_lowercase().starts_with("state=");
    if let Some(argument) = arguments.iter().find(special) {
        say::error("scontrol", format!("{argument} is not supported by daybook yet"));
        return 1;
    }
    act(word, "/v1/jobs/requeue", arguments, held, false)
}

/// Puts jobs in front of their owner's others.
pub fn top(word: &str, arguments: &[String]) -> u8 {
    act(word, "/v1/jobs/top", arguments, false, false)
}

fn act(word: &str, path: &str, arguments: &[String], hold: bool, is_hold: bool) -> u8 {
    if arguments.is_empty() {
        say::line(format!("too few arguments for keyword:{word}"));
        return 1;
    }
    match jobs_and_act(path, arguments, hold, is_hold) {
        Ok(exit) => exit,
        Err(Failure::NoJobId(text)) => no_such_job(&text),
        Err(Failure::Call(error)) => {
            let prefix = if is_hold { "slurm_suspend error" } else { "slurm_requeue error" };
            super::report_call(prefix, &error)
        }
    }
}

/// Stops jobs, or lets them go on. Only ids are taken, not names.
pub fn suspend(word: &str, arguments: &[String], path: &str) -> u8 {
    if arguments.is_empty() {
        say::line(format!("too few arguments for keyword:{word}"));
        return 1;
    }
    let mut jobs: Vec<JobSelector> = Vec::new();
    let mut exit = 0;
    for argument in arguments {
        let ids = argument.split_once('=').map_or(argument.as_str(), |(key, ids)| {
            if ["jobid", "job"].contains(&key.to_ascii_lowercase().as_str()) { ids } else { argument }
        });
        for id in job_id::split_list(ids) {
            match job_id::parse_selector(id) {
                Ok(selector) => jobs.push(selector),
                Err(_) => exit = no_such_job(id),
            }
        }
    }
    if jobs.is_empty() {
        return exit;
    }
    let request = JobAction { request_id: uuid::Uuid::new_v4().to_string(), jobs, hold: false };
    let changed =
        Client::connect().map_err(CallError::from).and_then(|mut client| client.post(path, &request));
    let changed: Changed = match changed {
        Ok(changed) => changed,
        Err(error) => return super::report_call("slurm_suspend error", &error),
    };
    for outcome in changed.outcomes {
        let Some(error) = outcome.error else { continue };
        exit = 1;
        // Slurm's two forms: for jobs, and for tasks of arrays.
        match outcome.target.tasks {
            None => say::line(format!("{} for job {}", error.message, outcome.target)),
            Some(_) => say::line(format!("{}: {}", outcome.target, error.message)),
        }
        error.details.iter().for_each(|line| say::error("scontrol", line));
    }
    exit
}

/// Says that there is no such job.
pub fn no_such_job(text: &str) -> u8 {
    say::line(format!("Invalid job id specified for job {text}"));
    1
}

enum Failure {
    NoJobId(String),
    Call(CallError),
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Failure {
        Failure::Call(error)
    }
}

fn jobs_and_act(path: &str, arguments: &[String], hold: bool, is_hold: bool) -> Result<u8, Failure> {
    let mut by_id: Vec<JobSelector> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for argument in arguments {
        match name_of(argument) {
            Some(name) => names.push(name.to_string()),
            None => {
                for id in job_id::split_list(argument) {
                    by_id.push(job_id::parse_selector(id).map_err(|_| Failure::NoJobId(id.to_string()))?);
                }
            }
        }
    }
    let mut client = Client::connect().map_err(CallError::from)?;
    if !names.is_empty() {
        let found = jobs_of_names(&mut client, &names)?;
        if found.is_empty() {
            return Err(Failure::NoJobId(names.join(",")));
        }
        by_id.extend(found);
    }
    let request = JobAction { request_id: uuid::Uuid::new_v4().to_string(), jobs: by_id, hold };
    let changed: Changed = client.post(path, &request)?;
    let mut last = None;
    for outcome in changed.outcomes {
        if let Some(error) = outcome.error {
            say::line(format!("{} for job {}", error.message, outcome.target));
            last = Some(error);
        }
    }
    match last {
        None => Ok(0),
        Some(error) => {
            if is_hold {
                say::line(format!("slurm_suspend error: {}", error.message));
            }
            Ok(1)
        }
    }
}

/// The name of `name=NAME` and `jobname=NAME`.
fn name_of(argument: &str) -> Option<&str> {
    let (key, name) = argument.split_once('=')?;
    ["name", "jobname"].contains(&key.to_ascii_lowercase().as_str()).then_some(name)
}

/// The caller's jobs of these names that have not ended; of everybody where root asks.
pub fn jobs_of_names(client: &mut Client, names: &[String]) -> Result<Vec<JobSelector>, CallError> {
    let own = people::own_uid();
    let query = JobQuery {
        filter: JobFilter {
            names: names.to_vec(),
            uids: if own == 0 { Vec::new() } else { vec![own] },
            states: vec![JobState::Pending, JobState::Running, JobState::Suspended],
            ..JobFilter::default()
        },
        columns: vec![JobColumn::JobId],
        expand_arrays: false,
    };
    let table: JobTable = client.post("/v1/jobs/query", &query)?;
    let ids = table.rows.iter().filter_map(|row| row.first());
    Ok(ids.filter_map(|id| job_id::parse_selector(&id.to_string()).ok()).collect())
}
