//! The login machine's side: each request signed, passed on, and its answer given back as it comes.

use std::path::Path;
use std::sync::Arc;

use async_nats::Client;
use async_nats::connection::State as Connection;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Extension, Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use daybook_log::clock::Clock;
use daybook_log::jetstream::Names;
use daybook_schemas::BlobHash;
use daybook_schemas::api::{ApiError, BODY_BYTES_MAX, ErrorCode, Peer};
use futures_util::stream;
use nix::unistd::{Gid, Group, Uid, User};
use nkeys::{KeyPair, KeyPairType};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::answer::kib;
use crate::bounds::{
    BODIES_KIB_MAX, BODY_PATIENCE, INLINE_BYTES, LOGIN_EXCHANGES_MAX, NAME_BYTES_MAX, PIECE_BYTES,
};
use crate::frame::{Frame, Head};
use crate::line::{Line, LineError};
use crate::statement::{Opening, OpeningError, Statement, VERSION};

/// Why a login machine cannot pass requests on.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    /// The seed is none of a user.
    #[error("{path}: no seed of a user's nkey ({why}); `daybook keys add-relay` makes it")]
    Seed {
        /// Its file.
        path: String,
        /// What is wrong.
        why: String,
    },
    /// The file cannot be read.
    #[error("{path}: {source}; the key is made by `daybook keys add-relay`")]
    File {
        /// Which.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The name cannot be one.
    #[error("{0:?} is no name of a relay: give --name as this machine was named to `daybook keys add-relay`")]
    Name(String),
}

/// What a relay works with.
pub struct Login {
    client: Client,
    names: Names,
    cluster: String,
    name: String,
    key: KeyPair,
    clock: Arc<dyn Clock>,
    exchanges: Arc<Semaphore>,
    bodies: Arc<Semaphore>,
}

impl Login {
    /// For the relay `name` of a cluster, which signs with the seed in a file.
    pub fn new(
        client: Client,
        cluster: &str,
        name: &str,
        seed_file: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<Login, LoginError> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.chars().any(char::is_control) {
            return Err(LoginError::Name(name.to_string()));
        }
        Ok(Login {
            client,
            names: Names::of(cluster),
            cluster: cluster.to_string(),
            name: name.to_string(),
            key: read_key(seed_file)?,
            clock,
            exchanges: Arc::new(Semaphore::new(LOGIN_EXCHANGES_MAX)),
            bodies: Arc::new(Semaphore::new(BODIES_KIB_MAX as usize)),
        })
    }

    /// The public half of its key, as `[relays]` must have it.
    pub fn public_key(&self) -> String {
        self.key.public_key()
    }

    fn statement(&self, peer: Peer, user: String, group: String, asked: Asked, body: &[u8]) -> Statement {
        Statement {
            version: VERSION,
            cluster: self.cluster.clone(),
            relay: self.name.clone(),
            exchange: uuid::Uuid::new_v4().simple().to_string(),
            issued_micros: self.clock.now().0,
            uid: peer.uid,
            gid: peer.gid,
            pid: peer.pid,
            user,
            group,
            method: asked.method,
            path: asked.path,
            body_bytes: body.len(),
            body: BlobHash::of(body),
        }
    }

    /// Opens an exchange.
    async fn open(&self, opening: &Opening) -> Result<Line, LineError> {
        let exchange = &opening.statement.exchange;
        let answers = self.names.relay_answers(&self.name, exchange);
        let from = self.client.subscribe(answers.clone()).await.map_err(|_| LineError::Closed)?;
        // The reply subject is for the NATS server's own answer that nobody listens; no daemon looks at it.
        let sent =
            self.client.publish_with_reply(self.names.relay(&self.name), answers, opening.encode()).await;
        sent.map_err(|_| LineError::Closed)?;
        let to = self.names.relay_requests(&self.name, exchange);
        Ok(Line::open(self.client.clone(), from, to))
    }
}

