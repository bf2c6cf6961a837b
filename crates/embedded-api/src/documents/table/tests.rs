//! Tests of tables.

use super::*;
use crate::kinds::custom;

fn now() -> Timestamp {
    "2026-11-21T06:00:00Z".parse().expect("a time")
}

fn boats(columns: Value) -> Resource {
    let document = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.sea.dev"},
        "spec": {
            "group": "sea.dev", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "additionalPrinterColumns": columns,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }],
        },
    });
    custom::resources(&document).expect("well formed").remove(0)
}

fn boat() -> Value {
    json!({
        "kind": "Boat", "apiVersion": "sea.dev/v1",
        "metadata": {"name": "a", "resourceVersion": "7", "creationTimestamp": "2026-11-21T05:58:00Z"},
        "spec": {"crew": 3}, "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

const READY: &str = ".status.conditions[?(@.type==\"Ready\")].status";

fn by_path(path: &str) -> String {
    format!("Custom resource definition column (in JSONPath format): {path}")
}

fn columns() -> Value {
    json!([
        {"name": "Ready", "type": "string", "jsonPath": READY},
        {"name": "Crew", "type": "integer", "jsonPath": ".spec.crew", "priority": 1, "description": "How many."},
        {"name": "Harbour", "type": "string", "jsonPath": ".spec.harbour"},
    ])
}

fn options(include: Include) -> TableOptions<'static> {
    TableOptions {
        version: "v1",
        include,
        described: true,
        now: now(),
    }
}

fn read(bytes: &Bytes) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

#[test]
fn a_custom_kind_is_printed_by_its_own_columns() {
    let printer = Printer::new(&boats(columns())).expect("printable");
    let table = read(&printer.object(&boat(), &options(Include::Metadata)));
    assert_eq!(
        table,
        json!({
            "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "7"},
            "columnDefinitions": [
                {"name": "Name", "type": "string", "format": "name", "priority": 0,
                 "description": cells::NAME.description},
                {"name": "Ready", "type": "string", "format": "", "priority": 0, "description":
                    by_path(READY)},
                {"name": "Crew", "type": "integer", "format": "", "description": "How many.", "priority": 1},
                {"name": "Harbour", "type": "string", "format": "", "priority": 0, "description":
                    by_path(".spec.harbour")},
            ],
            "rows": [{
                "cells": ["a", "True", 3, null],
                "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                           "metadata": boat()["metadata"]},
            }],
        })
    );
}

#[test]
fn a_kind_without_columns_shows_its_age() {
    let printer = Printer::new(&boats(json!([]))).expect("printable");
    let table = read(&printer.object(&boat(), &options(Include::None)));
    assert_eq!(table["columnDefinitions"][1]["name"], "Age");
    assert_eq!(table["rows"], json!([{"cells": ["a", "2m"], "object": null}]));
}

#[test]
fn rows_carry_the_whole_object_on_request() {
    let printer = Printer::new(&boats(json!([]))).expect("printable");
    let table = read(&printer.object(&boat(), &options(Include::Object)));
    assert_eq!(table["rows"][0]["object"], boat());
}

#[test]
fn later_events_of_a_watch_do_not_describe_the_columns_again() {
    let printer = Printer::new(&boats(columns())).expect("printable");
    let later = TableOptions {
        described: false,
        ..options(Include::None)
    };
    let table = read(&printer.object(&boat(), &later));
    assert_eq!(table["columnDefinitions"], Value::Null);
    assert_eq!(table["rows"][0]["cells"][0], "a");
}

#[test]
fn a_list_has_a_row_per_object_and_a_continue_token() {
    let printer = Printer::new(&boats(json!([]))).expect("printable");
    let meta = ListMeta {
        resource_version: "9".to_owned(),
        continue_: Some("next".to_owned()),
        remaining: Some(1),
    };
    let table = read(&printer.list([boat(), boat()], &meta, &options(Include::None)));
    assert_eq!(table["rows"].as_array().map(Vec::len), Some(2));
    assert_eq!(
        table["metadata"],
        json!({"resourceVersion": "9", "continue": "next", "remainingItemCount": 1})
    );
    let empty = read(&printer.list(Vec::<Value>::new(), &ListMeta::default(), &options(Include::None)));
    assert_eq!(empty["rows"], json!([]));
}

#[test]
fn a_column_whose_path_cannot_be_read_is_named() {
    let broken = boats(json!([{"name": "Crew", "type": "integer", "jsonPath": "spec.crew"}]));
    let error = Printer::new(&broken).expect_err("no dot at the front");
    assert!(matches!(&error, ColumnError { resource, column, .. } if resource == "boats.sea.dev" && column == "Crew"));
}

#[test]
fn what_rows_shall_carry_must_be_a_known_word() {
    assert_eq!(Include::parse(None), Ok(Include::Metadata));
    assert_eq!(Include::parse(Some("None")), Ok(Include::None));
    assert_eq!(Include::parse(Some("Object")), Ok(Include::Object));
    let refusal = Include::parse(Some("Foo")).expect_err("not a word");
    assert_eq!(
        (refusal.code, refusal.message.as_str()),
        (
            400,
            "Unable to convert to Table as requested: includeObject: Invalid value: \"Foo\": must be 'Metadata', \
             'Object', 'None', or empty"
        )
    );
}
