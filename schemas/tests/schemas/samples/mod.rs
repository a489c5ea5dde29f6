//! One commit of each event type with every field that there is, and one with as few as possible. All values are fixed.

mod accounts;
mod cluster;
mod job;
mod planner;
mod reservation;
mod run;

use daybook_schemas::events::EVENT_TYPES;
use daybook_schemas::{Actor, Authentication, Body, Commit, Event, EventId, Seq, Subject, UtcMicros};

/// Both commits of one event type.
pub struct Sample {
    pub type_name: &'static str,
    pub full: Commit,
    pub minimal: Commit,
}

/// Those of every event type, in the table's order.
pub fn all() -> Vec<Sample> {
    EVENT_TYPES.iter().map(|event_type| of(event_type.name)).collect()
}

/// Those of one event type.
pub fn of(type_name: &'static str) -> Sample {
    let (subject, full, minimal) = match type_name {
        "account.defined.v1" => accounts::account_defined(),
        "account.removed.v1" => accounts::account_removed(),
        "association.defined.v1" => accounts::association_defined(),
        "association.removed.v1" => accounts::association_removed(),
        "qos.defined.v1" => accounts::qos_defined(),
        "qos.removed.v1" => accounts::qos_removed(),
        "user.defined.v1" => accounts::user_defined(),
        "user.removed.v1" => accounts::user_removed(),
        "wckey.defined.v1" => accounts::wckey_defined(),
        "wckey.removed.v1" => accounts::wckey_removed(),
        "cluster.configured.v1" => cluster::configured(),
        "log.durability_declared.v1" => cluster::durability_declared(),
        "log.version_barrier.v1" => cluster::version_barrier(),
        "node.lease_lost.v1" => cluster::node_lease_lost(),
        "node.lease_regained.v1" => cluster::node_lease_regained(),
        "node.timed_out.v1" => cluster::node_timed_out(),
        "node.registered.v1" => cluster::node_registered(),
        "node.updated.v1" => cluster::node_updated(),
        "job.submitted.v1" => job::submitted(),
        "job.updated.v1" => job::updated(),
        "job.held.v1" => job::held(),
        "job.parted.v1" => job::parted(),
        "job.released.v1" => job::released(),
        "job.cancel_requested.v1" => job::cancel_requested(),
        "job.requeued.v1" => job::requeued(),
        "job.suspend_requested.v1" => job::suspend_requested(),
        "job.resume_requested.v1" => job::resume_requested(),
        "job.finished.v1" => job::finished(),
        "partition.updated.v1" => cluster::partition_updated(),
        "partition.deleted.v1" => cluster::partition_deleted(),
        "planner.cycle.v1" => planner::cycle(),
        "priorities.calculated.v1" => planner::priorities_calculated(),
        "reservation.created.v1" => reservation::created(),
        "reservation.deleted.v1" => reservation::deleted(),
        "reservation.updated.v1" => reservation::updated(),
        "run.allocated.v1" => run::allocated(),
        "run.preempted.v1" => run::preempted(),
        "run.suspended.v1" => run::suspended(),
        "run.resumed.v1" => run::resumed(),
        "run.resume_ordered.v1" => run::resume_ordered(),
        "run.usage.v1" => run::usage(),
        "run.used_up.v1" => run::used_up(),
        "run.started.v1" => run::started(),
        "run.ended.v1" => run::ended(),
        "run.lost.v1" => run::lost(),
        "run.node_released.v1" => run::node_released(),
        other => panic!("{other} has no sample: write one"),
    };
    Sample { type_name, full: full_commit(subject.clone(), full), minimal: minimal_commit(subject, minimal) }
}

/// Further full commits of an event type, with fields that exclude others.
pub fn alternatives(type_name: &str) -> Vec<Commit> {
    match type_name {
        "association.defined.v1" => vec![full_commit(Subject::Jobs, accounts::association_of_parent())],
        "cluster.configured.v1" => vec![full_commit(Subject::Admin, cluster::configured_with_blocks())],
        _ => Vec::new(),
    }
}

/// The instant of every sample, moved by seconds.
pub fn instant(seconds: i64) -> UtcMicros {
    UtcMicros(1_796_175_807_123_456).plus_seconds(seconds)
}

fn full_commit(subject: Subject, body: Body) -> Commit {
    let actor = Actor {
        name: "alice".to_string(),
        uid: Some(1001),
        authentication: Authentication::RelayedPeerCredentials,
        via: Some("login1".to_string()),
    };
    let event = Event {
        id: EventId::from("request/6f1a/0"),
        source: "gateway".to_string(),
        time: instant(0),
        actor,
        cause: Some(Seq(41)),
        body,
    };
    Commit { seq: Seq(42), time: instant(1), subject, events: vec![event] }
}

fn minimal_commit(subject: Subject, body: Body) -> Commit {
    let event = Event {
        id: EventId::from("planner/1"),
        source: "planner".to_string(),
        time: UtcMicros(0),
        actor: Actor::service("planner"),
        cause: None,
        body,
    };
    Commit { seq: Seq(1), time: UtcMicros(0), subject, events: vec![event] }
}
