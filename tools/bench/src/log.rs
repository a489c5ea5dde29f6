//! Appends into the embedded log.

use std::path::Path;
use std::time::Instant;

use daybook_log::embedded::{EmbeddedLog, OpenOptions};
use daybook_log::{Append, LogHandle};
use daybook_schemas::events::RunStarted;
use daybook_schemas::{Actor, Draft, Event, JobId, RunId, Stream, Subject, UtcMicros};
use serde_json::{Map, Value, json};

use crate::baseline::Baseline;
use crate::figures::{rate, rounded};

pub fn measure(root: &Path, scale: usize, baseline: &Baseline) -> Result<Value, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let mut figures = Map::new();
    for (writers, count) in [(1, 20_000), (8, 40_000), (64, 160_000)] {
        let log = EmbeddedLog::open(&root.join(format!("log-{writers}")), OpenOptions::default());
        let log = log.map_err(|error| error.to_string())?;
        let per_second = runtime.block_on(append(log.clone(), writers, count / scale))?;
        runtime.block_on(log.close());
        let ratio = per_second / baseline.syncs_per_second;
        figures.insert(
            format!("writers_{writers}"),
            json!({ "per_second": rounded(per_second), "to_write_fdatasync": rounded(ratio) }),
        );
    }
    Ok(Value::Object(figures))
}

/// Single-event commits of several writers at once; how many in a second.
pub async fn append(log: LogHandle, writers: usize, count: usize) -> Result<f64, String> {
    let each = count / writers;
    let started = Instant::now();
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let log = log.clone();
            tokio::spawn(async move {
                for number in 0..each {
                    log.append(one_event(writers, writer, number))
                        .await
                        .map_err(|error| error.to_string())?;
                }
                Ok::<(), String>(())
            })
        })
        .collect();
    for task in tasks {
        task.await.map_err(|error| error.to_string())??;
    }
    Ok(rate(each * writers, started.elapsed()))
}

fn one_event(writers: usize, writer: usize, number: usize) -> Append {
    let node = format!("node{writer}");
    let run = RunId::new(JobId(number as u32 + 1), 0);
    let event = Event {
        id: format!("bench/{writers}/{writer}/{number}").into(),
        source: format!("agent/{node}"),
        time: UtcMicros(1_700_000_000_000_000 + number as i64),
        actor: Actor::service(format!("agent/{node}")),
        cause: None,
        body: RunStarted { run, node: node.as_str().into(), pid: Some(4711) }.into(),
    };
    let draft = Draft { subject: Subject::Node(node.as_str().into()), expect: None, events: vec![event] };
    Append { stream: Stream::State, draft, blobs: Vec::new() }
}
