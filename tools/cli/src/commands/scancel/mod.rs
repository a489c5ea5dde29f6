//! `scancel`: cancel or signal jobs.

mod table;

use std::io::BufRead as _;

use daybook_schemas::api::{
    ApiError, CancelRequest, Changed, ErrorCode, JobColumn, JobFilter, JobQuery, JobSelector, JobTable,
};
use daybook_schemas::grammar::{hostlist, job_id, signal};
use daybook_schemas::job::JobState;

use super::Command;
use crate::client::{CallError, Client, Unreachable};
use crate::options::{self, Given, Order};
use crate::{people, say};

pub const COMMAND: Command = Command {
    name: "scancel",
    summary: "Cancel jobs, or send them a signal.",
    usage: "scancel [OPTION]... [JOB_ID | JOB_ID_TASK | JOB_ID_[TASKS]]...",
    options: table::OPTIONS,
    order: Order::Permute,
    exit_bad_option: 1,
    run,
};

/// Exit statuses as Slurm's: the error's number, cut to a byte.
const EXIT_UNREACHABLE: u8 = 8;
const EXIT_PERMISSION_DENIED: u8 = 210;
const EXIT_OTHER: u8 = 1;
const SIGKILL: i32 = 9;

/// What is to be done to which jobs.
#[derive(Debug, Default)]
struct Wish {
    filter: JobFilter,
    signal: Option<i32>,
    /// Also, or only, the batch script.
    batch: bool,
    ask: bool,
    quiet: bool,
    verbose: bool,
}

impl Wish {
    /// Jobs that are named and nothing else: each of them is answered for.
    fn names_jobs_only(&self) -> bool {
        JobFilter { jobs: Vec::new(), ..self.filter.clone() } == JobFilter::default() && !self.ask
    }

    fn request(&self, filter: JobFilter) -> CancelRequest {
        // As in Slurm, KILL and nothing else is a cancellation.
        let signal = self.signal.filter(|&signal| signal != SIGKILL || self.batch);
        CancelRequest { request_id: uuid::Uuid::new_v4().to_string(), filter, signal, batch: self.batch }
    }

    fn announce(&self, target: &str) {
        if self.verbose {
            match self.signal.filter(|&signal| signal != SIGKILL) {
                Some(signal) => say::line(format!("scancel: Signal {signal} to job {target}")),
                None => say::line(format!("scancel: Terminating job {target}")),
            }
        }
    }
}

fn run(arguments: &[String]) -> u8 {
    let line = match COMMAND.read(arguments) {
        Ok(line) => line,
        Err(exit) => return exit,
    };
    let variables =
        options::from_environment(table::OPTIONS, table::VARIABLES, |name| std::env::var(name).ok());
    let variables = match variables {
        Ok(given) => given,
        Err(error) => return error.report(COMMAND.name, COMMAND.exit_bad_option),
    };
    let wish = match read_wish(variables.iter().chain(&line.options), &line.operands) {
        Ok(wish) => wish,
        Err(lines) => {
            lines.iter().for_each(say::line);
            return 1;
        }
    };
    if wish.filter == JobFilter::default() {
        say::error("scancel", "No job identification provided");
        return 1;
    }
    let mut client = match Client::connect() {
        Ok(client) => client,
        Err(unreachable) => return report_unreachable(&wish, unreachable),
    };
    if wish.ask { cancel_asking(&mut client, &wish) } else { cancel(&mut client, &wish, wish.filter.clone()) }
}

/// Reads options and job ids; the error is the lines to print.
fn read_wish<'a>(given: impl Iterator<Item = &'a Given>, operands: &[String]) -> Result<Wish, Vec<String>> {
    let error = |text: String| vec![format!("scancel: error: {text}")];
    let mut wish = Wish::default();
    for given in given {
        let value = given.text().to_string();
        let filter = &mut wish.filter;
        match given.option.long {
            "account" => filter.accounts = vec![value],
            "name" => filter.names = vec![value],
            "partition" => filter.partitions = vec![value],
            "reservation" => filter.reservations = vec![value],
            "qos" => filter.qos = vec![value],
            "me" => filter.uids = vec![people::own_uid()],
            "user" => {
                let uid =
                    people::uid_of(&value).ok_or_else(|| error(format!("Invalid user name: {value}")))?;
                filter.uids = vec![uid];
            }
            "nodelist" => {
                filter.nodes = hostlist::expand(&value).map_err(|cause| error(cause.to_string()))?;
            }
            "state" => filter.states = read_states(&value)?,
            "signal" => {
                let unknown = || vec![format!("Unknown job signal: {value}")];
                wish.signal = Some(signal::parse(&value).map_err(|_| unknown())?);
            }
            "batch" | "full" => wish.batch = true,
            "interactive" => wish.ask = true,
            "quiet" => wish.quiet = true,
            "verbose" => wish.verbose = true,
            // `--ctld` asks for what is always so.
            _ => {}
        }
    }
    for operand in operands.iter().flat_map(|operand| job_id::split_list(operand)) {
        if operand.contains('.') {
            return Err(error(format!("{operand}: cancelling steps is not supported by daybook yet")));
        }
        let selector =
            job_id::parse_selector(operand).map_err(|_| error(format!("Invalid job id {operand}")))?;
        wish.filter.jobs.push(selector);
    }
    Ok(wish)
}

