//! `daybook simulate`: a trace through the planner under a simulated clock.

mod packing_command;
mod say;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use daybook_simulate::figures::Figures;
use daybook_simulate::machine::Machine;
use daybook_simulate::policy::PolicyName;
use daybook_simulate::simulation::{Outcome, simulate};
use daybook_simulate::starts::StartsFile;
use daybook_simulate::trace::{self, Trace, Unit};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

/// Replay a trace of a real cluster under a simulated clock, with the planner and the model that run the cluster
#[derive(Parser)]
#[command(
    name = "daybook simulate",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
struct Arguments {
    #[command(subcommand)]
    experiment: Option<Experiment>,
    /// The trace: Standard Workload Format, or a CSV of GPU jobs; gzipped or not
    #[arg(long, value_name = "FILE", required = true)]
    trace: Option<PathBuf>,
    /// What decides; several separated by commas, or `all`
    #[arg(long, value_name = "POLICY", default_value = "easy", value_parser = parse_policies)]
    policy: Policies,
    /// The nodes: 125x8 (125 nodes of 8 processors, GPUs in a GPU trace), 125:cpus=64,gpus=8,mem=512000, or a file: a list of
    /// nodes as CSV, gzipped or not. Without it an SWF trace runs on one pool of as many processors as its header says
    #[arg(long, value_name = "NODES|FILE")]
    nodes: Option<String>,
    /// One pool of so many processors (GPUs in a GPU trace), instead of the header's
    #[arg(long, value_name = "COUNT", conflicts_with = "nodes")]
    processors: Option<u32>,
    /// Only the first so many jobs
    #[arg(long, value_name = "COUNT")]
    jobs: Option<usize>,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
    /// Write every job's start as CSV (pos,id,submit,start,end,procs); of the last policy, where there are several
    #[arg(long, value_name = "FILE")]
    starts: Option<PathBuf>,
    /// No progress bar
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Subcommand)]
enum Experiment {
    Packing(packing_command::PackingArguments),
}

#[derive(Clone)]
struct Policies(Vec<PolicyName>);

