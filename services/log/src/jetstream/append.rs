//! One append: in its writer's turn, with the expectation that keeps it from coming twice.

use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::header::{NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_EXPECTED_STREAM};
use async_nats::jetstream::Context;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::{Client, HeaderMap};
use daybook_schemas::{Seq, Stream, UtcMicros};
use futures_util::TryStreamExt;
use tokio::time::Instant;

use super::connect::chain;
use super::{Inner, TIME_HEADER, locked};
use crate::bounds::{
    BUS_ACK_PATIENCE, BUS_APPEND_PATIENCE, BUS_BLOBS_AT_ONCE, BUS_HEADER_BYTES, BUS_PAUSE_MAX, BUS_PAUSE_MIN,
    BUS_UNSETTLED_MAX, QUEUE_KIB, QUEUE_KIB_EACH,
};
use crate::prepared::{Blob, Prepared};
use crate::{Append, AppendError, Appended, ReadError};

/// What one try came to.
pub(super) enum Tried {
    /// It is in the log.
    Appended(Seq),
    /// Certainly not appended; the subject has moved on.
    Overtaken,
    /// Certainly not appended, for now.
    Refused(String),
    /// Appended or not.
    Unknown(String),
    /// It never will be.
    Invalid(String),
}

pub(super) async fn append(inner: &Arc<Inner>, append: Append) -> Result<Appended, AppendError> {
    let mut prepared = Prepared::new(append)?;
    let room = inner.client.server_info().max_payload.saturating_sub(BUS_HEADER_BYTES);
    if prepared.events_json().len() > room {
        return Err(AppendError::Invalid(format!(
            "it has {} bytes; a message on this bus has at most {room} (max_payload of nats-server)",
            prepared.events_json().len()
        )));
    }
    let kib = (QUEUE_KIB_EACH + prepared.weight() / 1024).min(QUEUE_KIB);
    let _room = inner.queue_space.acquire_many(u32::try_from(kib).unwrap_or(u32::MAX)).await;
    let blobs = std::mem::take(&mut prepared.blobs);
    store_blobs(inner, blobs).await.map_err(AppendError::Unavailable)?;
    let turn = {
        let mut turns = locked(&inner.turns);
        turns.entry((prepared.stream, prepared.subject.clone())).or_default().clone()
    };
    let _turn = turn.lock().await;
    append_in_turn(inner, &prepared).await
}

/// Blobs are safe before a commit names them. Those beside the copy of the log are in the object store.
async fn store_blobs(inner: &Inner, blobs: Vec<Blob>) -> Result<(), String> {
    futures_util::stream::iter(blobs.into_iter().map(Ok))
        .try_for_each_concurrent(BUS_BLOBS_AT_ONCE, |blob: Blob| async move {
            if matches!(inner.replica.blob(&blob.hash), Ok(Some(_))) {
                return Ok(());
            }
            put_blob(inner, &blob).await?;
            inner.replica.keep_blob(&blob.hash, &blob.bytes)
        })
        .await
}

