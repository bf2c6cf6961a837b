//! kubectl on Swarms and Drones.

use serde_json::json;

use crate::both;
use crate::kubectl_running::{Running, Stream};
use crate::objects::{condition, drone, labeled, swarm, with};
use crate::session::{MERGE, Session};

#[test]
fn kubectl_apply_makes_changes_and_leaves_alone() {
    both(|s| {
        let mut object = swarm("a", json!({"replicas": 2, "nodeSelector": {"camera": "thermal"}}));
        s.kubectl_with(&["apply", "-f", "-"], &object);
        s.kubectl_with(&["apply", "-f", "-"], &object);
        object["spec"]["replicas"] = json!(3);
        s.kubectl_with(&["apply", "-f", "-", "--dry-run=server"], &object);
        s.kubectl_with(&["diff", "-f", "-"], &object);
        s.kubectl_with(&["apply", "-f", "-"], &object);
        object["spec"].as_object_mut().unwrap().remove("nodeSelector");
        s.kubectl_with(&["apply", "-f", "-", "-o", "yaml"], &object);
        s.kubectl_with(&["diff", "-f", "-"], &object);
        s.get(s.swarm("a"));
        s.kubectl(&["apply", "view-last-applied", "swarm", "a"]);
    });
}

#[test]
fn kubectl_apply_prints_what_is_wrong() {
    both(|s| {
        s.kubectl_with(&["apply", "-f", "-"], &swarm("a", json!({"replicas": -1})));
        s.kubectl_with(&["apply", "-f", "-"], &swarm("a", json!({"replicas": "two"})));
        s.kubectl_with(&["apply", "-f", "-"], &swarm("a", json!({"speed": 3})));
        s.kubectl_with(
            &["apply", "-f", "-", "--validate=warn"],
            &swarm("a", json!({"speed": 3})),
        );
        s.kubectl_with(
            &["apply", "-f", "-", "--validate=ignore"],
            &swarm("b", json!({"speed": 3})),
        );
        s.kubectl_with(
            &["apply", "-f", "-"],
            &json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": "c"}}),
        );
        s.kubectl_with(
            &["apply", "-f", "-"],
            &json!({"apiVersion": "skein.dev/v1", "kind": "Swarm", "metadata": {"name": "c"}, "spec": {}}),
        );
        s.kubectl_with(
            &["apply", "-f", "-"],
            &json!({"kind": "Swarm", "metadata": {"name": "c"}}),
        );
        s.kubectl_with(&["apply", "-f", "-", "-n", "nowhere"], &swarm("a", json!({})));
        s.kubectl_with(
            &["create", "-f", "-"],
            &drone("d", json!({"failsafe": {"onCoordinatorLoss": "Explode"}})),
        );
    });
}

#[test]
fn kubectl_apply_on_the_server_shows_conflicts() {
    both(|s| {
        let object = swarm("a", json!({"replicas": 2}));
        s.kubectl_with(&["apply", "--server-side", "-f", "-"], &object);
        s.kubectl_with(&["apply", "--server-side", "-f", "-"], &object);
        s.kubectl(&["scale", "swarm/a", "--replicas=4"]);
        s.kubectl_with(&["apply", "--server-side", "-f", "-"], &object);
        s.kubectl_with(&["diff", "--server-side", "-f", "-", "--force-conflicts"], &object);
        s.kubectl_with(&["apply", "--server-side", "-f", "-", "--force-conflicts"], &object);
        s.kubectl_with(
            &["apply", "--server-side", "--field-manager=other", "-f", "-"],
            &swarm("a", json!({"replicas": 7, "grounded": true})),
        );
        s.kubectl_with(
            &["apply", "--server-side", "-f", "-", "--dry-run=server", "-o", "name"],
            &swarm("b", json!({})),
        );
        s.get(s.swarm("a"));
    });
}

#[test]
fn kubectl_moves_from_one_kind_of_apply_to_the_other() {
    both(|s| {
        let object = swarm("a", json!({"replicas": 2, "grounded": true}));
        s.kubectl_with(&["apply", "-f", "-"], &object);
        s.kubectl_with(&["apply", "--server-side", "-f", "-"], &object);
        s.get(s.swarm("a"));
        s.kubectl_with(
            &["apply", "--server-side", "-f", "-"],
            &swarm("a", json!({"replicas": 3})),
        );
        s.get(s.swarm("a"));
    });
}

