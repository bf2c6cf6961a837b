//! Tests of reading CustomResourceDefinitions.

use super::*;
use std::error::Error as _;

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.sea.dev", "labels": {"a": "b"}},
        "spec": {
            "group": "sea.dev", "scope": "Namespaced",
            "names": {"plural": "boats", "kind": "Boat", "shortNames": ["bo"], "categories": ["afloat"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "description": "A boat."}},
                "subresources": {"status": {}, "scale": {
                    "specReplicasPath": ".spec.crew", "statusReplicasPath": ".status.crew",
                    "labelSelectorPath": ".status.selector"}},
                "additionalPrinterColumns": [
                    {"name": "Crew", "type": "integer", "jsonPath": ".spec.crew", "priority": 1}],
                "selectableFields": [{"jsonPath": ".spec.harbour"}],
            }],
        },
    })
}

fn broken(change: impl FnOnce(&mut Value)) -> CrdError {
    let mut document = definition();
    change(&mut document);
    resources(&document).expect_err("it is broken")
}

#[test]
fn a_definition_becomes_a_kind_with_the_names_that_were_left_out() {
    let kinds = resources(&definition()).expect("well formed");
    let [boat] = kinds.as_slice() else {
        panic!("one version is served: {kinds:?}")
    };
    assert_eq!((boat.singular.as_str(), boat.list_kind.as_str()), ("boat", "BoatList"));
    assert_eq!(boat.qualified(), "boats.sea.dev");
    assert!(boat.namespaced && boat.custom && boat.has_status);
    assert_eq!(
        boat.scale.as_ref().map(|scale| scale.spec_replicas.as_str()),
        Some(".spec.crew")
    );
    assert_eq!(boat.selectable_fields, ["spec.harbour"]);
    assert_eq!((boat.columns[0].name.as_str(), boat.columns[0].priority), ("Crew", 1));
    assert_eq!(boat.schema.description, "A boat.");
    assert_eq!(boat.verbs.len(), 8);
}

#[test]
fn only_served_versions_become_kinds_and_all_share_their_storage() {
    let mut document = definition();
    let version = document["spec"]["versions"][0].clone();
    for (name, served) in [("v2", true), ("v0", false)] {
        let mut other = version.clone();
        other["name"] = name.into();
        other["served"] = served.into();
        other["storage"] = false.into();
        document["spec"]["versions"].as_array_mut().expect("a list").push(other);
    }
    let kinds = resources(&document).expect("well formed");
    let versions: Vec<&str> = kinds.iter().map(|kind| kind.version.as_str()).collect();
    assert_eq!(versions, ["v1", "v2"]);
    assert!(kinds.iter().all(|kind| &*kind.storage == "boats.sea.dev"));
}

#[test]
fn the_served_document_is_established_and_keeps_what_the_file_said() {
    let now: Timestamp = "2026-11-21T04:47:44.5Z".parse().expect("a time");
    let served = as_served(&definition(), "some-uid", now).expect("well formed");
    assert_eq!(served["metadata"]["labels"]["a"], "b");
    assert_eq!(served["metadata"]["uid"], "some-uid");
    assert_eq!(served["metadata"]["creationTimestamp"], "2026-11-21T04:47:44Z");
    assert_eq!(served["spec"]["conversion"], json!({"strategy": "None"}));
    assert_eq!(
        served["status"]["acceptedNames"],
        json!({"plural": "boats", "kind": "Boat", "singular": "boat", "listKind": "BoatList",
               "shortNames": ["bo"], "categories": ["afloat"]})
    );
    let conditions = served["status"]["conditions"].as_array().expect("a list");
    let states: Vec<_> = conditions
        .iter()
        .map(|each| (each["type"].as_str(), each["status"].as_str()))
        .collect();
    assert_eq!(
        states,
        [
            (Some("NamesAccepted"), Some("True")),
            (Some("Established"), Some("True"))
        ]
    );
    assert_eq!(served["status"]["storedVersions"], json!(["v1"]));
}

#[test]
fn each_mistake_is_reported_with_what_to_change() {
    let message = |error: CrdError| error.to_string();
    let other = broken(|document| document["kind"] = "Swarm".into());
    assert_eq!(
        message(other),
        "a document of kind Swarm and apiVersion apiextensions.k8s.io/v1 is not a CustomResourceDefinition of \
         apiextensions.k8s.io/v1; give a file that holds one"
    );
    type Change = fn(&mut Value);
    let changes: [(Change, &str); 6] = [
        (
            |document| document["metadata"]["name"] = "boats".into(),
            "boats.sea.dev",
        ),
        (
            |document| document["spec"]["scope"] = "Global".into(),
            "spec.scope is \"Global\"",
        ),
        (
            |document| document["spec"]["versions"][0]["storage"] = false.into(),
            "0 versions",
        ),
        (
            |document| document["spec"]["versions"][0]["served"] = false.into(),
            "served: true",
        ),
        (
            |document| document["spec"]["conversion"] = json!({"strategy": "Webhook"}),
            "webhook",
        ),
        (
            |document| document["spec"]["versions"][0]["schema"] = json!({}),
            "version v1 has no schema",
        ),
    ];
    for (change, what) in changes {
        let error = message(broken(change));
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn a_missing_field_is_named() {
    let error = broken(|document| {
        document["spec"].as_object_mut().expect("an object").remove("group");
    });
    let source = error.source().expect("says which field").to_string();
    assert!(source.contains("group"), "{source}");
}

#[test]
fn a_whole_number_is_the_same_however_the_file_writes_it() {
    let mut document = definition();
    let schema = &mut document["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    *schema = json!({"type": "object", "properties": {
        "length": {"type": "number", "default": 10.0}, "width": {"type": "number", "default": 2.5}}});
    let kinds = resources(&document).expect("well formed");
    assert_eq!(kinds[0].schema.properties["length"].default, Some(json!(10)));
    assert_eq!(kinds[0].schema.properties["width"].default, Some(json!(2.5)));
}
