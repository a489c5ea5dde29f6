//! Everything together: one machine, one process, one log.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use daybook_agent::{Agent, AgentConfig, AgentHandle};
use daybook_config::{Configuration, LocalMachine, Severity};
use daybook_dispatch::Dispatch;
use daybook_gateway::{Authority, Gateway, Intake};
use daybook_ledger::{Ledger, LedgerOptions};
use daybook_log::clock::{Clock, SystemClock};
use daybook_log::embedded::{EmbeddedLog, OpenOptions, RecordedPosition};
use daybook_log::follow::Live;
use daybook_log::{Append, AppendError, LogHandle};
use daybook_model::Cluster;
use daybook_planner::Planner;
use daybook_queue::Queue;
use daybook_schemas::events::ClusterConfigured;
use daybook_schemas::node::NodeDefinition;
use daybook_schemas::{Actor, Draft, Event, Seq, Stream, Subject};
use tokio::signal::unix::{SignalKind, signal};

use crate::RunArguments;
use crate::paths::Paths;
use crate::snapshots;

/// The services, as `--roles` names them.
const ROLES: [&str; 6] = ["gateway", "queue", "planner", "dispatch", "agent", "ledger"];
/// How long the model may take to read the log at the start before that is said.
const FOLD_PATIENCE: Duration = Duration::from_secs(30);
/// How long open requests may take when the daemon stops.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// Runs until TERM or INT.
pub async fn run(arguments: RunArguments) -> Result<(), String> {
    check_roles(arguments.roles.as_deref())?;
    check_log(&arguments.log)?;
    let configuration = configure(&arguments.config)?;
    let paths = Paths::prepare(&arguments.state)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);

    let initial = snapshots::load(&paths.snapshot());
    let snapshot_position = initial.position();
    let embedded = open_log(&paths, snapshot_position, clock.clone())?;
    let log: LogHandle = embedded.clone();
    let live = fold(&log, initial).await?;
    announce(&log, &live, clock.as_ref(), &configuration.cluster).await?;

    let ledger = Ledger::open(&paths.ledger(), log.clone(), LedgerOptions::with_clock(clock.clone()))
        .map_err(|error| error.to_string())?;
    let nodes = nodes_served(&configuration.cluster);
    let dispatch = Dispatch::start(&live, nodes.iter().map(|node| node.name.clone()));
    let agents = start_agents(&paths, &configuration, &nodes, &dispatch, &log)?;
    let planner = Planner::start(log.clone(), live.clone(), clock.clone());

    let authority = Authority { daemon_uid: nix::unistd::geteuid().as_raw() };
    let intake = Intake::start(log.clone(), live.clone(), clock.clone(), authority);
    let gateway = Gateway { intake, live: live.clone(), log: log.clone(), authority };
    let router = daybook_gateway::router(gateway)
        .merge(daybook_queue::router(Queue { live: live.clone(), clock: clock.clone() }))
        .merge(daybook_ledger::router(ledger.clone()));
    let socket = socket_path(&arguments, &configuration, authority);
    let mode = if authority.daemon_uid == 0 { 0o666 } else { 0o600 };
    let listener = daybook_gateway::bind(&socket, mode).await.map_err(|error| error.to_string())?;
    let snapshots_task = tokio::spawn(snapshots::keep(paths.snapshot(), live.clone(), snapshot_position));

    let (stop, stopped) = tokio::sync::watch::channel(false);
    let mut told = stopped.clone();
    let server = tokio::spawn(daybook_gateway::serve(listener, router, async move {
        let _ = told.wait_for(|stop| *stop).await;
    }));
    tracing::info!(socket = %socket.display(), nodes = nodes.len(), end = %log.end(Stream::State), "serving");
    println!("ready");

    wait_for_stop().await?;
    tracing::info!("stopping; jobs go on");
    stop.send_replace(true);
    // Long polls and followers would keep the server for minutes: they are cut.
    let mut server = server;
    if tokio::time::timeout(STOP_PATIENCE, &mut server).await.is_err() {
        server.abort();
    }
    let _ = std::fs::remove_file(&socket);
    planner.stop().await;
    for agent in agents {
        agent.stop().await;
    }
    drop(ledger);
    snapshots_task.abort();
    snapshots::save(&paths.snapshot(), &live.now())?;
    embedded.close().await;
    Ok(())
}

