//! The form of `scontrol show`: lines of `Key=value`, or with `-o` all on one line.

use super::super::Flags;

/// The text of one thing.
pub struct Record {
    text: String,
    one_line: bool,
}

impl Record {
    pub fn new(flags: Flags) -> Record {
        Record { text: String::new(), one_line: flags.one_line }
    }

    /// Appends to the present line.
    pub fn add(&mut self, text: impl AsRef<str>) {
        self.text.push_str(text.as_ref());
    }

    /// Begins the next line.
    pub fn line(&mut self, text: impl AsRef<str>) {
        self.text.push_str(if self.one_line { " " } else { "\n   " });
        self.text.push_str(text.as_ref());
    }

    /// The whole text: an empty line behind it, unless it is all on one line.
    pub fn finish(mut self) -> String {
        self.text.push_str(if self.one_line { "\n" } else { "\n\n" });
        self.text
    }
}

/// `YES` or `NO`.
pub fn yes_no(yes: bool) -> &'static str {
    if yes { "YES" } else { "NO" }
}

/// The text, or `(null)` for none.
pub fn or_null(text: &str) -> &str {
    if text.is_empty() { "(null)" } else { text }
}
