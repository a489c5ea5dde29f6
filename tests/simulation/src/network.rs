//! What lies between a process and the log: appends that wait until the simulation delivers them, answers that are late
//! or lost, views that lag behind, partitions.
//!
//! A process has a [`Port`]. A dead one answers nothing any more, so whatever is left of a crashed process's tasks has
//! no effect.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use daybook_log::memory::{Fault, MemoryLog};
use daybook_log::{Append, AppendError, Appended, Durability, EventLog, LogHandle, ReadError};
use daybook_schemas::{BlobHash, Commit, EventId, Seq, Stream, Subject};
use tokio::sync::{oneshot, watch};

type Answer = Result<Appended, AppendError>;

/// What becomes of one append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrives and is answered.
    Delivered,
    /// It arrives; the answer waits.
    AnswerDelayed,
    /// The log's own faults.
    Log(Fault),
    /// It arrives, and the line breaks before the answer.
    ArrivedAndCut,
    /// Answered as unknown; it arrives at some later time.
    Late,
    /// Acknowledged, and not in the log: what no log may do. For showing that the checks see it.
    FalselyAcknowledged,
}

/// A process's standing in the network.
#[derive(Debug)]
pub struct PortState {
    name: String,
    alive: AtomicBool,
    connected: AtomicBool,
    /// How much of the log its projections see.
    horizon: watch::Sender<Seq>,
    appends: AtomicU64,
    /// Its appends lose their expectation on the way: a writer that is not fenced.
    unfenced: bool,
}

impl PortState {
    /// Its name: the role and which process of it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Cuts it off from the log, or connects it again.
    pub fn set_connected(&self, connected: bool) {
        self.connected.store(connected, Ordering::Relaxed);
    }

    /// Whether it reaches the log.
    pub fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }

    fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }

    /// How much of the log its projections see.
    pub fn horizon(&self) -> Seq {
        *self.horizon.borrow()
    }

    /// Lets its projections see more.
    pub fn see(&self, seq: Seq) {
        self.horizon.send_if_modified(|horizon| {
            let is_more = seq > *horizon;
            *horizon = seq.max(*horizon);
            is_more
        });
    }
}

/// An append on its way, as the simulation sees it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OnItsWay {
    /// Whose.
    pub port: String,
    /// Which of this process's appends.
    pub number: u64,
    /// What is in it.
    pub what: String,
}

struct Waiting {
    port: Arc<PortState>,
    label: OnItsWay,
    append: Append,
    answer: oneshot::Sender<Answer>,
}

#[derive(Default)]
struct Traffic {
    waiting: Vec<Waiting>,
    answers: Vec<(OnItsWay, oneshot::Sender<Answer>, Answer)>,
    strays: Vec<(OnItsWay, Append)>,
}

/// All that is under way between processes and the log.
pub struct Network {
    log: Arc<MemoryLog>,
    traffic: Mutex<Traffic>,
    disk_full: AtomicBool,
}

impl Network {
    /// A network in front of this log.
    pub fn new(log: Arc<MemoryLog>) -> Arc<Network> {
        Arc::new(Network { log, traffic: Mutex::default(), disk_full: AtomicBool::new(false) })
    }

    /// The log itself, without faults.
    pub fn log(&self) -> &Arc<MemoryLog> {
        &self.log
    }

    /// Connects a new process, whose projections see the log up to `horizon`.
    pub fn connect(&self, name: String, horizon: Seq, unfenced: bool) -> Arc<PortState> {
        Arc::new(PortState {
            name,
            alive: AtomicBool::new(true),
            connected: AtomicBool::new(true),
            horizon: watch::Sender::new(horizon),
            appends: AtomicU64::new(0),
            unfenced,
        })
    }

    /// From now on nothing can be appended, or again.
    pub fn set_disk_full(&self, full: bool) {
        self.disk_full.store(full, Ordering::Relaxed);
    }

    /// Whether the log's disk is full.
    pub fn is_disk_full(&self) -> bool {
        self.disk_full.load(Ordering::Relaxed)
    }

    fn traffic(&self) -> MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends that could be delivered, in a fixed order.
    pub fn on_their_way(&self) -> Vec<OnItsWay> {
        let traffic = self.traffic();
        let reachable = traffic.waiting.iter().filter(|waiting| waiting.port.is_connected());
        let mut labels: Vec<OnItsWay> = reachable.map(|waiting| waiting.label.clone()).collect();
        labels.sort();
        labels
    }

