//! `daybook why`: why a job waits, in sentences.

#[cfg(test)]
mod golden;
mod sentences;
mod table;
mod words;

use daybook_schemas::api::Explanation;
use daybook_schemas::grammar::job_id::parse_selector;

use super::{Command, json};
use crate::client::{CallError, Client};
use crate::options::Order;
use crate::say;
use crate::table::instants::Instants;

pub const COMMAND: Command = Command {
    name: "why",
    summary: "Say why a job waits, and what it may expect.",
    usage: "daybook why [--json] JOB[_TASK]...",
    options: table::OPTIONS,
    order: Order::Permute,
    exit_bad_option: 2,
    run,
};

/// What stands before the reason of a failed call.
const CALL: &str = "daybook: error";

fn run(arguments: &[String]) -> u8 {
    let line = match COMMAND.read(arguments) {
        Ok(line) => line,
        Err(exit) => return exit,
    };
    if line.operands.is_empty() {
        say::error("daybook", "why needs a job: daybook why 12, or 12_3 for a task of an array");
        return 2;
    }
    let mut paths = Vec::with_capacity(line.operands.len());
    for operand in &line.operands {
        match path(operand) {
            Ok(path) => paths.push(path),
            Err(text) => {
                say::error("daybook", text);
                return 2;
            }
        }
    }
    let as_json = line.options.iter().any(|given| given.option.long == "json");
    answer(&paths, as_json)
}

/// The question about a job as it was named.
fn path(operand: &str) -> Result<String, String> {
    let selector = parse_selector(operand).map_err(|_| {
        format!("\"{operand}\" is no job id: expected such as 12, or 12_3 for a task of an array")
    })?;
    let job = selector.job;
    let Some(tasks) = &selector.tasks else { return Ok(format!("/v1/jobs/{job}/why")) };
    match (tasks.len(), tasks.first()) {
        (1, Some(task)) => Ok(format!("/v1/jobs/{job}/why?task={task}")),
        _ => Err(format!(
            "\"{operand}\": why takes one task at a time, such as {job}_3; those that wait share a reason"
        )),
    }
}

/// Asks, and prints the answers; 1 where one of the jobs is not known.
fn answer(paths: &[String], as_json: bool) -> u8 {
    let mut client = match Client::connect() {
        Ok(client) => client,
        Err(error) => return json::report(CALL, &error.into()),
    };
    let instants = Instants::from_environment();
    let mut found: Vec<Explanation> = Vec::with_capacity(paths.len());
    let mut exit = 0;
    for path in paths {
        match client.get::<Explanation>(path) {
            Ok(explanation) if as_json => found.push(explanation),
            Ok(explanation) => {
                let instants = instants.clone().at(explanation.now.seconds());
                say::print(&sentences::of(&explanation, &instants));
            }
            Err(error @ CallError::Refused(_)) => exit = json::report(CALL, &error),
            Err(error) => return json::report(CALL, &error),
        }
    }
    if as_json && !found.is_empty() {
        return json::print("explanations", &found).max(exit);
    }
    exit
}
