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
use hyper::body::Bytes;

use super::{Command, json};
use crate::client::{CallError, Client};
use crate::options::{self, CommandLine, Order};
use crate::say;
use crate::table::instants::Instants;
use rows::{Places, Row, Rows};
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
    let mut line = match COMMAND.read(arguments) {
        Ok(line) => line,
        Err(exit) => return exit,
    };
    take_job_ids(&mut line);
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

/// The value of `--jobs` may also stand apart, though the option may be without one.
fn take_job_ids(line: &mut CommandLine) {
    let bare =
        line.options.iter_mut().rev().find(|given| given.option.long == "jobs" && given.value.is_none());
    if let Some(given) = bare
        && !line.operands.is_empty()
    {
        given.value = Some(line.operands.remove(0));
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
    let answer = match wish.nothing {
        true => Bytes::from_static(b"{}"),
        false => client.post_bytes("/v1/jobs/query", &query)?,
    };
    let places = Places::of(&query.columns);
    let unintelligible = |error: serde_json::Error| CallError::Unintelligible(error.to_string());
    if wish.json {
        let wanted = job_ids(&answer, &places, &hidden).map_err(unintelligible)?;
        return print_json(client, &wanted);
    }
    let shown = Shown { wish, places: &places, hidden: &hidden };
    shown.write(&answer, Instants::from_environment(), say::print).map_err(unintelligible)?;
    Ok(0)
}

/// The question: the columns of the format and of the order, each once.
fn query(wish: &Wish, partitions_too: bool) -> JobQuery {
    let mut columns: BTreeSet<JobColumn> =
        wish.layout.fields().flat_map(|field| field.columns).copied().collect();
    columns.extend(wish.keys.iter().flat_map(|key| key.columns()));
    if wish.json {
        columns = BTreeSet::from([JobColumn::JobId]);
    }
    if partitions_too {
        columns.insert(JobColumn::Partition);
    }
    JobQuery {
        filter: wish.filter.clone(),
        columns: columns.into_iter().collect(),
        expand_arrays: wish.expand_arrays && !wish.json,
    }
}

/// How much text is written at once, in bytes.
const CHUNK: usize = 64 << 10;

/// What the table is made by.
struct Shown<'a> {
    wish: &'a Wish,
    places: &'a Places,
    hidden: &'a [String],
}

impl Shown<'_> {
    /// Writes the table in pieces: a queue may have 50,000 rows. Rows that need no other order are shown as they are read.
    fn write(
        &self,
        answer: &[u8],
        instants: Instants,
        mut print: impl FnMut(&str),
    ) -> Result<(), serde_json::Error> {
        let (mut out, mut instants) = (String::with_capacity(CHUNK + CHUNK / 4), instants);
        if self.wish.headline {
            out.push_str(&instants.headline());
            out.push('\n');
        }
        if self.wish.header {
            self.wish.layout.line(&mut out, |field, out| out.push_str(field.header));
        }
        let mut kept = Rows::default();
        rows::read(answer, |now, cells| {
            if let Some(now) = now {
                instants.set_now(now);
            }
            match self.wish.keys.is_empty() {
                true => self.row(&Row::of(cells, self.places), &instants, &mut out, &mut print),
                false => kept.push(cells),
            }
        })?;
        for index in sort::order(&kept, self.places, &self.wish.keys) {
            self.row(&kept.row(index, self.places), &instants, &mut out, &mut print);
        }
        print(&out);
        Ok(())
    }

    fn row(&self, row: &Row<'_>, instants: &Instants, out: &mut String, print: &mut impl FnMut(&str)) {
        if is_hidden(row, self.hidden) {
            return;
        }
        self.wish.layout.line(out, |field, out| (field.write)(row, instants, out));
        if out.len() >= CHUNK {
            print(out);
            out.clear();
        }
    }
}

fn is_hidden(row: &Row<'_>, hidden: &[String]) -> bool {
    !hidden.is_empty()
        && row
            .text(JobColumn::Partition)
            .is_some_and(|names| names.split(',').all(|name| hidden.iter().any(|other| other == name)))
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
    let hidden =
        partitions.into_iter().map(|partition| partition.definition).filter(|definition| definition.hidden);
    Ok(hidden.map(|definition| definition.name).collect())
}

/// The ids of the jobs in the table.
fn job_ids(answer: &[u8], places: &Places, hidden: &[String]) -> Result<BTreeSet<JobId>, serde_json::Error> {
    let mut ids = BTreeSet::new();
    rows::read(answer, |_, cells| {
        let row = Row::of(cells, places);
        if !is_hidden(&row, hidden) {
            ids.extend(row.integer(JobColumn::JobId).and_then(|id| u32::try_from(id).ok()).map(JobId));
        }
    })?;
    Ok(ids)
}

/// The whole records of these jobs.
fn print_json(client: &mut Client, wanted: &BTreeSet<JobId>) -> Result<u8, CallError> {
    let mut jobs: Vec<JobView> = if wanted.is_empty() { Vec::new() } else { client.get("/v1/jobs")? };
    jobs.retain(|job| wanted.contains(&job.job));
    Ok(json::print("jobs", &jobs))
}
