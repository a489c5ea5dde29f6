//! The agent's loop: one task for each run, steered by the orders.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use daybook_log::LogHandle;
use daybook_log::clock::{Clock, SystemClock};
use daybook_schemas::node::NodeDefinition;
use daybook_schemas::orders::{DesiredSet, RunOrder};
use daybook_schemas::{NodeName, RunId, Seq};
use daybook_supervisor::health::HealthCheck;
use daybook_supervisor::records::{Care, Wish};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::confine::{ConfinementConfig, Confiner};
use crate::directory::{Directories, Scanned};
use crate::reconcile::{Action, Known, reconcile};
use crate::report::{Report, Reporter};
use crate::usage::Observed;
use crate::watch::{Wishes, told_to_stop};
use crate::{health, held, script, simulated, usage};

/// Work on disk that goes on at once in this process, whatever the number of its nodes.
const BLOCKING_MAX: usize = 32;
static BLOCKING: Semaphore = Semaphore::const_new(BLOCKING_MAX);

/// What an agent is told.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// Its node.
    pub node: NodeDefinition,
    /// Where it keeps its runs' directories.
    pub state_dir: PathBuf,
    /// Where it puts scripts; jobs' users pass through it. Where they cannot, `/var/spool/daybook` stands in.
    pub spool_dir: PathBuf,
    /// The supervisor's program.
    pub supervisor_binary: PathBuf,
    /// Whether it can start jobs of other users than its own (it is root).
    pub allow_other_users: bool,
    /// How it confines its runs.
    pub confinement: ConfinementConfig,
    /// What it does around each run.
    pub care: Care,
    /// How the site checks the node.
    pub health: HealthCheck,
    /// How often it is looked at what runs use; absent: never.
    pub usage_interval: Option<Duration>,
}

/// Why an agent does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its directories cannot be used.
    #[error("node {node}: cannot use {path}: {source}")]
    Directory {
        /// The node.
        node: String,
        /// Which directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Its runs cannot be confined, and the site wants them to be.
    #[error(
        "node {node}: runs cannot be confined as the configuration asks: {}; confine = \"if_possible\" in [agent] of daybook.toml runs them anyway",
        .lacking.join("; ")
    )]
    Confinement {
        /// The node.
        node: String,
        /// What cannot be done, each as a sentence.
        lacking: Vec<String>,
    },
}

/// What all tasks of an agent share.
pub(crate) struct Node {
    pub(crate) config: AgentConfig,
    pub(crate) log: LogHandle,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) directories: Directories,
    pub(crate) confiner: Confiner,
    pub(crate) reporter: Reporter,
    pub(crate) observed: Observed,
}

impl Node {
    pub(crate) fn name(&self) -> &NodeName {
        &self.config.node.name
    }

    /// Whether this agent can start jobs of that user; an error says why not.
    pub(crate) fn may_start(&self, order: &RunOrder) -> Result<(), String> {
        let user = &order.spec.user;
        match self.config.allow_other_users || user.uid == nix::unistd::geteuid().as_raw() {
            true => Ok(()),
            false => Err(format!("daybookd runs without root and cannot start jobs of user {}", user.name)),
        }
    }

    /// Does work that blocks, on a thread for such. Once begun it is done to its end, also if the agent stops.
    /// `None`: it did not come to its end.
    pub(crate) async fn blocking<T: Send + 'static>(
        self: &Arc<Node>,
        work: impl FnOnce(&Node) -> T + Send + 'static,
    ) -> Option<T> {
        let _permit = BLOCKING.acquire().await;
        let node = self.clone();
        match tokio::task::spawn_blocking(move || work(&node)).await {
            Ok(done) => Some(done),
            Err(error) => {
                tracing::error!(node = %self.name(), %error, "work on disk did not come to its end");
                None
            }
        }
    }
}

/// The agent of one node.
pub struct Agent {
    node: Arc<Node>,
    known: BTreeMap<RunId, Known>,
    wishes: BTreeMap<RunId, watch::Sender<Wish>>,
    /// The runs' tasks: the run, and the commit that has its end (absent where the agent stops).
    tasks: JoinSet<(RunId, Option<Seq>)>,
    stopped: watch::Receiver<bool>,
    /// Orders from before this are not taken.
    newest: Seq,
}

/// A running agent. Dropping it stops the agent too, without waiting.
pub struct AgentHandle {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl AgentHandle {
    /// Stops it; jobs go on. Afterwards nothing of it is at work any more.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "an agent did not end by itself");
        }
    }
}

impl Agent {
    /// Starts the agent: finds the runs that are here, registers the node, and follows its orders. Must be called inside a
    /// tokio runtime.
    pub fn start(
        config: AgentConfig,
        log: LogHandle,
        orders: watch::Receiver<Arc<DesiredSet>>,
    ) -> Result<AgentHandle, StartError> {
        Agent::start_with_clock(config, log, orders, Arc::new(SystemClock))
    }

    /// The same with a clock other than the machine's; on a simulated node the runs keep to it.
    pub fn start_with_clock(
        config: AgentConfig,
        log: LogHandle,
        orders: watch::Receiver<Arc<DesiredSet>>,
        clock: Arc<dyn Clock>,
    ) -> Result<AgentHandle, StartError> {
        let directories = Directories::prepare_for(&config)?;
        let is_root = nix::unistd::geteuid().is_root();
        let confiner = Confiner::prepare(&config.confinement, &config.node, &config.state_dir, is_root)
            .map_err(|lacking| StartError::Confinement { node: config.node.name.to_string(), lacking })?;
        if let Some(lacking) = confiner.shortfall() {
            tracing::warn!(node = %config.node.name, lacking, "runs are not confined in every way");
        }
        let (stop, stopped) = watch::channel(false);
        let (reporter, reporting) = Reporter::start(config.node.name.clone(), log.clone());
        let node = Arc::new(Node {
            config,
            log,
            clock,
            directories,
            confiner,
            reporter,
            observed: Observed::default(),
        });
        let agent = Agent {
            node,
            known: BTreeMap::new(),
            wishes: BTreeMap::new(),
            tasks: JoinSet::new(),
            stopped,
            newest: Seq::ZERO,
        };
        let task = tokio::spawn(async move {
            agent.run(orders).await;
            // What was on its way to the log is found on disk again.
            reporting.abort();
        });
        Ok(AgentHandle { stop, task })
    }

