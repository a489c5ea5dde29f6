//! A log moves from a directory to a server and back, whole.

use std::path::Path;
use std::sync::Arc;

use daybook_log::clock::{Clock, ManualClock};
use daybook_log::conformance::sample;
use daybook_log::copy::{BusLog, CopyError, CopyReport, Progress, Step, to_bus, to_directory};
use daybook_log::embedded::{EmbeddedLog, OpenError, OpenOptions};
use daybook_log::jetstream::{Bus, BusError};
use daybook_log::{Append, EventLog};
use daybook_nats_server::{NatsServer, Settings};
use daybook_schemas::{BlobHash, Body, Commit, Draft, Seq, Stream, Subject, UtcMicros};

use crate::support::{open, options};

fn bus_log(server: &NatsServer) -> BusLog {
    BusLog {
        bus: Bus { servers: server.url(), ..Bus::default() },
        cluster: "test".to_string(),
        replicas: 1,
        monitor_urls: vec![server.monitor_url()],
        accept_unsynced: false,
    }
}

async fn embedded(dir: &Path) -> Arc<EmbeddedLog> {
    // Long ago, so that a server's own time would show.
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(UtcMicros(1_000_000_000_000_000)));
    EmbeddedLog::open(dir, OpenOptions { clock, recorded: Vec::new() }).unwrap()
}

/// The submission of a job with this script and without an environment.
fn submission(id: &str, script: &[u8]) -> Draft {
    let golden = include_bytes!("../../../../schemas/golden/job.submitted.v1.json");
    let mut event = Commit::from_bytes(golden).unwrap().events.remove(0);
    event.id = id.into();
    if let Body::JobSubmitted(data) = &mut event.body {
        data.spec.script = BlobHash::of(script);
        data.spec.environment = BlobHash(String::new());
    }
    Draft { subject: Subject::Jobs, expect: None, events: vec![event] }
}

/// Appends `count` commits of several writers and streams, some with a blob.
async fn fill(log: &dyn EventLog, name: &str, count: usize) {
    let node = || Subject::Node("gpu.01".into());
    for number in 0..count {
        let (stream, subject) = match number % 4 {
            0 => (Stream::State, Subject::Jobs),
            1 => (Stream::State, node()),
            2 => (Stream::Detail, node()),
            _ => (Stream::State, Subject::Plan),
        };
        let draft = match number % 4 {
            0 => submission(&format!("{name}{number}"), &[b"script", name.as_bytes()].concat()),
            _ => sample::draft(subject, &format!("{name}{number}"), 1 + number % 3),
        };
        let blobs = match number % 4 {
            0 => vec![Arc::from([b"script", name.as_bytes()].concat())],
            _ => Vec::new(),
        };
        log.append(Append { stream, draft, blobs }).await.unwrap();
    }
}

/// Both streams' commits as bytes.
async fn bytes_of(log: &dyn EventLog) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for stream in [Stream::State, Stream::Detail] {
        let mut next = Seq(1);
        loop {
            let commits = log.read(stream, next, 100).await.unwrap();
            let Some(last) = commits.last() else { break };
            next = last.seq.next();
            all.extend(commits.iter().map(|commit| commit.to_bytes().unwrap()));
        }
    }
    all
}

const QUIET: Progress<'static> = &|_, _, _, _| ();

