//! The services of this process together, over one log.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use daybook_agent::AgentHandle;
use daybook_config::{Configuration, DaemonSettings, LocalMachine, Severity};
use daybook_dispatch::Dispatch;
use daybook_gateway::{Authority, Gateway, Intake, ReadConfiguration};
use daybook_ledger::{Ledger, LedgerOptions};
use daybook_log::clock::{Clock, SystemClock};
use daybook_log::follow::Live;
use daybook_log::{Append, AppendError, LogHandle};
use daybook_model::Cluster;
use daybook_planner::Planner;
use daybook_queue::Queue;
use daybook_schemas::api::{ApiError, ErrorCode};
use daybook_schemas::events::{Body, ClusterConfigured, LogDurabilityDeclared};
use daybook_schemas::node::NodeDefinition;
use daybook_schemas::{Actor, Draft, Event, NodeName, Stream, Subject};
use tokio::signal::unix::{SignalKind, signal};

use crate::leader::StandBy;
use crate::log::{OpenLog, Place};
use crate::paths::Paths;
use crate::roles::Roles;
use crate::socket::{self, Server};
use crate::{RunArguments, agents, leases, node_only, orders, relay, snapshots};

/// How long the model may take to read the log at the start before that is said.
const FOLD_PATIENCE: Duration = Duration::from_secs(30);

/// The most faults of files that one answer names.
const ERRORS_SHOWN_MAX: usize = 20;

/// Runs until TERM or INT.
pub async fn run(arguments: RunArguments) -> Result<(), String> {
    let roles = Roles::parse(arguments.roles.as_deref())?;
    let configuration = configure(&arguments.config)?;
    let place = Place::choose(arguments.log.as_deref(), &configuration.daemon)?;
    if place == Place::Embedded && !roles.are_all() {
        return Err("--roles: with the embedded log one process runs all roles; services in several processes need the \
                    log on a bus (--log nats://HOST:PORT)"
            .to_string());
    }
    let paths = Paths::prepare(&arguments.state)?;
    let nodes = match roles.agent {
        true => agents::nodes_here(&configuration.cluster, arguments.nodes.as_deref(), roles.are_all())?,
        false => Vec::new(),
    };
    match &place {
        Place::Bus(servers) if roles.are_agent_only() => {
            node_only::run(servers, &configuration, &paths, &nodes).await
        }
        _ => serve(&arguments, roles, &configuration, &place, &paths, &nodes).await,
    }
}

