//! What a node's agent may do, and what not, whatever its program tries.

use futures_util::StreamExt as _;

use super::client::{BLOBS, BUCKET, DETAIL, STATE, User, until_ok};
use super::servers::{Keys, PATIENCE, Servers};

/// A cluster with the nodes `n1` and `n2`.
async fn two_nodes() -> (Keys, Servers, User) {
    let keys = Keys::init(1);
    keys.ok("add-node", &["n1", "n2"]);
    let servers = keys.start();
    let admin = keys.admin().await;
    admin.make_streams(1).await;
    (keys, servers, admin)
}

#[tokio::test]
async fn a_node_appends_to_its_own_subjects_and_finds_its_last_message() {
    let (keys, _servers, _admin) = two_nodes().await;
    let (n1, service) = (keys.node("n1").await, keys.service().await);
    for (stream, name) in [("state", STATE), ("detail", DETAIL)] {
        let subject = format!("daybook.example.{stream}.node.n1");
        n1.append(&subject, "first").await;
        n1.append(&subject, "last").await;
        let handle = n1.jetstream.get_stream_no_info(name).await.expect("a handle");
        let last = handle.direct_get_last_for_subject(subject.as_str()).await.expect("its last message");
        assert_eq!((last.payload.as_ref(), last.sequence), (b"last".as_slice(), 2));
        let read = service.read_all(name).await;
        assert_eq!(read, [(subject.clone(), "first".to_string()), (subject, "last".to_string())]);
    }
}

#[tokio::test]
async fn an_append_that_expects_another_last_message_is_refused_to_a_node_too() {
    let (keys, _servers, _admin) = two_nodes().await;
    let n1 = keys.node("n1").await;
    let subject = "daybook.example.state.node.n1";
    n1.append(subject, "first").await;
    let message = async_nats::jetstream::message::PublishMessage::build()
        .payload("second".into())
        .expected_last_subject_sequence(0);
    let answer = n1.jetstream.send_publish(subject, message).await.expect("sent").await;
    let error = answer.expect_err("another message is the last");
    assert_eq!(error.kind(), async_nats::jetstream::context::PublishErrorKind::WrongLastSequence);
}

#[tokio::test]
async fn a_node_writes_nowhere_else() {
    let (keys, _servers, admin) = two_nodes().await;
    let n1 = keys.node("n1").await;
    for stream in ["state", "detail"] {
        for writer in ["node.n2", "node.n1.x", "node", "jobs", "plan", "admin", "ledger", "audit"] {
            n1.may_not_publish(&format!("daybook.example.{stream}.{writer}")).await;
        }
    }
    for subject in [
        "daybook.example.lease.n2",
        "daybook.example.orders.n1",
        "daybook.example.orders.n2",
        "_INBOX_n2.x",
        "_INBOX.x",
    ] {
        n1.may_not_publish(subject).await;
    }
    for part in ["C.x", "M.x"] {
        n1.may_not_publish(&format!("$O.{BUCKET}.{part}")).await;
    }
    assert_eq!(admin.count(STATE).await, []);
    assert_eq!(admin.count(DETAIL).await, []);
    assert_eq!(admin.count(BLOBS).await, []);
}

#[tokio::test]
async fn a_node_does_not_read_the_streams() {
    let (keys, _servers, _admin) = two_nodes().await;
    let n1 = keys.node("n1").await;
    for stream in [STATE, DETAIL] {
        for call in ["STREAM.INFO", "STREAM.MSG.GET", "DIRECT.GET", "CONSUMER.CREATE"] {
            n1.may_not_publish(&format!("$JS.API.{call}.{stream}")).await;
        }
    }
    n1.may_not_publish(&format!("$JS.API.DIRECT.GET.{STATE}.daybook.example.state.jobs")).await;
    n1.may_not_publish(&format!("$JS.API.DIRECT.GET.{STATE}.daybook.example.state.node.n2")).await;
    n1.may_not_publish(&format!("$JS.API.CONSUMER.CREATE.{BLOBS}.x")).await;
    n1.may_not_publish(&format!("$JS.API.STREAM.DELETE.{BLOBS}")).await;
    #[rustfmt::skip]
    let foreign = ["daybook.example.state.>", "daybook.example.state.node.n1", "daybook.example.orders.n2", "daybook.example.orders.*",
        "daybook.example.lease.n1", "_INBOX_n2.>", "_INBOX.>", "$JS.>", "$SYS.>", ">"];
    for subject in foreign {
        n1.may_not_subscribe(subject).await;
    }
}