#[test]
fn kubectl_create_and_replace() {
    both(|s| {
        s.kubectl_with(&["create", "-f", "-"], &drone("a", json!({})));
        s.kubectl_with(&["create", "-f", "-"], &drone("a", json!({})));
        s.kubectl_with(&["replace", "-f", "-"], &drone("a", json!({"grounded": true})));
        s.kubectl_with(&["replace", "-f", "-"], &drone("b", json!({})));
        s.kubectl_with(
            &["replace", "--force", "-f", "-"],
            &drone("a", json!({"takeoffAltitudeMeters": 20})),
        );
        s.get(s.drone("a"));
        s.random.push("x-".into());
        s.kubectl_with(&["create", "-f", "-"], &json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"generateName": "x-"}, "spec": {}}));
        let list =
            json!({"apiVersion": "v1", "kind": "List", "items": [swarm("one", json!({})), drone("two", json!({}))]});
        s.kubectl_with(&["create", "-f", "-"], &list);
        s.kubectl_with(&["apply", "-f", "-"], &list);
    });
}

#[test]
fn kubectl_edit_changes_what_the_editor_changes() {
    both(|s| {
        s.given(s.swarm(""), &swarm("a", json!({"replicas": 2})));
        s.kubectl_edit(&["edit", "swarm", "a"], "sed -i 's/replicas: 2/replicas: 3/'");
        s.kubectl_edit(&["edit", "swarm", "a"], "true");
        s.kubectl_edit(
            &["edit", "swarm", "a", "--output-patch"],
            "sed -i 's/replicas: 3/replicas: 4/'",
        );
        s.kubectl_edit(&["edit", "swarm", "missing"], "true");
        s.get(s.swarm("a"));
        s.given(s.drone(""), &drone("d", json!({})));
        s.kubectl_edit(
            &["edit", "drone", "d", "--subresource=status"],
            "sed -i '$a status: {phase: Flying}'",
        );
    });
}

#[test]
fn kubectl_scale_sets_the_number() {
    both(|s| {
        s.given(s.swarm(""), &swarm("a", json!({"replicas": 2})));
        s.kubectl(&["scale", "swarm/a", "--replicas=3"]);
        s.kubectl(&["scale", "swarm", "a", "--replicas=4", "--current-replicas=2"]);
        s.kubectl(&["scale", "swarm", "a", "--replicas=4", "--current-replicas=3"]);
        s.kubectl(&["scale", "swarm/a", "--replicas=10001"]);
        s.kubectl(&["scale", "swarm/missing", "--replicas=1"]);
        s.given(s.drone(""), &drone("d", json!({})));
        s.kubectl(&["scale", "drone/d", "--replicas=1"]);
        s.kubectl(&["scale", "swarms", "--all", "--replicas=1", "--dry-run=server"]);
        s.kubectl(&["get", "swarm", "a", "--subresource=scale", "-o", "yaml"]);
    });
}

#[test]
fn kubectl_waits_for_conditions_values_and_ends() {
    both(|s| {
        s.given(s.swarm(""), &swarm("a", json!({"replicas": 2})));
        s.kubectl(&["wait", "--for=condition=Ready", "swarm/a", "--timeout=1s"]);
        let ready = json!({"status": {"conditions": [condition("Ready", "True", "")], "flyingDrones": 2}});
        s.request("PATCH", s.swarm("a/status"))
            .quietly()
            .text(MERGE, ready.to_string())
            .send();
        s.kubectl(&["wait", "--for=condition=Ready", "swarm/a", "--timeout=20s"]);
        s.kubectl(&["wait", "--for=condition=Ready=false", "swarm/a", "--timeout=1s"]);
        s.kubectl(&[
            "wait",
            "--for=jsonpath={.status.flyingDrones}=2",
            "swarm/a",
            "--timeout=20s",
        ]);
        s.kubectl(&["wait", "--for=create", "swarm/a", "--timeout=20s"]);
        s.kubectl(&["wait", "--for=delete", "swarm/missing", "--timeout=5s"]);
        s.kubectl(&["wait", "--for=delete", "swarm/a", "--timeout=1s"]);
        s.kubectl(&["wait", "--for=condition=Ready", "swarm/missing", "--timeout=1s"]);
        // With -v, kubectl prints each request once the server has answered: from the answer to its watch on, it sees
        // the deletion.
        let namespace = s.ns().to_owned();
        let args = [
            "-n",
            &namespace,
            "wait",
            "--for=delete",
            "swarm/a",
            "--timeout=30s",
            "-v=6",
        ];
        let mut waiting = Running::begin(s.side().kubectl().command(args));
        waiting.until(Stream::Errors, |said| said.contains("watch=true"));
        s.request("DELETE", s.swarm("a")).quietly().send();
        let later = waiting.end();
        s.note("kubectl wait --for=delete", json!([later.exit, later.output]));
    });
}

