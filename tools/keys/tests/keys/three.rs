//! Three servers.

use std::time::{Duration, Instant};

use async_nats::jetstream;
use futures_util::StreamExt as _;

use super::client::{STATE, User, until_ok};
use super::servers::{Keys, PATIENCE};

#[tokio::test]
async fn three_servers_keep_the_same_rights_and_go_on_without_one() {
    let keys = Keys::init(3);
    keys.ok("add-node", &["n1", "n2"]);
    let mut servers = keys.start();
    keys.admin().await.make_streams(3).await;
    let n1 = keys.connect_to(&keys.hosts[1], "nodes/n1", "_INBOX_n1").await;
    let service = keys.connect_to(&keys.hosts[2], "service", "_INBOX").await;
    n1.append("daybook.example.state.node.n1", "one").await;
    service.append("daybook.example.state.jobs", "two").await;
    n1.may_not_publish("daybook.example.state.node.n2").await;
    n1.may_not_publish("daybook.example.state.jobs").await;
    assert_eq!(service.read_all(STATE).await.len(), 2);

    orders_and_leases_cross_servers(&n1, &service).await;

    servers.kill(&keys.hosts[0]);
    // A new leader may have to be found first; the message is one, however often it is sent.
    until_ok("append with two servers", || async {
        let message = jetstream::message::PublishMessage::build().payload("three".into()).message_id("three");
        n1.jetstream.send_publish("daybook.example.state.node.n1", message).await?.await
    })
    .await;
    let read = until_ok("read with two servers", || async {
        let handle = n1.jetstream.get_stream_no_info(STATE).await.map_err(|error| error.to_string())?;
        let last = handle
            .direct_get_last_for_subject("daybook.example.state.node.n1")
            .await
            .map_err(|error| error.to_string())?;
        // A replica that answers may be a moment behind.
        if last.sequence == 3 { Ok(last) } else { Err(format!("sequence {}", last.sequence)) }
    })
    .await;
    assert_eq!(read.payload.as_ref(), b"three");
}

/// Both need the other server to know of a subscription, which it comes to know a moment later; so each is repeated.
async fn orders_and_leases_cross_servers(n1: &User, service: &User) {
    let mut orders = n1.client.subscribe("daybook.example.orders.n1").await.expect("subscribed");
    let started = Instant::now();
    let order = loop {
        service.client.publish("daybook.example.orders.n1", "run it".into()).await.expect("sent");
        if let Ok(order) = tokio::time::timeout(Duration::from_millis(50), orders.next()).await {
            break order.expect("the subscription goes on");
        }
        assert!(started.elapsed() < PATIENCE, "no order came");
    };
    assert_eq!(order.payload.as_ref(), b"run it");

    let mut leases = service.client.subscribe("daybook.example.lease.*").await.expect("subscribed");
    let answering = async {
        while let Some(asked) = leases.next().await {
            let reply = asked.reply.expect("where to answer");
            service.client.publish(reply, "granted".into()).await.expect("sent");
        }
    };
    let asking = until_ok("get a lease", || n1.client.request("daybook.example.lease.n1", "may I?".into()));
    tokio::select! {
        () = answering => panic!("the subscription ended"),
        answer = asking => assert_eq!(answer.payload.as_ref(), b"granted"),
    }
}
