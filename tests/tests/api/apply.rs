//! Server-side apply and managedFields: which manager set a field, and which may change it.

use serde_json::{Value, json};

use crate::both;
use crate::objects::{NODES, condition, drone, node, swarm};
use crate::session::{APPLY, Answer, JSON_PATCH, MERGE, Session};

fn apply(s: &mut Session, manager: &str, name: &str, spec: Value) -> Answer {
    let path = s.swarm(name);
    s.patch(APPLY, format!("{path}?fieldManager={manager}"), &swarm(name, spec))
}

fn force(s: &mut Session, manager: &str, name: &str, spec: Value) -> Answer {
    let path = s.swarm(name);
    s.patch(
        APPLY,
        format!("{path}?fieldManager={manager}&force=true"),
        &swarm(name, spec),
    )
}

#[test]
fn applying_makes_what_is_not_there() {
    both(|s| {
        apply(
            s,
            "me",
            "a",
            json!({"replicas": 2, "nodeSelector": {"camera": "thermal"}}),
        );
        apply(
            s,
            "me",
            "a",
            json!({"replicas": 2, "nodeSelector": {"camera": "thermal"}}),
        );
        apply(s, "me", "a", json!({"replicas": 3}));
        s.get(s.swarm("a"));
    });
}

#[test]
fn what_another_manager_set_otherwise_is_a_conflict() {
    both(|s| {
        apply(s, "one", "a", json!({"replicas": 2, "grounded": true}));
        apply(s, "two", "a", json!({"replicas": 3, "nodeSelector": {"a": "b"}}));
        apply(s, "two", "a", json!({"replicas": 3, "grounded": false}));
        force(s, "two", "a", json!({"replicas": 3, "nodeSelector": {"a": "b"}}));
        apply(s, "one", "a", json!({"replicas": 2, "grounded": true}));
        apply(s, "one", "a", json!({"grounded": true}));
    });
}

#[test]
fn an_update_conflicts_with_a_later_apply() {
    both(|s| {
        apply(s, "one", "a", json!({"replicas": 2}));
        s.patch(
            MERGE,
            format!("{}?fieldManager=hand", s.swarm("a")),
            &json!({"spec": {"replicas": 4}}),
        );
        apply(s, "one", "a", json!({"replicas": 2}));
        s.patch(
            MERGE,
            format!("{}?fieldManager=scaler", s.swarm("a/scale")),
            &json!({"spec": {"replicas": 5}}),
        );
        apply(s, "one", "a", json!({"replicas": 2}));
        force(s, "one", "a", json!({"replicas": 2}));
    });
}

#[test]
fn a_field_that_is_no_longer_applied_goes_unless_it_is_shared() {
    both(|s| {
        apply(
            s,
            "one",
            "a",
            json!({"replicas": 2, "nodeSelector": {"a": "1", "b": "2"}}),
        );
        apply(s, "two", "a", json!({"nodeSelector": {"a": "1"}}));
        apply(s, "one", "a", json!({"replicas": 2}));
        apply(s, "two", "a", json!({}));
        apply(s, "one", "a", json!({}));
        s.get(s.swarm("a"));
    });
}

#[test]
fn defaults_have_no_owner_that_did_not_set_them() {
    both(|s| {
        apply(s, "one", "a", json!({}));
        apply(s, "two", "a", json!({"replicas": 7}));
        apply(s, "two", "a", json!({}));
        s.post(s.drone(""), &drone("a", json!({"failsafe": {}})));
    });
}

#[test]
fn conditions_are_applied_by_type() {
    both(|s| {
        let apply = |s: &mut Session, manager: &str, conditions: Value| {
            let object = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": "a"}, "status": {"conditions": conditions}});
            s.patch(
                APPLY,
                format!("{}?fieldManager={manager}", s.drone("a/status")),
                &object,
            );
        };
        s.given(s.drone(""), &drone("a", json!({})));
        apply(s, "one", json!([condition("Ready", "True", "it flies")]));
        apply(s, "two", json!([condition("Armable", "False", "no fix")]));
        apply(
            s,
            "two",
            json!([condition("Armable", "True", ""), condition("Ready", "False", "no")]),
        );
        apply(s, "one", json!([condition("Connected", "True", "")]));
        apply(
            s,
            "one",
            json!([condition("Connected", "True", ""), condition("Connected", "False", "")]),
        );
        apply(s, "one", json!([]));
        s.get(s.drone("a"));
    });
}

