//! An agent's end of the log: it appends to its own subject, reads blobs, and has no copy.
//!
//! The agent of a node is the one writer of its subject and has one append under way at a time, so the last message of
//! that subject is all that it must see, and all that its key lets it read. Which of the events that it may report again
//! after a restart are in the log already, it asks dispatch on its lease's subject.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_nats::Client;
use async_nats::jetstream::object_store::ObjectInfo;
use async_nats::jetstream::stream::{self, DirectGetErrorKind};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use daybook_schemas::{BlobHash, Commit, EventId, NodeName, Seq, Stream, Subject, UtcMicros};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::append::{Tried, publish_message};
use super::connect::{chain, connect};
use super::follower::event_ids;
use super::names::Names;
use super::options::{Bus, BusError};
use super::{context_of, locked};
use crate::bounds::{
    BLOB_BYTES_MAX, BUS_ACK_PATIENCE, BUS_APPEND_PATIENCE, BUS_HEADER_BYTES, BUS_PAUSE_MAX, BUS_PAUSE_MIN,
    NODE_EVENTS_MAX, NODE_QUESTION_EVENTS_MAX,
};
use crate::prepared::Prepared;
use crate::{Append, AppendError, Appended, Durability, EventLog, ReadError};

/// What an agent asks on its lease's subject; without a body it asks for its orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeQuestion {
    /// Which of these events are in the log?
    pub find: Vec<EventId>,
    /// The answer must know everything up to this commit.
    pub at_least: Seq,
}

/// The answer: the events that are in the log, with their commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeAnswer {
    /// Those that were found.
    pub found: BTreeMap<EventId, Seq>,
}

/// The log as a node's agent sees it.
pub struct NodeLog {
    client: Client,
    context: async_nats::jetstream::Context,
    names: Names,
    node: NodeName,
    state: stream::Stream<()>,
    detail: stream::Stream<()>,
    blobs: stream::Stream<()>,
    /// One append at a time to each stream.
    turn: tokio::sync::Mutex<()>,
    detail_turn: tokio::sync::Mutex<()>,
    own: Mutex<Own>,
}

/// What is known of the node's own subject.
#[derive(Default)]
struct Own {
    end: Seq,
    events: BTreeMap<EventId, Seq>,
    /// Its last message in the detail stream; `None`: not asked yet.
    detail_end: Option<Seq>,
}

impl NodeLog {
    /// Connects, and asks which of the events `in_doubt` are in the log already: those of the runs that this node still
    /// has on its disk. Waits until somebody answers that.
    ///
    /// Whether the server syncs is for those to check who give orders: without them nothing is started here.
    pub async fn open(
        bus: &Bus,
        cluster: &str,
        node: NodeName,
        in_doubt: Vec<EventId>,
    ) -> Result<Arc<NodeLog>, BusError> {
        let names = Names::of(cluster);
        let bus = Bus { inbox_prefix: Some(names.inbox(&node)), ..bus.clone() };
        let client = connect(&bus, &format!("daybook agent {node}")).await?;
        let context = context_of(&client);
        let name = names.stream(Stream::State);
        let handle = |name: String| {
            let context = context.clone();
            async move { context.get_stream_no_info(name).await.map_err(|error| BusError::Answer(chain(&error))) }
        };
        let log = NodeLog {
            state: handle(name.clone()).await?,
            detail: handle(names.stream(Stream::Detail)).await?,
            blobs: handle(format!("OBJ_{}", names.bucket())).await?,
            client,
            context,
            names,
            node,
            turn: tokio::sync::Mutex::default(),
            detail_turn: tokio::sync::Mutex::default(),
            own: Mutex::default(),
        };
        // A stream that is not there has nobody who answers.
        log.refresh().await.map_err(|why| BusError::NoStream { stream: name, known: format!(" ({why})") })?;
        for part in in_doubt.chunks(NODE_QUESTION_EVENTS_MAX) {
            log.ask_until_answered(part).await;
        }
        Ok(Arc::new(log))
    }

