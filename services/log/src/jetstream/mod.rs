//! The log on NATS JetStream: for as many machines and processes as there are.
//!
//! - One JetStream stream for each of the two sequences; one message is one commit, and the message's sequence number is
//!   the commit's. The message's subject is the writer's, its payload the canonical bytes of the events.
//! - Every process keeps a copy of both streams in the embedded log's store (`replica`), read from its own cursor with
//!   every number checked. Reads, searches and folds never leave the machine; an append is acknowledged to its caller
//!   when the server has acknowledged it and the copy has it.
//! - Every append carries the last sequence number of its writer's subject (`Nats-Expected-Last-Subject-Sequence`), whether
//!   its caller expects one or not. So a message that arrives late, after its writer has looked it up and appended again,
//!   is refused by the server, and an event id that the copy knows cannot come in a second time: de-duplication does not
//!   rest on the server's window.
//! - A blob is in the object store before the commit that names it is published.
//!
//! See `docs/decisions/0005-jetstream.md`.

mod append;
mod blobs;
pub(crate) mod bus_log;
mod connect;
mod durability;
mod follower;
mod names;
mod node;
mod options;
mod streams;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::{self, Context, context};
use async_trait::async_trait;
use daybook_schemas::{BlobHash, Commit, EventId, Seq, Stream, Subject, UtcMicros};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

pub use connect::connect;
pub use names::Names;
pub use node::{NodeAnswer, NodeLog, NodeQuestion};
pub use options::{Bus, BusError, JetStreamOptions};

use crate::admission::{PerStream, STREAMS};
use crate::bounds::{
    BUS_ACK_PATIENCE, NODE_QUESTION_EVENTS_MAX, QUEUE_KIB, READ_COMMITS_MAX, READ_INLINE_MAX,
};
use crate::clock::Clock;
use crate::embedded::replica::Replica;
use crate::{Append, AppendError, Appended, Durability, EventLog, ReadError};
use blobs::Blobs;

/// Carries a commit's time where it is not the server's: a copied log's, or a test's.
const TIME_HEADER: &str = "Daybook-Time";

/// A log on JetStream. Cheap to share by its `Arc`; safe from any task or thread.
pub struct JetStreamLog {
    inner: Arc<Inner>,
    followers: Mutex<Vec<JoinHandle<()>>>,
}

/// What the log's handle and its tasks share.
struct Inner {
    client: Client,
    context: Context,
    names: Names,
    streams: PerStreamOf<jetstream::stream::Stream>,
    replica: Replica,
    blobs: Blobs,
    durability: Durability,
    clock: Option<Arc<dyn Clock>>,
    /// Room for waiting appends, in KiB.
    queue_space: Semaphore,
    /// One append at a time for each writer's subject: each expects the one before.
    turns: Mutex<BTreeMap<(Stream, Subject), Turn>>,
    /// Events whose append has an unknown outcome: to be looked for on the server.
    unsettled: Mutex<BTreeSet<(Stream, EventId)>>,
    /// Why the log cannot go on.
    failed: watch::Sender<Option<String>>,
}

/// Who has it may append to a subject.
type Turn = Arc<tokio::sync::Mutex<()>>;

/// One value for each stream, without a default.
struct PerStreamOf<T> {
    state: T,
    detail: T,
}

impl<T> PerStreamOf<T> {
    fn get(&self, stream: Stream) -> &T {
        match stream {
            Stream::State => &self.state,
            Stream::Detail => &self.detail,
        }
    }
}

/// Makes a cluster's streams and object store where they are not there yet, and checks them where they are: for servers on
/// which only an administrator's key may make streams.
pub async fn make(bus: &Bus, cluster: &str, replicas: usize) -> Result<(), BusError> {
    let client = connect(bus, "daybook make-log").await?;
    let context = context_of(&client);
    let names = Names::of(cluster);
    for stream in STREAMS {
        streams::open(&context, &names, stream, replicas, true).await?;
    }
    streams::open_bucket(&context, &names, replicas, true).await.map(|_| ())
}

