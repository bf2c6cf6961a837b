//! Tables, as `kubectl get` requests them, and metadata alone, as garbage collectors request it.

use serde_json::{Value, json};

use crate::both;
use crate::objects::{CORE, EVENTS, LEASES, NAMESPACES, NODES, condition, drone, event, labeled, lease, node, swarm};
use crate::session::{MERGE, Session};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const PARTIAL: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

fn fleet(s: &mut Session) {
    s.given(s.swarm(""), &swarm("alpha", json!({"replicas": 2, "grounded": false})));
    s.given(s.drone(""), &drone("a", json!({"nodeName": "n-1"})));
    s.given(s.drone(""), &drone("b", json!({})));
    let status = json!({"status": {"phase": "Flying", "flying": true, "mode": "GUIDED", "nodeName": "n-1", "battery": {"remainingPercent": 0},
        "vehicle": {"autopilot": "ArduPilot", "systemId": 1},
        "conditions": [condition("Flying", "True", ""), condition("Ready", "True", "holding at 10 m")]}});
    for (path, patch) in [
        (s.drone("a/status"), status),
        (
            s.swarm("alpha/status"),
            json!({"status": {"replicas": 2, "assignedDrones": 1,
        "conditions": [condition("Ready", "False", "1 of 2 fly")]}}),
        ),
    ] {
        let answer = s.request("PATCH", path).quietly().text(MERGE, patch.to_string()).send();
        assert_eq!(answer.code, 200, "{}", answer.body);
    }
}

#[test]
fn drones_and_swarms_as_tables() {
    both(|s| {
        fleet(s);
        s.request("GET", s.drone("")).accept(TABLE).send();
        s.request("GET", s.drone("a")).accept(TABLE).send();
        s.request("GET", s.swarm("")).accept(TABLE).send();
        s.request("GET", s.drone("missing")).accept(TABLE).send();
        s.request("GET", format!("{}?labelSelector=nothing", s.drone("")))
            .accept(TABLE)
            .send();
        s.request("GET", format!("{}?limit=1", s.drone("")))
            .accept(TABLE)
            .send();
    });
}

#[test]
fn a_table_holds_as_much_of_each_object_as_requested() {
    both(|s| {
        fleet(s);
        for include in ["None", "Metadata", "Object", "Guess"] {
            s.request("GET", format!("{}?includeObject={include}", s.swarm("")))
                .accept(TABLE)
                .send();
        }
    });
}

#[test]
fn built_in_kinds_as_tables() {
    both(|s| {
        let ns = s.ns().to_owned();
        let mut object = labeled(node(&ns), json!({"case": ns, "node-role.kubernetes.io/drone": ""}));
        object["spec"] = json!({"unschedulable": true});
        s.given(NODES, &object);
        let status = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "a", "message": ""}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "nodeInfo": {"kubeletVersion": "v1.2.3", "osImage": "Debian", "kernelVersion": "6.1", "containerRuntimeVersion": "none",
                "machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "arm64"}}});
        let patched = s
            .request("PATCH", format!("{NODES}/{ns}/status"))
            .quietly()
            .text(MERGE, status.to_string())
            .send();
        assert_eq!(patched.code, 200, "{}", patched.body);
        s.given(
            s.at(LEASES, "leases", ""),
            &lease("claim", json!({"holderIdentity": "me"})),
        );
        s.given(s.at(CORE, "events", ""), &event(&ns, "e", "a", "Low"));
        s.request("GET", format!("{NODES}?labelSelector=case%3D{ns}"))
            .accept(TABLE)
            .send();
        s.request("GET", format!("{NAMESPACES}/{ns}")).accept(TABLE).send();
        s.request("GET", s.at(LEASES, "leases", "")).accept(TABLE).send();
        s.request("GET", s.at(CORE, "pods", "")).accept(TABLE).send();
        // The age of an event in 2001 grows.
        let without_age = |mut table: Value| {
            let rows = table["rows"].as_array_mut().into_iter().flatten();
            for cell in rows.flat_map(|row| row["cells"].as_array_mut().unwrap().iter_mut()) {
                let old = cell
                    .as_str()
                    .is_some_and(|text| text.ends_with('d') || text.ends_with('y'));
                if old {
                    *cell = "<old>".into();
                }
            }
            table
        };
        s.request("GET", s.at(CORE, "events", ""))
            .accept(TABLE)
            .send_and(without_age);
        s.request("GET", s.at(EVENTS, "events", ""))
            .accept(TABLE)
            .send_and(without_age);
    });
}

#[test]
fn metadata_alone() {
    both(|s| {
        fleet(s);
        s.request("GET", s.drone("a")).accept(PARTIAL).send();
        s.request("GET", s.drone("")).accept(PARTIAL_LIST).send();
        s.request("GET", s.drone("")).accept(PARTIAL).send();
        s.request("GET", s.drone("a")).accept(PARTIAL_LIST).send();
        s.request("PATCH", s.drone("a"))
            .accept(PARTIAL)
            .text(MERGE, r#"{"metadata": {"labels": {"x": "y"}}}"#)
            .send();
        s.request("POST", s.drone(""))
            .accept(TABLE)
            .json(&drone("c", json!({})))
            .send();
        s.request("DELETE", s.drone("c")).accept(PARTIAL).send();
    });
}

#[test]
fn forms_that_nobody_knows_are_not_acceptable() {
    both(|s| {
        fleet(s);
        for accept in [
            "text/html",
            "application/json;as=Poem;v=v1;g=meta.k8s.io",
            "application/json;as=Table;v=v9;g=meta.k8s.io",
            "application/cbor2",
            "application/vnd.kubernetes.protobuf",
            "*/*",
            "application/*",
            "",
            "text/html,application/json;q=0.5",
            "application/json;as=Poem;v=v1;g=meta.k8s.io, */*",
        ] {
            s.request("GET", s.drone("b")).accept(accept).send();
        }
    });
}