/// Runs the services that need the whole log, and agents beside them.
async fn serve(
    arguments: &RunArguments,
    roles: Roles,
    configuration: &Configuration,
    place: &Place,
    paths: &Paths,
    nodes: &[NodeDefinition],
) -> Result<(), String> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let initial = snapshots::load(&paths.snapshot());
    let snapshot_position = initial.position();
    let opened = OpenLog::open(
        place,
        paths,
        &configuration.cluster.cluster_name,
        &configuration.daemon.nats,
        roles.planner || roles.gateway,
        snapshot_position,
        clock.clone(),
    )
    .await?;
    let log = opened.handle();
    let live = fold(&log, initial).await?;
    if roles.planner || roles.gateway {
        announce(&log, &live, clock.as_ref(), &configuration.cluster, opened.durability()).await?;
    }
    let ledger = match roles.ledger {
        true => {
            let options = LedgerOptions::with_clock(clock.clone());
            Some(Ledger::open(&paths.ledger(), log.clone(), options).map_err(|error| error.to_string())?)
        }
        false => None,
    };
    let agents = start_dispatch_and_agents(roles, configuration, paths, nodes, &opened, &live)?;
    let planner = start_planner(roles, &opened, &live, &clock, configuration.daemon.node_lease);
    let snapshots_task = tokio::spawn(snapshots::keep(paths.snapshot(), live.clone(), snapshot_position));

    let authority = Authority::of_daemon(nix::unistd::geteuid().as_raw());
    let mut router = axum::Router::new();
    if roles.gateway {
        let intake = Intake::start(log.clone(), live.clone(), clock.clone(), authority.clone());
        let read_configuration = reread(arguments.config.clone(), configuration.daemon.clone());
        let (live, log) = (live.clone(), log.clone());
        let gateway = Gateway { intake, live, log, authority: authority.clone(), read_configuration };
        router = router.merge(daybook_gateway::router(gateway));
    }
    if roles.queue {
        router = router.merge(daybook_queue::router(Queue::new(live.clone(), clock.clone())));
    }
    if let Some(ledger) = &ledger {
        router = router.merge(daybook_ledger::router(ledger.clone()));
    }
    let relays = relay::serve(roles, configuration, place, router.clone(), clock.clone()).await?;
    let server = match roles.serve_clients() {
        true => {
            let path = socket::path(arguments.socket.as_deref(), &configuration.daemon);
            let mode = if authority.daemon_uid() == 0 { 0o666 } else { 0o600 };
            Some(Server::start(path, mode, router).await?)
        }
        false => None,
    };
    tracing::info!(nodes = nodes.len(), end = %log.end(Stream::State), "serving");
    crate::say::ready();

    let outcome = tokio::select! {
        stopped = wait_for_stop() => stopped,
        why = opened.failed() => Err(why),
    };
    tracing::info!("stopping; jobs go on");
    tokio::join!(
        async {
            if let Some(relays) = relays {
                relays.stop().await;
            }
        },
        async {
            if let Some(server) = server {
                server.stop().await;
            }
        },
    );
    planner.stop().await;
    for agent in agents {
        agent.stop().await;
    }
    drop(ledger);
    snapshots_task.abort();
    snapshots::save(&paths.snapshot(), &live.now())?;
    opened.close().await;
    outcome
}

/// The planner of this process, if there is one.
enum Planning {
    None,
    Alone(Planner),
    OneOfMany(StandBy),
}

impl Planning {
    async fn stop(self) {
        match self {
            Planning::None => {}
            Planning::Alone(planner) => planner.stop().await,
            Planning::OneOfMany(candidate) => candidate.stop().await,
        }
    }
}

fn start_planner(
    roles: Roles,
    opened: &OpenLog,
    live: &Live<Cluster>,
    clock: &Arc<dyn Clock>,
    node_lease: Duration,
) -> Planning {
    match (roles.planner, opened) {
        (false, _) => Planning::None,
        (true, OpenLog::Embedded(log)) => {
            Planning::Alone(Planner::start(log.clone(), live.clone(), clock.clone()))
        }
        (true, OpenLog::Bus(log)) => {
            Planning::OneOfMany(StandBy::start(log.clone(), live.clone(), clock.clone(), node_lease))
        }
    }
}

/// Agents of this process take their orders from the dispatch beside them, others over the bus.
fn start_dispatch_and_agents(
    roles: Roles,
    configuration: &Configuration,
    paths: &Paths,
    nodes: &[NodeDefinition],
    opened: &OpenLog,
    live: &Live<Cluster>,
) -> Result<Vec<AgentHandle>, String> {
    let here: Vec<NodeName> = nodes.iter().map(|node| node.name.clone()).collect();
    let elsewhere: Vec<NodeName> = configuration
        .cluster
        .nodes
        .iter()
        .map(|node| node.name.clone())
        .filter(|name| roles.dispatch && !here.contains(name))
        .collect();
    let dispatch = Arc::new(Dispatch::start(live, here.iter().chain(&elsewhere).cloned()));
    match opened {
        OpenLog::Bus(log) if !elsewhere.is_empty() => {
            tokio::spawn(orders::publish(log.clone(), dispatch.clone(), elsewhere));
        }
        OpenLog::Embedded(_) if roles.agent && !elsewhere.is_empty() => tracing::warn!(
            "{} of {} nodes are on other machines (NodeHostname, NodeAddr) and get no work: several machines need the \
             log on a bus (--log nats://HOST:PORT)",
            elsewhere.len(),
            configuration.cluster.nodes.len()
        ),
        _ => {}
    }
    if let OpenLog::Bus(log) = opened
        && !here.is_empty()
    {
        tokio::spawn(leases::beat(log.clone(), here));
    }
    let mut started = Vec::with_capacity(nodes.len());
    for (node, first_cpu) in nodes.iter().zip(agents::first_cpus(nodes)) {
        let Some(orders) = dispatch.orders(&node.name) else { continue };
        started.push(agents::start(paths, configuration, node, first_cpu, opened.handle(), orders)?);
    }
    Ok(started)
}

