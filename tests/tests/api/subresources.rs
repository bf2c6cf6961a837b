//! `/status` and `/scale`: parts of an object with a path of their own.

use serde_json::json;

use crate::both;
use crate::objects::{NAMESPACES, NODES, condition, drone, node, swarm};
use crate::session::{APPLY, JSON_PATCH, MERGE, STRATEGIC};

fn scale(ns: &str, name: &str, replicas: i64) -> serde_json::Value {
    json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name, "namespace": ns}, "spec": {"replicas": replicas}})
}

#[test]
fn status_is_written_through_its_subresource_only() {
    both(|s| {
        let path = s.drone("a");
        let mut object = drone("a", json!({}));
        object["status"] = json!({"phase": "Flying"});
        s.post(s.drone(""), &object);
        s.patch(MERGE, &path, &json!({"status": {"phase": "Flying"}}));
        let mut kept = s.get(&path).body;
        kept["status"] = json!({"phase": "Flying", "conditions": [condition("Ready", "True", "it flies")]});
        kept["spec"]["grounded"] = json!(true);
        kept["metadata"]["labels"] = json!({"a": "b"});
        kept["metadata"]["annotations"] = json!({"a": "b"});
        kept["metadata"]["finalizers"] = json!(["skein.dev/x"]);
        s.put(s.drone("a/status"), &kept);
        s.put(&path, &kept);
        s.get(s.drone("a/status"));
        let mut kept = s.get(&path).body;
        kept["status"] = json!({"phase": "Landing"});
        s.put(&path, &kept);
        kept.as_object_mut().unwrap().remove("status");
        s.put(&path, &kept);
    });
}

#[test]
fn status_takes_every_kind_of_patch() {
    both(|s| {
        s.given(s.drone(""), &drone("a", json!({})));
        let path = s.drone("a/status");
        s.patch(
            JSON_PATCH,
            &path,
            &json!([{"op": "add", "path": "/status", "value": {"phase": "Arming"}}]),
        );
        s.patch(
            JSON_PATCH,
            &path,
            &json!([{"op": "add", "path": "/spec/grounded", "value": true}]),
        );
        s.patch(
            MERGE,
            &path,
            &json!({"spec": {"grounded": true}, "status": {"mode": "GUIDED", "phase": null}}),
        );
        s.patch(STRATEGIC, &path, &json!({"status": {"mode": "LAND"}}));
        let applied = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "status": {"conditions": [condition("Ready", "True", "")]}});
        s.patch(APPLY, format!("{path}?fieldManager=me"), &applied);
        s.get(s.drone("a"));
    });
}

/// `coordinator/src/cluster/status.rs` relies on this.
#[test]
fn status_is_written_whatever_uid_is_named_and_only_on_the_version_that_is_named() {
    both(|s| {
        let other = "11111111-2222-3333-4444-555555555555";
        let first = s.given(s.drone(""), &drone("a", json!({}))).version();
        let said = |metadata: serde_json::Value, phase: &str| json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": metadata, "status": {"phase": phase}});
        let (path, applied) = (
            s.drone("a/status"),
            format!("{}?fieldManager=me&force=true", s.drone("a/status")),
        );
        let written = [
            s.patch(APPLY, &applied, &said(json!({"name": "a", "uid": other}), "Flying")),
            s.patch(MERGE, &path, &said(json!({"uid": other}), "Landing")),
            s.patch(
                APPLY,
                &applied,
                &said(json!({"name": "a", "uid": other, "resourceVersion": first}), "Lost"),
            ),
        ];
        assert_eq!(written.map(|answer| answer.code), [200, 200, 409]);
        let newest = s.get(s.drone("a"));
        let on_it = said(
            json!({"name": "a", "uid": newest.uid(), "resourceVersion": newest.version()}),
            "Holding",
        );
        assert_eq!(s.patch(APPLY, &applied, &on_it).code, 200);
        let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        let named = format!("{}?fieldSelector=metadata.name%3Da", s.drone(""));
        s.request("GET", named).header("accept", accept).send();
    });
}