/// On one machine, with the embedded log, every service runs in this process.
fn check_roles(asked: Option<&[String]>) -> Result<(), String> {
    let Some(asked) = asked else { return Ok(()) };
    if let Some(unknown) = asked.iter().find(|role| !ROLES.contains(&role.as_str()) && *role != "all") {
        return Err(format!("--roles: \"{unknown}\" is no role; the roles are {}", ROLES.join(", ")));
    }
    let has_all = asked.iter().any(|role| role == "all")
        || ROLES.iter().all(|role| asked.iter().any(|one| one == role));
    match has_all {
        true => Ok(()),
        false => Err(format!(
            "--roles {}: with the embedded log one process runs all roles; services on several machines need the \
             NATS log, which is not supported yet",
            asked.join(",")
        )),
    }
}

fn check_log(log: &str) -> Result<(), String> {
    match log {
        "embedded" => Ok(()),
        _ if log.starts_with("nats://") => {
            Err(format!("--log {log}: the NATS log is not supported yet; use embedded"))
        }
        _ => Err(format!("--log {log}: unknown; use embedded")),
    }
}

/// Reads the configuration, and says everything that is wrong with it.
fn configure(directory: &Path) -> Result<Configuration, String> {
    if !directory.is_dir() {
        return Err(format!(
            "--config {}: no such directory; make it, empty if this machine is all there is",
            directory.display()
        ));
    }
    let loaded = daybook_config::load(directory, &LocalMachine);
    for diagnostic in &loaded.diagnostics {
        match diagnostic.severity {
            Severity::Error => tracing::error!("{diagnostic}"),
            Severity::Warning => tracing::warn!("{diagnostic}"),
        }
    }
    loaded.configuration.ok_or_else(|| {
        format!(
            "the configuration in {0} has errors (above); \"daybook check {0}\" shows them too",
            directory.display()
        )
    })
}

fn open_log(paths: &Paths, snapshot: Seq, clock: Arc<dyn Clock>) -> Result<Arc<EmbeddedLog>, String> {
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
    EmbeddedLog::open(&paths.log(), OpenOptions { clock, recorded }).map_err(|error| error.to_string())
}

