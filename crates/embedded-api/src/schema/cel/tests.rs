//! Rules: cases that the recorded answers (see `checker/tests.rs`) do not cover.

use super::*;
use crate::schema::Schema;
use serde_json::json;

fn node(document: Value) -> Node {
    Node::compile(&Schema::parse(&document).unwrap()).unwrap()
}

fn causes(schema: Value, value: Value) -> Vec<String> {
    let verdict = judge(&value, None, &node(schema));
    verdict.causes.iter().map(cause::line).collect()
}

/// A schema of an object whose field `a` has a rule.
fn rule(type_: &str, rule: &str) -> Value {
    json!({"type": "object", "properties": {"a": {"type": type_, "x-kubernetes-validations": [{"rule": rule}]}}})
}

#[test]
fn a_whole_number_is_real_to_rules_where_the_schema_says_number() {
    assert_eq!(causes(rule("number", "self / 2.0 == 1.5"), json!({"a": 3})), [""; 0]);
    assert_eq!(causes(rule("integer", "self / 2 == 1"), json!({"a": 3})), [""; 0]);
}

#[test]
fn fields_that_the_schema_does_not_have_are_invisible_to_rules() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}},
        "x-kubernetes-validations": [{"rule": "!has(self.b) && !has(self.metadata.labels)"}]});
    let object = json!({"a": "x", "b": 1, "metadata": {"name": "x", "labels": {"a": "b"}}});
    assert_eq!(causes(schema, object), [""; 0]);
}

#[test]
fn the_name_of_an_object_is_visible_to_rules() {
    let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": "self.metadata.name.size() <= 3"}]});
    assert_eq!(
        causes(schema, json!({"metadata": {"name": "long"}})),
        ["<nil>: Invalid value: failed rule: self.metadata.name.size() <= 3"]
    );
}

#[test]
fn escaped_names_and_plain_keys_are_read() {
    let schema = json!({"type": "object",
        "properties": {"namespace": {"type": "string"}, "b-c": {"type": "integer"},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}}},
        "x-kubernetes-validations": [
            {"rule": "self.__namespace__ == 'x' && self.b__dash__c == 1 && self.map['a-b'] == 2"}]});
    assert_eq!(
        causes(schema, json!({"namespace": "x", "b-c": 1, "map": {"a-b": 2}})),
        [""; 0]
    );
}

#[test]
fn null_is_judged_by_the_rules_around_it_only() {
    let schema = json!({"type": "object",
        "properties": {"a": {"type": "string", "nullable": true, "x-kubernetes-validations": [{"rule": "false"}]}},
        "x-kubernetes-validations": [{"rule": "self.a == null"}]});
    assert_eq!(causes(schema, json!({"a": null})), [""; 0]);
}

#[test]
fn a_rule_that_calls_what_is_not_there_refuses() {
    let causes = causes(rule("integer", "unheard(self)"), json!({"a": 3}));
    assert_eq!(
        causes,
        [r#"a: Invalid value: "integer": "unheard" is not supported here evaluating rule: unheard(self)"#]
    );
}

#[test]
fn a_rule_on_the_old_value_is_not_evaluated_where_there_is_none() {
    let schema = rule("integer", "self > oldSelf");
    let node = node(schema);
    let new = json!({"a": 1});
    assert_eq!(judge(&new, None, &node), Verdict::default());
    assert_eq!(judge(&new, Some(&json!({})), &node), Verdict::default());
    assert_eq!(judge(&new, Some(&json!({"a": null})), &node), Verdict::default());
    assert_eq!(judge(&new, Some(&json!({"a": 1})), &node).causes.len(), 1);
}

#[test]
fn an_unchanged_value_that_breaks_a_rule_is_warned_of() {
    let node = node(rule("integer", "self > 5"));
    let (bad, worse) = (json!({"a": 1}), json!({"a": 0}));
    let verdict = judge(&bad, Some(&bad), &node);
    assert_eq!(verdict.causes, []);
    assert_eq!(verdict.warnings, ["a: Invalid value: 1: failed rule: self > 5"]);
    assert_eq!(judge(&worse, Some(&bad), &node).causes.len(), 1);
}

#[test]
fn a_number_that_stops_the_evaluation_is_refused_and_nothing_else_happens() {
    let detail = |rule: &str| format!("cannot be worked out with this value evaluating rule: {rule}");
    let rule_of_list = "self.sum() > 0";
    let list = json!({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": rule_of_list}]}}});
    let causes_of_list = causes(list, json!({"a": [i64::MAX, 1]}));
    let text = "quantity(self).isGreaterThan(quantity('1'))";
    let causes_of_text = causes(rule("string", text), json!({"a": "9e70"}));
    // In a release build numbers wrap instead, and the evaluation continues.
    if cfg!(debug_assertions) {
        let wanted = format!("a: Invalid value: \"array\": {}", detail(rule_of_list));
        assert_eq!(causes_of_list, [wanted]);
        let wanted = format!("a: Invalid value: \"string\": {}", detail(text));
        assert_eq!(causes_of_text, [wanted]);
    }
}

#[test]
fn a_duration_in_words_is_a_duration() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "format": "duration",
        "x-kubernetes-validations": [{"rule": "self >= duration('1m')"}]}}});
    for text in ["1m", "90s", "2 minutes", "1d"] {
        assert_eq!(causes(schema.clone(), json!({"a": text})), [""; 0], "{text}");
    }
    assert_eq!(causes(schema, json!({"a": "20 seconds"})).len(), 1);
}
