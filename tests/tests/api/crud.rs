//! Creating, reading, replacing and deleting one object of each kind.

use serde_json::json;

use crate::both;
use crate::objects::{CORE, EVENTS, LEASES, NAMESPACES, NODES, drone, event, labeled, lease, node, swarm};

#[test]
fn a_swarm_is_made_read_replaced_and_deleted() {
    both(|s| {
        let path = s.swarm("a");
        s.post(s.swarm(""), &swarm("a", json!({"replicas": 2})));
        let mut stored = s.get(&path).body;
        stored["spec"]["replicas"] = json!(3);
        stored["metadata"]["annotations"] = json!({"note": "three"});
        s.put(&path, &stored);
        s.get(&path);
        s.delete(&path);
        s.get(&path);
        s.delete(&path);
    });
}

#[test]
fn a_drone_is_made_read_replaced_and_deleted() {
    both(|s| {
        let path = s.drone("a");
        s.post(
            s.drone(""),
            &drone(
                "a",
                json!({"nodeName": "n-1", "failsafe": {"onCoordinatorLoss": "Land"}}),
            ),
        );
        let mut stored = s.get(&path).body;
        stored["spec"]["grounded"] = json!(true);
        s.put(&path, &stored);
        s.delete_with(&path, &json!({}));
        s.get(&path);
    });
}

#[test]
fn an_empty_spec_gets_every_default_at_every_depth() {
    both(|s| {
        s.post(s.swarm(""), &swarm("empty", json!({})));
        s.post(s.swarm(""), &swarm("template", json!({"template": {}})));
        s.post(s.swarm(""), &swarm("inner", json!({"template": {"spec": {}}})));
        s.post(
            s.swarm(""),
            &swarm("failsafe", json!({"template": {"spec": {"failsafe": {}}}})),
        );
        s.post(
            s.swarm(""),
            &swarm(
                "null",
                json!({"template": {"spec": {"failsafe": null}}, "replicas": null}),
            ),
        );
        s.post(s.drone(""), &drone("empty", json!({})));
        s.post(
            s.drone(""),
            &drone("failsafe", json!({"failsafe": {"coordinatorLossSeconds": 5}})),
        );
        s.post(
            s.drone(""),
            &drone(
                "null",
                json!({"nodeName": null, "failsafe": null, "takeoffAltitudeMeters": null}),
            ),
        );
    });
}

#[test]
fn numbers_come_back_as_they_were_sent() {
    both(|s| {
        for (name, meters) in [
            ("whole", json!(12)),
            ("point", json!(12.0)),
            ("part", json!(12.5)),
            ("power", json!(1.2e1)),
        ] {
            s.post(s.drone(""), &drone(name, json!({"takeoffAltitudeMeters": meters})));
        }
        s.get(s.drone("point"));
    });
}

#[test]
fn a_node_is_made_read_replaced_and_deleted() {
    both(|s| {
        let (name, path) = (s.ns().to_owned(), format!("{NODES}/{}", s.ns()));
        s.post(NODES, &node(&name));
        let mut stored = s.get(&path).body;
        stored["metadata"]["labels"]["camera"] = json!("thermal");
        stored["spec"]["unschedulable"] = json!(true);
        stored["spec"]["taints"] = json!([{"key": "wind", "value": "high", "effect": "NoSchedule"}]);
        s.put(&path, &stored);
        s.delete(&path);
        s.get(&path);
    });
}

#[test]
fn a_namespace_is_made_read_and_changed() {
    both(|s| {
        let name = format!("{}-more", s.ns());
        s.post(
            NAMESPACES,
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
        );
        let mut stored = s.get(format!("{NAMESPACES}/{name}")).body;
        stored["metadata"]["labels"]["field"] = json!("north");
        s.put(format!("{NAMESPACES}/{name}"), &stored);
        s.post(
            NAMESPACES,
            &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
        );
    });
}

#[test]
fn a_fresh_server_has_its_four_namespaces() {
    both(|s| {
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            s.request("GET", format!("{NAMESPACES}/{name}"))
                .send_and(|mut namespace| {
                    for key in ["managedFields", "resourceVersion"] {
                        namespace["metadata"].as_object_mut().unwrap().remove(key);
                    }
                    namespace
                });
        }
    });
}

