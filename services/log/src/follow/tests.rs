use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use daybook_schemas::{BlobHash, Commit, EventId, Fold, Seq, Stream, Subject};
use tokio::sync::Notify;

use super::{Live, NotReady};
use crate::conformance::sample;
use crate::memory::MemoryLog;
use crate::{Append, AppendError, Appended, Durability, EventLog, LogHandle, ReadError};

const STATE: Stream = Stream::State;
const PATIENCE: Duration = Duration::from_secs(20);

/// Counts events; refuses commits with an event called `bad`, after having counted it.
#[derive(Clone, Debug, Default)]
struct Count {
    at: Seq,
    events: usize,
    _alive: Arc<()>,
}

impl Fold for Count {
    fn position(&self) -> Seq {
        self.at
    }

    fn apply(&mut self, commit: &Commit) -> Result<(), String> {
        self.events += commit.events.len();
        if commit.events.iter().any(|event| event.id.0.starts_with("bad")) {
            return Err("this one is bad".to_string());
        }
        self.at = commit.seq;
        Ok(())
    }
}

fn start(log: &Arc<MemoryLog>) -> Live<Count> {
    Live::start(log.clone(), STATE, Count::default())
}

async fn stopped_because(live: &Live<Count>, seq: Seq) -> String {
    match live.at_least(seq, PATIENCE).await {
        Err(NotReady::Stopped(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// Lets the one thread of the runtime run everything that can run.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_was_acknowledged_is_in_the_current_snapshot() {
    let log = MemoryLog::new();
    for number in 0..2000 {
        log.append(sample::one(STATE, &format!("early {number}"))).await.unwrap();
    }
    let live = start(&log);
    assert_eq!(live.current(PATIENCE).await.unwrap().events, 2000, "more than one batch");
    for number in 1..=50 {
        log.append(sample::one(STATE, &format!("{number}"))).await.unwrap();
        assert_eq!(live.current(PATIENCE).await.unwrap().events, 2000 + number);
    }
    assert_eq!(live.now().at, Seq(2050));
}

#[tokio::test]
async fn patience_ends_with_where_the_projection_is() {
    let log = MemoryLog::new();
    log.append(sample::one(STATE, "a")).await.unwrap();
    let live = start(&log);
    live.current(PATIENCE).await.unwrap();
    let behind = live.at_least(Seq(2), Duration::from_millis(1)).await;
    assert_eq!(behind.err(), Some(NotReady::Behind { at: Seq(1), wanted: Seq(2) }));
}

#[tokio::test]
async fn at_least_wakes_with_the_commit() {
    let log = MemoryLog::new();
    let live = start(&log);
    let waiter = tokio::spawn({
        let live = live.clone();
        async move { live.at_least(Seq(2), PATIENCE).await }
    });
    log.append(sample::one(STATE, "a")).await.unwrap();
    settle().await;
    assert!(!waiter.is_finished());
    log.append(sample::one(STATE, "b")).await.unwrap();
    assert_eq!(waiter.await.unwrap().unwrap().at, Seq(2));
}

#[tokio::test]
async fn an_unreadable_commit_stops_it_with_the_last_good_state() {
    let log = MemoryLog::new();
    for name in ["a", "b", "c"] {
        log.append(sample::one(STATE, name)).await.unwrap();
    }
    log.damage(STATE, Seq(3));
    let live = start(&log);
    let mut snapshots = live.subscribe();
    let why = stopped_because(&live, Seq(3)).await;
    assert!(why.contains("commit 3") && why.contains("unreadable"), "{why}");
    assert_eq!(live.now().events, 2, "what was good is still there");
    assert_eq!(live.at_least(Seq(2), PATIENCE).await.unwrap().at, Seq(2));
    while snapshots.changed().await.is_ok() {}
}

#[tokio::test]
async fn a_commit_that_cannot_be_folded_stops_it_in_front_of_that_one() {
    let log = MemoryLog::new();
    for name in ["a", "b", "bad", "c"] {
        log.append(sample::one(STATE, name)).await.unwrap();
    }
    let live = start(&log);
    assert_eq!(stopped_because(&live, Seq(3)).await, "commit 3: this one is bad");
    assert_eq!((live.now().at, live.now().events), (Seq(2), 2), "nothing of the bad one");
}

#[tokio::test]
async fn a_log_shorter_than_the_projection_stops_it() {
    let log = MemoryLog::new();
    log.append(sample::one(STATE, "a")).await.unwrap();
    let live = Live::start(log.clone(), STATE, Count { at: Seq(5), ..Count::default() });
    let why = stopped_because(&live, Seq(6)).await;
    assert!(why.contains("commit 5") && why.contains("ends at 1"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_log_that_is_away_for_a_moment_is_tried_again() {
    let log = MemoryLog::new();
    log.append(sample::one(STATE, "a")).await.unwrap();
    log.refuse_reads(7);
    let live = start(&log);
    assert_eq!(live.at_least(Seq(1), PATIENCE).await.unwrap().events, 1);
}

#[tokio::test]
async fn a_closed_log_ends_it_and_the_last_snapshot_stays() {
    let log = MemoryLog::new();
    log.append(sample::one(STATE, "a")).await.unwrap();
    let live = start(&log);
    live.current(PATIENCE).await.unwrap();
    log.reopen();
    assert_eq!(stopped_because(&live, Seq(2)).await, "its task has ended");
    assert_eq!(live.now().events, 1);
}

#[tokio::test]
async fn dropping_every_handle_ends_its_task() {
    let log = MemoryLog::new();
    let alive = Arc::new(());
    let live = Live::start(log.clone(), STATE, Count { _alive: alive.clone(), ..Count::default() });
    let (other, snapshots) = (live.clone(), live.subscribe());
    settle().await;
    drop(live);
    drop(snapshots);
    settle().await;
    assert!(Arc::strong_count(&alive) > 1, "one handle is left");
    drop(other);
    settle().await;
    assert_eq!(Arc::strong_count(&alive), 1, "the task has let go of its state");
    assert_eq!(Arc::strong_count(&log), 1, "and of the log");
}

/// A log that leaves out a commit, and counts its reads.
struct Gappy {
    whole: Arc<MemoryLog>,
    skipped: Option<Seq>,
    reads: AtomicUsize,
    read: Notify,
}

#[async_trait]
impl EventLog for Gappy {
    async fn append(&self, append: Append) -> Result<Appended, AppendError> {
        self.whole.append(append).await
    }

    async fn read(&self, stream: Stream, from: Seq, limit: usize) -> Result<Vec<Arc<Commit>>, ReadError> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.read.notify_one();
        let mut commits = self.whole.read(stream, from, limit).await?;
        commits.retain(|commit| Some(commit.seq) != self.skipped);
        Ok(commits)
    }

    fn end(&self, stream: Stream) -> Seq {
        self.whole.end(stream)
    }

    async fn wait_past(&self, stream: Stream, seq: Seq) -> Result<Seq, ReadError> {
        self.whole.wait_past(stream, seq).await
    }

    async fn find(&self, stream: Stream, event: &EventId) -> Result<Option<Seq>, ReadError> {
        self.whole.find(stream, event).await
    }

    async fn subject_end(&self, stream: Stream, subject: &Subject) -> Result<Seq, ReadError> {
        self.whole.subject_end(stream, subject).await
    }

    async fn blob(&self, hash: &BlobHash) -> Result<Option<Arc<[u8]>>, ReadError> {
        self.whole.blob(hash).await
    }

    fn durability(&self) -> Durability {
        Durability::Volatile
    }
}

fn gappy(skipped: Option<Seq>) -> Arc<Gappy> {
    Arc::new(Gappy { whole: MemoryLog::new(), skipped, reads: AtomicUsize::new(0), read: Notify::new() })
}

#[tokio::test]
async fn a_gap_stops_it_in_front_of_the_gap() {
    let log = gappy(Some(Seq(2)));
    for name in ["a", "b", "c"] {
        log.append(sample::one(STATE, name)).await.unwrap();
    }
    let live: Live<Count> = Live::start(log, STATE, Count::default());
    assert_eq!(stopped_because(&live, Seq(3)).await, "commit 3 came where 2 should have");
    assert_eq!(live.now().at, Seq(1));
}

#[tokio::test]
async fn at_the_end_it_waits_without_reading() {
    let log = gappy(None);
    let handle: LogHandle = log.clone();
    let live: Live<Count> = Live::start(handle, STATE, Count::default());
    log.read.notified().await;
    settle().await;
    assert_eq!(log.reads.load(Ordering::SeqCst), 1, "it found nothing, and waits");
    log.append(sample::one(Stream::Detail, "elsewhere")).await.unwrap();
    settle().await;
    assert_eq!(log.reads.load(Ordering::SeqCst), 1);
    log.append(sample::one(STATE, "a")).await.unwrap();
    live.current(PATIENCE).await.unwrap();
    settle().await;
    assert_eq!(log.reads.load(Ordering::SeqCst), 3, "one for the commit, one that found nothing more");
}
