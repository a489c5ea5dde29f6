//! A ledger that was off: how it catches up with a million events.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use daybook_ledger::{Ledger, LedgerOptions};
use daybook_log::clock::SystemClock;
use daybook_log::embedded::{EmbeddedLog, OpenOptions};
use daybook_log::{Append, EventLog, LogHandle};
use daybook_schemas::events::{
    ClusterConfigured, JobSubmitted, NodeRegistered, RunAllocated, RunEnded, RunNodeReleased, RunStarted,
};
use daybook_schemas::job::ResourceRequest;
use daybook_schemas::node::{GpuDevice, NodeDefinition};
use daybook_schemas::run::{AllocatedGpu, EndCause, ExitStatus, RunNode};
use daybook_schemas::{
    Actor, Body, Commit, Draft, Event, JobId, Mebibytes, NodeName, RunId, Stream, Subject, UtcMicros,
};
use serde_json::{Value, json};

use crate::figures::{rate, rounded};

/// Events of one job: submission, allocation, start, end and release.
const EVENTS_OF_A_JOB: usize = 5;
/// Nodes of eight GPUs, each job on one GPU of one of them.
const NODES: usize = 32;
/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Puts a million events into an embedded log, and then lets a ledger begin at the first.
pub fn measure(root: &Path, scale: usize) -> Result<Value, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(catch_up(root, 1_000_000 / EVENTS_OF_A_JOB / scale))
}

async fn catch_up(root: &Path, jobs: usize) -> Result<Value, String> {
    let log =
        EmbeddedLog::open(&root.join("log"), OpenOptions::default()).map_err(|error| error.to_string())?;
    fill(log.clone(), jobs).await?;
    let before = resident_mebibytes();
    let begun = Instant::now();
    let options = LedgerOptions { patience: PATIENCE, ..LedgerOptions::with_clock(Arc::new(SystemClock)) };
    let ledger =
        Ledger::open(&root.join("ledger"), log.clone(), options).map_err(|error| error.to_string())?;
    let mut most = before;
    let mut waiting = std::pin::pin!(ledger.caught_up());
    loop {
        match tokio::time::timeout(Duration::from_millis(100), &mut waiting).await {
            Ok(done) => break done.map_err(|error| error.message)?,
            Err(_) => most = most.max(resident_mebibytes()),
        }
    }
    let took = begun.elapsed();
    let events = jobs * EVENTS_OF_A_JOB;
    Ok(json!({
        "events": events,
        "commits": log.end(Stream::State).0,
        "seconds": rounded(took.as_secs_f64()),
        "events_per_second": rounded(rate(events, took)),
        "resident_mebibytes_before": before,
        "resident_mebibytes_at_most": most,
    }))
}

/// Jobs one after another on each GPU, in commits as a cluster under load writes them.
async fn fill(log: LogHandle, jobs: usize) -> Result<(), String> {
    let spec = golden_spec()?;
    let mut nodes = golden_cluster()?;
    let template = nodes.nodes.first().cloned().ok_or("the golden cluster has no node")?;
    nodes.nodes = (0..NODES).map(|number| node(&template, number)).collect();
    nodes.partitions.iter_mut().for_each(|partition| {
        partition.nodes = nodes.nodes.iter().map(|node| node.name.clone()).collect();
    });
    let definitions = nodes.nodes.clone();
    append(&log, Subject::Admin, "configured", vec![nodes.into()]).await?;
    for definition in &definitions {
        let registered = NodeRegistered {
            node: definition.name.clone(),
            boot_id: "bench".to_string(),
            cpus: definition.cpus,
            memory: definition.memory,
            gpus: definition.gpus.clone(),
            agent_version: String::new(),
            operating_system: String::new(),
            architecture: String::new(),
            unconfined: None,
        };
        let subject = Subject::Node(definition.name.clone());
        append(&log, subject, &format!("registered/{}", definition.name), vec![registered.into()]).await?;
    }
    let slots = NODES * 8;
    for first in (0..jobs).step_by(slots) {
        let round: Vec<usize> = (first..jobs.min(first + slots)).collect();
        let submitted =
            round.iter().map(|number| JobSubmitted { job: id(*number), ids: 1, spec: spec.clone() }.into());
        append(&log, Subject::Jobs, &format!("s{first}"), submitted.collect()).await?;
        let allocated = round.iter().map(|number| allocation(*number, &definitions).into());
        append(&log, Subject::Plan, &format!("a{first}"), allocated.collect()).await?;
        let mut ends = Vec::new();
        for (place, definition) in definitions.iter().enumerate() {
            let here = || round.iter().filter(move |number| **number % slots / 8 == place);
            let (name, subject) = (definition.name.clone(), Subject::Node(definition.name.clone()));
            let started: Vec<Body> = here().map(|number| start(*number, &name)).collect();
            let ended: Vec<Body> = here().flat_map(|number| end(*number, &name)).collect();
            let (log, first) = (log.clone(), format!("{first}/{place}"));
            ends.push(tokio::spawn(async move {
                for (what, bodies) in [("b", started), ("e", ended)] {
                    if !bodies.is_empty() {
                        append(&log, subject.clone(), &format!("{what}{first}"), bodies).await?;
                    }
                }
                Ok::<(), String>(())
            }));
        }
        for one in ends {
            one.await.map_err(|error| error.to_string())??;
        }
    }
    Ok(())
}

