//! Metadata of every kind: names, labels, finalizers, owners.

use serde_json::{Value, json};

use crate::both;
use crate::objects::{NAMESPACES, NODES, drone, labeled, node, swarm, with};
use crate::session::MERGE;

#[test]
fn a_generated_name_has_five_random_characters() {
    both(|s| {
        s.random.push("north-".into());
        let object = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"generateName": "north-"}, "spec": {}});
        let one = s.post(s.drone(""), &object);
        let two = s.post(s.drone(""), &object);
        s.note(
            "different",
            json!(one.body["metadata"]["name"] != two.body["metadata"]["name"]),
        );
        let mut both = object.clone();
        both["metadata"]["name"] = json!("chosen");
        s.post(s.drone(""), &both);
        s.post(format!("{}?dryRun=All", s.drone("")), &object);
        let mut bad = object.clone();
        bad["metadata"]["generateName"] = json!("North_");
        s.random.push("North_".into());
        s.post(s.drone(""), &bad);
        let mut long = object;
        long["metadata"]["generateName"] = json!("n".repeat(253));
        s.random.push("n".repeat(200));
        let made = s.request("POST", s.drone("")).json(&long).quietly().send();
        s.note(
            "a long beginning is cut",
            json!([made.code, made.body["metadata"]["name"].as_str().map(str::len)]),
        );
    });
}

#[test]
fn a_namespace_with_a_generated_name_bears_it_as_a_label() {
    both(|s| {
        s.random.push("field-".into());
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "field-"}});
        let made = s.post(NAMESPACES, &object).body;
        let metadata = &made["metadata"];
        s.note(
            "the label",
            json!(metadata["name"] == metadata["labels"]["kubernetes.io/metadata.name"]),
        );
        s.post(format!("{NAMESPACES}?dryRun=All"), &object);
    });
}

#[test]
fn an_object_needs_a_name() {
    both(|s| {
        s.post(
            s.drone(""),
            &json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {}, "spec": {}}),
        );
        s.post(
            s.drone(""),
            &json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "spec": {}}),
        );
        s.post(NODES, &json!({"apiVersion": "v1", "kind": "Node", "metadata": {}}));
    });
}

#[test]
fn names_are_dns_names() {
    both(|s| {
        for name in ["North", "a_b", "-a", "a.", "a b", "a/b", "ä", &"a".repeat(254)] {
            s.post(s.drone(""), &drone(name, json!({})));
        }
        s.post(s.drone(""), &drone("a.b-c.d", json!({})));
        s.post(NODES, &node("North_1"));
        s.post(
            NAMESPACES,
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a.b"}}),
        );
        s.post(
            NAMESPACES,
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a".repeat(64)}}),
        );
    });
}

#[test]
fn labels_have_a_form() {
    both(|s| {
        let long = "x".repeat(64);
        for labels in [
            json!({"a b": "x"}),
            json!({"a/b/c": "x"}),
            json!({"-a": "x"}),
            json!({"": "x"}),
            json!({long.as_str(): "x"}),
            json!({"a": "x y"}),
            json!({"a": "-x"}),
            json!({"a": long}),
            json!({"A.B/c": "x"}),
            json!({"/a": "x"}),
        ] {
            s.post(s.drone(""), &labeled(drone("a", json!({})), labels));
        }
    });
}

#[test]
fn labels_and_annotations_are_text() {
    both(|s| {
        for value in [json!(1), json!(true), json!({"x": 1}), json!(["x"])] {
            s.post(s.drone(""), &labeled(drone("a", json!({})), json!({"a": value})));
            s.post(
                s.drone(""),
                &with(drone("a", json!({})), "annotations", json!({"a": value})),
            );
        }
        s.post(s.drone(""), &labeled(drone("null", json!({})), json!({"a": null})));
        s.post(s.drone(""), &labeled(drone("none", json!({})), Value::Null));
        s.post(s.drone(""), &labeled(drone("word", json!({})), json!("a=b")));
    });
}

#[test]
fn annotations_have_a_form_and_a_limit() {
    both(|s| {
        s.post(
            s.drone(""),
            &with(drone("a", json!({})), "annotations", json!({"a b": "x"})),
        );
        s.post(
            s.drone(""),
            &with(drone("a", json!({})), "annotations", json!({"Upper.Case/x": "x"})),
        );
        s.post(
            s.drone(""),
            &with(
                drone("b", json!({})),
                "annotations",
                json!({"a": "x".repeat(256 * 1024)}),
            ),
        );
    });
}

