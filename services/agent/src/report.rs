//! Facts on their way to the log: in order, together where they wait together, and never dropped.

use std::sync::Arc;
use std::time::Duration;

use daybook_log::clock::Clock;
use daybook_log::{Append, AppendError, LogHandle};
use daybook_schemas::events::{RunEnded, RunLost, RunNodeReleased, RunStarted};
use daybook_schemas::orders::{RunOrder, RunWish};
use daybook_schemas::run::{EndCause, ExitStatus};
use daybook_schemas::{Actor, Body, Draft, Event, EventId, NodeName, RunId, Seq, Stream, Subject, UtcMicros};
use daybook_supervisor::records::Started;
use tokio::sync::mpsc;

use crate::agent::{AgentConfig, News};
use crate::registration::registration;
use crate::watch::Outcome;

/// Reports that may wait; then the agent's loop waits with them.
const WAITING_MAX: usize = 4096;
/// Reports in one commit.
const BATCH_MAX: usize = 256;
/// Between tries while the log does not take commits: doubled from the first to the last.
const BACKOFF: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(2)];

/// Facts that become true together.
#[derive(Debug)]
pub(crate) struct Report {
    events: Vec<Event>,
    /// The run whose end this is: told back once it is in the log.
    ends: Option<RunId>,
}

fn event(node: &NodeName, id: String, time: UtcMicros, body: impl Into<Body>) -> Event {
    let source = format!("agent/{node}");
    let actor = Actor::service(source.clone());
    Event { id: format!("{source}/{id}").into(), source, time, actor, cause: None, body: body.into() }
}

impl Report {
    pub(crate) fn registered(config: &AgentConfig, now: UtcMicros) -> Report {
        let id = format!("registered/{}", now.0);
        Report { events: vec![event(&config.node.name, id, now, registration(config))], ends: None }
    }

    fn start_event(node: &NodeName, run: RunId, started: Started) -> Event {
        let body = RunStarted { run, node: node.clone(), pid: u32::try_from(started.pid).ok() };
        event(node, format!("{run}/started"), started.at, body)
    }

    fn release_event(node: &NodeName, run: RunId, at: UtcMicros) -> Event {
        event(node, format!("{run}/released"), at, RunNodeReleased { run, node: node.clone() })
    }

    pub(crate) fn started(node: &NodeName, run: RunId, started: Started) -> Report {
        Report { events: vec![Report::start_event(node, run, started)], ends: None }
    }

    /// The end of a run on the node that ran its script: it is over, and nothing is held here any more.
    pub(crate) fn ended(
        node: &NodeName,
        run: RunId,
        started: Option<Started>,
        outcome: Outcome,
        now: UtcMicros,
    ) -> Report {
        let end = |at, cause, exit, message, usage| {
            let body = RunEnded { run, node: node.clone(), cause, exit, message, usage };
            event(node, format!("{run}/ended"), at, body)
        };
        let over = match outcome {
            Outcome::Ended(exit) => end(exit.at, exit.cause, exit.exit, exit.message, exit.usage),
            Outcome::Lost { last_evidence, message } => {
                let body = RunLost { run, node: node.clone(), last_evidence, message };
                event(node, format!("{run}/ended"), now, body)
            }
            Outcome::NotLaunched(why) => {
                let exit = ExitStatus { code: 0, signal: 53 };
                end(now, EndCause::LaunchFailed, exit, Some(why.chars().take(1000).collect()), None)
            }
            Outcome::Started(_) => return Report { events: Vec::new(), ends: None },
        };
        let start = started.map(|started| Report::start_event(node, run, started));
        let events = start.into_iter().chain([over, Report::release_event(node, run, now)]).collect();
        Report { events, ends: Some(run) }
    }

    /// A run that was told to end before it was started.
    pub(crate) fn never_started(node: &NodeName, order: &RunOrder, now: UtcMicros) -> Report {
        let cause = match order.wish {
            RunWish::Requeue => EndCause::Requeued,
            RunWish::NodeDown => EndCause::NodeFailed,
            RunWish::Run | RunWish::Cancel | RunWish::Release => EndCause::Cancelled,
        };
        let run = order.run;
        let body = RunEnded {
            run,
            node: node.clone(),
            cause,
            exit: ExitStatus::default(),
            message: None,
            usage: None,
        };
        let over = event(node, format!("{run}/ended"), now, body);
        Report { events: vec![over, Report::release_event(node, run, now)], ends: Some(run) }
    }

    /// A node on which something was only held.
    pub(crate) fn released(node: &NodeName, run: RunId, now: UtcMicros) -> Report {
        Report { events: vec![Report::release_event(node, run, now)], ends: Some(run) }
    }

