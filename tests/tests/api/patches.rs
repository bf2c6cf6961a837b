//! JSON, merge and strategic merge patches, good and bad.

use serde_json::json;

use crate::both;
use crate::objects::{LEASES, NODES, drone, lease, node, swarm, with};
use crate::session::{JSON_PATCH, MERGE, STRATEGIC};

#[test]
fn a_json_patch_adds_replaces_removes_moves_and_copies() {
    both(|s| {
        let path = s.swarm("a");
        s.given(
            s.swarm(""),
            &with(
                swarm("a", json!({"replicas": 2})),
                "annotations",
                json!({"a/b": "1", "x.y": "2"}),
            ),
        );
        for patch in [
            json!([{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]),
            json!([{"op": "replace", "path": "/spec/replicas", "value": 3}, {"op": "add", "path": "/spec/grounded", "value": true}]),
            json!([{"op": "remove", "path": "/metadata/annotations/a~1b"}]),
            json!([{"op": "move", "from": "/metadata/annotations/x.y", "path": "/metadata/annotations/z"}]),
            json!([{"op": "copy", "from": "/metadata/annotations/z", "path": "/metadata/annotations/w"}]),
            json!([{"op": "test", "path": "/spec/replicas", "value": 3}, {"op": "replace", "path": "/spec/replicas", "value": 4}]),
            json!([{"op": "add", "path": "/metadata/finalizers", "value": ["skein.dev/a"]}, {"op": "add", "path": "/metadata/finalizers/-", "value": "skein.dev/b"}]),
            json!([{"op": "remove", "path": "/metadata/finalizers/0"}]),
            json!([{"op": "remove", "path": "/spec/replicas"}]),
            json!([{"op": "add", "path": "/spec/nodeSelector", "value": {"x~y/z": "1"}}, {"op": "replace", "path": "/spec/nodeSelector/x~0y~1z", "value": "2"}]),
        ] {
            s.patch(JSON_PATCH, &path, &patch);
        }
    });
}

#[test]
fn a_json_patch_that_cannot_be_done_is_refused() {
    both(|s| {
        let path = s.swarm("a");
        s.given(s.swarm(""), &swarm("a", json!({"replicas": 2})));
        for patch in [
            json!([{"op": "test", "path": "/spec/replicas", "value": 3}]),
            json!([{"op": "remove", "path": "/spec/grounded"}]),
            json!([{"op": "replace", "path": "/spec/grounded", "value": true}]),
            json!([{"op": "add", "path": "/nowhere/at/all", "value": 1}]),
            json!([{"op": "jump", "path": "/spec/replicas"}]),
            json!([{"op": "add", "path": "spec"}]),
            json!({"spec": {"replicas": 1}}),
            json!("x"),
            json!([{"op": "replace", "path": "/spec/replicas", "value": 20_000}]),
            json!([{"op": "replace", "path": "/metadata/name", "value": "b"}]),
            json!([{"op": "replace", "path": "/kind", "value": "Drone"}]),
            json!([{"op": "move", "from": "/nowhere", "path": "/spec/replicas"}]),
        ] {
            s.patch(JSON_PATCH, &path, &patch);
        }
        let many: Vec<_> = (0..10_001)
            .map(|_| json!({"op": "test", "path": "/kind", "value": "Swarm"}))
            .collect();
        s.patch(JSON_PATCH, &path, &json!(many));
        s.request("PATCH", &path).text(JSON_PATCH, "[{").send();
        s.request("PATCH", &path).text(JSON_PATCH, "").send();
    });
}

#[test]
fn a_merge_patch_sets_and_removes() {
    both(|s| {
        let path = s.swarm("a");
        s.given(
            s.swarm(""),
            &swarm("a", json!({"replicas": 2, "nodeSelector": {"a": "1", "b": "2"}})),
        );
        s.patch(
            MERGE,
            &path,
            &json!({"spec": {"nodeSelector": {"a": null, "c": "3"}}, "metadata": {"labels": {"x": "y"}}}),
        );
        s.patch(
            MERGE,
            &path,
            &json!({"metadata": {"labels": null}, "spec": {"template": null, "replicas": null}}),
        );
        s.patch(MERGE, &path, &json!({"metadata": {"finalizers": ["skein.dev/a"]}}));
        s.patch(MERGE, &path, &json!({"metadata": {"finalizers": []}}));
        s.patch(MERGE, &path, &json!({"spec": null}));
        s.patch(MERGE, &path, &json!([1]));
        s.patch(MERGE, &path, &json!(null));
        s.request("PATCH", &path).text(MERGE, "{").send();
        s.request("PATCH", &path).text(MERGE, "").send();
        s.patch(MERGE, &path, &json!({"kind": "Drone"}));
        s.patch(MERGE, &path, &json!({"apiVersion": "v1"}));
    });
}

#[test]
fn a_custom_resource_takes_no_strategic_patch() {
    both(|s| {
        s.given(s.swarm(""), &swarm("a", json!({"replicas": 2})));
        s.patch(STRATEGIC, s.swarm("a"), &json!({"spec": {"replicas": 3}}));
        s.patch("application/json", s.swarm("a"), &json!({"spec": {"replicas": 3}}));
        s.patch("text/plain", s.swarm("a"), &json!({"spec": {"replicas": 3}}));
        s.request("PATCH", s.swarm("a")).send();
        s.patch(
            "application/merge-patch+json; charset=utf-8",
            s.swarm("a"),
            &json!({"spec": {"replicas": 3}}),
        );
        s.patch(STRATEGIC, s.swarm("missing"), &json!({}));
    });
}

#[test]
fn a_strategic_patch_merges_lists_by_key() {
    both(|s| {
        let (name, path) = (s.ns().to_owned(), format!("{NODES}/{}", s.ns()));
        let mut object = node(&name);
        object["spec"] = json!({"taints": [{"key": "wind", "value": "high", "effect": "NoSchedule"}]});
        s.given(NODES, &object);
        for patch in [
            json!({"metadata": {"labels": {"camera": "thermal"}}, "spec": {"unschedulable": true}}),
            json!({"spec": {"taints": [{"key": "rain", "effect": "NoSchedule"}]}}),
            json!({"spec": {"taints": null, "unschedulable": null}}),
            json!({"metadata": {"labels": {"camera": null, "$patch": "merge"}}}),
            json!({"metadata": {"labels": {"$patch": "replace", "only": "this"}}}),
            json!({"metadata": {"finalizers": ["skein.dev/a", "skein.dev/b"]}}),
            json!({"metadata": {"finalizers": ["skein.dev/c"]}}),
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["skein.dev/a"]}}),
            json!({"metadata": {"$setElementOrder/finalizers": ["skein.dev/c", "skein.dev/b"], "finalizers": ["skein.dev/c"]}}),
            json!({"metadata": {"finalizers": null}}),
            json!({"spec": {"$retainKeys": ["unschedulable"], "unschedulable": true}}),
            json!({"spec": {"$patch": "delete"}}),
        ] {
            s.patch(STRATEGIC, &path, &patch);
        }
        s.patch(
            JSON_PATCH,
            &path,
            &json!([{"op": "add", "path": "/metadata/labels/x", "value": "y"}]),
        );
        s.patch(MERGE, &path, &json!({"metadata": {"labels": {"x": null}}}));
    });
}

