//! A run's record as its supervisor writes it: what the agent must know is written however long the disk does not take it.

use std::io::{self, Write as _};
use std::time::Duration;

use crate::records::{Entry, Exit, Trouble};
use crate::run_files::{RecordWriter, RunFiles};

/// What a supervisor writes on its standard output once the script's process exists and the record says so.
pub const STARTED_LINE: &str = "started\n";
/// What it writes when its record has something else that the agent should know before the run's end.
pub const NEWS_LINE: &str = "news\n";
/// While the disk does not take an entry: between tries, doubled from the first to the last.
const BACKOFF: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(5)];

/// A run's record and its files.
pub struct Journal<'a> {
    /// The run's files.
    pub files: &'a RunFiles,
    record: RecordWriter,
    is_over: bool,
}

impl Journal<'_> {
    /// Goes on with a record that has the claim.
    pub fn new(files: &RunFiles, record: RecordWriter) -> Journal<'_> {
        Journal { files, record, is_over: false }
    }

    /// Adds an entry if the disk takes it.
    pub fn note(&mut self, entry: &Entry) {
        let _ = self.record.add(entry);
    }

    /// Adds an entry, and comes back when it is there.
    pub fn add(&mut self, entry: &Entry) {
        self.insist(|record| record.add(entry));
    }

    /// The script has ended, and clearing up will take a while: from here on its end is known, whatever becomes of this
    /// process. The first counts.
    pub fn over(&mut self, exit: &Exit) {
        if !std::mem::replace(&mut self.is_over, true) {
            let entry = Entry::Over(exit.clone());
            self.insist(|record| record.add_synced(&entry));
            say(NEWS_LINE);
        }
    }

    /// The node has something that an administrator must see.
    pub fn trouble(&mut self, trouble: Trouble) {
        let entry = Entry::Troubled(trouble);
        self.insist(|record| record.add_synced(&entry));
        say(NEWS_LINE);
    }

    /// Nothing of the run is left. Until this is written the run is not over for anybody.
    pub fn end(mut self, exit: Exit) {
        let entry = Entry::Ended(exit);
        self.insist(|record| record.add_synced(&entry));
    }

    /// Tries until it is written. If the order is gone, nobody wants to know.
    fn insist(&mut self, write: impl Fn(&mut RecordWriter) -> io::Result<()>) {
        let mut pause = BACKOFF[0];
        while write(&mut self.record).is_err() && self.files.order().exists() {
            std::thread::sleep(pause);
            pause = (pause * 2).min(BACKOFF[1]);
        }
    }
}

/// To the agent, if it listens; it finds all in the record as well.
pub(crate) fn say(line: &str) {
    let mut out = io::stdout();
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}
