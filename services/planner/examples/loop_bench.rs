//! How many jobs a second the loop starts: a log in memory, one node of 64 CPUs, an agent that ends every run at once,
//! and a queue of 20,000.
//!
//! `cargo run --release -p daybook-planner --example loop_bench`

#[path = "../tests/support/mod.rs"]
mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use daybook_log::clock::SystemClock;
use daybook_log::follow::Live;
use daybook_log::memory::MemoryLog;
use daybook_log::{Append, EventLog};
use daybook_model::Cluster;
use daybook_planner::Planner;
use daybook_schemas::events::{Body, JobSubmitted, RunEnded, RunNodeReleased};
use daybook_schemas::run::{EndCause, ExitStatus};
use daybook_schemas::{
    Actor, Draft, Event, EventId, JobId, NodeName, RunId, Seq, Stream, Subject, UtcMicros,
};
use support::{Simulation, configuration, job, node, parameters, partition};

const JOBS: u32 = 20_000;
/// As long as an fsync on a usual disk takes.
const SYNC: Duration = Duration::from_micros(500);

#[tokio::main]
async fn main() {
    let log = MemoryLog::new();
    let live = Live::start(log.clone(), Stream::State, Cluster::new());
    let mut setup = Simulation::new();
    let definition = node("n1", 64, 16_000, &[]);
    setup.configure(configuration(vec![definition.clone()], vec![partition("main", &["n1"])], parameters()));
    setup.register(&definition);
    for commit in setup.commits {
        append(&log, commit.subject, commit.events.into_iter().map(|event| event.body).collect()).await;
    }
    for chunk in 0..JOBS / 100 {
        let submit =
            |number| JobSubmitted { job: JobId(chunk * 100 + number), ids: 1, spec: job("true", "main", 10) };
        append(&log, Subject::Jobs, (1..=100).map(|number| submit(number).into()).collect()).await;
    }
    let begun = Instant::now();
    let planner = Planner::start(log.clone(), live.clone(), Arc::new(SystemClock));
    let mut snapshots = live.subscribe();
    loop {
        let cluster = snapshots.borrow_and_update().clone();
        let runs: Vec<RunId> = cluster.runs().keys().copied().collect();
        if !runs.is_empty() {
            tokio::time::sleep(SYNC).await;
            let seq =
                append(&log, Subject::Node(NodeName::from("n1")), runs.into_iter().flat_map(over).collect())
                    .await;
            if live.at_least(seq, Duration::from_secs(60)).await.is_err() {
                break;
            }
            continue;
        }
        if cluster.ready().is_empty() && cluster.position() > Seq(u64::from(JOBS / 100)) {
            break;
        }
        if snapshots.changed().await.is_err() {
            break;
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    planner.stop().await;
    let commits = log.end(Stream::State).0;
    println!("{JOBS} jobs in {seconds:.2} s: {:.0} starts/s, {commits} commits", f64::from(JOBS) / seconds);
}

fn over(run: RunId) -> [Body; 2] {
    let node = NodeName::from("n1");
    let (cause, exit) = (EndCause::Exited, ExitStatus::default());
    [
        RunEnded { run, node: node.clone(), cause, exit, message: None, usage: None }.into(),
        RunNodeReleased { run, node }.into(),
    ]
}

async fn append(log: &Arc<MemoryLog>, subject: Subject, bodies: Vec<Body>) -> Seq {
    let base = log.end(Stream::State);
    let event = |(number, body): (usize, Body)| Event {
        id: EventId::from(format!("bench/{subject}/{base}/{number}")),
        source: "bench".to_string(),
        time: UtcMicros(0),
        actor: Actor::service("bench"),
        cause: None,
        body,
    };
    let events = bodies.into_iter().enumerate().map(event).collect();
    let draft = Draft { subject: subject.clone(), expect: None, events };
    match log.append(Append { stream: Stream::State, draft, blobs: Vec::new() }).await {
        Ok(appended) => appended.seq,
        Err(error) => panic!("{error}"),
    }
}