fn read_key(path: &Path) -> Result<KeyPair, LoginError> {
    let shown = || path.display().to_string();
    let seed = std::fs::read_to_string(path).map_err(|source| LoginError::File { path: shown(), source })?;
    let fault = |why: String| LoginError::Seed { path: shown(), why };
    let key = KeyPair::from_seed(seed.trim()).map_err(|error| fault(error.to_string()))?;
    match key.key_pair_type() {
        KeyPairType::User => Ok(key),
        other => Err(fault(format!("it is of kind {other:?}"))),
    }
}

/// The routes of a relay: whatever is asked, is passed on. Each request must have its [`Peer`].
pub fn router(login: Login) -> Router {
    Router::new().fallback(pass_on).with_state(Arc::new(login))
}

/// What is asked, beside the body.
struct Asked {
    method: String,
    path: String,
}

async fn pass_on(
    State(login): State<Arc<Login>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Response {
    match relay(&login, peer, request).await {
        Ok(response) => response,
        Err(error) => {
            let status = StatusCode::from_u16(error.code.http_status());
            (status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), axum::Json(error)).into_response()
        }
    }
}

/// An error is an answer of the relay's own: nothing was sent.
async fn relay(login: &Login, peer: Peer, request: Request) -> Result<Response, ApiError> {
    let stopping = |_| not_ready("this login machine's relay is stopping");
    let permit = login.exchanges.clone().acquire_owned().await.map_err(stopping)?;
    let (parts, body) = request.into_parts();
    let room = kib(body_bytes_max(&parts.headers)?);
    let room = login.bodies.clone().acquire_many_owned(room).await.map_err(stopping)?;
    let body = read_body(body).await?;
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_string();
    let asked = Asked { method: parts.method.as_str().to_string(), path };
    let (user, group) = tokio::task::spawn_blocking(move || names_of(peer))
        .await
        .map_err(|error| ApiError::new(ErrorCode::Internal, error.to_string()))?;
    if login.client.connection_state() != Connection::Connected {
        return Err(not_ready(
            "this login machine's relay has no connection to the NATS servers; it is trying again",
        ));
    }
    let beginning = if body.len() <= INLINE_BYTES { body.clone() } else { Bytes::new() };
    let statement = login.statement(peer, user, group, asked, &body);
    let opening = Opening::sign(statement, beginning, &login.key).map_err(|error| match error {
        OpeningError::Malformed(why) => {
            ApiError::new(ErrorCode::TooLarge, "Request is too large").detail(why)
        }
        other => ApiError::new(ErrorCode::Internal, other.to_string()),
    })?;
    let line = match login.open(&opening).await {
        Ok(line) => line,
        Err(why) => return Err(not_ready(why)),
    };
    let mut exchange = Exchange { line, is_over: false, _permit: permit };
    let is_sent = opening.body.len() == body.len();
    match exchange.begin(if is_sent { Bytes::new() } else { body }).await {
        Ok(head) => {
            drop(room);
            Ok(exchange.into_response(head))
        }
        Err(LineError::NobodyListens) => {
            exchange.is_over = true;
            Err(not_ready(
                "no daybookd serves this login machine's relay: one with the roles gateway, queue and ledger, and with this \
                 relay under [relays] in its daybook.toml, must run",
            ))
        }
        Err(why) => {
            tracing::warn!(%why, "a request is broken off before its answer; the client repeats it");
            Ok(broken(StatusCode::BAD_GATEWAY, why))
        }
    }
}

/// All in the message, since most commands show no more of a refusal.
fn not_ready(why: impl std::fmt::Display) -> ApiError {
    ApiError::new(ErrorCode::NotReady, format!("Unable to contact slurm controller (connect failure): {why}"))
}

