//! Bits that flipped, and rows that went: found, said, never skipped.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use daybook_log::conformance::sample;
use daybook_log::embedded::{EmbeddedLog, OpenError, OpenOptions};
use daybook_log::{EventLog, ReadError};
use daybook_schemas::{BlobHash, Commit, Seq, Stream};
use rocksdb::{DB, Options};
use tempfile::TempDir;

use super::{STATE, copy_of, files_of, open, quick_directory, read_all};

const COMMITS: u64 = 40;

/// A closed log of [`COMMITS`] commits, in the write-ahead file only.
async fn written() -> (TempDir, PathBuf, Vec<Arc<Commit>>) {
    let place = quick_directory();
    let dir = place.path().join("log");
    drop(open(&dir));
    let log = open(&dir);
    for number in 0..COMMITS {
        log.append(sample::one(STATE, &format!("{number}"))).await.unwrap();
    }
    let commits = read_all(&log).await;
    drop(log);
    (place, dir, commits)
}

fn flip(file: &Path, byte: usize) {
    let mut bytes = std::fs::read(file).unwrap();
    bytes[byte] ^= 0x10;
    std::fs::write(file, bytes).unwrap();
}

/// Reads up to the first error.
async fn readable(log: &EmbeddedLog) -> (Vec<Arc<Commit>>, Option<ReadError>) {
    let mut commits = Vec::new();
    loop {
        match log.read(STATE, Seq(commits.len() as u64 + 1), 7).await {
            Ok(more) if more.is_empty() => return (commits, None),
            Ok(more) => commits.extend(more),
            Err(error) => return (commits, Some(error)),
        }
    }
}

#[tokio::test]
async fn a_bit_flipped_in_a_write_ahead_file_never_gives_a_wrong_commit() {
    let (place, dir, whole) = written().await;
    let wal = files_of(&dir, "log").pop().unwrap();
    let length = std::fs::metadata(&wal).unwrap().len() as usize;
    let (mut refused, mut shortened) = (0, 0);
    for byte in (length / 3..length / 2).step_by(3) {
        let damaged = place.path().join("damaged");
        copy_of(&dir, &damaged);
        flip(&damaged.join("rocksdb").join(wal.file_name().unwrap()), byte);
        match EmbeddedLog::open(&damaged, OpenOptions::default()) {
            Err(OpenError::Damaged { .. }) => refused += 1,
            Err(error) => panic!("byte {byte}: {error}"),
            Ok(log) => {
                // A record whose length was made larger than the file looks like one that was not finished.
                let (commits, error) = readable(&log).await;
                assert!(error.is_none() && commits.len() < whole.len(), "byte {byte}: {error:?}");
                assert_eq!(commits, whole[..commits.len()], "byte {byte}");
                shortened += 1;
            }
        }
        std::fs::remove_dir_all(&damaged).unwrap();
    }
    assert!(refused > 20 * shortened, "{refused} refused, {shortened} shortened");
}

#[tokio::test]
async fn a_bit_flipped_in_a_table_is_an_unreadable_commit() {
    let (place, dir, whole) = written().await;
    // Recovery moves what is in the write-ahead file into tables.
    drop(open(&dir));
    let mut found = 0;
    for table in files_of(&dir, "sst") {
        let length = std::fs::metadata(&table).unwrap().len() as usize;
        for byte in (0..length).step_by(length / 23 + 1) {
            let damaged = place.path().join("damaged");
            copy_of(&dir, &damaged);
            flip(&damaged.join("rocksdb").join(table.file_name().unwrap()), byte);
            match EmbeddedLog::open(&damaged, OpenOptions::default()) {
                Err(error) => {
                    assert!(matches!(error, OpenError::Damaged { .. }), "byte {byte}: {error}");
                    found += 1;
                }
                Ok(log) => {
                    let (commits, error) = readable(&log).await;
                    assert_eq!(commits, whole[..commits.len()], "byte {byte} of {}", table.display());
                    match error {
                        None => assert_eq!(commits.len(), whole.len()),
                        Some(ReadError::Unreadable { seq, .. }) => {
                            assert_eq!(seq, Seq(commits.len() as u64 + 1));
                            found += 1;
                        }
                        Some(error) => panic!("byte {byte}: {error}"),
                    }
                }
            }
            std::fs::remove_dir_all(&damaged).unwrap();
        }
    }
    assert!(found > 20, "{found} flips were found");
}

type Change = fn(&DB);

/// Changes a closed log's rows behind its back, with RocksDB's own checksums right.
fn tamper(dir: &Path, change: impl FnOnce(&DB)) {
    let families = ["default", "state", "detail", "ids", "subjects", "blobs", "meta"];
    change(&DB::open_cf(&Options::default(), dir.join("rocksdb"), families).unwrap());
}

fn key(seq: u64) -> [u8; 8] {
    seq.to_be_bytes()
}

