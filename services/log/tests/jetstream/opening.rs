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

/// Speaks just enough of NATS to say which version it is.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_too_old_is_named_with_its_version() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let info = format!(
            r#"{{"server_id":"A","server_name":"attic","version":"2.11.9","proto":1,"go":"","host":"127.0.0.1","port":{},"headers":true,"max_payload":8388608,"jetstream":true,"client_id":1}}"#,
            address.port()
        );
        stream.write_all(format!("INFO {info}\r\n").as_bytes()).await.unwrap();
        let (read, mut write) = stream.split();
        let mut lines = BufReader::new(read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if line.starts_with("PING") {
                write.write_all(b"PONG\r\n").await.unwrap();
            }
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let newer = server(dir.path(), &Settings::default());
    let mut options = options(&newer, &dir.path().join("copy"));
    options.bus.servers = format!("nats://{address}");
    let refused = refusal(options).await;
    assert!(refused.contains("attic (version 2.11.9)") && refused.contains("2.12 or later"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_has_expired_is_said_to_have() {
    let dir = tempfile::tempdir().unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_string()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    let (certificate, secret) = (dir.path().join("server.pem"), dir.path().join("server.key"));
    std::fs::write(&certificate, params.self_signed(&key).unwrap().pem()).unwrap();
    std::fs::write(&secret, key.serialize_pem()).unwrap();
    let extra =
        format!("tls {{ cert_file: \"{}\", key_file: \"{}\" }}", certificate.display(), secret.display());
    let server = server(dir.path(), &Settings { extra, ..Settings::default() });
    let mut options = options(&server, &dir.path().join("copy"));
    options.bus.servers = format!("tls://localhost:{}", server.port);
    options.bus.ca_file = Some(certificate);
    let refused = refusal(options).await;
    assert!(refused.contains("certificate expired"), "{refused}");
    assert!(!dir.path().join("copy").exists(), "half a start");
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
    match open(options(&server, &copy)).await.map(|_| ()) {
        Err(BusError::CopyOfAnother { .. }) => {}
        other => panic!("{other:?}"),
    }
}