fn context_of(client: &Client) -> Context {
    context::ContextBuilder::new()
        .timeout(BUS_ACK_PATIENCE)
        .ack_timeout(BUS_ACK_PATIENCE)
        .build(client.clone())
}

impl JetStreamLog {
    /// Connects, checks the server and the streams, and brings the copy up to their ends. Must be called inside a tokio
    /// runtime. `progress` is told where the copy is and where it is going.
    pub async fn open(
        options: JetStreamOptions,
        progress: impl Fn(Stream, Seq, Seq),
    ) -> Result<Arc<JetStreamLog>, BusError> {
        let client = connect(&options.bus, "daybook log").await?;
        let durability = durability::check(&client, &options.monitor_urls, options.accept_unsynced).await?;
        let context = context_of(&client);
        let names = Names::of(&options.cluster);
        let open = |stream| streams::open(&context, &names, stream, options.replicas, options.create);
        let streams = PerStreamOf { state: open(Stream::State).await?, detail: open(Stream::Detail).await? };
        let bucket = streams::open_bucket(&context, &names, options.replicas, options.create).await?;
        let replica = Replica::open(&options.copy_dir)?;
        let inner = Arc::new(Inner {
            client,
            context,
            names,
            streams,
            replica,
            blobs: Blobs::new(bucket),
            durability,
            clock: options.clock,
            queue_space: Semaphore::new(QUEUE_KIB),
            turns: Mutex::default(),
            unsettled: Mutex::default(),
            failed: watch::Sender::new(None),
        });
        let opened = inner.check_copy(&options.copy_dir).await;
        let log = Arc::new(JetStreamLog { inner, followers: Mutex::default() });
        let ends = opened?;
        let followers = STREAMS.map(|stream| tokio::spawn(follower::follow(log.inner.clone(), stream)));
        log.followers().extend(followers);
        for stream in STREAMS {
            log.inner
                .catch_up_to(stream, *ends.get(stream), |at| progress(stream, at, *ends.get(stream)))
                .await?;
        }
        log.inner.replica.check_recorded(&options.recorded)?;
        Ok(log)
    }

    fn followers(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        locked(&self.followers)
    }

    /// The connection, for what goes beside the log.
    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// What things are called.
    pub fn names(&self) -> &Names {
        &self.inner.names
    }

    /// Whether the connection to a server stands.
    pub fn is_connected(&self) -> bool {
        self.inner.client.connection_state() == async_nats::connection::State::Connected
    }

    /// On how many servers each message lies, and the version of the one that we are connected to.
    pub fn servers(&self) -> (usize, String) {
        (self.inner.streams.state.cached_info().config.num_replicas, self.inner.client.server_info().version)
    }

    /// Answers an agent that asks which of its events are in the log. `None`: not now, or not such a question.
    pub async fn answer(&self, question: &NodeQuestion) -> Option<NodeAnswer> {
        if question.find.len() > NODE_QUESTION_EVENTS_MAX {
            return None;
        }
        if question.at_least > Seq::ZERO {
            let reached = self.wait_past(Stream::State, Seq(question.at_least.0 - 1));
            tokio::time::timeout(BUS_ACK_PATIENCE, reached).await.ok()?.ok()?;
        }
        let mut answer = NodeAnswer::default();
        for event in &question.find {
            if let Some(seq) = self.inner.replica.find(Stream::State, event).ok()? {
                answer.found.insert(event.clone(), seq);
            }
        }
        Some(answer)
    }

    /// Brings the copy up to the end that the stream has on the server now.
    pub async fn reach_server_end(&self, stream: Stream, patience: Duration) -> Result<(), String> {
        self.inner.catch_up(stream, patience).await
    }

    /// Waits until the log cannot go on (its copy's disk is full, commits are missing); gives why. The process must then
    /// end: what was acknowledged is safe on the server.
    pub async fn failed(&self) -> String {
        let mut failed = self.inner.failed.subscribe();
        let why = failed.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
        why.unwrap_or_else(|| "the log is gone".to_string())
    }