#[test]
fn the_status_of_a_node_is_written_on_no_other_node() {
    both(|s| {
        let name = s.ns().to_owned();
        s.given(NODES, &node(&name));
        let path = format!("{NODES}/{name}/status?fieldManager=me&force=true");
        let link = json!({"type": "Link", "status": "True", "reason": "Case", "message": "it is heard",
            "lastTransitionTime": "2001-02-03T04:05:06Z", "lastHeartbeatTime": "2001-02-03T04:05:06Z"});
        let about = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": "11111111-2222-3333-4444-555555555555"}, "status": {"conditions": [link]}});
        assert_eq!(s.patch(APPLY, path, &about).code, 422);
    });
}

#[test]
fn status_of_a_missing_object_is_not_found() {
    both(|s| {
        s.get(s.drone("a/status"));
        s.patch(MERGE, s.drone("a/status"), &json!({"status": {}}));
        s.put(s.drone("a/status"), &drone("a", json!({})));
        s.post(s.drone("a/status"), &drone("a", json!({})));
        s.delete(s.drone("a/status"));
    });
}

#[test]
fn a_node_reports_its_status() {
    both(|s| {
        let name = s.ns().to_owned();
        s.given(NODES, &node(&name));
        let path = format!("{NODES}/{name}/status");
        let ready = |status: &str| {
            json!({"type": "Ready", "status": status, "reason": "Case", "message": "",
            "lastTransitionTime": "2001-02-03T04:05:06Z", "lastHeartbeatTime": "2001-02-03T04:05:06Z"})
        };
        s.patch(STRATEGIC, &path, &json!({"status": {"conditions": [ready("True")]}}));
        s.patch(
            STRATEGIC,
            &path,
            &json!({"status": {"conditions": [ready("False")], "capacity": {"cpu": "4", "memory": "8Gi"}}}),
        );
        s.patch(MERGE, &path, &json!({"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}, "spec": {"unschedulable": true}}));
        s.patch(
            STRATEGIC,
            format!("{NODES}/{name}"),
            &json!({"status": {"phase": "Running"}, "metadata": {"labels": {"a": "b"}}}),
        );
        s.get(path);
        s.get(format!("{NAMESPACES}/{name}/status"));
    });
}

#[test]
fn a_swarm_is_scaled_through_its_scale() {
    both(|s| {
        let ns = s.ns().to_owned();
        s.given(s.swarm(""), &swarm("a", json!({"replicas": 2})));
        let path = s.swarm("a/scale");
        s.get(&path);
        s.patch(
            MERGE,
            s.swarm("a/status"),
            &json!({"status": {"replicas": 1, "selector": "skein.dev/swarm=a"}}),
        );
        let read = s.get(&path);
        s.put(&path, &scale(&ns, "a", 4));
        let mut stale = scale(&ns, "a", 5);
        stale["metadata"]["resourceVersion"] = read.version().into();
        s.put(&path, &stale);
        s.patch(MERGE, &path, &json!({"spec": {"replicas": 6}}));
        s.patch(MERGE, &path, &json!({"spec": {"replicas": 6}}));
        s.patch(
            JSON_PATCH,
            &path,
            &json!([{"op": "replace", "path": "/spec/replicas", "value": 7}]),
        );
        s.get(s.swarm("a"));
    });
}

#[test]
fn a_wrong_scale_is_refused() {
    both(|s| {
        let ns = s.ns().to_owned();
        s.get(s.swarm("a/scale"));
        s.put(s.swarm("a/scale"), &scale(&ns, "a", 1));
        s.patch(MERGE, s.swarm("a/scale"), &json!({"spec": {"replicas": 1}}));
        s.given(s.swarm(""), &swarm("a", json!({"replicas": 2})));
        for replicas in [-1, 10_001] {
            s.put(s.swarm("a/scale"), &scale(&ns, "a", replicas));
            s.patch(MERGE, s.swarm("a/scale"), &json!({"spec": {"replicas": replicas}}));
        }
        s.patch(MERGE, s.swarm("a/scale"), &json!({"spec": {"replicas": "many"}}));
        s.put(s.swarm("a/scale"), &scale(&ns, "b", 1));
        s.put(s.swarm("a/scale"), &swarm("a", json!({"replicas": 3})));
        s.patch(STRATEGIC, s.swarm("a/scale"), &json!({"spec": {"replicas": 1}}));
        s.delete(s.swarm("a/scale"));
        s.given(s.drone(""), &drone("a", json!({})));
        s.get(s.drone("a/scale"));
    });
}
