//! Commands that are other programs, which lie beside this one: the client itself has neither cryptography nor a database.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::say;

/// `daybook keys ...`.
pub const KEYS: &str = "daybook-keys";
/// `daybook log copy ...`.
pub const DAEMON: &str = "daybookd";

/// `daybook simulate ...`.
pub const SIMULATE: &str = "daybook-simulate";

/// Becomes that program; comes back only when it cannot.
pub fn become_program(program: &str, arguments: &[OsString]) -> u8 {
    let path = match std::env::current_exe().and_then(|path| path.canonicalize()) {
        Ok(path) => path.with_file_name(program),
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
