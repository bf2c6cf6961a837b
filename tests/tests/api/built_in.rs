//! Rules of built-in kinds that a real server has in its code rather than in a schema, as far as users meet them here.

use serde_json::{Value, json};

use crate::both;
use crate::objects::{CORE, EVENTS, LEASES, NAMESPACES, NODES, drone, event, lease, node, owned_by, with};
use crate::session::{MERGE, STRATEGIC};

/// A dry run, so that a request that only one side accepts has no consequences.
fn dry(path: String) -> String {
    format!("{path}?dryRun=All")
}

#[test]
fn events_are_complete() {
    both(|s| {
        let ns = s.ns().to_owned();
        let mut elsewhere = event(&ns, "a", "x", "Low");
        elsewhere["involvedObject"]["namespace"] = json!("default");
        s.post(dry(s.at(CORE, "events", "")), &elsewhere);
        s.post(
            dry(s.at(CORE, "events", "")),
            &json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "bare"}}),
        );
        s.post(
            s.at(CORE, "events", ""),
            &json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "b"}, "type": "Alarm",
            "involvedObject": {"namespace": ns}}),
        );
        let whole = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "c", "namespace": ns},
            "eventTime": "2001-02-03T04:05:06.000007Z", "reportingController": "skein.dev/x", "reportingInstance": "x-1",
            "action": "Bind", "reason": "Bound", "type": "Normal", "regarding": {"kind": "Drone", "name": "a", "namespace": ns}});
        for missing in [
            "eventTime",
            "reportingController",
            "reportingInstance",
            "action",
            "reason",
            "type",
        ] {
            let mut part = whole.clone();
            part.as_object_mut().unwrap().remove(missing);
            s.post(s.at(EVENTS, "events", ""), &part);
        }
        let mut long = whole.clone();
        long["note"] = json!("x".repeat(1025));
        s.post(s.at(EVENTS, "events", ""), &long);
        s.post(s.at(EVENTS, "events", ""), &whole);
        s.patch(
            MERGE,
            s.at(EVENTS, "events", "c"),
            &json!({"series": {"count": 2, "lastObservedTime": "2001-02-03T04:05:07.000000Z"}}),
        );
    });
}

#[test]
fn an_event_is_counted_up_as_recorders_do() {
    both(|s| {
        let ns = s.ns().to_owned();
        s.given(s.at(CORE, "events", ""), &event(&ns, "e", "x", "Low"));
        let patch = json!({"count": 2, "lastTimestamp": "2001-02-03T05:05:06Z", "message": "lower"});
        s.patch(STRATEGIC, s.at(CORE, "events", "e"), &patch);
        s.patch(MERGE, s.at(CORE, "events", "missing"), &patch);
        s.delete(format!(
            "{}?fieldSelector=involvedObject.name%3Dx",
            s.at(CORE, "events", "")
        ));
        s.get(s.at(CORE, "events", ""));
    });
}

#[test]
fn leases_have_sensible_spans() {
    both(|s| {
        let all = s.at(LEASES, "leases", "");
        for spec in [
            json!({"leaseDurationSeconds": 0}),
            json!({"leaseDurationSeconds": -1}),
            json!({"leaseTransitions": -1}),
            json!({"holderIdentity": ""}),
            json!({"renewTime": "yesterday"}),
            json!({"renewTime": "2001-02-03T04:05:06Z"}),
            json!({"leaseDurationSeconds": "x"}),
            json!({"strategy": "OldestEmulationVersion"}),
        ] {
            s.post(format!("{all}?dryRun=All"), &lease("a", spec));
        }
        s.post(
            &all,
            &json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "bare"}}),
        );
        s.post(&all, &lease("Bad_Name", json!({})));
    });
}

#[test]
fn taints_of_a_node_have_a_form() {
    both(|s| {
        let name = s.ns().to_owned();
        for taints in [
            json!([{"key": "a", "effect": "Never"}]),
            json!([{"key": "a b", "effect": "NoSchedule"}]),
            json!([{"effect": "NoSchedule"}]),
            json!([{"key": "a", "value": "x y", "effect": "NoSchedule"}]),
            json!([{"key": "a"}]),
            json!([{"key": "a", "effect": "NoSchedule"}, {"key": "a", "value": "x", "effect": "NoSchedule"}]),
        ] {
            let mut object = node(&name);
            object["spec"] = json!({"taints": taints});
            s.post(format!("{NODES}?dryRun=All"), &object);
        }
        s.given(NODES, &node(&name));
        s.patch(
            MERGE,
            format!("{NODES}/{name}/status"),
            &json!({"status": {"capacity": {"cpu": "many"}}}),
        );
        s.patch(
            MERGE,
            format!("{NODES}/{name}/status"),
            &json!({"status": {"capacity": {"cpu": 4, "memory": "1024Mi"}}}),
        );
    });
}