    async fn ask_until_answered(&self, events: &[EventId]) {
        let mut pause = BUS_PAUSE_MIN;
        while let Err(why) = self.look_up(events).await {
            if pause >= BUS_PAUSE_MAX {
                tracing::warn!(node = %self.node, %why, "nobody says yet what this node has reported; what runs here goes on");
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(BUS_PAUSE_MAX);
        }
    }

    /// Asks dispatch which of these events are in the log, and remembers them.
    async fn look_up(&self, events: &[EventId]) -> Result<(), String> {
        let question = NodeQuestion { find: events.to_vec(), at_least: locked(&self.own).end };
        let question = serde_json::to_vec(&question).map_err(|error| error.to_string())?;
        let asked = self.client.request(self.names.lease(&self.node), question.into());
        let answer =
            tokio::time::timeout(BUS_ACK_PATIENCE, asked).await.map_err(|_| "no answer".to_string())?;
        let answer = answer.map_err(|error| chain(&error))?;
        let answer: NodeAnswer =
            serde_json::from_slice(&answer.payload).map_err(|error| error.to_string())?;
        let mut own = locked(&self.own);
        for (event, seq) in answer.found {
            own.events.entry(event).or_insert(seq);
        }
        Ok(())
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

    /// Looks at the last message of the own subject. Gives whether it is one that was not known.
    async fn refresh(&self) -> Result<bool, String> {
        let name = self.names.writer(Stream::State, &self.subject());
        let message = match self.state.direct_get_last_for_subject(name).await {
            Ok(message) => message,
            Err(error) if error.kind() == DirectGetErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(chain(&error)),
        };
        let seq = Seq(message.sequence);
        if seq <= locked(&self.own).end {
            return Ok(false);
        }
        let ids =
            event_ids(&message.payload).ok_or_else(|| format!("message {seq} of this node is unreadable"))?;
        self.remember(seq, ids.iter().map(|id| EventId::from(id.as_str())));
        Ok(true)
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
            let seen = self.refresh().await;
            if may_be_under_way && seen == Ok(true) && self.known(prepared).is_none() {
                // Another message is the last one; ours may be in front of it.
                let events: Vec<EventId> = prepared.events.iter().map(|event| event.id.clone()).collect();
                if let Err(why) = self.look_up(&events).await {
                    return Err(AppendError::Unknown(why));
                }
            }
            if Instant::now() >= deadline {
                return Err(match may_be_under_way {
                    true => AppendError::Unknown(why),
                    false => AppendError::Unavailable(why),
                });
            }
            if seen != Ok(true) {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(BUS_PAUSE_MAX);
            }
        }
    }

    /// Appends measurements. They are not looked up: each has an id of its own instant, and one that came and was not
    /// acknowledged does no harm.
    async fn append_detail(&self, prepared: &Prepared) -> Result<Appended, AppendError> {
        let deadline = Instant::now() + BUS_ACK_PATIENCE;
        loop {
            let known = locked(&self.own).detail_end;
            let expected = match known {
                Some(end) => end,
                None => self.detail_end().await.map_err(AppendError::Unavailable)?,
            };
            let name = self.names.writer(Stream::Detail, &self.subject());
            let stream = self.names.stream(Stream::Detail);
            let payload = prepared.events_json();
            let tried =
                publish_message(&self.client, &self.context, name, stream, payload, expected, None).await;
            locked(&self.own).detail_end = match &tried {
                Tried::Appended(seq) => Some(*seq),
                Tried::Refused(_) | Tried::Invalid(_) => Some(expected),
                Tried::Overtaken | Tried::Unknown(_) => None,
            };
            match tried {
                Tried::Appended(seq) => return Ok(Appended { seq, time: UtcMicros(0) }),
                Tried::Invalid(why) => return Err(AppendError::Invalid(why)),
                Tried::Refused(why) => return Err(AppendError::Unavailable(why)),
                Tried::Unknown(why) => return Err(AppendError::Unknown(why)),
                Tried::Overtaken if Instant::now() >= deadline => {
                    return Err(AppendError::Unavailable(
                        "the node's subject moves on all the time".to_string(),
                    ));
                }
                Tried::Overtaken => tokio::time::sleep(BUS_PAUSE_MIN).await,
            }
        }
    }

    async fn detail_end(&self) -> Result<Seq, String> {
        let name = self.names.writer(Stream::Detail, &self.subject());
        match self.detail.direct_get_last_for_subject(name).await {
            Ok(message) => Ok(Seq(message.sequence)),
            Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(Seq::ZERO),
            Err(error) => Err(chain(&error)),
        }
    }

    /// A blob message by message: a node may make no consumer, which an object store's own way of reading takes.
    async fn read_blob(&self, hash: &BlobHash) -> Result<Option<Vec<u8>>, ReadError> {
        let unavailable = |why: String| ReadError::Unavailable(format!("blob {hash}: {why}"));
        let bucket = self.names.bucket();
        let described = self
            .blobs
            .direct_get_last_for_subject(format!("$O.{bucket}.M.{}", URL_SAFE.encode(&hash.0)))
            .await;
        let described = match described {
            Ok(message) => message,
            Err(error) if error.kind() == DirectGetErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unavailable(chain(&error))),
        };
        let object: ObjectInfo =
            serde_json::from_slice(&described.payload).map_err(|_| ReadError::DamagedBlob(hash.clone()))?;
        if object.deleted || object.size > BLOB_BYTES_MAX {
            return Err(ReadError::DamagedBlob(hash.clone()));
        }
        let mut bytes = Vec::with_capacity(object.size);
        let mut next = None;
        for _ in 0..object.chunks {
            let chunk =
                self.blobs.direct_get_next_for_subject(format!("$O.{bucket}.C.{}", object.nuid), next).await;
            let chunk = chunk.map_err(|error| unavailable(chain(&error)))?;
            bytes.extend_from_slice(&chunk.payload);
            if bytes.len() > object.size {
                break;
            }
            next = Some(chunk.sequence + 1);
        }
        Ok(Some(bytes))
    }
}

