//! `docs/events.md` is made from the table of event types and their schemas.

use std::fmt::Write as _;
use std::path::Path;

use daybook_schemas::events::{EVENT_TYPES, EventType, FORMAT_VERSION};
use daybook_schemas::json_schema::payload_schema;
use expect_test::expect_file;
use serde_json::{Map, Value};

#[test]
fn the_page_of_events_is_up_to_date() {
    let path = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("cargo names the crate"))
        .join("../docs/events.md");
    expect_file![path].assert_eq(&page());
}

const INTRODUCTION: &str = "\
# Events

What can stand in the log. This page is made from the types in `schemas/` (`UPDATE_EXPECT=1 cargo test -p daybook-schemas`);
the JSON Schemas are in `schemas/json/`, samples of every type in `schemas/golden/`.

The unit of the log is a **commit**: one or more events that became true together. It has `seq` (its position in its stream,
contiguous from 1), `time` (the log's own timestamp), `subject` (who wrote: `jobs`, `plan`, `node.NAME`, `admin`, `ledger`,
`audit`) and `events`. An **event** has `id` (for ever the same for the same fact), `type` (with its major version), `source`
(the program), `time` (when it happened by the writer's clock), `actor` (who asked, and how that is known), `cause` (the
commit that it follows from, if there is one) and `data`, which the tables below describe. Inside a major version fields are
only added; what an older version has written is read for ever.

Numbers are integers. An *instant* is text such as `2026-12-02T01:43:27.123456Z`; a *run id* is text such as `123.0`; a *set
of numbers* is text such as `0-9`, `1,3,5-9` or `0-20:4`.
";

fn page() -> String {
    let mut page = INTRODUCTION.to_string();
    let _ = writeln!(page, "\nThis release writes and reads format {FORMAT_VERSION}.\n");
    page.push_str("| event | written by | what it says |\n|---|---|---|\n");
    for event_type in EVENT_TYPES {
        let (name, version) = split_version(event_type);
        let schema = payload_schema(event_type);
        let anchor = format!("{name} {version}").replace('.', "").replace(' ', "-");
        let first = paragraphs(&schema)[0].clone();
        let _ = writeln!(page, "| [`{name}` {version}](#{anchor}) | {} | {first} |", event_type.writer);
    }
    let mut shared = Map::new();
    for event_type in EVENT_TYPES {
        section(event_type, &mut page, &mut shared);
    }
    page.push_str("\n# Shared parts\n");
    for (name, schema) in &shared {
        let _ = writeln!(page, "\n## {name}\n\n{}", paragraphs(schema).join("\n\n"));
        describe(schema, &mut page);
    }
    page
}

/// `run.started` and `v1`.
fn split_version(event_type: &EventType) -> (&str, &str) {
    event_type.name.rsplit_once('.').expect("a type's name ends in its version")
}

fn section(event_type: &EventType, page: &mut String, shared: &mut Map<String, Value>) {
    let (name, version) = split_version(event_type);
    let schema = payload_schema(event_type);
    let _ = writeln!(page, "\n## {name} {version}\n\n{}\n", paragraphs(&schema).join("\n\n"));
    let _ = writeln!(page, "**Written by** the {}.\n", event_type.writer);
    let _ = writeln!(page, "**What it changes:** {}", event_type.changes);
    describe(&schema, page);
    for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
        if PLAIN_WORDS.iter().all(|(plain, _)| plain != name) {
            shared.insert(name.clone(), definition.clone());
        }
    }
}

/// Types that the page names by a plain word, and does not describe apart.
const PLAIN_WORDS: [(&str, &str); 11] = [
    ("BlobHash", "SHA-256 in hexadecimal"),
    ("GpuUuid", "text"),
    ("IndexSet", "set of numbers"),
    ("JobId", "job id"),
    ("Mebibytes", "MiB"),
    ("NodeName", "node name"),
    ("RunId", "run id"),
    ("Seconds", "seconds"),
    ("Seq", "position"),
    ("UtcMicros", "instant"),
    ("EventId", "text"),
];

/// The fields of an object, or the values of a choice.
fn describe(schema: &Value, page: &mut String) {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if let Some(fields) = schema["properties"].as_object() {
        page.push_str("\n| field | type | required | meaning |\n|---|---|---|---|\n");
        for (name, field) in fields {
            let meaning = cell(field).unwrap_or_else(|| panic!("{name} has no description"));
            let needed = if required.contains(&name.as_str()) { "yes" } else { "no" };
            let _ = writeln!(page, "| `{name}` | {} | {needed} | {meaning} |", type_of(field));
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<String> =
            words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect();
        let _ = writeln!(page, "\nOne of {}.", words.join(", "));
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        page.push_str("\n| value | meaning |\n|---|---|\n");
        for choice in choices {
            for value in values_of(choice) {
                let meaning = cell(choice).unwrap_or_else(|| panic!("{value} has no description"));
                let _ = writeln!(page, "| {value} | {meaning} |");
            }
        }
    }
}

/// The values that one branch of a choice allows.
fn values_of(choice: &Value) -> Vec<String> {
    if let Some(word) = choice["const"].as_str() {
        return vec![format!("`{word}`")];
    }
    if let Some(words) = choice["enum"].as_array() {
        return words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`")).collect();
    }
    let fields = choice["properties"].as_object().unwrap_or_else(|| panic!("{choice} is no known branch"));
    fields.iter().map(|(name, field)| format!("an object with `{name}`: {}", type_of(field))).collect()
}

/// A field's type in words, with a link to a shared part.
fn type_of(field: &Value) -> String {
    if let Some(target) = field["$ref"].as_str() {
        let name = target.rsplit('/').next().unwrap_or(target);
        return match PLAIN_WORDS.iter().find(|(plain, _)| *plain == name) {
            Some((_, word)) => (*word).to_string(),
            None => format!("[{name}](#{})", name.to_lowercase()),
        };
    }
    if let Some(branches) = field["anyOf"].as_array() {
        let present = branches.iter().filter(|branch| branch["type"] != "null");
        return present.map(type_of).collect::<Vec<_>>().join(" or ");
    }
    let name = match &field["type"] {
        Value::Array(types) => types.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        one => one.as_str(),
    };
    match name.unwrap_or_else(|| panic!("{field} has no type")) {
        "array" => format!("list of {}", type_of(&field["items"])),
        "object" => format!("object: {} by name", type_of(&field["additionalProperties"])),
        "integer" => field["format"].as_str().unwrap_or("integer").to_string(),
        "string" => "text".to_string(),
        "boolean" => "true or false".to_string(),
        other => panic!("the type {other} has no word on this page"),
    }
}

fn paragraphs(schema: &Value) -> Vec<String> {
    let text = schema["description"].as_str().unwrap_or_else(|| panic!("{schema} has no description"));
    text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect()
}

/// A description on one line of a table.
fn cell(schema: &Value) -> Option<String> {
    let text = schema["description"].as_str()?;
    Some(text.replace("\n\n", " ").replace('\n', " ").replace('|', "\\|"))
}
