//! Rules of built-in kinds, against the answers of an API server.

use super::*;
use crate::checker::{Checker, Rejection, Subject};
use crate::resource::Verb;
use crate::schema::Schema;
use crate::schema::cause::line;
use serde_json::json;
use std::sync::Arc;

fn resource(group: &str, kind: &str) -> Resource {
    Resource {
        group: group.to_owned(),
        version: "v1".to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
        singular: kind.to_lowercase(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: false,
        verbs: Verb::ALL.to_vec(),
        has_status: true,
        scale: None,
        columns: Vec::new(),
        selectable_fields: Vec::new(),
        schema: Arc::new(Schema::anything()),
        custom: false,
        storage: kind.into(),
    }
}

fn causes(group: &str, kind: &str, object: Value) -> Vec<String> {
    check(&resource(group, kind), &object, None).iter().map(line).collect()
}

#[test]
fn taints_have_a_key_and_a_known_effect_and_differ() {
    let node = |taints: Value| causes("", "Node", json!({"spec": {"taints": taints}}));
    let taint = json!({"key": "a", "effect": "NoSchedule"});
    assert_eq!(node(json!([taint, {"key": "a", "effect": "NoExecute"}])), [""; 0]);
    assert_eq!(
        node(json!([{"key": "a", "effect": "Bad"}, {"key": "a"}])),
        [
            r#"metadata.taints[0].effect: Unsupported value: "Bad": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute""#,
            "metadata.taints[1].effect: Required value",
        ]
    );
    assert_eq!(
        node(json!([taint, taint])),
        [r#"metadata.taints[1]: Duplicate value: "a": taints must be unique by key and effect pair"#]
    );
    let bad = node(json!([{"key": "a b", "value": "c d", "effect": "NoSchedule"}]));
    assert!(bad[0].starts_with(r#"metadata.taints[0].key: Invalid value: "a b": must"#));
    assert!(bad[1].starts_with(r#"metadata.taints[0].value: Invalid value: "c d": must"#));
}

#[test]
fn finalizers_of_core_kinds_have_a_domain() {
    let object = |finalizer: &str| json!({"metadata": {"finalizers": [finalizer]}});
    assert_eq!(causes("", "Node", object("a.b/c")), [""; 0]);
    assert_eq!(causes("", "Namespace", object("kubernetes")), [""; 0]);
    assert_eq!(
        causes("", "Node", object("foo")),
        [r#"metadata.finalizers[0]: Invalid value: "foo": must have a domain: example.com/name"#]
    );
}

#[test]
fn both_views_of_an_event_are_refused_as_one_kind() {
    let rejection = Rejection::Invalid(vec![cause::required("reason", "")]);
    let refusal = rejection.refusal(&resource("events.k8s.io", "Event"), "n");
    assert_eq!(refusal.message, r#"Event "n" is invalid: reason: Required value"#);
}

#[test]
fn a_lease_lasts() {
    let lease = |spec: Value| causes("coordination.k8s.io", "Lease", json!({"spec": spec}));
    assert_eq!(
        lease(json!({"leaseDurationSeconds": 1, "leaseTransitions": 0})),
        [""; 0]
    );
    assert_eq!(lease(json!({})), [""; 0]);
    assert_eq!(
        lease(json!({"leaseDurationSeconds": 0, "leaseTransitions": -1})),
        [
            "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
            "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
        ]
    );
}

#[test]
fn an_old_event_is_about_something_in_its_namespace() {
    let event = |namespace: &str| {
        let event = json!({"metadata": {"namespace": "default"}, "involvedObject": {"namespace": namespace}});
        causes("", "Event", event)
    };
    assert_eq!(event("default"), [""; 0]);
    assert_eq!(event(""), [""; 0]);
    assert_eq!(
        event("other"),
        [r#"involvedObject.namespace: Invalid value: "other": must be the namespace of the Event"#]
    );
}

#[test]
fn a_new_event_needs_reporter_action_and_reason() {
    let mut event = json!({"eventTime": "2020-01-01T00:00:00.000000Z", "reportingController": "a.b/c", "type": "Normal",
        "reportingInstance": "i", "action": "x", "reason": "r", "note": "n"});
    assert_eq!(causes("events.k8s.io", "Event", event.clone()), [""; 0]);
    event["reason"] = "".into();
    event["type"] = "Foo".into();
    event["note"] = "x".repeat(1025).into();
    assert_eq!(
        causes("events.k8s.io", "Event", event),
        [
            "reason: Required value",
            "message: Invalid value: must have at most 1024 bytes",
            r#"type: Invalid value: "Foo": must be Normal or Warning"#,
        ]
    );
    assert_eq!(
        causes("events.k8s.io", "Event", json!({})),
        [
            "eventTime: Required value",
            r#"type: Invalid value: "": must be Normal or Warning"#
        ]
    );
    let causes = causes("", "Event", json!({"eventTime": "2020-01-01T00:00:00.000000Z"}));
    assert_eq!(causes.len(), 5);
    assert_eq!(causes[0], "reportingComponent: Required value");
}

fn newer() -> Value {
    json!({"metadata": {"namespace": "default"}, "eventTime": "2020-01-01T00:00:00.000000Z", "type": "Normal",
        "reportingController": "a.b/c", "reportingInstance": "i", "action": "x", "reason": "r", "note": "n",
        "regarding": {"kind": "Drone", "namespace": "default"}})
}

fn with(mut event: Value, key: &str, value: Value) -> Value {
    event[key] = value;
    event
}

#[test]
fn words_of_a_new_event_have_a_length() {
    for key in ["reportingInstance", "action", "reason"] {
        let long = |count: usize| causes("events.k8s.io", "Event", with(newer(), key, "x".repeat(count).into()));
        assert_eq!(long(128), [""; 0]);
        assert_eq!(
            long(129),
            [format!("{key}: Invalid value: must have at most 128 bytes")]
        );
    }
}

#[test]
fn an_event_about_what_has_no_namespace_is_stored_in_the_default_one() {
    let event = |namespace: &str, time: Value| {
        let event = json!({"metadata": {"namespace": namespace}, "eventTime": time, "reportingComponent": "c",
            "reportingInstance": "i", "action": "a", "reason": "r", "involvedObject": {"kind": "Node"}});
        causes("", "Event", event)
    };
    let time = json!("2020-01-01T00:00:00.000000Z");
    let refused = [r#"involvedObject.namespace: Invalid value: "": must be the namespace of the Event"#];
    assert_eq!(event("default", Value::Null), [""; 0]);
    assert_eq!(event("default", time.clone()), [""; 0]);
    assert_eq!(event("kube-system", Value::Null), refused);
    assert_eq!(event("kube-system", time.clone()), [""; 0]);
    assert_eq!(event("hangar", Value::Null), refused);
    assert_eq!(event("hangar", time), refused);
}

#[test]
fn names_of_namespaces_are_labels_and_those_of_old_events_are_free() {
    let rule = |group: &str, kind: &str, object: Value| name_rule(&resource(group, kind), &object);
    assert_eq!(rule("", "Namespace", json!({})), NameRule::Label);
    assert_eq!(rule("", "Node", json!({})), NameRule::Subdomain);
    assert_eq!(rule("", "Event", json!({})), NameRule::PathSegment);
    assert_eq!(rule("", "Event", json!({"eventTime": "x"})), NameRule::Subdomain);
    assert_eq!(rule("events.k8s.io", "Event", json!({})), NameRule::Subdomain);
}

#[test]
fn a_built_in_object_is_read_by_its_types_and_judged_by_its_rules() {
    let mut node = resource("", "Node");
    let schema = json!({"type": "object", "properties": {
        "apiVersion": {"type": "string"}, "kind": {"type": "string"},
        "spec": {"type": "object", "properties": {"unschedulable": {"type": "boolean"}}}}});
    node.schema = Arc::new(Schema::parse(&schema).unwrap());
    let checker = Checker::new(&node).unwrap();
    let object =
        |spec: Value| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "x": 1}, "spec": spec});
    let read = checker.read(object(json!({"foo": 1, "unschedulable": null}))).unwrap();
    assert_eq!(
        read.unknown,
        [r#"unknown field "metadata.x""#, r#"unknown field "spec.foo""#]
    );
    assert_eq!(read.value["spec"], json!({}));
    assert_eq!(checker.check(&read.value, None, Subject::Main), Ok(Vec::new()));
    let rejection = checker.read(object(json!({"unschedulable": "x"}))).unwrap_err();
    assert_eq!(
        rejection.refusal(&node, "n").message,
        "Node in version \"v1\" cannot be handled as a Node: spec.unschedulable: must be of type boolean"
    );
}