    /// Gives the copy's directory back. Later calls answer that the log is closed.
    pub async fn close(&self) {
        let followers = std::mem::take(&mut *self.followers());
        for follower in followers {
            follower.abort();
            // An abort is no failure.
            let _ = follower.await;
        }
        self.inner.replica.close();
    }
}

impl Drop for JetStreamLog {
    fn drop(&mut self) {
        for follower in self.followers().drain(..) {
            follower.abort();
        }
        self.inner.replica.close();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    /// The server's last sequence number of a stream.
    async fn server_end(&self, stream: Stream) -> Result<Seq, String> {
        match self.streams.get(stream).get_info().await {
            Ok(info) => Ok(Seq(info.state.last_sequence)),
            Err(error) => Err(connect::chain(&error)),
        }
    }

    /// Whether the server says that it does not have a message, though it has later ones.
    async fn is_missing(&self, stream: Stream, seq: Seq) -> bool {
        match self.streams.get(stream).get_raw_message(seq.0).await {
            Ok(_) => false,
            Err(error) => {
                let is_later = self.server_end(stream).await.is_ok_and(|end| end >= seq);
                error.kind() == async_nats::jetstream::stream::RawMessageErrorKind::NoMessageFound && is_later
            }
        }
    }

    /// Whether the copy is of these streams, and not longer than they are. Gives the streams' ends.
    async fn check_copy(&self, dir: &std::path::Path) -> Result<PerStream<Seq>, BusError> {
        let mut ends = PerStream::default();
        for stream in STREAMS {
            let handle = self.streams.get(stream);
            let info = handle.get_info().await.map_err(|error| BusError::Answer(connect::chain(&error)))?;
            let identity = format!("{} made at {}", info.config.name, info.created.unix_timestamp_nanos());
            let note = format!("{:?}", stream).to_lowercase();
            match self.replica.note(&note).map_err(BusError::Answer)? {
                Some(found) if found == identity => {}
                Some(found) => {
                    return Err(BusError::CopyOfAnother {
                        dir: dir.to_path_buf(),
                        found,
                        expected: identity,
                    });
                }
                None => self.replica.keep_note(&note, &identity).map_err(BusError::Answer)?,
            }
            let (copied, end) = (self.replica.tail(stream).seq, Seq(info.state.last_sequence));
            if copied > end {
                return Err(BusError::ShorterThanCopy {
                    stream: info.config.name,
                    end: end.0,
                    copied: copied.0,
                    dir: dir.to_path_buf(),
                });
            }
            self.check_last_copied(stream, copied, dir).await?;
            *ends.get_mut(stream) = end;
        }
        Ok(ends)
    }

    /// Whether the copy's last commit is the server's: a server that was set back and written again has others.
    async fn check_last_copied(
        &self,
        stream: Stream,
        seq: Seq,
        dir: &std::path::Path,
    ) -> Result<(), BusError> {
        if seq == Seq::ZERO {
            return Ok(());
        }
        let message = self
            .streams
            .get(stream)
            .get_raw_message(seq.0)
            .await
            .map_err(|error| BusError::Answer(format!("message {seq}: {}", connect::chain(&error))))?;
        let copied =
            self.replica.read_stored(stream, seq, 1).map_err(|error| BusError::Answer(error.to_string()))?;
        let theirs = follower::event_ids(&message.payload);
        let ours: Vec<String> =
            copied.iter().flat_map(|commit| &commit.events).map(|event| event.id.to_string()).collect();
        if theirs.as_ref() == Some(&ours) {
            return Ok(());
        }
        Err(BusError::CopyOfAnother {
            dir: dir.to_path_buf(),
            found: format!("a commit {seq} with the events {}", ours.join(", ")),
            expected: format!("one with {}", theirs.unwrap_or_default().join(", ")),
        })
    }

    /// Waits until the copy has reached `end`, however long that takes, as long as the log does not fail.
    async fn catch_up_to(&self, stream: Stream, end: Seq, progress: impl Fn(Seq)) -> Result<(), BusError> {
        loop {
            let at = self.replica.ends().get(stream);
            if at >= end {
                return Ok(());
            }
            progress(at);
            // Progress is told every few thousand commits, or after a while.
            let next = Seq(end.0.min(at.0 + 50_000).saturating_sub(1));
            let waited = self.replica.ends().wait_past(stream, next);
            if let Ok(Err(_)) = tokio::time::timeout(Duration::from_secs(5), waited).await {
                let why = self.failed.borrow().clone().unwrap_or_else(|| "the log is closed".to_string());
                return Err(BusError::Answer(why));
            }
        }
    }

    /// Brings the copy up to the server's end as it is now.
    async fn catch_up(&self, stream: Stream, patience: Duration) -> Result<(), String> {
        let end = self.server_end(stream).await?;
        if end == Seq::ZERO {
            return Ok(());
        }
        let reached = self.replica.ends().wait_past(stream, Seq(end.0 - 1));
        match tokio::time::timeout(patience, reached).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("the copy of the log did not reach commit {end} in time")),
        }
    }

    /// The log cannot go on.
    fn fail(&self, why: String) {
        tracing::error!(%why, "the log on the bus stops");
        self.failed.send_replace(Some(why));
        self.replica.ends().close();
    }

    /// The commit's time, where the message says it: never later than the server's own.
    fn stated_time(stated: Option<i64>, server: UtcMicros) -> UtcMicros {
        stated.map_or(server, |stated| UtcMicros(stated).min(server))
    }

    fn is_unsettled(&self, stream: Stream, event: &EventId) -> bool {
        let unsettled = locked(&self.unsettled);
        !unsettled.is_empty() && unsettled.contains(&(stream, event.clone()))
    }
}

