//! A log on a bus as it is copied: message by message, each in its place.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::header::{NATS_EXPECTED_LAST_SEQUENCE, NATS_EXPECTED_STREAM};
use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use async_nats::jetstream::{Context, stream};
use daybook_schemas::{BlobHash, Commit, Seq, Stream};
use futures_util::StreamExt;

use super::blobs::Blobs;
use super::connect::{chain, connect};
use super::follower::copied;
use super::{BusError, Names, PerStreamOf, TIME_HEADER, context_of, durability, streams};
use crate::admission::{PerStream, STREAMS};
use crate::copy::BusLog;
use crate::embedded::replica::Copied;
use crate::prepared::Blob;

/// How long a copy waits for the next message.
const SILENCE: Duration = Duration::from_secs(30);

/// The streams and the bucket of a log.
pub(crate) struct OpenBus {
    context: Context,
    names: Names,
    streams: PerStreamOf<stream::Stream>,
    blobs: Blobs,
}

/// Messages of a stream up to a certain one.
pub(crate) struct Messages<'b> {
    bus: &'b OpenBus,
    stream: Stream,
    next: Seq,
    last: Seq,
    ordered: Option<pull::Ordered>,
}

impl OpenBus {
    /// Connects and checks the server and the streams; makes them where they are not there and may be.
    pub(crate) async fn open(log: &BusLog, create: bool) -> Result<OpenBus, BusError> {
        let client = connect(&log.bus, "daybook log copy").await?;
        durability::check(&client, &log.monitor_urls, log.accept_unsynced).await?;
        let context = context_of(&client);
        let names = Names::of(&log.cluster);
        let open = |stream| streams::open_for_copy(&context, &names, stream, log.replicas, create);
        let streams = PerStreamOf { state: open(Stream::State).await?, detail: open(Stream::Detail).await? };
        let blobs = Blobs::new(streams::open_bucket(&context, &names, log.replicas, create).await?);
        Ok(OpenBus { context, names, streams, blobs })
    }

    /// The last sequence numbers.
    pub(crate) async fn ends(&self) -> Result<PerStream<Seq>, String> {
        let mut ends = PerStream::default();
        for stream in STREAMS {
            let info = self.streams.get(stream).get_info().await.map_err(|error| chain(&error))?;
            *ends.get_mut(stream) = Seq(info.state.last_sequence);
        }
        Ok(ends)
    }

    /// Marks the streams as an unfinished copy, which no daemon uses, or takes the mark away.
    pub(crate) async fn mark_unfinished(&mut self, unfinished: bool) -> Result<(), String> {
        for stream in STREAMS {
            streams::mark_unfinished(&self.context, &self.names, stream, unfinished).await?;
        }
        Ok(())
    }

    /// The messages from `first` to `last`.
    pub(crate) async fn messages(
        &self,
        stream: Stream,
        first: Seq,
        last: Seq,
    ) -> Result<Messages<'_>, String> {
        let ordered = match first > last {
            true => None,
            false => {
                let config = pull::OrderedConfig {
                    deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: first.0 },
                    ..pull::OrderedConfig::default()
                };
                let handle = self.streams.get(stream);
                let consumer = handle.create_consumer(config).await.map_err(|error| chain(&error))?;
                Some(consumer.messages().await.map_err(|error| chain(&error))?)
            }
        };
        Ok(Messages { bus: self, stream, next: first, last, ordered })
    }

    /// Sends a commit to its place; the inner future is the acknowledgement.
    pub(crate) async fn publish(
        &self,
        stream: Stream,
        commit: &Commit,
    ) -> Result<impl Future<Output = Result<(), String>> + use<>, String> {
        let seq = commit.seq;
        let events = events_json(commit)?;
        let mut headers = HeaderMap::new();
        headers.insert(NATS_EXPECTED_STREAM, self.names.stream(stream));
        headers.insert(NATS_EXPECTED_LAST_SEQUENCE, seq.0.saturating_sub(1).to_string());
        headers.insert(TIME_HEADER, commit.time.0.to_string());
        let name = self.names.writer(stream, &commit.subject);
        let sent = self.context.publish_with_headers(name, headers, events.into()).await;
        let sent = sent.map_err(|error| format!("commit {seq}: {}", chain(&error)))?;
        Ok(async move {
            match sent.await {
                Ok(acknowledged) if acknowledged.sequence == seq.0 => Ok(()),
                Ok(acknowledged) => Err(format!("commit {seq} came to place {}", acknowledged.sequence)),
                Err(error) => Err(format!("commit {seq}: {}", chain(&error))),
            }
        })
    }

    pub(crate) async fn put_blob(&self, blob: &Blob) -> Result<(), String> {
        self.blobs.put(blob).await
    }

    pub(crate) async fn blob(&self, hash: &BlobHash) -> Result<Option<Arc<[u8]>>, crate::ReadError> {
        self.blobs.get(hash).await
    }
}

impl Messages<'_> {
    /// The next ones, contiguous; `None` behind the last.
    pub(crate) async fn next_batch(&mut self, most: usize) -> Result<Option<Vec<Copied>>, String> {
        let Some(ordered) = &mut self.ordered else { return Ok(None) };
        let mut batch = Vec::new();
        while self.next <= self.last && batch.len() < most {
            let message = match tokio::time::timeout(SILENCE, ordered.next()).await {
                Ok(Some(Ok(message))) => message,
                Ok(Some(Err(error))) => return Err(chain(&error)),
                Ok(None) => return Err("the stream's reader ended".to_string()),
                Err(_) => return Err(format!("message {} does not come", self.next)),
            };
            let copied = copied(&self.bus.names, self.stream, &message)?;
            if copied.seq != self.next {
                return Err(format!("message {} came where {} should have", copied.seq, self.next));
            }
            self.next = self.next.next();
            batch.push(copied);
        }
        Ok((!batch.is_empty()).then_some(batch))
    }
}

/// The canonical bytes of a commit's events: a message's payload.
fn events_json(commit: &Commit) -> Result<Vec<u8>, String> {
    crate::prepared::encode_events(&commit.events)
        .map_err(|error| format!("commit {} has no canonical form: {error}", commit.seq))
}
