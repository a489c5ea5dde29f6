//! What is refused when a log is opened, and what the person is told.

use std::path::Path;

use daybook_log::conformance::sample;
use daybook_log::embedded::{EmbeddedLog, OpenError, OpenOptions, RecordedPosition};
use daybook_log::{AppendError, EventLog, ReadError};
use daybook_schemas::{Seq, Stream};
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::{STATE, child, open};

fn refusal(dir: &Path) -> OpenError {
    match EmbeddedLog::open(dir, OpenOptions::default()) {
        Ok(_) => panic!("{} was opened", dir.display()),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_log_shorter_than_a_recorded_position_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("log");
    let log = open(&dir);
    for name in ["a", "b", "c"] {
        log.append(sample::one(STATE, name)).await.unwrap();
    }
    drop(log);
    let with = |stream, seq| {
        let who = "the ledger in /srv/ledger".to_string();
        let recorded = vec![RecordedPosition { who, stream, seq: Seq(seq) }];
        EmbeddedLog::open(&dir, OpenOptions { recorded, ..OpenOptions::default() })
    };
    for (stream, seq, end) in [(STATE, 4, 3), (Stream::Detail, 1, 0)] {
        let error = with(stream, seq).err().expect("refused");
        assert!(matches!(error, OpenError::ShorterThanRecorded { .. }));
        let said = error.to_string();
        for part in [
            dir.display().to_string(),
            format!("ends at commit {end} of the {stream:?} stream"),
            format!("the ledger in /srv/ledger has recorded commit {seq}"),
            "backup".to_string(),
            "remove the ledger in /srv/ledger".to_string(),
        ] {
            assert!(said.contains(&part), "{part:?} in {said:?}");
        }
    }
    assert_eq!(with(STATE, 3).unwrap().end(STATE), Seq(3), "as long as recorded is long enough");
}

#[test]
fn a_second_process_is_refused_and_told_who_has_it() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("log");
    let log = open(&dir);
    let ask = || {
        let mut second = child::command("open", &dir).spawn().unwrap();
        let said: Vec<String> = child::lines(&mut second).collect();
        assert!(second.wait().unwrap().success());
        said.join("\n")
    };
    let said = ask();
    assert!(said.contains(&dir.display().to_string()) && said.contains("is in use by process"), "{said}");
    assert!(said.contains(&format!("process {};", std::process::id())), "{said}");
    assert!(matches!(refusal(&dir), OpenError::InUse { .. }), "and once more in the same process");
    drop(log);
    assert_eq!(ask(), "opened");
}

#[test]
fn a_directory_that_cannot_be_used_is_named_with_a_remedy() {
    let place = tempfile::tempdir().unwrap();
    let missing = place.path().join("none/log");
    let said = refusal(&missing).to_string();
    assert!(
        said.contains(&missing.display().to_string()) && said.contains("create the directory above"),
        "{said}"
    );
    assert!(!missing.exists(), "nothing was made");
    let file = place.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let said = refusal(&file).to_string();
    assert!(said.contains(&file.display().to_string()) && said.contains("name a directory"), "{said}");
}

#[test]
fn a_database_of_somebody_else_is_refused_and_left_as_it_is() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("log");
    drop(open(&dir));
    let current = dir.join("rocksdb/CURRENT");
    std::fs::write(&current, "MANIFEST-999999\n").unwrap();
    let said = refusal(&dir).to_string();
    assert!(said.contains(&dir.display().to_string()), "{said}");
    assert_eq!(std::fs::read_to_string(&current).unwrap(), "MANIFEST-999999\n");
}

/// A small file system in memory, gone again when dropped. `None`, with the reason printed, without the right to.
pub struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    pub fn mounted(size: &str) -> Option<SmallDisk> {
        let place = tempfile::tempdir().unwrap();
        let options = format!("size={size}");
        match mount(Some("tmpfs"), place.path(), Some("tmpfs"), MsFlags::empty(), Some(options.as_str())) {
            Ok(()) => Some(SmallDisk(place)),
            Err(error) => {
                println!("skipped: a tmpfs cannot be mounted here ({error}); run as root to test full disks");
                None
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    fn make_read_only(&self) {
        mount(
            None::<&str>,
            self.path(),
            None::<&str>,
            MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY,
            None::<&str>,
        )
        .unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if let Err(error) = umount2(self.0.path(), MntFlags::MNT_DETACH) {
            println!("{} stays mounted: {error}", self.0.path().display());
        }
    }
}

#[test]
fn a_read_only_or_full_file_system_is_named_with_a_remedy() {
    let Some(disk) = SmallDisk::mounted("4m") else { return };
    let dir = disk.path().join("log");
    drop(open(&dir));
    let filler = disk.path().join("filler");
    let full = std::fs::File::create(&filler).unwrap();
    let mut written = 0;
    while nix::unistd::write(&full, &[0; 4096]).is_ok_and(|count| count == 4096) {
        written += 1;
    }
    assert!(written > 10);
    let said = refusal(&dir).to_string();
    assert!(said.contains("No space left") && said.contains("free some space"), "{said}");
    drop(full);
    std::fs::remove_file(filler).unwrap();
    drop(open(&dir));
    disk.make_read_only();
    for dir in [dir, disk.path().join("another")] {
        let said = refusal(&dir).to_string();
        assert!(said.contains(&dir.display().to_string()), "{said}");
        assert!(
            said.contains("Read-only file system") && said.contains("mount the file system for writing"),
            "{said}"
        );
    }
}

#[tokio::test]
async fn a_closed_log_says_so_and_can_be_opened_again() {
    let place = tempfile::tempdir().unwrap();
    let dir = place.path().join("log");
    let log = open(&dir);
    log.append(sample::one(STATE, "a")).await.unwrap();
    let waiter = tokio::spawn({
        let log = log.clone();
        async move { log.wait_past(STATE, Seq(1)).await }
    });
    tokio::task::yield_now().await;
    log.close().await;
    assert!(matches!(waiter.await.unwrap(), Err(ReadError::Unavailable(_))));
    assert!(matches!(log.append(sample::one(STATE, "b")).await, Err(AppendError::Unavailable(_))));
    assert!(matches!(log.read(STATE, Seq(1), 1).await, Ok(_) | Err(ReadError::Unavailable(_))));
    assert!(matches!(log.find(STATE, &sample::event_id("a", 0)).await, Err(ReadError::Unavailable(_))));
    let again = open(&dir);
    assert_eq!(again.end(STATE), Seq(1));
}
