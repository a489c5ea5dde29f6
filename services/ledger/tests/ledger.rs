//! The ledger at the end of a log: catching up, crashes, what stops it, and its part of the interface.

mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use daybook_ledger::{Book, Ledger, LedgerError, LedgerOptions, router};
use daybook_log::clock::ManualClock;
use daybook_log::memory::MemoryLog;
use daybook_log::{Append, EventLog};
use daybook_schemas::api::{AccountingQuery, CapacityQuery, ErrorCode};
use daybook_schemas::run::EndCause;
use daybook_schemas::{Draft, Seq, Stream};
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn options(now: f64) -> LedgerOptions {
    LedgerOptions {
        patience: Duration::from_secs(20),
        ..LedgerOptions::with_clock(Arc::new(ManualClock::at(at(now))))
    }
}

fn history() -> Story {
    let mut story = Story::with_cluster();
    for job in 1..=20u32 {
        let second = f64::from(job) * 10.0;
        let id = format!("{job}.0");
        story
            .at(second)
            .submit(job, |_| ())
            .allocate(&id, vec![share("gpu01", "0", &[0])])
            .start(&id, "gpu01");
        story.at(second + 6.0).end(&id, "gpu01", EndCause::Exited, exit(0, 0)).release(&id, "gpu01");
    }
    story
}

/// Appends commits of a history as they are, with the log's clock set to their times.
async fn append(log: &MemoryLog, clock: &ManualClock, story: &Story) {
    let done = log.end(Stream::State).0 as usize;
    for commit in &story.commits[done..] {
        clock.set(commit.time);
        let draft = Draft { subject: commit.subject.clone(), expect: None, events: commit.events.clone() };
        log.append(Append { stream: Stream::State, draft, blobs: vec![] }).await.unwrap();
    }
}

async fn log_of(story: &Story) -> Arc<MemoryLog> {
    let clock = Arc::new(ManualClock::at(at(0.0)));
    let log = MemoryLog::with_clock(clock.clone());
    append(&log, &clock, story).await;
    log
}

