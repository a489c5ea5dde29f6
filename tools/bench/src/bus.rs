//! The log on NATS JetStream, against the same server's own publish rate.

use std::path::Path;
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, stream};
use daybook_log::jetstream::{Bus, JetStreamLog, JetStreamOptions};
use daybook_log::{EventLog, LogHandle};
use daybook_nats_server::{NatsCluster, NatsServer, Settings};
use daybook_schemas::{Seq, Stream};
use serde_json::{Map, Value, json};

use crate::daemon::{Daemon, submit_and_time};
use crate::figures::{percentiles, rate, rounded};
use crate::log::append;

/// What a message of one small event has, about.
const PAYLOAD_BYTES: usize = 330;

/// The servers under measurement.
struct Servers {
    name: &'static str,
    urls: String,
    monitor_urls: Vec<String>,
    replicas: usize,
}

pub fn measure(root: &Path, scale: usize) -> Result<Value, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let fault = |error: std::io::Error| error.to_string();
    let mut figures = Map::new();
    {
        let server = NatsServer::start(&root.join("one"), &Settings::default()).map_err(fault)?;
        let servers = Servers {
            name: "one_server",
            urls: server.url(),
            monitor_urls: vec![server.monitor_url()],
            replicas: 1,
        };
        figures.insert(servers.name.to_string(), measure_servers(&runtime, root, scale, &servers)?);
    }
    let cluster = NatsCluster::start(&root.join("three"), &Settings::default()).map_err(fault)?;
    let servers = Servers {
        name: "three_servers",
        urls: cluster.urls(),
        monitor_urls: cluster.monitor_urls(),
        replicas: 3,
    };
    figures.insert(servers.name.to_string(), measure_servers(&runtime, root, scale, &servers)?);
    Ok(Value::Object(figures))
}

fn measure_servers(
    runtime: &tokio::runtime::Runtime,
    root: &Path,
    scale: usize,
    servers: &Servers,
) -> Result<Value, String> {
    let mut figures = Map::new();
    let log = runtime.block_on(open(servers, &root.join(format!("{}-copy", servers.name))))?;
    for (writers, count) in [(1, 4_000), (8, 12_000), (64, 20_000)] {
        let bare = runtime.block_on(publish_bare(servers, writers, count / scale))?;
        // Each kind of run has nodes of its own, so that its events are new.
        let handle: LogHandle = log.clone();
        let appended = runtime.block_on(append(handle, writers, count / scale))?;
        figures.insert(
            format!("writers_{writers}"),
            json!({
                "per_second": rounded(appended),
                "bare_per_second": rounded(bare),
                "to_bare": rounded(appended / bare),
            }),
        );
    }
    let end = log.end(Stream::State);
    let started = Instant::now();
    let fresh = runtime.block_on(open(servers, &root.join(format!("{}-fresh", servers.name))))?;
    let copied = rate(usize::try_from(end.0).unwrap_or(usize::MAX), started.elapsed());
    figures.insert("catch_up".to_string(), json!({ "commits": end.0, "per_second": rounded(copied) }));
    runtime.block_on(async { fresh.close().await });
    runtime.block_on(async { log.close().await });
    figures.insert("submissions".to_string(), submissions(runtime, root, scale, servers)?);
    Ok(Value::Object(figures))
}

async fn open(servers: &Servers, copy_dir: &Path) -> Result<std::sync::Arc<JetStreamLog>, String> {
    let options = JetStreamOptions {
        bus: Bus { servers: servers.urls.clone(), ..Bus::default() },
        cluster: "append".to_string(),
        replicas: servers.replicas,
        monitor_urls: servers.monitor_urls.clone(),
        accept_unsynced: false,
        create: true,
        copy_dir: copy_dir.to_path_buf(),
        recorded: Vec::new(),
        clock: None,
    };
    JetStreamLog::open(options, |_, _, _: Seq| ()).await.map_err(|error| error.to_string())
}

/// What the server takes from a bare client, each of whose writers waits for its acknowledgement.
async fn publish_bare(servers: &Servers, writers: usize, count: usize) -> Result<f64, String> {
    let urls: Vec<async_nats::ServerAddr> = servers
        .urls
        .split(',')
        .map(str::parse)
        .collect::<Result<_, _>>()
        .map_err(|error: std::io::Error| error.to_string())?;
    let client = async_nats::connect(urls).await.map_err(|error| error.to_string())?;
    let context = jetstream::new(client);
    context
        .get_or_create_stream(stream::Config {
            name: "BARE".to_string(),
            subjects: vec!["bare.>".to_string()],
            num_replicas: servers.replicas,
            ..stream::Config::default()
        })
        .await
        .map_err(|error| error.to_string())?;
    let each = count / writers;
    let started = Instant::now();
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let context = context.clone();
            tokio::spawn(async move {
                for _ in 0..each {
                    let sent =
                        context.publish(format!("bare.{writer}"), vec![b'x'; PAYLOAD_BYTES].into()).await;
                    sent.map_err(|error| error.to_string())?.await.map_err(|error| error.to_string())?;
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

/// Submissions to a daemon of all roles on these servers, one after another over one connection.
fn submissions(
    runtime: &tokio::runtime::Runtime,
    root: &Path,
    scale: usize,
    servers: &Servers,
) -> Result<Value, String> {
    let monitors: Vec<String> = servers.monitor_urls.iter().map(|url| format!("\"{url}\"")).collect();
    let toml = format!(
        "[log]\nbackend = \"nats\"\n[log.nats]\nurl = \"{}\"\nmonitor_url = [{}]\nreplicas = {}\n",
        servers.urls,
        monitors.join(", "),
        servers.replicas
    );
    let daemon = Daemon::start_with(&root.join(format!("{}-daemon", servers.name)), &toml)?;
    let count = 2_000 / scale;
    let started = Instant::now();
    let times: Vec<Duration> = runtime
        .block_on(submit_and_time(&daemon, count))
        .map_err(|error| format!("{}: {error}; the daemon says:\n{}", servers.name, daemon.log()))?;
    Ok(json!({ "per_second": rounded(rate(count, started.elapsed())), "latency": percentiles(times) }))
}