#[test]
fn the_status_of_a_node_makes_sense() {
    both(|s| {
        let name = s.ns().to_owned();
        let path = format!("{NODES}/{name}/status");
        s.given(NODES, &node(&name));
        let ready = json!({"type": "Ready", "status": "True"});
        for status in [
            json!({"capacity": {"drones": "1"}}),
            json!({"capacity": {"skein.dev/drones": "1"}}),
            json!({"capacity": {"a b": "1"}}),
            json!({"phase": "Flying"}),
            json!({"conditions": [{"type": "Ready"}]}),
            json!({"conditions": [ready, ready]}),
            json!({"conditions": [{"type": "Ready", "status": "Perhaps"}]}),
            json!({"nodeInfo": {"machineID": "x"}}),
        ] {
            s.request("PATCH", dry(path.clone()))
                .text(MERGE, json!({"status": status}).to_string())
                .send_and(|body| match body["kind"] == "Status" {
                    true => body,
                    false => Value::Null,
                });
        }
    });
}

#[test]
fn a_namespace_shows_whether_it_is_terminating() {
    both(|s| {
        let path = format!("{NAMESPACES}/{}", s.ns());
        let status = dry(format!("{path}/status"));
        for phase in [json!("Terminating"), json!("Active"), json!("Gone"), Value::Null] {
            s.patch(MERGE, &status, &json!({"status": {"phase": phase}}));
        }
        s.patch(MERGE, dry(path.clone()), &json!({"spec": {"finalizers": ["a.dev/x"]}}));
        s.patch(MERGE, dry(path.clone()), &json!({"spec": {"finalizers": []}}));
        s.patch(MERGE, dry(path), &json!({"status": {"phase": "Terminating"}}));
    });
}

#[test]
fn a_node_status_is_replaced_whole() {
    both(|s| {
        let (name, path) = (s.ns().to_owned(), format!("{NODES}/{}", s.ns()));
        s.given(NODES, &node(&name));
        let mut kept = s.get(&path).body;
        kept["status"]["conditions"] = json!([{"type": "Ready", "status": "True", "reason": "Heard", "message": ""}]);
        kept["spec"]["unschedulable"] = json!(true);
        s.put(format!("{path}/status"), &kept);
        let mut kept = s.get(&path).body;
        kept["status"] = json!({});
        s.put(&path, &kept);
        s.get(&path);
    });
}

#[test]
fn a_namespace_keeps_its_name_as_a_label() {
    both(|s| {
        let path = format!("{NAMESPACES}/{}", s.ns());
        s.patch(MERGE, &path, &json!({"metadata": {"labels": null}}));
        s.patch(
            MERGE,
            &path,
            &json!({"metadata": {"labels": {"kubernetes.io/metadata.name": "other"}}}),
        );
        s.patch(
            MERGE,
            dry(format!("{path}/status")),
            &json!({"status": {"phase": "Terminating"}}),
        );
        s.get(path);
    });
}

#[test]
fn what_a_node_owned_goes_with_it() {
    both(|s| {
        let name = s.ns().to_owned();
        let owner = s.given(NODES, &node(&name)).body;
        let mut reference = owned_by(&owner, false);
        reference["controller"] = json!(false);
        s.given(
            s.at(LEASES, "leases", ""),
            &with(lease("claim", json!({})), "ownerReferences", json!([reference])),
        );
        s.given(
            s.drone(""),
            &with(drone("a", json!({})), "ownerReferences", json!([reference])),
        );
        s.delete(format!("{NODES}/{name}"));
        s.until("the Lease to be gone", s.at(LEASES, "leases", "claim"), |answer| {
            answer.code == 404
        });
        s.until("the Drone to be gone", s.drone("a"), |answer| answer.code == 404);
    });
}

#[test]
fn an_event_of_the_other_api_is_not_taken() {
    both(|s| {
        let ns = s.ns().to_owned();
        s.post(s.at(CORE, "events", ""), &event(&ns, "e", "x", "Low"));
        let as_new = s.get(s.at(EVENTS, "events", "e")).body;
        s.put(s.at(CORE, "events", "e"), &as_new);
        let mut changed: Value = s.get(s.at(CORE, "events", "e")).body;
        changed["count"] = json!(7);
        s.put(s.at(CORE, "events", "e"), &changed);
    });
}

#[test]
fn patches_at_the_same_time_all_land() {
    both(|s| {
        s.given(s.drone(""), &drone("a", json!({})));
        let (side, path) = (s.side(), s.drone("a"));
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = path.clone();
                scope.spawn(move || {
                    let patch = json!({"metadata": {"labels": {format!("l{number}"): "x"}}}).to_string();
                    let args = [
                        "-n",
                        path.split('/').nth(5).unwrap(),
                        "patch",
                        "drone",
                        "a",
                        "--type=merge",
                        "-p",
                        &patch,
                    ];
                    assert!(side.kubectl().output(args).unwrap().status.success());
                });
            }
        });
        s.request("GET", path)
            .send_and(|object| object["metadata"]["labels"].clone());
    });
}
