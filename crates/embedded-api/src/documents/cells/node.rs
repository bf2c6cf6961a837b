//! Cells of `kubectl get nodes`.

use super::{AGE, Cells, NAME, items, made, name, or, text, title, wide};
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) const CELLS: Cells = Cells {
    titles: &[
        NAME,
        title("Status", "Whether it is ready, and whether new work may go there."),
        title("Roles", "Its roles, from its labels."),
        AGE,
        title("Version", "Version of its agent."),
        wide("Internal-IP", "Its address inside the cluster."),
        wide("External-IP", "Its address outside the cluster."),
        wide("OS-Image", "Its operating system."),
        wide("Kernel-Version", "Its kernel."),
        wide("Container-Runtime", "What runs containers there."),
    ],
    row: |node, now| {
        let info = |field: &str| text(node, &format!("/status/nodeInfo/{field}"));
        let known = |field: &str| Value::from(or(info(field), "<unknown>"));
        vec![
            name(node),
            status(node).into(),
            roles(node).into(),
            made(node, now),
            info("kubeletVersion").into(),
            address(node, "InternalIP").into(),
            address(node, "ExternalIP").into(),
            known("osImage"),
            kernel(info("kernelVersion"), info("architecture")).into(),
            known("containerRuntimeVersion"),
        ]
    },
};

fn kernel(version: &str, architecture: &str) -> String {
    match (version, architecture) {
        ("", _) => "<unknown>".to_owned(),
        (version, "") => version.to_owned(),
        (version, architecture) => format!("{version} ({architecture})"),
    }
}

fn status(node: &Value) -> String {
    let ready = items(node, "/status/conditions").find(|each| text(each, "/type") == "Ready");
    let ready = match ready.map(|condition| text(condition, "/status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let cordoned = node.pointer("/spec/unschedulable") == Some(&Value::Bool(true));
    format!("{ready}{}", if cordoned { ",SchedulingDisabled" } else { "" })
}

fn roles(node: &Value) -> String {
    let labels = node.pointer("/metadata/labels").and_then(Value::as_object);
    let role = |(label, value): (&String, &Value)| {
        let role = match label.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => role.to_owned(),
            None if label == "kubernetes.io/role" => value.as_str().unwrap_or_default().to_owned(),
            None => String::new(),
        };
        (!role.is_empty()).then_some(role)
    };
    let roles: BTreeSet<String> = labels.into_iter().flatten().filter_map(role).collect();
    let roles: Vec<String> = roles.into_iter().collect();
    or(&roles.join(","), "<none>").to_owned()
}

fn address<'a>(node: &'a Value, type_: &str) -> &'a str {
    let found = items(node, "/status/addresses").find(|each| text(each, "/type") == type_);
    found.map_or("<none>", |each| or(text(each, "/address"), "<none>"))
}

#[cfg(test)]
mod tests {
    use super::super::row;
    use super::*;
    use serde_json::json;

    #[test]
    fn a_node_that_reported_nothing_is_of_unknown_status() {
        let bare = json!({"metadata": {"name": "n", "creationTimestamp": "2026-11-21T05:59:59Z"}});
        assert_eq!(
            row(CELLS, &bare),
            [
                "n",
                "Unknown",
                "<none>",
                "1s",
                "",
                "<none>",
                "<none>",
                "<unknown>",
                "<unknown>",
                "<unknown>"
            ]
        );
    }

    #[test]
    fn a_ready_node_shows_its_roles_in_order_and_where_it_is() {
        let node = json!({
            "metadata": {"name": "n", "labels": {
                "node-role.kubernetes.io/drone": "", "kubernetes.io/role": "alpha", "node-role.kubernetes.io/": "x"}},
            "status": {
                "conditions": [{"type": "DiskPressure", "status": "True"}, {"type": "Ready", "status": "True"}],
                "addresses": [{"type": "Hostname", "address": "h"}, {"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {"kubeletVersion": "skein-0.1", "osImage": "Linux"},
            },
        });
        let row = row(CELLS, &node);
        assert_eq!(row[1], "Ready");
        assert_eq!(row[2], "alpha,drone");
        assert_eq!(row[4], "skein-0.1");
        assert_eq!((&row[5], &row[6]), (&json!("10.0.0.1"), &json!("<none>")));
        assert_eq!(row[7], "Linux");
    }

    #[test]
    fn a_cordoned_node_shows_it_whether_it_is_ready_or_not() {
        let node = |status: &str| {
            json!({
                "spec": {"unschedulable": true},
                "status": {"conditions": [{"type": "Ready", "status": status}]},
            })
        };
        assert_eq!(row(CELLS, &node("True"))[1], "Ready,SchedulingDisabled");
        assert_eq!(row(CELLS, &node("Unknown"))[1], "NotReady,SchedulingDisabled");
    }
}
