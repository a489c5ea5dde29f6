//! `scontrol`: show and change jobs, nodes and the rest of the cluster's state.

mod entity;
mod jobs;
mod keyword;
mod partition;
mod ping;
mod reconfigure;
pub mod reservation;
pub mod show;
mod table;
mod update;
mod update_job;
mod update_node;

use crate::client::{self, CallError};

use super::{Command, DAYBOOK_VERSION, SLURM_VERSION};
use crate::options::Order;
use crate::say;
use keyword::Keyword;
#[cfg(test)]
pub use keyword::refused as refused_words;
pub use ping::run as ping;

pub const COMMAND: Command = Command {
    name: "scontrol",
    summary: "Show jobs, nodes, partitions and reservations, and change them.\n\n\
              Commands: show, hold, uhold, release, requeue, requeuehold, suspend, resume, top, update, create, delete, reconfigure,\n\
              ping, version, help.\n\
              Words may be shortened, in any letter case; docs/commands/scontrol.md has all of them.",
    usage: "scontrol [OPTION]... COMMAND [ARGUMENT]...",
    options: table::OPTIONS,
    order: Order::Permute,
    exit_bad_option: 1,
    run,
};

/// How much is shown, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `-a`: hidden partitions too.
    pub all: bool,
    /// `-d`: details; given twice: more of them.
    pub details: u8,
    /// `-F`: nodes in state FUTURE too.
    pub future: bool,
    /// `--json`: as JSON.
    pub json: bool,
    /// `-o`: one line for each thing.
    pub one_line: bool,
    /// `-Q`: no messages about what is not so.
    pub quiet: bool,
}

fn run(arguments: &[String]) -> u8 {
    let line = match COMMAND.read(arguments) {
        Ok(line) => line,
        Err(exit) => return exit,
    };
    let mut flags = Flags::default();
    for given in &line.options {
        match given.option.long {
            "all" => flags.all = true,
            "hide" => flags.all = false,
            "details" => flags.details = flags.details.saturating_add(1),
            "future" => flags.future = true,
            "json" => flags.json = true,
            "oneliner" => flags.one_line = true,
            "quiet" => flags.quiet = true,
            "verbose" => {
                say::line(format!(
                    "scontrol: the daemon is looked for at {}",
                    client::socket_path().display()
                ));
            }
            _ => {}
        }
    }
    let Some((word, rest)) = line.operands.split_first() else {
        say::error(
            "scontrol",
            "the interactive mode is not supported by daybook yet: give a command, such as show",
        );
        return 1;
    };
    let keyword = keyword::find(word);
    if flags.json && keyword != Some(Keyword::Show) {
        say::error("scontrol", format!("--json goes with show, not with {word}"));
        return 1;
    }
    match keyword {
        Some(Keyword::Show) => show::run(flags, rest),
        Some(Keyword::Hold) => jobs::hold(word, rest, false),
        Some(Keyword::UserHold) => jobs::hold(word, rest, true),
        Some(Keyword::Release) => jobs::release(word, rest),
        Some(Keyword::Requeue) => jobs::requeue(word, rest, false),
        Some(Keyword::RequeueHold) => jobs::requeue(word, rest, true),
        Some(Keyword::Suspend) => jobs::suspend(word, rest, "/v1/jobs/suspend"),
        Some(Keyword::Resume) => jobs::suspend(word, rest, "/v1/jobs/resume"),
        Some(Keyword::Top) => jobs::top(word, rest),
        Some(Keyword::Update) => update::run(rest),
        Some(Keyword::Create) => entity::create(rest),
        Some(Keyword::Delete) => entity::delete(rest),
        Some(Keyword::Reconfigure) => reconfigure::run(rest),
        Some(Keyword::Ping) => ping(),
        Some(Keyword::Version) => {
            say::print(&format!("{SLURM_VERSION} ({DAYBOOK_VERSION})\n"));
            0
        }
        Some(Keyword::Help) => {
            say::print(&COMMAND.help());
            0
        }
        Some(Keyword::Refused(name)) => {
            say::error("scontrol", format!("{name} is not supported by daybook yet"));
            1
        }
        None => {
            say::line(format!("invalid keyword: {word}"));
            1
        }
    }
}

/// The same with the particulars of a refusal below.
fn report_refusal(prefix: &str, error: &CallError) -> u8 {
    let exit = report_call(prefix, error);
    if let CallError::Refused(refusal) = error {
        refusal.details.iter().for_each(|line| say::error("scontrol", line));
    }
    exit
}

/// Prints why a call has no answer, as `PREFIX: MESSAGE`, and gives the exit status.
fn report_call(prefix: &str, error: &CallError) -> u8 {
    say::line(format!("{prefix}: {error}"));
    if let Some(hint) = error.hint() {
        say::error("scontrol", hint);
    }
    1
}
