//! JSON Schemas (2020-12) of what stands in the log, for readers in other languages.
//!
//! `TYPE.schema.json` describes the payload (`data`) of one event type; `commit.schema.json` a whole commit.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::envelope::{Actor, EventId};
use crate::events::{EVENT_TYPES, EventType};
use crate::units::{Seq, UtcMicros};

/// The file of a commit's schema.
pub const COMMIT_SCHEMA_FILE: &str = "commit.schema.json";

/// The file of a payload's schema, such as `run.started.v1.schema.json`.
pub fn payload_schema_file(event_type: &EventType) -> String {
    format!("{}.schema.json", event_type.name)
}

/// The schema of an event type's payload.
pub fn payload_schema(event_type: &EventType) -> Value {
    let mut schema = (event_type.schema)().to_value();
    schema["$id"] = payload_schema_file(event_type).into();
    schema["title"] = event_type.name.into();
    schema
}

/// The schema of a commit as it stands in the log; it refers to the payloads' schemas by their files.
pub fn commit_schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let seq = generator.subschema_for::<Seq>();
    let instant = generator.subschema_for::<UtcMicros>();
    let id = generator.subschema_for::<EventId>();
    let actor = generator.subschema_for::<Actor>();
    let mut definitions = generator.take_definitions(true);
    let payloads: Vec<Value> = EVENT_TYPES
        .iter()
        .map(|event_type| {
            let data = json!({ "$ref": payload_schema_file(event_type) });
            json!({ "properties": { "type": { "const": event_type.name }, "data": data } })
        })
        .collect();
    let event = json!({
        "type": "object",
        "description": "One fact or request, with CloudEvents' attributes.",
        "properties": {
            "id": with_description(id, "Identity, for ever: the same event is never written twice."),
            "type": {
                "type": "string",
                "description": "What it says, with the major version.",
                "enum": EVENT_TYPES.iter().map(|event_type| event_type.name).collect::<Vec<_>>(),
            },
            "source": { "type": "string", "description": "The program that wrote it, such as gateway or agent/node01." },
            "time": with_description(instant.clone(), "When it happened by the writer's clock: evidence, not order."),
            "actor": with_description(actor, "Who asked, and how that is known."),
            "cause": with_description(seq.clone(), "The commit of the same stream that this follows from; absent: none."),
            "data": { "type": "object", "description": "The payload, as its type's schema says." },
        },
        "required": ["id", "type", "source", "time", "actor", "data"],
        "anyOf": payloads,
    });
    definitions.insert("Event".to_string(), event);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": COMMIT_SCHEMA_FILE,
        "title": "commit",
        "description": "Events that became true together.",
        "type": "object",
        "properties": {
            "seq": with_description(seq, "Position in its stream: contiguous from 1."),
            "time": with_description(instant, "The log's own timestamp, never before that of the commit in front of it."),
            "subject": {
                "type": "string",
                "description": "Who wrote it.",
                "pattern": "^(jobs|plan|node\\..+|admin|ledger|audit)$",
            },
            "events": { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/Event" } },
        },
        "required": ["seq", "time", "subject", "events"],
        "$defs": definitions,
    })
}

fn with_description(schema: schemars::Schema, text: &str) -> Value {
    let mut schema = schema.to_value();
    schema["description"] = text.into();
    schema
}
