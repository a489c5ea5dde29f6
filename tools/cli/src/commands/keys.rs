//! `daybook keys ...`: another program, `daybook-keys`, which lies beside this one; the client itself has no cryptography.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::say;

/// The program's name.
const PROGRAM: &str = "daybook-keys";

/// Becomes that program; comes back only when it cannot.
pub fn run(arguments: &[OsString]) -> u8 {
    let path = match std::env::current_exe().and_then(|path| path.canonicalize()) {
        Ok(path) => path.with_file_name(PROGRAM),
        Err(error) => {
            say::error("daybook", format!("this program's own path cannot be found: {error}"));
            return 1;
        }
    };
    let error = Command::new(&path).args(arguments).exec();
    let remedy = match error.kind() {
        io::ErrorKind::NotFound => "; install it beside daybook",
        _ => "",
    };
    say::error("daybook", format!("{}: {error}{remedy}", path.display()));
    1
}
