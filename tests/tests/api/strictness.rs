//! Malformed bodies, and how strictly they are checked.

use serde_json::json;

use crate::both;
use crate::objects::{NODES, drone, node, swarm};
use crate::session::{APPLY, JSON_PATCH, MERGE, STRATEGIC, Session};

fn with_unknown() -> serde_json::Value {
    let mut object = drone("a", json!({"speed": 5, "failsafe": {"siren": true}}));
    object["more"] = json!(1);
    object["metadata"]["colour"] = json!("red");
    object
}

#[test]
fn unknown_fields_are_warned_of_refused_or_ignored() {
    both(|s| {
        let path = s.drone("");
        for how in ["Strict", "Warn", "Ignore", "", "Guess"] {
            s.post(format!("{path}?fieldValidation={how}&dryRun=All"), &with_unknown());
        }
        s.post(&path, &with_unknown());
        for how in ["Strict", "Warn", "Ignore"] {
            let one = s.drone("a");
            s.patch(
                MERGE,
                format!("{one}?fieldValidation={how}"),
                &json!({"spec": {"speed": 7, "grounded": true}}),
            );
            s.patch(
                JSON_PATCH,
                format!("{one}?fieldValidation={how}"),
                &json!([{"op": "add", "path": "/spec/speed", "value": 7}]),
            );
            s.patch(
                APPLY,
                format!("{one}?fieldValidation={how}&fieldManager=me&force=true"),
                &drone("a", json!({"speed": 5})),
            );
            let mut kept = s.get(&one).body;
            kept["spec"]["speed"] = json!(9);
            s.put(format!("{one}?fieldValidation={how}"), &kept);
            s.patch(
                MERGE,
                format!("{}?fieldValidation={how}", s.drone("a/status")),
                &json!({"status": {"speed": 7}}),
            );
        }
    });
}

#[test]
fn unknown_fields_are_warned_of_though_the_object_is_refused() {
    both(|s| {
        let (all, one) = (s.swarm(""), s.swarm("a"));
        let wrong = |name: &str, replicas: i64| swarm(name, json!({"replicas": replicas, "speed": 5}));
        s.post(&all, &wrong("a", -1));
        s.put(&one, &wrong("a", 1));
        s.patch(MERGE, &one, &json!({"spec": {"speed": 5}}));
        s.patch(APPLY, format!("{one}?fieldManager=me"), &wrong("a", -1));
        s.given(&all, &swarm("a", json!({"replicas": 2})));
        s.post(&all, &wrong("a", 1));
        let mut elsewhere = wrong("b", 1);
        elsewhere["metadata"]["namespace"] = json!("default");
        s.post(&all, &elsewhere);
        s.post("/apis/skein.dev/v1alpha1/namespaces/nowhere/swarms", &wrong("a", 1));
        s.put(&one, &wrong("b", 1));
        let mut stale = wrong("a", 1);
        s.put(&one, &stale);
        stale["metadata"]["resourceVersion"] = json!("1");
        s.put(&one, &stale);
        stale["metadata"]["uid"] = json!("x");
        s.put(&one, &stale);
        s.patch(MERGE, &one, &json!({"spec": {"replicas": -1, "speed": 5}}));
        s.patch(
            MERGE,
            &one,
            &json!({"metadata": {"resourceVersion": "1"}, "spec": {"speed": 5}}),
        );
        s.patch(MERGE, &one, &json!({"metadata": {"name": "b"}, "spec": {"speed": 5}}));
        s.patch(APPLY, format!("{one}?fieldManager=me&force=true"), &wrong("a", -1));
        s.patch(APPLY, format!("{one}?fieldManager=me"), &wrong("a", 5));
        let mut finalized = wrong("a", 1);
        finalized["metadata"]["finalizers"] = json!(["foo"]);
        s.post(&all, &finalized);
    });
}

#[test]
fn unknown_fields_of_built_in_kinds_too() {
    both(|s| {
        let (name, path) = (s.ns().to_owned(), format!("{NODES}/{}", s.ns()));
        let mut object = node(&name);
        object["spec"] = json!({"wings": 4, "taints": [{"key": "a", "effect": "NoSchedule", "colour": "red"}]});
        object["more"] = json!(1);
        for how in ["Strict", "Warn", "Ignore"] {
            s.post(format!("{NODES}?fieldValidation={how}&dryRun=All"), &object);
        }
        s.given(NODES, &node(&name));
        for how in ["Strict", "Warn", "Ignore"] {
            s.patch(
                STRATEGIC,
                format!("{path}?fieldValidation={how}"),
                &json!({"spec": {"wings": 4}}),
            );
            s.patch(
                MERGE,
                format!("{path}?fieldValidation={how}"),
                &json!({"spec": {"wings": 4}}),
            );
        }
    });
}

#[test]
fn a_duplicate_field_is_reported() {
    both(|s| {
        let twice = r#"{"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": "a", "labels": {"x": "1", "x": "2"}},
            "spec": {"grounded": true, "grounded": false, "nodeSelector": {"a": "1", "a": "2"}}, "spec": {"grounded": true}}"#;
        for how in ["Strict", "Warn", "Ignore"] {
            let path = format!("{}?fieldValidation={how}&dryRun=All", s.drone(""));
            s.request("POST", path).text("application/json", twice).send();
        }
        let yaml = "apiVersion: skein.dev/v1alpha1\nkind: Drone\nmetadata: {name: a}\nspec:\n  grounded: true\n  grounded: false\n";
        for how in ["Strict", "Warn", "Ignore"] {
            let path = format!("{}?fieldValidation={how}&dryRun=All", s.drone(""));
            s.request("POST", path).text("application/yaml", yaml).send();
        }
        s.given(s.drone(""), &drone("b", json!({})));
        for how in ["Strict", "Warn", "Ignore"] {
            let path = format!("{}?fieldValidation={how}", s.drone("b"));
            s.request("PATCH", path)
                .text(MERGE, r#"{"spec": {"grounded": true, "grounded": false}}"#)
                .send();
        }
    });
}

