//! `daybook`: every command by its name, and what Slurm has no command for.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{CommandFactory as _, Parser, Subcommand};

use super::{COMMANDS, DAYBOOK_VERSION, SLURM_VERSION, check, links, scontrol, siblings};
use crate::say;

/// A GPU-cluster scheduler whose every fact is an event in a log.
#[derive(Debug, Parser)]
#[command(name = "daybook", version, disable_help_subcommand = true, arg_required_else_help = true)]
struct Daybook {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Check the configuration in a directory, without a daemon
    Check {
        /// The directory with slurm.conf, gres.conf, topology.conf and daybook.toml, where they exist
        #[arg(required_unless_present = "settings", conflicts_with = "settings")]
        directory: Option<PathBuf>,
        /// Say what Slurm's settings mean here: all of them, or those with a word in their name or meaning
        #[arg(long, value_name = "WORD", num_args = 0..=1, default_missing_value = "")]
        settings: Option<String>,
        /// Print the faults, or the settings, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Make and check the keys of a log on NATS, and its servers' configuration
    #[command(disable_help_flag = true)]
    Keys {
        /// What and where; `daybook keys --help` lists it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Move a log between a directory and a bus
    Log {
        #[command(subcommand)]
        what: LogAction,
    },
    /// Make the Slurm-named commands in a directory, as links to this program
    Links {
        /// The directory; it must exist
        directory: PathBuf,
    },
    /// Ask the log's past
    Replay {
        #[command(subcommand)]
        what: ReplayAction,
    },
    /// Replay a trace of a real cluster through the planner, under a simulated clock
    #[command(disable_help_flag = true)]
    Simulate {
        /// The trace, the policy and the nodes; `daybook simulate --help` lists them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Say whether the daemon answers
    Ping,
    /// Explain a command
    Help {
        /// Its name, such as sbatch
        command: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
enum LogAction {
    /// Copy a stopped cluster's log, and compare the copy byte for byte
    #[command(disable_help_flag = true)]
    Copy {
        /// From where and to where; `daybook log copy --help` lists it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

#[derive(Debug, Subcommand)]
enum ReplayAction {
    /// Decide every recorded planning cycle again, from a stopped daemon's log or a copy, and compare
    #[command(disable_help_flag = true)]
    Verify {
        /// Which log; `daybook replay verify --help` lists it
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// Runs `daybook ARGUMENTS`.
pub fn run(arguments: &[String]) -> u8 {
    if let Some((name, rest)) = arguments.split_first()
        && let Some(command) = super::find(name)
    {
        return (command.run)(rest);
    }
    // The common question, without building clap's tables.
    if let [only] = arguments
        && (only == "--version" || only == "-V")
    {
        say::print(&format!("{DAYBOOK_VERSION}\n"));
        return 0;
    }
    let words = std::iter::once("daybook").chain(arguments.iter().map(String::as_str));
    match Daybook::try_parse_from(words) {
        Ok(parsed) => match parsed.what {
            What::Check { settings: Some(word), json, .. } => check::run_settings(&word, json),
            What::Check { directory, json, .. } => check::run(&directory.unwrap_or_default(), json),
            What::Keys { arguments } => siblings::become_program(siblings::KEYS, &arguments),
            What::Log { what: LogAction::Copy { arguments } } => {
                let command = std::iter::once(OsString::from("copy-log"));
                let arguments: Vec<OsString> = command.chain(arguments).collect();
                siblings::become_program(siblings::DAEMON, &arguments)
            }
            What::Replay { what: ReplayAction::Verify { arguments } } => {
                let command = std::iter::once(OsString::from("verify"));
                let arguments: Vec<OsString> = command.chain(arguments).collect();
                siblings::become_program(siblings::DAEMON, &arguments)
            }
            What::Simulate { arguments } => siblings::become_program(siblings::SIMULATE, &arguments),
            What::Links { directory } => links::run(&directory),
            What::Ping => scontrol::ping(),
            What::Help { command } => help(command.as_deref()),
        },
        Err(error)
            if error.use_stderr()
                && error.kind() != clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand =>
        {
            // A closed standard error is no reason to stop.
            let _ = error.print();
            2
        }
        Err(error) => {
            let asked = !error.use_stderr();
            if asked && error.kind() == clap::error::ErrorKind::DisplayHelp && arguments.len() == 1 {
                say::print(&overview());
            } else if asked {
                say::print(&error.to_string());
            } else {
                say::line(overview().trim_end());
            }
            if asked { 0 } else { 2 }
        }
    }
}

/// `daybook help` and `daybook help COMMAND`.
fn help(command: Option<&str>) -> u8 {
    let Some(name) = command else {
        say::print(&overview());
        return 0;
    };
    if let Some(command) = super::find(name) {
        say::print(&command.help());
        return 0;
    }
    let mut program = Daybook::command();
    program.build();
    match program.find_subcommand_mut(name) {
        Some(subcommand) => {
            say::print(&subcommand.render_long_help().to_string());
            0
        }
        None => {
            say::error("daybook", format!("there is no command {name}; daybook help lists them"));
            2
        }
    }
}

/// All commands with a line each.
fn overview() -> String {
    let mut text = format!(
        "{DAYBOOK_VERSION}, a GPU-cluster scheduler whose every fact is an event in a log\n\n\
         Usage: daybook COMMAND [ARGUMENT]...\n\n\
         Slurm's commands ({SLURM_VERSION}), also by their own names after `daybook links DIR`:\n"
    );
    let slurm = |name: &str| super::SLURM_NAMES.contains(&name);
    let mut line = |name: &str, summary: &str| {
        text.push_str(&format!("  {name:<10}{}\n", summary.lines().next().unwrap_or_default()));
    };
    for command in COMMANDS.iter().filter(|command| slurm(command.name)) {
        line(command.name, command.summary);
    }
    text.push_str("\nDaybook's own:\n");
    let mut line = |name: &str, summary: &str| {
        text.push_str(&format!("  {name:<10}{}\n", summary.lines().next().unwrap_or_default()));
    };
    for command in COMMANDS.iter().filter(|command| !slurm(command.name)) {
        line(command.name, command.summary);
    }
    for subcommand in Daybook::command().get_subcommands() {
        line(subcommand.get_name(), &subcommand.get_about().map(ToString::to_string).unwrap_or_default());
    }
    text.push_str(
        "\nThe daemon is found by DAYBOOK_SOCKET, else by the first line of /etc/daybook/socket, else at\n",
    );
    text.push_str(&format!(
        "{}. `daybook help COMMAND` explains a command.\n",
        crate::client::DEFAULT_SOCKET
    ));
    text
}
