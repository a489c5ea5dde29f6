//! The one place where requests become events.

use std::sync::Arc;
use std::time::Duration;

use daybook_log::clock::Clock;
use daybook_log::follow::Live;
use daybook_log::{Append, AppendError, LogHandle};
use daybook_model::Cluster;
use daybook_schemas::api::{ApiError, ErrorCode, Peer};
use daybook_schemas::{Actor, Body, Draft, Event, EventId, JobId, Seq, Stream, Subject};
use tokio::sync::{mpsc, oneshot};

use crate::authority::Authority;
use crate::requests::{Decided, Request};

/// Requests that may wait for the intake; more wait in their connections.
const WAITING_MAX: usize = 1024;
/// Requests decided together.
const BATCH_MAX: usize = 256;
/// How long the intake waits for the model to reach its own last commit.
const PATIENCE: Duration = Duration::from_secs(30);
/// Tries for one batch against other writers of the subject.
const TRIES_MAX: usize = 16;

/// A request with who asked, and where the outcome goes.
struct Waiting {
    request: Request,
    request_id: String,
    peer: Peer,
    actor: Actor,
    blobs: Vec<Arc<[u8]>>,
    answer: oneshot::Sender<Result<Outcome, ApiError>>,
}

/// What became of a request.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) decided: Decided,
    pub(crate) seq: Seq,
}

/// The intake has ended: the daemon stops.
#[derive(Debug, thiserror::Error)]
#[error("the gateway is stopping")]
pub struct IntakeClosed;

/// A handle to it.
#[derive(Clone)]
pub struct Intake {
    requests: mpsc::Sender<Waiting>,
}

impl Intake {
    /// Starts the intake's task. It ends when every handle is gone.
    pub fn start(log: LogHandle, live: Live<Cluster>, clock: Arc<dyn Clock>, authority: Authority) -> Intake {
        let (requests, waiting) = mpsc::channel(WAITING_MAX);
        let worker = Worker { log, live, clock, authority, appended: Seq::ZERO };
        tokio::spawn(worker.run(waiting));
        Intake { requests }
    }

    /// Has a request decided and appended.
    pub(crate) async fn submit(
        &self,
        request: Request,
        request_id: String,
        peer: Peer,
        actor: Actor,
        blobs: Vec<Arc<[u8]>>,
    ) -> Result<Outcome, ApiError> {
        check_request_id(&request_id)?;
        let closed = || ApiError::new(ErrorCode::NotReady, IntakeClosed.to_string());
        let (answer, outcome) = oneshot::channel();
        let waiting = Waiting { request, request_id, peer, actor, blobs, answer };
        self.requests.send(waiting).await.map_err(|_| closed())?;
        outcome.await.map_err(|_| closed())?
    }
}

fn check_request_id(id: &str) -> Result<(), ApiError> {
    let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if id.is_empty() || id.len() > 64 || !is_plain {
        return Err(ApiError::new(ErrorCode::InvalidRequest, "Invalid request id").detail(
            "request_id must have 1 to 64 letters, digits, '-' or '_', and be new for each request",
        ));
    }
    Ok(())
}

struct Worker {
    log: LogHandle,
    live: Live<Cluster>,
    clock: Arc<dyn Clock>,
    authority: Authority,
    /// The last commit appended here: the next decision must have seen it.
    appended: Seq,
}

/// What one request comes to, before it is appended.
struct Plan {
    decided: Decided,
    events: Vec<Event>,
}

impl Worker {
    async fn run(mut self, mut requests: mpsc::Receiver<Waiting>) {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        while requests.recv_many(&mut batch, BATCH_MAX).await > 0 {
            for part in parts(std::mem::take(&mut batch)) {
                self.handle(part).await;
            }
        }
    }

