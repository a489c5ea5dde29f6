//! An agent's end of the log.

use std::sync::Arc;

use daybook_log::conformance::sample;
use daybook_log::jetstream::{Bus, JetStreamLog, NodeLog};
use daybook_log::{Append, AppendError, EventLog};
use daybook_nats_server::{NatsServer, Settings};
use daybook_schemas::{BlobHash, Seq, Stream, Subject};

use futures_util::StreamExt;

use crate::support::{open, options};

fn report(name: &str) -> Append {
    Append {
        stream: Stream::State,
        draft: sample::draft(Subject::Node("n1".into()), name, 2),
        blobs: Vec::new(),
    }
}

/// What dispatch does for agents.
async fn answer_questions(log: Arc<JetStreamLog>) {
    let mut questions = log.client().subscribe(log.names().leases()).await.unwrap();
    log.client().flush().await.unwrap();
    tokio::spawn(async move {
        while let Some(question) = questions.next().await {
            let answer = log.answer(&serde_json::from_slice(&question.payload).unwrap()).await.unwrap();
            let answer = serde_json::to_vec(&answer).unwrap();
            log.client().publish(question.reply.unwrap(), answer.into()).await.unwrap();
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_appends_to_its_own_subject_once_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let server = NatsServer::start(&dir.path().join("nats"), &Settings::default()).unwrap();
    let log = open(options(&server, &dir.path().join("copy"))).await.unwrap();
    let bus = Bus { servers: server.url(), ..Bus::default() };
    let blob = sample::blob(3, 300_000);
    log.append(Append { blobs: vec![blob.clone()], ..sample::one(Stream::State, "job") }).await.unwrap();

    let open_node = |in_doubt: &[&str]| {
        let in_doubt = in_doubt.iter().map(|name| sample::event_id(name, 0)).collect();
        NodeLog::open(&bus, "test", "n1".into(), in_doubt)
    };
    answer_questions(log.clone()).await;
    let node = open_node(&[]).await.unwrap();
    assert_eq!(node.append(report("started")).await.unwrap().seq, Seq(2));
    assert_eq!(node.append(report("ended")).await.unwrap().seq, Seq(3));
    let again = node.append(report("started")).await;
    assert_eq!(again, Err(AppendError::Duplicate { event: sample::event_id("started", 0), seq: Seq(2) }));
    for foreign in [sample::one(Stream::State, "x"), sample::one(Stream::Detail, "x")] {
        assert!(matches!(node.append(foreign).await, Err(AppendError::Invalid(_))));
    }
    let measured = |name: &str| Append { stream: Stream::Detail, ..report(name) };
    assert_eq!(node.append(measured("m1")).await.unwrap().seq, Seq(1));
    assert_eq!(node.append(measured("m2")).await.unwrap().seq, Seq(2));
    let found = node.blob(&BlobHash::of(&blob)).await.unwrap();
    assert!(found.as_deref() == Some(&*blob));
    assert_eq!(node.blob(&BlobHash::of(b"none")).await.unwrap(), None);
    drop(node);

    // After a restart it knows what it has said of the runs that it still has.
    log.append(sample::one(Stream::State, "between")).await.unwrap();
    let node = open_node(&["started", "ended", "never"]).await.unwrap();
    let again = node.append(report("ended")).await;
    assert_eq!(again, Err(AppendError::Duplicate { event: sample::event_id("ended", 0), seq: Seq(3) }));
    assert_eq!(node.append(report("next")).await.unwrap().seq, Seq(5));
    assert_eq!(node.find(Stream::State, &sample::event_id("started", 1)).await.unwrap(), Some(Seq(2)));

    // Two agents of one node, one of them by mistake: nothing comes twice.
    let twin = open_node(&["started", "ended", "never"]).await.unwrap();
    for (end, log) in [(3, &node), (4, &twin), (5, &node)] {
        assert_eq!(log.append(measured(&format!("m{end}"))).await.unwrap().seq, Seq(end));
    }
    assert_eq!(twin.append(report("twin")).await.unwrap().seq, Seq(6));
    assert_eq!(node.append(report("mine")).await.unwrap().seq, Seq(7));
    assert!(matches!(node.append(report("twin")).await, Err(AppendError::Duplicate { seq: Seq(6), .. })));

    tokio::time::timeout(std::time::Duration::from_secs(20), log.wait_past(Stream::State, Seq(6)))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(log.subject_end(Stream::State, &Subject::Node("n1".into())).await.unwrap(), Seq(7));
}
