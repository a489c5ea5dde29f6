use daybook_schemas::events::{ReservationCreated, ReservationDeleted, ReservationUpdated};
use daybook_schemas::reservation::{
    NodeChoice, Repeat, ReservationDefinition, ReservationFlags, ReservationUser, ReservedCpus,
};
use daybook_schemas::{Body, NodeName, Seconds, Subject};

use super::instant;

fn full() -> ReservationDefinition {
    ReservationDefinition {
        name: "course".to_string(),
        start: instant(3_600),
        end: instant(7_200),
        nodes: vec![NodeName::from("gpu01"), NodeName::from("gpu02")],
        cpus: vec![
            ReservedCpus { node: NodeName::from("gpu01"), cpus: [0, 1, 2].into_iter().collect() },
            ReservedCpus { node: NodeName::from("gpu02"), cpus: [4].into_iter().collect() },
        ],
        choice: NodeChoice::Partition,
        users: vec![ReservationUser { uid: 1001, name: "alice".to_string() }],
        accounts: vec!["ml".to_string()],
        partition: Some("gpu".to_string()),
        features: vec!["a100".to_string()],
        flags: ReservationFlags {
            maintenance: true,
            flex: true,
            overlap: true,
            ignore_jobs: true,
            repeat: Some(Repeat::Weekday),
            begins_in: Some(Seconds(600)),
            purge_after: Some(Seconds(300)),
            magnetic: true,
        },
    }
}

fn minimal() -> ReservationDefinition {
    ReservationDefinition {
        name: "alice_1".to_string(),
        start: instant(0),
        end: instant(60),
        nodes: vec![NodeName::from("node01")],
        ..ReservationDefinition::default()
    }
}

pub fn created() -> (Subject, Body, Body) {
    let created = |reservation| ReservationCreated { reservation };
    (Subject::Jobs, created(full()).into(), created(minimal()).into())
}

pub fn updated() -> (Subject, Body, Body) {
    let updated = |reservation| ReservationUpdated { reservation };
    (Subject::Jobs, updated(full()).into(), updated(minimal()).into())
}

pub fn deleted() -> (Subject, Body, Body) {
    let deleted = |name: &str| ReservationDeleted { name: name.to_string() };
    (Subject::Jobs, deleted("course").into(), deleted("alice_1").into())
}
