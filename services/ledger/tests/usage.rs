//! What is seen of runs while they run: the detail stream's rows, and what sacct makes of them.

mod support;

use std::sync::Arc;
use std::time::Duration;

use daybook_ledger::{Book, Ledger, LedgerError, LedgerOptions};
use daybook_log::clock::ManualClock;
use daybook_log::memory::MemoryLog;
use daybook_log::{Append, EventLog};
use daybook_schemas::api::{AccountingQuery, AccountingRecord, RecordKind};
use daybook_schemas::events::{RunEnded, RunLost, RunUsage};
use daybook_schemas::run::{EndCause, ProcessUsage};
use daybook_schemas::{Actor, Commit, Draft, Event, NodeName, Seq, Stream, Subject};
use support::*;

/// An observation at a second: of a run on gpu01, since when, CPU seconds, KiB.
fn seen(second: f64, since: Option<f64>, cpu: u64, kib: u64) -> (f64, RunUsage) {
    let usage = RunUsage {
        run: run("1.0"),
        node: NodeName::from("gpu01"),
        observed_since: since.map(at),
        user_cpu_us: cpu * 1_000_000,
        system_cpu_us: cpu * 1_000,
        resident_kib: kib,
        read_bytes: Some(cpu * 100),
        written_bytes: None,
        processes: 2,
    };
    (second, usage)
}

fn commits(observations: Vec<(f64, RunUsage)>) -> Vec<Arc<Commit>> {
    let commit = |(number, (second, usage)): (usize, (f64, RunUsage))| {
        let source = format!("agent/{}", usage.node);
        let event = Event {
            id: format!("{source}/{}/usage/{number}", usage.run).into(),
            source: source.clone(),
            time: at(second),
            actor: Actor::service(source),
            cause: None,
            body: usage.into(),
        };
        let subject = Subject::Node("gpu01".into());
        Arc::new(Commit {
            seq: Seq(number as u64 + 1),
            time: at(second.max(40.0)),
            subject,
            events: vec![event],
        })
    };
    observations.into_iter().enumerate().map(commit).collect()
}

fn running() -> Story {
    let mut story = Story::with_cluster();
    story.at(10.0).submit(1, |_| ()).allocate("1.0", vec![share("gpu01", "0", &[0])]).start("1.0", "gpu01");
    story
}

fn records(book: &Book) -> Vec<AccountingRecord> {
    book.accounting(&AccountingQuery::default(), at(200.0)).unwrap().records
}

fn batch(book: &Book) -> AccountingRecord {
    records(book).into_iter().find(|record| record.kind == RecordKind::BatchStep).unwrap()
}

#[test]
fn a_running_job_shows_what_was_seen_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let book = Book::open(dir.path()).unwrap();
    book.post(&running().commits).unwrap();
    assert_eq!((batch(&book).usage, batch(&book).observed), (None, None));
    let observations = vec![seen(41.0, None, 5, 300), seen(71.0, Some(41.0), 9, 200)];
    assert_eq!(book.post_detail(&commits(observations)), Ok(Seq(2)));
    let usage = ProcessUsage {
        user_cpu_us: 9_000_000,
        system_cpu_us: 9_000,
        max_rss_kib: 300,
        read_bytes: Some(900),
        written_bytes: None,
    };
    assert_eq!(batch(&book).usage, Some(usage));
    assert_eq!(records(&book)[0].usage, Some(usage), "the job's line too");
    let observed = batch(&book).observed.unwrap();
    assert_eq!((observed.at, observed.resident_kib, observed.processes), (at(71.0), 200, 2));
    assert_eq!(observed.observed_seconds, 30);
}

#[test]
fn the_end_adds_to_what_was_seen_and_takes_nothing_away() {
    let dir = tempfile::tempdir().unwrap();
    let book = Book::open(dir.path()).unwrap();
    let told = ProcessUsage { user_cpu_us: 11_000_000, max_rss_kib: 250, ..ProcessUsage::default() };
    let mut story = running();
    let end = RunEnded {
        run: run("1.0"),
        node: NodeName::from("gpu01"),
        cause: EndCause::Exited,
        exit: exit(0, 0),
        message: None,
        usage: Some(told),
    };
    story.at(90.0).add(end).release("1.0", "gpu01");
    book.post(&story.commits).unwrap();
    assert_eq!(batch(&book).usage, Some(told));
    // Also where the other stream comes later.
    book.post_detail(&commits(vec![seen(41.0, None, 5, 300)])).unwrap();
    let usage = batch(&book).usage.unwrap();
    assert_eq!((usage.user_cpu_us, usage.max_rss_kib, usage.read_bytes), (11_000_000, 300, Some(500)));
}

