//! Opening a log: what is checked before it is used, and what a person is told when that fails.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, RwLock, mpsc};

use daybook_schemas::{Seq, Stream};

use super::owner::Owner;
use super::shared::Shared;
use super::store::{Access, LAYOUT_VERSION, Store};
use super::writer::Writer;
use super::{EmbeddedLog, tail};
use crate::admission::{PerStream, Tail};
use crate::clock::{Clock, SystemClock};

/// How a log is opened.
pub struct OpenOptions {
    /// Where commits' timestamps come from.
    pub clock: Arc<dyn Clock>,
    /// What projections and snapshots say that they have read: the log must be at least as long.
    pub recorded: Vec<RecordedPosition>,
}

impl Default for OpenOptions {
    /// The machine's clock, and nothing recorded.
    fn default() -> OpenOptions {
        OpenOptions { clock: Arc::new(SystemClock), recorded: Vec::new() }
    }
}

/// A position that somebody has read and keeps beside the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPosition {
    /// Who keeps it, and where, as a person would look for it: `the ledger in /var/lib/daybook/ledger`.
    pub who: String,
    /// Which stream.
    pub stream: Stream,
    /// The last commit read.
    pub seq: Seq,
}

/// Why a log was not opened. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error(
        "the log in {} is in use by {}; two processes cannot write one log: stop the other one, or use another directory",
        dir.display(), Owned(*pid)
    )]
    InUse {
        /// The log's directory.
        dir: PathBuf,
        /// The other process, where it is known.
        pid: Option<u32>,
    },
    /// Commits that somebody has read are not there.
    #[error(
        "the log in {} ends at commit {end} of the {stream:?} stream, but {who} has recorded commit {recorded}: \
         commits are missing. Bring the log back from a backup; or, if that history is really given up, remove \
         {who}, so that it is rebuilt from the log as it is",
        dir.display()
    )]
    ShorterThanRecorded {
        /// The log's directory.
        dir: PathBuf,
        /// Which stream.
        stream: Stream,
        /// Where it ends.
        end: Seq,
        /// Who has read further.
        who: String,
        /// How far.
        recorded: Seq,
    },
    /// The directory cannot be used.
    #[error("the log needs {}: {source}; {remedy}", path.display())]
    Directory {
        /// What was touched.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
        /// What to do.
        remedy: &'static str,
    },
    /// What is in the directory is not a whole log.
    #[error(
        "the log in {} is damaged: {why}. Nothing was changed. Look for errors of the disk; keep a copy of the \
         directory, and bring the log back from a backup",
        dir.display()
    )]
    Damaged {
        /// The log's directory.
        dir: PathBuf,
        /// What was found.
        why: String,
    },
    /// A newer program made it.
    #[error(
        "the log in {} has layout {found}, and this program knows layouts up to {known}: use the version that wrote \
         it, or a later one",
        dir.display()
    )]
    NewerLayout {
        /// The log's directory.
        dir: PathBuf,
        /// Its layout.
        found: u32,
        /// The newest that is known here.
        known: u32,
    },
    /// A copy of a log that was interrupted.
    #[error(
        "the log in {} is an unfinished copy; make it again with \"daybook log copy\", which goes on where it stopped",
        dir.display()
    )]
    Unfinished {
        /// The log's directory.
        dir: PathBuf,
    },
    /// The database could not be opened.
    #[error("the log in {} cannot be opened: {why}; {remedy}", dir.display())]
    Store {
        /// The log's directory.
        dir: PathBuf,
        /// What the database said.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
}

struct Owned(Option<u32>);

impl std::fmt::Display for Owned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(pid) => write!(f, "process {pid}"),
            None => f.write_str("another process"),
        }
    }
}

const MAKE_SPACE: &str = "free some space on that file system";
const MAKE_WRITABLE: &str = "mount the file system for writing, or use a directory on another";

impl OpenError {
    pub(super) fn directory(path: &Path, source: io::Error) -> OpenError {
        let remedy = match source.kind() {
            io::ErrorKind::NotFound => "create the directory above it, or correct the path",
            io::ErrorKind::PermissionDenied => "let this user write there, or run as the user that owns it",
            io::ErrorKind::ReadOnlyFilesystem => MAKE_WRITABLE,
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => MAKE_SPACE,
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => "name a directory, not a file",
            _ => "look at that path and its file system",
        };
        OpenError::Directory { path: path.to_path_buf(), source, remedy }
    }

