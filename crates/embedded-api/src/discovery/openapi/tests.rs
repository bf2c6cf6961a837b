//! Tests of the OpenAPI documents.

use super::*;
use crate::kinds::{REFERENCE, custom};
use std::collections::BTreeSet;

fn registry() -> Registry {
    let document = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.sea.dev"},
        "spec": {
            "group": "sea.dev", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {
                    "specReplicasPath": ".spec.crew", "statusReplicasPath": ".status.crew"}},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "description": "A boat.", "required": ["spec"],
                    "properties": {"spec": {
                        "type": "object", "description": "What it is.",
                        "properties": {
                            "crew": {"type": "integer", "description": "How many.", "minimum": 1, "default": 2},
                            "flags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]},
                                      "x-kubernetes-list-type": "set"},
                            "notes": {"type": "object", "additionalProperties": {"type": "string"}},
                        }}},
                }},
            }],
        },
    });
    Registry::new(custom::resources(&document).expect("well formed")).expect("no kind twice")
}

fn read(bytes: &Bytes) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

fn boats() -> Value {
    read(&OpenApi::new(&registry()).document("apis/sea.dev/v1").expect("served"))
}

#[test]
fn the_index_links_to_each_document_by_its_content() {
    let openapi = OpenApi::new(&registry());
    let index = read(&openapi.index());
    let paths = index["paths"].as_object().expect("an object");
    assert!(paths.contains_key("api/v1") && paths.contains_key("apis/sea.dev/v1"));
    for (path, link) in paths {
        let document = openapi.document(path).expect("what is linked is there");
        let wanted = format!("/openapi/v3/{path}?hash={}", fingerprint::of(&document));
        assert_eq!(link["serverRelativeURL"], wanted);
    }
    assert_eq!(openapi.document("apis/apps/v1"), None);
}

#[test]
fn every_reference_in_every_document_leads_somewhere() {
    fn references(value: &Value, into: &mut BTreeSet<String>) {
        match value {
            Value::Object(fields) => {
                if let Some(link) = fields.get("$ref").and_then(Value::as_str) {
                    into.insert(link.to_owned());
                    assert_eq!(fields.len(), 1, "a reference stands alone: {link}");
                }
                fields.values().for_each(|each| references(each, into));
            }
            Value::Array(items) => items.iter().for_each(|each| references(each, into)),
            _ => {}
        }
    }
    let openapi = OpenApi::new(&registry());
    for path in read(&openapi.index())["paths"].as_object().expect("an object").keys() {
        let document = read(&openapi.document(path).expect("linked"));
        let mut links = BTreeSet::new();
        references(&document, &mut links);
        assert!(!links.is_empty(), "{path}");
        for link in links {
            let name = link.strip_prefix(REFERENCE).expect("a schema");
            assert!(document["components"]["schemas"].get(name).is_some(), "{path}: {name}");
        }
    }
}

#[test]
fn a_custom_kind_is_described_as_its_definition_describes_it() {
    let document = boats();
    let boat = &document["components"]["schemas"]["dev.sea.v1.Boat"];
    assert_eq!(boat["description"], "A boat.");
    assert_eq!(boat["required"], json!(["spec"]));
    assert_eq!(
        boat["properties"]["spec"],
        json!({
            "type": "object", "description": "What it is.",
            "properties": {
                "crew": {"type": "integer", "description": "How many.", "minimum": 1, "default": 2},
                "flags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]},
                          "x-kubernetes-list-type": "set"},
                "notes": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        })
    );
    assert_eq!(
        boat["properties"]["metadata"]["allOf"],
        json!([{"$ref": format!("{REFERENCE}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")}])
    );
    assert_eq!(
        boat["x-kubernetes-group-version-kind"],
        json!([{"group": "sea.dev", "version": "v1", "kind": "Boat"}])
    );
    let list = &document["components"]["schemas"]["dev.sea.v1.BoatList"];
    assert_eq!(
        list["properties"]["items"]["items"]["$ref"],
        format!("{REFERENCE}dev.sea.v1.Boat")
    );
}