/// Folds the log to its end, from the snapshot on.
async fn fold(log: &LogHandle, initial: Cluster) -> Result<Live<Cluster>, String> {
    let live = Live::start(log.clone(), Stream::State, initial);
    loop {
        match live.current(FOLD_PATIENCE).await {
            Ok(_) => return Ok(live),
            Err(daybook_log::follow::NotReady::Behind { at, wanted }) => {
                tracing::info!(%at, %wanted, "reading the log");
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Puts the configuration into the log where it is not the one in force.
async fn announce(
    log: &LogHandle,
    live: &Live<Cluster>,
    clock: &dyn Clock,
    configured: &ClusterConfigured,
) -> Result<(), String> {
    let now = live.now();
    if now.configured().is_some_and(|in_force| in_force.config_hash == configured.config_hash) {
        return Ok(());
    }
    let event = Event {
        id: format!("configured/{}/{}", now.position(), configured.config_hash).into(),
        source: "daybookd".to_string(),
        time: clock.now(),
        actor: Actor::service("daybookd"),
        cause: None,
        body: configured.clone().into(),
    };
    let draft = Draft { subject: Subject::Admin, expect: None, events: vec![event] };
    let seq = match log.append(Append { stream: Stream::State, draft, blobs: Vec::new() }).await {
        Ok(appended) => appended.seq,
        Err(AppendError::Duplicate { seq, .. }) => seq,
        Err(error) => return Err(format!("the configuration cannot be recorded: {error}")),
    };
    live.at_least(seq, FOLD_PATIENCE).await.map(|_| ()).map_err(|error| error.to_string())
}

/// The nodes that are on this machine, or on none.
fn nodes_served(cluster: &ClusterConfigured) -> Vec<NodeDefinition> {
    let here = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let short = here.split('.').next().unwrap_or(&here).to_string();
    let is_here = |node: &&NodeDefinition| {
        let names = [node.hostname.as_str(), node.address.as_str()];
        node.simulated
            || names.iter().any(|name| {
                *name == here || *name == short || *name == "localhost" || name.starts_with("127.")
            })
    };
    let served: Vec<NodeDefinition> = cluster.nodes.iter().filter(is_here).cloned().collect();
    if served.len() < cluster.nodes.len() {
        tracing::warn!(
            host = %here,
            "{} of {} nodes are on other machines (NodeHostname, NodeAddr) and get no work: several machines need \
             the NATS log, which is not supported yet",
            cluster.nodes.len() - served.len(),
            cluster.nodes.len()
        );
    }
    served
}

fn start_agents(
    paths: &Paths,
    configuration: &Configuration,
    nodes: &[NodeDefinition],
    dispatch: &Dispatch,
    log: &LogHandle,
) -> Result<Vec<AgentHandle>, String> {
    let supervisor_binary = sibling("daybook-supervisor")?;
    let mut agents = Vec::with_capacity(nodes.len());
    for node in nodes {
        let Some(orders) = dispatch.orders(&node.name) else { continue };
        let spool_dir = spool_directory(paths, configuration, node);
        let config = AgentConfig {
            node: node.clone(),
            state_dir: paths.nodes().join(node.name.as_str()),
            spool_dir,
            supervisor_binary: supervisor_binary.clone(),
            allow_other_users: nix::unistd::geteuid().is_root(),
        };
        agents.push(Agent::start(config, log.clone(), orders).map_err(|error| error.to_string())?);
    }
    Ok(agents)
}

/// `SlurmdSpoolDir` (with %n and %h) where it is set, else below the state directory.
fn spool_directory(paths: &Paths, configuration: &Configuration, node: &NodeDefinition) -> PathBuf {
    match &configuration.daemon.spool_dir {
        Some(pattern) => pattern.for_node(node.name.as_str(), &node.hostname),
        None => paths.spool().join(node.name.as_str()),
    }
}

/// A program beside this one.
fn sibling(name: &str) -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|error| format!("cannot find my own path: {error}"))?;
    let path = here.with_file_name(name);
    match path.is_file() {
        true => Ok(path),
        false => Err(format!("{} is missing; install it beside daybookd", path.display())),
    }
}

fn socket_path(arguments: &RunArguments, configuration: &Configuration, authority: Authority) -> PathBuf {
    if let Some(path) = arguments.socket.clone().or_else(|| configuration.daemon.socket.clone()) {
        return path;
    }
    match (authority.daemon_uid, std::env::var_os("XDG_RUNTIME_DIR")) {
        (0, _) | (_, None) => PathBuf::from("/run/daybook/daybook.sock"),
        (_, Some(runtime)) => PathBuf::from(runtime).join("daybook/daybook.sock"),
    }
}

async fn wait_for_stop() -> Result<(), String> {
    let fault = |error: std::io::Error| format!("cannot watch signals: {error}");
    let mut term = signal(SignalKind::terminate()).map_err(fault)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(fault)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(fault)?;
    loop {
        tokio::select! {
            _ = term.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            _ = hangup.recv() => {
                tracing::warn!("HUP: the configuration is read at the start only; restart daybookd (jobs go on)");
            }
        }
    }
}