#[tokio::test]
async fn a_changed_or_missing_record_stops_reading_in_front_of_it() {
    let (place, dir, whole) = written().await;
    let cases: [(&str, &str, Change); 4] = [
        ("changed", "damaged", |db| {
            let state = db.cf_handle("state").unwrap();
            let mut record = db.get_cf(state, key(5)).unwrap().unwrap();
            let middle = record.len() / 2;
            record[middle] ^= 1;
            db.put_cf(state, key(5), record).unwrap();
        }),
        ("missing", "it is missing", |db| db.delete_cf(db.cf_handle("state").unwrap(), key(5)).unwrap()),
        ("at another's place", "says that it is commit 6", |db| {
            let state = db.cf_handle("state").unwrap();
            let other = db.get_cf(state, key(6)).unwrap().unwrap();
            db.put_cf(state, key(5), other).unwrap();
        }),
        ("empty", "fewer than a checksum", |db| {
            db.put_cf(db.cf_handle("state").unwrap(), key(5), b"").unwrap()
        }),
    ];
    for (what, said, change) in cases {
        let damaged = place.path().join("damaged");
        copy_of(&dir, &damaged);
        tamper(&damaged, change);
        let log = open(&damaged);
        let (commits, error) = readable(&log).await;
        assert_eq!(commits, whole[..4], "{what}");
        match error {
            Some(ReadError::Unreadable { stream: STATE, seq: Seq(5), why }) => {
                assert!(why.contains(said), "{why}")
            }
            other => panic!("{what}: {other:?}"),
        }
        drop(log);
        std::fs::remove_dir_all(&damaged).unwrap();
    }
}

#[tokio::test]
async fn an_end_that_does_not_agree_with_itself_is_not_opened() {
    let (place, dir, _) = written().await;
    let cases: [(&str, Change); 7] = [
        ("records go from 1 to 39", |db| db.delete_cf(db.cf_handle("state").unwrap(), key(40)).unwrap()),
        ("records go from 2 to 40", |db| db.delete_cf(db.cf_handle("state").unwrap(), key(1)).unwrap()),
        ("commit 38 of the State stream is unreadable", |db| {
            db.delete_cf(db.cf_handle("state").unwrap(), key(38)).unwrap();
        }),
        ("event 39-0 of commit 40 is not in the index", |db| {
            db.delete_cf(db.cf_handle("ids").unwrap(), b"s39-0").unwrap();
        }),
        ("is not in the index of subjects", |db| {
            db.delete_cf(db.cf_handle("subjects").unwrap(), b"sjobs").unwrap()
        }),
        ("subject jobs has commit 99 in its index", |db| {
            db.put_cf(db.cf_handle("subjects").unwrap(), b"sjobs", key(99)).unwrap();
        }),
        ("commits 1 to 41", |db| db.put_cf(db.cf_handle("meta").unwrap(), b"end/s", key(41)).unwrap()),
    ];
    for (said, change) in cases {
        let damaged = place.path().join("damaged");
        copy_of(&dir, &damaged);
        tamper(&damaged, change);
        match EmbeddedLog::open(&damaged, OpenOptions::default()) {
            Ok(_) => panic!("opened, although {said}"),
            Err(error) => {
                let text = error.to_string();
                assert!(
                    matches!(error, OpenError::Damaged { .. }) && text.contains(said),
                    "{said:?} in {text:?}"
                );
            }
        }
        std::fs::remove_dir_all(&damaged).unwrap();
    }
}

#[tokio::test]
async fn a_layout_of_a_newer_program_is_not_opened() {
    let (_place, dir, _) = written().await;
    tamper(&dir, |db| db.put_cf(db.cf_handle("meta").unwrap(), b"format", 2u32.to_be_bytes()).unwrap());
    let error = EmbeddedLog::open(&dir, OpenOptions::default()).err().expect("refused");
    assert!(matches!(error, OpenError::NewerLayout { found: 2, known: 1, .. }), "{error}");
}

#[tokio::test]
async fn an_event_of_a_newer_program_is_unreadable_and_says_what_to_do() {
    let (_place, dir, _) = written().await;
    tamper(&dir, |db| {
        let state = db.cf_handle("state").unwrap();
        let record = db.get_cf(state, key(5)).unwrap().unwrap();
        let text =
            String::from_utf8(record[4..].to_vec()).unwrap().replace("job.released.v1", "job.released.v9");
        let mut record = crc32c::crc32c(text.as_bytes()).to_be_bytes().to_vec();
        record.extend_from_slice(text.as_bytes());
        db.put_cf(state, key(5), record).unwrap();
    });
    let (commits, error) = readable(&open(&dir)).await;
    assert_eq!(commits.len(), 4);
    let said = error.unwrap().to_string();
    assert!(said.contains("job.released.v9") && said.contains("newer daybook"), "{said}");
}

#[tokio::test]
async fn a_damaged_blob_is_found_and_mended_by_whoever_brings_it_again() {
    let place = quick_directory();
    let dir = place.path().join("log");
    let blob = sample::blob(1, 1000);
    let hash = BlobHash::of(&blob);
    let bring = |name: &str, stream: Stream| {
        let mut append = sample::one(stream, name);
        append.blobs = vec![blob.clone()];
        append
    };
    let log = open(&dir);
    log.append(bring("a", STATE)).await.unwrap();
    drop(log);
    tamper(&dir, |db| {
        let blobs = db.cf_handle("blobs").unwrap();
        let (key, mut bytes) = db.iterator_cf(blobs, rocksdb::IteratorMode::Start).next().unwrap().unwrap();
        bytes[500] ^= 1;
        db.put_cf(blobs, key, bytes).unwrap();
    });
    let log = open(&dir);
    assert_eq!(log.blob(&hash).await, Err(ReadError::DamagedBlob(hash.clone())));
    log.append(bring("b", Stream::Detail)).await.unwrap();
    assert_eq!(log.blob(&hash).await, Ok(Some(blob)));
}