#[test]
fn status_and_spec_are_applied_apart() {
    both(|s| {
        let mut object = drone("a", json!({"grounded": true}));
        object["status"] = json!({"phase": "Flying"});
        s.patch(APPLY, format!("{}?fieldManager=me", s.drone("a")), &object);
        s.patch(APPLY, format!("{}?fieldManager=me", s.drone("a/status")), &object);
        object["spec"] = json!({});
        object["status"] = json!({"mode": "GUIDED"});
        s.patch(APPLY, format!("{}?fieldManager=me", s.drone("a/status")), &object);
        s.patch(
            APPLY,
            format!("{}?fieldManager=me", s.drone("b/status")),
            &drone("b", json!({})),
        );
        s.get(s.drone("a"));
    });
}

#[test]
fn an_apply_that_is_not_well_formed_is_refused() {
    both(|s| {
        let path = s.swarm("a");
        s.patch(APPLY, &path, &swarm("a", json!({})));
        s.patch(APPLY, format!("{path}?fieldManager="), &swarm("a", json!({})));
        s.patch(
            APPLY,
            format!("{path}?fieldManager={}", "x".repeat(129)),
            &swarm("a", json!({})),
        );
        s.patch(APPLY, format!("{path}?fieldManager=a%0Ab"), &swarm("a", json!({})));
        s.patch(APPLY, format!("{path}?fieldManager=me"), &swarm("b", json!({})));
        s.patch(
            APPLY,
            format!("{path}?fieldManager=me"),
            &json!({"metadata": {"name": "a"}, "spec": {}}),
        );
        s.patch(APPLY, format!("{path}?fieldManager=me"), &drone("a", json!({})));
        let mut managed = swarm("a", json!({}));
        managed["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Apply", "apiVersion": "skein.dev/v1alpha1", "fieldsType": "FieldsV1", "fieldsV1": {}}]);
        s.patch(APPLY, format!("{path}?fieldManager=me"), &managed);
        s.patch(
            APPLY,
            format!("{path}?fieldManager=me"),
            &swarm("a", json!({"replicas": -5})),
        );
        s.patch(
            APPLY,
            format!("{path}?fieldManager=me"),
            &swarm("a", json!({"replicas": "x"})),
        );
        s.patch(
            APPLY,
            format!("{path}?fieldManager=me"),
            &swarm("a", json!({"speed": 5})),
        );
        s.request("PATCH", format!("{path}?fieldManager=me"))
            .text(APPLY, "a: [")
            .send();
        s.request("PATCH", format!("{path}?fieldManager=me"))
            .text(APPLY, "")
            .send();
        s.patch(MERGE, format!("{path}?fieldManager=me&force=true"), &json!({}));
        s.post(
            format!("{}?fieldManager={}", s.swarm(""), "x".repeat(129)),
            &swarm("z", json!({})),
        );
    });
}

#[test]
fn an_apply_may_require_a_version_and_a_uid() {
    both(|s| {
        let first = apply(s, "me", "a", json!({"replicas": 1}));
        apply(s, "me", "a", json!({"replicas": 2}));
        let mut stale = swarm("a", json!({"replicas": 3}));
        stale["metadata"]["resourceVersion"] = first.version().into();
        s.patch(APPLY, format!("{}?fieldManager=me", s.swarm("a")), &stale);
        let mut other = swarm("a", json!({"replicas": 3}));
        other["metadata"]["uid"] = json!("11111111-2222-3333-4444-555555555555");
        s.patch(APPLY, format!("{}?fieldManager=me", s.swarm("a")), &other);
        s.patch(APPLY, format!("{}?fieldManager=me", s.swarm("new")), &{
            let mut object = swarm("new", json!({}));
            object["metadata"]["resourceVersion"] = json!("1");
            object
        });
    });
}

#[test]
fn a_dry_run_of_an_apply_changes_nothing() {
    both(|s| {
        s.patch(
            APPLY,
            format!("{}?fieldManager=me&dryRun=All", s.swarm("a")),
            &swarm("a", json!({"replicas": 1})),
        );
        s.get(s.swarm("a"));
        apply(s, "me", "a", json!({"replicas": 1}));
        s.patch(
            APPLY,
            format!("{}?fieldManager=me&dryRun=All", s.swarm("a")),
            &swarm("a", json!({"replicas": 9})),
        );
        s.get(s.swarm("a"));
    });
}