/// Puts a blob as patiently as a commit is appended: servers that have lost their leader choose another.
async fn put_blob(inner: &Inner, blob: &Blob) -> Result<(), String> {
    let deadline = Instant::now() + BUS_APPEND_PATIENCE;
    let mut pause = BUS_PAUSE_MIN;
    loop {
        match inner.blobs.put(blob).await {
            Ok(()) => return Ok(()),
            Err(why) if Instant::now() >= deadline => return Err(why),
            Err(why) => tracing::debug!(%why, "a blob is put again"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(BUS_PAUSE_MAX);
    }
}

async fn append_in_turn(inner: &Inner, prepared: &Prepared) -> Result<Appended, AppendError> {
    let stream = prepared.stream;
    let deadline = Instant::now() + BUS_APPEND_PATIENCE;
    let mut pause = BUS_PAUSE_MIN;
    let mut may_be_under_way = false;
    loop {
        if let Some(seq) = known(inner, prepared, may_be_under_way)? {
            return appended(inner, stream, seq).await;
        }
        let expected = expectation(inner, prepared)?;
        let why = match publish(inner, prepared, expected).await {
            Tried::Appended(seq) => return appended(inner, stream, seq).await,
            Tried::Invalid(why) => return Err(AppendError::Invalid(why)),
            Tried::Overtaken => "other writers of this subject are faster".to_string(),
            Tried::Refused(why) => why,
            Tried::Unknown(why) => {
                may_be_under_way = true;
                why
            }
        };
        tracing::debug!(subject = %prepared.subject, %why, "an append is tried again");
        if Instant::now() >= deadline {
            return Err(given_up(inner, prepared, may_be_under_way, why));
        }
        // What has become of it, and what else has come, is in the stream.
        if let Err(error) = inner.catch_up(stream, BUS_ACK_PATIENCE).await {
            tracing::debug!(%error, "the copy of the log cannot catch up");
            if Instant::now() >= deadline {
                return Err(given_up(inner, prepared, may_be_under_way, error));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(BUS_PAUSE_MAX);
        } else if !may_be_under_way {
            pause = BUS_PAUSE_MIN;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

fn given_up(inner: &Inner, prepared: &Prepared, may_be_under_way: bool, why: String) -> AppendError {
    if !may_be_under_way {
        return AppendError::Unavailable(why);
    }
    let events = prepared.events.iter().map(|event| (prepared.stream, event.id.clone()));
    let mut unsettled = locked(&inner.unsettled);
    unsettled.extend(events);
    // Whoever has not looked up the first of so many does not want to know any more; a look at the copy still answers.
    while unsettled.len() > BUS_UNSETTLED_MAX && unsettled.pop_first().is_some() {}
    AppendError::Unknown(why)
}

/// Whether the log has an event of the draft already. That is the answer to a draft that may have arrived before; to
/// any other it is a refusal.
fn known(inner: &Inner, prepared: &Prepared, may_be_ours: bool) -> Result<Option<Seq>, AppendError> {
    let unavailable = |error: ReadError| AppendError::Unavailable(error.to_string());
    for event in &prepared.events {
        if let Some(seq) = inner.replica.find(prepared.stream, &event.id).map_err(unavailable)? {
            let is_ours = may_be_ours && {
                let commits = inner.replica.read_stored(prepared.stream, seq, 1).map_err(unavailable)?;
                let ids = |events: &[daybook_schemas::Event]| {
                    events.iter().map(|event| event.id.clone()).collect::<Vec<_>>()
                };
                commits.first().is_some_and(|commit| ids(&commit.events) == ids(&prepared.events))
            };
            return match is_ours {
                true => Ok(Some(seq)),
                false => Err(AppendError::Duplicate { event: event.id.clone(), seq }),
            };
        }
    }
    Ok(None)
}

/// The last commit of the subject, if it is the one that the draft expects.
fn expectation(inner: &Inner, prepared: &Prepared) -> Result<Seq, AppendError> {
    let actual = inner
        .replica
        .subject_end(prepared.stream, &prepared.subject)
        .map_err(|error| AppendError::Unavailable(error.to_string()))?;
    match prepared.expect {
        Some(expected) if expected != actual => {
            Err(AppendError::Expectation { subject: prepared.subject.clone(), expected, actual })
        }
        _ => Ok(actual),
    }
}

async fn publish(inner: &Inner, prepared: &Prepared, expected: Seq) -> Tried {
    let name = inner.names.writer(prepared.stream, &prepared.subject);
    let stream = inner.names.stream(prepared.stream);
    let time = inner.clock.as_ref().map(|clock| clock.now());
    publish_message(&inner.client, &inner.context, name, stream, prepared.events_json(), expected, time).await
}

/// Publishes the events of a commit to their writer's subject, if `expected` is its last.
pub(super) async fn publish_message(
    client: &Client,
    context: &Context,
    name: String,
    stream: String,
    events_json: &[u8],
    expected: Seq,
    time: Option<UtcMicros>,
) -> Tried {
    // What is given to a connection that is down would be sent once it is up again, who knows when.
    if client.connection_state() != State::Connected {
        return Tried::Refused("there is no connection to the NATS server".to_string());
    }
    let mut headers = HeaderMap::new();
    headers.insert(NATS_EXPECTED_STREAM, stream);
    headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, expected.0.to_string());
    if let Some(time) = time {
        headers.insert(TIME_HEADER, time.0.to_string());
    }
    let sent = match context.publish_with_headers(name, headers, events_json.to_vec().into()).await {
        Ok(acknowledgement) => acknowledgement.await,
        Err(error) => Err(error),
    };
    match sent {
        Ok(acknowledgement) => Tried::Appended(Seq(acknowledgement.sequence)),
        Err(error) => judge(&error),
    }
}

fn judge(error: &PublishError) -> Tried {
    let why = chain(error);
    match error.kind() {
        PublishErrorKind::WrongLastSequence => Tried::Overtaken,
        PublishErrorKind::MaxPayloadExceeded => Tried::Invalid(why),
        // Nobody heard it, or the server has said no.
        PublishErrorKind::StreamNotFound
        | PublishErrorKind::WrongLastMessageId
        | PublishErrorKind::MaxAckPending => Tried::Refused(why),
        PublishErrorKind::Other
            if std::error::Error::source(error)
                .is_some_and(|cause| cause.is::<async_nats::jetstream::Error>()) =>
        {
            Tried::Refused(why)
        }
        PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe | PublishErrorKind::Other => {
            Tried::Unknown(why)
        }
    }
}

/// Acknowledged by the server; acknowledged here once everybody on this machine sees it.
async fn appended(inner: &Inner, stream: Stream, seq: Seq) -> Result<Appended, AppendError> {
    let unknown = |error: ReadError| AppendError::Unknown(error.to_string());
    inner.replica.ends().wait_past(stream, Seq(seq.0.saturating_sub(1))).await.map_err(unknown)?;
    let recent = inner.replica.recent_from(stream, seq, 1).map_err(unknown)?;
    let commits = match recent {
        Some(commits) => commits,
        None => inner.replica.read_stored(stream, seq, 1).map_err(unknown)?,
    };
    match commits.first() {
        Some(commit) => Ok(Appended { seq, time: commit.time }),
        None => Err(AppendError::Unknown(format!("commit {seq} is not in this machine's copy of the log"))),
    }
}
