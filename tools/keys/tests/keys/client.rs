//! Connections to the servers, and what the servers refuse.

use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use async_nats::jetstream::{self, consumer, stream};
use async_nats::{Client, ConnectOptions, Event};
use base64::Engine as _;
use futures_util::StreamExt as _;
use tokio::sync::{Mutex, mpsc};

use super::servers::{Keys, PATIENCE};

pub const STATE: &str = "DAYBOOK_example_STATE";
pub const DETAIL: &str = "DAYBOOK_example_DETAIL";
pub const BLOBS: &str = "OBJ_daybook_example_blobs";
pub const BUCKET: &str = "daybook_example_blobs";

/// The most complaints of a server that wait to be looked at.
const EVENTS_MAX: usize = 256;

/// A connection of one user.
pub struct User {
    pub client: Client,
    pub jetstream: jetstream::Context,
    events: Mutex<mpsc::Receiver<String>>,
}

impl Keys {
    /// What to give to a connection of the user whose files are in a directory below the keys.
    pub fn options(&self, user: &str, inbox: &str) -> ConnectOptions {
        let place = self.directory().join(user);
        let seed = fs::read_to_string(place.join("nats.seed")).expect("the user's seed");
        ConnectOptions::with_nkey(seed.trim().to_string())
            .add_root_certificates(place.join("ca.pem"))
            .require_tls(true)
            .custom_inbox_prefix(inbox)
    }

    /// Where a server's clients connect.
    pub fn url(&self, host: &str) -> String {
        format!("tls://{host}:{}", self.client_port)
    }

    /// Connects to one server as the user whose files are in a directory.
    pub async fn connect_to(&self, host: &str, user: &str, inbox: &str) -> User {
        let (sender, events) = mpsc::channel(EVENTS_MAX);
        let options = self.options(user, inbox).event_callback(move |event| {
            let sender = sender.clone();
            async move {
                if let Event::ServerError(error) = event {
                    // Nobody listens any more when the test is over.
                    let _ = sender.try_send(error.to_string());
                }
            }
        });
        let client =
            options.connect(self.url(host)).await.unwrap_or_else(|error| panic!("{user}: {error:?}"));
        User { jetstream: jetstream::new(client.clone()), client, events: Mutex::new(events) }
    }

    pub async fn admin(&self) -> User {
        self.connect_to(&self.hosts[0], "admin", "_INBOX").await
    }

    pub async fn service(&self) -> User {
        self.connect_to(&self.hosts[0], "service", "_INBOX").await
    }

    pub async fn node(&self, node: &str) -> User {
        self.connect_to(&self.hosts[0], &format!("nodes/{node}"), &format!("_INBOX_{node}")).await
    }

    pub async fn gateway(&self, host: &str) -> User {
        self.connect_to(&self.hosts[0], &format!("gateways/{host}"), &format!("_INBOX_{host}")).await
    }
}

impl User {
    /// Makes the log's streams and the store of blobs, as soon as the servers can.
    pub async fn make_streams(&self, replicas: usize) {
        for (name, subjects) in [(STATE, "daybook.example.state.>"), (DETAIL, "daybook.example.detail.>")] {
            until_ok(&format!("make {name}"), || {
                self.jetstream.get_or_create_stream(stream::Config {
                    name: name.to_string(),
                    subjects: vec![subjects.to_string()],
                    num_replicas: replicas,
                    allow_direct: true,
                    ..stream::Config::default()
                })
            })
            .await;
        }
        until_ok("make the blobs", || {
            self.jetstream.create_object_store(jetstream::object_store::Config {
                bucket: BUCKET.to_string(),
                num_replicas: replicas,
                ..jetstream::object_store::Config::default()
            })
        })
        .await;
    }

    /// Appends a message, and gives its sequence.
    #[track_caller]
    pub fn append(&self, subject: &str, text: &str) -> impl Future<Output = u64> {
        let (jetstream, subject, text) = (self.jetstream.clone(), subject.to_string(), text.to_string());
        async move {
            let acknowledgement = jetstream.publish(subject.clone(), text.into()).await.expect("sent");
            acknowledgement.await.unwrap_or_else(|error| panic!("{subject}: {error}")).sequence
        }
    }

