//! Bodies that a write accepts.

use super::*;
use crate::verbs::tests::testing;
use serde_json::json;

fn read_as(custom: bool, content_type: &str, body: &'static str) -> Result<Value, String> {
    let resource = testing::thing(custom);
    let document = object(&resource, content_type, &Bytes::from_static(body.as_bytes()));
    document
        .map(|document| document.value)
        .map_err(|refusal| format!("{} {}", refusal.code, refusal.message))
}

const THING: &str = r#"{"apiVersion":"a.dev/v1","kind":"Thing","metadata":{"name":"a"}}"#;

#[test]
fn an_object_comes_as_json_or_yaml() {
    let expected = Ok(json!({"apiVersion": "a.dev/v1", "kind": "Thing", "metadata": {"name": "a"}}));
    for content_type in ["", "application/json", "application/json; charset=utf-8"] {
        assert_eq!(read_as(true, content_type, THING), expected);
    }
    let yaml = "apiVersion: a.dev/v1\nkind: Thing\nmetadata: {name: a}\n";
    assert_eq!(read_as(true, "application/yaml", yaml), expected);
}

#[test]
fn other_formats_are_not_supported() {
    for content_type in [
        "text/plain",
        "application/vnd.kubernetes.protobuf",
        "application/cbor",
        "json",
    ] {
        // Custom resources have no protobuf form.
        let result = read_as(true, content_type, THING);
        assert!(result.is_err_and(|why| why.starts_with("415 the body of the request was in an unknown format")));
    }
}

#[test]
fn what_is_not_an_object_of_the_kind_is_refused() {
    let start = "400 the body is not a Thing: ";
    for body in [
        "",
        "{",
        "null",
        "5",
        "[]",
        "not: json",
        r#"{"a": }"#,
        "{} {}",
        r#"{"metadata": 5}"#,
        r#"{"apiVersion":"a/b/c","kind":"Thing"}"#,
        r#"{"apiVersion":"a.dev/v1","kind":5}"#,
    ] {
        let refused = read_as(true, "", body);
        assert!(refused.is_err_and(|why| why.starts_with(start)), "{body}");
    }
}

#[test]
fn a_custom_resource_needs_its_kind_and_version() {
    assert_eq!(
        read_as(true, "", r#"{"kind":"Thing"}"#),
        Err(r#"400 the body is not a Thing: its apiVersion is "", not "a.dev/v1""#.to_owned())
    );
    // Another kind is reported after the rest was checked.
    let other = read_as(true, "", r#"{"apiVersion":"a.dev/v1","kind":"Other"}"#).expect("it can be read");
    let refusal = is_of_kind(&testing::thing(true), &other).expect_err("another kind");
    assert_eq!(
        refusal.message,
        r#"Other.a.dev "" is invalid: kind: Invalid value: "Other": must be Thing"#
    );
}

#[test]
fn a_built_in_object_may_leave_its_kind_to_the_path() {
    let named = Ok(json!({"apiVersion": "a.dev/v1", "kind": "Thing"}));
    assert_eq!(read_as(false, "", "{}"), named);
    assert_eq!(read_as(false, "", "null"), named);
    assert!(read_as(false, "", r#"{"apiVersion":"b.dev/v2","kind":"Thing"}"#).is_err());
    assert!(read_as(false, "", r#"{"apiVersion":"a.dev/v1","kind":"Swarm"}"#).is_err());
}

#[test]
fn duplicate_fields_are_reported() {
    let body = Bytes::from_static(br#"{"spec":{"a":1,"a":2}}"#);
    let document = read(Format::Json, &body).expect("JSON");
    assert_eq!(document.value, json!({"spec": {"a": 2}}));
    assert_eq!(document.duplicates, [r#"duplicate field "spec.a""#]);
    let body = Bytes::from_static(b"spec:\n  a: 1\n  a: 2\n");
    let document = read(Format::Yaml, &body).expect("YAML");
    assert_eq!(document.value, json!({"spec": {"a": 2}}));
    assert_eq!(document.duplicates, [r#"line 3: key "a" already set in map"#]);
}