    /// A simulated run, whole.
    pub(crate) fn simulated(node: &NodeName, order: &RunOrder, end: UtcMicros, cause: EndCause) -> Report {
        let run = order.run;
        let started = RunStarted { run, node: node.clone(), pid: None };
        let ended = RunEnded {
            run,
            node: node.clone(),
            cause,
            exit: ExitStatus::default(),
            message: None,
            usage: None,
        };
        let events = vec![
            event(node, format!("{run}/started"), order.allocated_at, started),
            event(node, format!("{run}/ended"), end, ended),
            Report::release_event(node, run, end),
        ];
        Report { events, ends: Some(run) }
    }
}

/// The one writer of a node's subject.
pub(crate) struct Reporter {
    reports: mpsc::Sender<Report>,
}

impl Reporter {
    pub(crate) fn start(
        node: NodeName,
        log: LogHandle,
        clock: Arc<dyn Clock>,
        news: mpsc::Sender<News>,
    ) -> Reporter {
        let (reports, waiting) = mpsc::channel(WAITING_MAX);
        let worker = Worker { node, log, clock, news, troubled: false };
        tokio::spawn(worker.run(waiting));
        Reporter { reports }
    }

    pub(crate) async fn send(&self, report: Report) {
        if !report.events.is_empty() && self.reports.send(report).await.is_err() {
            tracing::error!("a report comes after the reporter's end; it is found again at the next start");
        }
    }
}

struct Worker {
    node: NodeName,
    log: LogHandle,
    clock: Arc<dyn Clock>,
    news: mpsc::Sender<News>,
    troubled: bool,
}

impl Worker {
    async fn run(mut self, mut reports: mpsc::Receiver<Report>) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        while reports.recv_many(&mut batch, BATCH_MAX).await > 0 {
            let together = std::mem::take(&mut batch);
            let events: Vec<Event> =
                together.iter().flat_map(|report| report.events.iter().cloned()).collect();
            match self.append(without_repeats(events)).await {
                Some(seq) => self.tell(&together, seq).await,
                // Something of it is in the log already (after a restart): one by one, so that the rest gets there.
                None => {
                    for report in together {
                        self.append_singly(report).await;
                    }
                }
            }
        }
    }

    async fn append_singly(&mut self, report: Report) {
        let mut last = Seq::ZERO;
        let fresh = self.not_in_log(&report.events, &mut last).await;
        if !fresh.is_empty()
            && let Some(seq) = self.append(fresh).await
        {
            last = last.max(seq);
        }
        self.tell(&[report], last).await;
    }

    async fn tell(&self, reports: &[Report], seq: Seq) {
        for run in reports.iter().filter_map(|report| report.ends) {
            let _ = self.news.send(News::Reported(run, seq)).await;
        }
    }

    /// Those events that the log does not have. A run of which an end is known gets no second one.
    async fn not_in_log(&mut self, events: &[Event], last: &mut Seq) -> Vec<Event> {
        let mut fresh = Vec::new();
        for event in events {
            match self.find(&event.id).await {
                Some(seq) => *last = (*last).max(seq),
                None => fresh.push(event.clone()),
            }
        }
        fresh
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

    /// Appends until it is in the log; `None`: part of it was there before.
    async fn append(&mut self, events: Vec<Event>) -> Option<Seq> {
        let mut pause = BACKOFF[0];
        loop {
            let draft =
                Draft { subject: Subject::Node(self.node.clone()), expect: None, events: events.clone() };
            match self.log.append(Append { stream: Stream::State, draft, blobs: Vec::new() }).await {
                Ok(appended) => {
                    if std::mem::take(&mut self.troubled) {
                        tracing::info!(node = %self.node, "the log takes commits again");
                    }
                    return Some(appended.seq);
                }
                Err(AppendError::Duplicate { .. }) => return None,
                Err(AppendError::Unknown(why)) => {
                    self.wait(&mut pause, &why).await;
                    if let Some(seq) = self.find(&events[0].id).await {
                        return Some(seq);
                    }
                }
                Err(error @ AppendError::Invalid(_)) => {
                    // A defect here; the run's directory keeps the facts for a mended agent.
                    tracing::error!(node = %self.node, %error, "a report cannot be appended");
                    std::future::pending::<()>().await;
                }
                Err(error) => self.wait(&mut pause, &error.to_string()).await,
            }
        }
    }

    async fn wait(&mut self, pause: &mut Duration, why: &str) {
        if !std::mem::replace(&mut self.troubled, true) {
            tracing::error!(node = %self.node, at = %self.clock.now(), %why, "the log does not take commits; reports wait");
        }
        tokio::time::sleep(*pause).await;
        *pause = (*pause * 2).min(BACKOFF[1]);
    }
}

/// A start that is reported apart and again with its end stands once.
fn without_repeats(events: Vec<Event>) -> Vec<Event> {
    let mut seen = std::collections::BTreeSet::new();
    events.into_iter().filter(|event| seen.insert(event.id.clone())).collect()
}