    /// Everything in a stream, by a consumer: subjects and texts.
    pub async fn read_all(&self, stream: &str) -> Vec<(String, String)> {
        let mut stream = self.jetstream.get_stream(stream).await.expect("the stream");
        let count = stream.info().await.expect("its state").state.messages;
        // Right after a server's restart the stream may still be looking for its leader.
        let consumer =
            until_ok("make a consumer", || stream.create_consumer(consumer::pull::OrderedConfig::default()))
                .await;
        let mut messages = consumer.messages().await.expect("its messages");
        let mut read = Vec::new();
        for _ in 0..count {
            let next = tokio::time::timeout(PATIENCE, messages.next()).await.expect("in time");
            let message = next.expect("not the end").expect("a message");
            read.push((message.subject.to_string(), String::from_utf8_lossy(&message.payload).into_owned()));
        }
        read
    }

    /// How many messages a stream has of each subject, in the order of the subjects.
    pub async fn count(&self, stream: &str) -> Vec<(String, u64)> {
        let mut counts: Vec<(String, u64)> = Vec::new();
        for (subject, _) in self.read_all(stream).await {
            match counts.iter_mut().find(|(known, _)| *known == subject) {
                Some((_, count)) => *count += 1,
                None => counts.push((subject, 1)),
            }
        }
        counts.sort();
        counts
    }

    /// Reads a blob by single messages, without a consumer.
    pub async fn read_blob(&self, name: &str) -> Vec<u8> {
        let stream = self.jetstream.get_stream_no_info(BLOBS).await.expect("a handle");
        let name = base64::engine::general_purpose::URL_SAFE.encode(name);
        let meta = stream
            .direct_get_last_for_subject(format!("$O.{BUCKET}.M.{name}"))
            .await
            .expect("its description");
        let object: jetstream::object_store::ObjectInfo =
            serde_json::from_slice(&meta.payload).expect("a description");
        let mut bytes = Vec::new();
        let mut sequence = None;
        for _ in 0..object.chunks {
            let chunk = stream
                .direct_get_next_for_subject(format!("$O.{BUCKET}.C.{}", object.nuid), sequence)
                .await
                .expect("a chunk");
            bytes.extend_from_slice(&chunk.payload);
            sequence = Some(chunk.sequence + 1);
        }
        bytes
    }

    /// Waits until the server has dealt with everything that this connection sent.
    pub async fn settle(&self) {
        let question = format!("$JS.API.DIRECT.GET.{BLOBS}");
        self.client
            .request(question, r#"{"seq":1}"#.into())
            .await
            .expect("an answer, if only that there is none");
    }

    /// Asserts that the server refuses a message to this subject.
    pub async fn may_not_publish(&self, subject: &str) {
        self.client.publish(subject.to_string(), "x".into()).await.expect("sent");
        self.client.flush().await.expect("a connection");
        self.is_told(&format!("permissions violation for publish to \"{subject}\"")).await;
    }

    /// Asserts that the server refuses a subscription.
    pub async fn may_not_subscribe(&self, subject: &str) {
        let _subscription = self.client.subscribe(subject.to_string()).await.expect("sent");
        self.client.flush().await.expect("a connection");
        self.is_told(&format!("permissions violation for subscription to \"{subject}\"")).await;
    }

    /// Waits for the server's next complaint, which must be this one.
    async fn is_told(&self, expected: &str) {
        let mut events = self.events.lock().await;
        let told = tokio::time::timeout(PATIENCE, events.recv()).await;
        let told =
            told.unwrap_or_else(|_| panic!("no complaint: {expected}")).expect("the connection goes on");
        assert!(
            told.to_lowercase().contains(&expected.to_lowercase()),
            "expected {expected:?}, was told {told:?}"
        );
    }
}

/// Repeats something until it succeeds.
pub async fn until_ok<T, E: Debug, F: Future<Output = Result<T, E>>>(
    what: &str,
    mut attempt: impl FnMut() -> F,
) -> T {
    let started = Instant::now();
    loop {
        match attempt().await {
            Ok(value) => return value,
            Err(error) => assert!(started.elapsed() < PATIENCE, "could not {what}: {error:?}"),
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// A certificate authority that has nothing to do with these keys.
pub fn foreign_authority(keys: &Keys) -> PathBuf {
    let key = rcgen::KeyPair::generate().expect("a key");
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let path = keys.directory().join("foreign.pem");
    fs::write(&path, params.self_signed(&key).expect("a certificate").pem()).expect("written");
    path
}
