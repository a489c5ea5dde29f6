//! What each user may publish and subscribe to. What does not stand here is denied.
//!
//! A request names the subject of its answer, and the server publishes the answer there **without asking whether the
//! requester might**. In the account that has the streams, whoever may get one stored message could so have it appended
//! to any subject. Nodes are therefore not in that account: each has one of its own, into which only its few subjects are
//! imported, and answers come back into that account. For the same reason no node may make a consumer, which delivers
//! wherever it is told to.
//!
//! A relay is in the account of the streams all the same: it may ask nothing that the server itself answers, and a daemon
//! answers it on a subject made from the relay's own, whatever reply subject the request names.

use crate::book::Role;
use crate::names::{CENTRAL_WRITERS, Names, STREAMS, token};

/// A user's subjects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// What it may publish to.
    pub publish: Vec<String>,
    /// What it may subscribe to.
    pub subscribe: Vec<String>,
    /// Whether it may answer a request that came to it.
    pub answer: bool,
}

/// The permissions of a user with this role and name.
pub fn of(role: Role, name: &str, names: &Names) -> Permissions {
    match role {
        Role::Admin => admin(names),
        Role::Service => service(names),
        Role::Gateway => gateway(name, names),
        Role::Relay => relay(&token(name), names),
        Role::Node => node(&token(name), names),
    }
}

/// The whole JetStream API, and every writer's messages: a log is copied with this key.
fn admin(names: &Names) -> Permissions {
    let mut publish = writers(&[">"], names);
    publish.push("$JS.API.>".to_string());
    publish.push(format!("$O.{}.>", names.bucket()));
    Permissions { publish, subscribe: vec!["_INBOX.>".to_string()], answer: false }
}

fn service(names: &Names) -> Permissions {
    let mut publish = writers(&CENTRAL_WRITERS, names);
    publish.push(names.orders("*"));
    publish.push(names.planner());
    publish.push(names.relay_answers("*"));
    publish.extend(blobs_and_reading(names));
    let mut subscribe = vec![names.beat("*"), names.lease("*"), names.planner()];
    subscribe.extend([names.relay("*"), names.relay_requests("*"), "_INBOX.>".to_string()]);
    Permissions { publish, subscribe, answer: true }
}

fn gateway(host: &str, names: &Names) -> Permissions {
    let mut publish = writers(&["jobs", "admin"], names);
    publish.extend(blobs_and_reading(names));
    Permissions { publish, subscribe: vec![inbox(&token(host))], answer: false }
}

/// Nothing of the streams, and no inbox: everything that a relay says and hears is below a subject of its own. `relay` is a
/// token.
fn relay(relay: &str, names: &Names) -> Permissions {
    let publish = vec![names.relay(relay), names.relay_requests(relay)];
    Permissions { publish, subscribe: vec![names.relay_answers(relay)], answer: false }
}

/// `node` is a token.
fn node(node: &str, names: &Names) -> Permissions {
    let mut publish = asked_by_nodes(node, names);
    publish.extend(blobs_read_by_nodes(names));
    Permissions { publish, subscribe: vec![names.orders(node), inbox(node)], answer: false }
}

/// What nodes publish and get an answer to, each under its own name. `node` is a token, or `*` for all.
pub fn asked_by_nodes(node: &str, names: &Names) -> Vec<String> {
    let mut subjects = vec![names.beat(node), names.lease(node)];
    for stream in STREAMS {
        let own = names.node_writer(stream, node);
        // The last message of its own subject, so that it goes on counting where it stopped.
        subjects.push(format!("$JS.API.DIRECT.GET.{}.{own}", names.stream(stream)));
        subjects.push(own);
    }
    subjects.sort();
    subjects
}

/// How every node reads blobs: a message by its subject, or the next one of a subject.
pub fn blobs_read_by_nodes(names: &Names) -> Vec<String> {
    let get = format!("$JS.API.DIRECT.GET.{}", names.blob_stream());
    vec![format!("{get}.$O.{}.M.*", names.bucket()), get]
}

fn inbox(token: &str) -> String {
    format!("_INBOX_{token}.>")
}

fn writers(writers: &[&str], names: &Names) -> Vec<String> {
    let both = |writer: &&str| STREAMS.map(|stream| names.writer(stream, writer));
    writers.iter().flat_map(both).collect()
}

/// Putting blobs, and reading the streams: by consumers, and single messages.
fn blobs_and_reading(names: &Names) -> Vec<String> {
    let mut subjects = vec![format!("$O.{}.C.*", names.bucket()), format!("$O.{}.M.*", names.bucket())];
    subjects.push("$JS.API.INFO".to_string());
    let mut streams = STREAMS.map(|stream| names.stream(stream)).to_vec();
    streams.push(names.blob_stream());
    for stream in streams {
        for call in ["STREAM.INFO", "STREAM.MSG.GET", "DIRECT.GET", "CONSUMER.CREATE"] {
            subjects.push(format!("$JS.API.{call}.{stream}"));
        }
        for call in ["DIRECT.GET", "CONSUMER.CREATE", "CONSUMER.INFO", "CONSUMER.DELETE", "CONSUMER.MSG.NEXT"]
        {
            subjects.push(format!("$JS.API.{call}.{stream}.>"));
        }
        // What a consumer's reader answers: acknowledgements and flow control.
        subjects.push(format!("$JS.ACK.{stream}.>"));
        subjects.push(format!("$JS.FC.{stream}.>"));
    }
    subjects
}
