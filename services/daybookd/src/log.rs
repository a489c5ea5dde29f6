//! The log that this process uses: in its state directory, or on a bus.

use std::sync::Arc;

use daybook_config::{DaemonSettings, LogBackend, NatsSettings};
use daybook_ledger::Ledger;
use daybook_log::clock::Clock;
use daybook_log::embedded::{EmbeddedLog, OpenOptions, RecordedPosition};
use daybook_log::jetstream::{self, Bus, JetStreamLog, JetStreamOptions};
use daybook_log::{Durability, EventLog, LogHandle};
use daybook_schemas::events::{LogDurabilityDeclared, LogSync};
use daybook_schemas::{Seq, Stream};

use crate::MakeLogArguments;
use crate::cluster::configure;
use crate::paths::Paths;

/// Where the log is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the state directory.
    Embedded,
    /// On these servers.
    Bus(String),
}

impl Place {
    /// From the command line, else from the configuration.
    pub fn choose(asked: Option<&str>, settings: &DaemonSettings) -> Result<Place, String> {
        match asked {
            Some("embedded") => Ok(Place::Embedded),
            Some(urls) if urls.starts_with("nats://") || urls.starts_with("tls://") => {
                Ok(Place::Bus(urls.to_string()))
            }
            Some(other) => {
                Err(format!("--log {other}: unknown; use embedded, nats://HOST:PORT or tls://HOST:PORT"))
            }
            None => match (settings.log, &settings.nats.url) {
                (LogBackend::Embedded, _) => Ok(Place::Embedded),
                (LogBackend::Nats, Some(url)) => Ok(Place::Bus(url.clone())),
                (LogBackend::Nats, None) => Err(
                    "daybook.toml has backend = \"nats\" and no url under [log.nats]; such as url = \"nats://bus:4222\""
                        .to_string(),
                ),
            },
        }
    }
}

/// How we connect to the bus.
pub fn bus(servers: &str, nats: &NatsSettings) -> Bus {
    Bus {
        servers: servers.to_string(),
        nkey_file: nats.nkey_file.clone(),
        ca_file: nats.ca_file.clone(),
        inbox_prefix: nats.inbox_prefix.clone(),
    }
}

/// Makes the streams.
pub async fn make(arguments: MakeLogArguments) -> Result<(), String> {
    let configuration = configure(&arguments.config)?;
    let nats = &configuration.daemon.nats;
    let Place::Bus(servers) = Place::choose(arguments.log.as_deref(), &configuration.daemon)? else {
        return Err("the embedded log needs no making; daybookd run does it".to_string());
    };
    let nkey_file = arguments.nkey_file.or_else(|| nats.nkey_file.clone());
    let bus = Bus { nkey_file, ..bus(&servers, nats) };
    let cluster = &configuration.cluster.cluster_name;
    jetstream::make(&bus, cluster, usize::try_from(nats.replicas).unwrap_or(1))
        .await
        .map_err(|error| error.to_string())?;
    crate::say::answer(&format!("the log of cluster {cluster} is on {servers}"))
}

/// An open log.
#[derive(Clone)]
pub enum OpenLog {
    Embedded(Arc<EmbeddedLog>),
    Bus(Arc<JetStreamLog>),
}

impl OpenLog {
    /// Opens the log and checks that it has all that the ledger and the snapshot beside it have seen.
    pub async fn open(
        place: &Place,
        paths: &Paths,
        cluster: &str,
        nats: &NatsSettings,
        may_create: bool,
        snapshot: Seq,
        clock: Arc<dyn Clock>,
    ) -> Result<OpenLog, String> {
        let recorded = recorded_positions(paths, snapshot)?;
        match place {
            Place::Embedded => {
                refuse_other(&paths.log_copy(), "the copy of a log on a bus", "the bus", paths)?;
                EmbeddedLog::open(&paths.log(), OpenOptions { clock, recorded })
                    .map(OpenLog::Embedded)
                    .map_err(|error| error.to_string())
            }
            Place::Bus(servers) => {
                refuse_other(&paths.log(), "an embedded log", "\"daybook log copy\"", paths)?;
                let options = JetStreamOptions {
                    bus: bus(servers, nats),
                    cluster: cluster.to_string(),
                    replicas: usize::try_from(nats.replicas).unwrap_or(1),
                    monitor_urls: nats.monitor_urls.clone(),
                    accept_unsynced: nats.accept_unsynced,
                    create: may_create,
                    copy_dir: paths.log_copy(),
                    recorded,
                    clock: None,
                };
                let tell = |stream: Stream, at: Seq, end: Seq| {
                    tracing::info!(?stream, %at, %end, "copying the log from the bus");
                };
                JetStreamLog::open(options, tell).await.map(OpenLog::Bus).map_err(|error| error.to_string())
            }
        }
    }

    pub fn handle(&self) -> LogHandle {
        match self {
            OpenLog::Embedded(log) => log.clone(),
            OpenLog::Bus(log) => log.clone(),
        }
    }

    /// What its acknowledgements mean.
    pub fn durability(&self) -> LogDurabilityDeclared {
        match self {
            OpenLog::Embedded(_) => LogDurabilityDeclared {
                backend: "embedded".to_string(),
                sync: LogSync::Always,
                replicas: 1,
                server_version: None,
            },
            OpenLog::Bus(log) => {
                let (replicas, version) = log.servers();
                LogDurabilityDeclared {
                    backend: "nats".to_string(),
                    sync: match log.durability() {
                        Durability::Synced => LogSync::Always,
                        Durability::Unsynced | Durability::Volatile => LogSync::Unproven,
                    },
                    replicas: u32::try_from(replicas).unwrap_or(u32::MAX),
                    server_version: Some(version),
                }
            }
        }
    }

    /// Waits until the log cannot go on; gives why. An embedded log comes back by itself.
    pub async fn failed(&self) -> String {
        match self {
            OpenLog::Embedded(_) => std::future::pending().await,
            OpenLog::Bus(log) => log.failed().await,
        }
    }

    pub async fn close(&self) {
        match self {
            OpenLog::Embedded(log) => log.close().await,
            OpenLog::Bus(log) => log.close().await,
        }
    }
}

fn refuse_other(dir: &std::path::Path, what: &str, instead: &str, paths: &Paths) -> Result<(), String> {
    match dir.is_dir() {
        false => Ok(()),
        true => Err(format!(
            "the state directory {} has {what} ({}): its ledger and snapshot belong to that. Use {instead}, or another state \
             directory",
            paths.state.display(),
            dir.display()
        )),
    }
}

fn recorded_positions(paths: &Paths, snapshot: Seq) -> Result<Vec<RecordedPosition>, String> {
    let mut recorded = Vec::new();
    if snapshot > Seq::ZERO {
        let who = format!("the snapshot {}", paths.snapshot().display());
        recorded.push(RecordedPosition { who, stream: Stream::State, seq: snapshot });
    }
    let seq = Ledger::recorded_position(&paths.ledger()).map_err(|error| error.to_string())?;
    if seq > Seq::ZERO {
        let who = format!("the ledger in {}", paths.ledger().display());
        recorded.push(RecordedPosition { who, stream: Stream::State, seq });
    }
    Ok(recorded)
}
