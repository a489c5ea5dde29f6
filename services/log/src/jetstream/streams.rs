//! The streams and the bucket: made as they must be, or checked that they are.

use std::time::Duration;

use async_nats::jetstream::object_store::{self, ObjectStore};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use async_nats::jetstream::{Context, context, stream};
use daybook_schemas::Stream;
use tokio::time::Instant;

use super::connect::chain;
use super::names::Names;
use super::options::BusError;
use crate::bounds::BUS_PAUSE_MAX;

/// How long servers may take to be ready.
const MAKE_PATIENCE: Duration = Duration::from_secs(12);

/// What a server answers that has no leader to ask.
const UNAVAILABLE: usize = 503;

/// What marks a stream as ours, with the version of what its messages look like.
const FORMAT_KEY: &str = "daybook-format";
const FORMAT: &str = "1";

/// What marks a stream as a copy that is not finished.
const UNFINISHED_KEY: &str = "daybook-unfinished-copy";

/// Gives a stream that a log can be appended to, made where it is not there and may be.
pub(super) async fn open(
    context: &Context,
    names: &Names,
    which: Stream,
    replicas: usize,
    create: bool,
) -> Result<stream::Stream, BusError> {
    let found = open_for_copy(context, names, which, replicas, create).await?;
    let config = &found.cached_info().config;
    match config.metadata.contains_key(UNFINISHED_KEY) {
        true => Err(BusError::Unfinished { stream: config.name.clone() }),
        false => Ok(found),
    }
}

/// Marks a stream as a copy that is not finished, or takes the mark away.
pub(super) async fn mark_unfinished(
    context: &Context,
    names: &Names,
    which: Stream,
    unfinished: bool,
) -> Result<(), String> {
    let name = names.stream(which);
    let found = context.get_stream(&name).await.map_err(|error| chain(&error))?;
    let mut config = found.cached_info().config.clone();
    if config.metadata.contains_key(UNFINISHED_KEY) == unfinished {
        return Ok(());
    }
    match unfinished {
        true => drop(config.metadata.insert(UNFINISHED_KEY.to_string(), "yes".to_string())),
        false => drop(config.metadata.remove(UNFINISHED_KEY)),
    }
    context.update_stream(config).await.map(drop).map_err(|error| chain(&error))
}

/// Gives a stream, also one that is a copy and not finished.
pub(super) async fn open_for_copy(
    context: &Context,
    names: &Names,
    which: Stream,
    replicas: usize,
    create: bool,
) -> Result<stream::Stream, BusError> {
    let wanted = config(names, which, replicas);
    let deadline = Instant::now() + MAKE_PATIENCE;
    let found = loop {
        match find_or_make(context, &wanted, create).await {
            Ok(found) => break found,
            Err(Obstacle::Busy(why)) if Instant::now() < deadline => {
                tracing::info!(stream = %wanted.name, %why, "the servers are not ready; trying again");
                tokio::time::sleep(BUS_PAUSE_MAX).await;
            }
            // A server that may not do it does not answer either.
            Err(Obstacle::Busy(why)) if create => return Err(not_made(&wanted.name, &why)),
            Err(Obstacle::Busy(why)) => {
                return Err(BusError::Answer(format!("stream {}: {why}", wanted.name)));
            }
            Err(Obstacle::Missing) => {
                return Err(BusError::NoStream { stream: wanted.name, known: known_clusters(context).await });
            }
            Err(Obstacle::Refused(error)) => return Err(error),
        }
    };
    check(&found.cached_info().config, &wanted)?;
    Ok(found)
}

/// Why there is no stream.
enum Obstacle {
    /// Servers that have just started, or of which one was lost, choose a leader first.
    Busy(String),
    Missing,
    Refused(BusError),
}

async fn find_or_make(context: &Context, wanted: &Config, create: bool) -> Result<stream::Stream, Obstacle> {
    let name = &wanted.name;
    match context.get_stream(name).await {
        Ok(found) => Ok(found),
        Err(error) if is_missing(&error) && create => {
            use context::CreateStreamErrorKind::{JetStream, JetStreamUnavailable, TimedOut};
            context.create_stream(wanted.clone()).await.map_err(|error| match error.kind() {
                TimedOut | JetStreamUnavailable => Obstacle::Busy(chain(&error)),
                JetStream(inner) if inner.code() == UNAVAILABLE => Obstacle::Busy(chain(&error)),
                _ => Obstacle::Refused(not_made(name, &chain(&error))),
            })
        }
        Err(error) if is_missing(&error) => Err(Obstacle::Missing),
        Err(error) => Err(match error.kind() {
            context::GetStreamErrorKind::Request => Obstacle::Busy(chain(&error)),
            context::GetStreamErrorKind::JetStream(inner) if inner.code() == UNAVAILABLE => {
                Obstacle::Busy(chain(&error))
            }
            _ => Obstacle::Refused(BusError::Answer(format!("stream {name}: {}", chain(&error)))),
        }),
    }
}

