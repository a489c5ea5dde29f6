//! What ends early: at the client, at the daemon, and without a daemon.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use daybook_gateway::{bind, serve};
use daybook_log::clock::SystemClock;
use daybook_relay::bounds::SILENCE_MAX;
use daybook_relay::{KnownRelay, Service};
use daybook_schemas::api::ErrorCode;
use futures_util::StreamExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::support::{Bench, PATIENCE, ask, bytes, refusal, routes};

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_at_the_daemon_when_the_client_hangs_up() {
    let bench = Bench::start();
    let _service = bench.serve().await;
    let relay = bench.relay("login1").await;
    let mut body = ask(&relay, "GET", "/follow", "").await.into_body().into_data_stream();
    let mut text = String::new();
    while text.lines().count() < 100 {
        let part = body.next().await.expect("a stream goes on").expect("whole");
        text.push_str(std::str::from_utf8(&part).expect("text"));
    }
    for (number, line) in text.lines().enumerate() {
        assert_eq!(line, format!("{{\"seq\":{number}}}"));
    }
    assert_eq!(bench.seen.open.load(Ordering::SeqCst), 1);
    drop(body);
    let begun = Instant::now();
    bench.until_nothing_is_open().await;
    assert!(begun.elapsed() < Duration::from_secs(2), "it was told, and not found out by silence");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_goes_on_for_long_and_ends_when_the_client_hangs_up() {
    let bench = Bench::start();
    let _service = bench.serve().await;
    let relay = bench.relay("login1").await;
    let waiting = ask(&relay, "GET", "/wait", "");
    // Longer than a silence: both sides say that they are there.
    let waited = tokio::time::timeout(SILENCE_MAX + Duration::from_secs(2), waiting).await;
    assert!(waited.is_err(), "nothing comes, and nothing breaks");
    let begun = Instant::now();
    bench.until_nothing_is_open().await;
    assert!(begun.elapsed() < Duration::from_secs(2), "it was told, and not found out by silence");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_dies_is_found_out() {
    let bench = Bench::start();
    let _service = bench.serve().await;
    let relays = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let relay = relays.block_on_elsewhere(bench.relay("login1")).await;
    let waiting = relays.spawn(async move { ask(&relay, "GET", "/wait", "").await });
    while bench.seen.open.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    relays.shutdown_background();
    bench.until_nothing_is_open().await;
    drop(waiting);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_in_the_middle_breaks_the_connection() {
    let bench = Bench::start();
    let daemon = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    // The tests may be run by root.
    let known = KnownRelay { root: true, ..bench.known() };
    let routes = routes(bench.seen.clone());
    let client = daemon.block_on_elsewhere(bench.client()).await;
    let service = daemon.block_on_elsewhere(async {
        Service::start(client, "test", &[known], routes, Arc::new(SystemClock)).await.expect("a service")
    });
    let service = service.await;
    let socket = bench.dir().join("socket");
    let listener = bind(&socket, 0o600).await.expect("a socket");
    tokio::spawn(serve(listener, bench.relay("login1").await, std::future::pending()));

    let mut connections = Vec::new();
    for path in ["/follow", "/wait"] {
        let mut connection = UnixStream::connect(&socket).await.expect("connected");
        let request = format!("GET {path} HTTP/1.1\r\nhost: daybook\r\n\r\n");
        connection.write_all(request.as_bytes()).await.expect("sent");
        connections.push((path, connection));
    }
    while bench.seen.open.load(Ordering::SeqCst) < 2 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    daemon.shutdown_background();
    drop(service);
    for (path, mut connection) in connections {
        let mut answer = Vec::new();
        let read = tokio::time::timeout(PATIENCE, connection.read_to_end(&mut answer)).await;
        read.expect("the connection is broken").expect("read to its end");
        let text = String::from_utf8_lossy(&answer);
        assert!(!text.ends_with("0\r\n\r\n"), "{path}: the answer looks whole: {text}");
        assert!(path == "/follow" || !text.starts_with("HTTP/1.1 200"), "{path}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_stops_cuts_what_does_not_end_and_takes_nothing_new() {
    let bench = Bench::start();
    let service = bench.serve().await;
    let relay = bench.relay("login1").await;
    let following = ask(&relay, "GET", "/follow", "").await;
    let begun = Instant::now();
    let stopping = tokio::spawn(service.stop());
    tokio::time::sleep(Duration::from_millis(200)).await;
    let (status, _) = refusal(ask(&relay, "GET", "/echo", "").await).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    bytes(following).await.expect_err("it is cut");
    stopping.await.expect("stopped");
    assert!(begun.elapsed() < SILENCE_MAX, "it was told, and not found out by silence");
    bench.until_nothing_is_open().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_cannot_be_ended_is_not_taken_for_a_whole_one() {
    let bench = Bench::start();
    let _service = bench.serve().await;
    let relay = bench.relay("login1").await;
    let error = bytes(ask(&relay, "GET", "/broken", "").await).await.expect_err("it is broken");
    assert!(format!("{error:?}").contains("an unreadable commit"), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_daemon_the_relay_says_so_at_once() {
    let bench = Bench::start();
    let relay = bench.relay("login1").await;
    let begun = Instant::now();
    let (status, error) = refusal(ask(&relay, "POST", "/hash", vec![1; 1_000_000]).await).await;
    assert_eq!((status, error.code), (StatusCode::SERVICE_UNAVAILABLE, ErrorCode::NotReady));
    assert!(error.to_string().contains("no daybookd serves this login machine's relay"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(2));
}

/// A future run on another runtime, whose end ends what it has started.
trait Elsewhere {
    fn block_on_elsewhere<T: Send>(
        &self,
        future: impl Future<Output = T> + Send,
    ) -> impl Future<Output = T> + Send;
}

impl Elsewhere for tokio::runtime::Runtime {
    fn block_on_elsewhere<T: Send>(
        &self,
        future: impl Future<Output = T> + Send,
    ) -> impl Future<Output = T> + Send {
        let handle = self.handle().clone();
        async move {
            let mut future = std::pin::pin!(future);
            std::future::poll_fn(move |context| {
                let _entered = handle.enter();
                future.as_mut().poll(context)
            })
            .await
        }
    }
}