/// Reads the configuration, and says everything that is wrong with it.
pub fn configure(directory: &Path) -> Result<Configuration, String> {
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

/// Reads the configuration again for `scontrol reconfigure`; what only the start reads has to be as it was then.
fn reread(directory: PathBuf, at_start: DaemonSettings) -> ReadConfiguration {
    let refuse = |why: &str| ApiError::new(ErrorCode::InvalidRequest, why.to_string());
    Arc::new(move || {
        let loaded = daybook_config::load(&directory, &LocalMachine);
        let Some(read) = loaded.configuration else {
            let errors = loaded.diagnostics.iter().filter(|fault| fault.severity == Severity::Error);
            let error = refuse("The configuration has errors: nothing was changed");
            return Err(errors
                .take(ERRORS_SHOWN_MAX)
                .fold(error, |error, fault| error.detail(fault.to_string())));
        };
        if read.daemon != at_start {
            let what = "SlurmdSpoolDir and what daybook.toml says of the daemon (socket, lease, log, relays) are read at \
                        the start only; nothing was changed; restart daybookd (jobs go on)";
            return Err(refuse("The daemon's own settings have changed").detail(what));
        }
        for fault in &loaded.diagnostics {
            tracing::warn!("{fault}");
        }
        Ok(read.cluster)
    })
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

/// Puts into the log the configuration and what its acknowledgements mean, where they are not those in force.
async fn announce(
    log: &LogHandle,
    live: &Live<Cluster>,
    clock: &dyn Clock,
    configured: &ClusterConfigured,
    durability: LogDurabilityDeclared,
) -> Result<(), String> {
    let now = live.now();
    let event = |id: String, body: Body| Event {
        id: id.into(),
        source: "daybookd".to_string(),
        time: clock.now(),
        actor: Actor::service("daybookd"),
        cause: None,
        body,
    };
    let mut events = Vec::with_capacity(2);
    // What was changed of partitions while it ran is not kept, as in Slurm.
    if !now.is_in_force(configured) {
        let id = format!("configured/{}/{}", now.position(), configured.config_hash);
        events.push(event(id, configured.clone().into()));
    }
    if now.durability().is_none_or(|declared| **declared != durability) {
        let id = format!("durability/{}/{}", now.position(), durability.backend);
        events.push(event(id, durability.into()));
    }
    if events.is_empty() {
        return Ok(());
    }
    let draft = Draft { subject: Subject::Admin, expect: None, events };
    let seq = match log.append(Append { stream: Stream::State, draft, blobs: Vec::new() }).await {
        Ok(appended) => appended.seq,
        Err(AppendError::Duplicate { seq, .. }) => seq,
        Err(error) => return Err(format!("the configuration cannot be recorded: {error}")),
    };
    live.at_least(seq, FOLD_PATIENCE).await.map(|_| ()).map_err(|error| error.to_string())
}

/// Waits for TERM or INT.
pub async fn wait_for_stop() -> Result<(), String> {
    let fault = |error: std::io::Error| format!("cannot watch signals: {error}");
    let mut term = signal(SignalKind::terminate()).map_err(fault)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(fault)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(fault)?;
    loop {
        tokio::select! {
            _ = term.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            _ = hangup.recv() => {
                tracing::warn!("HUP: \"scontrol reconfigure\" reads the configuration again");
            }
        }
    }
}
