//! Nodes that are added and removed while the cluster lives: each server is restarted, one after the other.

use async_nats::{Client, ConnectErrorKind, jetstream};

use super::client::{STATE, until_ok};
use super::servers::{Keys, Servers};

/// Brings every server what `daybook keys` has changed.
fn bring_to_servers(keys: &Keys, servers: &mut Servers) {
    for host in &keys.hosts {
        keys.install(host, &keys.server_directory(host));
        servers.restart(host);
    }
}

/// Appends as soon as the servers are there again; the message is one, however often it is sent.
async fn append(client: &Client, subject: &str, text: &'static str) {
    let jetstream = jetstream::new(client.clone());
    until_ok(&format!("append {text} to {subject}"), || async {
        let message = jetstream::message::PublishMessage::build().payload(text.into()).message_id(text);
        jetstream.send_publish(subject.to_string(), message).await?.await
    })
    .await;
}

async fn comes_and_goes(server_count: usize) {
    let keys = Keys::init(server_count);
    keys.ok("add-node", &["n1"]);
    let mut servers = keys.start();
    keys.admin().await.make_streams(server_count).await;
    let n1 = keys.node("n1").await;
    n1.append("daybook.example.state.node.n1", "before").await;

    keys.ok("add-node", &["n2"]);
    bring_to_servers(&keys, &mut servers);
    // n1's connection was broken by the restarts, and goes on.
    append(&n1.client, "daybook.example.state.node.n1", "after").await;
    let texts = ["by the first", "by the second", "by the third"];
    for (host, text) in keys.hosts.iter().zip(texts) {
        let n2 = keys.connect_to(host, "nodes/n2", "_INBOX_n2").await;
        append(&n2.client, "daybook.example.state.node.n2", text).await;
        n2.may_not_publish("daybook.example.state.node.n1").await;
    }

    let seed = std::fs::read_to_string(keys.directory().join("nodes/n2/nats.seed")).expect("the seed");
    keys.ok("remove-node", &["n2"]);
    assert!(!keys.directory().join("nodes/n2").exists());
    bring_to_servers(&keys, &mut servers);
    for host in &keys.hosts {
        let options = keys.options("service", "_INBOX_n2").nkey(seed.trim().to_string());
        let error = options.connect(keys.url(host)).await.expect_err("its key was removed");
        assert_eq!(error.kind(), ConnectErrorKind::AuthorizationViolation, "{error:?}");
    }
    append(&n1.client, "daybook.example.state.node.n1", "still").await;
    let read = keys.service().await.read_all(STATE).await;
    assert_eq!(read.len(), 3 + server_count, "{read:?}");
}

#[tokio::test]
async fn a_node_comes_to_one_server_and_goes() {
    comes_and_goes(1).await;
}

#[tokio::test]
async fn a_node_comes_to_three_servers_and_goes() {
    comes_and_goes(3).await;
}
