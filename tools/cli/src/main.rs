//! The client of Daybook: one small program that is `daybook`, and by its name also `sbatch`, `squeue`,
//! `scancel`, `sinfo`, `scontrol`, `sacct`, `sacctmgr`, `sdiag`, `seff`, `sprio`, `sshare` and `sstat`.
//!
//! - [`commands`]: one file per command, and the table of them.
//! - [`options`]: option tables and the parser with getopt_long's rules and messages.
//! - [`client`]: the connection to the daemon.
//! - [`say`]: what goes to standard output and standard error.

mod client;
mod commands;
mod notation;
mod options;
mod people;
mod say;
mod table;
mod times;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = Vec::new();
    for (position, word) in std::env::args_os().enumerate() {
        match word.into_string() {
            Ok(word) => words.push(word),
            Err(word) => {
                eprintln!("daybook: error: argument {position} is not UTF-8: {}", word.to_string_lossy());
                return ExitCode::from(1);
            }
        }
    }
    let name = words.first().map(|word| base_name(word).to_string()).unwrap_or_default();
    let arguments = words.get(1..).unwrap_or_default();
    match commands::find(&name) {
        Some(command) => ExitCode::from((command.run)(arguments)),
        None => ExitCode::from(commands::daybook::run(arguments)),
    }
}

/// The last part of a path.
fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
