//! What the central parts, the administration and gateways may do.

use futures_util::StreamExt as _;

use super::client::{BLOBS, BUCKET, DETAIL, STATE};
use super::servers::Keys;

#[tokio::test]
async fn the_service_appends_as_each_central_writer_and_reads_everything() {
    let keys = Keys::init(1);
    let _servers = keys.start();
    keys.admin().await.make_streams(1).await;
    let service = keys.service().await;
    for (stream, name) in [("state", STATE), ("detail", DETAIL)] {
        let mut expected = Vec::new();
        for writer in ["jobs", "plan", "admin", "ledger", "audit"] {
            let subject = format!("daybook.example.{stream}.{writer}");
            assert_eq!(service.append(&subject, writer).await, expected.len() as u64 + 1);
            expected.push((subject, writer.to_string()));
        }
        assert_eq!(service.read_all(name).await, expected);
    }
    let store = service.jetstream.get_object_store(BUCKET).await.expect("the store");
    let script = vec![b'#'; 300_000];
    store.put("script", &mut script.as_slice()).await.expect("stored");
    assert_eq!(service.read_blob("script").await, script);
}

#[tokio::test]
async fn the_service_writes_for_no_node_and_removes_nothing() {
    let keys = Keys::init(1);
    let _servers = keys.start();
    keys.admin().await.make_streams(1).await;
    let service = keys.service().await;
    service.may_not_publish("daybook.example.state.node.n1").await;
    for call in ["STREAM.DELETE", "STREAM.PURGE", "STREAM.UPDATE", "STREAM.MSG.DELETE", "STREAM.CREATE"] {
        service.may_not_publish(&format!("$JS.API.{call}.{STATE}")).await;
        service.may_not_publish(&format!("$JS.API.{call}.{BLOBS}")).await;
    }
}

#[tokio::test]
async fn a_gateway_appends_jobs_and_administration_and_reads_the_streams() {
    let keys = Keys::init(1);
    keys.ok("add-gateway", &["login1.example.org"]);
    let _servers = keys.start();
    keys.admin().await.make_streams(1).await;
    let gateway =
        keys.connect_to(&keys.hosts[0], "gateways/login1.example.org", "_INBOX_login1%2Eexample%2Eorg").await;
    gateway.append("daybook.example.state.jobs", "a job").await;
    gateway.append("daybook.example.state.admin", "a drain").await;
    let store = gateway.jetstream.get_object_store(BUCKET).await.expect("the store");
    store.put("script", &mut b"#!/bin/sh".as_slice()).await.expect("stored");
    assert_eq!(gateway.read_blob("script").await, b"#!/bin/sh");
    let read = gateway.read_all(STATE).await;
    assert_eq!(read.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["a job", "a drain"]);

    for writer in ["plan", "ledger", "audit", "node.n1"] {
        gateway.may_not_publish(&format!("daybook.example.state.{writer}")).await;
    }
    gateway.may_not_publish("daybook.example.orders.n1").await;
    gateway.may_not_publish(&format!("$JS.API.STREAM.PURGE.{BLOBS}")).await;
    gateway.may_not_publish(&format!("$JS.API.STREAM.DELETE.{STATE}")).await;
    for subject in ["_INBOX.>", "daybook.example.lease.*", "daybook.>", ">"] {
        gateway.may_not_subscribe(subject).await;
    }
}

#[tokio::test]
async fn a_relay_speaks_and_hears_below_its_own_subject_only() {
    let keys = Keys::init(1);
    keys.ok("add-relay", &["login1"]);
    let _servers = keys.start();
    let admin = keys.admin().await;
    admin.make_streams(1).await;
    let service = keys.service().await;
    let relay = keys.connect_to(&keys.hosts[0], "relays/login1", "_INBOX_login1").await;
    let (own, answers) = ("daybook.example.relay.login1", "daybook.example.relay.login1.0af.answer");
    let mut openings = service
        .client
        .queue_subscribe("daybook.example.relay.*", "gateways".to_string())
        .await
        .expect("subscribed");
    let mut requests = service.client.subscribe(format!("{own}.0af.request")).await.expect("subscribed");
    service.settle().await;
    let mut answered = relay.client.subscribe(answers).await.expect("subscribed");
    // A reply subject that it may not publish to itself: nobody uses it.
    relay.client.publish_with_reply(own, "daybook.example.state.jobs", "opening".into()).await.expect("sent");
    assert_eq!(openings.next().await.expect("an opening").payload.as_ref(), b"opening");
    relay.client.publish(format!("{own}.0af.request"), "more".into()).await.expect("sent");
    assert_eq!(requests.next().await.expect("more").payload.as_ref(), b"more");
    service.client.publish(answers, "answer".into()).await.expect("sent");
    assert_eq!(answered.next().await.expect("an answer").payload.as_ref(), b"answer");
    assert_eq!(admin.count(STATE).await, []);

    for subject in [
        "daybook.example.relay.login2",
        "daybook.example.relay.login2.0af.request",
        answers,
        "daybook.example.state.jobs",
        "daybook.example.lease.login1",
        "_INBOX.x",
    ] {
        relay.may_not_publish(subject).await;
    }
    for call in ["STREAM.INFO", "STREAM.MSG.GET", "DIRECT.GET", "CONSUMER.CREATE"] {
        relay.may_not_publish(&format!("$JS.API.{call}.{STATE}")).await;
    }
    for subject in [
        own,
        "daybook.example.relay.*",
        "daybook.example.relay.login2.0af.answer",
        "daybook.example.relay.*.*.answer",
        "daybook.example.state.>",
        "daybook.example.orders.*",
        "_INBOX.>",
        "_INBOX_login1.>",
        ">",
    ] {
        relay.may_not_subscribe(subject).await;
    }
}
