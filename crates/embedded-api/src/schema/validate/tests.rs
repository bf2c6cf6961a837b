//! Validation by schema: cases that the recorded answers (see `checker/tests.rs`) do not cover.

use super::*;
use crate::schema::Schema;
use crate::schema::cause::line;
use serde_json::json;

fn node(document: Value) -> Node {
    Node::compile(&Schema::parse(&document).unwrap()).unwrap()
}

fn causes(schema: Value, value: Value) -> Vec<String> {
    let causes = validate(&value, None, &node(schema), &Path::ROOT.field("spec"));
    causes.iter().map(line).collect()
}

fn causes_of_update(schema: Value, value: Value, old: Value) -> Vec<String> {
    let causes = validate(&value, Some(&old), &node(schema), &Path::ROOT.field("spec"));
    causes.iter().map(line).collect()
}

#[test]
fn a_schema_without_type_allows_any() {
    for value in [json!(1), json!("x"), json!(null), json!([]), json!({})] {
        assert_eq!(causes(json!({}), value), [""; 0]);
    }
}

#[test]
fn null_is_allowed_where_it_is_said() {
    assert_eq!(
        causes(json!({"type": "string", "nullable": true}), Value::Null),
        [""; 0]
    );
    assert_eq!(
        causes(json!({"type": "string"}), Value::Null),
        [r#"spec: Invalid value: "null": spec in body must be of type string: "null""#]
    );
}

#[test]
fn a_whole_number_is_a_number_and_the_other_way_round() {
    assert_eq!(causes(json!({"type": "number"}), json!(1)), [""; 0]);
    assert_eq!(causes(json!({"type": "integer"}), json!(1.0)), [""; 0]);
    assert_eq!(causes(json!({"type": "integer"}), json!(1.5)).len(), 2);
}

#[test]
fn lengths_count_characters() {
    let schema = json!({"type": "string", "minLength": 2, "maxLength": 3});
    assert_eq!(causes(schema.clone(), json!("üüü")), [""; 0]);
    assert_eq!(causes(schema.clone(), json!("ü")).len(), 1);
    assert_eq!(
        causes(schema, json!("üüüü")),
        ["spec: Too long: may not be more than 3 bytes"]
    );
}

#[test]
fn a_pattern_is_searched_not_matched_whole() {
    assert_eq!(causes(json!({"type": "string", "pattern": "b"}), json!("abc")), [""; 0]);
}

#[test]
fn equal_items_are_reported_where_they_must_differ() {
    let schema = json!({"type": "array", "uniqueItems": true});
    assert_eq!(causes(schema.clone(), json!([1, 2])), [""; 0]);
    assert_eq!(
        causes(schema, json!([{"a": 1}, {"a": 1}])),
        ["spec: Invalid value: \"\": spec in body shouldn't contain duplicates"]
    );
}

#[test]
fn fields_come_before_what_is_missing() {
    let schema = json!({"type": "object", "required": ["z", "b"], "properties": {"a": {"type": "integer"}}});
    assert_eq!(
        causes(schema, json!({"a": "x"})),
        [
            r#"spec.a: Invalid value: "string": spec.a in body must be of type integer: "string""#,
            "spec.z: Required value",
            "spec.b: Required value",
        ]
    );
}

#[test]
fn of_several_schemas_the_one_that_nearly_holds_is_reported() {
    let schema = json!({"anyOf": [{"required": ["b"]}, {"properties": {"a": {"type": "integer", "maximum": 1}}}]});
    assert_eq!(
        causes(schema, json!({"a": 5})),
        [
            r#"<nil>: Invalid value: "": "spec" must validate at least one schema (anyOf)"#,
            "spec.a: Invalid value: 5: spec.a in body should be less than or equal to 1",
        ]
    );
}

#[test]
fn what_was_wrong_before_and_is_untouched_is_no_fault_of_an_update() {
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "integer", "maximum": 9}, "m": {"type": "integer"},
        "list": {"type": "array", "items": {"type": "integer", "maximum": 9}}}});
    assert_eq!(
        causes_of_update(schema.clone(), json!({"n": 10, "m": 1}), json!({"n": 10})),
        [""; 0]
    );
    assert_eq!(
        causes_of_update(schema.clone(), json!({"n": 11}), json!({"n": 10})).len(),
        1
    );
    let list = |items: Value| json!({"list": items});
    assert_eq!(
        causes_of_update(schema.clone(), list(json!([10])), list(json!([10]))),
        [""; 0]
    );
    assert_eq!(
        causes_of_update(schema, list(json!([10, 1])), list(json!([10]))).len(),
        1
    );
}

#[test]
fn null_is_never_one_of_the_values_that_are_listed() {
    let schema = json!({"type": "string", "nullable": true, "enum": ["A", null]});
    assert_eq!(
        causes(schema, Value::Null),
        [r#"spec: Unsupported value: null: supported values: "A", "null""#]
    );
    assert_eq!(
        causes(json!({"type": "string", "nullable": true}), Value::Null),
        [""; 0]
    );
}

#[test]
fn the_smallest_integer_is_one_and_what_was_too_small_to_be_read_as_one_is_not() {
    let schema = || json!({"type": "integer"});
    assert_eq!(causes(schema(), json!(i64::MIN)), [""; 0]);
    let below: Value = serde_json::from_str("-9223372036854775809").unwrap();
    assert_eq!(causes(schema(), below).len(), 2);
}
