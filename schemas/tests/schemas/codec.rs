//! Commits are read as they were written, and a reader stops at what it does not understand.

use daybook_schemas::codec::DecodeError;
use daybook_schemas::{Commit, Event, EventId, Seq, Subject, UtcMicros};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::samples;

fn document() -> Value {
    serde_json::from_slice(&samples::of("run.started.v1").full.to_bytes().unwrap()).unwrap()
}

fn read(document: &Value) -> Result<Commit, DecodeError> {
    Commit::from_bytes(&serde_json::to_vec(document).unwrap())
}

#[test]
fn every_type_survives_the_round_trip() {
    for sample in samples::all() {
        for commit in [&sample.full, &sample.minimal] {
            let bytes = commit.to_bytes().unwrap();
            let read =
                Commit::from_bytes(&bytes).unwrap_or_else(|error| panic!("{}: {error}", sample.type_name));
            assert_eq!(read, *commit, "{}", sample.type_name);
            assert_eq!(read.to_bytes().unwrap(), bytes, "{}", sample.type_name);
        }
    }
}

#[test]
fn events_keep_their_order_in_a_commit() {
    let all: Vec<Event> = samples::all()
        .into_iter()
        .enumerate()
        .map(|(at, sample)| Event { id: EventId::from(format!("e/{at}")), ..sample.full.events[0].clone() })
        .collect();
    let commit = Commit { seq: Seq(u64::MAX), time: UtcMicros(1), subject: Subject::Jobs, events: all };
    assert_eq!(Commit::from_bytes(&commit.to_bytes().unwrap()).unwrap(), commit);
}

#[test]
fn every_subject_is_read_back() {
    for subject in [
        Subject::Jobs,
        Subject::Plan,
        Subject::Node("gpu01.example".into()),
        Subject::Admin,
        Subject::Ledger,
        Subject::Audit,
    ] {
        let commit = Commit { subject: subject.clone(), ..samples::of("run.started.v1").full };
        assert_eq!(Commit::from_bytes(&commit.to_bytes().unwrap()).unwrap().subject, subject);
    }
}

#[test]
fn an_unknown_type_stops_the_reader_and_says_what_to_do() {
    let mut newer = document();
    newer["events"][0]["type"] = "run.teleported.v1".into();
    let error = read(&newer).unwrap_err();
    assert!(matches!(&error, DecodeError::UnknownType { type_name, .. } if type_name == "run.teleported.v1"));
    assert_eq!(
        error.to_string(),
        "event request/6f1a/0 has the unknown type run.teleported.v1; a newer daybook wrote this log, use that version \
         or a later one"
    );
}

#[test]
fn one_unknown_event_stops_the_whole_commit() {
    let mut newer = document();
    let mut second = newer["events"][0].clone();
    second["type"] = "run.started.v2".into();
    newer["events"].as_array_mut().unwrap().push(second);
    assert!(matches!(read(&newer), Err(DecodeError::UnknownType { .. })));
}

#[test]
fn a_payload_that_does_not_fit_names_the_event_and_the_field() {
    for (field, value, why) in [
        ("run", json!("124"), "\"124\" is no run id: expected JOB.START, such as 123.0"),
        ("run", json!(null), "invalid type: null"),
        ("pid", json!(-1), "invalid value: integer `-1`"),
        ("pid", json!("1"), "invalid type: string \"1\""),
        ("pid", json!(1.5), "invalid type: floating point"),
        ("node", json!(["gpu01"]), "invalid type: sequence"),
    ] {
        let mut wrong = document();
        wrong["events"][0]["data"][field] = value;
        let error = read(&wrong).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, DecodeError::Payload { .. }), "{text}");
        assert!(
            text.starts_with("event request/6f1a/0 of type run.started.v1 has a payload that does not fit: "),
            "{text}"
        );
        assert!(text.contains(why), "{text}");
    }
}

#[test]
fn damaged_commits_are_malformed() {
    let bytes = samples::of("run.started.v1").full.to_bytes().unwrap();
    for length in 0..bytes.len() {
        assert!(
            matches!(Commit::from_bytes(&bytes[..length]), Err(DecodeError::Malformed(_))),
            "{length} bytes"
        );
    }
    let mut longer = bytes.clone();
    longer.extend_from_slice(b"{}");
    for damaged in [longer, b"null".to_vec(), b"[]".to_vec(), vec![0xff, 0xfe], vec![0; 64]] {
        assert!(matches!(Commit::from_bytes(&damaged), Err(DecodeError::Malformed(_))));
    }
}

#[test]
fn commits_without_an_attribute_are_malformed() {
    for attribute in ["seq", "time", "subject", "events"] {
        let mut wrong = document();
        wrong.as_object_mut().unwrap().remove(attribute);
        assert!(matches!(read(&wrong), Err(DecodeError::Malformed(_))), "{attribute}");
    }
    for attribute in ["id", "type", "source", "time", "actor", "data"] {
        let mut wrong = document();
        wrong["events"][0].as_object_mut().unwrap().remove(attribute);
        assert!(matches!(read(&wrong), Err(DecodeError::Malformed(_))), "{attribute}");
    }
}

#[test]
fn attributes_of_another_kind_are_malformed() {
    for (pointer, value) in [
        ("/seq", json!(-1)),
        ("/seq", json!("42")),
        ("/time", json!("yesterday")),
        ("/time", json!(1)),
        ("/subject", json!("node.")),
        ("/subject", json!("everybody")),
        ("/events", json!({})),
        ("/events/0/actor/authentication", json!("hearsay")),
        ("/events/0/cause", json!("41")),
    ] {
        let mut wrong = document();
        *wrong.pointer_mut(pointer).unwrap() = value;
        assert!(matches!(read(&wrong), Err(DecodeError::Malformed(_))), "{pointer}");
    }
}

proptest! {
    /// A changed byte is found, or has made another commit that is written and read like any other.
    #[test]
    fn no_changed_byte_makes_the_reader_panic(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte: u8) {
        let all = samples::all();
        let mut bytes = which.get(&all).full.to_bytes().unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(read) = Commit::from_bytes(&bytes) {
            let again = read.to_bytes().unwrap();
            prop_assert_eq!(Commit::from_bytes(&again).unwrap(), read);
        }
    }
}
