//! What goes to standard output. A reader that has gone is no reason for a panic.

use std::io::{ErrorKind, Write};

/// What a shell reports for a program that SIGPIPE ended.
const EXIT_BROKEN_PIPE: i32 = 141;

/// Prints a command's whole answer and ends its line. Where the reader has gone, the program ends as SIGPIPE would end it.
pub fn answer(text: &str) -> Result<(), String> {
    match print(text) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(EXIT_BROKEN_PIPE),
        Err(error) => Err(format!("standard output cannot be written: {error}")),
        Ok(()) => Ok(()),
    }
}

/// Tells whoever started this daemon that it serves; it serves also where nobody listens.
pub fn ready() {
    if let Err(error) = print("ready") {
        tracing::warn!(%error, "nobody can be told that the daemon is ready");
    }
}

fn print(text: &str) -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{text}")?;
    output.flush()
}
