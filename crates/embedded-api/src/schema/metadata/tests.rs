//! Rules of metadata, against the answers of an API server.

use super::*;
use crate::schema::cause::line;
use serde_json::json;

fn causes(meta: Value) -> Vec<String> {
    let mut meta = meta;
    meta["namespace"] = "default".into();
    let causes = check(&meta, NameRule::Subdomain, true);
    causes.iter().map(line).collect()
}

fn causes_of_update(meta: Value, old: Value) -> Vec<String> {
    check_update(&meta, &old).iter().map(line).collect()
}

#[test]
fn good_metadata_passes() {
    let meta = json!({
        "name": "x", "generateName": "x-", "labels": {"a/b": "c", "d": ""}, "annotations": {"UP": "any thing"},
        "finalizers": ["a.b/c", "a.b/c"], "managedFields": [{"manager": "m", "operation": "Apply", "fieldsType": "FieldsV1"}],
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "1", "controller": true}],
    });
    assert_eq!(causes(meta), [""; 0]);
}

#[test]
fn a_name_is_required() {
    assert_eq!(
        causes(json!({})),
        ["metadata.name: Required value: name or generateName is required"]
    );
}

#[test]
fn both_a_bad_prefix_and_the_name_made_of_it_are_reported() {
    let causes = causes(json!({"generateName": "UP-", "name": "UP-flz4b"}));
    assert_eq!(causes.len(), 2);
    assert!(causes[0].starts_with(r#"metadata.generateName: Invalid value: "UP-": "#));
    assert!(causes[1].starts_with(r#"metadata.name: Invalid value: "UP-flz4b": "#));
}

#[test]
fn kinds_without_namespaces_have_none() {
    let causes = check(&json!({"name": "x", "namespace": "y"}), NameRule::Subdomain, false);
    assert_eq!(
        causes.iter().map(line).collect::<Vec<_>>(),
        ["metadata.namespace: Forbidden: not allowed on this type"]
    );
    let causes = check(&json!({"name": "x"}), NameRule::Subdomain, true);
    assert_eq!(
        causes.iter().map(line).collect::<Vec<_>>(),
        ["metadata.namespace: Required value"]
    );
}

#[test]
fn annotations_have_a_size_together() {
    let annotations = |size: usize| json!({"name": "x", "annotations": {"a": "x".repeat(size), "b": ""}});
    assert_eq!(causes(annotations(256 * 1024 - 2)), [""; 0]);
    assert_eq!(
        causes(annotations(256 * 1024 - 1)),
        ["metadata.annotations: Too long: may not be more than 262144 bytes"]
    );
}

#[test]
fn owners_need_all_their_fields_and_one_controls() {
    let field = "metadata.ownerReferences";
    assert_eq!(
        causes(json!({"name": "x", "ownerReferences": [{}]})),
        [
            format!("{field}.apiVersion: Invalid value: \"\": must not be empty"),
            format!("{field}.kind: Invalid value: \"\": must not be empty"),
            format!("{field}.name: Invalid value: \"\": must not be empty"),
            format!("{field}.uid: Invalid value: \"\": must not be empty"),
        ]
    );
    let owner = |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": true});
    assert_eq!(
        causes(json!({"name": "x", "ownerReferences": [owner("x"), owner("y")]})),
        ["metadata.ownerReferences: Invalid value: only one of them can have controller set to true"]
    );
    let event = json!({"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "1"});
    assert_eq!(
        causes(json!({"name": "x", "ownerReferences": [event]})),
        ["metadata.ownerReferences: Invalid value: an Event cannot be an owner"]
    );
}

#[test]
fn finalizers_are_names_and_do_not_contradict() {
    let bad = causes(json!({"name": "x", "finalizers": ["a b"]}));
    assert!(bad[0].starts_with(r#"metadata.finalizers: Invalid value: "a b": must"#));
    assert_eq!(
        causes(json!({"name": "x", "finalizers": ["orphan", "foregroundDeletion"]})),
        ["metadata.finalizers: Invalid value: orphan and foregroundDeletion cannot both be set"]
    );
}

#[test]
fn a_manager_applies_or_updates() {
    assert_eq!(
        causes(json!({"name": "x", "managedFields": [{"operation": "Foo", "fieldsType": "X"}]})),
        [
            r#"metadata.managedFields[0].operation: Invalid value: "Foo": must be Apply or Update"#,
            r#"metadata.managedFields[0].fieldsType: Invalid value: "X": must be FieldsV1"#,
        ]
    );
}

#[test]
fn what_an_update_cannot_change_is_as_it_was() {
    let old = json!({"name": "x", "uid": "1", "creationTimestamp": "2020-01-01T00:00:00Z", "generation": 3,
        "deletionTimestamp": "2021-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0});
    let mut meta =
        json!({"name": "x", "creationTimestamp": "2019-01-01T00:00:00Z", "generation": 77, "labels": {"a": "b"}});
    keep(&mut meta, &old);
    let mut wanted = old.clone();
    wanted["labels"] = json!({"a": "b"});
    assert_eq!(meta, wanted);
    assert_eq!(causes_of_update(meta, old), [""; 0]);
}

#[test]
fn an_update_neither_renames_nor_deletes() {
    let old = json!({"name": "x", "namespace": "a", "uid": "1"});
    let new = json!({"name": "y", "namespace": "b", "uid": "2", "deletionTimestamp": "2020-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 3});
    assert_eq!(
        causes_of_update(new, old),
        [
            r#"metadata.name: Invalid value: "y": field is immutable"#,
            r#"metadata.namespace: Invalid value: "b": field is immutable"#,
            r#"metadata.uid: Invalid value: "2": field is immutable"#,
            r#"metadata.deletionTimestamp: Invalid value: "2020-01-01T00:00:00Z": field is immutable"#,
            "metadata.deletionGracePeriodSeconds: Invalid value: 3: field is immutable",
        ]
    );
}

#[test]
fn a_deleting_object_gets_no_new_finalizers() {
    let old = json!({"finalizers": ["a.b/c"], "deletionTimestamp": "2020-01-01T00:00:00Z"});
    let mut new = old.clone();
    new["finalizers"] = json!(["a.b/c", "d.e/f"]);
    assert_eq!(
        causes_of_update(new, old.clone()),
        ["metadata.finalizers: Forbidden: none can be added while the object is being deleted: d.e/f"]
    );
    let mut fewer = old.clone();
    fewer["finalizers"] = json!([]);
    assert_eq!(causes_of_update(fewer, old), [""; 0]);
}

#[test]
fn finalizers_without_a_domain_are_warned_of_when_they_are_added() {
    let meta = json!({"finalizers": ["orphan", "foo.bar", "foo", "a/b"]});
    assert_eq!(
        finalizer_warnings(&meta, None),
        [
            r#"metadata.finalizers: "foo" should have a domain: example.com/name"#,
            r#"metadata.finalizers: "foo.bar" should have a domain: example.com/name"#,
        ]
    );
    assert_eq!(finalizer_warnings(&meta, Some(&meta)), [""; 0]);
}