    /// Answers that wait, in a fixed order.
    pub fn late_answers(&self) -> Vec<OnItsWay> {
        let mut labels: Vec<OnItsWay> =
            self.traffic().answers.iter().map(|(label, ..)| label.clone()).collect();
        labels.sort();
        labels
    }

    /// How many appends nobody waits for any more and may still arrive.
    pub fn strays(&self) -> usize {
        self.traffic().strays.len()
    }

    /// Delivers an append. Gives what the log said, in words.
    pub async fn deliver(&self, label: &OnItsWay, fate: Fate) -> String {
        let waiting = {
            let mut traffic = self.traffic();
            let Some(at) = traffic.waiting.iter().position(|waiting| waiting.label == *label) else {
                return "is gone".to_string();
            };
            traffic.waiting.remove(at)
        };
        let Waiting { append, answer, label, port } = waiting;
        let refused = self.is_disk_full().then_some(Fate::Log(Fault::Unavailable));
        let outcome = match refused.unwrap_or(fate) {
            Fate::Log(fault) => {
                self.log.script([Some(fault)]);
                self.log.append(append).await
            }
            Fate::ArrivedAndCut => {
                port.set_connected(false);
                self.log.script([Some(Fault::AcknowledgementLost)]);
                self.log.append(append).await
            }
            Fate::Late => {
                self.traffic().strays.push((label, append));
                Err(AppendError::Unknown("no answer came in time".to_string()))
            }
            Fate::FalselyAcknowledged => {
                Ok(Appended { seq: self.log.end(Stream::State), time: crate::clock::DAWN })
            }
            Fate::Delivered => self.log.append(append).await,
            Fate::AnswerDelayed => {
                let outcome = self.log.append(append).await;
                let words = format!("{}, answered later", in_words(&outcome));
                self.traffic().answers.push((label, answer, outcome));
                return words;
            }
        };
        let words = in_words(&outcome);
        // Who asked may have died meanwhile.
        let _ = answer.send(outcome);
        words
    }

    /// Brings a late answer.
    pub fn answer(&self, label: &OnItsWay) {
        let mut traffic = self.traffic();
        if let Some(at) = traffic.answers.iter().position(|(late, ..)| late == label) {
            let (_, answer, outcome) = traffic.answers.remove(at);
            let _ = answer.send(outcome);
        }
    }

    /// An append that nobody waits for any more arrives. Gives what the log said.
    pub async fn deliver_stray(&self, at: usize) -> String {
        let (label, append) = {
            let mut traffic = self.traffic();
            if at >= traffic.strays.len() {
                return "is gone".to_string();
            }
            traffic.strays.remove(at)
        };
        if self.is_disk_full() {
            return format!("{} {}: disk full", label.port, label.what);
        }
        format!("{} {}: {}", label.port, label.what, in_words(&self.log.append(append).await))
    }

    /// The process dies: nothing of it has any effect more, but for appends that were under way, if `arrive`.
    pub fn crash(&self, port: &PortState, arrive: bool) {
        port.alive.store(false, Ordering::Relaxed);
        let mut traffic = self.traffic();
        let (dead, waiting) =
            std::mem::take(&mut traffic.waiting).into_iter().partition(|one| one.port.name == port.name);
        traffic.waiting = waiting;
        traffic.answers.retain(|(label, ..)| label.port != port.name);
        if arrive {
            let dead: Vec<Waiting> = dead;
            traffic.strays.extend(dead.into_iter().map(|one| (one.label, one.append)));
        }
    }
}

fn in_words(outcome: &Answer) -> String {
    match outcome {
        Ok(appended) => format!("commit {}", appended.seq),
        Err(error) => error.to_string(),
    }
}

fn what_is_in(append: &Append) -> String {
    let mut words: Vec<String> = append.draft.events.iter().map(describe_event).collect();
    if words.len() > 6 {
        let more = words.len() - 6;
        words.truncate(6);
        words.push(format!("and {more} more"));
    }
    words.join(", ")
}