fn hash(dir: &Path) -> String {
    Book::open(dir).unwrap().hash().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_with_everything_that_was_acknowledged_before_it() {
    let (dir, story) = (tempfile::tempdir().unwrap(), history());
    let clock = Arc::new(ManualClock::at(at(0.0)));
    let log = MemoryLog::with_clock(clock.clone());
    let ledger = Ledger::open(dir.path(), log.clone(), options(500.0)).unwrap();
    for part in [3, 40, story.commits.len()] {
        let part = Story { commits: story.commits[..part].to_vec(), ..story.clone() };
        append(&log, &clock, &part).await;
        let answer = ledger.query(AccountingQuery::default()).await.unwrap();
        assert_eq!(answer.complete_up_to, log.end(Stream::State));
        assert_eq!(answer.now, at(500.0));
    }
    let answer =
        ledger.query(AccountingQuery { allocations_only: true, ..Default::default() }).await.unwrap();
    assert_eq!((answer.cluster.as_str(), answer.records.len()), ("tx", 20));
    let report = ledger.verify().await.unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!((report.records, report.position), (20, log.end(Stream::State)));
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_crash_it_goes_on_where_its_rows_are() {
    let (dir, whole, story) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), history());
    Book::open(whole.path()).unwrap().post(&story.commits).unwrap();
    let half = story.commits.len() / 2;
    Book::open(dir.path()).unwrap().post(&story.commits[..half]).unwrap();
    assert_eq!(Ledger::recorded_position(dir.path()).unwrap(), Seq(half as u64));
    let log = log_of(&story).await;
    let ledger = Ledger::open(dir.path(), log.clone(), options(500.0)).unwrap();
    ledger.caught_up().await.unwrap();
    assert_eq!(
        Ledger::recorded_position(dir.path()).unwrap(),
        log.end(Stream::State),
        "read beside the open one"
    );
    drop(ledger);
    let reopened = loop {
        // The follower lets go of the rows when its task has ended.
        match Book::open(dir.path()) {
            Ok(book) => break book,
            Err(LedgerError::Storage { why, .. }) if why.contains("lock") => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(reopened.hash().unwrap(), hash(whole.path()));
}

#[test]
fn a_batch_is_posted_whole_or_not_at_all() {
    let (dir, story) = (tempfile::tempdir().unwrap(), history());
    let book = Book::open(dir.path()).unwrap();
    book.post(&story.commits[..10]).unwrap();
    let before = book.hash().unwrap();
    let mut gap = story.commits[10..20].to_vec();
    gap.remove(5);
    let error = book.post(&gap).unwrap_err();
    assert_eq!(error, LedgerError::Unposted { seq: Seq(17), why: "it came where 16 should have".into() });
    assert_eq!(book.hash().unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_commit_stops_it_and_questions_say_so() {
    let (dir, story) = (tempfile::tempdir().unwrap(), history());
    let log = log_of(&story).await;
    log.damage(Stream::State, Seq(50));
    let ledger = Ledger::open(dir.path(), log.clone(), options(500.0)).unwrap();
    let error = ledger.query(AccountingQuery::default()).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::NotReady);
    assert!(error.to_string().contains("commit 50 of the State stream is unreadable"), "{error}");
    assert!(ledger.stopped().is_some());
    assert!(ledger.position() < Seq(50));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_barrier_of_a_newer_format_stops_it_behind_what_it_understands() {
    let (dir, mut story) = (tempfile::tempdir().unwrap(), history());
    let before = Seq(story.commits.len() as u64);
    story
        .at(900.0)
        .add(daybook_schemas::events::LogVersionBarrier { format_version: 99, reason: "test".into() });
    story.submit(77, |_| ());
    let log = log_of(&story).await;
    let ledger = Ledger::open(dir.path(), log.clone(), options(500.0)).unwrap();
    let error = ledger.capacity(CapacityQuery::default()).await.unwrap_err();
    assert!(error.to_string().contains("use a newer daybook"), "{error}");
    assert_eq!(ledger.position(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_is_shorter_than_the_ledger_is_another_log() {
    let (dir, story) = (tempfile::tempdir().unwrap(), history());
    Book::open(dir.path()).unwrap().post(&story.commits).unwrap();
    let short = Story { commits: story.commits[..5].to_vec(), ..story.clone() };
    let log = log_of(&short).await;
    match Ledger::open(dir.path(), log, options(0.0)) {
        Err(LedgerError::LogTooShort { posted, end }) => {
            assert_eq!((posted.0, end.0), (story.commits.len() as u64, 5));
        }
        other => panic!("{:?}", other.err()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_that_are_turned_away_are_tried_again() {
    let (dir, story) = (tempfile::tempdir().unwrap(), history());
    let log = log_of(&story).await;
    log.refuse_reads(2);
    let ledger = Ledger::open(dir.path(), log.clone(), options(500.0)).unwrap();
    ledger.caught_up().await.unwrap();
    assert_eq!(ledger.position(), log.end(Stream::State));
}

#[test]
fn rows_of_another_version_are_thrown_away() {
    let (dir, story) = (tempfile::tempdir().unwrap(), history());
    Book::open(dir.path()).unwrap().post(&story.commits).unwrap();
    {
        let mut options = rocksdb::Options::default();
        options.create_if_missing(false);
        let tables = rocksdb::DB::list_cf(&options, dir.path().join("rows")).unwrap();
        let db = rocksdb::DB::open_cf(&options, dir.path().join("rows"), tables).unwrap();
        db.put(b"schema", b"0").unwrap();
    }
    // What a kill in the middle of an earlier throwing away has left.
    std::fs::create_dir_all(dir.path().join("discarded").join("x")).unwrap();
    let book = Book::open(dir.path()).unwrap();
    assert_eq!(book.position().unwrap(), Seq::ZERO);
    assert!(!dir.path().join("discarded").exists());
    book.post(&story.commits).unwrap();
    assert_eq!(book.accounting(&AccountingQuery::default(), at(500.0)).unwrap().records.len(), 40);
}

#[test]
fn a_second_process_on_the_same_rows_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let book = Book::open(dir.path()).unwrap();
    assert!(matches!(Book::open(dir.path()), Err(LedgerError::Storage { .. })));
    assert_eq!(Ledger::recorded_position(dir.path()).unwrap(), Seq::ZERO);
    assert_eq!(Ledger::recorded_position(&dir.path().join("nothing")).unwrap(), Seq::ZERO);
    drop(book);
}

async fn ask(socket: &Path, path: &str, body: &str) -> (u16, serde_json::Value) {
    let mut stream = tokio::net::UnixStream::connect(socket).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    (status, serde_json::from_str(body).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_interface_answers_and_refuses_in_json() {
    let (dir, story) = (tempfile::tempdir().unwrap(), history());
    let log = log_of(&story).await;
    let ledger = Ledger::open(&dir.path().join("ledger"), log, options(500.0)).unwrap();
    let socket = dir.path().join("socket");
    let listener = tokio::net::UnixListener::bind(&socket).unwrap();
    let server = tokio::spawn(axum::serve(listener, router(ledger)).into_future());
    let (status, answer) =
        ask(&socket, "/v1/accounting/query", r#"{"jobs":[{"job":3}],"allocations_only":true}"#).await;
    assert_eq!((status, answer["records"][0]["state"].as_str()), (200, Some("COMPLETED")));
    assert_eq!(answer["records"].as_array().unwrap().len(), 1);
    let (status, answer) = ask(&socket, "/v1/ledger/capacity", r#"{"nodes":["gpu01"]}"#).await;
    assert_eq!((status, answer["rows"][1]["gpu"].as_str()), (200, Some("gpu01/gpu0")));
    // 20 runs of 6 seconds each.
    assert_eq!(answer["rows"][1]["seconds"]["allocated"], 120);
    let (status, error) = ask(&socket, "/v1/accounting/query", "{").await;
    assert_eq!((status, error["code"].as_str()), (400, Some("invalid_request")));
    let backwards = r#"{"start":"2026-12-02T00:00:02.000000Z","end":"2026-12-02T00:00:01.000000Z"}"#;
    let (status, error) = ask(&socket, "/v1/ledger/capacity", backwards).await;
    assert_eq!((status, error["message"].as_str()), (400, Some("the window ends before it starts")));
    server.abort();
}
