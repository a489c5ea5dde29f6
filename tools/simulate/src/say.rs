//! What goes to standard output. A reader that has gone is no reason for a panic.

use std::io::{ErrorKind, Write};

/// What a shell reports for a program that SIGPIPE ended.
const EXIT_BROKEN_PIPE: i32 = 141;

/// Prints lines, each of them ended. Where the reader has gone, the program ends as SIGPIPE would end it.
pub fn print(text: &str) -> Result<(), String> {
    let mut output = std::io::stdout().lock();
    match writeln!(output, "{text}").and_then(|()| output.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(EXIT_BROKEN_PIPE),
        Err(error) => Err(format!("standard output cannot be written: {error}")),
        Ok(()) => Ok(()),
    }
}