fn id(number: usize) -> JobId {
    JobId(number as u32 + 1)
}

fn run(number: usize) -> RunId {
    RunId::new(id(number), 0)
}

pub fn node(template: &NodeDefinition, number: usize) -> NodeDefinition {
    let name = NodeName::from(format!("node{number:05}").as_str());
    let gpu = |index| GpuDevice::new(name.as_str(), index, "a100");
    NodeDefinition {
        gpus: (0..8).map(gpu).collect(),
        cpus: 8,
        boards: 1,
        sockets: 2,
        cores_per_socket: 4,
        threads_per_core: 1,
        memory: Mebibytes(8000),
        initial: None,
        name: name.clone(),
        ..template.clone()
    }
}

fn allocation(number: usize, nodes: &[NodeDefinition]) -> RunAllocated {
    let slot = number % (nodes.len() * 8);
    let (node, index) = (&nodes[slot / 8], slot as u32 % 8);
    let gpus = node.gpus.iter().filter(|gpu| gpu.index == index).map(|gpu| AllocatedGpu {
        index: gpu.index,
        uuid: gpu.uuid.clone(),
        gpu_type: gpu.gpu_type.clone(),
    });
    let share = RunNode {
        node: node.name.clone(),
        cpus: std::iter::once(index).collect(),
        memory: Mebibytes(100),
        gpus: gpus.collect(),
        tasks: 1,
    };
    RunAllocated {
        run: run(number),
        array: None,
        partition: "main".to_string(),
        nodes: vec![share],
        time_limit: daybook_schemas::job::TimeLimit::minutes(60),
        reservation: None,
        billing: None,
        price_version: None,
    }
}

fn start(number: usize, node: &NodeName) -> Body {
    RunStarted { run: run(number), node: node.clone(), pid: Some(4711) }.into()
}

fn end(number: usize, node: &NodeName) -> [Body; 2] {
    let exit = ExitStatus::default();
    let (run, node) = (run(number), node.clone());
    let released = RunNodeReleased { run, node: node.clone() };
    [
        RunEnded { run, node, cause: EndCause::Exited, exit, message: None, usage: None }.into(),
        released.into(),
    ]
}

async fn append(log: &LogHandle, subject: Subject, id: &str, bodies: Vec<Body>) -> Result<(), String> {
    let event = |(number, body)| Event {
        id: format!("backlog/{id}/{number}").into(),
        source: "bench".to_string(),
        time: UtcMicros(1_800_000_000_000_000),
        actor: Actor::service("bench"),
        cause: None,
        body,
    };
    let events = bodies.into_iter().enumerate().map(event).collect();
    let draft = Draft { subject, expect: None, events };
    let append = Append { stream: Stream::State, draft, blobs: Vec::new() };
    log.append(append).await.map(drop).map_err(|error| error.to_string())
}

/// What a real submission looks like.
pub fn golden_spec() -> Result<daybook_schemas::job::JobSpec, String> {
    let golden = include_bytes!("../../../schemas/golden/job.submitted.v1.json");
    let commit = Commit::from_bytes(golden).map_err(|error| error.to_string())?;
    match commit.events.into_iter().next().map(|event| event.body) {
        Some(Body::JobSubmitted(data)) => Ok(daybook_schemas::job::JobSpec {
            array: None,
            dependencies: None,
            begin: None,
            hold: false,
            reservation: None,
            // The sample's instants lie before those of the benchmarks.
            deadline: None,
            time_min: None,
            request: ResourceRequest {
                contiguous: false,
                switches: None,
                licenses: Vec::new(),
                ..(*data.spec.request).clone()
            }
            .into(),
            ..data.spec
        }),
        _ => Err("the golden submission is none".to_string()),
    }
}

pub fn golden_cluster() -> Result<ClusterConfigured, String> {
    let golden = include_bytes!("../../../schemas/golden/cluster.configured.v1.json");
    let commit = Commit::from_bytes(golden).map_err(|error| error.to_string())?;
    match commit.events.into_iter().next().map(|event| event.body) {
        // The sample's network has none of the nodes made here.
        Some(Body::ClusterConfigured(data)) => {
            Ok(ClusterConfigured { topology: None, licenses: Vec::new(), ..*data })
        }
        _ => Err("the golden configuration is none".to_string()),
    }
}

/// Of this process.
pub fn resident_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) / 1024
}
