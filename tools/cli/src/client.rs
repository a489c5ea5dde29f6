//! The connection to the daemon: HTTP/1.1 with JSON over a Unix socket.
//!
//! Calls block. Every request of the interface may be sent again (questions change nothing, changes carry a
//! request id), so after a broken connection a call is repeated with the same bytes, for a bounded time.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use daybook_schemas::api::ApiError;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::runtime::Runtime;
use tokio::time::timeout;

/// Where the daemon listens unless something says otherwise.
pub const DEFAULT_SOCKET: &str = "/run/daybook/daybook.sock";
/// A file whose first line is the socket's path, for clients with an empty environment.
pub const SOCKET_FILE: &str = "/etc/daybook/socket";
/// How long a client looks for a daemon that does not answer, unless `DAYBOOK_CONNECT_SECONDS` says otherwise.
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);
/// The most that `DAYBOOK_CONNECT_SECONDS` may say.
const CONNECT_PATIENCE_MAX: Duration = Duration::from_secs(600);
/// How long a request whose connection broke is tried again: its outcome is unknown until somebody answers.
const OUTCOME_PATIENCE: Duration = Duration::from_secs(15);
/// From one attempt to the next.
const PAUSE_FIRST: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_millis(250);
/// How long an answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// The largest answer that is read, in bytes.
const ANSWER_BYTES_MAX: usize = 1 << 30;
/// The longest line of a stream, in bytes.
const LINE_BYTES_MAX: usize = 64 << 20;

/// Nobody answers at the socket.
#[derive(Debug, thiserror::Error)]
#[error("Unable to contact slurm controller (connect failure)")]
pub struct Unreachable {
    pub socket: PathBuf,
    pub cause: io::Error,
}

impl Unreachable {
    /// What is wrong and what to do about it, for a person.
    pub fn hint(&self) -> String {
        let socket = self.socket.display();
        format!(
            "no daybook daemon answers at {socket} ({}); start daybookd, or name its socket in DAYBOOK_SOCKET or {SOCKET_FILE}",
            self.cause
        )
    }
}

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// Nothing was sent, nothing has changed.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// The daemon refused it, and nothing has changed.
    #[error("{}", .0.message)]
    Refused(ApiError),
    /// The request was sent, and nobody answered it, again and again: it may or may not have been carried out.
    #[error("Unable to contact slurm controller (connect failure)")]
    OutcomeUnknown(String),
    /// The answer is none of this interface.
    #[error("the daemon's answer cannot be understood: {0}")]
    Unintelligible(String),
}

impl CallError {
    /// A second line for a person: where the daemon was looked for, or that the outcome is unknown.
    pub fn hint(&self) -> Option<String> {
        match self {
            CallError::Unreachable(unreachable) => crate::say::is_watched().then(|| unreachable.hint()),
            CallError::OutcomeUnknown(cause) => Some(format!(
                "the connection broke before the answer ({cause}); the request may have been carried out"
            )),
            CallError::Refused(_) | CallError::Unintelligible(_) => None,
        }
    }
}

/// A connection to the daemon.
pub struct Client {
    runtime: Runtime,
    sender: Option<SendRequest<Full<Bytes>>>,
    socket: PathBuf,
}

/// Why one attempt failed.
enum Attempt {
    /// Not connected: nothing was sent.
    NotConnected(io::Error),
    /// It may have been received.
    Broken(String),
}