#[tokio::test(flavor = "multi_thread")]
async fn a_log_moves_to_a_bus_goes_on_there_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let server = NatsServer::start(&dir.path().join("nats"), &Settings::default()).unwrap();
    let (first, back) = (dir.path().join("first"), dir.path().join("back"));
    std::fs::create_dir_all(&first).unwrap();
    std::fs::create_dir_all(&back).unwrap();
    let log = embedded(&first.join("log")).await;
    fill(log.as_ref(), "a", 1200).await;
    let before = bytes_of(log.as_ref()).await;
    log.close().await;
    drop(log);

    let report = to_bus(&first, &bus_log(&server), QUIET).await.unwrap();
    assert_eq!(report, CopyReport { commits: 1200, found: 0, blobs: 1, missing_blobs: 0 });
    let again = to_bus(&first, &bus_log(&server), QUIET).await.unwrap();
    assert_eq!(again, CopyReport { commits: 1200, found: 1200, blobs: 1, missing_blobs: 0 });

    let on_bus = open(options(&server, &dir.path().join("copy"))).await.unwrap();
    assert_eq!(bytes_of(on_bus.as_ref()).await, before);
    fill(on_bus.as_ref(), "b", 40).await;
    let longer = bytes_of(on_bus.as_ref()).await;
    assert_eq!(longer.len(), 1240);
    on_bus.close().await;
    match to_bus(&first, &bus_log(&server), QUIET).await {
        Err(CopyError::Longer { stream: Stream::State, .. }) => {}
        other => panic!("{other:?}"),
    }

    let report = to_directory(&bus_log(&server), &back, QUIET).await.unwrap();
    assert_eq!(report, CopyReport { commits: 1240, found: 0, blobs: 2, missing_blobs: 0 });
    let log = embedded(&back.join("log")).await;
    assert_eq!(bytes_of(log.as_ref()).await, longer);
    let hash = BlobHash::of(b"scriptb");
    assert_eq!(log.blob(&hash).await.unwrap().unwrap().to_vec(), b"scriptb");
    fill(log.as_ref(), "c", 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_copy_is_no_log_and_goes_on_where_it_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = NatsServer::start(&dir.path().join("nats"), &Settings::default()).unwrap();
    let first = dir.path().join("first");
    std::fs::create_dir_all(&first).unwrap();
    let log = embedded(&first.join("log")).await;
    fill(log.as_ref(), "a", 1400).await;
    let before = bytes_of(log.as_ref()).await;
    log.close().await;
    drop(log);

    // The server is killed in the middle.
    let killed = {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let sender = std::sync::Mutex::new(Some(sender));
        let tell = move |step, stream, at: Seq, _| {
            if step == Step::Copying
                && stream == Stream::State
                && at >= Seq(512)
                && let Some(sender) = sender.lock().unwrap().take()
            {
                let _ = sender.send(());
            }
        };
        let target = bus_log(&server);
        let copying = to_bus(&first, &target, &tell);
        let killing = async {
            receiver.await.unwrap();
            server.kill();
        };
        tokio::join!(copying, killing).0
    };
    assert!(matches!(killed, Err(CopyError::Interrupted(_))), "{killed:?}");
    server.restart().unwrap();
    match open(options(&server, &dir.path().join("copy"))).await.map(|_| ()) {
        Err(BusError::Unfinished { .. }) => {}
        other => panic!("{other:?}"),
    }
    // What the first copy had under way may still arrive, in its place, while this one begins: then once more.
    let mut copied = to_bus(&first, &bus_log(&server), QUIET).await;
    for _ in 0..5 {
        if matches!(copied, Err(CopyError::Interrupted(_))) {
            copied = to_bus(&first, &bus_log(&server), QUIET).await;
        }
    }
    let report = copied.unwrap();
    assert!(report.found >= 512 && report.found < 1400, "{report:?}");
    let on_bus = open(options(&server, &dir.path().join("copy"))).await.unwrap();
    assert_eq!(bytes_of(on_bus.as_ref()).await, before);
    on_bus.close().await;

    // The other way: given up in the middle.
    let back = dir.path().join("back");
    std::fs::create_dir_all(&back).unwrap();
    let (reached, enough) = (tokio::sync::Notify::new(), Seq(512));
    let tell = |step, _, at: Seq, _| {
        if step == Step::Copying && at >= enough {
            reached.notify_one();
        }
    };
    let source = bus_log(&server);
    tokio::select! {
        copied = to_directory(&source, &back, &tell) => panic!("{copied:?}"),
        () = reached.notified() => {}
    }
    match EmbeddedLog::open(&back.join("log"), OpenOptions::default()).map(|_| ()) {
        Err(OpenError::Unfinished { .. }) => {}
        other => panic!("{other:?}"),
    }
    let report = to_directory(&source, &back, QUIET).await.unwrap();
    assert!(report.found >= 512 && report.found < 1400, "{report:?}");
    assert_eq!(bytes_of(embedded(&back.join("log")).await.as_ref()).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_history_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let server = NatsServer::start(&dir.path().join("nats"), &Settings::default()).unwrap();
    let first = dir.path().join("first");
    std::fs::create_dir_all(&first).unwrap();
    let log = embedded(&first.join("log")).await;
    fill(log.as_ref(), "a", 40).await;
    log.close().await;
    drop(log);
    let other = open(options(&server, &dir.path().join("copy"))).await.unwrap();
    fill(other.as_ref(), "z", 8).await;
    let before = bytes_of(other.as_ref()).await;
    match to_bus(&first, &bus_log(&server), QUIET).await {
        Err(CopyError::Different { stream: Stream::State, seq: Seq(1), .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(bytes_of(other.as_ref()).await, before);
    match to_bus(&dir.path().join("nowhere"), &bus_log(&server), QUIET).await {
        Err(CopyError::NoLog(_)) => {}
        other => panic!("{other:?}"),
    }
}
