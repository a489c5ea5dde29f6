//! Keeps the copy at the end of a stream on the server.

use std::sync::Arc;

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use daybook_schemas::{Seq, Stream, UtcMicros};
use futures_util::{FutureExt, StreamExt};

use super::connect::chain;
use super::{Inner, Names, TIME_HEADER};
use crate::bounds::{BUS_BATCH_BYTES_MAX, BUS_BATCH_MESSAGES_MAX, BUS_PAUSE_MAX, BUS_PAUSE_MIN, BUS_SILENCE};
use crate::embedded::replica::Copied;

/// Why a round of following ended.
enum Ended {
    /// The connection, or the consumer on it: go on from our own cursor.
    Interrupted(String),
    /// It makes no sense to go on.
    Failed(String),
}

/// Runs until it is aborted or the log fails.
pub(super) async fn follow(inner: Arc<Inner>, stream: Stream) {
    let mut pause = BUS_PAUSE_MIN;
    loop {
        let before = inner.replica.tail(stream).seq;
        match follow_once(&inner, stream).await {
            Ended::Failed(why) => return inner.fail(why),
            Ended::Interrupted(why) => tracing::warn!(?stream, %why, "following the stream again"),
        }
        let has_moved = inner.replica.tail(stream).seq > before;
        pause = if has_moved { BUS_PAUSE_MIN } else { (pause * 2).min(BUS_PAUSE_MAX) };
        tokio::time::sleep(pause).await;
    }
}

async fn follow_once(inner: &Arc<Inner>, stream: Stream) -> Ended {
    let first = inner.replica.tail(stream).seq.next();
    let config = pull::OrderedConfig {
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: first.0 },
        ..pull::OrderedConfig::default()
    };
    let consumer = match inner.streams.get(stream).create_consumer(config).await {
        Ok(consumer) => consumer,
        Err(error) => return Ended::Interrupted(chain(&error)),
    };
    let mut messages = match consumer.messages().await {
        Ok(messages) => messages,
        Err(error) => return Ended::Interrupted(chain(&error)),
    };
    loop {
        let gathered = tokio::time::timeout(BUS_SILENCE, gather(&mut messages)).await;
        let Ok((batch, end)) = gathered else {
            // A consumer may be gone without a word, after a server stood still or was restarted.
            match inner.server_end(stream).await {
                Ok(end) if end > inner.replica.tail(stream).seq => {
                    return Ended::Interrupted(format!("nothing comes, and the stream ends at {end}"));
                }
                _ => continue,
            }
        };
        let copied: Result<Vec<Copied>, String> =
            batch.iter().map(|message| copied(&inner.names, stream, message)).collect();
        let copied = match copied {
            Ok(copied) => copied,
            Err(why) => return Ended::Failed(why),
        };
        if let Some(came) = copied.first().map(|copied| copied.seq) {
            let expected = inner.replica.tail(stream).seq.next();
            if came != expected {
                let why =
                    format!("message {came} of the {stream:?} stream came where {expected} should have");
                // A consumer that was made again by the client may begin anywhere; what the server has is its own word.
                return match inner.is_missing(stream, expected).await {
                    true => Ended::Failed(format!("{why}: commits are missing on the server")),
                    false => Ended::Interrupted(why),
                };
            }
            let copy = inner.clone();
            let written = tokio::task::spawn_blocking(move || copy.replica.extend(stream, copied)).await;
            match written {
                Ok(Ok(())) => {}
                Ok(Err(why)) => {
                    return Ended::Failed(format!("this machine's copy of the log cannot go on: {why}"));
                }
                Err(error) => return Ended::Interrupted(error.to_string()),
            }
        }
        if let Some(why) = end {
            return Ended::Interrupted(why);
        }
    }
}

/// The next message and those that have come with it; and why there will be no more. It waits for the first message
/// alone, so giving it up loses none.
async fn gather(messages: &mut pull::Ordered) -> (Vec<Message>, Option<String>) {
    let mut batch = Vec::new();
    let mut bytes = 0;
    let mut next = messages.next().await;
    loop {
        match next {
            Some(Ok(message)) => {
                bytes += message.payload.len();
                batch.push(message);
            }
            Some(Err(error)) => return (batch, Some(chain(&error))),
            None => return (batch, Some("the consumer ended".to_string())),
        }
        if batch.len() >= BUS_BATCH_MESSAGES_MAX || bytes >= BUS_BATCH_BYTES_MAX {
            return (batch, None);
        }
        match messages.next().now_or_never() {
            Some(ready) => next = ready,
            None => return (batch, None),
        }
    }
}

/// A commit as a message has it.
pub(super) fn copied(names: &Names, stream: Stream, message: &Message) -> Result<Copied, String> {
    let info = message
        .info()
        .map_err(|error| format!("a message of the {stream:?} stream has no place: {error}"))?;
    let seq = Seq(info.stream_sequence);
    let subject = names.subject(stream, &message.subject).ok_or_else(|| {
        format!(
            "message {seq} of the {stream:?} stream has the subject {}, which is no writer's",
            message.subject
        )
    })?;
    let server = UtcMicros(i64::try_from(info.published.unix_timestamp_nanos() / 1000).unwrap_or(i64::MAX));
    let stated = message.headers.as_ref().and_then(|headers| headers.get(TIME_HEADER));
    let stated = stated.and_then(|time| time.as_str().parse().ok());
    let events_json = message.payload.to_vec();
    Ok(Copied { seq, time: Inner::stated_time(stated, server), subject, events_json })
}

/// The ids of the events in a message.
pub(super) fn event_ids(payload: &[u8]) -> Option<Vec<String>> {
    let events: Vec<serde_json::Value> = serde_json::from_slice(payload).ok()?;
    events.iter().map(|event| Some(event.get("id")?.as_str()?.to_string())).collect()
}
