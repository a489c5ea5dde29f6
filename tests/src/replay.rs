//! `daybook replay verify` of what a scenario leaves behind: each decision in its log is made again by other processes, where the
//! log lies and from a copy elsewhere.

use std::path::Path;
use std::process::Command;

use crate::{Answer, program};

/// What of a state directory belongs to a log and to what is derived from it; the rest belongs to the nodes.
const PARTS: [&str; 4] = ["log", "log-copy", "ledger", "snapshot"];

/// Verifies the state directory of a stopped daemon, then a copy of it in another place, and gives what both say.
///
/// Over a bus it is the head's copy of the log. An error is what the program says: the first difference, with both
/// decisions.
pub fn verify(state: &Path) -> Result<String, String> {
    let in_place = verified("the log in its place", state)?;
    let elsewhere =
        tempfile::Builder::new().prefix("daybook-replay-").tempdir().expect("a temporary directory");
    for part in PARTS {
        let from = state.join(part);
        if from.exists() {
            copy(&from, &elsewhere.path().join(part));
        }
    }
    let copied = verified("a copy of the log", elsewhere.path())?;
    match in_place == copied {
        true => Ok(in_place),
        false => Err(format!("a copy of the log says\n{copied}the log in its place\n{in_place}")),
    }
}

fn verified(what: &str, state: &Path) -> Result<String, String> {
    let output = Command::new(program("daybook")).args(["replay", "verify", "--state"]).arg(state).output();
    let answer = Answer::from(output.expect("daybook runs"));
    match answer.code {
        0 => Ok(answer.out),
        code => Err(format!("{what} does not verify (exit {code}):\n{}{}", answer.out, answer.err)),
    }
}

/// Copies a file or a directory of files.
fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        std::fs::copy(from, to).unwrap_or_else(|error| panic!("a copy of {}: {error}", from.display()));
        return;
    }
    std::fs::create_dir(to).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
    for entry in std::fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.expect("an entry");
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}
