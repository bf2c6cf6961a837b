//! Fields of built-in objects that are present even if no client set them: some typed clients refuse a Node whose
//! `nodeInfo` lacks a field.

use serde_json::{Value, json};

const NODE_INFO: [&str; 10] = [
    "architecture",
    "bootID",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "kubeletVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
];

#[must_use]
pub fn node(mut node: Value) -> Value {
    default(&mut node, &["spec"], json!({}));
    default(
        &mut node,
        &["status", "daemonEndpoints", "kubeletEndpoint", "Port"],
        json!(0),
    );
    for name in NODE_INFO {
        default(&mut node, &["status", "nodeInfo", name], json!(""));
    }
    node
}

/// A new one gets the finalizer that keeps it until its objects are deleted; without it, a deleted one may be removed.
#[must_use]
pub fn namespace(mut namespace: Value) -> Value {
    default(&mut namespace, &["spec"], json!({}));
    if namespace.pointer("/metadata/deletionTimestamp").is_none() {
        default(&mut namespace, &["spec", "finalizers"], json!(["kubernetes"]));
        default(&mut namespace, &["status", "phase"], json!("Active"));
    }
    namespace
}

#[must_use]
pub fn lease(mut lease: Value) -> Value {
    default(&mut lease, &["spec"], json!({}));
    lease
}

/// Leaves an existing value, and a path through something that is not an object (validation reports that).
fn default(object: &mut Value, path: &[&str], value: Value) {
    let Some((last, way)) = path.split_last() else {
        return;
    };
    let mut at = object;
    for &part in way {
        let Some(fields) = at.as_object_mut() else { return };
        at = fields.entry(part).or_insert_with(|| json!({}));
    }
    if let Some(fields) = at.as_object_mut() {
        fields.entry(*last).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_node_shows_what_every_node_shows() {
        let bare = node(json!({"metadata": {"name": "n"}}));
        assert_eq!(bare["spec"], json!({}));
        assert_eq!(
            bare["status"]["daemonEndpoints"],
            json!({"kubeletEndpoint": {"Port": 0}})
        );
        assert_eq!(
            bare["status"]["nodeInfo"].as_object().map(serde_json::Map::len),
            Some(10)
        );
    }

    #[test]
    fn what_a_node_says_of_itself_stays() {
        let said = node(json!({"spec": {"unschedulable": true}, "status": {"nodeInfo": {"kubeletVersion": "v1"}}}));
        assert_eq!(said["spec"], json!({"unschedulable": true}));
        assert_eq!(said["status"]["nodeInfo"]["kubeletVersion"], "v1");
        assert_eq!(said["status"]["nodeInfo"]["osImage"], "");
    }

    #[test]
    fn a_namespace_on_its_way_out_does_not_get_its_finalizer_back() {
        let made = namespace(json!({"metadata": {"name": "x"}}));
        assert_eq!(made["spec"]["finalizers"], json!(["kubernetes"]));
        assert_eq!(made["status"]["phase"], "Active");
        let going = json!({
            "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {}, "status": {"phase": "Terminating"},
        });
        assert_eq!(namespace(going.clone()), going);
    }

    #[test]
    fn a_status_that_is_no_object_is_left_for_validation() {
        assert_eq!(node(json!({"status": 5}))["status"], 5);
    }
}
