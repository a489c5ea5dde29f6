//! The log on RocksDB: the rules of every log, and what is special to one that lies on a disk.

mod child;
mod conformance;
mod damage;
mod failing_disk;
mod kill;
mod opening;
mod torn_tail;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use daybook_log::EventLog;
use daybook_log::embedded::{EmbeddedLog, OpenOptions};
use daybook_schemas::{Commit, Seq, Stream};
use tempfile::TempDir;

const STATE: Stream = Stream::State;

fn open(dir: &Path) -> Arc<EmbeddedLog> {
    EmbeddedLog::open(dir, OpenOptions::default()).unwrap()
}

/// A directory for tests that open hundreds of logs: in memory, where the machine has such a place.
fn quick_directory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

async fn read_all(log: &EmbeddedLog) -> Vec<Arc<Commit>> {
    let end = log.end(STATE);
    let mut commits: Vec<Arc<Commit>> = Vec::new();
    while Seq(commits.len() as u64) < end {
        let more = log.read(STATE, Seq(commits.len() as u64 + 1), 1000).await.unwrap();
        assert!(!more.is_empty(), "commit {} of {end} is not there", commits.len() + 1);
        commits.extend(more);
    }
    for (number, commit) in commits.iter().enumerate() {
        assert_eq!(commit.seq, Seq(number as u64 + 1));
    }
    commits
}

/// The database's files with this extension, oldest first.
fn files_of(log: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(log.join("rocksdb"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

/// A copy of a closed log.
fn copy_of(log: &Path, to: &Path) {
    let database = to.join("rocksdb");
    std::fs::create_dir_all(&database).unwrap();
    for entry in std::fs::read_dir(log.join("rocksdb")).unwrap() {
        let entry = entry.unwrap();
        // RocksDB's own diary is of no use in a copy.
        if !entry.file_name().to_string_lossy().starts_with("LOG") {
            std::fs::copy(entry.path(), database.join(entry.file_name())).unwrap();
        }
    }
}