fn parse_policies(text: &str) -> Result<Policies, String> {
    if text == "all" {
        return Ok(Policies(PolicyName::ALL.to_vec()));
    }
    let known = || PolicyName::ALL.map(PolicyName::word).join(", ");
    let find = |word: &str| {
        let found = PolicyName::ALL.into_iter().find(|policy| policy.word() == word);
        found.ok_or_else(|| format!("there is no policy \"{word}\"; there are {}, all", known()))
    };
    text.split(',').map(find).collect::<Result<_, _>>().map(Policies)
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match (&arguments.experiment, &arguments.trace) {
        (Some(Experiment::Packing(packing)), _) => packing_command::run(packing),
        (None, Some(trace)) => run(&arguments, trace),
        (None, None) => Err("say with --trace what to replay".to_string()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("daybook simulate: error: {what}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments, path: &Path) -> Result<(), String> {
    let mut trace = trace::read(path).map_err(|error| error.to_string())?;
    let machine = machine(arguments, path, &trace)?;
    let processors = machine.processors(trace.unit);
    trace.drop_larger_than(processors);
    trace.drop_without_gpus(&machine);
    if let Some(count) = arguments.jobs {
        trace.cut(count);
    }
    if trace.jobs.is_empty() {
        return Err(format!("no job of {} fits on {processors} processors", path.display()));
    }
    let starts_path = arguments.starts.as_deref().unwrap_or(Path::new(""));
    let starts_fault = |error| format!("--starts {}: cannot be written: {error}", starts_path.display());
    let starts = arguments.starts.as_deref().map(StartsFile::at).transpose().map_err(starts_fault)?;
    if !arguments.json {
        print_head(path, &trace, &machine, processors)?;
    }
    let mut last = None;
    for policy in &arguments.policy.0 {
        let outcome = simulated(arguments, &trace, &machine, *policy)?;
        let figures = Figures::of(&trace, &outcome.starts, processors);
        if arguments.json {
            print_json(path, &trace, *policy, &figures, &outcome)?;
        } else {
            print_line(*policy, &figures)?;
        }
        last = Some(outcome);
    }
    if let (Some(file), Some(outcome)) = (&starts, &last) {
        file.write(&trace, outcome).map_err(starts_fault)?;
    }
    Ok(())
}

fn machine(arguments: &Arguments, path: &Path, trace: &Trace) -> Result<Machine, String> {
    if let Some(nodes) = &arguments.nodes {
        return Machine::read(nodes, trace.unit);
    }
    match (arguments.processors.or(trace.processors), trace.unit) {
        (Some(0), _) => Err("--processors 0: there would be nothing to run on".to_string()),
        (Some(count), unit) => Ok(Machine::pool(count, unit)),
        (None, Unit::Processor) => Err(format!(
            "{}: its header has no MaxProcs: say with --nodes or --processors what it ran on",
            path.display()
        )),
        (None, Unit::Gpu) => {
            Err("a GPU trace does not say what it ran on: say it, such as --nodes 96x8 or --processors 768"
                .to_string())
        }
    }
}

fn simulated(
    arguments: &Arguments,
    trace: &Trace,
    machine: &Machine,
    policy: PolicyName,
) -> Result<Outcome, String> {
    let target =
        if arguments.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(5) };
    let bar = ProgressBar::with_draw_target(Some(trace.jobs.len() as u64), target);
    let style = "{msg:12} {wide_bar} {human_pos}/{human_len} jobs ended, {eta} left";
    bar.set_style(ProgressStyle::with_template(style).map_err(|error| error.to_string())?);
    bar.set_message(policy.word());
    bar.enable_steady_tick(Duration::from_millis(200));
    let outcome = simulate(trace, machine, &policy.policy(), |ended| bar.set_position(ended as u64));
    bar.finish_and_clear();
    outcome.map_err(|error| error.to_string())
}

fn print_head(path: &Path, trace: &Trace, machine: &Machine, processors: u32) -> Result<(), String> {
    let what = if trace.unit == Unit::Gpu { "GPUs" } else { "processors" };
    let nodes = match machine.node_count() {
        1 => "one pool".to_string(),
        count => format!("{count} nodes"),
    };
    say::print(&format!("{}: {} jobs on {processors} {what} ({nodes})", name_of(path), trace.jobs.len()))?;
    for (why, count) in &trace.dropped {
        say::print(&format!("  left out: {count} ({why})"))?;
    }
    say::print(&format!(
        "{:<13}{:>12}{:>12}{:>12}{:>12}{:>13}{:>8}",
        "policy", "mean wait", "median", "p99", "longest", "slowdown", "util"
    ))
}

fn print_line(policy: PolicyName, figures: &Figures) -> Result<(), String> {
    say::print(&format!(
        "{:<13}{:>10.1} s{:>10} s{:>10} s{:>10} s{:>13.4}{:>7.2}%",
        policy.word(),
        figures.mean_wait,
        figures.median_wait,
        figures.p99_wait,
        figures.longest_wait,
        figures.mean_bounded_slowdown,
        figures.utilisation * 100.0
    ))
}

fn print_json(
    path: &Path,
    trace: &Trace,
    policy: PolicyName,
    figures: &Figures,
    outcome: &Outcome,
) -> Result<(), String> {
    let mut line = json!({
        "trace": name_of(path),
        "policy": policy.word(),
        "dropped": trace.dropped,
        "cycles": outcome.cycles,
        "steps": outcome.steps,
        "commits": outcome.commits,
    });
    let figures = serde_json::to_value(figures).map_err(|error| error.to_string())?;
    if let (Some(line), Some(figures)) = (line.as_object_mut(), figures.as_object()) {
        line.extend(figures.clone());
    }
    say::print(&line.to_string())
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
}
