//! Bodies that a write accepts.

use super::*;
use crate::verbs::testing;
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
fn broken_text_is_shown_and_refused() {
    let start = "400 the object provided is unrecognized (must be of type Thing): ";
    let table = [
        (
            "",
            "couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)",
        ),
        (
            "{",
            "couldn't get version/kind; json parse error: unexpected end of JSON input ({)",
        ),
        ("null", "Object 'Kind' is missing in 'null' (6e756c6c)"),
        (
            r#"{"metadata": 5}"#,
            r#"Object 'Kind' is missing in '{"metadata": 5}' ({"metadata": 5})"#,
        ),
        (
            r#"{"apiVersion":"a/b/c","kind":"Thing"}"#,
            r#"unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c","kind":" ...)"#,
        ),
        (
            r#"{"apiVersion":"a.dev/v1","kind":5}"#,
            r#"couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string ({"apiVersion":"a.dev/v1","kind ...)"#,
        ),
    ];
    for (body, expected) in table {
        assert_eq!(read_as(true, "", body), Err(format!("{start}{expected}")), "{body}");
    }
    for body in ["5", "[]", "not: json", r#"{"a": }"#, "{} {}"] {
        assert!(
            read_as(true, "", body).is_err_and(|why| why.starts_with(start)),
            "{body}"
        );
    }
}

#[test]
fn a_custom_resource_needs_its_kind_and_version() {
    assert_eq!(
        read_as(true, "", r#"{"kind":"Thing"}"#),
        Err("400 the API version in the data () does not match the expected API version (a.dev/v1)".to_owned())
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
    assert_eq!(
        read_as(false, "", r#"{"apiVersion":"b.dev/v2","kind":"Swarm"}"#),
        Err(
            r#"400 Swarm in version "v2" cannot be handled as a Thing: no kind "Swarm" is registered for version "b.dev/v2" in scheme "pkg/runtime/scheme.go:111""#
                .to_owned()
        )
    );
}

#[test]
fn whole_numbers_lose_their_point() {
    let body = Bytes::from_static(br#"{"a":12.0,"b":[1.5,1e2],"c":-0.0,"d":1e300,"e":9007199254740993}"#);
    let document = read(Format::Json, &body).expect("JSON");
    let text = document.value.to_string();
    assert_eq!(text, r#"{"a":12,"b":[1.5,100],"c":0,"d":1e+300,"e":9007199254740993}"#);
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

#[test]
fn broken_yaml_is_reported_with_its_line() {
    let error = read(Format::Yaml, &Bytes::from_static(b"a: 1\nb: [\n")).expect_err("a list without end");
    assert!(error.starts_with("yaml: line 2: "), "{error}");
}
