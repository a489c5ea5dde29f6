//! A bus, a daemon's routes behind it, and the relay in front.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::Client;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Request, StatusCode};
use axum::response::Response;
use axum::routing::{any, get, post};
use axum::{Extension, Json, Router};
use daybook_gateway::Relayed;
use daybook_log::clock::SystemClock;
use daybook_log::jetstream::{self, Bus};
use daybook_nats_server::{NatsServer, Settings};
use daybook_relay::{KnownRelay, Login, Service};
use daybook_schemas::BlobHash;
use daybook_schemas::api::{ApiError, BODY_BYTES_MAX, Peer};
use futures_util::{StreamExt as _, stream};
use nkeys::KeyPair;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

pub const PATIENCE: Duration = Duration::from_secs(20);
/// Of the user of the tests' requests; nobody has it.
pub const UID: u32 = 3_999_999;
/// What `/big` answers, in bytes.
pub const BIG: usize = 20_000_000;
/// What `/big` makes at once, in bytes.
pub const BIG_PART: usize = 100_000;

pub struct Bench {
    pub keep: TempDir,
    pub server: NatsServer,
    pub key: KeyPair,
    pub seen: Arc<Seen>,
}

/// What the daemon's routes have done.
#[derive(Default)]
pub struct Seen {
    pub requests: AtomicU64,
    /// Answers and waits that have been begun and neither ended nor dropped.
    pub open: AtomicU64,
    pub bytes_made: AtomicU64,
}

impl Bench {
    pub fn start() -> Bench {
        let keep = tempfile::tempdir().expect("a temporary directory");
        let server = NatsServer::start(&keep.path().join("nats"), &Settings::default()).expect("a server");
        Bench { keep, server, key: KeyPair::new_user(), seen: Arc::default() }
    }

    pub async fn client(&self) -> Client {
        let bus = Bus { servers: self.server.url(), ..Bus::default() };
        jetstream::connect(&bus, "test").await.expect("a connection")
    }

    /// The relay `login1` as the daemon knows it.
    pub fn known(&self) -> KnownRelay {
        KnownRelay { name: "login1".to_string(), key: self.key.public_key(), root: false }
    }

    pub async fn serve(&self) -> Service {
        let routes = routes(self.seen.clone());
        Service::start(self.client().await, "test", &[self.known()], routes, Arc::new(SystemClock))
            .await
            .expect("a service")
    }

    /// The routes of a relay with this name.
    pub async fn relay(&self, name: &str) -> Router {
        let seed = self.keep.path().join("seed");
        std::fs::write(&seed, self.key.seed().expect("a seed")).expect("written");
        let login = Login::new(self.client().await, "test", name, &seed, Arc::new(SystemClock));
        daybook_relay::router(login.expect("a relay"))
    }

    pub fn requests(&self) -> u64 {
        self.seen.requests.load(Ordering::SeqCst)
    }

    /// Waits until nothing is open at the daemon.
    pub async fn until_nothing_is_open(&self) {
        let closed = async {
            while self.seen.open.load(Ordering::SeqCst) > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, closed).await.expect("the daemon goes on with what nobody waits for");
    }

    pub fn dir(&self) -> &std::path::Path {
        self.keep.path()
    }
}

pub fn request(uid: u32, method: &str, path: &str, body: impl Into<Bytes>) -> Request<Body> {
    let body: Bytes = body.into();
    let peer = Peer { uid, gid: 3_999_998, pid: Some(5) };
    let request = Request::builder().method(method).uri(path).header("content-length", body.len());
    request.extension(peer).body(Body::from(body)).expect("a request")
}

pub async fn ask(relay: &Router, method: &str, path: &str, body: impl Into<Bytes>) -> Response {
    let Ok(response) = relay.clone().oneshot(request(UID, method, path, body)).await;
    response
}

pub async fn bytes(response: Response) -> Result<Bytes, axum::Error> {
    axum::body::to_bytes(response.into_body(), usize::MAX).await
}

pub async fn json(response: Response) -> Value {
    serde_json::from_slice(&bytes(response).await.expect("a whole answer")).expect("JSON")
}

pub async fn refusal(response: Response) -> (StatusCode, ApiError) {
    let status = response.status();
    (status, serde_json::from_slice(&bytes(response).await.expect("a whole answer")).expect("an error"))
}

/// Counts what is open, whichever way it ends.
struct Open(Arc<Seen>);

impl Open {
    fn new(seen: &Arc<Seen>) -> Open {
        seen.open.fetch_add(1, Ordering::SeqCst);
        Open(seen.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

pub fn routes(seen: Arc<Seen>) -> Router {
    Router::new()
        .route("/echo", any(echo))
        .route("/hash", post(|body: Bytes| async move { BlobHash::of(&body).0 }))
        .route("/big", get(big))
        .route("/follow", get(follow))
        .route("/wait", get(wait))
        .route("/broken", get(broken))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(axum::middleware::from_fn_with_state(seen.clone(), count))
        .with_state(seen)
}

async fn count(
    State(seen): State<Arc<Seen>>,
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> Response {
    seen.requests.fetch_add(1, Ordering::SeqCst);
    next.run(request).await
}

async fn echo(
    Extension(peer): Extension<Peer>,
    Extension(relayed): Extension<Relayed>,
    request: Request<Body>,
) -> Json<Value> {
    Json(json!({
        "uid": peer.uid, "gid": peer.gid, "pid": peer.pid,
        "via": relayed.via, "user": relayed.user, "group": relayed.group,
        "method": request.method().as_str(), "path": request.uri().to_string(),
    }))
}

/// The content of `/big` from a position on.
pub fn big_part(start: usize) -> Vec<u8> {
    (start..start + BIG_PART).map(|number| (number % 251) as u8).collect()
}

async fn big(State(seen): State<Arc<Seen>>) -> Body {
    let parts = stream::iter((0..BIG).step_by(BIG_PART)).map(move |start| {
        seen.bytes_made.fetch_add(BIG_PART as u64, Ordering::SeqCst);
        Ok::<_, std::io::Error>(big_part(start))
    });
    Body::from_stream(parts)
}

async fn follow(State(seen): State<Arc<Seen>>) -> Body {
    let open = Open::new(&seen);
    let lines = stream::unfold((0_u64, open), |(number, open)| async move {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Some((Ok::<_, std::io::Error>(format!("{{\"seq\":{number}}}\n")), (number + 1, open)))
    });
    Body::from_stream(lines)
}

async fn wait(State(seen): State<Arc<Seen>>) -> StatusCode {
    let _open = Open::new(&seen);
    std::future::pending().await
}

async fn broken() -> Body {
    let parts = [Ok("a part"), Err(std::io::Error::other("an unreadable commit"))];
    Body::from_stream(stream::iter(parts))
}
