//! Checks a document against a JSON Schema, as far as our schemas go: a keyword that is not known here is a panic, so
//! nothing passes by being overlooked. Objects may have no fields that the schema does not describe.

use std::collections::BTreeSet;

use regex_lite::Regex;
use serde_json::{Map, Value};

/// Schemas that refer to each other by file name.
pub struct Schemas<'a> {
    /// The schema in a file.
    pub load: &'a dyn Fn(&str) -> Value,
}

/// What a check found.
#[derive(Default)]
pub struct Findings {
    /// Each with the place in the document.
    pub faults: Vec<String>,
    /// The fields met: `FILE#DEFINITION.FIELD`.
    pub fields: BTreeSet<String>,
}

/// Where a schema stands: its file's root and name, and the definition in it (empty: the root itself).
#[derive(Clone, Copy)]
struct Place<'a> {
    file: &'a str,
    root: &'a Value,
    definition: &'a str,
}

/// What says nothing about validity.
const ANNOTATIONS: [&str; 6] = ["$schema", "$id", "$defs", "title", "description", "default"];

impl Schemas<'_> {
    /// Checks a document against the schema in `file`.
    pub fn check(&self, file: &str, document: &Value) -> Findings {
        let mut findings = Findings::default();
        let root = (self.load)(file);
        self.check_value(Place { file, root: &root, definition: "" }, &root, document, "$", &mut findings);
        findings
    }

    fn check_value(
        &self,
        place: Place<'_>,
        schema: &Value,
        value: &Value,
        at: &str,
        findings: &mut Findings,
    ) {
        let keywords = match schema {
            Value::Bool(true) => return,
            Value::Bool(false) => return findings.faults.push(format!("{at} is not allowed")),
            other => other.as_object().unwrap_or_else(|| panic!("{other} is no schema")),
        };
        for (keyword, argument) in keywords {
            match keyword.as_str() {
                keyword if ANNOTATIONS.contains(&keyword) => {}
                "$ref" => self.check_reference(place, text(argument), value, at, findings),
                "properties" | "required" | "additionalProperties" => {}
                "anyOf" | "oneOf" | "allOf" => {
                    self.check_branches(place, keyword, argument, value, at, findings)
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check_value(place, argument, item, &format!("{at}[{index}]"), findings);
                    }
                }
                _ => {
                    if !holds(keyword, argument, value) {
                        findings.faults.push(format!("{at} is {value}, against {keyword} {argument}"));
                    }
                }
            }
        }
        if let Value::Object(fields) = value {
            self.check_fields(place, keywords, fields, at, findings);
        }
    }

    fn check_reference(
        &self,
        place: Place<'_>,
        target: &str,
        value: &Value,
        at: &str,
        findings: &mut Findings,
    ) {
        let Some(definition) = target.strip_prefix("#/$defs/") else {
            let root = (self.load)(target);
            let place = Place { file: target, root: &root, definition: "" };
            return self.check_value(place, &root, value, at, findings);
        };
        let schema = &place.root["$defs"][definition];
        assert!(!schema.is_null(), "{} has no definition {definition}", place.file);
        self.check_value(Place { definition, ..place }, schema, value, at, findings);
    }

    fn check_branches(
        &self,
        place: Place<'_>,
        keyword: &str,
        branches: &Value,
        value: &Value,
        at: &str,
        findings: &mut Findings,
    ) {
        let mut tried: Vec<Findings> = Vec::new();
        for branch in branches.as_array().expect("a list of schemas") {
            let mut found = Findings::default();
            self.check_value(place, branch, value, at, &mut found);
            tried.push(found);
        }
        let holding = tried.iter().filter(|found| found.faults.is_empty()).count();
        let right = match keyword {
            "allOf" => holding == tried.len(),
            "oneOf" => holding == 1,
            _ => holding >= 1,
        };
        if !right {
            let faults: Vec<String> = tried.iter().flat_map(|found| found.faults.clone()).collect();
            findings
                .faults
                .push(format!("{at}: {holding} branches of {keyword} hold: {}", faults.join("; ")));
        }
        let fields = tried.into_iter().filter(|found| found.faults.is_empty()).flat_map(|found| found.fields);
        findings.fields.extend(fields);
    }

    fn check_fields(
        &self,
        place: Place<'_>,
        keywords: &Map<String, Value>,
        fields: &Map<String, Value>,
        at: &str,
        findings: &mut Findings,
    ) {
        for name in keywords.get("required").and_then(Value::as_array).into_iter().flatten() {
            if !fields.contains_key(text(name)) {
                findings.faults.push(format!("{at} lacks {name}"));
            }
        }
        let properties = keywords.get("properties").and_then(Value::as_object);
        let others = keywords.get("additionalProperties");
        for (name, value) in fields {
            let at = format!("{at}.{name}");
            match (properties.and_then(|properties| properties.get(name)), others) {
                (Some(schema), _) => {
                    findings.fields.insert(format!("{}#{}.{name}", place.file, place.definition));
                    self.check_value(place, schema, value, &at, findings);
                }
                (None, Some(schema)) => self.check_value(place, schema, value, &at, findings),
                // Only a schema that says "type": "object" describes the whole object; branches add to it.
                (None, None) if properties.is_some() && keywords.contains_key("type") => {
                    findings.faults.push(format!("{at} is not described"));
                }
                (None, None) => {}
            }
        }
    }
}

