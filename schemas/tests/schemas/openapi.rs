//! `schemas/json/openapi.json`: the interface's description is that of the types and the table of operations.

use std::collections::BTreeSet;

use daybook_schemas::api::{OPERATIONS, openapi};
use expect_test::expect_file;
use serde_json::Value;

use crate::schema_files::{directory, pretty};

fn document() -> Value {
    openapi(env!("CARGO_PKG_VERSION"))
}

#[test]
fn the_committed_description_is_the_types() {
    expect_file![directory("json").join("openapi.json")].assert_eq(&pretty(&document()));
}

#[test]
fn each_operation_is_there_once() {
    let document = document();
    let mut ids = BTreeSet::new();
    for operation in OPERATIONS {
        let entry = &document["paths"][operation.path][operation.method];
        assert_eq!(entry["summary"], operation.summary, "{} {}", operation.method, operation.path);
        assert!(ids.insert(entry["operationId"].to_string()), "{} twice", entry["operationId"]);
        assert_eq!(entry.get("requestBody").is_some(), operation.request.is_some());
    }
    let described: usize =
        document["paths"].as_object().unwrap().values().map(|path| path.as_object().unwrap().len()).sum();
    assert_eq!(described, OPERATIONS.len());
}

/// Every `$ref` in a document.
fn references(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(target)) = fields.get("$ref") {
                into.insert(target.clone());
            }
            fields.values().for_each(|value| references(value, into));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, into)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_to_a_type_and_every_type_is_used() {
    let document = document();
    let mut used = BTreeSet::new();
    references(&document, &mut used);
    for target in &used {
        let pointer = target.strip_prefix('#').expect("references stay in the document");
        assert!(document.pointer(pointer).is_some(), "{target} leads nowhere");
    }
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(used.contains(&format!("#/components/schemas/{name}")), "{name} is not used");
    }
}

#[test]
fn every_field_says_what_it_means() {
    let document = document();
    let mut silent = Vec::new();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            if schema.get("description").is_none() {
                silent.push(format!("{name}.{field}"));
            }
        }
    }
    assert_eq!(silent, Vec::<String>::new());
}
