//! The envelope of events, and the commit that carries them.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::events::Body;
use crate::units::{NodeName, Seq, UtcMicros};

/// The log's two sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// What decisions depend on: jobs, runs, nodes, plans, configuration.
    State,
    /// Measurements and steps: many, and never in the way of a decision.
    Detail,
}

/// Who writes: the unit of the log's optimistic expectation and, on a bus, of permission.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// Gateways: what users ask.
    Jobs,
    /// The planner: what is started.
    Plan,
    /// The agent of one node: what happened there.
    Node(NodeName),
    /// Configuration and administration.
    Admin,
    /// The ledger's own acts.
    Ledger,
    /// Records of access.
    Audit,
}

/// An event's identity, deterministic: from the request's id, or from writer and counter. At most 128 bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct EventId(pub std::sync::Arc<str>);

/// How the actor of an event proved who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Authentication {
    /// Credentials of the peer on a Unix socket, given by the kernel.
    PeerCredentials,
    /// Credentials of the peer on a Unix socket of a login machine, whose relay signs them with its key.
    RelayedPeerCredentials,
    /// The service itself, in the daemon's process.
    Service,
}

/// Who asked for what an event says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Actor {
    /// The user's or the service's name (`alice`, `planner`, `agent/node01`).
    pub name: String,
    /// The Unix user id; absent for a service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// How the name was proved.
    pub authentication: Authentication,
    /// The login machine whose relay passed it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
}

impl Actor {
    /// A service of this daemon.
    pub fn service(name: impl Into<String>) -> Actor {
        Actor { name: name.into(), uid: None, authentication: Authentication::Service, via: None }
    }
}

/// One fact or request, with CloudEvents' attributes.
///
/// In JSON: `id`, `type` (with its major version, `run.started.v1`), `source`, `time`, `actor`,
/// `cause` and `data`.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Identity, for de-duplication for ever.
    pub id: EventId,
    /// The program that wrote it, such as `gateway` or `agent/node01`.
    pub source: String,
    /// When it happened by the writer's clock; evidence, not order.
    pub time: UtcMicros,
    /// Who asked.
    pub actor: Actor,
    /// The commit of the same stream that this follows from.
    pub cause: Option<Seq>,
    /// What it says.
    pub body: Body,
}

/// What a writer asks the log to append: events that become true together.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// Who writes.
    pub subject: Subject,
    /// If given, the append succeeds only when this is the sequence of the subject's last commit (0: none yet).
    pub expect: Option<Seq>,
    /// One or more events, at most [`Draft::EVENTS_MAX`].
    pub events: Vec<Event>,
}

impl Draft {
    /// The most events that one commit may hold.
    pub const EVENTS_MAX: usize = 4096;
}

/// A commit as it stands in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    /// Its position: contiguous from 1 in its stream.
    pub seq: Seq,
    /// The log's own timestamp: never before that of the commit in front of it.
    pub time: UtcMicros,
    /// Who wrote it.
    pub subject: Subject,
    /// What became true, in order.
    pub events: Vec<Event>,
}

impl Subject {
    /// Whether an event counts when this writer says it. A node speaks of itself alone: whatever else stands on its
    /// subject was written by somebody who has its key and nothing else, and is void.
    fn may_say(&self, body: &Body) -> bool {
        let Subject::Node(node) = self else { return true };
        match body {
            Body::NodeRegistered(data) => data.node == *node,
            Body::NodeUpdated(data) => data.node == *node && data.is_withdrawal(),
            Body::RunStarted(data) => data.node == *node,
            Body::RunUsage(data) => data.node == *node,
            Body::RunSuspended(data) => data.node == *node,
            Body::RunResumed(data) => data.node == *node,
            Body::RunEnded(data) => data.node == *node,
            Body::RunLost(data) => data.node == *node,
            Body::RunNodeReleased(data) => data.node == *node,
            _ => false,
        }
    }
}

impl Commit {
    /// The events that count, each with its place in the commit. Every reader goes by this, so that all agree on what a
    /// writer may not say.
    pub fn counted(&self) -> impl Iterator<Item = (usize, &Event)> {
        self.events.iter().enumerate().filter(|(_, event)| self.subject.may_say(&event.body))
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl<T: Into<std::sync::Arc<str>>> From<T> for EventId {
    fn from(text: T) -> EventId {
        EventId(text.into())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Jobs => f.write_str("jobs"),
            Subject::Plan => f.write_str("plan"),
            Subject::Node(name) => write!(f, "node.{name}"),
            Subject::Admin => f.write_str("admin"),
            Subject::Ledger => f.write_str("ledger"),
            Subject::Audit => f.write_str("audit"),
        }
    }
}

/// Text that names no subject.
#[derive(Debug, thiserror::Error)]
#[error("\"{0}\" is no subject: expected jobs, plan, node.NAME, admin, ledger or audit")]
pub struct InvalidSubject(String);

impl FromStr for Subject {
    type Err = InvalidSubject;

    fn from_str(text: &str) -> Result<Subject, InvalidSubject> {
        Ok(match text {
            "jobs" => Subject::Jobs,
            "plan" => Subject::Plan,
            "admin" => Subject::Admin,
            "ledger" => Subject::Ledger,
            "audit" => Subject::Audit,
            _ => match text.strip_prefix("node.") {
                Some(name) if !name.is_empty() => Subject::Node(name.into()),
                _ => return Err(InvalidSubject(text.to_string())),
            },
        })
    }
}
