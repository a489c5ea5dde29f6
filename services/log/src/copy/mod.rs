//! Moves a log: every commit with its sequence number, its time and its bytes, and every blob, from a directory to a bus or
//! from a bus to a directory. The other side is read again afterwards and compared byte for byte.
//!
//! A copy that was interrupted is marked, so that nobody appends to it, and goes on where it stopped when it is made again.
//! What is there already is compared first. Nobody may append to either log meanwhile: a directory is locked, and on a bus
//! every message expects its very place.

mod compare;
mod to_bus;
mod to_directory;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use daybook_schemas::{BlobHash, Body, Commit, Seq, Stream};

pub use to_bus::to_bus;
pub use to_directory::to_directory;

use crate::admission::PerStream;
use crate::embedded::OpenError;
use crate::jetstream::{Bus, BusError};

/// Where a log on a bus is, and what it must be like.
#[derive(Clone, Debug)]
pub struct BusLog {
    /// The bus.
    pub bus: Bus,
    /// The cluster's name.
    pub cluster: String,
    /// On how many servers each message lies, where the streams are made: 1, 3 or 5.
    pub replicas: usize,
    /// Monitoring endpoints of the servers, one of each.
    pub monitor_urls: Vec<String>,
    /// Use servers although they do not sync before they acknowledge, or do not say.
    pub accept_unsynced: bool,
}

/// What a copy is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Comparing what both logs have.
    Comparing,
    /// Copying what one of them lacks.
    Copying,
}

/// How far it is: a stream's commits up to the second of the third.
pub type Progress<'a> = &'a (dyn Fn(Step, Stream, Seq, Seq) + Sync);

/// What a copy has come to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyReport {
    /// Commits of both streams in the copy, all of them compared.
    pub commits: u64,
    /// Of those, commits that were there before.
    pub found: u64,
    /// Blobs that were looked up and are there now.
    pub blobs: u64,
    /// Blobs that commits name and the source does not have either.
    pub missing_blobs: u64,
}

/// Why a copy was not finished. Made again, it goes on where it stopped.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// There is no log in the directory.
    #[error("there is no log in {}; name the state directory of a daemon that has stopped", .0.display())]
    NoLog(PathBuf),
    /// The directory's log cannot be opened.
    #[error(transparent)]
    Directory(#[from] OpenError),
    /// The log on the bus cannot be opened.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// They are not the same log.
    #[error(
        "the logs differ at commit {seq} of the {stream:?} stream ({what}): the destination has another history. Nothing was \
         changed there; choose an empty destination"
    )]
    Different {
        /// Which stream.
        stream: Stream,
        /// Where.
        seq: Seq,
        /// How.
        what: String,
    },
    /// The destination has more than the source.
    #[error(
        "the destination's {stream:?} stream ends at commit {destination}, the source's at {source_end}: the destination has gone on"
    )]
    Longer {
        /// Which stream.
        stream: Stream,
        /// The destination's end.
        destination: Seq,
        /// The source's end.
        source_end: Seq,
    },
    /// Something on the way.
    #[error("{0}; what has been copied stays, and the same command goes on from there")]
    Interrupted(String),
}

fn interrupted(why: impl std::fmt::Display) -> CopyError {
    CopyError::Interrupted(why.to_string())
}

/// Commits read at once.
const BATCH: usize = 512;
/// Blobs that are remembered as done; others are looked up once more.
const BLOBS_REMEMBERED_MAX: usize = 1_000_000;

/// Both streams' last commits.
type Ends = PerStream<Seq>;

/// The directory of the log in a state directory, or the directory itself where it is a log's.
fn log_directory(dir: &Path) -> PathBuf {
    match dir.join("rocksdb").is_dir() {
        true => dir.to_path_buf(),
        false => dir.join("log"),
    }
}

/// Which blobs have been seen to; each is looked up once.
#[derive(Default)]
struct BlobsDone(BTreeSet<BlobHash>);

impl BlobsDone {
    /// Blobs that these commits name and that have not been seen to.
    fn named<'c>(&self, commits: impl Iterator<Item = &'c Commit>) -> BTreeSet<BlobHash> {
        let specs = commits.flat_map(|commit| &commit.events).filter_map(|event| match &event.body {
            Body::JobSubmitted(data) => Some(&data.spec),
            _ => None,
        });
        let named = specs.flat_map(|spec| [&spec.script, &spec.environment]);
        named.filter(|hash| !hash.0.is_empty() && !self.0.contains(*hash)).cloned().collect()
    }

    fn add(&mut self, hash: BlobHash) {
        if self.0.len() < BLOBS_REMEMBERED_MAX {
            self.0.insert(hash);
        }
    }
}
