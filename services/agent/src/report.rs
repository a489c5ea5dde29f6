//! Facts on their way to the log: in order, together where they wait together, and never dropped.

use std::time::Duration;

use daybook_log::{Append, AppendError, LogHandle};
use daybook_schemas::events::{
    NodeUpdated, RunEnded, RunLost, RunNodeReleased, RunResumed, RunStarted, RunSuspended,
};
use daybook_schemas::node::NodeUpdateState;
use daybook_schemas::run::{EndCause, ExitStatus};
use daybook_schemas::{Actor, Body, Draft, Event, EventId, NodeName, RunId, Seq, Stream, Subject, UtcMicros};
use daybook_supervisor::records::{Exit, Started, Trouble, TroubleKind, Turn};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::agent::AgentConfig;
use crate::directory::Loss;
use crate::registration::registration;

/// Reports that may wait; then the runs' tasks wait with them.
const WAITING_MAX: usize = 4096;
/// Reports in one commit.
const BATCH_MAX: usize = 256;
/// The longest message of an event, in characters.
const MESSAGE_MAX: usize = 1000;
/// The longest reason of a drain, in characters.
const REASON_MAX: usize = 300;
/// Between tries while the log does not take commits: doubled from the first to the last.
const BACKOFF: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];

/// Facts that become true together.
#[derive(Debug)]
pub struct Report {
    events: Vec<Event>,
}

/// A report on its way, and whom to answer.
struct Sent {
    report: Report,
    answer: Option<oneshot::Sender<Seq>>,
}

fn source_of(node: &NodeName) -> String {
    format!("agent/{node}")
}

/// An event of a node.
pub(crate) fn event(node: &NodeName, id: String, time: UtcMicros, body: impl Into<Body>) -> Event {
    let source = source_of(node);
    let actor = Actor::service(source.clone());
    Event { id: format!("{source}/{id}").into(), source, time, actor, cause: None, body: body.into() }
}

/// Each order is answered once.
fn turn_word(run: RunId, turn: Turn) -> String {
    let word = if turn.is_stop { "suspended" } else { "resumed" };
    format!("{run}/{word}/{}", turn.ordered)
}

fn trouble_word(run: RunId, kind: TroubleKind) -> String {
    format!("{run}/trouble/{}", kind.word())
}

impl Report {
    /// The ids of what is reported of every run on a node.
    pub fn ids_of(node: &NodeName, run: RunId) -> [EventId; 3] {
        ["started", "ended", "released"].map(|what| format!("{}/{run}/{what}", source_of(node)).into())
    }

    /// The id of a report that a run has stopped, or goes on.
    pub fn turn_id(node: &NodeName, run: RunId, turn: Turn) -> EventId {
        format!("{}/{}", source_of(node), turn_word(run, turn)).into()
    }

    /// The agent is there, with what its node has.
    pub fn registered(config: &AgentConfig, unconfined: Option<String>, now: UtcMicros) -> Report {
        let registration = registration(config, unconfined);
        let id = format!("registered/{}/{}", registration.boot_id, now.0);
        Report { events: vec![event(&config.node.name, id, now, registration)] }
    }

    /// The script's process exists.
    pub fn started(node: &NodeName, run: RunId, started: &Started) -> Report {
        let body = RunStarted { run, node: node.clone(), pid: u32::try_from(started.pid).ok() };
        Report { events: vec![event(node, format!("{run}/started"), started.at, body)] }
    }

    /// The run has stopped, or goes on.
    pub fn turned(node: &NodeName, run: RunId, turn: Turn) -> Report {
        let (node_name, ordered) = (node.clone(), turn.ordered);
        let body: Body = match turn.is_stop {
            true => RunSuspended { run, node: node_name, ordered }.into(),
            false => RunResumed { run, node: node_name, ordered }.into(),
        };
        Report { events: vec![event(node, turn_word(run, turn), turn.at, body)] }
    }

    /// Something about a run for which its node takes itself out of service.
    pub fn trouble(node: &NodeName, run: RunId, trouble: &Trouble) -> Report {
        let Trouble { at, kind, message } = trouble;
        let reason: String =
            format!("{}: job {}: {message}", kind.reason(), run.job).chars().take(REASON_MAX).collect();
        tracing::error!(%node, %run, reason, "a run's node is drained");
        let body = NodeUpdated::new(node.clone(), Some(NodeUpdateState::Drain), Some(reason));
        Report { events: vec![event(node, trouble_word(run, *kind), *at, body)] }
    }

    /// The id of such a report.
    pub fn trouble_id(node: &NodeName, run: RunId, kind: TroubleKind) -> EventId {
        format!("{}/{}", source_of(node), trouble_word(run, kind)).into()
    }

    /// The end of a run's script, on the node that ran it.
    pub fn ended(node: &NodeName, run: RunId, exit: Exit) -> Report {
        let Exit { at, cause, exit, message, usage } = exit;
        let message = message.map(|message| message.chars().take(MESSAGE_MAX).collect());
        let body = RunEnded { run, node: node.clone(), cause, exit, message, usage };
        Report::over(node, run, at, body.into())
    }

    /// A run whose end nobody saw.
    pub fn lost(node: &NodeName, run: RunId, loss: Loss, now: UtcMicros) -> Report {
        let Loss { last_evidence, message } = loss;
        Report::over(node, run, now, RunLost { run, node: node.clone(), last_evidence, message }.into())
    }

    /// The end has one id whatever its form, so the log takes one end for each run.
    fn over(node: &NodeName, run: RunId, at: UtcMicros, body: Body) -> Report {
        Report { events: vec![event(node, format!("{run}/ended"), at, body)] }
    }