    /// Decides a batch and appends it, again where another gateway was faster.
    async fn handle(&mut self, batch: Vec<Waiting>) {
        let mut batch = self.answer_repeated(batch).await;
        // An append of these requests has had no answer, and may still arrive though it is not in the log.
        let mut in_doubt = false;
        for _ in 0..TRIES_MAX {
            if batch.is_empty() {
                return;
            }
            let cluster = match self.live.at_least(self.appended, PATIENCE).await {
                Ok(cluster) => cluster,
                Err(error) if in_doubt => return refuse_all(batch, doubtful(&error.to_string())),
                Err(error) => {
                    return refuse_all(batch, ApiError::new(ErrorCode::NotReady, error.to_string()));
                }
            };
            let (accepted, plans) = self.decide(&cluster, batch);
            batch = accepted;
            let events: Vec<Event> = plans.iter().flat_map(|plan| plan.events.iter().cloned()).collect();
            if events.is_empty() {
                return answer_all(batch, plans, cluster.position());
            }
            if events.len() > Draft::EVENTS_MAX && batch.len() > 1 {
                // Too much for one commit together.
                return self.handle_one_by_one(batch).await;
            }
            let blobs = batch.iter().flat_map(|waiting| waiting.blobs.iter().cloned()).collect();
            let draft = Draft { subject: Subject::Jobs, expect: Some(cluster.jobs_seq()), events };
            match self.log.append(Append { stream: Stream::State, draft, blobs }).await {
                Ok(appended) => {
                    self.appended = appended.seq;
                    return answer_all(batch, plans, appended.seq);
                }
                Err(AppendError::Expectation { actual, .. }) => self.appended = self.appended.max(actual),
                Err(AppendError::Duplicate { seq, .. }) => {
                    self.appended = self.appended.max(seq);
                    batch = self.answer_repeated(batch).await;
                }
                Err(AppendError::Unknown(why)) => {
                    tracing::warn!(%why, "an append has an unknown outcome; looking it up");
                    in_doubt = true;
                    batch = self.answer_repeated(batch).await;
                }
                Err(error @ (AppendError::Unavailable(_) | AppendError::Invalid(_))) => {
                    tracing::warn!(%error, requests = batch.len(), "requests are refused: the log cannot append");
                    return refuse_all(batch, refusal(in_doubt, &error.to_string()));
                }
            }
        }
        refuse_all(batch, refusal(in_doubt, "too many writers at once"));
    }

    /// One commit for each, each decided on the state that the one before has left.
    async fn handle_one_by_one(&mut self, batch: Vec<Waiting>) {
        for waiting in batch {
            Box::pin(self.handle(vec![waiting])).await;
        }
    }

    /// Answers those whose request id is in the log already, from what the log has; gives back the others.
    async fn answer_repeated(&mut self, batch: Vec<Waiting>) -> Vec<Waiting> {
        let mut fresh = Vec::with_capacity(batch.len());
        let mut seen = std::collections::BTreeSet::new();
        for waiting in batch {
            if !seen.insert(waiting.request_id.clone()) {
                let twice = ApiError::new(ErrorCode::InvalidRequest, "Invalid request id")
                    .detail("another request with the same request_id is being handled");
                let _ = waiting.answer.send(Err(twice));
                continue;
            }
            match self.log.find(Stream::State, &event_id(&waiting.request_id, 0)).await {
                Ok(None) => fresh.push(waiting),
                Ok(Some(seq)) => {
                    self.appended = self.appended.max(seq);
                    let outcome = self.recall(seq, &waiting).await;
                    let _ = waiting.answer.send(outcome);
                }
                Err(error) => {
                    let _ = waiting.answer.send(Err(doubtful(&error.to_string())));
                }
            }
        }
        fresh
    }

