//! What a supervisor writes down about its run: one JSON document a line.

use std::io::Write as _;
use std::path::Path;

use daybook_schemas::UtcMicros;
use daybook_schemas::run::{EndCause, ExitStatus, ProcessUsage};
use serde::{Deserialize, Serialize};

/// One line of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A supervisor has claimed the run. Always the first line.
    Claimed(ProcessMark),
    /// The script's process exists.
    Started(ProcessMark),
    /// The run is over, and nothing of it is left. Always the last line.
    Ended(End),
}

/// A process, so that another one that got its number later is not taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMark {
    /// When this was written.
    pub at: UtcMicros,
    /// Its process id.
    pub pid: i32,
    /// Its start by the kernel, in clock ticks since boot.
    pub start_ticks: u64,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// When the script ended (or failed to start).
    pub at: UtcMicros,
    /// What made it end.
    pub cause: EndCause,
    /// How the script itself ended.
    pub exit: ExitStatus,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the script and its children used; absent where there was no process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ProcessUsage>,
}

/// A record as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Who supervises, or did.
    pub claimed: Option<ProcessMark>,
    /// The script's process.
    pub started: Option<ProcessMark>,
    /// The end.
    pub ended: Option<End>,
}

/// Slurm's exit status of a job that could not be launched: `0:53`.
pub const LAUNCH_FAILED: ExitStatus = ExitStatus { code: 0, signal: 53 };

impl Record {
    /// Reads a record's bytes. A line that is not whole (its writer died in the middle) says nothing.
    pub fn parse(bytes: &[u8]) -> Record {
        let mut record = Record::default();
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Entry::Claimed(mark)) => record.claimed = Some(mark),
                Ok(Entry::Started(mark)) => record.started = Some(mark),
                Ok(Entry::Ended(end)) => record.ended = Some(end),
                Err(_) => break,
            }
        }
        record
    }
}

/// A record that is being written.
pub struct Writer {
    file: std::fs::File,
}

impl Writer {
    /// Claims a run: gives `None` if somebody else has.
    pub fn claim(path: &Path) -> std::io::Result<Option<Writer>> {
        match std::fs::OpenOptions::new().append(true).create_new(true).open(path) {
            Ok(file) => Ok(Some(Writer { file })),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Adds a line, in one write.
    pub fn add(&mut self, entry: &Entry) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.file.write_all(&line)
    }

    /// Puts all lines, and the file's name in `directory`, on stable storage.
    pub fn sync(&self, directory: &Path) -> std::io::Result<()> {
        self.file.sync_all()?;
        std::fs::File::open(directory)?.sync_all()
    }

    /// Takes back a line that could not be written whole, so that the next try starts on a line of its own.
    pub fn truncate_to(&self, bytes: u64) -> std::io::Result<()> {
        self.file.set_len(bytes)
    }

    /// The record's length.
    pub fn bytes(&self) -> std::io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(pid: i32) -> ProcessMark {
        ProcessMark { at: UtcMicros(1_000_000), pid, start_ticks: 7 }
    }

    #[test]
    fn a_record_says_what_its_whole_lines_say() {
        let end = End {
            at: UtcMicros(2_000_000),
            cause: EndCause::Exited,
            exit: ExitStatus { code: 3, signal: 0 },
            message: None,
            usage: Some(ProcessUsage::default()),
        };
        let mut bytes = Vec::new();
        for entry in [Entry::Claimed(mark(10)), Entry::Started(mark(11)), Entry::Ended(end.clone())] {
            bytes.extend(serde_json::to_vec(&entry).unwrap());
            bytes.push(b'\n');
        }
        let whole = Record::parse(&bytes);
        assert_eq!(whole, Record { claimed: Some(mark(10)), started: Some(mark(11)), ended: Some(end) });
        let lines: Vec<usize> = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at).collect();
        for cut in 0..bytes.len() - 1 {
            let torn = Record::parse(&bytes[..cut]);
            assert_eq!(torn.claimed.is_some(), cut >= lines[0], "cut at {cut}");
            assert_eq!(torn.started.is_some(), cut >= lines[1], "cut at {cut}");
            assert_eq!(torn.ended.is_some(), cut >= lines[2], "cut at {cut}");
        }
    }

    #[test]
    fn only_one_claims() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("record");
        assert!(Writer::claim(&path).unwrap().is_some());
        assert!(Writer::claim(&path).unwrap().is_none());
    }
}
