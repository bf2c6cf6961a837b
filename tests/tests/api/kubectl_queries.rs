//! kubectl's questions about the API itself.

use serde_json::{Value, json};

use crate::both;
use crate::session::Session;

#[test]
fn kubectl_explains_swarms_and_drones() {
    both(|s| {
        for path in [
            "swarm",
            "swarms.spec",
            "swarm.spec.template.spec.failsafe",
            "drone.status.conditions",
            "drone.spec.takeoffAltitudeMeters",
            "dr.status.vehicle.systemId",
            "swarm.spec.wings",
            "kite",
        ] {
            s.kubectl(&["explain", path]);
        }
        s.kubectl(&["explain", "swarm", "--recursive"]);
        s.kubectl(&["explain", "drone.spec", "--recursive"]);
        s.kubectl(&["explain", "swarm", "--api-version=skein.dev/v1alpha1"]);
        s.kubectl(&["explain", "swarm", "--api-version=skein.dev/v1"]);
    });
}

#[test]
fn kubectl_explains_built_in_kinds() {
    both(|s| {
        for path in ["node.spec.taints", "lease.spec", "namespace.status"] {
            s.kubectl(&["explain", path]);
        }
    });
}

#[test]
fn kubectl_knows_that_all_is_allowed() {
    both(|s| {
        s.kubectl(&["auth", "can-i", "create", "drones"]);
        s.kubectl(&["auth", "can-i", "delete", "swarm/a", "--subresource=scale"]);
        s.kubectl(&["auth", "can-i", "*", "*"]);
        s.kubectl(&["auth", "can-i", "create", "kites"]);
        s.kubectl(&["auth", "can-i", "get", "/version"]);
    });
}

fn lines(s: &mut Session, args: &[&str], wanted: &[&str]) {
    let text = s.kubectl(args);
    let step = s.steps.pop().unwrap();
    let lines: Vec<Value> = text
        .lines()
        .filter(|line| {
            wanted
                .iter()
                .any(|name| line.split_whitespace().any(|word| word == *name))
        })
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ").into())
        .collect();
    s.note(
        &step.action,
        json!({"exit": step.result["exit"], "lines": lines, "stderr": step.result["stderr"]}),
    );
}

#[test]
fn kubectl_lists_resources_and_versions() {
    both(|s| {
        s.kubectl(&["api-resources", "--api-group=skein.dev", "-o", "wide"]);
        s.kubectl(&["api-resources", "--api-group=coordination.k8s.io"]);
        s.kubectl(&["api-resources", "--categories=skein"]);
        s.kubectl(&[
            "api-resources",
            "--api-group=skein.dev",
            "--verbs=list,create",
            "-o",
            "name",
        ]);
        lines(s, &["api-resources", "--namespaced=false"], &["nodes", "namespaces"]);
        lines(s, &["api-resources"], &["events", "pods", "leases", "nodes", "drones"]);
        lines(
            s,
            &["api-versions"],
            &["v1", "skein.dev/v1alpha1", "coordination.k8s.io/v1", "events.k8s.io/v1"],
        );
    });
}

#[test]
fn kubectl_prints_versions_and_raw_answers() {
    both(|s| {
        s.kubectl(&["version"]);
        s.kubectl(&["get", "--raw", "/readyz"]);
        s.kubectl(&["get", "--raw", "/nowhere"]);
        s.kubectl(&["get", "--raw", "/apis/skein.dev"]);
        let drones = s.drone("");
        s.kubectl_with(
            &["create", "--raw", &drones, "-f", "-"],
            &crate::objects::drone("raw", json!({})),
        );
        s.kubectl(&["delete", "--raw", &s.drone("raw")]);
    });
}

#[test]
fn kubectl_prints_the_identity() {
    both(|s| {
        let text = s.kubectl(&["auth", "whoami", "-o", "json"]);
        s.steps.pop();
        let who: Value = serde_json::from_str(&text).unwrap_or_default();
        let groups = who["status"]["userInfo"]["groups"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        s.note(
            "kubectl auth whoami",
            json!([who["kind"], groups.contains(&json!("system:authenticated"))]),
        );
    });
}
