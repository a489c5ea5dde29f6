//! The processes of a cluster, each the real service on a port of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use daybook_agent::report::{Report, Reporter};
use daybook_agent::{Agent, AgentConfig, AgentHandle, ConfinementConfig};
use daybook_dispatch::Dispatch;
use daybook_gateway::{Authority, Gateway, Intake};
use daybook_ledger::{Ledger, LedgerOptions};
use daybook_log::clock::Clock;
use daybook_log::follow::Live;
use daybook_model::{Cluster, read_snapshot, write_snapshot};
use daybook_planner::Planner;
use daybook_schemas::api::{ApiError, ErrorCode};
use daybook_schemas::events::ClusterConfigured;
use daybook_schemas::node::NodeDefinition;
use daybook_schemas::orders::DesiredSet;
use daybook_schemas::{NodeName, Seq, Stream};
use daybook_supervisor::health::HealthCheck;
use daybook_supervisor::records::Care;
use tokio::sync::watch;

use crate::agent::{BrokenRules, StepAgent};
use crate::clock::SkewedClock;
use crate::machine::Machine;
use crate::network::{Network, Port, PortState};

/// The gateway.
pub struct GatewayProcess {
    /// Its port.
    pub port: Arc<PortState>,
    /// Its routes.
    pub router: Router,
    /// Its projection.
    pub live: Live<Cluster>,
}

/// The planner.
pub struct PlannerProcess {
    /// Its port.
    pub port: Arc<PortState>,
    /// Its projection.
    pub live: Live<Cluster>,
    _planner: Planner,
}

/// Dispatch.
pub struct DispatchProcess {
    /// Its port.
    pub port: Arc<PortState>,
    /// Its projection.
    pub live: Live<Cluster>,
    /// What it serves.
    pub dispatch: Dispatch,
}

/// The ledger.
pub struct LedgerProcess {
    /// Its port.
    pub port: Arc<PortState>,
    /// It.
    pub ledger: Arc<Ledger>,
}

/// An agent: the whole real one (its node is simulated), or the one that is stepped.
pub enum AgentProcess {
    /// The real one, and where its orders go.
    Whole { orders: watch::Sender<Arc<DesiredSet>>, _handle: AgentHandle },
    /// On a machine.
    Stepped(Box<StepAgent>),
}

/// A node: its machine, and at times an agent.
pub struct Node {
    /// As configured.
    pub definition: NodeDefinition,
    /// Its clock.
    pub clock: Arc<SkewedClock>,
    /// What outlives the agent (nothing on a simulated node).
    pub machine: Machine,
    /// Its agent, where it lives.
    pub agent: Option<(Arc<PortState>, AgentProcess)>,
    /// Whether the network reaches it.
    pub connected: bool,
    /// Orders handed before: they may come again.
    pub earlier: Vec<Arc<DesiredSet>>,
    /// To which agent which orders were handed last.
    pub handed: Option<(String, Seq)>,
}

impl Node {
    /// A node whose agent does not run yet.
    pub fn new(definition: NodeDefinition, clock: Arc<SkewedClock>) -> Node {
        let machine = Machine::default();
        Node { definition, clock, machine, agent: None, connected: true, earlier: Vec::new(), handed: None }
    }

    /// Its name.
    pub fn name(&self) -> &NodeName {
        &self.definition.name
    }

