//! Commits and events as bytes: canonical JSON out, and in through the upcasters.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::canonical::{self, CanonicalError};
use crate::envelope::{Actor, Commit, Event, EventId, Subject};
use crate::events::Body;
use crate::units::{Seq, UtcMicros};

/// Turns the payload of an old type into that of the next version.
///
/// Chains are followed: `v1` to `v2`, `v2` to `v3`. An upcaster is never removed once a release has written
/// its old type.
#[derive(Clone, Copy)]
pub struct Upcaster {
    /// The type as written.
    pub from: &'static str,
    /// The type that `transform` makes.
    pub to: &'static str,
    /// The payload's change; an error names what is wrong with it.
    pub transform: fn(Value) -> Result<Value, String>,
}

/// The upcasters of this release. None yet: every type is at its first version.
pub const UPCASTERS: &[Upcaster] = &[];

/// Why bytes are no commit that this program understands. A reader stops at it; it never skips.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The bytes are damaged or not a commit.
    #[error("unreadable commit: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A newer program wrote it.
    #[error(
        "event {event} has the unknown type {type_name}; a newer daybook wrote this log, use that version or a later one"
    )]
    UnknownType {
        /// The event.
        event: String,
        /// Its type.
        type_name: String,
    },
    /// The payload does not fit its type.
    #[error("event {event} of type {type_name} has a payload that does not fit: {why}")]
    Payload {
        /// The event.
        event: String,
        /// Its type.
        type_name: String,
        /// What does not fit.
        why: String,
    },
}

#[derive(Deserialize)]
struct RawCommit<'a> {
    seq: Seq,
    time: UtcMicros,
    #[serde(borrow)]
    subject: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    events: Vec<RawEvent<'a>>,
}

#[derive(Deserialize)]
struct RawEvent<'a> {
    id: EventId,
    #[serde(rename = "type", borrow)]
    type_name: std::borrow::Cow<'a, str>,
    source: String,
    time: UtcMicros,
    actor: Actor,
    #[serde(default)]
    cause: Option<Seq>,
    #[serde(borrow)]
    data: &'a RawValue,
}

impl Event {
    /// The event as it stands in the log: CloudEvents' attributes and `data`.
    pub fn to_value(&self) -> Result<Value, CanonicalError> {
        let mut value = json!({
            "id": self.id,
            "type": self.body.type_name(),
            "source": self.source,
            "time": self.time,
            "actor": self.actor,
            "data": self.body.to_value()?,
        });
        if let Some(cause) = self.cause {
            value["cause"] = json!(cause);
        }
        Ok(value)
    }
}

impl Commit {
    /// The canonical bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CanonicalError> {
        let events = self.events.iter().map(Event::to_value).collect::<Result<Vec<Value>, _>>()?;
        canonical::to_bytes(&json!({
            "seq": self.seq,
            "time": self.time,
            "subject": self.subject.to_string(),
            "events": events,
        }))
    }

    /// Reads a commit with this release's upcasters.
    pub fn from_bytes(bytes: &[u8]) -> Result<Commit, DecodeError> {
        Commit::from_bytes_with(bytes, UPCASTERS)
    }

    /// Reads a commit with the given upcasters.
    pub fn from_bytes_with(bytes: &[u8], upcasters: &[Upcaster]) -> Result<Commit, DecodeError> {
        let raw: RawCommit<'_> = serde_json::from_slice(bytes)?;
        let subject: Subject =
            raw.subject.parse().map_err(<serde_json::Error as serde::de::Error>::custom)?;
        let events =
            raw.events.into_iter().map(|event| decode_event(event, upcasters)).collect::<Result<_, _>>()?;
        Ok(Commit { seq: raw.seq, time: raw.time, subject, events })
    }
}

fn decode_event(raw: RawEvent<'_>, upcasters: &[Upcaster]) -> Result<Event, DecodeError> {
    let body = decode_body(&raw, upcasters)?;
    Ok(Event { id: raw.id, source: raw.source, time: raw.time, actor: raw.actor, cause: raw.cause, body })
}

fn decode_body(raw: &RawEvent<'_>, upcasters: &[Upcaster]) -> Result<Body, DecodeError> {
    let payload = |why: String| DecodeError::Payload {
        event: raw.id.to_string(),
        type_name: raw.type_name.to_string(),
        why,
    };
    if let Some(body) = Body::from_json(&raw.type_name, raw.data.get()) {
        return body.map_err(|error| payload(error.to_string()));
    }
    let mut type_name: &str = &raw.type_name;
    let mut data: Value = serde_json::from_str(raw.data.get())?;
    // Each step leads to another type, so the chain is no longer than the table.
    for _ in 0..upcasters.len() {
        let Some(upcaster) = upcasters.iter().find(|upcaster| upcaster.from == type_name) else { break };
        data = (upcaster.transform)(data).map_err(payload)?;
        type_name = upcaster.to;
    }
    match Body::from_value(type_name, data) {
        Some(body) => body.map_err(|error| payload(error.to_string())),
        None => {
            Err(DecodeError::UnknownType { event: raw.id.to_string(), type_name: raw.type_name.to_string() })
        }
    }
}
