//! An agent's end of the log: it appends to its own subject, reads blobs, and has no copy.
//!
//! The agent of a node is the one writer of its subject and has one append under way at a time, so the last sequence
//! number of that subject is all that it must know. The ids of its own events are kept from the oldest of its runs on; of
//! older ones it has nothing left to report.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_nats::Client;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::jetstream::stream::{self, DirectGetErrorKind};
use async_trait::async_trait;
use daybook_schemas::{BlobHash, Commit, EventId, NodeName, Seq, Stream, Subject, UtcMicros};
use tokio::time::Instant;

use super::append::{Tried, publish_message};
use super::blobs::Blobs;
use super::connect::{chain, connect};
use super::follower::event_ids;
use super::names::Names;
use super::options::{Bus, BusError};
use super::{durability, locked};
use crate::bounds::{
    BUS_ACK_PATIENCE, BUS_APPEND_PATIENCE, BUS_HEADER_BYTES, BUS_PAUSE_MAX, BUS_PAUSE_MIN, NODE_EVENTS_MAX,
};
use crate::prepared::Prepared;
use crate::{Append, AppendError, Appended, Durability, EventLog, ReadError};

/// The log as a node's agent sees it.
pub struct NodeLog {
    client: Client,
    context: async_nats::jetstream::Context,
    names: Names,
    node: NodeName,
    state: stream::Stream<()>,
    blobs: Blobs,
    durability: Durability,
    /// One append at a time.
    turn: tokio::sync::Mutex<()>,
    own: Mutex<Own>,
}

/// What has been written to the node's own subject.
#[derive(Default)]
struct Own {
    end: Seq,
    events: BTreeMap<EventId, Seq>,
}

impl NodeLog {
    /// Connects, and reads the node's own events from `from` on, where its oldest run was allocated; of a node without
    /// runs only the last one is looked at.
    pub async fn open(
        bus: &Bus,
        cluster: &str,
        node: NodeName,
        monitor_urls: &[String],
        accept_unsynced: bool,
        from: Option<Seq>,
    ) -> Result<Arc<NodeLog>, BusError> {
        let names = Names::of(cluster);
        let bus = Bus { inbox_prefix: Some(names.inbox(&node)), ..bus.clone() };
        let client = connect(&bus, &format!("daybook agent {node}")).await?;
        let durability = durability::check(&client, monitor_urls, accept_unsynced).await?;
        let context = ContextBuilder::new()
            .timeout(BUS_ACK_PATIENCE)
            .ack_timeout(BUS_ACK_PATIENCE)
            .build(client.clone());
        let answer = |error: &dyn std::error::Error| BusError::Answer(chain(error));
        let name = names.stream(Stream::State);
        let state = context.get_stream_no_info(&name).await.map_err(|error| answer(&error))?;
        let bucket = context.get_object_store(names.bucket()).await.map_err(|error| BusError::NoStream {
            stream: name.clone(),
            known: format!(" ({})", chain(&error)),
        })?;
        let log = NodeLog {
            client,
            context,
            names,
            node,
            state,
            blobs: Blobs::new(bucket),
            durability,
            turn: tokio::sync::Mutex::default(),
            own: Mutex::default(),
        };
        let begin = match from {
            Some(from) => Seq(from.0.saturating_sub(1)),
            None => log.last().await.map_err(BusError::Answer)?,
        };
        locked(&log.own).end = begin;
        log.catch_up().await.map_err(BusError::Answer)?;
        Ok(Arc::new(log))
    }

    /// The connection, for orders and the lease.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// What things are called.
    pub fn names(&self) -> &Names {
        &self.names
    }

    fn subject(&self) -> Subject {
        Subject::Node(self.node.clone())
    }

    /// The last commit of the own subject.
    async fn last(&self) -> Result<Seq, String> {
        let name = self.names.writer(Stream::State, &self.subject());
        match self.state.direct_get_last_for_subject(name).await {
            Ok(message) => Ok(Seq(message.sequence)),
            Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(Seq::ZERO),
            Err(error) => Err(chain(&error)),
        }
    }

    /// Reads what has come to the own subject since.
    async fn catch_up(&self) -> Result<(), String> {
        let name = self.names.writer(Stream::State, &self.subject());
        loop {
            let next = locked(&self.own).end.next();
            let found = self.state.direct_get_next_for_subject(name.clone(), Some(next.0)).await;
            let message = match found {
                Ok(message) => message,
                Err(error) if error.kind() == DirectGetErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(chain(&error)),
            };
            let ids = event_ids(&message.payload)
                .ok_or_else(|| format!("message {} of this node is unreadable", message.sequence))?;
            self.remember(Seq(message.sequence), ids.iter().map(|id| EventId::from(id.as_str())));
        }
    }

