//! kubectl on nodes.

use serde_json::json;

use crate::both;
use crate::objects::{NODES, labeled, node};
use crate::session::{MERGE, Session};

fn given(s: &mut Session) -> String {
    let name = s.ns().to_owned();
    s.given(NODES, &labeled(node(&name), json!({"case": name})));
    s.request("PATCH", format!("{NODES}/{name}"))
        .quietly()
        .text(MERGE, json!({"spec": {"taints": null}}).to_string())
        .send();
    name
}

#[test]
fn kubectl_cordons_and_drains_a_node() {
    both(|s| {
        let name = given(s);
        s.kubectl(&["cordon", &name]);
        s.kubectl(&["cordon", &name]);
        s.kubectl(&["get", "node", &name, "--no-headers"]);
        s.kubectl(&["uncordon", &name]);
        s.kubectl(&["drain", &name, "--ignore-daemonsets", "--timeout=20s"]);
        s.kubectl(&["uncordon", "-l", &format!("case={name}")]);
        s.kubectl(&["drain", &name, "--dry-run=server"]);
        s.kubectl(&["cordon", "nowhere"]);
        s.get(format!("{NODES}/{name}"));
    });
}

#[test]
fn kubectl_taints_a_node() {
    both(|s| {
        let name = given(s);
        s.kubectl(&["taint", "node", &name, "wind=high:NoSchedule"]);
        s.kubectl(&["taint", "node", &name, "wind=low:NoSchedule"]);
        s.kubectl(&["taint", "node", &name, "wind=low:NoSchedule", "--overwrite"]);
        s.kubectl(&["taint", "node", &name, "rain:NoExecute"]);
        s.kubectl(&["taint", "node", &name, "wind-", "rain:NoExecute-"]);
        s.kubectl(&["taint", "node", &name, "wind-"]);
        s.kubectl(&["taint", "node", &name, "wind=high:Never"]);
        s.request("GET", format!("{NODES}/{name}"))
            .send_and(|node| node["spec"].clone());
    });
}

#[test]
fn kubectl_labels_edits_and_patches_a_node() {
    both(|s| {
        let name = given(s);
        s.kubectl(&["label", "node", &name, "node-role.kubernetes.io/drone="]);
        s.kubectl(&["annotate", "node", &name, "note=x"]);
        s.kubectl_edit(&["edit", "node", &name], "sed -i 's/note: x/note: z/'");
        s.kubectl(&["patch", "node", &name, "-p", r#"{"metadata": {"labels": {"a": "b"}}}"#]);
        s.kubectl(&[
            "patch",
            "node",
            &name,
            "--type=merge",
            "-p",
            r#"{"spec": {"unschedulable": true}}"#,
        ]);
        s.kubectl(&["get", "node", &name, "-o", "json"]);
    });
}

#[test]
fn kubectl_applies_and_deletes_a_node() {
    both(|s| {
        let name = s.ns().to_owned();
        s.kubectl_with(
            &["apply", "-f", "-"],
            &labeled(node(&name), json!({"a": "1", "b": "2"})),
        );
        s.kubectl_with(
            &["apply", "-f", "-"],
            &labeled(node(&name), json!({"a": "1", "c": "3"})),
        );
        s.kubectl_with(
            &["apply", "-f", "-"],
            &labeled(node(&name), json!({"a": "1", "c": "3"})),
        );
        s.kubectl_with(&["diff", "-f", "-"], &labeled(node(&name), json!({"a": "2", "c": "3"})));
        s.kubectl_with(
            &["apply", "--server-side", "-f", "-"],
            &labeled(node(&name), json!({"a": "5"})),
        );
        s.get(format!("{NODES}/{name}"));
        s.kubectl(&["delete", "node", &name]);
        s.kubectl(&["delete", "node", &name]);
    });
}