fn read_states(text: &str) -> Result<Vec<JobState>, Vec<String>> {
    text.split(',')
        .map(|word| match JobState::parse(word) {
            Some(state @ (JobState::Pending | JobState::Running | JobState::Suspended)) => Ok(state),
            _ => Err(vec![
                format!("Invalid job state specified: {word}"),
                "Valid job states are PENDING, RUNNING, and SUSPENDED".to_string(),
            ]),
        })
        .collect()
}

fn cancel(client: &mut Client, wish: &Wish, filter: JobFilter) -> u8 {
    for selector in &filter.jobs {
        wish.announce(&selector.to_string());
    }
    let named = !filter.jobs.is_empty();
    let mut exit = 0;
    loop {
        let (code, more) = cancel_some(client, wish, filter.clone(), named);
        exit = code.max(exit);
        if !more {
            return exit;
        }
    }
}

/// One request; its exit code, and whether the filter matches more.
fn cancel_some(client: &mut Client, wish: &Wish, filter: JobFilter, named: bool) -> (u8, bool) {
    match client.post::<_, Changed>("/v1/jobs/cancel", &wish.request(filter)) {
        Ok(changed) => {
            let mut exit = 0;
            for outcome in changed.outcomes {
                let target = outcome.target.to_string();
                if !named {
                    wish.announce(&target);
                }
                if let Some(error) = outcome.error {
                    exit = report_outcome(wish, &target, &error).max(exit);
                }
            }
            (exit, changed.more)
        }
        Err(CallError::Unreachable(unreachable)) => (report_unreachable(wish, unreachable), false),
        Err(error) => (report_call(wish, &error), false),
    }
}

/// Shows each job and cancels those that are agreed to.
fn cancel_asking(client: &mut Client, wish: &Wish) -> u8 {
    use JobColumn::{ArrayJobId, ArrayTask, DisplayId, Name, Partition};
    let query = JobQuery {
        filter: wish.filter.clone(),
        columns: vec![DisplayId, Name, Partition, ArrayJobId, ArrayTask],
        expand_arrays: false,
    };
    let table: JobTable = match client.post("/v1/jobs/query", &query) {
        Ok(table) => table,
        Err(CallError::Refused(refused)) if refused.code == ErrorCode::InvalidJobId => JobTable::default(),
        Err(error) => return report_call(wish, &error),
    };
    if table.rows.is_empty() && !wish.filter.jobs.is_empty() {
        for selector in &wish.filter.jobs {
            say::error("scancel", format!("Kill job error on job id {selector}: Invalid job id specified"));
        }
        return EXIT_OTHER;
    }
    let mut agreed: Vec<JobSelector> = Vec::new();
    for row in &table.rows {
        let cell = |column: usize| row.get(column).map(plain).unwrap_or_default();
        say::print(&format!("Cancel job_id={} name={} partition={} [y/n]? ", cell(0), cell(1), cell(2)));
        let id = match cell(4).as_str() {
            "" => cell(3),
            tasks => format!("{}_[{tasks}]", cell(3)),
        };
        if !is_agreed() {
            continue;
        }
        match job_id::parse_selector(&id) {
            Ok(selector) => agreed.push(selector),
            Err(cause) => {
                say::error("scancel", format!("the daemon's answer cannot be understood: {cause}"));
                return EXIT_OTHER;
            }
        }
    }
    if agreed.is_empty() {
        return 0;
    }
    cancel(client, wish, JobFilter { jobs: agreed, ..JobFilter::default() })
}

/// Whether the next line of standard input begins with `y`.
fn is_agreed() -> bool {
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && answer.trim_start().starts_with(['y', 'Y'])
}

/// A JSON value as people read it.
fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A job that is unknown or has ended is no failure; with `-v` it is told.
fn report_outcome(wish: &Wish, target: &str, error: &ApiError) -> u8 {
    let gone = matches!(error.code, ErrorCode::InvalidJobId | ErrorCode::AlreadyDone);
    if !gone || (wish.verbose && !wish.quiet) {
        say::error("scancel", format!("Kill job error on job id {target}: {}", error.message));
    }
    match error.code {
        _ if gone => 0,
        ErrorCode::PermissionDenied => EXIT_PERMISSION_DENIED,
        _ => EXIT_OTHER,
    }
}

fn report_unreachable(wish: &Wish, unreachable: Unreachable) -> u8 {
    if wish.names_jobs_only() {
        for selector in &wish.filter.jobs {
            say::error("scancel", format!("Kill job error on job id {selector}: {unreachable}"));
        }
    } else {
        say::line(format!("slurm_load_jobs error: {unreachable}"));
    }
    if say::is_watched() {
        say::error("scancel", unreachable.hint());
    }
    if wish.names_jobs_only() { EXIT_UNREACHABLE } else { EXIT_OTHER }
}

fn report_call(wish: &Wish, error: &CallError) -> u8 {
    if let CallError::Refused(refused) = error {
        let jobs = &wish.filter.jobs;
        if !jobs.is_empty() && wish.names_jobs_only() {
            return jobs.iter().map(|job| report_outcome(wish, &job.to_string(), refused)).max().unwrap_or(0);
        }
    }
    say::error("scancel", format!("Kill job error: {error}"));
    if let Some(hint) = error.hint() {
        say::error("scancel", hint);
    }
    match error {
        CallError::Refused(refused) if refused.code == ErrorCode::PermissionDenied => EXIT_PERMISSION_DENIED,
        CallError::OutcomeUnknown(_) | CallError::Unreachable(_) => EXIT_UNREACHABLE,
        _ => EXIT_OTHER,
    }
}