#[test]
fn conditions_of_a_node_are_merged_by_type() {
    both(|s| {
        let name = s.ns().to_owned();
        s.given(NODES, &node(&name));
        let path = format!("{NODES}/{name}/status");
        let ready = json!({"type": "Ready", "status": "True", "reason": "a", "message": ""});
        let disk = json!({"type": "DiskPressure", "status": "False", "reason": "b", "message": ""});
        s.patch(STRATEGIC, &path, &json!({"status": {"conditions": [ready, disk]}}));
        s.patch(
            STRATEGIC,
            &path,
            &json!({"status": {"$setElementOrder/conditions": [{"type": "DiskPressure"}, {"type": "Ready"}],
            "conditions": [{"type": "Ready", "status": "False"}]}}),
        );
        s.patch(
            STRATEGIC,
            &path,
            &json!({"status": {"conditions": [{"type": "DiskPressure", "$patch": "delete"}]}}),
        );
        s.patch(
            STRATEGIC,
            &path,
            &json!({"status": {"conditions": [{"$patch": "replace"}, {"type": "Ready", "status": "Unknown"}]}}),
        );
        s.patch(MERGE, &path, &json!({"status": {"conditions": [disk]}}));
    });
}

#[test]
fn a_bad_strategic_patch_is_refused() {
    both(|s| {
        let (name, path) = (s.ns().to_owned(), format!("{NODES}/{}", s.ns()));
        s.given(NODES, &node(&name));
        for patch in [
            json!({"metadata": {"labels": {"a": 1}}}),
            json!({"spec": {"unschedulable": "yes"}}),
            json!({"spec": {"$patch": "explode"}}),
            json!({"metadata": {"labels": "x"}}),
            json!({"spec": {"taints": [{"key": "a", "effect": "Never"}]}}),
            json!({"spec": {"taints": "none"}}),
            json!([1]),
            json!({"metadata": {"name": "other"}}),
        ] {
            s.patch(STRATEGIC, &path, &patch);
        }
        s.request("PATCH", &path).text(STRATEGIC, "{").send();
    });
}

#[test]
fn a_lease_is_patched_in_each_way() {
    both(|s| {
        let path = s.at(LEASES, "leases", "claim");
        s.given(
            s.at(LEASES, "leases", ""),
            &lease("claim", json!({"holderIdentity": "a"})),
        );
        s.patch(
            STRATEGIC,
            &path,
            &json!({"spec": {"holderIdentity": "b", "acquireTime": "2001-02-03T04:05:06.000000Z"}}),
        );
        s.patch(
            MERGE,
            &path,
            &json!({"spec": {"holderIdentity": null, "leaseDurationSeconds": 0}}),
        );
        s.patch(
            MERGE,
            &path,
            &json!({"spec": {"leaseDurationSeconds": 10, "leaseTransitions": -1}}),
        );
        s.patch(MERGE, &path, &json!({"spec": {"renewTime": "soon"}}));
        s.patch(
            JSON_PATCH,
            &path,
            &json!([{"op": "add", "path": "/spec/leaseDurationSeconds", "value": 10}]),
        );
    });
}

#[test]
fn a_patch_of_a_drone_keeps_what_it_does_not_name() {
    both(|s| {
        let path = s.drone("a");
        s.given(
            s.drone(""),
            &with(
                drone("a", json!({"nodeSelector": {"a": "b"}})),
                "labels",
                json!({"l": "1"}),
            ),
        );
        s.patch(
            MERGE,
            &path,
            &json!({"spec": {"nodeName": "n-1"}, "metadata": {"finalizers": ["skein.dev/landed"]}}),
        );
        s.patch(
            JSON_PATCH,
            &path,
            &json!([{"op": "add", "path": "/spec/failsafe", "value": {}}]),
        );
        s.get(&path);
    });
}
