//! Tests of the registry and of the two forms of an object.

use super::*;
use serde_json::json;

fn boats(version: &str, storage: bool) -> Value {
    json!({"name": version, "served": true, "storage": storage, "schema": {"openAPIV3Schema": {"type": "object"}}})
}

fn custom(versions: &[Value]) -> Vec<Resource> {
    let document = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.sea.dev"},
        "spec": {
            "group": "sea.dev", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
            "versions": versions,
        },
    });
    custom::resources(&document).expect("well formed")
}

#[test]
fn a_kind_is_found_by_group_version_and_plural() {
    let registry = Registry::new(custom(&[boats("v1", true)])).expect("no kind twice");
    assert_eq!(
        registry.find("sea.dev", "v1", "boats").map(|kind| kind.kind.as_str()),
        Some("Boat")
    );
    assert_eq!(
        registry.find("", "v1", "nodes").map(|kind| kind.kind.as_str()),
        Some("Node")
    );
    for (group, version, plural) in [
        ("", "v1", "boats"),
        ("sea.dev", "v2", "boats"),
        ("sea.dev", "v1", "boat"),
    ] {
        assert!(registry.find(group, version, plural).is_none());
    }
}

#[test]
fn a_kind_that_is_defined_twice_is_refused() {
    let mut twice = custom(&[boats("v1", true)]);
    twice.extend(custom(&[boats("v1", true)]));
    let error = Registry::new(twice).expect_err("twice");
    assert_eq!(
        error.to_string(),
        "boats.sea.dev/v1 is defined twice; leave one of the definitions out"
    );
}

#[test]
fn every_kind_can_be_printed() {
    let registry = Registry::new(custom(&[boats("v1", true)])).expect("no kind twice");
    assert!(registry.iter().all(|kind| registry.printer(kind).is_some()));
}

#[test]
fn only_a_kind_with_one_view_is_sent_as_it_is_stored() {
    let one = Registry::new(custom(&[boats("v1", true)])).expect("no kind twice");
    let as_stored = |registry: &Registry, group: &str, version: &str, plural: &str| {
        let kind = registry.find(group, version, plural).expect("served");
        registry.stored_as_shown(kind)
    };
    assert!(as_stored(&one, "sea.dev", "v1", "boats"));
    assert!(as_stored(&one, "", "v1", "nodes"));
    assert!(!as_stored(&one, "", "v1", "events"));
    assert!(!as_stored(&one, "events.k8s.io", "v1", "events"));
    let two = Registry::new(custom(&[boats("v1", true), boats("v2", false)])).expect("no kind twice");
    assert!(!as_stored(&two, "sea.dev", "v1", "boats"));
}

#[test]
fn a_custom_object_shows_the_version_in_which_it_was_requested() {
    let two = custom(&[boats("v1", true), boats("v2", false)]);
    let stored = json!({"apiVersion": "sea.dev/v1", "kind": "Boat", "spec": {"crew": null}});
    let shown = to_shown(&two[1], stored.clone());
    assert_eq!(shown["apiVersion"], "sea.dev/v2");
    assert_eq!(to_shown(&two[0], stored.clone()), stored);
    assert_eq!(
        to_stored(&two[0], stored.clone()),
        stored,
        "custom objects stay as they are"
    );
}

#[test]
fn an_event_is_one_object_with_two_representations() {
    let registry = Registry::new(Vec::new()).expect("no kind twice");
    let newer = registry.find("events.k8s.io", "v1", "events").expect("served");
    let core = registry.find("", "v1", "events").expect("served");
    let sent = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e", "creationTimestamp": null},
        "note": "low", "regarding": {"kind": "Drone"},
    });
    let stored = to_stored(newer, sent);
    assert_eq!(stored["metadata"], json!({"name": "e"}));
    assert_eq!(to_shown(core, stored.clone())["message"], "low");
    assert_eq!(to_shown(newer, stored)["note"], "low");
}

#[test]
fn built_in_objects_are_completed() {
    let registry = Registry::new(Vec::new()).expect("no kind twice");
    let lease = registry.find("coordination.k8s.io", "v1", "leases").expect("served");
    assert_eq!(to_stored(lease, json!({"metadata": {}}))["spec"], json!({}));
    let node = registry.find("", "v1", "nodes").expect("served");
    assert_eq!(to_stored(node, json!({}))["status"]["nodeInfo"]["osImage"], "");
}
