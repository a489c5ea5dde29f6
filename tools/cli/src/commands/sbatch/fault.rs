//! Why a job is not submitted.

use crate::say;

/// Lines for standard error, and the exit status. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub lines: Vec<String>,
    pub exit: u8,
}

/// The exit status of options that cannot be read.
pub const EXIT_BAD_OPTION: u8 = 255;
/// The exit status of everything else.
pub const EXIT_REFUSED: u8 = 1;

impl Fault {
    /// `sbatch: error: TEXT`, exit 1.
    pub fn refused(text: impl AsRef<str>) -> Fault {
        Fault { lines: vec![format!("sbatch: error: {}", text.as_ref())], exit: EXIT_REFUSED }
    }

    /// `sbatch: error: TEXT`, exit 255.
    pub fn bad_option(text: impl AsRef<str>) -> Fault {
        Fault { exit: EXIT_BAD_OPTION, ..Fault::refused(text) }
    }

    /// `sbatch: error: Invalid --NAME specification`, exit 255.
    pub fn invalid(name: &str) -> Fault {
        Fault::bad_option(format!("Invalid --{name} specification"))
    }

    /// `sbatch: error: Batch job submission failed: REASON`, exit 1.
    pub fn submission(reason: &str) -> Fault {
        Fault::refused(format!("Batch job submission failed: {reason}"))
    }

    /// The same with a line before the others.
    #[must_use]
    pub fn after(mut self, line: impl Into<String>) -> Fault {
        self.lines.insert(0, line.into());
        self
    }

    /// Prints it and gives the exit status.
    pub fn report(&self) -> u8 {
        self.lines.iter().for_each(say::line);
        self.exit
    }
}