    /// Nothing of a run is here any more.
    pub fn released(node: &NodeName, run: RunId, now: UtcMicros) -> Report {
        let body = RunNodeReleased { run, node: node.clone() };
        Report { events: vec![event(node, format!("{run}/released"), now, body)] }
    }

    pub(crate) fn simulated_start(node: &NodeName, run: RunId, at: UtcMicros) -> Report {
        let body = RunStarted { run, node: node.clone(), pid: None };
        Report { events: vec![event(node, format!("{run}/started"), at, body)] }
    }

    pub(crate) fn simulated_end(node: &NodeName, run: RunId, at: UtcMicros, cause: EndCause) -> Report {
        let exit = Exit { at, cause, exit: ExitStatus::default(), message: None, usage: None };
        Report::released(node, run, at).after(Some(Report::ended(node, run, exit)))
    }

    /// The same with what was before it, in one commit.
    pub fn after(mut self, earlier: Option<Report>) -> Report {
        if let Some(earlier) = earlier {
            self.events.splice(0..0, earlier.events);
        }
        self
    }
}

/// The one writer of a node's subject. It lives as long as one of its handles.
#[derive(Clone)]
pub struct Reporter {
    reports: mpsc::Sender<Sent>,
}

impl Reporter {
    /// Starts it; the second is its task.
    pub fn start(node: NodeName, log: LogHandle) -> (Reporter, JoinHandle<()>) {
        let (reports, waiting) = mpsc::channel(WAITING_MAX);
        let worker = Worker { node, log, troubled: false };
        (Reporter { reports }, tokio::spawn(worker.run(waiting)))
    }

    /// Puts a report on its way, behind those that were sent before. What is on its way when the process ends is found
    /// on disk again.
    pub async fn send(&self, report: Report) {
        let _ = self.reports.send(Sent { report, answer: None }).await;
    }

    /// The commit that has the report's last event, once it is in the log. `None`: it never will be.
    pub async fn append(&self, report: Report) -> Option<Seq> {
        let (answer, answered) = oneshot::channel();
        self.reports.send(Sent { report, answer: Some(answer) }).await.ok()?;
        answered.await.ok()
    }
}

struct Worker {
    node: NodeName,
    log: LogHandle,
    troubled: bool,
}

impl Worker {
    async fn run(mut self, mut reports: mpsc::Receiver<Sent>) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        while reports.recv_many(&mut batch, BATCH_MAX).await > 0 {
            let together = std::mem::take(&mut batch);
            let events: Vec<Event> =
                together.iter().flat_map(|sent| sent.report.events.iter().cloned()).collect();
            match self.append(events).await {
                Appending::Done(seq) => together.into_iter().for_each(|sent| sent.answer(seq)),
                // Something of it is in the log already (after a restart), or is no good: one by one, so that the rest
                // gets there.
                Appending::InPart | Appending::Refused => {
                    for sent in together {
                        if let Some(seq) = self.append_singly(&sent.report).await {
                            sent.answer(seq);
                        }
                    }
                }
            }
        }
    }

    async fn append_singly(&mut self, report: &Report) -> Option<Seq> {
        loop {
            let mut last = Seq::ZERO;
            let mut fresh = Vec::new();
            for event in &report.events {
                match self.find(&event.id).await {
                    Some(seq) => last = last.max(seq),
                    None => fresh.push(event.clone()),
                }
            }
            if fresh.is_empty() {
                return Some(last);
            }
            match self.append(fresh).await {
                Appending::Done(seq) => return Some(last.max(seq)),
                // An append whose outcome was not known has arrived after it was looked up.
                Appending::InPart => {}
                Appending::Refused => return None,
            }
        }
    }

    async fn find(&mut self, id: &EventId) -> Option<Seq> {
        let mut pause = BACKOFF[0];
        loop {
            match self.log.find(Stream::State, id).await {
                Ok(found) => return found,
                Err(error) => self.wait(&mut pause, &error.to_string()).await,
            }
        }
    }

    /// Appends until the log has answered.
    async fn append(&mut self, events: Vec<Event>) -> Appending {
        let mut pause = BACKOFF[0];
        loop {
            let draft =
                Draft { subject: Subject::Node(self.node.clone()), expect: None, events: events.clone() };
            match self.log.append(Append { stream: Stream::State, draft, blobs: Vec::new() }).await {
                Ok(appended) => {
                    if std::mem::take(&mut self.troubled) {
                        tracing::info!(node = %self.node, "the log takes commits again");
                    }
                    return Appending::Done(appended.seq);
                }
                Err(AppendError::Duplicate { .. }) => return Appending::InPart,
                Err(error @ AppendError::Invalid(_)) => {
                    // A defect here; the run's directory keeps the facts for a mended agent.
                    tracing::error!(node = %self.node, %error, "a report cannot be appended");
                    return Appending::Refused;
                }
                // A draft is in the log whole or not at all, so if it arrived the next try is a duplicate.
                Err(error) => self.wait(&mut pause, &error.to_string()).await,
            }
        }
    }

    async fn wait(&mut self, pause: &mut Duration, why: &str) {
        if !std::mem::replace(&mut self.troubled, true) {
            tracing::error!(node = %self.node, %why, "the log does not take commits; reports wait");
        }
        tokio::time::sleep(*pause).await;
        *pause = (*pause * 2).min(BACKOFF[1]);
    }
}

/// What became of a draft.
enum Appending {
    /// In the log.
    Done(Seq),
    /// Some or all of its events were there before.
    InPart,
    /// It is no good.
    Refused,
}

impl Sent {
    fn answer(self, seq: Seq) {
        if let Some(answer) = self.answer {
            // Who asked may have stopped.
            let _ = answer.send(seq);
        }
    }
}
