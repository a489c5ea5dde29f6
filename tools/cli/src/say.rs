//! What goes to standard output and standard error.

use std::io::{ErrorKind, Write};

/// What a shell reports for a program that SIGPIPE ended.
const EXIT_BROKEN_PIPE: i32 = 141;

/// Writes text to standard output, as it is. Where the reader has gone, the program ends as SIGPIPE would end it;
/// where the output cannot be written (disk full), it says so and ends with 1.
pub fn print(text: &str) {
    let mut output = std::io::stdout().lock();
    if let Err(error) = output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        if error.kind() == ErrorKind::BrokenPipe {
            std::process::exit(EXIT_BROKEN_PIPE);
        }
        eprintln!("error: standard output cannot be written: {error}");
        std::process::exit(1);
    }
}

/// Writes one line to standard error, as it is; a closed standard error is no reason to stop.
pub fn line(text: impl AsRef<str>) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text.as_ref());
}

/// Writes `sbatch: error: …` to standard error.
pub fn error(program: &str, text: impl AsRef<str>) {
    line(format!("{program}: error: {}", text.as_ref()));
}

/// Whether somebody sees standard error as it is written.
pub fn is_watched() -> bool {
    std::io::IsTerminal::is_terminal(&std::io::stderr())
}
