//! Tests of the discovery documents.

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
fn the_version_is_one_that_clients_can_read() {
    let version = version();
    let text = version["gitVersion"].as_str().expect("a text");
    let numbers = text.trim_start_matches('v').split(['.', '+']).take(2);
    let said = [&version["major"], &version["minor"]].map(|part| part.as_str().expect("a text"));
    assert!(numbers.eq(said));
}
