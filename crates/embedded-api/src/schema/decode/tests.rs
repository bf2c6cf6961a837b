//! Decoding, against the answers of an API server.

use super::*;
use serde_json::json;

fn lease() -> Schema {
    let definitions = json!({
        "x.Lease": {"type": "object", "properties": {"spec": {"$ref": "#/x/x.LeaseSpec"}}},
        "x.LeaseSpec": {"type": "object", "properties": {
            "leaseDurationSeconds": {"type": "integer", "format": "int32"},
            "holderIdentity": {"type": "string"},
            "renewTime": {"$ref": "#/x/x.MicroTime"},
            "taints": {"type": "array", "items": {"$ref": "#/x/x.Taint"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "on": {"type": "boolean"},
        }},
        "x.Taint": {"type": "object", "properties": {"key": {"type": "string"}}},
        "x.MicroTime": {"type": "string", "format": "date-time"},
    });
    Schema::parse_with(&json!({"$ref": "#/x/x.Lease"}), definitions.as_object().unwrap()).unwrap()
}

fn refused(spec: Value) -> String {
    decode(&mut json!({"spec": spec}), &lease(), "Lease").unwrap_err().0
}

#[test]
fn a_wrong_type_is_reported_with_struct_field_and_type() {
    let into = "json: cannot unmarshal";
    let cases = [
        (
            json!({"leaseDurationSeconds": "1"}),
            "string into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32",
        ),
        (
            json!({"leaseDurationSeconds": 1.5}),
            "number 1.5 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32",
        ),
        (
            json!({"leaseDurationSeconds": 3_000_000_000_i64}),
            "number 3000000000 into Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32",
        ),
        (
            json!({"holderIdentity": 5}),
            "number into Go struct field LeaseSpec.spec.holderIdentity of type string",
        ),
        (
            json!({"renewTime": 5}),
            "number into Go struct field LeaseSpec.spec.renewTime of type string",
        ),
        (
            json!({"on": "x"}),
            "string into Go struct field LeaseSpec.spec.on of type bool",
        ),
        (
            json!({"taints": "x"}),
            "string into Go struct field LeaseSpec.spec.taints of type []v1.Taint",
        ),
        (
            json!({"taints": [5]}),
            "number into Go struct field LeaseSpec.spec.taints of type v1.Taint",
        ),
        (
            json!({"taints": [{"key": 5}]}),
            "number into Go struct field Taint.spec.taints.key of type string",
        ),
        (
            json!({"labels": []}),
            "array into Go struct field LeaseSpec.spec.labels of type map[string]string",
        ),
        (
            json!({"labels": {"a": 1}}),
            "number into Go struct field LeaseSpec.spec.labels of type string",
        ),
        (json!(5), "number into Go struct field Lease.spec of type v1.LeaseSpec"),
    ];
    for (spec, expected) in cases {
        assert_eq!(refused(spec), format!("{into} {expected}"));
    }
}

#[test]
fn unknown_fields_and_nulls_go() {
    let mut value =
        json!({"spec": {"foo": 1, "holderIdentity": null, "taints": [{"key": "a", "bar": {}}], "labels": {"a": null}}});
    let unknown = decode(&mut value, &lease(), "Lease").unwrap();
    assert_eq!(unknown, ["spec.foo", "spec.taints[0].bar"]);
    assert_eq!(value, json!({"spec": {"taints": [{"key": "a"}], "labels": {"a": ""}}}));
}

#[test]
fn a_time_of_the_wrong_form_is_reported() {
    assert!(
        refused(json!({"renewTime": "x"})).starts_with(r#"parsing time "x" as "2006-01-02T15:04:05.000000Z07:00""#)
    );
}

#[test]
fn lists_and_maps_without_entries_go() {
    let mut value = json!({"spec": {"taints": [], "labels": {}, "holderIdentity": ""}});
    assert_eq!(decode(&mut value, &lease(), "Lease"), Ok(Vec::new()));
    assert_eq!(value, json!({"spec": {"holderIdentity": ""}}));
    let mut value = json!({"spec": {}});
    assert_eq!(decode(&mut value, &lease(), "Lease"), Ok(Vec::new()));
    assert_eq!(value, json!({"spec": {}}));
}