    fn remember(&self, seq: Seq, events: impl Iterator<Item = EventId>) {
        let mut own = locked(&self.own);
        own.end = own.end.max(seq);
        for event in events {
            own.events.entry(event).or_insert(seq);
        }
        // The oldest positions go first: nothing is reported of runs that ended so long ago.
        if own.events.len() > NODE_EVENTS_MAX {
            let mut positions: Vec<Seq> = own.events.values().copied().collect();
            positions.sort_unstable();
            let oldest_kept = positions[positions.len() - NODE_EVENTS_MAX / 2];
            own.events.retain(|_, seq| *seq >= oldest_kept);
        }
    }

    fn known(&self, prepared: &Prepared) -> Option<(EventId, Seq)> {
        let own = locked(&self.own);
        prepared.events.iter().find_map(|event| Some((event.id.clone(), *own.events.get(&event.id)?)))
    }

    async fn append_in_turn(&self, prepared: &Prepared) -> Result<Appended, AppendError> {
        let deadline = Instant::now() + BUS_APPEND_PATIENCE;
        let mut pause = BUS_PAUSE_MIN;
        let mut may_be_under_way = false;
        loop {
            if let Some((event, seq)) = self.known(prepared) {
                return match may_be_under_way {
                    // A node's events have one writer, so what came meanwhile is what was sent.
                    true => Ok(Appended { seq, time: UtcMicros(0) }),
                    false => Err(AppendError::Duplicate { event, seq }),
                };
            }
            let expected = locked(&self.own).end;
            let name = self.names.writer(Stream::State, &self.subject());
            let stream = self.names.stream(Stream::State);
            let payload = prepared.events_json();
            let why =
                match publish_message(&self.client, &self.context, name, stream, payload, expected, None)
                    .await
                {
                    Tried::Appended(seq) => {
                        self.remember(seq, prepared.events.iter().map(|event| event.id.clone()));
                        return Ok(Appended { seq, time: UtcMicros(0) });
                    }
                    Tried::Invalid(why) => return Err(AppendError::Invalid(why)),
                    Tried::Overtaken => "the node's subject has moved on".to_string(),
                    Tried::Refused(why) => why,
                    Tried::Unknown(why) => {
                        may_be_under_way = true;
                        why
                    }
                };
            let caught_up = self.catch_up().await;
            if Instant::now() >= deadline {
                return Err(match may_be_under_way {
                    true => AppendError::Unknown(why),
                    false => AppendError::Unavailable(why),
                });
            }
            if caught_up.is_err() || !may_be_under_way {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(BUS_PAUSE_MAX);
            }
        }
    }
}

const NO_COPY: &str = "an agent has no copy of the log";

#[async_trait]
impl EventLog for NodeLog {
    /// Appends to the node's own subject of the state stream. The time of the answer is not known here and is 0.
    async fn append(&self, append: Append) -> Result<Appended, AppendError> {
        let prepared = Prepared::new(append)?;
        if prepared.stream != Stream::State || prepared.subject != self.subject() {
            return Err(AppendError::Invalid(format!(
                "the agent of {} writes its own subject of the state stream only, not {}",
                self.node, prepared.subject
            )));
        }
        if !prepared.blobs.is_empty() || prepared.expect.is_some() {
            return Err(AppendError::Invalid("an agent brings no blobs and expects nothing".to_string()));
        }
        let room = self.client.server_info().max_payload.saturating_sub(BUS_HEADER_BYTES);
        if prepared.events_json().len() > room {
            return Err(AppendError::Invalid(format!("a message on this bus has at most {room} bytes")));
        }
        let _turn = self.turn.lock().await;
        self.append_in_turn(&prepared).await
    }

    async fn read(&self, _: Stream, _: Seq, _: usize) -> Result<Vec<Arc<Commit>>, ReadError> {
        Err(ReadError::Unavailable(NO_COPY.to_string()))
    }

    /// The last commit of this node that is known here.
    fn end(&self, stream: Stream) -> Seq {
        match stream {
            Stream::State => locked(&self.own).end,
            Stream::Detail => Seq::ZERO,
        }
    }

    async fn wait_past(&self, _: Stream, _: Seq) -> Result<Seq, ReadError> {
        Err(ReadError::Unavailable(NO_COPY.to_string()))
    }

    /// Of the node's own events only.
    async fn find(&self, stream: Stream, event: &EventId) -> Result<Option<Seq>, ReadError> {
        if stream != Stream::State {
            return Err(ReadError::Unavailable(NO_COPY.to_string()));
        }
        let known = locked(&self.own).events.get(event).copied();
        if known.is_some() {
            return Ok(known);
        }
        self.catch_up().await.map_err(ReadError::Unavailable)?;
        Ok(locked(&self.own).events.get(event).copied())
    }

    async fn subject_end(&self, stream: Stream, subject: &Subject) -> Result<Seq, ReadError> {
        if stream != Stream::State || *subject != self.subject() {
            return Err(ReadError::Unavailable(NO_COPY.to_string()));
        }
        self.catch_up().await.map_err(ReadError::Unavailable)?;
        Ok(locked(&self.own).end)
    }

    async fn blob(&self, hash: &BlobHash) -> Result<Option<Arc<[u8]>>, ReadError> {
        self.blobs.get(hash).await
    }

    fn durability(&self) -> Durability {
        self.durability
    }
}