impl Client {
    /// Connects to the daemon; looks for it for a bounded time (2 seconds, or `DAYBOOK_CONNECT_SECONDS`).
    pub fn connect() -> Result<Client, Unreachable> {
        let socket = socket_path();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|cause| Unreachable { socket: socket.clone(), cause })?;
        let mut client = Client { runtime, sender: None, socket };
        client.reconnect(Instant::now() + connect_patience())?;
        Ok(client)
    }

    /// Asks a question.
    pub fn get<A: DeserializeOwned>(&mut self, path: &str) -> Result<A, CallError> {
        self.get_within(path, ANSWER_TIMEOUT)
    }

    /// Asks a question whose answer may take so long.
    pub fn get_within<A: DeserializeOwned>(&mut self, path: &str, longest: Duration) -> Result<A, CallError> {
        let answer = self.call(Method::GET, path, Bytes::new(), longest)?;
        decode(&answer)
    }

    /// Sends a request; sends it again with the same bytes where the connection broke.
    pub fn post<R: Serialize, A: DeserializeOwned>(
        &mut self,
        path: &str,
        request: &R,
    ) -> Result<A, CallError> {
        let answer = self.post_bytes(path, request)?;
        decode(&answer)
    }

    /// The same; gives the answer's body as it came, for who reads it without copying.
    pub fn post_bytes<R: Serialize>(&mut self, path: &str, request: &R) -> Result<Bytes, CallError> {
        let body =
            serde_json::to_vec(request).map_err(|error| CallError::Unintelligible(error.to_string()))?;
        self.call(Method::POST, path, body.into(), ANSWER_TIMEOUT)
    }

    /// Reads an answer of lines (NDJSON), each without its line break, until it ends or `each` breaks.
    /// A stream that breaks is [`CallError::OutcomeUnknown`]; the caller knows where to go on.
    pub fn stream_lines(
        &mut self,
        path: &str,
        mut each: impl FnMut(&str) -> ControlFlow<()>,
    ) -> Result<(), CallError> {
        self.reconnect(Instant::now() + connect_patience())?;
        let Some(mut sender) = self.sender.take() else {
            return Err(CallError::OutcomeUnknown("not connected".into()));
        };
        let broken = |cause: String| CallError::OutcomeUnknown(cause);
        self.runtime.block_on(async {
            let request = request(Method::GET, path, Bytes::new()).map_err(broken)?;
            let response = sender.send_request(request).await.map_err(|error| broken(error.to_string()))?;
            let status = response.status();
            if !status.is_success() {
                let body = read_body(response).await.map_err(broken)?;
                return Err(refusal(status.as_u16(), &body));
            }
            let mut body = response.into_body();
            let mut pending: Vec<u8> = Vec::new();
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| broken(error.to_string()))?;
                let Ok(bytes) = frame.into_data() else { continue };
                pending.extend_from_slice(&bytes);
                if take_lines(&mut pending, &mut each)?.is_break() {
                    return Ok(());
                }
            }
            if !pending.is_empty() {
                let line = String::from_utf8(pending)
                    .map_err(|error| CallError::Unintelligible(error.to_string()))?;
                let _ = each(&line);
            }
            Ok(())
        })
    }

    fn call(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
        longest: Duration,
    ) -> Result<Bytes, CallError> {
        let mut give_up = Instant::now() + connect_patience();
        let mut sent_and_lost: Option<String> = None;
        loop {
            match self.attempt(method.clone(), path, body.clone(), longest, give_up) {
                Ok((status, answer)) if (200..300).contains(&status) => return Ok(answer),
                Ok((status, answer)) => return Err(refusal(status, &answer)),
                Err(Attempt::NotConnected(cause)) => {
                    return Err(match sent_and_lost {
                        Some(lost) => CallError::OutcomeUnknown(lost),
                        None => CallError::Unreachable(Unreachable { socket: self.socket.clone(), cause }),
                    });
                }
                Err(Attempt::Broken(cause)) => {
                    self.sender = None;
                    if sent_and_lost.is_none() {
                        give_up = Instant::now() + OUTCOME_PATIENCE;
                    } else if Instant::now() >= give_up {
                        return Err(CallError::OutcomeUnknown(cause));
                    }
                    sent_and_lost = Some(cause);
                    std::thread::sleep(PAUSE_FIRST);
                }
            }
        }
    }

    fn attempt(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
        longest: Duration,
        give_up: Instant,
    ) -> Result<(u16, Bytes), Attempt> {
        if self.sender.as_ref().is_none_or(SendRequest::is_closed) {
            self.reconnect(give_up).map_err(|unreachable| Attempt::NotConnected(unreachable.cause))?;
        }
        let Some(sender) = self.sender.as_mut() else {
            return Err(Attempt::NotConnected(io::ErrorKind::NotConnected.into()));
        };
        self.runtime.block_on(async {
            let request = request(method, path, body).map_err(Attempt::Broken)?;
            let exchange = async {
                let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
                let status = response.status().as_u16();
                Ok::<_, String>((status, read_body(response).await?))
            };
            match timeout(longest, exchange).await {
                Ok(Ok(answer)) => Ok(answer),
                Ok(Err(cause)) => Err(Attempt::Broken(cause)),
                Err(_) => Err(Attempt::Broken(format!("no answer within {} s", longest.as_secs()))),
            }
        })
    }

    /// Connects until `give_up`, with growing pauses; says on a terminal what it waits for.
    fn reconnect(&mut self, give_up: Instant) -> Result<(), Unreachable> {
        let mut pause = PAUSE_FIRST;
        let mut said = false;
        loop {
            let cause = match self.runtime.block_on(open(&self.socket)) {
                Ok(sender) => {
                    self.sender = Some(sender);
                    return Ok(());
                }
                Err(cause) => cause,
            };
            if cause.kind() == io::ErrorKind::PermissionDenied || Instant::now() + pause >= give_up {
                return Err(Unreachable { socket: self.socket.clone(), cause });
            }
            if !said && pause >= PAUSE_MAX && crate::say::is_watched() {
                crate::say::line(format!("waiting for the daybook daemon at {} ...", self.socket.display()));
                said = true;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

/// `DAYBOOK_SOCKET`, else the first line of [`SOCKET_FILE`], else [`DEFAULT_SOCKET`].
pub fn socket_path() -> PathBuf {
    if let Some(path) = std::env::var_os("DAYBOOK_SOCKET").filter(|path| !path.is_empty()) {
        return path.into();
    }
    socket_from_file(Path::new(SOCKET_FILE)).unwrap_or_else(|| DEFAULT_SOCKET.into())
}

fn socket_from_file(file: &Path) -> Option<PathBuf> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.into())
}

fn connect_patience() -> Duration {
    let given = std::env::var("DAYBOOK_CONNECT_SECONDS").ok().and_then(|text| text.parse::<u64>().ok());
    given.map_or(CONNECT_PATIENCE, |seconds| Duration::from_secs(seconds).min(CONNECT_PATIENCE_MAX))
}

async fn open(socket: &Path) -> io::Result<SendRequest<Full<Bytes>>> {
    let stream = UnixStream::connect(socket).await?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    // Ends by itself with the connection; what broke it shows in the request.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(sender)
}

fn request(method: Method, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>, String> {
    Request::builder()
        .method(method)
        .uri(path)
        .header("host", "daybook")
        .header("content-type", "application/json")
        .body(Full::new(body))
        .map_err(|error| error.to_string())
}

async fn read_body(response: Response<Incoming>) -> Result<Bytes, String> {
    let limited = http_body_util::Limited::new(response.into_body(), ANSWER_BYTES_MAX);
    Ok(limited.collect().await.map_err(|error| error.to_string())?.to_bytes())
}

fn decode<A: DeserializeOwned>(answer: &[u8]) -> Result<A, CallError> {
    serde_json::from_slice(answer).map_err(|error| CallError::Unintelligible(error.to_string()))
}

fn refusal(status: u16, body: &[u8]) -> CallError {
    match serde_json::from_slice::<ApiError>(body) {
        Ok(error) => CallError::Refused(error),
        Err(_) => {
            let start: String = String::from_utf8_lossy(body).chars().take(200).collect();
            CallError::Unintelligible(format!("HTTP status {status}: {start}"))
        }
    }
}

/// Hands out the whole lines of `pending` and leaves the unfinished rest.
fn take_lines(
    pending: &mut Vec<u8>,
    each: &mut impl FnMut(&str) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, CallError> {
    let mut start = 0;
    while let Some(length) = pending[start..].iter().position(|&byte| byte == b'\n') {
        let line = std::str::from_utf8(&pending[start..start + length])
            .map_err(|error| CallError::Unintelligible(error.to_string()))?;
        start += length + 1;
        if each(line).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    pending.drain(..start);
    if pending.len() > LINE_BYTES_MAX {
        return Err(CallError::Unintelligible(format!("a line of more than {LINE_BYTES_MAX} bytes")));
    }
    Ok(ControlFlow::Continue(()))
}
