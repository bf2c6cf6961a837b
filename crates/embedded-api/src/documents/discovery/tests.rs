//! Tests of the discovery documents.
//!
//! Owns: the expected documents. Must not: need a server.

use super::*;
use crate::kinds::custom;

fn definition(versions: &[&str]) -> Value {
    let version = |(index, name): (usize, &&str)| {
        json!({
            "name": name, "served": true, "storage": index == 0, "schema": {"openAPIV3Schema": {"type": "object"}},
            "subresources": {"status": {}, "scale": {
                "specReplicasPath": ".spec.crew", "statusReplicasPath": ".status.crew"}},
        })
    };
    let versions: Vec<Value> = versions.iter().enumerate().map(version).collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.sea.dev"},
        "spec": {
            "group": "sea.dev", "scope": "Namespaced", "versions": versions,
            "names": {"plural": "boats", "kind": "Boat", "shortNames": ["bo"], "categories": ["afloat"]},
        },
    })
}

fn registry(versions: &[&str]) -> Registry {
    let boats = custom::resources(&definition(versions)).expect("well formed");
    Registry::new(boats).expect("no kind twice")
}

#[test]
fn a_custom_kind_is_listed_with_its_subresources() {
    let verbs = [
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "create",
        "update",
        "watch",
    ];
    let some = ["get", "patch", "update"];
    assert_eq!(
        resources(&registry(&["v1"]), "sea.dev", "v1"),
        Some(json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "sea.dev/v1", "resources": [
                {"name": "boats", "singularName": "boat", "namespaced": true, "kind": "Boat", "verbs": verbs,
                 "shortNames": ["bo"], "categories": ["afloat"]},
                {"name": "boats/status", "singularName": "", "namespaced": true, "kind": "Boat", "verbs": some},
                {"name": "boats/scale", "singularName": "", "namespaced": true, "group": "autoscaling",
                 "version": "v1", "kind": "Scale", "verbs": some},
            ],
        }))
    );
}

#[test]
fn the_core_group_lists_what_is_served_of_it() {
    let core = resources(&registry(&["v1"]), "", "v1").expect("served");
    assert_eq!(core["groupVersion"], "v1");
    let names: Vec<_> = core["resources"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|kind| kind["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "events",
            "namespaces",
            "namespaces/status",
            "nodes",
            "nodes/status",
            "pods"
        ]
        .map(Some)
    );
}

#[test]
fn what_is_not_served_has_no_document() {
    let registry = registry(&["v1"]);
    assert_eq!(resources(&registry, "apps", "v1"), None);
    assert_eq!(resources(&registry, "sea.dev", "v2"), None);
    assert_eq!(group(&registry, "apps"), None);
    assert_eq!(group(&registry, ""), None);
}

#[test]
fn a_stable_version_is_preferred_to_a_newer_beta() {
    let group = group(&registry(&["v1beta2", "v1", "v1beta1", "v2alpha1"]), "sea.dev").expect("served");
    let versions: Vec<_> = group["versions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|each| each["version"].as_str())
        .collect();
    assert_eq!(versions, ["v1", "v1beta2", "v1beta1", "v2alpha1"].map(Some));
    assert_eq!(
        group["preferredVersion"],
        json!({"groupVersion": "sea.dev/v1", "version": "v1"})
    );
    assert_eq!(
        (&group["kind"], &group["apiVersion"]),
        (&json!("APIGroup"), &json!("v1"))
    );
}

#[test]
fn all_groups_but_the_core_one_are_listed() {
    let registry = registry(&["v1"]);
    let document = groups(&registry);
    let names: Vec<_> = document["groups"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|group| group["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "apiextensions.k8s.io",
            "authentication.k8s.io",
            "authorization.k8s.io",
            "coordination.k8s.io",
            "events.k8s.io",
            "sea.dev"
        ]
        .map(Some)
    );
    assert_eq!(core_versions(&registry)["versions"], json!(["v1"]));
}

#[test]
fn the_aggregated_form_has_the_same_in_one_document() {
    let registry = registry(&["v1"]);
    let (document, tag) = aggregated(&registry, false);
    let groups = document["items"].as_array().expect("a list");
    let sea = groups
        .iter()
        .find(|group| group["metadata"]["name"] == "sea.dev")
        .expect("served");
    let boats = &sea["versions"][0]["resources"][0];
    assert_eq!(
        boats["responseKind"],
        json!({"group": "sea.dev", "version": "v1", "kind": "Boat"})
    );
    assert_eq!(boats["scope"], "Namespaced");
    assert_eq!(boats["subresources"][1]["responseKind"]["group"], "autoscaling");
    let (core, core_tag) = aggregated(&registry, true);
    assert_eq!(core["items"].as_array().map(Vec::len), Some(1));
    assert_eq!(core["items"][0]["metadata"], json!({}));
    assert_ne!(tag, core_tag);
    assert!(tag.starts_with('"') && tag.ends_with('"'));
}

#[test]
fn the_version_is_one_that_clients_can_read() {
    let version = version();
    let text = version["gitVersion"].as_str().expect("a text");
    let numbers = text.trim_start_matches('v').split(['.', '+']).take(2);
    let said = [&version["major"], &version["minor"]].map(|part| part.as_str().expect("a text"));
    assert!(numbers.eq(said));
}