    async fn run(mut self, mut orders: watch::Receiver<Arc<DesiredSet>>) {
        let node = self.node.clone();
        if !node.config.node.simulated {
            let scanned = node.blocking(|node| {
                let scanned = node.directories.scan();
                node.confiner.sweep(|name| scanned.iter().any(|found| found.run.to_string() == name));
                scanned
            });
            let scanned = scanned.await.unwrap_or_default();
            scanned.into_iter().for_each(|scanned| self.take_up(scanned));
        }
        let mut stopped = self.stopped.clone();
        // Before it is registered, so that a node that says it is unwell gets no work first.
        health::check(&node, &mut stopped).await;
        let registration = Report::registered(&node.config, node.confiner.shortfall(), node.clock.now());
        let registered = tokio::select! {
            biased;
            () = told_to_stop(&mut stopped) => None,
            registered = node.reporter.append(registration) => registered,
        };
        if let Some(registered) = registered {
            self.newest = registered;
            let checks =
                tokio::spawn(health::check_regularly(node.clone(), orders.clone(), self.stopped.clone()));
            let looks = tokio::spawn(usage::observe_regularly(node.clone(), self.stopped.clone()));
            self.follow(&mut orders).await;
            checks.abort();
            looks.abort();
        }
        // Also for a node whose registration the log refuses as no good: its runs are seen to their ends.
        told_to_stop(&mut stopped).await;
        while self.tasks.join_next().await.is_some() {}
        // A run that has files may be about to make its group.
        node.blocking(|node| node.directories.are_empty().then(|| node.confiner.leave())).await;
    }

    async fn follow(&mut self, orders: &mut watch::Receiver<Arc<DesiredSet>>) {
        let mut stopped = self.stopped.clone();
        loop {
            let desired = orders.borrow_and_update().clone();
            if desired.generation >= self.newest {
                self.newest = desired.generation;
                reconcile(&desired, &self.known).into_iter().for_each(|action| self.act(action));
            }
            tokio::select! {
                biased;
                () = told_to_stop(&mut stopped) => return,
                changed = orders.changed() => if changed.is_err() {
                    // Dispatch has stopped; what runs is seen to its end.
                    return self.see_out().await;
                },
                Some(ended) = self.tasks.join_next() => self.note_end(ended),
            }
            // Ends that are there already are taken together, before the orders are looked at again.
            while let Some(ended) = self.tasks.try_join_next() {
                self.note_end(ended);
            }
        }
    }

    async fn see_out(&mut self) {
        let mut stopped = self.stopped.clone();
        loop {
            tokio::select! {
                biased;
                () = told_to_stop(&mut stopped) => return,
                Some(ended) = self.tasks.join_next() => self.note_end(ended),
                else => return,
            }
        }
    }

    /// A run that was found on disk.
    fn take_up(&mut self, scanned: Scanned) {
        tracing::info!(run = %scanned.run, node = %self.node.name(), "found again");
        let told = scanned.order.as_ref().map_or_else(Wish::run, Wish::of);
        let wishes = self.know(scanned.run, scanned.allocated(), told);
        let (node, run) = (self.node.clone(), scanned.run);
        self.tasks.spawn(async move { (run, script::see_to_end(node, run, None, wishes).await) });
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Begin(order) => self.begin(order),
            Action::Tell(run, wish) => {
                if let Some(sender) = self.wishes.get(&run) {
                    sender.send_replace(wish.clone());
                }
                if let Some(Known::Active { told, .. }) = self.known.get_mut(&run) {
                    *told = wish;
                }
            }
            Action::Forget(run) => {
                self.known.remove(&run);
            }
        }
    }

    fn begin(&mut self, order: Arc<RunOrder>) {
        let run = order.run;
        let wishes = self.know(run, order.allocated, Wish::of(&order));
        let runs_script = order.nodes.first().is_some_and(|share| share.node == *self.node.name());
        let (node, simulated) = (self.node.clone(), self.node.config.node.simulated);
        self.tasks.spawn(async move {
            let end = match (runs_script, simulated) {
                (false, _) => held::hold(node, order, wishes).await,
                (true, true) => simulated::simulate(node, order, wishes).await,
                (true, false) => script::see_to_end(node, run, Some(order), wishes).await,
            };
            (run, end)
        });
    }

    fn know(&mut self, run: RunId, allocated: Seq, told: Wish) -> Wishes {
        let (sender, wish) = watch::channel(told.clone());
        self.wishes.insert(run, sender);
        self.known.insert(run, Known::Active { allocated, told });
        Wishes { wish, stopped: self.stopped.clone() }
    }

    fn note_end(&mut self, ended: Result<(RunId, Option<Seq>), tokio::task::JoinError>) {
        match ended {
            Ok((run, Some(seq))) => {
                self.known.insert(run, Known::Done(seq));
                self.wishes.remove(&run);
            }
            // Stopped, or a report that the log refuses for good: it stays known, so that it is not begun again.
            Ok((_, None)) => {}
            Err(error) => {
                tracing::error!(node = %self.node.name(), %error, "a run's task failed; a restart takes the run up")
            }
        }
    }
}
