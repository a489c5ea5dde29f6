//! `sprio`: what the priorities of waiting jobs are made of.

mod fields;
mod table;

use daybook_schemas::api::{JobPriority, PrioritiesAnswer};
use daybook_schemas::priority::PriorityParameters;

use super::{Command, json};
use crate::client::Client;
use crate::options::Order;
use crate::table::format::Layout;
use crate::{people, say};
use fields::{Field, Line, by_letter};

pub const COMMAND: Command = Command {
    name: "sprio",
    summary: "Show what the priorities of waiting jobs are made of.",
    usage: "sprio [OPTION]...",
    options: table::OPTIONS,
    order: Order::Permute,
    exit_bad_option: 1,
    run,
};

/// What stands before the reason of a failed call.
const CALL: &str = "Couldn't get priority factors from controller";
/// Slurm's exit status where nobody answers.
const EXIT_NO_ANSWER: u8 = 255;

#[derive(Default)]
struct Wish {
    jobs: Vec<u32>,
    uids: Vec<u32>,
    by_user: bool,
    partitions: Vec<String>,
    format: Option<String>,
    long: bool,
    norm: bool,
    weights: bool,
    header: bool,
    json: bool,
}

fn run(arguments: &[String]) -> u8 {
    let wish = match read(arguments) {
        Ok(wish) => wish,
        Err(exit) => return exit,
    };
    let answer = Client::connect()
        .map_err(Into::into)
        .and_then(|mut client| client.get::<PrioritiesAnswer>("/v1/priorities"));
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            json::report(CALL, &error);
            return EXIT_NO_ANSWER;
        }
    };
    let Some(parameters) = answer.parameters.clone() else {
        say::line(
            "You are not running a supported priority plugin\n(priority/basic).\n\
             Only 'priority/multifactor' is supported.",
        );
        return 1;
    };
    answer.jobs.retain(|job| wish.means(job));
    if wish.json {
        return json::print("priorities", &answer);
    }
    let is_chosen = !wish.jobs.is_empty() || wish.by_user;
    if is_chosen && !wish.weights && answer.jobs.is_empty() {
        say::print("Unable to find jobs matching user/id(s) specified\n");
        return 0;
    }
    match text(&wish, &parameters, &answer.jobs) {
        Ok(text) => say::print(&text),
        Err(letter) => {
            say::error("sprio", format!("Invalid job format specification: {letter}"));
            return 1;
        }
    }
    0
}

fn read(arguments: &[String]) -> Result<Wish, u8> {
    let line = COMMAND.read(arguments)?;
    if let Some(operand) = line.operands.first() {
        say::error("sprio", format!("Unrecognized option: {operand}"));
        return Err(1);
    }
    let mut wish = Wish { header: true, ..Wish::default() };
    for given in &line.options {
        let text = given.text();
        let list = || text.split(',').map(str::trim).filter(|word| !word.is_empty());
        match given.option.long {
            "format" => wish.format = Some(text.to_string()),
            "jobs" => {
                for id in list() {
                    wish.jobs.push(id.parse().ok().filter(|id| *id > 0).ok_or_else(|| {
                        say::error("sprio", format!("Invalid job id: {id}"));
                        1
                    })?);
                }
            }
            "json" => wish.json = true,
            "long" => wish.long = true,
            "noheader" => wish.header = false,
            "norm" => wish.norm = true,
            "partition" => wish.partitions.extend(list().map(str::to_string)),
            "user" => {
                wish.by_user = true;
                for name in list() {
                    wish.uids.push(people::uid_of(name).ok_or_else(|| {
                        say::error("sprio", format!("Invalid user: {name}"));
                        1
                    })?);
                }
            }
            "weights" => wish.weights = true,
            _ => {}
        }
    }
    Ok(wish)
}

impl Wish {
    /// Held jobs have no place in the queue.
    fn means(&self, job: &JobPriority) -> bool {
        job.priority > 0
            && (self.jobs.is_empty() || self.jobs.contains(&job.job.0))
            && (!self.by_user || self.uids.contains(&job.uid))
            && (self.partitions.is_empty() || self.partitions.contains(&job.partition))
    }

    /// The format that Slurm has for these options; of factors without weight there is no column.
    fn format(&self, parameters: &PriorityParameters) -> String {
        if let Some(format) = &self.format {
            return format.clone();
        }
        let short = parameters.weight_short > 0;
        if self.long {
            let short = if short { " %.10H" } else { "" };
            return format!(
                "%.15i %9r %.8u %.10Y %.10S %.10A %.10B %.10F{short} %.10J %.10P %.10Q %.11N %.20T"
            );
        }
        let mut format = "%.15i %9r".to_string();
        if self.by_user {
            format.push_str(" %.8u");
        }
        format.push_str(if self.norm { " %10y" } else { " %.10Y %.10S" });
        let weighted = [
            (parameters.weight_age, 'a'),
            (parameters.weight_association, 'b'),
            (parameters.weight_fair_share, 'f'),
            (parameters.weight_short, 'h'),
            (parameters.weight_job_size, 'j'),
            (parameters.weight_partition, 'p'),
            (parameters.weight_qos, 'q'),
        ];
        for (_, letter) in weighted.into_iter().filter(|(weight, _)| *weight > 0) {
            format.push_str(&match self.norm {
                true => format!(" %10{letter}"),
                false => format!(" %.10{}", letter.to_ascii_uppercase()),
            });
        }
        if !parameters.weight_tres.is_empty() {
            format.push_str(if self.norm { " %20t" } else { " %.20T" });
        }
        format
    }
}

/// The table; the first letter that is no column is the error.
fn text(wish: &Wish, parameters: &PriorityParameters, jobs: &[JobPriority]) -> Result<String, char> {
    let (layout, unknown): (Layout<Field>, _) = Layout::of_letters(&wish.format(parameters), by_letter);
    if let Some(letter) = unknown.first() {
        return Err(*letter);
    }
    let mut out = String::new();
    if wish.header {
        layout.line(&mut out, |field, out| out.push_str(field.header));
    }
    if wish.weights {
        let line = Line::Weights(parameters);
        layout.line(&mut out, |field, out| field.write(&line, out));
        return Ok(out);
    }
    for job in jobs {
        let line = Line::Job(job);
        layout.line(&mut out, |field, out| field.write(&line, out));
    }
    Ok(out)
}
