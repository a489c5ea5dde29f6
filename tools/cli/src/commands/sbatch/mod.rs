//! `sbatch`: submit a batch job.
//!
//! Options come from the script's `#SBATCH` lines, from `SBATCH_*` variables and from the command line; the later
//! goes before the earlier. Everything is checked before anything is sent.

mod directives;
mod environment;
mod fault;
mod script;
mod submission;
mod table;
mod wait;
mod wishes;

use daybook_schemas::api::{ApiError, SubmitAnswer};

use super::Command;
use crate::client::{CallError, Client, Unreachable};
use crate::options::{self, Given, OptionError, Order};
use crate::{people, say};
use fault::{EXIT_BAD_OPTION, EXIT_REFUSED, Fault};
use script::Script;
use wishes::{Surroundings, Wishes};

pub const COMMAND: Command = Command {
    name: "sbatch",
    summary: "Submit a batch script: a file, standard input, or a command with --wrap.",
    usage: "sbatch [OPTION]... [SCRIPT [ARGUMENT]...]",
    options: table::OPTIONS,
    order: Order::StopAtFirst,
    exit_bad_option: EXIT_BAD_OPTION,
    run,
};

fn run(arguments: &[String]) -> u8 {
    let line = match COMMAND.read(arguments) {
        Ok(line) => line,
        Err(exit) => return exit,
    };
    match submit(&line, arguments) {
        Ok(exit) => exit,
        Err(Stop::Fault(fault)) => fault.report(),
        Err(Stop::Option(error)) => error.report(COMMAND.name, COMMAND.exit_bad_option),
    }
}

/// Why nothing was submitted.
enum Stop {
    Fault(Fault),
    Option(OptionError),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Stop {
        Stop::Fault(fault)
    }
}

impl From<OptionError> for Stop {
    fn from(error: OptionError) -> Stop {
        Stop::Option(error)
    }
}

fn submit(line: &options::CommandLine, arguments: &[String]) -> Result<u8, Stop> {
    let around = surroundings()?;
    let script = find_script(line, &around)?;
    let directives = directives::read(&script.bytes, &script.name)?;
    let sources = [
        from_directives(&directives.lines)?,
        options::from_environment(table::OPTIONS, table::VARIABLES, |name| std::env::var(name).ok())?,
    ];
    let mut wishes = Wishes::default();
    for source in sources.iter().chain(std::iter::once(&line.options)) {
        wishes.take(source, &around)?;
    }
    if directives.has_pbs && !wishes.ignore_pbs {
        let advice =
            "#PBS lines are not supported by daybook yet: --ignore-pbs submits the script without them";
        return Err(Fault::refused(advice).into());
    }
    if wishes.verbose > 0 {
        show_options(sources.iter().flatten().chain(&line.options), wishes.verbose);
    }
    let (quiet, parsable, waits) = (wishes.quiet, wishes.parsable, wishes.wait);
    let submit_line =
        std::iter::once("sbatch").chain(arguments.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    let script_arguments = line.operands.get(1..).unwrap_or_default();
    let (submission, remarks) = submission::build(wishes, script, script_arguments, &around, submit_line)?;
    if !quiet {
        remarks.iter().for_each(say::line);
    }
    let mut client = Client::connect().map_err(unreachable)?;
    let answer: SubmitAnswer = client.post("/v1/jobs", &submission).map_err(refused)?;
    match (quiet, parsable) {
        (_, true) => say::print(&format!("{}\n", answer.job)),
        (false, false) => say::print(&format!("Submitted batch job {}\n", answer.job)),
        (true, false) => {}
    }
    Ok(if waits { wait::until_ended(&mut client, answer.job) } else { 0 })
}

fn surroundings() -> Result<Surroundings, Fault> {
    let work_dir = std::env::current_dir()
        .map_err(|error| Fault::refused(format!("the current directory cannot be found: {error}")))?;
    Ok(Surroundings { work_dir, is_root: people::own_uid() == 0 })
}

fn find_script(line: &options::CommandLine, around: &Surroundings) -> Result<Script, Fault> {
    if line.operands.iter().any(|operand| operand == ":") {
        return Err(Fault::refused("heterogeneous jobs (:) are not supported by daybook yet"));
    }
    let wrap = line.options.iter().rev().find(|given| given.option.long == "wrap");
    match (wrap, line.operands.first()) {
        (Some(_), Some(_)) => Err(Fault::refused("Script arguments not permitted with --wrap option")),
        (Some(wrap), None) => script::wrap(wrap.text()),
        (None, Some(name)) => {
            script::from_file(name, &around.work_dir, std::env::var("PATH").ok().as_deref())
        }
        (None, None) => script::from_stdin(),
    }
}

/// Reads the `#SBATCH` lines as command lines.
fn from_directives(lines: &[Vec<String>]) -> Result<Vec<Given>, Stop> {
    let mut all = Vec::new();
    for words in lines {
        if let [word] = words.as_slice()
            && ["hetjob", "packjob"].contains(&word.as_str())
        {
            return Err(Fault::refused(
                "heterogeneous jobs (#SBATCH hetjob) are not supported by daybook yet",
            )
            .into());
        }
        let line = options::parse(table::OPTIONS, Order::StopAtFirst, words)?;
        if let Some(word) = line.operands.first() {
            return Err(Fault::bad_option(format!("Invalid directive found in batch script: {word}")).into());
        }
        all.extend(line.options);
    }
    Ok(all)
}

/// `-v`: the options in force, by name.
fn show_options<'a>(given: impl Iterator<Item = &'a Given>, verbosity: u32) {
    let mut shown = std::collections::BTreeMap::new();
    for given in given {
        shown.insert(given.option.long, given.value.clone().unwrap_or_else(|| "set".to_string()));
    }
    shown.insert("verbose", verbosity.to_string());
    let rule = "-------------------- --------------------";
    say::line("sbatch: defined options");
    say::line(format!("sbatch: {rule}"));
    for (name, value) in shown {
        say::line(format!("sbatch: {name:<20}: {value}"));
    }
    say::line(format!("sbatch: {rule}"));
    say::line("sbatch: end of defined options");
}

fn unreachable(unreachable: Unreachable) -> Fault {
    refused(unreachable.into())
}

fn refused(error: CallError) -> Fault {
    let mut fault = Fault::submission(&error.to_string());
    if let Some(hint) = error.hint() {
        fault.lines.push(format!("sbatch: error: {hint}"));
    }
    if let CallError::Refused(ApiError { details, .. }) = &error {
        for detail in details.iter().rev() {
            fault = fault.after(format!("sbatch: error: {detail}"));
        }
    }
    Fault { exit: EXIT_REFUSED, ..fault }
}
