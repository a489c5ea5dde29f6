//! The samples, the schemas and the reader agree on which fields there are and which are needed.

use std::collections::BTreeSet;

use daybook_schemas::Commit;
use daybook_schemas::events::{EVENT_TYPES, EventType};
use daybook_schemas::json_schema::{payload_schema, payload_schema_file};
use serde_json::Value;

use crate::samples;
use crate::schema_check::Schemas;
use crate::schema_files::generated;

/// Every field that a schema's objects have: `FILE#DEFINITION.FIELD`.
fn fields_of(event_type: &EventType) -> BTreeSet<String> {
    let file = payload_schema_file(event_type);
    let schema = payload_schema(event_type);
    let mut fields = BTreeSet::new();
    let mut add = |definition: &str, schema: &Value| {
        for name in schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
            fields.insert(format!("{file}#{definition}.{name}"));
        }
    };
    add("", &schema);
    schema["$defs"].as_object().into_iter().flatten().for_each(|(name, definition)| add(name, definition));
    fields
}

fn document(commit: &Commit) -> Value {
    serde_json::from_slice(&commit.to_bytes().unwrap()).unwrap()
}

fn read(document: &Value) -> bool {
    Commit::from_bytes(&serde_json::to_vec(document).unwrap()).is_ok()
}

#[test]
fn the_full_sample_has_every_field_of_its_schema() {
    for event_type in EVENT_TYPES {
        let mut met = BTreeSet::new();
        let alternatives = samples::alternatives(event_type.name);
        for commit in std::iter::once(&samples::of(event_type.name).full).chain(&alternatives) {
            let document = document(commit);
            assert!(read(&document), "{}", event_type.name);
            let data = &document["events"][0]["data"];
            let found = Schemas { load: &generated }.check(&payload_schema_file(event_type), data);
            assert_eq!(found.faults, Vec::<String>::new());
            met.extend(found.fields);
        }
        let missing: Vec<String> = fields_of(event_type).difference(&met).cloned().collect();
        assert_eq!(missing, Vec::<String>::new());
    }
}

#[test]
fn the_fields_that_a_schema_requires_are_those_that_reading_needs() {
    for event_type in EVENT_TYPES {
        let schema = payload_schema(event_type);
        let full = document(&samples::of(event_type.name).full);
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (field, _) in schema["properties"].as_object().expect("a payload has fields") {
            let mut without = full.clone();
            let data = without["events"][0]["data"].as_object_mut().expect("a payload is an object");
            data.remove(field).unwrap_or_else(|| panic!("{} has no {field}", event_type.name));
            assert_eq!(read(&without), !required.contains(&field.as_str()), "{} {field}", event_type.name);
        }
    }
}

#[test]
fn minimal_samples_have_no_more_than_the_required_fields_and_plain_defaults() {
    for sample in samples::all() {
        let (minimal, full) = (document(&sample.minimal), document(&sample.full));
        let count = |commit: &Value| commit["events"][0].to_string().matches(':').count();
        assert!(count(&minimal) <= count(&full), "{}", sample.type_name);
        assert!(minimal["events"][0].get("cause").is_none());
        assert!(!minimal["events"][0].to_string().contains("null"), "absent fields are left out, not null");
    }
}

#[test]
fn a_later_release_may_have_added_fields() {
    for sample in samples::all() {
        let mut newer = document(&sample.full);
        newer["added"] = 1.into();
        newer["events"][0]["added"] = 1.into();
        newer["events"][0]["data"]["added"] = serde_json::json!({ "deep": [1] });
        let bytes = serde_json::to_vec(&newer).unwrap();
        assert_eq!(Commit::from_bytes(&bytes).unwrap(), sample.full, "{}", sample.type_name);
    }
}
