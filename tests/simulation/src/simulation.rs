//! One run: a cluster, its troubles, its recovery, and what must hold then.

use std::sync::Arc;
use std::time::Duration;

use daybook_log::clock::Clock;
use daybook_log::memory::MemoryLog;
use daybook_log::{Append, EventLog};
use daybook_model::Cluster;
use daybook_planner::leases::Leases;
use daybook_schemas::node::NodeDefinition;
use daybook_schemas::{Actor, Body, Draft, Event, Seq, Stream, Subject};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::agent::BrokenRules;
use crate::choice::Choice;
use crate::clients::Clients;
use crate::clock::SkewedClock;
use crate::network::{Network, PortState};
use crate::processes::{
    DispatchProcess, GatewayProcess, LedgerProcess, Node, PlannerProcess, restored, start_dispatch,
    start_gateway, start_ledger, start_planner,
};
use crate::scenario::cluster;
use crate::trace::Trace;
use crate::witness::Witness;
use crate::{Broken, Options, Summary, listening, policies};

/// How long a step takes in simulated time, until nothing moves any more.
const STEP: Duration = Duration::from_millis(1);
/// So many of a hundred runs have a ledger.
const LEDGER_PERCENT: u32 = 30;
/// The most commits that the witness reads at once.
const READ_MAX: usize = 512;

/// Everything of a run.
pub(crate) struct Simulation {
    pub(crate) options: Options,
    pub(crate) choice: Choice,
    pub(crate) network: Arc<Network>,
    /// The clock that is right; the log's; the daemon's.
    pub(crate) time: Arc<SkewedClock>,
    pub(crate) log_clock: Arc<SkewedClock>,
    pub(crate) clock: Arc<SkewedClock>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) gateways: Vec<GatewayProcess>,
    pub(crate) planners: Vec<PlannerProcess>,
    pub(crate) dispatch: Option<DispatchProcess>,
    /// In some of the runs: its database takes longer than all the rest.
    pub(crate) has_ledger: bool,
    pub(crate) ledger: Option<LedgerProcess>,
    /// What the planner has heard of the agents.
    pub(crate) leases: Leases,
    pub(crate) clients: Clients,
    pub(crate) witness: Witness,
    /// What a process that starts with a snapshot starts with.
    pub(crate) snapshot: Cluster,
    pub(crate) trace: Trace,
    pub(crate) dir: TempDir,
    pub(crate) asked: u32,
    started: u32,
}

impl Simulation {
    /// A configured cluster with every process running.
    pub(crate) async fn new(seed: u64, options: Options) -> Result<Simulation, String> {
        let mut choice = Choice::of(seed);
        let began = Instant::now();
        let log_clock = SkewedClock::new(began);
        let network = Network::new(MemoryLog::with_clock(log_clock.clone()));
        let mut configured = cluster(&mut choice);
        let accounts = policies::draw(&mut configured, &mut choice);
        let nodes = configured.nodes.iter();
        let nodes =
            nodes.map(|node: &NodeDefinition| Node::new(node.clone(), SkewedClock::new(began))).collect();
        // What is broken on purpose is noticed without it.
        let has_ledger = choice.chance(LEDGER_PERCENT) && options.broken.is_none();
        let mut simulation = Simulation {
            options,
            choice,
            network,
            time: SkewedClock::new(began),
            log_clock,
            clock: SkewedClock::new(began),
            nodes,
            gateways: Vec::new(),
            planners: Vec::new(),
            dispatch: None,
            has_ledger,
            ledger: None,
            leases: listening::leases(),
            clients: Clients::default(),
            witness: Witness::new(),
            snapshot: Cluster::new(),
            trace: Trace::new(options.trace),
            dir: temporary_directory()?,
            asked: 0,
            started: 0,
        };
        let bodies = std::iter::once(Body::from(configured)).chain(accounts);
        let event = |(number, body)| Event {
            id: format!("configured/{number}").into(),
            source: "daybookd".to_string(),
            time: simulation.time.now(),
            actor: Actor::service("daybookd"),
            cause: None,
            body,
        };
        let events = bodies.enumerate().map(event).collect();
        let draft = Draft { subject: Subject::Admin, expect: None, events };
        let append = Append { stream: Stream::State, draft, blobs: Vec::new() };
        simulation.network.log().append(append).await.map_err(|error| error.to_string())?;
        simulation.start_what_is_missing().await?;
        Ok(simulation)
    }

    /// The whole run.
    pub(crate) async fn run(mut self) -> Result<Summary, (u32, String)> {
        let outcome = self.phases().await;
        outcome.map_err(|why| (self.trace.step(), why))
    }

    async fn phases(&mut self) -> Result<Summary, String> {
        self.troubles().await?;
        self.recover().await?;
        self.check_everything().await
    }

    /// Lets everything come to rest, and looks at what has come of it.
    pub(crate) async fn settle(&mut self) -> Result<(), String> {
        tokio::time::sleep(STEP).await;
        let (answers, unwritten) = self.clients.take_answers().await?;
        for words in answers {
            self.say(|| format!("request {words}"));
        }
        self.look().await?;
        match unwritten.iter().find(|id| self.witness.requests.contains(*id)) {
            Some(id) => Err(format!("request {id} is said to have changed nothing; it is in the log")),
            None => Ok(()),
        }
    }