    fn store(dir: &Path, why: String) -> OpenError {
        let dir = dir.to_path_buf();
        // RocksDB gives its errors as text; these are the system's own words in it.
        let remedy = if why.contains("No space left") || why.contains("quota exceeded") {
            MAKE_SPACE
        } else if why.contains("Read-only file system") {
            MAKE_WRITABLE
        } else if why.contains("Permission denied") {
            "let this user write to every file in it, or run as the user that owns them"
        } else if why.starts_with("Corruption") || why.starts_with("Invalid argument") {
            return OpenError::Damaged { dir, why };
        } else {
            "look at the directory and its file system"
        };
        OpenError::Store { dir, why, remedy }
    }
}

impl EmbeddedLog {
    /// Opens the log in `dir`, or makes a new one there; the directory above must exist.
    ///
    /// Refuses a log that is in use, damaged at its end, or shorter than a recorded position. It blocks for as long
    /// as the recovery of unfinished files takes (well under a second for the 32 MiB that there are at most).
    pub fn open(dir: &Path, options: OpenOptions) -> Result<Arc<EmbeddedLog>, OpenError> {
        let (shared, end) = open_store(dir)?;
        check_recorded(dir, &end.tails, &options.recorded)?;
        #[cfg(feature = "jetstream")]
        refuse_unfinished(dir, &shared)?;
        let (queue, requests) = mpsc::channel();
        let writer = Writer::new(shared.clone(), options.clock, end, requests);
        let thread = std::thread::Builder::new()
            .name("log-writer".to_string())
            .spawn(move || writer.run())
            .map_err(|error| OpenError::Store {
            dir: dir.to_path_buf(),
            why: format!("no thread for its writer: {error}"),
            remedy: "raise the limit of processes for this user",
        })?;
        Ok(Arc::new(EmbeddedLog {
            shared,
            queue: RwLock::new(Some(queue)),
            writer: Mutex::new(Some(thread)),
        }))
    }
}

/// Nobody appends to a copy that is not whole.
#[cfg(feature = "jetstream")]
fn refuse_unfinished(dir: &Path, shared: &Shared) -> Result<(), OpenError> {
    use super::replica::{UNFINISHED, YES};
    let store = shared.store();
    let note = store.as_ref().map(|store| store.note(UNFINISHED)).transpose();
    match note.map_err(|why| OpenError::store(dir, why))?.flatten().as_deref() {
        Some(YES) => Err(OpenError::Unfinished { dir: dir.to_path_buf() }),
        _ => Ok(()),
    }
}

/// Opens the store in `dir`, or makes one there, and checks its end.
pub(super) fn open_store(dir: &Path) -> Result<(Arc<Shared>, tail::LogEnd), OpenError> {
    make_directory(dir)?;
    let owner = Owner::take(dir)?;
    let store = Store::open(&dir.join("rocksdb"), Access::ReadWrite)
        .map_err(|error| OpenError::store(dir, error.into_string()))?;
    check_layout(dir, &store)?;
    let end = tail::check(&store).map_err(|why| OpenError::Damaged { dir: dir.to_path_buf(), why })?;
    let shared = Arc::new(Shared::new(dir, owner, store, &end.tails));
    Ok((shared, end))
}

fn make_directory(dir: &Path) -> Result<(), OpenError> {
    let failed = |error| OpenError::directory(dir, error);
    match std::fs::create_dir(dir) {
        Ok(()) => {
            // The name of a log that has acknowledged something must survive a power cut too.
            let parent =
                dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            std::fs::File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(error) => Err(failed(error)),
    }
}

fn check_layout(dir: &Path, store: &Store) -> Result<(), OpenError> {
    match store.layout_version().map_err(|why| OpenError::store(dir, why))? {
        None => store.write_layout_version().map_err(|why| OpenError::store(dir, why)),
        Some(found) if found <= LAYOUT_VERSION => Ok(()),
        Some(found) => Err(OpenError::NewerLayout { dir: dir.to_path_buf(), found, known: LAYOUT_VERSION }),
    }
}

pub(crate) fn check_recorded(
    dir: &Path,
    tails: &PerStream<Tail>,
    recorded: &[RecordedPosition],
) -> Result<(), OpenError> {
    for position in recorded {
        let end = tails.get(position.stream).seq;
        if position.seq > end {
            return Err(OpenError::ShorterThanRecorded {
                dir: dir.to_path_buf(),
                stream: position.stream,
                end,
                who: position.who.clone(),
                recorded: position.seq,
            });
        }
    }
    Ok(())
}