#[test]
fn clients_find_out_that_they_may_ask_for_validation_and_dry_runs() {
    let document = boats();
    let item = &document["paths"]["/apis/sea.dev/v1/namespaces/{namespace}/boats/{name}"];
    let patch = &item["patch"];
    assert_eq!(patch["x-kubernetes-action"], "patch");
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({"group": "sea.dev", "version": "v1", "kind": "Boat"})
    );
    let named = |operation: &Value| -> Vec<String> {
        let all = operation["parameters"].as_array().expect("a list").iter();
        all.map(|each| each["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    assert_eq!(named(patch), ["dryRun", "fieldManager", "fieldValidation", "force"]);
    assert_eq!(named(&item["put"]), ["dryRun", "fieldManager", "fieldValidation"]);
}

#[test]
fn only_built_in_kinds_offer_strategic_merge_patches() {
    let form = "application/strategic-merge-patch+json";
    let custom = boats();
    let custom = &custom["paths"]["/apis/sea.dev/v1/namespaces/{namespace}/boats/{name}"]["patch"]["requestBody"];
    assert!(custom["content"].get("application/merge-patch+json").is_some());
    assert!(custom["content"].get(form).is_none());
    let core = read(&OpenApi::new(&registry()).document("api/v1").expect("served"));
    let node = &core["paths"]["/api/v1/nodes/{name}"]["patch"]["requestBody"];
    assert!(node["content"].get(form).is_some());
}

#[test]
fn a_kind_has_the_paths_of_its_scope_and_its_subresources() {
    let document = boats();
    let paths: Vec<&str> = document["paths"]
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        paths,
        [
            "/apis/sea.dev/v1/boats",
            "/apis/sea.dev/v1/namespaces/{namespace}/boats",
            "/apis/sea.dev/v1/namespaces/{namespace}/boats/{name}",
            "/apis/sea.dev/v1/namespaces/{namespace}/boats/{name}/scale",
            "/apis/sea.dev/v1/namespaces/{namespace}/boats/{name}/status",
        ]
    );
    let item = &document["paths"]["/apis/sea.dev/v1/namespaces/{namespace}/boats/{name}"]["parameters"];
    assert_eq!(item.as_array().map(Vec::len), Some(2));
    let core = read(&OpenApi::new(&registry()).document("api/v1").expect("served"));
    assert_eq!(core["paths"]["/api/v1/namespaces/{namespace}/nodes"], Value::Null);
}

#[test]
fn what_is_not_served_is_not_described() {
    let core = read(&OpenApi::new(&registry()).document("api/v1").expect("served"));
    let pods = &core["paths"]["/api/v1/namespaces/{namespace}/pods"];
    assert!(pods.get("get").is_some() && pods.get("post").is_none() && pods.get("delete").is_none());
    let reviews = read(
        &OpenApi::new(&registry())
            .document("apis/authorization.k8s.io/v1")
            .expect("served"),
    );
    let paths: Vec<&str> = reviews["paths"]
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(
        paths,
        [
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
        ]
    );
}

#[test]
fn built_in_kinds_declare_how_their_lists_merge() {
    let core = read(&OpenApi::new(&registry()).document("api/v1").expect("served"));
    let schemas = &core["components"]["schemas"];
    let conditions = &schemas["io.k8s.api.core.v1.NodeStatus"]["properties"]["conditions"];
    assert_eq!(conditions["x-kubernetes-patch-merge-key"], "type");
    assert_eq!(conditions["x-kubernetes-list-map-keys"], json!(["type"]));
    let quantity = &schemas["io.k8s.apimachinery.pkg.api.resource.Quantity"];
    assert_eq!(quantity["oneOf"], json!([{"type": "string"}, {"type": "number"}]));
}