#[async_trait]
impl EventLog for JetStreamLog {
    async fn append(&self, append: Append) -> Result<Appended, AppendError> {
        append::append(&self.inner, append).await
    }

    async fn read(&self, stream: Stream, from: Seq, limit: usize) -> Result<Vec<Arc<Commit>>, ReadError> {
        let from = from.max(Seq(1));
        let limit = limit.min(READ_COMMITS_MAX);
        if let Some(commits) = self.inner.replica.recent_from(stream, from, limit)? {
            return Ok(commits);
        }
        if limit <= READ_INLINE_MAX {
            return self.inner.replica.read_stored(stream, from, limit);
        }
        let inner = self.inner.clone();
        match tokio::task::spawn_blocking(move || inner.replica.read_stored(stream, from, limit)).await {
            Ok(result) => result,
            Err(error) => Err(ReadError::Unavailable(error.to_string())),
        }
    }

    fn end(&self, stream: Stream) -> Seq {
        self.inner.replica.ends().get(stream)
    }

    async fn wait_past(&self, stream: Stream, seq: Seq) -> Result<Seq, ReadError> {
        self.inner.replica.ends().wait_past(stream, seq).await
    }

    async fn find(&self, stream: Stream, event: &EventId) -> Result<Option<Seq>, ReadError> {
        if !self.inner.is_unsettled(stream, event) {
            return self.inner.replica.find(stream, event);
        }
        self.inner.catch_up(stream, BUS_ACK_PATIENCE).await.map_err(ReadError::Unavailable)?;
        let found = self.inner.replica.find(stream, event)?;
        locked(&self.inner.unsettled).remove(&(stream, event.clone()));
        Ok(found)
    }

    async fn subject_end(&self, stream: Stream, subject: &Subject) -> Result<Seq, ReadError> {
        self.inner.replica.subject_end(stream, subject)
    }

    async fn blob(&self, hash: &BlobHash) -> Result<Option<Arc<[u8]>>, ReadError> {
        match self.inner.replica.blob(hash) {
            Ok(None) | Err(ReadError::DamagedBlob(_)) => {}
            known => return known,
        }
        let found = self.inner.blobs.get(hash).await?;
        if let Some(bytes) = &found
            && let Err(why) = self.inner.replica.keep_blob(hash, bytes)
        {
            tracing::warn!(%hash, %why, "a blob is not kept beside the copy of the log");
        }
        Ok(found)
    }

    fn durability(&self) -> Durability {
        self.inner.durability
    }
}