    /// The outcome of a request that was appended before.
    async fn recall(&self, seq: Seq, waiting: &Waiting) -> Result<Outcome, ApiError> {
        let commits =
            self.log.read(Stream::State, seq, 1).await.map_err(|error| doubtful(&error.to_string()))?;
        let id = event_id(&waiting.request_id, 0);
        let event = commits.first().and_then(|commit| commit.events.iter().find(|event| event.id == id));
        let job = event.and_then(|event| match &event.body {
            Body::JobSubmitted(data) => Some(data.job),
            _ => None,
        });
        let reservation = event.and_then(|event| match &event.body {
            Body::ReservationCreated(data) => Some(data.reservation.name.clone()),
            Body::ReservationUpdated(data) => Some(data.reservation.name.clone()),
            Body::ReservationDeleted(data) => Some(data.name.clone()),
            _ => None,
        });
        let targets = waiting.request.named_targets();
        Ok(Outcome { decided: Decided { job, targets, reservation, ..Decided::default() }, seq })
    }

    /// Decides each request against one snapshot, with what those before it count for limits; refusals are answered at once.
    fn decide(&self, cluster: &Cluster, batch: Vec<Waiting>) -> (Vec<Waiting>, Vec<Plan>) {
        let (mut next_id, now) = (cluster.next_job_id(), self.clock.now());
        let (mut accepted, mut plans) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
        let mut cluster = cluster.clone();
        for waiting in batch {
            let authority = self.authority.asked_by(&waiting.actor.name);
            match waiting.request.decide(&cluster, &authority, waiting.peer, next_id, now) {
                Ok((decided, bodies)) => {
                    next_id = JobId(bodies.iter().fold(next_id.0, |next, body| match body {
                        Body::JobSubmitted(data) => data.job.0.saturating_add(data.ids),
                        _ => next,
                    }));
                    bodies.iter().for_each(|body| cluster.anticipate(body));
                    let events = self.events(&waiting, bodies);
                    accepted.push(waiting);
                    plans.push(Plan { decided, events });
                }
                Err(error) => {
                    let _ = waiting.answer.send(Err(error));
                }
            }
        }
        (accepted, plans)
    }

    fn events(&self, waiting: &Waiting, bodies: Vec<Body>) -> Vec<Event> {
        let time = self.clock.now();
        let event = |(number, body)| Event {
            id: event_id(&waiting.request_id, number),
            source: "gateway".to_string(),
            time,
            actor: waiting.actor.clone(),
            cause: None,
            body,
        };
        bodies.into_iter().enumerate().map(event).collect()
    }
}

/// What may be decided together against one snapshot, in the order in which it came.
fn parts(batch: Vec<Waiting>) -> Vec<Vec<Waiting>> {
    let mut parts: Vec<Vec<Waiting>> = Vec::new();
    let mut open = false;
    for waiting in batch {
        let alone = waiting.request.is_alone();
        match parts.last_mut().filter(|_| open && !alone) {
            Some(part) => part.push(waiting),
            None => parts.push(vec![waiting]),
        }
        open = !alone;
    }
    parts
}

fn event_id(request_id: &str, number: usize) -> EventId {
    format!("req/{request_id}/{number}").into()
}

fn refusal(in_doubt: bool, why: &str) -> ApiError {
    if in_doubt { doubtful(why) } else { unavailable(why) }
}

fn unavailable(why: &str) -> ApiError {
    ApiError::new(ErrorCode::LogUnavailable, "Unable to accept the request: nothing was changed").detail(why)
}

/// The request may be in the log; only who asks again with the same id learns it.
fn doubtful(why: &str) -> ApiError {
    ApiError::new(ErrorCode::LogUnavailable, "Unable to tell whether the request was accepted").detail(why)
}

fn refuse_all(batch: Vec<Waiting>, error: ApiError) {
    for waiting in batch {
        let _ = waiting.answer.send(Err(error.clone()));
    }
}

fn answer_all(batch: Vec<Waiting>, plans: Vec<Plan>, seq: Seq) {
    for (waiting, plan) in batch.into_iter().zip(plans) {
        let _ = waiting.answer.send(Ok(Outcome { decided: plan.decided, seq }));
    }
}