#[test]
fn finalizers_are_qualified_names() {
    both(|s| {
        for name in ["land first", "-x", "landed", ""] {
            s.post(s.drone(""), &with(drone("a", json!({})), "finalizers", json!([name])));
        }
        s.post(
            s.drone(""),
            &with(
                drone("b", json!({})),
                "finalizers",
                json!(["skein.dev/landed", "skein.dev/landed"]),
            ),
        );
        s.patch(MERGE, s.drone("b"), &json!({"metadata": {"finalizers": null}}));
    });
}

#[test]
fn owner_references_are_complete() {
    both(|s| {
        let whole = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "name": "x", "uid": "u-1"});
        for missing in ["apiVersion", "kind", "name", "uid"] {
            let mut reference = whole.clone();
            reference.as_object_mut().unwrap().remove(missing);
            s.post(
                s.drone(""),
                &with(drone("a", json!({})), "ownerReferences", json!([reference])),
            );
        }
        let controller = |uid: &str| json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "name": "x", "uid": uid, "controller": true});
        s.post(
            s.drone(""),
            &with(
                drone("a", json!({})),
                "ownerReferences",
                json!([controller("u-1"), controller("u-2")]),
            ),
        );
        let event = json!({"apiVersion": "v1", "kind": "Event", "name": "x", "uid": "u-1"});
        s.post(
            s.drone(""),
            &with(drone("a", json!({})), "ownerReferences", json!([event])),
        );
    });
}

#[test]
fn what_the_server_sets_cannot_be_chosen() {
    both(|s| {
        let mut object = swarm("a", json!({"replicas": 1}));
        object["metadata"]["uid"] = json!("11111111-2222-3333-4444-555555555555");
        object["metadata"]["creationTimestamp"] = json!("2001-02-03T04:05:06Z");
        object["metadata"]["deletionTimestamp"] = json!("2001-02-03T04:05:06Z");
        object["metadata"]["generation"] = json!(7);
        object["metadata"]["selfLink"] = json!("/x");
        object["status"] = json!({"replicas": 9});
        s.post(s.swarm(""), &object);
        s.post(s.swarm(""), &with(swarm("b", json!({})), "resourceVersion", json!("5")));
    });
}

#[test]
fn what_the_server_has_set_cannot_be_changed() {
    both(|s| {
        let path = s.swarm("a");
        s.given(s.swarm(""), &swarm("a", json!({"replicas": 1})));
        let status = json!({"status": {"replicas": 1}});
        let kept = s.patch(MERGE, s.swarm("a/status"), &status).body;
        let changed = |key: &str, value: Value| with(kept.clone(), key, value);
        s.put(&path, &changed("uid", json!("11111111-2222-3333-4444-555555555555")));
        s.put(&path, &changed("name", json!("b")));
        s.put(&path, &changed("namespace", json!("default")));
        s.put(&path, &changed("creationTimestamp", json!("2001-02-03T04:05:06Z")));
        s.put(&path, &changed("generation", json!(7)));
        s.put(&path, &changed("deletionTimestamp", json!("2001-02-03T04:05:06Z")));
        s.patch(
            MERGE,
            &path,
            &json!({"metadata": {"uid": "11111111-2222-3333-4444-555555555555"}}),
        );
        s.patch(MERGE, &path, &json!({"metadata": {"name": "b"}}));
        s.patch(
            MERGE,
            &path,
            &json!({"metadata": {"creationTimestamp": null, "uid": null, "generation": null}}),
        );
        s.get(&path);
    });
}

#[test]
fn the_namespace_of_the_body_is_that_of_the_path() {
    both(|s| {
        s.post(s.drone(""), &with(drone("a", json!({})), "namespace", json!("default")));
        s.post("/apis/skein.dev/v1alpha1/drones", &drone("a", json!({})));
        s.post(
            "/apis/skein.dev/v1alpha1/namespaces/nowhere/drones",
            &drone("a", json!({})),
        );
        let name = s.ns().to_owned();
        s.post(NODES, &with(node(&name), "namespace", json!("default")));
    });
}
