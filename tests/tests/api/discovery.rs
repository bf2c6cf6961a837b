//! Discovery of the API by a client.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::both;

const CORE: [&str; 6] = [
    "events",
    "namespaces",
    "namespaces/status",
    "nodes",
    "nodes/status",
    "pods",
];

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

fn only(mut document: Value, list: &str, name: &str, wanted: &[&str]) -> Value {
    let mut all = document[list].as_array().cloned().unwrap_or_default();
    all.retain(|entry| wanted.iter().any(|wanted| entry[name] == *wanted));
    all.sort_by_key(|entry| entry[name].to_string());
    document[list] = all.into();
    document
}

/// Hashes distinguish versions of documents and mean nothing else, like the order of custom resources, which differs
/// from one start of a real server to the next.
fn without_hashes(mut document: Value) -> Value {
    if let Some(all) = document["resources"].as_array_mut() {
        all.sort_by_key(|resource| resource["name"].to_string());
    }
    for resource in document["resources"].as_array_mut().into_iter().flatten() {
        if resource["storageVersionHash"].is_string() {
            resource["storageVersionHash"] = "<hash>".into();
        }
    }
    document
}

#[test]
fn the_resources_of_skein_are_discovered() {
    both(|s| {
        s.request("GET", "/apis/skein.dev/v1alpha1").send_and(without_hashes);
        s.get("/apis/skein.dev");
        s.request("GET", "/apis").send_and(|groups| {
            only(
                groups,
                "groups",
                "name",
                &["skein.dev", "coordination.k8s.io", "events.k8s.io"],
            )
        });
    });
}

#[test]
fn the_resources_of_the_core_are_discovered() {
    both(|s| {
        s.get("/api");
        s.request("GET", "/api/v1")
            .send_and(|list| only(without_hashes(list), "resources", "name", &CORE));
        s.request("GET", "/apis/coordination.k8s.io/v1")
            .send_and(without_hashes);
        s.request("GET", "/apis/events.k8s.io/v1").send_and(without_hashes);
        s.request("GET", "/apis/apiextensions.k8s.io/v1")
            .send_and(without_hashes);
        s.get("/apis/events.k8s.io");
    });
}

#[test]
fn all_groups_are_discovered_in_one_document() {
    both(|s| {
        let wanted = ["skein.dev", "events.k8s.io"];
        let groups = |document: Value| {
            let mut all = document["items"].as_array().cloned().unwrap_or_default();
            all.retain(|group| wanted.iter().any(|name| group["metadata"]["name"] == *name));
            for group in &mut all {
                if let Some(resources) = group["versions"][0]["resources"].as_array_mut() {
                    resources.sort_by_key(|resource| resource["resource"].to_string());
                }
                group["metadata"].as_object_mut().unwrap().remove("creationTimestamp");
            }
            all.sort_by_key(|group| group["metadata"]["name"].to_string());
            json!({"kind": document["kind"], "apiVersion": document["apiVersion"], "items": all})
        };
        s.request("GET", "/apis").accept(AGGREGATED).send_and(groups);
        s.request("GET", "/api").accept(AGGREGATED).send_and(|mut document| {
            let version = &mut document["items"][0]["versions"][0];
            let core = only(
                version.take(),
                "resources",
                "resource",
                &["events", "namespaces", "nodes"],
            );
            json!({"kind": document["kind"], "version": core})
        });
        s.request("GET", "/apis")
            .accept("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json")
            .send_and(groups);
    });
}

#[test]
fn the_version_has_its_fields() {
    both(|s| {
        let keys = |body: Value| {
            let keys: BTreeSet<String> = body
                .as_object()
                .map(|map| map.keys().cloned().collect())
                .unwrap_or_default();
            json!({"keys": keys, "major": body["major"], "minor": body["minor"]})
        };
        s.request("GET", "/version").send_and(keys);
    });
}

#[test]
fn health_is_reported_with_a_credential() {
    both(|s| {
        for path in ["/healthz", "/livez", "/readyz", "/readyz/ping"] {
            s.get(path);
        }
    });
}

#[test]
fn openapi_documents_are_listed_and_read() {
    both(|s| {
        s.request("GET", "/openapi/v3").send_and(|document| {
            let wanted = [
                "api/v1",
                "apis/skein.dev/v1alpha1",
                "apis/coordination.k8s.io/v1",
                "apis/events.k8s.io/v1",
            ];
            wanted
                .map(|path| json!([path, document["paths"][path]["serverRelativeURL"].is_string()]))
                .into()
        });
        s.request("GET", "/openapi/v3/apis/skein.dev/v1alpha1")
            .send_and(|document| document["components"]["schemas"]["dev.skein.v1alpha1.Drone"].clone());
        s.request("GET", "/openapi/v3/apis/skein.dev/v1alpha1")
            .send_and(|document| document["components"]["schemas"]["dev.skein.v1alpha1.Swarm"].clone());
        s.request("GET", "/openapi/v3/apis/nobody.dev/v1")
            .send_and(|_| Value::Null);
        s.request("GET", "/openapi/v3/apis/skein.dev/v1alpha1")
            .send_and(|document| {
                let paths: BTreeSet<&String> = document["paths"]
                    .as_object()
                    .map(|map| map.keys().collect())
                    .unwrap_or_default();
                json!(paths)
            });
    });
}

#[test]
fn the_custom_resource_definitions_can_be_read() {
    both(|s| {
        let part = |document: Value| {
            let version = &document["spec"]["versions"][0];
            json!({"kind": document["kind"], "name": document["metadata"]["name"], "names": document["spec"]["names"], "scope": document["spec"]["scope"],
                "columns": version["additionalPrinterColumns"], "subresources": version["subresources"], "selectable": version["selectableFields"],
                "schema": version["schema"], "stored": document["status"]["storedVersions"], "accepted": document["status"]["acceptedNames"]})
        };
        s.request(
            "GET",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/drones.skein.dev",
        )
        .send_and(part);
        s.request(
            "GET",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/swarms.skein.dev",
        )
        .send_and(part);
        s.request("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
            .send_and(|list| {
                let items = list["items"].as_array().cloned().unwrap_or_default();
                items.iter().map(|item| item["metadata"]["name"].clone()).collect()
            });
    });
}

#[test]
fn a_person_may_ask_who_they_are_and_what_they_may() {
    both(|s| {
        let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {"group": "skein.dev", "resource": "drones", "verb": "create", "namespace": "default"}}});
        s.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
            .json(&review)
            .send_and(|body| json!({"kind": body["kind"], "spec": body["spec"], "allowed": body["status"]["allowed"]}));
        let rules = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"}});
        s.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews").json(&rules).send_and(|body| {
            let all = body["status"]["resourceRules"].as_array().cloned().unwrap_or_default();
            json!({"kind": body["kind"], "everything": all.iter().any(|rule| rule["verbs"] == json!(["*"]) && rule["resources"] == json!(["*"]))})
        });
        let who = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
        s.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews")
            .json(&who)
            .send_and(
                |body| json!({"kind": body["kind"], "named": body["status"]["userInfo"]["username"].is_string()}),
            );
    });
}

#[test]
fn paths_may_end_with_a_slash() {
    both(|s| {
        for path in [
            "/api/",
            "/apis/",
            "/apis/skein.dev/",
            "/apis/skein.dev/v1alpha1/",
            "/version/",
            "/healthz/",
            "/",
        ] {
            let path = path.to_owned();
            s.request("GET", path).send_and(|body| body["kind"].clone());
        }
    });
}
