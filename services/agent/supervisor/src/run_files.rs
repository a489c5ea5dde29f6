//! A run's files. They are few on purpose: short jobs come in hundreds per second, and file systems are slow at making
//! and removing files.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use daybook_schemas::RunId;
use nix::fcntl::{Flock, FlockArg};

use crate::records::{Entry, Intent, Record, Wish};

const ORDER: &str = ".order";
const RECORD: &str = ".record";
const WISH: &str = ".wish";
const WISH_UNFINISHED: &str = ".wish.new";

/// The files of one run: a common path, with an ending for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFiles {
    base: PathBuf,
}

/// What an order file holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// There is none.
    None,
    /// One that was not written to its end, or is damaged.
    Torn,
    /// The intent, and the environment (NUL-terminated `NAME=value`).
    Whole(Box<Intent>, Vec<u8>),
}

/// A lock on the order, as its supervisor holds it.
#[derive(Debug)]
pub struct Lock(Flock<File>);

impl RunFiles {
    /// Those of a run in a directory of runs.
    pub fn of(runs: &Path, run: RunId) -> RunFiles {
        RunFiles { base: runs.join(run.to_string()) }
    }

    /// Those with this common path.
    pub fn at(base: PathBuf) -> RunFiles {
        RunFiles { base }
    }

    /// The common path: what a supervisor is called with.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// The runs that have a file in this directory.
    pub fn runs_in(runs: &Path) -> Vec<RunId> {
        let mut found: Vec<RunId> = Vec::new();
        for entry in std::fs::read_dir(runs).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let run: Option<RunId> = name.to_str().and_then(|name| {
                [ORDER, RECORD, WISH].iter().find_map(|ending| name.strip_suffix(ending))?.parse().ok()
            });
            found.extend(run);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The intent's file.
    pub fn order(&self) -> PathBuf {
        self.with(ORDER)
    }

    /// The record's.
    pub fn record(&self) -> PathBuf {
        self.with(RECORD)
    }

    /// The wish's.
    pub fn wish(&self) -> PathBuf {
        self.with(WISH)
    }

    fn with(&self, ending: &str) -> PathBuf {
        let mut path = OsString::from(&self.base);
        path.push(ending);
        path.into()
    }

    /// Puts an intent on stable storage, its name too. One that was cut off before is written over.
    pub fn write_order(&self, intent: &Intent, environment: &[u8]) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(intent)?;
        bytes.push(b'\n');
        bytes.extend_from_slice(environment);
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(self.order())?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        match self.base.parent() {
            Some(runs) => File::open(runs)?.sync_all(),
            None => Ok(()),
        }
    }

    /// Reads the intent.
    pub fn read_order(&self) -> io::Result<Order> {
        let mut bytes = match std::fs::read(self.order()) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Order::None),
            Err(error) => return Err(error),
        };
        let Some(line) = bytes.iter().position(|byte| *byte == b'\n') else { return Ok(Order::Torn) };
        let environment = bytes.split_off(line + 1);
        match serde_json::from_slice::<Intent>(&bytes) {
            Ok(intent) if intent.environment_bytes == environment.len() as u64 => {
                Ok(Order::Whole(Box::new(intent), environment))
            }
            _ => Ok(Order::Torn),
        }
    }

    /// Locks the order for the one who supervises; `None` if somebody does, or there is no order.
    pub fn lock(&self) -> io::Result<Option<Lock>> {
        let file = match File::open(self.order()) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Flock::lock(file, FlockArg::LockExclusiveNonblock).ok().map(Lock))
    }

    /// Whether somebody supervises.
    pub fn is_locked(&self) -> bool {
        match File::open(self.order()) {
            // Shared, so that two who look do not take each other for a supervisor.
            Ok(file) => Flock::lock(file, FlockArg::LockSharedNonblock).is_err(),
            Err(_) => false,
        }
    }

    /// Claims the run for who holds the lock: makes its record. `None`: it is claimed, or has been over for long.
    pub fn claim(&self, lock: &Lock) -> io::Result<Option<RecordWriter>> {
        let made = OpenOptions::new().append(true).create_new(true).mode(0o600).open(self.record());
        let file = match made {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(error) => return Err(error),
        };
        // Removing a run starts with its order: if that has no name any more, this record is not the run's.
        if lock.0.metadata().map_or(0, |order| order.nlink()) == 0 {
            let _ = std::fs::remove_file(self.record());
            return Ok(None);
        }
        Ok(Some(RecordWriter { file, bytes: 0 }))
    }

    /// The record; `None` where there is none.
    pub fn read_record(&self) -> io::Result<Option<Record>> {
        match std::fs::read(self.record()) {
            Ok(bytes) => Ok(Some(Record::parse(&bytes))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Puts a wish in its place, whole or not at all.
    pub fn write_wish(&self, wish: &Wish) -> io::Result<()> {
        let temporary = self.with(WISH_UNFINISHED);
        std::fs::write(&temporary, serde_json::to_vec(wish)?)?;
        std::fs::rename(&temporary, self.wish())
    }

    /// The wish, if the agent has written one.
    pub fn read_wish(&self) -> Option<Wish> {
        serde_json::from_slice(&std::fs::read(self.wish()).ok()?).ok()
    }

    /// Removes the files, the order first: what is there without one holds nothing. The record goes last, so that a
    /// removal that was cut off is seen and done to its end; `and_then` removes what the run has elsewhere.
    pub fn remove(&self, and_then: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        if self.order().exists() {
            OpenOptions::new().append(true).create(true).mode(0o600).open(self.record())?;
        }
        remove_if_there(&self.order())?;
        and_then()?;
        remove_if_there(&self.wish())?;
        remove_if_there(&self.with(WISH_UNFINISHED))?;
        remove_if_there(&self.record())
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A record that is being written.
#[derive(Debug)]
pub struct RecordWriter {
    file: File,
    bytes: u64,
}

impl RecordWriter {
    /// Adds a line, whole or not at all.
    pub fn add(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        match self.file.write_all(&line) {
            Ok(()) => {
                self.bytes += line.len() as u64;
                Ok(())
            }
            Err(error) => {
                let _ = self.file.set_len(self.bytes);
                Err(error)
            }
        }
    }

    /// Adds a line that is on stable storage when this comes back. The record's name is not synced apart: if a power cut
    /// took it, the intent's boot would still say that the run must not start again.
    pub fn add_synced(&mut self, entry: &Entry) -> io::Result<()> {
        let before = self.bytes;
        self.add(entry)?;
        self.file.sync_all().inspect_err(|_| {
            let _ = self.file.set_len(before);
            self.bytes = before;
        })
    }
}

#[cfg(test)]
mod tests;
