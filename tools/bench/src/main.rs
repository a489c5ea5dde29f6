//! Benchmarks: figures with a baseline of the same run. See README.md beside Cargo.toml for what each means.

mod backlog;
mod baseline;
mod bus;
mod daemon;
mod figures;
mod log;
mod plan;
mod queue;
mod running;
mod submitting;
mod users;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde_json::{Map, Value};

/// Measures Daybook on this machine and prints JSON.
#[derive(Parser)]
#[command(name = "daybook-bench", version)]
struct Arguments {
    /// A tenth of the work.
    #[arg(long)]
    quick: bool,
    /// Only this section: baseline, appends, submissions, jobs, queue, bus or backlog (may be given several times).
    #[arg(long, value_name = "SECTION")]
    only: Vec<String>,
    /// Where the measured files lie [default: the system's temporary directory].
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// The planning core alone, on a queue and a cluster of any size
    Plan(plan::PlanArguments),
}

/// The sections in the order in which they run.
const SECTIONS: [&str; 7] = ["baseline", "appends", "submissions", "jobs", "queue", "bus", "backlog"];

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(unknown) = arguments.only.iter().find(|name| !SECTIONS.contains(&name.as_str())) {
        eprintln!(
            "daybook-bench: error: \"{unknown}\" is no section; the sections are {}",
            SECTIONS.join(", ")
        );
        return ExitCode::FAILURE;
    }
    let measured = match &arguments.what {
        Some(What::Plan(sizes)) => plan::measure(sizes),
        None => measure(&arguments),
    };
    match measured {
        Ok(report) => {
            println!("{report:#}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("daybook-bench: error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> Result<Value, String> {
    let dir = arguments.dir.clone().unwrap_or_else(std::env::temp_dir);
    let directory = tempfile::Builder::new().prefix("daybook-bench-").tempdir_in(&dir);
    let directory = directory.map_err(|error| format!("{}: {error}", dir.display()))?;
    let scale = if arguments.quick { 10 } else { 1 };
    let baseline = baseline::measure(directory.path(), scale)?;
    let mut report = Map::new();
    for section in SECTIONS {
        if !arguments.only.is_empty() && !arguments.only.iter().any(|only| only == section) {
            continue;
        }
        eprintln!("measuring {section} …");
        let root = directory.path().join(section);
        std::fs::create_dir_all(&root).map_err(|error| error.to_string())?;
        let figures = match section {
            "appends" => log::measure(&root, scale, &baseline)?,
            "submissions" => submitting::measure(&root, scale, &baseline)?,
            "jobs" => running::measure(&root, scale, &baseline)?,
            "queue" => queue::measure(&root, scale)?,
            "bus" => bus::measure(&root, scale)?,
            "backlog" => backlog::measure(&root, scale)?,
            _ => baseline.to_json(),
        };
        report.insert(section.to_string(), figures);
    }
    Ok(Value::Object(report))
}