    /// The witness sees what is new in the log.
    async fn look(&mut self) -> Result<(), String> {
        loop {
            let from = self.witness.cluster.position().next();
            let commits = self.network.log().read(Stream::State, from, READ_MAX).await;
            let commits = commits.map_err(|error| error.to_string())?;
            if commits.is_empty() {
                return Ok(());
            }
            for commit in commits {
                self.witness.see(&commit)?;
            }
        }
    }

    /// A line of the trace.
    pub(crate) fn say(&self, line: impl FnOnce() -> String) {
        self.trace.say(&self.time, line);
    }

    pub(crate) fn log_end(&self) -> Seq {
        self.network.log().end(Stream::State)
    }

    /// A port for a new process that has folded up to `position`: it sees that much, or more, or everything.
    fn connect(&mut self, role: &str, position: Seq) -> Arc<PortState> {
        self.started += 1;
        let end = self.log_end();
        let horizon = Seq(position.0 + self.choice.below(end.0.saturating_sub(position.0) + 1));
        let unfenced = role == "planner" && self.options.broken == Some(Broken::UnfencedPlanner);
        let name = format!("{role}#{}", self.started);
        self.say(|| format!("{name} starts, seeing up to {horizon} of {end}"));
        self.network.connect(name, horizon, unfenced)
    }

    /// What a process folds on from: nothing, or a snapshot that was written and read.
    fn initial(&mut self) -> Result<Cluster, String> {
        match self.choice.chance(50) {
            true => restored(&self.snapshot),
            false => Ok(Cluster::new()),
        }
    }

    pub(crate) fn start_gateway(&mut self) -> Result<(), String> {
        let initial = self.initial()?;
        let port = self.connect("gateway", initial.position());
        self.gateways.push(start_gateway(port, &self.network, &self.clock, initial));
        Ok(())
    }

    pub(crate) fn start_planner(&mut self) -> Result<(), String> {
        let initial = self.initial()?;
        let port = self.connect("planner", initial.position());
        self.planners.push(start_planner(port, &self.network, &self.clock, initial));
        Ok(())
    }

    pub(crate) fn start_dispatch(&mut self) -> Result<(), String> {
        let initial = self.initial()?;
        let port = self.connect("dispatch", initial.position());
        let names: Vec<_> = self.nodes.iter().map(|node| node.name().clone()).collect();
        self.dispatch = Some(start_dispatch(port, &self.network, initial, names));
        Ok(())
    }

    pub(crate) fn ledger_is_missing(&self) -> bool {
        self.has_ledger && self.ledger.is_none()
    }

    pub(crate) fn start_ledger(&mut self) -> Result<(), String> {
        let dir = self.dir.path().join("ledger");
        let position = daybook_ledger::Ledger::recorded_position(&dir).map_err(|error| error.to_string())?;
        let port = self.connect("ledger", position);
        self.ledger = Some(start_ledger(port, &self.network, &self.clock, &dir)?);
        Ok(())
    }

    pub(crate) fn start_agent(&mut self, at: usize) -> Result<(), String> {
        let port = self.connect(&format!("agent-{}", self.nodes[at].name()), Seq::ZERO);
        let broken = BrokenRules {
            takes_old_orders: self.options.broken == Some(Broken::AgentTakesOldOrders),
            forgets_before_acknowledged: self.options.broken == Some(Broken::AgentForgetsEnds),
        };
        self.nodes[at].start_agent(port, &self.network, self.dir.path(), broken)
    }

    /// At least one process of every role.
    pub(crate) async fn start_what_is_missing(&mut self) -> Result<(), String> {
        if self.gateways.is_empty() {
            self.start_gateway()?;
        }
        if self.planners.is_empty() {
            self.start_planner()?;
        }
        if self.dispatch.is_none() {
            self.start_dispatch()?;
        }
        if self.ledger_is_missing() {
            self.start_ledger()?;
        }
        for at in 0..self.nodes.len() {
            if self.nodes[at].agent.is_none() {
                self.start_agent(at)?;
            }
        }
        self.settle().await
    }

    /// All ports of living processes, in a fixed order.
    pub(crate) fn ports(&self) -> Vec<Arc<PortState>> {
        let gateways = self.gateways.iter().map(|process| &process.port);
        let planners = self.planners.iter().map(|process| &process.port);
        let dispatch = self.dispatch.iter().map(|process| &process.port);
        let ledger = self.ledger.iter().map(|process| &process.port);
        gateways.chain(planners).chain(dispatch).chain(ledger).cloned().collect()
    }
}

/// In memory where there is such a place: nothing here has to survive the machine.
fn temporary_directory() -> Result<TempDir, String> {
    let builder = || tempfile::Builder::new().prefix("daybook-simulation-").to_owned();
    let in_memory = builder().tempdir_in("/dev/shm");
    in_memory.or_else(|_| builder().tempdir()).map_err(|error| format!("no temporary directory: {error}"))
}