    /// Starts its agent.
    pub fn start_agent(
        &mut self,
        port: Arc<PortState>,
        network: &Arc<Network>,
        dir: &Path,
        broken: BrokenRules,
    ) -> Result<(), String> {
        port.set_connected(self.connected);
        let config = AgentConfig {
            node: self.definition.clone(),
            state_dir: dir.join(self.name().as_str()),
            spool_dir: dir.join("spool"),
            supervisor_binary: PathBuf::from("/nowhere"),
            allow_other_users: false,
            confinement: ConfinementConfig::default(),
            care: Care::default(),
            health: HealthCheck::default(),
            usage_interval: None,
        };
        let log = Port::direct(&port, network);
        let process = if self.definition.simulated {
            let empty = DesiredSet { node: self.name().clone(), generation: Seq::ZERO, runs: Vec::new() };
            let (orders, received) = watch::channel(Arc::new(empty));
            let handle = Agent::start_with_clock(config, log, received, self.clock.clone());
            AgentProcess::Whole { orders, _handle: handle.map_err(|error| error.to_string())? }
        } else {
            let (reporter, _) = Reporter::start(self.name().clone(), log);
            let registration = Report::registered(&config, None, self.clock.now());
            let agent = StepAgent::start(self.name().clone(), &self.machine, reporter, registration, broken);
            AgentProcess::Stepped(Box::new(agent))
        };
        self.agent = Some((port, process));
        Ok(())
    }

    /// Orders arrive at its agent.
    pub fn hand(&mut self, set: Arc<DesiredSet>) {
        match &mut self.agent {
            Some((_, AgentProcess::Whole { orders, .. })) => drop(orders.send_replace(set)),
            Some((_, AgentProcess::Stepped(agent))) => agent.hand(set),
            None => {}
        }
    }
}

/// A model as it is restored from a snapshot: written and read.
pub fn restored(cluster: &Cluster) -> Result<Cluster, String> {
    let mut bytes = Vec::new();
    write_snapshot(cluster, &mut bytes).map_err(|error| error.to_string())?;
    read_snapshot(bytes.as_slice()).map_err(|error| error.to_string())
}

/// Starts a gateway that folds on from `initial`.
pub fn start_gateway(
    port: Arc<PortState>,
    network: &Arc<Network>,
    clock: &Arc<SkewedClock>,
    initial: Cluster,
) -> GatewayProcess {
    let live = Live::start(Port::view(&port, network), Stream::State, initial);
    let log = Port::direct(&port, network);
    let authority = Authority::of_daemon(0);
    let intake = Intake::start(log.clone(), live.clone(), clock.clone(), authority.clone());
    let router = daybook_gateway::router(Gateway {
        intake,
        live: live.clone(),
        log,
        authority,
        read_configuration: Arc::new(no_files),
    });
    GatewayProcess { port, router, live }
}

/// A simulated cluster has no files that could be read again.
fn no_files() -> Result<ClusterConfigured, ApiError> {
    Err(ApiError::new(ErrorCode::NotSupported, "There are no configuration files"))
}

/// Starts a planner that folds on from `initial`.
pub fn start_planner(
    port: Arc<PortState>,
    network: &Arc<Network>,
    clock: &Arc<SkewedClock>,
    initial: Cluster,
) -> PlannerProcess {
    let live = Live::start(Port::view(&port, network), Stream::State, initial);
    let planner = Planner::start(Port::direct(&port, network), live.clone(), clock.clone());
    PlannerProcess { port, live, _planner: planner }
}

/// Starts a dispatch that folds on from `initial`.
pub fn start_dispatch(
    port: Arc<PortState>,
    network: &Arc<Network>,
    initial: Cluster,
    nodes: impl IntoIterator<Item = NodeName>,
) -> DispatchProcess {
    let live = Live::start(Port::view(&port, network), Stream::State, initial);
    let dispatch = Dispatch::start(&live, nodes);
    DispatchProcess { port, live, dispatch }
}

/// Starts the ledger on what is in its directory.
pub fn start_ledger(
    port: Arc<PortState>,
    network: &Arc<Network>,
    clock: &Arc<SkewedClock>,
    dir: &Path,
) -> Result<LedgerProcess, String> {
    let options = LedgerOptions { clock: clock.clone(), patience: Duration::from_secs(30) };
    let ledger = Ledger::open(dir, Port::view(&port, network), options).map_err(|error| error.to_string())?;
    Ok(LedgerProcess { port, ledger })
}
