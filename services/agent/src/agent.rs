//! The agent's loop.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use daybook_log::LogHandle;
use daybook_log::clock::{Clock, SystemClock};
use daybook_schemas::node::NodeDefinition;
use daybook_schemas::orders::{DesiredSet, RunOrder, RunWish};
use daybook_schemas::{RunId, Seq};
use daybook_supervisor::records::Wish;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;

use crate::directory::{Directories, Found};
use crate::report::{Report, Reporter};
use crate::simulated::Simulated;
use crate::watch::{Outcome, watch_supervisor};

/// Launches that go on at once on one node.
const LAUNCHES_MAX: usize = 16;
/// News from launches, supervisors and the reporter that may wait.
const NEWS_MAX: usize = 1024;

/// What an agent is told.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// Its node.
    pub node: NodeDefinition,
    /// Where it keeps its runs' directories.
    pub state_dir: PathBuf,
    /// Where it puts scripts; jobs' users pass through it.
    pub spool_dir: PathBuf,
    /// The supervisor's program.
    pub supervisor_binary: PathBuf,
    /// Whether it can start jobs of other users than its own (it is root).
    pub allow_other_users: bool,
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
}

/// The agent of one node.
pub struct Agent {
    config: Arc<AgentConfig>,
    log: LogHandle,
    clock: Arc<dyn Clock>,
    directories: Arc<Directories>,
    reporter: Reporter,
    runs: BTreeMap<RunId, Local>,
    launches: Arc<Semaphore>,
    news: mpsc::Sender<News>,
    simulated: Simulated,
}

/// A running agent.
pub struct AgentHandle {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl AgentHandle {
    /// Stops it; jobs go on.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "an agent did not end by itself");
        }
    }
}

/// What the agent knows of a run.
enum Local {
    /// Another node runs the script; something is held here.
    Held,
    /// Being prepared and started; the newest wish.
    Launching(Wish),
    /// A supervisor has it.
    Running(Wish),
    /// A simulated run.
    Simulated,
    /// Its end is on the way to the log.
    Reporting,
    /// Its end is in the log, in this commit; kept until the orders show that dispatch has seen it.
    Done(Seq),
}

/// What the loop is told.
pub(crate) enum News {
    /// A launch has come to something.
    Launched(RunId, Outcome),
    /// A supervisor has ended.
    Ended(RunId, Outcome),
    /// A simulated run has come to its end.
    SimulatedEnd(RunId, Report),
    /// The end of a run is in the log.
    Reported(RunId, Seq),
}

impl Agent {
    /// Starts the agent: registers the node, finds the runs that are here, and follows its orders. Must be called
    /// inside a tokio runtime.
    pub fn start(
        config: AgentConfig,
        log: LogHandle,
        orders: watch::Receiver<Arc<DesiredSet>>,
    ) -> Result<AgentHandle, StartError> {
        let config = Arc::new(config);
        let directories = Arc::new(Directories::prepare(&config)?);
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let (news, heard) = mpsc::channel(NEWS_MAX);
        let (stop, stopped) = watch::channel(false);
        let reporter = Reporter::start(config.node.name.clone(), log.clone(), clock.clone(), news.clone());
        let simulated = Simulated::new(config.node.name.clone(), log.clone(), news.clone());
        let agent = Agent {
            config,
            log,
            clock,
            directories,
            reporter,
            runs: BTreeMap::new(),
            launches: Arc::new(Semaphore::new(LAUNCHES_MAX)),
            news,
            simulated,
        };
        Ok(AgentHandle { stop, task: tokio::spawn(agent.run(orders, heard, stopped)) })
    }

    async fn run(
        mut self,
        mut orders: watch::Receiver<Arc<DesiredSet>>,
        mut heard: mpsc::Receiver<News>,
        mut stopped: watch::Receiver<bool>,
    ) {
        self.reporter.send(Report::registered(&self.config, self.clock.now())).await;
        self.find_runs().await;
        loop {
            let set = orders.borrow_and_update().clone();
            if set.generation > Seq::ZERO {
                self.reconcile(&set).await;
            }
            tokio::select! {
                changed = orders.changed() => if changed.is_err() { return },
                Some(news) = heard.recv() => self.hear(news).await,
                () = told_to_stop(&mut stopped) => return,
            }
            // What is there already is taken together, before the orders are looked at again.
            while let Ok(news) = heard.try_recv() {
                self.hear(news).await;
            }
        }
    }

    /// After a start: every run that has a directory is taken up where it was left.
    async fn find_runs(&mut self) {
        for (run, found) in self.directories.scan() {
            match found {
                Found::Ended(exit) => self.report_end(run, Outcome::Ended(Box::new(exit))).await,
                Found::Lost { last_evidence, message } => {
                    self.report_end(run, Outcome::Lost { last_evidence, message }).await;
                }
                Found::Supervised(intent, claim) => {
                    tracing::info!(%run, "taken up again");
                    let order = &intent.order;
                    self.runs.insert(
                        run,
                        Local::Running(Wish { wish: order.wish, signals: order.signals.clone() }),
                    );
                    self.watch_adopted(run, claim);
                }
                Found::Unclaimed(intent) => {
                    let wish = Wish { wish: intent.order.wish, signals: intent.order.signals.clone() };
                    self.launch(Arc::new(intent.order), wish);
                }
            }
        }
    }

