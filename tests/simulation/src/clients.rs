//! Those who ask: they send requests through the gateway's real routes, wait, and ask again with the same id.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use daybook_schemas::JobId;
use daybook_schemas::api::{ApiError, ErrorCode, Peer, SubmitAnswer};
use http_body_util::BodyExt;
use tokio::task::JoinHandle;
use tower::ServiceExt;

use crate::network::PortState;
use crate::processes::GatewayProcess;
use crate::scenario::Asked;

/// What a client was told at last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// Done; of a submission, the job.
    Accepted(Option<JobId>),
    /// Refused for what it asks.
    Refused(String),
    /// Refused because it could not be written down: nothing was changed.
    NotWritten,
    /// Nobody can tell; to be asked again.
    Unknown,
}

/// A request and its story.
pub struct Pending {
    asked: Asked,
    /// Since when nobody can tell any more what an answer means: a gateway died with it, or it was asked twice at once.
    pub uncertain: bool,
    /// What the client was told.
    pub told: Option<Told>,
    attempts: Vec<Attempt>,
}

struct Attempt {
    gateway: Arc<PortState>,
    answer: JoinHandle<Result<(StatusCode, Vec<u8>), String>>,
}

/// All clients.
#[derive(Default)]
pub struct Clients {
    /// Requests by id.
    pub requests: BTreeMap<String, Pending>,
}

impl Clients {
    /// Sends a new request.
    pub fn ask(&mut self, id: String, asked: Asked, gateway: &GatewayProcess) {
        let pending = Pending { asked, uncertain: false, told: None, attempts: Vec::new() };
        self.requests.insert(id.clone(), pending);
        self.ask_again(&id, gateway);
    }

    /// Sends a request with the same id once more.
    pub fn ask_again(&mut self, id: &str, gateway: &GatewayProcess) {
        let Some(pending) = self.requests.get_mut(id) else { return };
        pending.uncertain |= !pending.attempts.is_empty();
        pending.told = None;
        let peer = Peer { uid: pending.asked.uid, gid: pending.asked.uid, pid: None };
        let request = Request::builder()
            .method(Method::POST)
            .uri(pending.asked.path)
            .header(header::CONTENT_TYPE, "application/json")
            .extension(peer)
            .body(Body::from(pending.asked.body.clone()));
        let router = gateway.router.clone();
        let answer = tokio::spawn(async move {
            let request = request.map_err(|error| error.to_string())?;
            let response = router.oneshot(request).await.map_err(|error| error.to_string())?;
            let status = response.status();
            let body = response.into_body().collect().await.map_err(|error| error.to_string())?;
            Ok((status, body.to_bytes().to_vec()))
        });
        pending.attempts.push(Attempt { gateway: gateway.port.clone(), answer });
    }

    /// Requests that wait for an answer of nobody, or were told that nothing was written.
    pub fn to_ask_again(&self) -> Vec<String> {
        let is_open = |pending: &&Pending| {
            pending.attempts.is_empty()
                && matches!(pending.told, None | Some(Told::NotWritten | Told::Unknown))
        };
        self.requests.iter().filter(|(_, pending)| is_open(pending)).map(|(id, _)| id.clone()).collect()
    }

    /// Requests that wait for an answer.
    pub fn waiting(&self) -> Vec<String> {
        let waits = |pending: &&Pending| !pending.attempts.is_empty() && pending.told.is_none();
        self.requests.iter().filter(|(_, pending)| waits(pending)).map(|(id, _)| id.clone()).collect()
    }

    /// A gateway has died: its answers do not come.
    pub fn gateway_died(&mut self, gateway: &PortState) {
        for pending in self.requests.values_mut() {
            let before = pending.attempts.len();
            pending.attempts.retain(|attempt| attempt.gateway.name() != gateway.name());
            pending.uncertain |= pending.attempts.len() != before;
        }
    }

    /// An append of this gateway may arrive although it was given up.
    pub fn gateway_is_uncertain(&mut self, gateway: &str) {
        for pending in self.requests.values_mut() {
            pending.uncertain |= pending.attempts.iter().any(|attempt| attempt.gateway.name() == gateway);
        }
    }

    /// Takes answers that have come; gives them in words, and the requests that are said to have changed nothing. An
    /// error: an answer that is none.
    pub async fn take_answers(&mut self) -> Result<(Vec<String>, Vec<String>), String> {
        let (mut words, mut unwritten) = (Vec::new(), Vec::new());
        for (id, pending) in &mut self.requests {
            while let Some(at) = pending.attempts.iter().position(|attempt| attempt.answer.is_finished()) {
                let attempt = pending.attempts.remove(at);
                let answer = attempt.answer.await.map_err(|error| format!("request {id}: {error}"))?;
                let told = told(answer.map_err(|error| format!("request {id}: {error}"))?)
                    .map_err(|why| format!("request {id} ({}): {why}", pending.asked.words))?;
                words.push(format!("{id} ({}) is told {told:?}", pending.asked.words));
                if told == Told::NotWritten && !pending.uncertain {
                    unwritten.push(id.clone());
                }
                pending.note(told).map_err(|why| format!("request {id}: {why}"))?;
            }
        }
        Ok((words, unwritten))
    }
}

impl Pending {
    /// What it asks, in words.
    pub fn words(&self) -> &str {
        &self.asked.words
    }

    fn note(&mut self, told: Told) -> Result<(), String> {
        match (&self.told, &told) {
            (Some(Told::Accepted(before)), Told::Accepted(now)) if before != now => {
                return Err(format!("it was told {before:?} and then {now:?}"));
            }
            (_, Told::Unknown) => {
                self.uncertain = true;
                self.told.get_or_insert(told);
            }
            // An acceptance stands whatever else is said of the same request.
            (Some(Told::Accepted(_)), _) => {}
            _ => self.told = Some(told),
        }
        Ok(())
    }
}

fn told((status, body): (StatusCode, Vec<u8>)) -> Result<Told, String> {
    if status.is_success() {
        let submitted: Option<SubmitAnswer> = serde_json::from_slice(&body).ok();
        return Ok(Told::Accepted(submitted.map(|answer| answer.job)));
    }
    let error: ApiError =
        serde_json::from_slice(&body).map_err(|_| format!("{status}: {}", String::from_utf8_lossy(&body)))?;
    match error.code {
        ErrorCode::Internal => Err(format!("an internal error: {error:?}")),
        ErrorCode::LogUnavailable if error.message.contains("whether") => Ok(Told::Unknown),
        ErrorCode::LogUnavailable | ErrorCode::NotReady => Ok(Told::NotWritten),
        _ => Ok(Told::Refused(error.message)),
    }
}