fn is_missing(error: &context::GetStreamError) -> bool {
    matches!(error.kind(), context::GetStreamErrorKind::JetStream(ref inner)
        if inner.error_code() == async_nats::jetstream::ErrorCode::STREAM_NOT_FOUND)
}

fn config(names: &Names, which: Stream, replicas: usize) -> Config {
    Config {
        name: names.stream(which),
        subjects: vec![names.all_writers(which)],
        description: Some("Daybook's event log; one message is one commit".to_string()),
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        discard: DiscardPolicy::New,
        num_replicas: replicas,
        max_messages: -1,
        max_bytes: -1,
        max_messages_per_subject: -1,
        max_consumers: -1,
        deny_delete: true,
        deny_purge: true,
        allow_direct: true,
        metadata: [(FORMAT_KEY.to_string(), FORMAT.to_string())].into(),
        ..Config::default()
    }
}

fn not_made(name: &str, why: &str) -> BusError {
    BusError::Answer(format!(
        "{name} is not there and cannot be made: {why}. Where only the administrator's key may make it, \"daybookd make-log\" \
         does, with that key"
    ))
}

/// What a stream must have to keep a log. Replicas and placement are the operator's.
fn check(found: &Config, wanted: &Config) -> Result<(), BusError> {
    let is_unlimited = found.max_messages <= 0 && found.max_bytes <= 0 && found.max_messages_per_subject <= 0;
    let rules = [
        (
            found.metadata.get(FORMAT_KEY).map(String::as_str) == Some(FORMAT),
            "it does not have Daybook's mark (metadata daybook-format)",
        ),
        (found.subjects == wanted.subjects, "its subjects are not the cluster's writers"),
        (found.storage == StorageType::File, "it is not kept in files"),
        (found.retention == RetentionPolicy::Limits, "its retention is not \"limits\""),
        (found.discard == DiscardPolicy::New, "it discards old messages instead of refusing new ones"),
        (is_unlimited && found.max_age.is_zero(), "it has a limit of size, number or age"),
        (found.deny_delete && found.deny_purge, "messages may be deleted from it"),
        (
            !found.no_ack && !found.sealed && !found.allow_rollup,
            "it is sealed, does not acknowledge, or allows roll-ups",
        ),
        (
            found.mirror.is_none() && found.sources.is_none() && found.subject_transform.is_none(),
            "its messages come from other streams, or are renamed",
        ),
        (!found.allow_message_ttl, "its messages may expire"),
    ];
    match rules.into_iter().find(|(holds, _)| !holds) {
        None => Ok(()),
        Some((_, what)) => {
            Err(BusError::ForeignStream { stream: found.name.clone(), what: what.to_string() })
        }
    }
}

async fn known_clusters(context: &Context) -> String {
    use futures_util::StreamExt;
    let mut clusters: Vec<String> = context
        .stream_names()
        .take(1000)
        .filter_map(|name| async move {
            Some(name.ok()?.strip_prefix("DAYBOOK_")?.strip_suffix("_STATE")?.to_string())
        })
        .collect()
        .await;
    clusters.sort();
    match clusters.is_empty() {
        true => String::new(),
        false => format!(" (it has the clusters {})", clusters.join(", ")),
    }
}

/// Gives the bucket of blobs, made where it is not there and may be.
pub(super) async fn open_bucket(
    context: &Context,
    names: &Names,
    replicas: usize,
    create: bool,
) -> Result<ObjectStore, BusError> {
    let bucket = names.bucket();
    let deadline = Instant::now() + MAKE_PATIENCE;
    loop {
        let refused = match context.get_object_store(&bucket).await {
            Ok(store) => return Ok(store),
            Err(error) if !create => BusError::Answer(format!("object store {bucket}: {}", chain(&error))),
            Err(_) => match context.create_object_store(bucket_config(&bucket, replicas)).await {
                Ok(store) => return Ok(store),
                Err(error) => not_made(&bucket, &chain(&error)),
            },
        };
        if Instant::now() >= deadline {
            return Err(refused);
        }
        tracing::info!(%bucket, %refused, "the servers are not ready; trying again");
        tokio::time::sleep(BUS_PAUSE_MAX).await;
    }
}

fn bucket_config(bucket: &str, replicas: usize) -> object_store::Config {
    object_store::Config {
        bucket: bucket.to_string(),
        description: Some("Scripts and environments of Daybook's jobs, by content hash".to_string()),
        storage: StorageType::File,
        num_replicas: replicas,
        ..object_store::Config::default()
    }
}