    fn watch_adopted(&self, run: RunId, claim: daybook_supervisor::records::Claim) {
        let (directories, news) = (self.directories.clone(), self.news.clone());
        tokio::spawn(async move {
            // The script exists or has existed: that it started is told (again; the log knows it by its id).
            if let Some(started) = directories.started(run) {
                let _ = news.send(News::Launched(run, Outcome::Started(started))).await;
            }
            crate::watch::wait_for_process(claim).await;
            let outcome = directories.outcome(run);
            let _ = news.send(News::Ended(run, outcome)).await;
        });
    }

    /// Makes what is into what should be.
    async fn reconcile(&mut self, set: &DesiredSet) {
        for order in &set.runs {
            self.reconcile_one(order).await;
        }
        // What is over and no longer ordered is forgotten; what is only held and no longer ordered, too.
        let ordered = |run: &RunId| set.runs.binary_search_by(|order| order.run.cmp(run)).is_ok();
        self.runs.retain(|run, local| match local {
            Local::Done(seq) => set.generation < *seq || ordered(run),
            Local::Held => ordered(run),
            _ => true,
        });
    }

    async fn reconcile_one(&mut self, order: &Arc<RunOrder>) {
        let run = order.run;
        let wish = Wish { wish: order.wish, signals: order.signals.clone() };
        match self.runs.get_mut(&run) {
            None => self.begin(order, wish).await,
            Some(Local::Held) if order.wish == RunWish::Release => {
                self.runs.insert(run, Local::Reporting);
                let report = Report::released(&self.config.node.name, run, self.clock.now());
                self.reporter.send(report).await;
            }
            Some(Local::Launching(newest)) => *newest = wish,
            Some(Local::Running(told)) if *told != wish => {
                *told = wish.clone();
                self.directories.tell(run, &wish);
            }
            Some(Local::Simulated) if !matches!(order.wish, RunWish::Run) => {
                self.simulated.end_early(order, self.clock.now());
            }
            _ => {}
        }
    }

    /// A run that is new here.
    async fn begin(&mut self, order: &Arc<RunOrder>, wish: Wish) {
        let run = order.run;
        let runs_script = order.nodes.first().is_some_and(|share| share.node == self.config.node.name);
        if !runs_script {
            self.runs.insert(run, Local::Held);
            if order.wish == RunWish::Release {
                self.runs.insert(run, Local::Reporting);
                self.reporter.send(Report::released(&self.config.node.name, run, self.clock.now())).await;
            }
        } else if order.wish == RunWish::Release {
            // Its end is in the log, its release is not: the two are one commit here, so another agent wrote the end.
            self.runs.insert(run, Local::Reporting);
            self.reporter.send(Report::released(&self.config.node.name, run, self.clock.now())).await;
        } else if self.config.node.simulated {
            self.runs.insert(run, Local::Simulated);
            self.simulated.begin(order.clone(), self.clock.now());
        } else if order.wish != RunWish::Run {
            // Told to end before it was started here: it is over without having run.
            self.runs.insert(run, Local::Reporting);
            let report = Report::never_started(&self.config.node.name, order, self.clock.now());
            self.reporter.send(report).await;
        } else {
            self.launch(order.clone(), wish);
        }
    }

    /// Prepares the run's directory and starts its supervisor, in the background.
    fn launch(&mut self, order: Arc<RunOrder>, wish: Wish) {
        let run = order.run;
        self.runs.insert(run, Local::Launching(wish));
        let (config, log, directories) = (self.config.clone(), self.log.clone(), self.directories.clone());
        let (launches, news) = (self.launches.clone(), self.news.clone());
        tokio::spawn(async move {
            let permit = launches.acquire_owned().await;
            let launched = directories.launch(&config, log.as_ref(), &order).await;
            let (first, child) = match launched {
                Ok(child) => watch_supervisor(child, &directories, run).await,
                Err(why) => (Outcome::NotLaunched(why), None),
            };
            drop(permit);
            let _ = news.send(News::Launched(run, first)).await;
            if let Some(mut child) = child {
                let _ = child.wait().await;
                let _ = news.send(News::Ended(run, directories.outcome(run))).await;
            }
        });
    }

    async fn hear(&mut self, news: News) {
        match news {
            News::Launched(run, Outcome::Started(started)) => {
                if let Some(Local::Launching(wish)) = self.runs.get(&run) {
                    let wish = wish.clone();
                    if wish.wish != RunWish::Run || !wish.signals.is_empty() {
                        self.directories.tell(run, &wish);
                    }
                    self.runs.insert(run, Local::Running(wish));
                }
                let report = Report::started(&self.config.node.name, run, started);
                self.reporter.send(report).await;
            }
            News::Launched(run, outcome) | News::Ended(run, outcome) => self.report_end(run, outcome).await,
            News::SimulatedEnd(run, report) => {
                self.runs.insert(run, Local::Reporting);
                self.reporter.send(report).await;
            }
            News::Reported(run, seq) => {
                self.directories.remove(run);
                self.runs.insert(run, Local::Done(seq));
            }
        }
    }

    async fn report_end(&mut self, run: RunId, outcome: Outcome) {
        if matches!(self.runs.get(&run), Some(Local::Reporting | Local::Done(_))) {
            return;
        }
        self.runs.insert(run, Local::Reporting);
        let started = self.directories.started(run);
        let report = Report::ended(&self.config.node.name, run, started, outcome, self.clock.now());
        self.reporter.send(report).await;
    }
}

async fn told_to_stop(stopped: &mut watch::Receiver<bool>) {
    // An error means that the handle is gone, which stops the agent as well.
    let _ = stopped.wait_for(|stop| *stop).await;
}