#[test]
fn a_lost_run_has_used_what_was_seen() {
    let dir = tempfile::tempdir().unwrap();
    let book = Book::open(dir.path()).unwrap();
    let mut story = running();
    let lost = RunLost {
        run: run("1.0"),
        node: NodeName::from("gpu01"),
        last_evidence: at(71.0),
        message: "its supervisor is gone".into(),
    };
    story.at(90.0).add(lost).release("1.0", "gpu01");
    book.post(&story.commits).unwrap();
    book.post_detail(&commits(vec![seen(71.0, None, 5, 300)])).unwrap();
    assert_eq!(batch(&book).usage.unwrap().user_cpu_us, 5_000_000);
}

#[test]
fn gaps_resets_and_odd_clocks_do_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let book = Book::open(dir.path()).unwrap();
    book.post(&running().commits).unwrap();
    let observations = vec![
        seen(41.0, None, 50, 300),
        // The agent was away: what lies between was not observed.
        seen(141.0, None, 60, 100),
        // A counter that went back.
        seen(151.0, Some(141.0), 1, 100),
        // The node's clock went back, and says so of the time before.
        seen(31.0, Some(151.0), 61, 100),
        // The same stretch twice.
        seen(151.0, Some(141.0), 61, 100),
        // A clock that is far ahead: nobody saw anything after the log had it.
        (161.0, RunUsage { observed_since: Some(at(151.0)), ..seen(0.0, None, 62, 100).1 }),
    ];
    let mut commits = commits(observations);
    let ahead = Arc::make_mut(commits.last_mut().unwrap());
    ahead.events[0].time = at(1e9);
    book.post_detail(&commits).unwrap();
    let record = batch(&book);
    assert_eq!(record.usage.unwrap().user_cpu_us, 62_000_000);
    let observed = record.observed.unwrap();
    assert_eq!((observed.at, observed.observed_seconds), (at(161.0), 20));
}

#[test]
fn a_node_says_nothing_of_the_runs_of_others() {
    let dir = tempfile::tempdir().unwrap();
    let book = Book::open(dir.path()).unwrap();
    book.post(&running().commits).unwrap();
    let mut foreign = commits(vec![seen(41.0, None, 5, 300)]);
    Arc::make_mut(&mut foreign[0]).subject = Subject::Node("gpu02".into());
    book.post_detail(&foreign).unwrap();
    assert_eq!(batch(&book).usage, None);
    assert!(book.post_detail(&foreign).is_err(), "a commit is posted once");
}

#[tokio::test]
async fn the_ledger_follows_both_streams_and_a_fresh_one_is_the_same() {
    let clock = Arc::new(ManualClock::at(at(0.0)));
    let log = MemoryLog::with_clock(clock.clone());
    let put = async |stream: Stream, commit: &Commit| {
        clock.set(commit.time);
        let draft = Draft { subject: commit.subject.clone(), expect: None, events: commit.events.clone() };
        log.append(Append { stream, draft, blobs: Vec::new() }).await.unwrap();
    };
    for commit in &running().commits {
        put(Stream::State, commit).await;
    }
    let dir = tempfile::tempdir().unwrap();
    let options = LedgerOptions {
        patience: Duration::from_secs(20),
        ..LedgerOptions::with_clock(Arc::new(ManualClock::at(at(200.0))))
    };
    let ledger = Ledger::open(dir.path(), log.clone(), options.clone()).unwrap();
    for commit in commits(vec![seen(41.0, None, 5, 300), seen(71.0, Some(41.0), 9, 200)]) {
        put(Stream::Detail, &commit).await;
        let answer = ledger.query(AccountingQuery::default()).await.unwrap();
        assert!(answer.records[0].observed.is_some(), "what was in the log at the question is answered");
    }
    let report = ledger.verify().await.unwrap();
    assert!(report.is_clean(), "{report:?}");
    drop(ledger);
    // Opened again it goes on where it was, in each stream.
    let ledger = loop {
        // The followers let go of the rows when their tasks have ended.
        match Ledger::open(dir.path(), log.clone(), options.clone()) {
            Ok(ledger) => break ledger,
            Err(LedgerError::Storage { why, .. }) if why.contains("lock") => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    };
    ledger.caught_up().await.unwrap();
    assert!(ledger.verify().await.unwrap().is_clean());
}