#[test]
fn kind_and_version_of_the_body_are_those_of_the_path() {
    both(|s| {
        let path = s.drone("");
        let post = |s: &mut Session, api: serde_json::Value, kind: serde_json::Value| {
            let object = json!({"apiVersion": api, "kind": kind, "metadata": {"name": "a"}, "spec": {}});
            s.post(format!("{path}?dryRun=All"), &object);
        };
        post(s, json!("skein.dev/v1alpha1"), json!("Swarm"));
        post(s, json!("skein.dev/v1"), json!("Drone"));
        post(s, json!("v1"), json!("Node"));
        post(s, json!("a/b/c"), json!("Drone"));
        post(s, json!(5), json!("Drone"));
        post(s, json!("skein.dev/v1alpha1"), json!(5));
        post(s, json!("skein.dev/v1alpha1"), json!(""));
        post(s, json!(""), json!("Drone"));
        s.post(&path, &json!({"metadata": {"name": "none"}, "spec": {}}));
        s.post(
            &path,
            &json!({"kind": "Drone", "metadata": {"name": "kind"}, "spec": {}}),
        );
        s.post(
            &path,
            &json!({"apiVersion": "skein.dev/v1alpha1", "metadata": {"name": "api"}, "spec": {}}),
        );
        s.post(NODES, &json!({"metadata": {"name": format!("{}-none", s.ns())}}));
        s.post(NODES, &swarm("a", json!({})));
        s.post(
            NODES,
            &json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}),
        );
    });
}

#[test]
fn the_name_in_the_body_is_that_of_the_path() {
    both(|s| {
        let kept = s.given(s.drone(""), &drone("a", json!({}))).body;
        s.put(s.drone("b"), &kept);
        let mut unnamed = kept.clone();
        unnamed["metadata"].as_object_mut().unwrap().remove("name");
        s.put(s.drone("a"), &unnamed);
        let mut elsewhere = kept;
        elsewhere["metadata"]["namespace"] = json!("default");
        s.put(s.drone("a"), &elsewhere);
    });
}

#[test]
fn broken_text_is_refused() {
    both(|s| {
        let path = s.drone("");
        for text in [
            "",
            "{",
            "null",
            "5",
            "[]",
            "\"x\"",
            "{\"a\": }",
            "{} {}",
            "not: json",
            "{\"metadata\": 5}",
            "{\"spec\": {}} trailing",
        ] {
            s.request("POST", &path).text("application/json", text).send();
        }
        s.given(&path, &drone("a", json!({})));
        s.request("PUT", s.drone("a")).text("application/json", "{").send();
        s.request("DELETE", s.drone("a")).text("application/json", "{").send();
        s.request("DELETE", s.drone("a")).json(&drone("a", json!({}))).send();
        s.request("DELETE", s.drone("a"))
            .json(&json!({"propagationPolicy": 5}))
            .send();
        s.post(
            NODES,
            &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "spec": {"unschedulable": "yes"}}),
        );
        s.post(
            NODES,
            &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "spec": 5}),
        );
    });
}

#[test]
fn bodies_of_unknown_form_are_not_supported() {
    both(|s| {
        let path = s.drone("");
        for media in [
            "text/plain",
            "application/xml",
            "application/json; charset=utf-8",
            "application/*",
            "json",
            "",
        ] {
            s.request("POST", format!("{path}?dryRun=All"))
                .text(media, drone("a", json!({})).to_string())
                .send();
        }
        s.request("POST", NODES)
            .text("text/plain", node("a").to_string())
            .send();
    });
}

#[test]
fn an_apply_may_omit_the_name() {
    both(|s| {
        let named = s.ns().to_owned();
        let unnamed = |mut object: serde_json::Value, spec: serde_json::Value| {
            object["metadata"].as_object_mut().unwrap().remove("name");
            object["spec"] = spec;
            object
        };
        for is_there in [false, true] {
            if is_there {
                s.given(s.swarm(""), &swarm("a", json!({})));
                s.given(NODES, &node(&named));
            }
            for how in ["Strict", "Warn"] {
                let path = format!("{}?fieldManager=me&force=true&fieldValidation={how}", s.swarm("a"));
                for spec in [
                    json!({"speed": 5}),
                    json!({"replicas": "many"}),
                    json!({"replicas": -1}),
                    json!({}),
                ] {
                    s.patch(APPLY, &path, &unnamed(swarm("a", json!({})), spec));
                }
                let bare = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "spec": {"grounded": true}});
                s.patch(APPLY, &path, &bare);
                let path = format!("{NODES}/{named}?fieldManager=me&fieldValidation={how}");
                for spec in [json!({"wings": 5}), json!({"unschedulable": true})] {
                    s.patch(APPLY, &path, &unnamed(node(&named), spec));
                }
            }
        }
    });
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    both(|s| {
        let path = s.drone("");
        let mut object = drone("a", json!({}));
        object["spec"]["nodeSelector"] = json!({"a": "x".repeat(3 * 1024 * 1024)});
        s.request("POST", path).json(&object).send();
    });
}
