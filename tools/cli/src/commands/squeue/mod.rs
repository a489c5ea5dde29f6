//! `squeue`: the jobs that wait and run.

mod fields;
#[cfg(test)]
mod golden;
mod rows;
mod sort;
mod table;
mod wish;

use std::collections::BTreeSet;

use daybook_schemas::JobId;
use daybook_schemas::api::{JobColumn, JobQuery, JobView, NodeView, PartitionView};
use serde_json::value::RawValue;

use super::{Command, json};
use crate::client::{CallError, Client};
use crate::options::{self, Order};
use crate::say;
use crate::table::instants::Instants;
use rows::{Places, Table};
use wish::Wish;

pub const COMMAND: Command = Command {
    name: "squeue",
    summary: "Show the jobs that wait and run.",
    usage: "squeue [OPTION]...",
    options: table::OPTIONS,
    order: Order::Permute,
    exit_bad_option: 1,
    run,
};

/// What stands before the reason of a failed call.
const CALL: &str = "slurm_load_jobs error";

fn run(arguments: &[String]) -> u8 {
    let line = match COMMAND.read(arguments) {
        Ok(line) => line,
        Err(exit) => return exit,
    };
    if let Some(operand) = line.operands.first() {
        say::error("squeue", format!("Unrecognized option: {operand}"));
        return 1;
    }
    let variable = |name: &str| std::env::var(name).ok();
    let mut options = match options::from_environment(table::OPTIONS, table::ENVIRONMENT, variable) {
        Ok(options) => options,
        Err(error) => return error.report("squeue", 1),
    };
    options.extend(line.options);
    let wish = match wish::read(&options) {
        Ok(wish) => wish,
        Err(exit) => return exit,
    };
    let mut connection = None;
    loop {
        let exit = answer(&mut connection, &wish).unwrap_or_else(|error| {
            connection = None;
            json::report(CALL, &error)
        });
        let Some(pause) = wish.iterate else { return exit };
        say::print("\n");
        std::thread::sleep(pause);
    }
}

/// Asks once and prints the answer.
fn answer(connection: &mut Option<Client>, wish: &Wish) -> Result<u8, CallError> {
    let mut client = match connection.take() {
        Some(client) => client,
        None => Client::connect()?,
    };
    let exit = ask(&mut client, wish);
    *connection = Some(client);
    exit
}

fn ask(client: &mut Client, wish: &Wish) -> Result<u8, CallError> {
    if let Some(unknown) = unknown_node(client, wish)? {
        say::error("squeue", format!("Invalid node name {unknown}"));
        return Ok(1);
    }
    let hidden = hidden_partitions(client, wish)?;
    let query = query(wish, !hidden.is_empty());
    let places = Places::of(&query.columns);
    let answer: Option<Box<RawValue>> = match wish.nothing {
        true => None,
        false => Some(client.post("/v1/jobs/query", &query)?),
    };
    let table: Table<'_> = match &answer {
        None => Table { now: Instants::from_environment().now(), rows: rows::Rows::default() },
        Some(answer) => {
            serde_json::from_str(answer.get()).map_err(|error| CallError::Unintelligible(error.to_string()))?
        }
    };
    if wish.json {
        return print_json(client, &table, &places, &hidden);
    }
    say::print(&render(wish, &table, &places, &hidden, &Instants::from_environment().at(table.now)));
    Ok(0)
}

/// The question: the columns of the format and of the order, each once.
fn query(wish: &Wish, partitions_too: bool) -> JobQuery {
    let mut columns: BTreeSet<JobColumn> = wish.layout.fields().flat_map(|field| field.columns).copied().collect();
    columns.extend(wish.keys.iter().flat_map(|key| key.columns()));
    if wish.json {
        columns = BTreeSet::from([JobColumn::JobId]);
    }
    if partitions_too {
        columns.insert(JobColumn::Partition);
    }
    // A row without a cell would still be a row; Slurm's answer to an empty format is one line for each job.
    JobQuery {
        filter: wish.filter.clone(),
        columns: columns.into_iter().collect(),
        expand_arrays: wish.expand_arrays && !wish.json,
    }
}

/// The table as text.
fn render(wish: &Wish, table: &Table<'_>, places: &Places, hidden: &[String], instants: &Instants) -> String {
    let mut out = String::with_capacity(96 * (table.rows.len() + 2));
    if wish.headline {
        out.push_str(&instants.headline());
        out.push('\n');
    }
    if wish.header {
        wish.layout.line(&mut out, |field, out| out.push_str(field.header));
    }
    for index in sort::order(&table.rows, places, &wish.keys) {
        let row = table.rows.row(index, places);
        if !is_hidden(&row, hidden) {
            wish.layout.line(&mut out, |field, out| (field.write)(&row, instants, out));
        }
    }
    out
}

fn is_hidden(row: &rows::Row<'_>, hidden: &[String]) -> bool {
    !hidden.is_empty() && row.text(JobColumn::Partition).is_some_and(|name| hidden.iter().any(|other| other == name))
}

/// The first node of `--nodelist` that the cluster does not have.
fn unknown_node(client: &mut Client, wish: &Wish) -> Result<Option<String>, CallError> {
    if wish.filter.nodes.is_empty() {
        return Ok(None);
    }
    let nodes: Vec<NodeView> = client.get("/v1/nodes")?;
    let known = |name: &String| nodes.iter().any(|node| node.definition.name.as_str() == name);
    Ok(wish.filter.nodes.iter().find(|name| !known(name)).cloned())
}

/// Partitions whose jobs are not shown. Those that are asked for by name are.
fn hidden_partitions(client: &mut Client, wish: &Wish) -> Result<Vec<String>, CallError> {
    if wish.hidden_too || wish.nothing || !wish.filter.partitions.is_empty() {
        return Ok(Vec::new());
    }
    let partitions: Vec<PartitionView> = client.get("/v1/partitions")?;
    let hidden = partitions.into_iter().map(|partition| partition.definition).filter(|definition| definition.hidden);
    Ok(hidden.map(|definition| definition.name).collect())
}

/// The whole records of the jobs in the table.
fn print_json(
    client: &mut Client,
    table: &Table<'_>,
    places: &Places,
    hidden: &[String],
) -> Result<u8, CallError> {
    let rows = (0..table.rows.len()).map(|index| table.rows.row(index, places)).filter(|row| !is_hidden(row, hidden));
    let wanted: BTreeSet<JobId> = rows
        .filter_map(|row| u32::try_from(row.integer(JobColumn::JobId)?).ok())
        .map(JobId)
        .collect();
    let mut jobs: Vec<JobView> = if wanted.is_empty() { Vec::new() } else { client.get("/v1/jobs")? };
    jobs.retain(|job| wanted.contains(&job.job));
    Ok(json::print("jobs", &jobs))
}