#[test]
fn kubectl_labels_annotates_and_patches() {
    both(|s| {
        s.given(s.drone(""), &drone("a", json!({})));
        s.kubectl(&["label", "drone", "a", "camera=thermal"]);
        s.kubectl(&["label", "drone", "a", "camera=wide"]);
        s.kubectl(&["label", "drone", "a", "camera=wide", "--overwrite"]);
        s.kubectl(&["label", "drone", "a", "camera=a b", "--overwrite"]);
        s.kubectl(&["label", "drone", "a", "camera-", "missing-"]);
        s.kubectl(&["label", "drones", "--all", "x=y"]);
        s.kubectl(&["label", "drone", "a", "--list"]);
        s.kubectl(&["annotate", "drone", "a", "note=hello world"]);
        s.kubectl(&["annotate", "drone", "a", "note-"]);
        let merge = ["--type=merge", r#"{"spec": {"grounded": true}}"#];
        let json = ["--type=json", r#"[{"op": "remove", "path": "/spec/grounded"}]"#];
        for [kind, patch] in [merge, merge, json, json] {
            s.kubectl(&["patch", "drone", "a", kind, "-p", patch]);
        }
        s.kubectl(&["patch", "drone", "a", "-p", r#"{"spec": {"grounded": true}}"#]);
        s.kubectl(&[
            "patch",
            "drone",
            "a",
            "--subresource=status",
            "--type=merge",
            "-p",
            r#"{"status": {"phase": "Flying"}}"#,
        ]);
        s.kubectl(&["patch", "drone", "missing", "--type=merge", "-p", "{}"]);
        s.kubectl(&[
            "patch",
            "drone",
            "a",
            "--type=merge",
            "-p",
            r#"{"spec": {"takeoffAltitudeMeters": 500}}"#,
        ]);
        s.get(s.drone("a"));
    });
}

fn three(s: &mut Session) {
    for name in ["a", "b", "c"] {
        s.given(
            s.drone(""),
            &labeled(drone(name, json!({})), json!({"odd": (name != "b").to_string()})),
        );
    }
}

#[test]
fn kubectl_deletes_by_name_label_and_all() {
    both(|s| {
        three(s);
        s.kubectl(&["delete", "drone", "a"]);
        s.kubectl(&["delete", "drone", "a"]);
        s.kubectl(&["delete", "drone", "a", "--ignore-not-found"]);
        s.kubectl(&["delete", "drones", "-l", "odd=false", "--dry-run=server"]);
        s.kubectl(&["delete", "drones", "-l", "odd=false"]);
        s.kubectl(&["delete", "drones", "-l", "odd=maybe"]);
        s.kubectl(&["delete", "drones", "--all"]);
        s.kubectl(&["delete", "drones", "--all"]);
        s.kubectl(&["delete", "drones"]);
        s.given(
            s.drone(""),
            &with(drone("held", json!({})), "finalizers", json!(["skein.dev/landed"])),
        );
        s.kubectl(&["delete", "drone", "held", "--wait=false"]);
        s.kubectl(&["delete", "drone", "held", "--timeout=1s"]);
        s.kubectl(&["get", "drones", "-o", "name"]);
    });
}

#[test]
fn kubectl_deletes_with_and_without_dependents() {
    both(|s| {
        for (owner, cascade) in [("bg", "background"), ("fg", "foreground"), ("orphan", "orphan")] {
            let kept = s.given(s.swarm(""), &swarm(owner, json!({}))).body;
            s.given(
                s.drone(""),
                &with(
                    drone(&format!("of-{owner}"), json!({})),
                    "ownerReferences",
                    json!([crate::objects::owned_by(&kept, true)]),
                ),
            );
            crate::deletion::known_to_the_collector(s);
            s.kubectl(&["delete", "swarm", owner, &format!("--cascade={cascade}")]);
        }
        s.until("one Drone to be left", s.drone(""), |a| {
            a.body["items"]
                .as_array()
                .is_some_and(|all| all.len() == 1 && all[0]["metadata"]["ownerReferences"].is_null())
        });
        s.kubectl(&["get", "swarms,drones", "-o", "name"]);
    });
}

#[test]
fn kubectl_says_what_a_swarm_is_not() {
    both(|s| {
        s.given(s.swarm(""), &swarm("a", json!({})));
        s.kubectl(&["rollout", "status", "swarm/a"]);
        s.kubectl(&["rollout", "restart", "swarm/a"]);
        s.kubectl(&["logs", "swarm/a"]);
        s.kubectl(&["exec", "swarm/a", "--", "true"]);
        s.kubectl(&["expose", "swarm/a", "--port=1"]);
        s.kubectl(&["autoscale", "swarm/a", "--max=2", "--dry-run=client"]);
    });
}

#[test]
fn kubectl_makes_and_deletes_namespaces() {
    both(|s| {
        let name = format!("{}-more", s.ns());
        s.kubectl(&["create", "namespace", &name]);
        s.kubectl(&["create", "namespace", &name]);
        s.kubectl(&["get", "namespace", &name]);
        s.kubectl(&["get", "ns", &name, "-o", "yaml"]);
        s.kubectl(&["label", "ns", &name, "a=b"]);
        s.kubectl(&["delete", "namespace", &name, "--timeout=60s"]);
        s.kubectl(&["get", "namespace", &name]);
        s.kubectl(&["delete", "namespace", "default"]);
    });
}
