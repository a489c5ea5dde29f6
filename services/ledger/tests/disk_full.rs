//! A full disk: the ledger waits, says so, and goes on by itself. Needs root, for a small tmpfs:
//! `cargo test --release -p daybook-ledger --test disk_full -- --ignored`.

mod support;

use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use daybook_ledger::{Ledger, LedgerOptions};
use daybook_log::clock::ManualClock;
use daybook_log::memory::MemoryLog;
use daybook_log::{Append, EventLog};
use daybook_schemas::api::{AccountingQuery, ErrorCode};
use daybook_schemas::{Draft, Seq, Stream};
use support::*;

/// Writes until the disk is full, and leaves a mebibyte.
fn fill(path: &std::path::Path) {
    let mut file = std::fs::File::create(path).unwrap();
    let mut written: u64 = 0;
    while file.write_all(&[1; 1 << 16]).is_ok() {
        written += 1 << 16;
    }
    file.set_len(written.saturating_sub(1 << 20)).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "mounts a tmpfs, which takes root"]
async fn after_a_full_disk_it_goes_on_by_itself_and_has_lost_and_doubled_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mount = |arguments: &[&str]| {
        assert!(Command::new(arguments[0]).args(&arguments[1..]).status().unwrap().success())
    };
    let path = dir.path().to_str().unwrap().to_string();
    mount(&["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", &path]);
    let filler = dir.path().join("filler");
    let rows = dir.path().join("ledger");
    let clock = Arc::new(ManualClock::at(at(0.0)));
    let log = MemoryLog::with_clock(clock.clone());
    let options = LedgerOptions {
        patience: Duration::from_secs(2),
        ..LedgerOptions::with_clock(Arc::new(ManualClock::at(at(1e6))))
    };
    let ledger = Ledger::open(&rows, log.clone(), options).unwrap();
    let mut story = Story::with_cluster();
    for job in 1..=20_000 {
        story.at(f64::from(job)).submit(job, |spec| spec.submit_line = format!("{job:04000}"));
    }
    fill(&filler);
    for commit in &story.commits {
        clock.set(commit.time);
        let draft = Draft { subject: commit.subject.clone(), expect: None, events: commit.events.clone() };
        log.append(Append { stream: Stream::State, draft, blobs: vec![] }).await.unwrap();
    }
    let Err(error) = ledger.query(AccountingQuery::default()).await else {
        panic!("answered from a full disk")
    };
    assert_eq!(error.code, ErrorCode::NotReady);
    assert!(error.to_string().contains("No space left"), "{error}");
    assert!(ledger.position() > Seq::ZERO && ledger.stopped().is_none());

    mount(&["mount", "-o", "remount,size=512m", &path]);
    let mut tries = 0;
    let answer = loop {
        match ledger.query(AccountingQuery::default()).await {
            Ok(answer) => break answer,
            Err(error) if tries < 10 => eprintln!("{error}"),
            Err(error) => panic!("{error}"),
        }
        tries += 1;
    };
    assert_eq!(answer.records.len(), 20_000);
    let report = ledger.verify().await.unwrap();
    assert!(report.is_clean(), "{report:?}");
    drop(ledger);
    mount(&["umount", "-l", &path]);
}
