//! `schemas/json`: the schemas that readers in other languages use are those of the types.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use daybook_schemas::events::EVENT_TYPES;
use daybook_schemas::json_schema::{COMMIT_SCHEMA_FILE, commit_schema, payload_schema, payload_schema_file};
use expect_test::expect_file;
use serde_json::Value;

pub fn directory(name: &str) -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate")).join(name)
}

pub fn pretty(document: &Value) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("a JSON document");
    text.push('\n');
    text
}

/// The files of a directory of the crate.
pub fn files(name: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory(name)).expect("the directory is there");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

/// The schema that belongs into a file.
pub fn generated(file: &str) -> Value {
    if file == COMMIT_SCHEMA_FILE {
        return commit_schema();
    }
    let event_type = EVENT_TYPES.iter().find(|event_type| payload_schema_file(event_type) == file);
    payload_schema(event_type.unwrap_or_else(|| panic!("{file} is no event type's schema")))
}

#[test]
fn each_event_type_has_its_schema_file() {
    for event_type in EVENT_TYPES {
        let path = directory("json").join(payload_schema_file(event_type));
        expect_file![path].assert_eq(&pretty(&payload_schema(event_type)));
    }
}

#[test]
fn a_commit_has_its_schema_file() {
    expect_file![directory("json").join(COMMIT_SCHEMA_FILE)].assert_eq(&pretty(&commit_schema()));
}

#[test]
fn no_schema_file_is_left_of_a_type_that_is_gone() {
    let mut expected: BTreeSet<String> = EVENT_TYPES.iter().map(payload_schema_file).collect();
    expected.extend([COMMIT_SCHEMA_FILE.to_string(), "openapi.json".to_string()]);
    assert_eq!(files("json").difference(&expected).collect::<Vec<_>>(), Vec::<&String>::new());
}