const NO_COPY: &str = "an agent has no copy of the log";

#[async_trait]
impl EventLog for NodeLog {
    /// Appends to the node's own subject of either stream. The time of the answer is not known here and is 0.
    async fn append(&self, append: Append) -> Result<Appended, AppendError> {
        let prepared = Prepared::new(append)?;
        if prepared.subject != self.subject() {
            return Err(AppendError::Invalid(format!(
                "the agent of {} writes its own subject only, not {}",
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
        if prepared.stream == Stream::Detail {
            let _turn = self.detail_turn.lock().await;
            return self.append_detail(&prepared).await;
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
            Stream::Detail => locked(&self.own).detail_end.unwrap_or(Seq::ZERO),
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
        self.refresh().await.map_err(ReadError::Unavailable)?;
        self.look_up(std::slice::from_ref(event)).await.map_err(ReadError::Unavailable)?;
        Ok(locked(&self.own).events.get(event).copied())
    }

    async fn subject_end(&self, stream: Stream, subject: &Subject) -> Result<Seq, ReadError> {
        if stream != Stream::State || *subject != self.subject() {
            return Err(ReadError::Unavailable(NO_COPY.to_string()));
        }
        self.refresh().await.map_err(ReadError::Unavailable)?;
        Ok(locked(&self.own).end)
    }

    async fn blob(&self, hash: &BlobHash) -> Result<Option<Arc<[u8]>>, ReadError> {
        match self.read_blob(hash).await? {
            None => Ok(None),
            Some(bytes) if BlobHash::of(&bytes) == *hash => Ok(Some(bytes.into())),
            Some(_) => Err(ReadError::DamagedBlob(hash.clone())),
        }
    }

    /// Who gives the orders has checked the server; see [`NodeLog::open`].
    fn durability(&self) -> Durability {
        Durability::Synced
    }
}
