//! What is refused at the start, and what a person is told.

use async_nats::jetstream;
use daybook_log::conformance::sample;
use daybook_log::embedded::RecordedPosition;
use daybook_log::jetstream::{BusError, JetStreamOptions};
use daybook_log::{Durability, EventLog};
use daybook_nats_server::{NatsServer, Settings, Sync};
use daybook_schemas::{Seq, Stream};

use crate::support::{open, options};

fn server(dir: &std::path::Path, settings: &Settings) -> NatsServer {
    NatsServer::start(&dir.join("nats"), settings).unwrap()
}

async fn refusal(options: JetStreamOptions) -> String {
    match open(options).await {
        Ok(_) => panic!("it was opened"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_must_sync_before_it_acknowledges_and_say_so() {
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &Settings { sync: Sync::Default, ..Settings::default() });
    let with = |monitor_urls: Vec<String>| JetStreamOptions {
        monitor_urls,
        ..options(&server, &dir.path().join("copy"))
    };
    let unsynced = refusal(with(vec![server.monitor_url()])).await;
    assert!(unsynced.contains("acknowledges before it syncs"), "{unsynced}");
    assert!(unsynced.contains("jetstream { sync_interval: always }"), "{unsynced}");
    let unnamed = refusal(with(Vec::new())).await;
    assert!(unnamed.contains("monitor_url"), "{unnamed}");
    let unreachable = refusal(with(vec!["http://127.0.0.1:1".to_string()])).await;
    assert!(unreachable.contains("cannot be read from http://127.0.0.1:1"), "{unreachable}");
    let no_monitor = refusal(with(vec![server.url().replace("nats://", "http://")])).await;
    assert!(no_monitor.contains("cannot be read"), "{no_monitor}");
    // Nothing was made on the server by any of these.
    let context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
    assert!(context.get_stream("DAYBOOK_test_STATE").await.is_err());

    let accepted = JetStreamOptions { accept_unsynced: true, ..with(vec![server.monitor_url()]) };
    assert_eq!(open(accepted).await.unwrap().durability(), Durability::Unsynced);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_server_s_word_does_not_count() {
    let dir = tempfile::tempdir().unwrap();
    let unsynced = server(dir.path(), &Settings { sync: Sync::Default, ..Settings::default() });
    let synced = NatsServer::start(&dir.path().join("other"), &Settings::default()).unwrap();
    let mixed = JetStreamOptions {
        monitor_urls: vec![synced.monitor_url()],
        ..options(&unsynced, &dir.path().join("copy"))
    };
    let refused = refusal(mixed).await;
    assert!(refused.contains("the one that we are connected to was not among them"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_synced_server_is_synced() {
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &Settings::default());
    assert_eq!(
        open(options(&server, &dir.path().join("copy"))).await.unwrap().durability(),
        Durability::Synced
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_addresses_and_servers_have_their_own_messages() {
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &Settings { max_payload: "1MB".to_string(), ..Settings::default() });
    let at = |servers: &str| {
        let mut options = options(&server, &dir.path().join("copy"));
        options.bus.servers = servers.to_string();
        options
    };
    for (servers, expected) in [
        ("http://127.0.0.1:4222", "neither nats:// nor tls://"),
        ("nats://127.0.0.1:1", "check that nats-server runs there"),
        ("nats://", "no address of a NATS server"),
        (server.url().as_str(), "max_payload: 8MB"),
        (server.url().replace("nats://", "tls://").as_str(), "certificate"),
    ] {
        let refused = refusal(at(servers)).await;
        assert!(refused.contains(expected), "{servers}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_checked_before_they_are_used() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &Settings::default());
    let with_key = |path: &std::path::Path| {
        let mut options = options(&server, &dir.path().join("copy"));
        options.bus.nkey_file = Some(path.to_path_buf());
        options
    };
    let key = dir.path().join("key");
    assert!(refusal(with_key(&key)).await.contains("daybook keys"));
    std::fs::write(&key, "SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU\n").unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let open_to_all = refusal(with_key(&key)).await;
    assert!(open_to_all.contains("mode 644"), "{open_to_all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_not_ours_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &Settings::default());
    let context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
    context
        .create_stream(jetstream::stream::Config {
            name: "DAYBOOK_test_STATE".to_string(),
            subjects: vec!["daybook.test.state.>".to_string()],
            ..Default::default()
        })
        .await
        .unwrap();
    let refused = refusal(options(&server, &dir.path().join("copy"))).await;
    assert!(refused.contains("DAYBOOK_test_STATE is not Daybook's"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_may_not_make_streams_names_the_clusters_that_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &Settings::default());
    drop(open(options(&server, &dir.path().join("copy"))).await.unwrap());
    let mistyped = JetStreamOptions {
        cluster: "tset".to_string(),
        create: false,
        ..options(&server, &dir.path().join("other"))
    };
    let refused = refusal(mistyped).await;
    assert!(
        refused.contains("no stream DAYBOOK_tset_STATE") && refused.contains("the clusters test"),
        "{refused}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_belongs_to_its_streams() {
    let dir = tempfile::tempdir().unwrap();
    let server = server(dir.path(), &Settings::default());
    let copy = dir.path().join("copy");
    let log = open(options(&server, &copy)).await.unwrap();
    for name in ["a", "b", "c"] {
        log.append(sample::one(Stream::State, name)).await.unwrap();
    }
    drop(log);
    let recorded =
        vec![RecordedPosition { who: "the ledger".to_string(), stream: Stream::State, seq: Seq(4) }];
    let short = refusal(JetStreamOptions { recorded, ..options(&server, &copy) }).await;
    assert!(short.contains("the ledger has recorded commit 4"), "{short}");
    let context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
    context.delete_stream("DAYBOOK_test_STATE").await.unwrap();
    // Timestamps of streams have seconds.
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    match open(options(&server, &copy)).await.map(|_| ()) {
        Err(BusError::CopyOfAnother { .. }) => {}
        other => panic!("{other:?}"),
    }
}