#[test]
fn every_writer_is_on_record() {
    both(|s| {
        let by = |s: &Session, manager: &str| format!("{}?fieldManager={manager}", s.drone("a"));
        s.post(
            format!("{}?fieldManager=maker", s.drone("")),
            &drone("a", json!({"grounded": true, "nodeSelector": {"a": "1"}})),
        );
        s.patch(
            MERGE,
            by(s, "labeller"),
            &json!({"metadata": {"labels": {"x": "1"}, "annotations": {"y": "2"}, "finalizers": ["skein.dev/a"]}}),
        );
        s.patch(
            JSON_PATCH,
            by(s, "patcher"),
            &json!([{"op": "replace", "path": "/spec/grounded", "value": false}]),
        );
        s.patch(
            MERGE,
            by(s, "remover"),
            &json!({"spec": {"nodeSelector": null}, "metadata": {"labels": null}}),
        );
        s.patch(
            MERGE,
            format!("{}?fieldManager=maker", s.drone("a/status")),
            &json!({"status": {"phase": "Arming", "conditions": [condition("Ready", "False", "")]}}),
        );
        let mut kept = s.get(s.drone("a")).body;
        kept["spec"]["takeoffAltitudeMeters"] = json!(20);
        kept["metadata"]["finalizers"] = json!(["skein.dev/b"]);
        s.put(by(s, "putter"), &kept);
        s.patch(MERGE, by(s, "a%20b"), &json!({"spec": {"takeoffAltitudeMeters": 30}}));
        s.request("PATCH", s.drone("a"))
            .header("user-agent", "Mozilla/5.0 (X11)")
            .text(MERGE, r#"{"spec": {"takeoffAltitudeMeters": 31}}"#)
            .send();
        s.request("PATCH", s.drone("a"))
            .header("user-agent", "")
            .text(MERGE, r#"{"spec": {"takeoffAltitudeMeters": 32}}"#)
            .send();
    });
}

#[test]
fn the_record_of_writers_can_be_reset_and_replaced() {
    both(|s| {
        apply(s, "me", "a", json!({"replicas": 2}));
        s.patch(MERGE, s.swarm("a"), &json!({"metadata": {"managedFields": []}}));
        s.patch(MERGE, s.swarm("a"), &json!({"metadata": {"managedFields": [{}]}}));
        s.patch(
            MERGE,
            s.swarm("a"),
            &json!({"metadata": {"managedFields": null}, "spec": {"grounded": true}}),
        );
        apply(s, "me", "a", json!({"replicas": 3}));
        let entry = json!({"manager": "x", "operation": "Apply", "apiVersion": "skein.dev/v1alpha1", "time": "2001-02-03T04:05:06Z",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}}});
        s.patch(MERGE, s.swarm("a"), &json!({"metadata": {"managedFields": [entry]}}));
        let mut bad = entry.clone();
        bad["operation"] = json!("Guess");
        s.patch(MERGE, s.swarm("a"), &json!({"metadata": {"managedFields": [bad]}}));
        let mut bad = entry.clone();
        bad["fieldsV1"] = json!({"x": 1});
        s.patch(MERGE, s.swarm("a"), &json!({"metadata": {"managedFields": [bad]}}));
        let mut bad = entry;
        bad["fieldsType"] = json!("FieldsV2");
        s.patch(MERGE, s.swarm("a"), &json!({"metadata": {"managedFields": [bad]}}));
        s.get(s.swarm("a"));
    });
}

#[test]
fn the_oldest_of_many_writers_are_put_together() {
    both(|s| {
        s.given(s.swarm(""), &swarm("a", json!({})));
        for number in 1..=12 {
            let patch = json!({"metadata": {"annotations": {format!("a{number:02}"): "x"}}});
            let path = format!("{}?fieldManager=m{number:02}", s.swarm("a"));
            let answer = s.request("PATCH", path).quietly().text(MERGE, patch.to_string()).send();
            assert_eq!(answer.code, 200);
        }
        let kept = s.request("GET", s.swarm("a")).quietly().send().body;
        let fields = kept["metadata"]["managedFields"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let ancient = fields
            .iter()
            .filter(|entry| entry["manager"] == "ancient-changes")
            .count();
        s.note("entries, and those of long ago", json!([fields.len(), ancient]));
    });
}

#[test]
fn a_node_is_applied_by_parts() {
    both(|s| {
        let (name, path) = (s.ns().to_owned(), format!("{NODES}/{}", s.ns()));
        s.given(NODES, &node(&name));
        let part = |labels: Value, taints: Value| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}});
        s.patch(
            APPLY,
            format!("{path}?fieldManager=one&force=true"),
            &part(json!({"a": "1"}), json!([{"key": "wind", "effect": "NoSchedule"}])),
        );
        s.patch(
            APPLY,
            format!("{path}?fieldManager=two"),
            &part(json!({"a": "2"}), json!([{"key": "rain", "effect": "NoSchedule"}])),
        );
        s.patch(
            APPLY,
            format!("{path}?fieldManager=one"),
            &json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}),
        );
        s.patch(
            APPLY,
            format!("{path}?fieldManager=one"),
            &part(
                json!({}),
                json!([{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]),
            ),
        );
    });
}
