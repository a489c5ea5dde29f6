//! `daybook-supervisor RUN`: started by the agent, never by hand. RUN is the common path of the run's files.

use std::path::PathBuf;
use std::process::ExitCode;

use daybook_supervisor::run_files::RunFiles;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(base), None) = (arguments.next(), arguments.next()) else {
        complain("usage: daybook-supervisor RUN (started by daybookd for each run)");
        return ExitCode::FAILURE;
    };
    match daybook_supervisor::supervise::supervise(&RunFiles::at(PathBuf::from(base))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            complain(&why);
            ExitCode::FAILURE
        }
    }
}

/// To the agent, which may not be there any more.
fn complain(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "daybook-supervisor: error: {line}");
}