#[tokio::test]
async fn a_question_about_ones_own_last_message_cannot_be_turned_into_another() {
    let (keys, _servers, _admin) = two_nodes().await;
    let (n1, service) = (keys.node("n1").await, keys.service().await);
    service.append("daybook.example.state.jobs", "of jobs").await;
    n1.append("daybook.example.state.node.n1", "own").await;
    let subject = format!("$JS.API.DIRECT.GET.{STATE}.daybook.example.state.node.n1");
    for body in [
        r#"{"seq":1}"#,
        r#"{"seq":1,"next_by_subj":"daybook.example.state.jobs"}"#,
        r#"{"last_by_subj":"daybook.example.state.jobs"}"#,
        r#"{"multi_last":["daybook.example.state.jobs"]}"#,
    ] {
        let answer = n1.client.request(subject.clone(), body.into()).await.expect("an answer");
        assert_ne!(answer.payload.as_ref(), b"of jobs", "{body}");
        assert_ne!(answer.status, None, "{body}: {answer:?}");
    }
}

#[tokio::test]
async fn a_node_cannot_have_an_answer_appended_to_anothers_subject() {
    let (keys, _servers, admin) = two_nodes().await;
    let n1 = keys.node("n1").await;
    let own = "daybook.example.state.node.n1";
    n1.append(own, "forged").await;
    let get = format!("$JS.API.DIRECT.GET.{STATE}.{own}");
    // The answer to an append, and a whole stored message, to where this node may not write.
    for target in
        ["daybook.example.state.jobs", "daybook.example.state.plan", "daybook.example.state.node.n2"]
    {
        for question in [own, get.as_str()] {
            n1.client
                .publish_with_reply(question.to_string(), target.to_string(), "".into())
                .await
                .expect("sent");
        }
    }
    // The same way to its own subject works. It comes later, so what was to be seen of the others is there by then.
    n1.client.publish_with_reply(get, own.to_string(), "".into()).await.expect("sent");
    n1.client.flush().await.expect("a connection");
    // One append, three with answers elsewhere, one by the last answer.
    let counts = until_ok("see all messages", || async {
        let counts = admin.count(STATE).await;
        if counts.iter().map(|(_, count)| count).sum::<u64>() >= 5 { Ok(counts) } else { Err(counts) }
    })
    .await;
    assert_eq!(counts, [(own.to_string(), 5)]);
}

#[tokio::test]
async fn a_node_reads_blobs_of_several_chunks() {
    let (keys, _servers, _admin) = two_nodes().await;
    let (n1, service) = (keys.node("n1").await, keys.service().await);
    let store = service.jetstream.get_object_store(BUCKET).await.expect("the store");
    let first: Vec<u8> = (0..400_000_u32).map(|number| number as u8).collect();
    store.put("first", &mut first.as_slice()).await.expect("stored");
    store.put("second", &mut b"echo".as_slice()).await.expect("stored");
    assert_eq!(n1.read_blob("first").await, first);
    assert_eq!(n1.read_blob("second").await, b"echo");
}

#[tokio::test]
async fn a_node_gets_its_own_orders_and_answers_to_its_own_requests() {
    let (keys, _servers, _admin) = two_nodes().await;
    let (n1, n2, service) = (keys.node("n1").await, keys.node("n2").await, keys.service().await);
    let mut orders_1 = n1.client.subscribe("daybook.example.orders.n1").await.expect("subscribed");
    let mut orders_2 = n2.client.subscribe("daybook.example.orders.n2").await.expect("subscribed");
    n1.settle().await;
    n2.settle().await;
    for (node, order) in [("n2", "for n2"), ("n1", "for n1")] {
        service.client.publish(format!("daybook.example.orders.{node}"), order.into()).await.expect("sent");
    }
    for (orders, expected) in [(&mut orders_1, "for n1"), (&mut orders_2, "for n2")] {
        let order = tokio::time::timeout(PATIENCE, orders.next()).await.expect("in time").expect("an order");
        assert_eq!(order.payload.as_ref(), expected.as_bytes());
    }

    let mut leases = service.client.subscribe("daybook.example.lease.*").await.expect("subscribed");
    service.settle().await;
    let asking = n1.client.request("daybook.example.lease.n1", "may I?".into());
    let answering = async {
        let asked = leases.next().await.expect("a request");
        assert_eq!(asked.subject.as_str(), "daybook.example.lease.n1");
        let reply = asked.reply.expect("where to answer");
        service.client.publish(reply, "granted".into()).await.expect("sent");
    };
    let (answer, ()) = tokio::join!(asking, answering);
    assert_eq!(answer.expect("an answer").payload.as_ref(), b"granted");
}

#[tokio::test]
async fn a_nodes_name_may_have_characters_that_mean_something_in_subjects() {
    let keys = Keys::init(1);
    keys.ok("add-node", &["gpu.01", "*"]);
    let _servers = keys.start();
    keys.admin().await.make_streams(1).await;
    let dotted = keys.node("gpu%2E01").await;
    dotted.append("daybook.example.state.node.gpu%2E01", "here").await;
    dotted.may_not_publish("daybook.example.state.node.gpu.01").await;
    let star = keys.node("%2A").await;
    star.append("daybook.example.state.node.%2A", "here").await;
    star.may_not_publish("daybook.example.state.node.gpu%2E01").await;
    star.may_not_subscribe("daybook.example.orders.*").await;
}
