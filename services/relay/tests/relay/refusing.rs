//! What is not believed, and where answers do not go.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use daybook_log::clock::{Clock as _, SystemClock};
use daybook_log::jetstream::Names;
use daybook_relay::{Opening, Service, Statement, VERSION};
use daybook_schemas::BlobHash;
use daybook_schemas::api::ErrorCode;
use futures_util::StreamExt as _;
use nkeys::KeyPair;
use tower::ServiceExt as _;

use crate::support::{Bench, UID, ask, refusal, request, routes};

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_that_is_not_known_or_has_another_key_is_told_why() {
    let bench = Bench::start();
    let _service = bench.serve().await;
    let unknown = bench.relay("login2").await;
    let (status, error) = refusal(ask(&unknown, "GET", "/echo", "").await).await;
    assert_eq!((status, error.code), (StatusCode::FORBIDDEN, ErrorCode::PermissionDenied));
    assert!(error.to_string().contains("no relay login2 is known"), "{error}");
    // Also where the body does not fit into the opening, and is not waited for.
    let (status, _) = refusal(ask(&unknown, "POST", "/hash", vec![1; 20_000_000]).await).await;
    assert_eq!(status, StatusCode::FORBIDDEN);

    let other = Bench { key: KeyPair::new_user(), ..bench };
    let (status, error) = refusal(ask(&other.relay("login1").await, "GET", "/echo", "").await).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(error.to_string().contains("signature"), "{error}");
    assert_eq!(other.requests(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn root_of_a_login_machine_is_served_only_where_that_is_configured() {
    let bench = Bench::start();
    let service = bench.serve().await;
    let relay = bench.relay("login1").await;
    let Ok(answer) = relay.clone().oneshot(request(0, "GET", "/echo", "")).await;
    let (status, error) = refusal(answer).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(error.to_string().contains("root is not served through relay login1"), "{error}");
    assert_eq!(bench.requests(), 0);
    service.stop().await;

    let known = daybook_relay::KnownRelay { root: true, ..bench.known() };
    let routes = routes(bench.seen.clone());
    let _service = Service::start(bench.client().await, "test", &[known], routes, Arc::new(SystemClock))
        .await
        .expect("a service");
    let Ok(answer) = relay.oneshot(request(0, "GET", "/echo", "")).await;
    assert_eq!(answer.status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_sent_twice_is_carried_out_once_and_answered_on_its_own_subject_only() {
    let bench = Bench::start();
    let _service = bench.serve().await;
    let client = bench.client().await;
    let names = Names::of("test");
    let exchange = "00000000000000000000000000000001".to_string();
    let statement = Statement {
        version: VERSION,
        cluster: "test".to_string(),
        relay: "login1".to_string(),
        exchange: exchange.clone(),
        issued_micros: SystemClock.now().0,
        uid: UID,
        gid: UID,
        pid: None,
        user: "alice".to_string(),
        group: "users".to_string(),
        method: "GET".to_string(),
        path: "/echo".to_string(),
        body_bytes: 0,
        body: BlobHash::of(b""),
    };
    let message = Opening::sign(statement, "".into(), &bench.key).expect("signed").encode();
    let mut answers = client.subscribe(names.relay_answers("login1", &exchange)).await.expect("subscribed");
    let mut stolen = client.subscribe("stolen").await.expect("subscribed");
    for _ in 0..2 {
        client.publish_with_reply(names.relay("login1"), "stolen", message.clone()).await.expect("sent");
    }
    let mut heads = Vec::new();
    while heads.len() < 2 {
        let answer = tokio::time::timeout(Duration::from_secs(5), answers.next()).await.expect("in time");
        let payload = answer.expect("an answer").payload;
        if payload[0] == b'H' {
            heads.push(String::from_utf8_lossy(&payload[9..]).into_owned());
        }
    }
    assert!(heads.iter().any(|head| head.contains("200")), "{heads:?}");
    assert!(heads.iter().any(|head| head.contains("403")), "{heads:?}");
    assert_eq!(bench.requests(), 1);
    let elsewhere = tokio::time::timeout(Duration::from_millis(300), stolen.next()).await;
    assert!(elsewhere.is_err(), "an answer went where the request said: {elsewhere:?}");
}