/// What room a body needs: as it says, or the most.
fn body_bytes_max(headers: &HeaderMap) -> Result<usize, ApiError> {
    let said = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    match said {
        Some(bytes) if bytes > BODY_BYTES_MAX => Err(too_large()),
        Some(bytes) => Ok(bytes),
        None if headers.contains_key("transfer-encoding") => Ok(BODY_BYTES_MAX),
        None => Ok(0),
    }
}

async fn read_body(body: Body) -> Result<Bytes, ApiError> {
    let read = tokio::time::timeout(BODY_PATIENCE, to_bytes(body, BODY_BYTES_MAX)).await;
    let late = |_| {
        ApiError::new(ErrorCode::InvalidRequest, "Invalid request")
            .detail(format!("its body was not there after {} s", BODY_PATIENCE.as_secs()))
    };
    read.map_err(late)?.map_err(|_| too_large())
}

fn too_large() -> ApiError {
    ApiError::new(ErrorCode::TooLarge, "Request is too large")
        .detail(format!("a request has at most {BODY_BYTES_MAX} bytes"))
}

/// The peer's names on this machine: the daemon's machine need not know its users. Digits stand for a name that is not
/// known here either.
fn names_of(peer: Peer) -> (String, String) {
    let user = User::from_uid(Uid::from_raw(peer.uid)).ok().flatten();
    let group = Group::from_gid(Gid::from_raw(peer.gid)).ok().flatten();
    (
        user.map_or_else(|| peer.uid.to_string(), |user| user.name),
        group.map_or_else(|| peer.gid.to_string(), |group| group.name),
    )
}

/// An open exchange. When its client hangs up it is dropped, and the daemon told.
struct Exchange {
    line: Line,
    is_over: bool,
    _permit: OwnedSemaphorePermit,
}

impl Exchange {
    /// Sends the body and waits for the answer's head.
    async fn begin(&mut self, mut body: Bytes) -> Result<Head, LineError> {
        if !body.is_empty() {
            self.line.greeted().await?;
        }
        let mut first = None;
        while !body.is_empty() && first.is_none() {
            first = self.line.room_or_frame().await?;
            if first.is_none() {
                self.line.send_piece(body.split_to(body.len().min(PIECE_BYTES))).await?;
            }
        }
        let first = match first {
            Some(frame) => frame,
            None => self.line.next().await?,
        };
        match first {
            Frame::Head(head) => Ok(head),
            _ => Err(LineError::Lost),
        }
    }

    /// The next part of the answer's body; `None` at its end.
    async fn part(&mut self) -> Result<Option<Bytes>, LineError> {
        match self.line.next().await? {
            Frame::Piece(_, bytes) => Ok(Some(bytes)),
            Frame::End(pieces) if pieces == self.line.taken() => {
                self.is_over = true;
                Ok(None)
            }
            _ => Err(LineError::Lost),
        }
    }

    fn into_response(self, head: Head) -> Response {
        let parts = stream::unfold(Some(self), |exchange| async move {
            let mut exchange = exchange?;
            match exchange.part().await {
                Ok(Some(bytes)) => Some((Ok(bytes), Some(exchange))),
                Ok(None) => None,
                // The client must not take this for the end.
                Err(why) => {
                    tracing::warn!(%why, "an answer is broken off; the client repeats its request");
                    Some((Err(std::io::Error::other(why)), None))
                }
            }
        });
        let status = StatusCode::from_u16(head.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let content_type = head.content_type.unwrap_or_else(|| "application/octet-stream".to_string());
        (status, [(CONTENT_TYPE, content_type)], Body::from_stream(parts)).into_response()
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        if !self.is_over {
            self.line.give_up("the client has hung up");
        }
    }
}

/// An answer that breaks the connection, so that nobody takes it for one.
fn broken(status: StatusCode, why: LineError) -> Response {
    let failing = stream::once(async move { Err::<Bytes, _>(std::io::Error::other(why)) });
    (status, Body::from_stream(failing)).into_response()
}