/// An event in a few words.
pub fn describe_event(event: &daybook_schemas::Event) -> String {
    use daybook_schemas::Body;
    match &event.body {
        Body::JobSubmitted(data) => match data.ids {
            1 => format!("job {} submitted", data.job),
            ids => format!("array {} of {ids} submitted", data.job),
        },
        Body::JobCancelRequested(data) => format!("cancel {}", data.target.job),
        Body::JobHeld(data) => format!("hold {}", data.target.job),
        Body::JobParted(data) => format!("part {} of {}", data.tasks, data.array),
        Body::JobReleased(data) => format!("release {}", data.target.job),
        Body::JobRequeued(data) => format!("requeue {}", data.job),
        Body::JobUpdated(data) => format!("update {}", data.job),
        Body::JobFinished(data) => format!("job {} finished as {}", data.job, data.state.word()),
        Body::PlannerCycle(data) => format!("cycle from {}", data.input),
        Body::RunAllocated(data) => {
            let nodes: Vec<&str> = data.nodes.iter().map(|share| share.node.as_str()).collect();
            format!("run {} on {}", data.run, nodes.join("+"))
        }
        Body::RunStarted(data) => format!("run {} started", data.run),
        Body::RunEnded(data) => format!("run {} ended: {:?}", data.run, data.cause),
        Body::RunLost(data) => format!("run {} lost", data.run),
        Body::RunPreempted(data) => format!("run {} gives way to {}", data.run, data.by),
        Body::RunUsedUp(data) => {
            format!("run {} has used up {} of {}", data.run, data.limit.limit, data.limit.of)
        }
        Body::RunNodeReleased(data) => format!("run {} released {}", data.run, data.node),
        Body::NodeRegistered(data) => format!("node {} registered", data.node),
        Body::NodeUpdated(data) => format!("node {} set {:?}", data.node, data.state),
        _ => event.id.to_string(),
    }
}

/// A process's way to the log. As a view it shows no more than the process's horizon, as a replica that lags does.
pub struct Port {
    state: Arc<PortState>,
    network: Arc<Network>,
    is_view: bool,
}

impl Port {
    /// The way of writers and of whoever asks the log itself.
    pub fn direct(state: &Arc<PortState>, network: &Arc<Network>) -> LogHandle {
        Arc::new(Port { state: state.clone(), network: network.clone(), is_view: false })
    }

    /// The way of projections.
    pub fn view(state: &Arc<PortState>, network: &Arc<Network>) -> LogHandle {
        Arc::new(Port { state: state.clone(), network: network.clone(), is_view: true })
    }

    async fn reach(&self) -> Result<(), ReadError> {
        if !self.state.is_alive() {
            std::future::pending::<()>().await;
        }
        match self.state.is_connected() {
            true => Ok(()),
            false => Err(ReadError::Unavailable("no way to the log".to_string())),
        }
    }
}

#[async_trait]
impl EventLog for Port {
    async fn append(&self, mut append: Append) -> Answer {
        if !self.state.is_alive() {
            std::future::pending::<()>().await;
        }
        if self.state.unfenced {
            append.draft.expect = None;
        }
        let number = self.state.appends.fetch_add(1, Ordering::Relaxed);
        let label = OnItsWay { port: self.state.name.clone(), number, what: what_is_in(&append) };
        let (answer, answered) = oneshot::channel();
        self.network.traffic().waiting.push(Waiting { port: self.state.clone(), label, append, answer });
        match answered.await {
            Ok(outcome) => outcome,
            // The process has died.
            Err(_) => std::future::pending().await,
        }
    }

    async fn read(&self, stream: Stream, from: Seq, limit: usize) -> Result<Vec<Arc<Commit>>, ReadError> {
        self.reach().await?;
        let mut commits = self.network.log.read(stream, from, limit).await?;
        if self.is_view && stream == Stream::State {
            let horizon = self.state.horizon();
            commits.retain(|commit| commit.seq <= horizon);
        }
        Ok(commits)
    }

    fn end(&self, stream: Stream) -> Seq {
        match (self.is_view, stream) {
            (true, Stream::State) => self.state.horizon(),
            _ => self.network.log.end(stream),
        }
    }

    async fn wait_past(&self, stream: Stream, seq: Seq) -> Result<Seq, ReadError> {
        if !self.is_view || stream == Stream::Detail {
            return self.network.log.wait_past(stream, seq).await;
        }
        let mut horizon = self.state.horizon.subscribe();
        match horizon.wait_for(|horizon| *horizon > seq).await {
            Ok(end) => Ok(*end),
            Err(_) => Err(ReadError::Unavailable("the simulation has ended".to_string())),
        }
    }

    async fn find(&self, stream: Stream, event: &EventId) -> Result<Option<Seq>, ReadError> {
        self.reach().await?;
        self.network.log.find(stream, event).await
    }

    async fn subject_end(&self, stream: Stream, subject: &Subject) -> Result<Seq, ReadError> {
        self.reach().await?;
        self.network.log.subject_end(stream, subject).await
    }

    async fn blob(&self, hash: &BlobHash) -> Result<Option<Arc<[u8]>>, ReadError> {
        self.reach().await?;
        self.network.log.blob(hash).await
    }

    fn durability(&self) -> Durability {
        self.network.log.durability()
    }
}
