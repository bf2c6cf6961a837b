//! Objects for the cases to send.

use serde_json::{Value, json};

pub const NODES: &str = "/api/v1/nodes";
pub const NAMESPACES: &str = "/api/v1/namespaces";
pub const CORE: &str = "/api/v1";
pub const LEASES: &str = "/apis/coordination.k8s.io/v1";
pub const EVENTS: &str = "/apis/events.k8s.io/v1";

pub fn drone(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": name}, "spec": spec})
}

pub fn swarm(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": name}, "spec": spec})
}

pub fn labeled(mut object: Value, labels: Value) -> Value {
    object["metadata"]["labels"] = labels;
    object
}

pub fn with(mut object: Value, key: &str, value: Value) -> Value {
    object["metadata"][key] = value;
    object
}

pub fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
}

pub fn lease(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": spec})
}

pub fn event(namespace: &str, name: &str, drone: &str, reason: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": namespace},
        "involvedObject": {"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "name": drone, "namespace": namespace},
        "reason": reason, "message": "the battery is low", "type": "Warning",
        "source": {"component": "case"}, "firstTimestamp": "2001-02-03T04:05:06Z",
        "lastTimestamp": "2001-02-03T04:05:06Z", "count": 1})
}

pub fn condition(kind: &str, status: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "Case", "message": message,
        "lastTransitionTime": "2001-02-03T04:05:06Z", "observedGeneration": 1})
}

pub fn owned_by(owner: &Value, block: bool) -> Value {
    json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": block})
}