/// Whether a keyword without schemas inside holds.
fn holds(keyword: &str, argument: &Value, value: &Value) -> bool {
    match keyword {
        "type" => match argument {
            Value::Array(types) => types.iter().any(|one| is_of_type(text(one), value)),
            one => is_of_type(text(one), value),
        },
        "enum" => argument.as_array().is_some_and(|values| values.contains(value)),
        "const" => argument == value,
        "pattern" => value.as_str().is_none_or(|found| {
            Regex::new(text(argument)).unwrap_or_else(|error| panic!("{argument}: {error}")).is_match(found)
        }),
        "minimum" => number(value).is_none_or(|found| number(argument).is_some_and(|least| found >= least)),
        "maximum" => number(value).is_none_or(|found| number(argument).is_some_and(|most| found <= most)),
        "minItems" => {
            value.as_array().is_none_or(|items| items.len() as u64 >= argument.as_u64().unwrap_or(0))
        }
        "format" => number(value).is_none_or(|found| match text(argument) {
            "uint16" => u16::try_from(found).is_ok(),
            "uint32" => u32::try_from(found).is_ok(),
            "int32" => i32::try_from(found).is_ok(),
            "uint64" => u64::try_from(found).is_ok(),
            "int64" => i64::try_from(found).is_ok(),
            other => panic!("the format {other} is not known to this check"),
        }),
        other => panic!("the keyword {other} is not known to this check"),
    }
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => number(value).is_some(),
        other => panic!("the type {other} is not known to this check"),
    }
}

fn number(value: &Value) -> Option<i128> {
    value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} should be text"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(schema: Value, document: Value) -> usize {
        let load = |_: &str| schema.clone();
        Schemas { load: &load }.check("test", &document).faults.len()
    }

    #[test]
    fn what_does_not_fit_is_found() {
        let schema = json!({
            "type": "object",
            "properties": { "n": { "$ref": "#/$defs/Small" }, "s": { "type": ["string", "null"], "pattern": "^a" } },
            "required": ["n"],
            "$defs": { "Small": { "type": "integer", "minimum": 0, "maximum": 9 } },
        });
        for (document, count) in [
            (json!({ "n": 1, "s": "ab" }), 0),
            (json!({ "n": 9, "s": null }), 0),
            (json!({ "s": "ab" }), 1),
            (json!({ "n": 10 }), 1),
            (json!({ "n": -1 }), 1),
            (json!({ "n": "1" }), 1),
            (json!({ "n": 1, "s": "b" }), 1),
            (json!({ "n": 1, "other": 2 }), 1),
            (json!([]), 1),
        ] {
            assert_eq!(faults(schema.clone(), document.clone()), count, "{document}");
        }
        let one_of = json!({ "oneOf": [{ "const": 1 }, { "type": "integer" }] });
        assert_eq!(faults(one_of.clone(), json!(2)), 0);
        assert_eq!(faults(one_of.clone(), json!(1)), 1);
        assert_eq!(faults(one_of, json!("x")), 1);
    }

    #[test]
    #[should_panic(expected = "the keyword dependentRequired is not known")]
    fn an_unknown_keyword_does_not_pass() {
        faults(json!({ "dependentRequired": {} }), json!({}));
    }
}
