//! One fact has one byte form.

use std::collections::BTreeMap;

use daybook_schemas::canonical::{CanonicalError, Hasher, hash, sha256_hex, to_bytes};
use daybook_schemas::{BlobHash, UtcMicros};
use proptest::prelude::*;
use serde_json::{Value, json};

fn text(value: &Value) -> String {
    String::from_utf8(to_bytes(value).unwrap()).unwrap()
}

#[test]
fn keys_are_sorted_at_every_depth_and_nothing_is_between() {
    let value = json!({ "b": 1, "a": { "z": [ { "d": true, "c": null } ], "A": "x y" }, "": -1 });
    assert_eq!(text(&value), r#"{"":-1,"a":{"A":"x y","z":[{"c":null,"d":true}]},"b":1}"#);
}

#[test]
fn the_order_of_insertion_leaves_no_trace() {
    let forward: Value = serde_json::from_str(r#"{"a":1,"b":{"x":1,"y":2},"c":3}"#).unwrap();
    let backward: Value = serde_json::from_str(r#"{ "c": 3, "b": {"y": 2, "x": 1}, "a": 1 }"#).unwrap();
    assert_eq!(to_bytes(&forward).unwrap(), to_bytes(&backward).unwrap());
    assert_eq!(hash(&forward).unwrap(), hash(&backward).unwrap());
}

#[test]
fn structs_are_sorted_by_name_and_not_by_declaration() {
    #[derive(serde::Serialize)]
    struct Declared {
        zeta: u8,
        alpha: u8,
    }
    let bytes = to_bytes(&Declared { zeta: 1, alpha: 2 }).unwrap();
    assert_eq!(bytes, br#"{"alpha":2,"zeta":1}"#);
}

#[test]
fn fractions_are_refused_wherever_they_are() {
    for value in [json!(1.5), json!([1, 2.5]), json!({ "a": { "b": [0.1] } }), json!(1.0), json!(1e300)] {
        assert!(matches!(to_bytes(&value), Err(CanonicalError::Fraction(_))), "{value}");
        assert!(hash(&value).is_err());
    }
    assert_eq!(
        to_bytes(&json!({ "a": 2.5 })).unwrap_err().to_string(),
        "2.5 is not an integer; canonical documents hold integers only"
    );
    // JSON has no word for these; serde_json writes null, which is no number either.
    assert_eq!(text(&serde_json::to_value(f64::NAN).unwrap()), "null");
}

#[test]
fn what_json_cannot_say_is_refused() {
    let keyed_by_pairs = BTreeMap::from([((1, 2), 3)]);
    assert!(matches!(to_bytes(&keyed_by_pairs), Err(CanonicalError::Json(_))));
}

#[test]
fn integers_keep_all_their_digits() {
    assert_eq!(text(&json!([u64::MAX, i64::MIN, 0, -0])), "[18446744073709551615,-9223372036854775808,0,0]");
}

#[test]
fn strings_are_escaped_no_further_than_needed() {
    let value = json!("a\"b\\c/d\u{8}\u{c}\n\r\t\u{1}\u{7f}é€😀\u{2028}");
    assert_eq!(text(&value), "\"a\\\"b\\\\c/d\\b\\f\\n\\r\\t\\u0001\u{7f}é€😀\u{2028}\"");
}

#[test]
fn hashes_are_sha_256_in_lower_case() {
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(sha256_hex(b""), empty);
    assert_eq!(BlobHash::of(b""), BlobHash(empty.to_string()));
    assert_eq!(hash(&json!({})).unwrap(), sha256_hex(b"{}"));
    let mut parts = Hasher::default();
    parts.update(b"{");
    parts.update(b"}");
    assert_eq!(parts.finish(), sha256_hex(b"{}"));
}

#[test]
fn instants_have_six_decimals_and_a_z() {
    for (micros, shown) in [
        (0, "1970-01-01T00:00:00.000000Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (1_796_175_807_123_456, "2026-12-02T01:43:27.123456Z"),
    ] {
        assert_eq!(text(&json!(UtcMicros(micros))), format!("\"{shown}\""));
    }
}

/// Documents such as events are: integers, text, lists and objects.
fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::hash_map(".{0,4}", inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn reading_and_writing_again_gives_the_same_bytes(value in document()) {
        let bytes = to_bytes(&value).unwrap();
        let read: Value = serde_json::from_slice(&bytes).unwrap();
        prop_assert_eq!(&read, &value);
        prop_assert_eq!(to_bytes(&read).unwrap(), bytes);
    }
}
