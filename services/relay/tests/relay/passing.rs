//! What goes through whole.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use daybook_relay::bounds::{PIECE_BYTES, SILENCE_MAX, WINDOW_PIECES};
use daybook_schemas::BlobHash;
use futures_util::StreamExt as _;
use serde_json::json;

use crate::support::{BIG, BIG_PART, Bench, UID, ask, big_part, bytes, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_comes_with_its_peer_and_the_relays_name() {
    let bench = Bench::start();
    let _service = bench.serve().await;
    let relay = bench.relay("login1").await;
    let answer = ask(&relay, "PUT", "/echo?x=1&y=%20", "{}").await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.headers()["content-type"], "application/json");
    let expected = json!({
        "uid": UID, "gid": 3_999_998, "pid": 5,
        "via": "login1", "user": UID.to_string(), "group": "3999998",
        "method": "PUT", "path": "/echo?x=1&y=%20",
    });
    assert_eq!(json(answer).await, expected);
    assert_eq!(ask(&relay, "GET", "/nothing", "").await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_every_size_arrive_as_they_were_sent() {
    let bench = Bench::start();
    let _service = bench.serve().await;
    let relay = bench.relay("login1").await;
    for size in [0, 1, 64 << 10, (64 << 10) + 1, 5_000_000, 32 << 20] {
        let body: Vec<u8> = (0..size).map(|number| (number % 249) as u8).collect();
        let expected = BlobHash::of(&body).0;
        let answer = ask(&relay, "POST", "/hash", body).await;
        assert_eq!(answer.status(), StatusCode::OK, "{size}");
        assert_eq!(bytes(answer).await.expect("an answer"), expected, "{size}");
    }
    let answer = ask(&relay, "POST", "/hash", vec![0; (32 << 20) + 1]).await;
    assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_answer_arrives_whole_and_no_faster_than_it_is_read() {
    let bench = Bench::start();
    let _service = bench.serve().await;
    let relay = bench.relay("login1").await;
    let mut body = ask(&relay, "GET", "/big", "").await.into_body().into_data_stream();
    let mut read = body.next().await.expect("a part").expect("whole").to_vec();
    // Longer than a silence: who reads slowly is not gone.
    tokio::time::sleep(SILENCE_MAX + Duration::from_secs(2)).await;
    let made = bench.seen.bytes_made.load(Ordering::SeqCst);
    let bound = (WINDOW_PIECES + 2) * PIECE_BYTES as u64 + BIG_PART as u64;
    assert!(made <= bound, "{made} bytes were made, and one part was read");
    while let Some(part) = body.next().await {
        read.extend_from_slice(&part.expect("whole"));
    }
    assert_eq!(read.len(), BIG);
    for start in (0..BIG).step_by(BIG_PART) {
        assert!(read[start..start + BIG_PART] == big_part(start), "{start}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_is_answered_by_one_of_several_daemons() {
    let bench = Bench::start();
    let _services = [bench.serve().await, bench.serve().await, bench.serve().await];
    let relay = bench.relay("login1").await;
    let begun = Instant::now();
    let asked = (0..500).map(|_| {
        let relay = relay.clone();
        tokio::spawn(async move { ask(&relay, "GET", "/echo", "").await.status() })
    });
    for answer in asked.collect::<Vec<_>>() {
        assert_eq!(answer.await.expect("an answer"), StatusCode::OK);
    }
    assert_eq!(bench.requests(), 500);
    println!("500 requests at once in {:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_relay_and_the_daemon_go_on_after_the_bus_was_away() {
    let mut bench = Bench::start();
    let _service = bench.serve().await;
    let relay = bench.relay("login1").await;
    assert_eq!(ask(&relay, "GET", "/echo", "").await.status(), StatusCode::OK);
    bench.server.kill();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(ask(&relay, "GET", "/echo", "").await.status(), StatusCode::SERVICE_UNAVAILABLE);
    bench.server.restart().expect("a server");
    let begun = Instant::now();
    while ask(&relay, "GET", "/echo", "").await.status() != StatusCode::OK {
        assert!(begun.elapsed() < Duration::from_secs(20), "it does not come back");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