#[test]
fn a_lease_is_made_held_and_deleted() {
    both(|s| {
        let (all, path) = (s.at(LEASES, "leases", ""), s.at(LEASES, "leases", "claim"));
        let spec =
            json!({"holderIdentity": "a", "leaseDurationSeconds": 15, "renewTime": "2001-02-03T04:05:06.000007Z"});
        s.post(&all, &lease("claim", spec));
        let mut stored = s.get(&path).body;
        stored["spec"]["holderIdentity"] = json!("b");
        stored["spec"]["leaseTransitions"] = json!(1);
        stored["spec"]["renewTime"] = json!("2001-02-03T04:05:07.5Z");
        s.put(&path, &stored);
        s.put(&path, &stored);
        s.get(&all);
        s.delete(&path);
    });
}

#[test]
fn an_event_is_one_object_in_two_apis() {
    both(|s| {
        let ns = s.ns().to_owned();
        s.post(s.at(CORE, "events", ""), &event(&ns, "old", "a", "LowBattery"));
        s.get(s.at(EVENTS, "events", "old"));
        let new = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "new", "namespace": ns},
            "eventTime": "2001-02-03T04:05:06.000007Z", "reportingController": "skein.dev/coordinator",
            "reportingInstance": "case-1", "action": "Bind", "reason": "Bound", "type": "Normal", "note": "bound to n-1",
            "regarding": {"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "name": "a", "namespace": ns}});
        s.post(s.at(EVENTS, "events", ""), &new);
        s.get(s.at(CORE, "events", "new"));
        s.get(s.at(CORE, "events", ""));
        s.get(s.at(EVENTS, "events", ""));
        s.get(format!(
            "{}?fieldSelector=involvedObject.name%3Da,reason%3DLowBattery",
            s.at(CORE, "events", "")
        ));
        s.get(format!(
            "{}?fieldSelector=regarding.name%3Da,type%3DNormal",
            s.at(EVENTS, "events", "")
        ));
        s.delete(s.at(EVENTS, "events", "old"));
        s.get(s.at(CORE, "events", "old"));
    });
}

#[test]
fn a_dry_run_does_everything_but_store() {
    both(|s| {
        let path = s.drone("a");
        s.post(format!("{}?dryRun=All", s.drone("")), &drone("a", json!({})));
        s.get(&path);
        s.post(
            format!("{}?dryRun=All", s.drone("")),
            &drone("a", json!({"takeoffAltitudeMeters": 500})),
        );
        let stored = s.given(s.drone(""), &drone("a", json!({})));
        let mut changed = stored.body.clone();
        changed["spec"]["grounded"] = json!(true);
        s.put(format!("{path}?dryRun=All"), &changed);
        s.patch(
            crate::session::MERGE,
            format!("{path}?dryRun=All"),
            &json!({"spec": {"grounded": true}}),
        );
        s.delete(format!("{path}?dryRun=All"));
        s.delete_with(&path, &json!({"dryRun": ["All"]}));
        let still = s.get(&path);
        s.note("unchanged", json!(still.version() == stored.version()));
        s.get(format!("{path}?dryRun=All"));
        s.post(format!("{}?dryRun=some", s.drone("")), &drone("b", json!({})));
    });
}

#[test]
fn labels_and_annotations_are_stored_unchanged() {
    both(|s| {
        let mut object = labeled(
            swarm("a", json!({})),
            json!({"camera": "thermal", "skein.dev/x": "", "a.b/c-d_e.f": "G-h_1.2"}),
        );
        object["metadata"]["annotations"] = json!({"note": "ä, \"ö\" & \u{1F681}\n<two lines>", "empty": ""});
        s.post(s.swarm(""), &object);
        s.get(s.swarm("a"));
        let text = s.get(s.swarm("a")).body.to_string();
        s.note("as JSON text", json!(text.contains('\u{1F681}')));
    });
}

#[test]
fn a_body_may_be_yaml() {
    both(|s| {
        let text = "apiVersion: skein.dev/v1alpha1\nkind: Drone\nmetadata:\n  name: a\n  labels: {x: \"1\"}\nspec:\n  takeoffAltitudeMeters: 12.5\n";
        s.request("POST", s.drone("")).text("application/yaml", text).send();
        s.request("POST", s.drone(""))
            .text("application/yaml", text.replace("12.5", "["))
            .send();
    });
}

#[test]
fn an_answer_may_be_yaml() {
    both(|s| {
        s.given(s.drone(""), &drone("a", json!({})));
        let answer = s
            .request("GET", s.drone("a"))
            .quietly()
            .accept("application/yaml")
            .send();
        let text = answer.body.as_str().unwrap_or_default().to_owned();
        s.note(
            "it is YAML",
            json!([
                answer.code,
                text.contains("kind: Drone\n"),
                text.contains("  name: a\n")
            ]),
        );
    });
}
