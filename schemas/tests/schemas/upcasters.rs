//! Old types are read for ever. A worked example: `run.started` as two releases before the first might have written it.
//!
//! `v0` named the run by two numbers; the draft between (`v0a`) by its id, but had no process id's place. A type's
//! upcaster stays in the table for good, and each step is small: it only knows the next version.

use daybook_schemas::codec::{DecodeError, Upcaster};
use daybook_schemas::events::RunStarted;
use daybook_schemas::{Body, Commit, JobId, RunId};
use serde_json::{Value, json};

const UPCASTERS: &[Upcaster] = &[
    Upcaster { from: "run.started.v0", to: "run.started.v0a", transform: name_the_run },
    Upcaster { from: "run.started.v0a", to: "run.started.v1", transform: absent_process_ids },
    Upcaster { from: "run.dreamt.v0", to: "run.dreamt.v1", transform: Ok },
    Upcaster { from: "loop.a", to: "loop.b", transform: Ok },
    Upcaster { from: "loop.b", to: "loop.a", transform: Ok },
];

/// `{"job": 124, "start": 0}` becomes `{"run": "124.0"}`.
fn name_the_run(mut data: Value) -> Result<Value, String> {
    let number = |name: &str| data[name].as_u64().ok_or_else(|| format!("{name} is no number"));
    data["run"] = format!("{}.{}", number("job")?, number("start")?).into();
    Ok(data)
}

/// A process id of 0 stood for "none".
fn absent_process_ids(mut data: Value) -> Result<Value, String> {
    if let Some(fields) = data.as_object_mut()
        && fields.get("pid") == Some(&json!(0))
    {
        fields.remove("pid");
    }
    Ok(data)
}

fn commit(type_name: &str, data: &Value) -> Vec<u8> {
    let event = json!({
        "id": "agent/gpu01/7", "type": type_name, "source": "agent/gpu01", "time": "2026-12-02T01:43:27.000000Z",
        "actor": { "name": "agent/gpu01", "authentication": "service" }, "data": data,
    });
    let commit = json!({ "seq": 7, "time": "2026-12-02T01:43:28.000000Z", "subject": "node.gpu01", "events": [event] });
    serde_json::to_vec(&commit).unwrap()
}

fn read(type_name: &str, data: &Value) -> Result<Body, DecodeError> {
    let commit = Commit::from_bytes_with(&commit(type_name, data), UPCASTERS)?;
    Ok(commit.events[0].body.clone())
}

fn started(pid: Option<u32>) -> Body {
    RunStarted { run: RunId::new(JobId(124), 2), node: "gpu01".into(), pid }.into()
}

#[test]
fn an_old_type_goes_through_every_step_to_the_present_one() {
    let old = json!({ "job": 124, "start": 2, "node": "gpu01", "pid": 0 });
    assert_eq!(read("run.started.v0", &old).unwrap(), started(None));
    let old = json!({ "job": 124, "start": 2, "node": "gpu01", "pid": 99 });
    assert_eq!(read("run.started.v0", &old).unwrap(), started(Some(99)));
}

#[test]
fn a_chain_is_entered_where_the_type_stands() {
    let old = json!({ "run": "124.2", "node": "gpu01", "pid": 0 });
    assert_eq!(read("run.started.v0a", &old).unwrap(), started(None));
}

#[test]
fn the_present_type_goes_through_no_step() {
    let present = json!({ "run": "124.2", "node": "gpu01", "pid": 0 });
    assert_eq!(read("run.started.v1", &present).unwrap(), started(Some(0)));
}

#[test]
fn what_is_read_is_written_as_the_present_type() {
    let old = commit("run.started.v0", &json!({ "job": 124, "start": 2, "node": "gpu01" }));
    let again = Commit::from_bytes_with(&old, UPCASTERS).unwrap().to_bytes().unwrap();
    let again: Value = serde_json::from_slice(&again).unwrap();
    assert_eq!(again["events"][0]["type"], "run.started.v1");
    assert_eq!(again["events"][0]["data"], json!({ "node": "gpu01", "run": "124.2" }));
}

#[test]
fn a_step_that_cannot_be_made_names_the_event_and_why() {
    let error = read("run.started.v0", &json!({ "job": "x", "start": 2, "node": "gpu01" })).unwrap_err();
    assert_eq!(
        error.to_string(),
        "event agent/gpu01/7 of type run.started.v0 has a payload that does not fit: job is no number"
    );
    let error = read("run.started.v0", &json!({ "job": 1, "start": 2 })).unwrap_err();
    assert!(
        matches!(&error, DecodeError::Payload { why, .. } if why.contains("missing field `node`")),
        "{error}"
    );
}

#[test]
fn a_chain_that_ends_nowhere_is_an_unknown_type() {
    for type_name in ["run.dreamt.v0", "loop.a", "run.started.v2"] {
        let error = read(type_name, &json!({})).unwrap_err();
        assert!(
            matches!(&error, DecodeError::UnknownType { type_name: named, .. } if named == type_name),
            "{error}"
        );
    }
}

#[test]
fn without_the_upcaster_the_old_type_is_unknown() {
    let old = commit("run.started.v0", &json!({ "job": 124, "start": 2, "node": "gpu01" }));
    assert!(matches!(Commit::from_bytes(&old), Err(DecodeError::UnknownType { .. })));
}

#[test]
fn this_releases_upcasters_lead_to_types_that_are_read() {
    use daybook_schemas::codec::UPCASTERS;
    use daybook_schemas::events::EVENT_TYPES;
    for upcaster in UPCASTERS {
        assert!(
            EVENT_TYPES.iter().all(|event_type| event_type.name != upcaster.from),
            "{} is still written",
            upcaster.from
        );
        let read = EVENT_TYPES.iter().any(|event_type| event_type.name == upcaster.to);
        let goes_on = UPCASTERS.iter().any(|next| next.from == upcaster.to);
        assert!(read || goes_on, "{} leads nowhere", upcaster.to);
        assert_eq!(
            UPCASTERS.iter().filter(|other| other.from == upcaster.from).count(),
            1,
            "{}",
            upcaster.from
        );
    }
}
