//! Servers that die, and several processes at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use daybook_log::conformance::sample;
use daybook_log::jetstream::{JetStreamLog, JetStreamOptions};
use daybook_log::{Append, AppendError, EventLog};
use daybook_nats_server::{NatsCluster, NatsServer, Settings};
use daybook_schemas::{Commit, Seq, Stream, Subject};
use nix::sys::signal::Signal;

use crate::support::{open, options};

const STATE: Stream = Stream::State;
const PATIENCE: Duration = Duration::from_secs(60);

/// Appends to a subject of its own until told to stop; gives the places of what was acknowledged.
async fn write(log: Arc<JetStreamLog>, writer: usize, stop: Arc<AtomicBool>) -> Vec<(String, Seq)> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let name = format!("{writer}.{number}");
        let draft = sample::draft(Subject::Node(format!("n{writer}").into()), &name, 1);
        let appended = log.append(Append { stream: STATE, draft, blobs: Vec::new() }).await;
        match appended {
            Ok(appended) => acknowledged.push((name, appended.seq)),
            Err(AppendError::Unavailable(_)) => {}
            Err(AppendError::Unknown(_)) => {
                // Looked up, as a writer does.
                if let Ok(Some(seq)) = log.find(STATE, &sample::event_id(&name, 0)).await {
                    acknowledged.push((name, seq));
                }
            }
            Err(error) => panic!("{error}"),
        }
    }
    acknowledged
}

async fn reached(log: &JetStreamLog, seq: Seq) {
    if seq > Seq::ZERO {
        tokio::time::timeout(PATIENCE, log.wait_past(STATE, Seq(seq.0 - 1))).await.unwrap().unwrap();
    }
}

async fn all(log: &JetStreamLog) -> Vec<Arc<Commit>> {
    let mut commits: Vec<Arc<Commit>> = Vec::new();
    while Seq(commits.len() as u64) < log.end(STATE) {
        let more = log.read(STATE, Seq(commits.len() as u64 + 1), 1000).await.unwrap();
        assert!(!more.is_empty());
        commits.extend(more);
    }
    commits
}

async fn check(log: &JetStreamLog, acknowledged: Vec<Vec<(String, Seq)>>) {
    let acknowledged: Vec<(String, Seq)> = acknowledged.into_iter().flatten().collect();
    assert!(!acknowledged.is_empty());
    let last = acknowledged.iter().map(|(_, seq)| *seq).max().unwrap();
    reached(log, last).await;
    let commits = all(log).await;
    for (name, seq) in &acknowledged {
        assert_eq!(commits[seq.0 as usize - 1].events[0].id, sample::event_id(name, 0), "commit {seq}");
    }
    let mut ids: Vec<_> = commits.iter().flat_map(|commit| &commit.events).map(|event| &event.id).collect();
    let count = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), count, "an event came in twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_loses_nothing_and_appends_wait_for_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = NatsServer::start(&dir.path().join("nats"), &Settings::default()).unwrap();
    let log = open(options(&server, &dir.path().join("copy"))).await.unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> =
        (0..4).map(|writer| tokio::spawn(write(log.clone(), writer, stop.clone()))).collect();
    let mut before = Seq::ZERO;
    for round in 0..3 {
        reached(&log, Seq(before.0 + 50)).await;
        server.kill();
        tokio::time::sleep(Duration::from_millis(100 * round)).await;
        server.restart().unwrap();
        before = log.end(STATE);
    }
    reached(&log, Seq(before.0 + 50)).await;
    stop.store(true, Ordering::SeqCst);
    let mut acknowledged = Vec::new();
    for writer in writers {
        acknowledged.push(writer.await.unwrap());
    }
    check(&log, acknowledged).await;
    // A copy made from nothing is the same, byte for byte.
    let fresh = open(options(&server, &dir.path().join("fresh"))).await.unwrap();
    let bytes = |commits: Vec<Arc<Commit>>| {
        commits.iter().map(|commit| commit.to_bytes().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(bytes(all(&log).await), bytes(all(&fresh).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stands_still_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let server = NatsServer::start(&dir.path().join("nats"), &Settings::default()).unwrap();
    let log = open(options(&server, &dir.path().join("copy"))).await.unwrap();
    log.append(sample::one(STATE, "before")).await.unwrap();
    server.signal(Signal::SIGSTOP).unwrap();
    let appending = tokio::spawn({
        let log = log.clone();
        async move { log.append(sample::one(STATE, "while it stands")).await }
    });
    // Longer than the wait for one acknowledgement, so that the append is sent again.
    tokio::time::sleep(Duration::from_secs(6)).await;
    server.signal(Signal::SIGCONT).unwrap();
    assert_eq!(appending.await.unwrap().unwrap().seq, Seq(2));
    assert_eq!(log.append(sample::one(STATE, "after")).await.unwrap().seq, Seq(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_write_one_subject_take_turns() {
    let dir = tempfile::tempdir().unwrap();
    let server = NatsServer::start(&dir.path().join("nats"), &Settings::default()).unwrap();
    let mut logs = Vec::new();
    for name in ["one", "two", "three"] {
        logs.push(open(options(&server, &dir.path().join(name))).await.unwrap());
    }
    let writers: Vec<_> = logs
        .iter()
        .enumerate()
        .map(|(writer, log)| {
            let log = log.clone();
            tokio::spawn(async move {
                for number in 0..30 {
                    log.append(sample::one(STATE, &format!("{writer}.{number}"))).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let refused = logs[0].append(sample::one(STATE, "1.7")).await;
    assert!(matches!(refused, Err(AppendError::Duplicate { .. })), "{refused:?}");
    for log in &logs {
        reached(log, Seq(90)).await;
        assert_eq!(all(log).await.len(), 90);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_servers_outlive_any_one_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut cluster = NatsCluster::start(&dir.path().join("nats"), &Settings::default()).unwrap();
    let mut options = options(&cluster.servers[0], &dir.path().join("copy"));
    options.bus.servers = cluster.urls();
    let options = JetStreamOptions { replicas: 3, monitor_urls: cluster.monitor_urls(), ..options };
    let log = open(options).await.unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> =
        (0..2).map(|writer| tokio::spawn(write(log.clone(), writer, stop.clone()))).collect();
    let mut before = Seq::ZERO;
    for victim in 0..3 {
        reached(&log, Seq(before.0 + 30)).await;
        cluster.servers[victim].kill();
        // The others go on without it.
        before = log.end(STATE);
        reached(&log, Seq(before.0 + 30)).await;
        cluster.servers[victim].restart().unwrap();
        before = log.end(STATE);
    }
    reached(&log, Seq(before.0 + 30)).await;
    stop.store(true, Ordering::SeqCst);
    let mut acknowledged = Vec::new();
    for writer in writers {
        acknowledged.push(writer.await.unwrap());
    }
    check(&log, acknowledged).await;
}
