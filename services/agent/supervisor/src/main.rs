//! `daybook-supervisor RUN-DIRECTORY`: started by the agent, never by hand.

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(directory), None) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: daybook-supervisor RUN-DIRECTORY (started by daybookd for each run)");
        return ExitCode::FAILURE;
    };
    match daybook_supervisor::supervise::supervise(&PathBuf::from(directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("daybook-supervisor: error: {why}");
            ExitCode::FAILURE
        }
    }
}
