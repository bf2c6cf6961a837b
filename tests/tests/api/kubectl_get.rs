//! Output of `kubectl get`, `describe` and `events`.

use serde_json::json;

use crate::both;
use crate::kubectl_running::{Running, Stream};
use crate::objects::{CORE, NODES, condition, drone, event, labeled, node, swarm};
use crate::session::{MERGE, Session};

fn fleet(s: &mut Session) {
    s.given(
        s.swarm(""),
        &swarm(
            "alpha",
            json!({"replicas": 2, "template": {"spec": {"failsafe": {"onCoordinatorLoss": "Land"}}}}),
        ),
    );
    s.given(
        s.drone(""),
        &labeled(
            drone("a", json!({"nodeName": "n-1"})),
            json!({"skein.dev/swarm": "alpha", "case": s.ns()}),
        ),
    );
    s.given(
        s.drone(""),
        &labeled(
            drone("b", json!({"takeoffAltitudeMeters": 25})),
            json!({"skein.dev/swarm": "alpha"}),
        ),
    );
    let status = json!({"status": {"phase": "Flying", "flying": true, "mode": "GUIDED", "nodeName": "n-1", "battery": {"remainingPercent": 80},
        "vehicle": {"autopilot": "ArduPilot", "systemId": 1},
        "conditions": [condition("Flying", "True", ""), condition("Ready", "True", "holding at 10 m")]}});
    for (path, patch) in [
        (s.drone("a/status"), status),
        (
            s.swarm("alpha/status"),
            json!({"status": {"replicas": 2, "assignedDrones": 1, "flyingDrones": 1,
        "conditions": [condition("Ready", "False", "1 of 2 fly")]}}),
        ),
    ] {
        let answer = s.request("PATCH", path).quietly().text(MERGE, patch.to_string()).send();
        assert_eq!(answer.code, 200, "{}", answer.body);
    }
}

#[test]
fn kubectl_get_shows_columns() {
    both(|s| {
        s.kubectl(&["get", "swarms"]);
        fleet(s);
        s.kubectl(&["get", "swarms"]);
        s.kubectl(&["get", "drones"]);
        s.kubectl(&["get", "swarms,drones", "-o", "wide"]);
        s.kubectl(&["get", "sw,dr"]);
        s.kubectl(&["get", "skein"]);
        s.kubectl(&["get", "drone", "a", "-o", "wide", "--show-labels"]);
        s.kubectl(&["get", "drone/a", "swarm/alpha", "--show-kind"]);
        s.kubectl(&["get", "drones", "-L", "skein.dev/swarm", "--no-headers"]);
        s.kubectl(&["get", "drones.v1alpha1.skein.dev", "b"]);
        s.kubectl(&["get", "all"]);
    });
}

#[test]
fn kubectl_get_prints_other_forms() {
    both(|s| {
        fleet(s);
        for form in [
            "yaml",
            "json",
            "name",
            "jsonpath={.items[*].metadata.name}",
            "jsonpath={range .items[*]}{.metadata.name}={.status.phase}{\"\\n\"}{end}",
            "custom-columns=NAME:.metadata.name,NODE:.spec.nodeName,ALTITUDE:.spec.takeoffAltitudeMeters",
            "go-template={{range .items}}{{.metadata.name}} {{.spec.takeoffAltitudeMeters}}\n{{end}}",
        ] {
            s.kubectl(&["get", "drones", "-o", form]);
        }
        s.kubectl(&["get", "drone", "a", "-o", "yaml", "--show-managed-fields"]);
        s.kubectl(&["get", "swarm", "alpha", "-o", "json", "--show-managed-fields"]);
    });
}

#[test]
fn kubectl_get_selects_and_sorts() {
    both(|s| {
        fleet(s);
        let label = format!("case={}", s.ns());
        s.kubectl(&["get", "drones", "-l", "skein.dev/swarm=alpha"]);
        s.kubectl(&["get", "drones", "-l", "skein.dev/swarm!=alpha"]);
        s.kubectl(&["get", "drones", "-A", "-l", &label]);
        s.kubectl(&["get", "drones", "--field-selector", "spec.nodeName=n-1"]);
        s.kubectl(&["get", "drones", "--field-selector", "metadata.name=b", "-o", "name"]);
        s.kubectl(&["get", "drones", "--field-selector", "status.phase=Flying"]);
        s.kubectl(&["get", "drones", "--sort-by", ".spec.takeoffAltitudeMeters"]);
        s.kubectl(&["get", "drones", "--sort-by", ".metadata.name", "--no-headers"]);
        s.kubectl(&["get", "drones", "--chunk-size=1"]);
        s.kubectl(&["get", "drones", "-l", "a b"]);
    });
}

#[test]
fn kubectl_get_says_what_is_not_there() {
    both(|s| {
        s.kubectl(&["get", "drone", "nobody"]);
        s.kubectl(&["get", "drone", "nobody", "--ignore-not-found"]);
        s.kubectl(&["get", "kites"]);
        s.kubectl(&["get", "drones", "-l", "nothing=here"]);
        s.kubectl(&["get", "nodes", "-l", "nothing=here"]);
        s.kubectl(&["get", "pods"]);
        s.kubectl(&["get", "leases"]);
        s.kubectl(&["get", "events"]);
        s.kubectl(&["get", "drones", "-o", "jsonpath={.items[0].metadata.name}"]);
    });
}

#[test]
fn kubectl_get_follows_changes_for_a_while() {
    both(|s| {
        fleet(s);
        let namespace = s.ns().to_owned();
        let args = [
            "-n",
            &namespace,
            "get",
            "drones",
            "-w",
            "--request-timeout=6s",
            "-o",
            "custom-columns=NAME:.metadata.name,ALTITUDE:.spec.takeoffAltitudeMeters",
        ];
        let mut watching = Running::begin(s.side().kubectl().command(args));
        // It watches from the revision of the list that it shows: everything after that is a change.
        watching.until(Stream::Output, |said| said.lines().count() == 3);
        for meters in [31, 32] {
            let patch = json!({"spec": {"takeoffAltitudeMeters": meters}}).to_string();
            let answer = s.request("PATCH", s.drone("b")).quietly().text(MERGE, patch).send();
            assert_eq!(answer.code, 200);
        }
        let watch = watching.end();
        s.note(
            "kubectl get drones -w",
            json!({"exit": watch.exit, "stdout": watch.output, "stderr": watch.errors}),
        );
    });
}

#[test]
fn kubectl_describe_prints_all() {
    both(|s| {
        let ns = s.ns().to_owned();
        fleet(s);
        s.given(s.at(CORE, "events", ""), &event(&ns, "e", "a", "LowBattery"));
        // kubectl prints their age, and the time since 2001 grows.
        let patch = json!({"firstTimestamp": null, "lastTimestamp": null}).to_string();
        s.request("PATCH", s.at(CORE, "events", "e"))
            .quietly()
            .text(MERGE, patch)
            .send();
        s.kubectl(&["describe", "swarm", "alpha"]);
        s.kubectl(&["describe", "drone", "a"]);
        s.kubectl(&[
            "describe",
            "drones",
            "-l",
            "skein.dev/swarm=alpha",
            "--show-events=false",
        ]);
        s.kubectl(&["describe", "drone", "nobody"]);
        s.kubectl(&["describe", "namespace", &ns]);
        s.kubectl(&["events", "--for", "drone/a"]);
        s.kubectl(&["events"]);
        s.kubectl(&["get", "events", "--field-selector", "involvedObject.name=a"]);
    });
}

#[test]
fn kubectl_shows_nodes() {
    both(|s| {
        let name = s.ns().to_owned();
        s.given(
            NODES,
            &labeled(
                node(&name),
                json!({"case": name, "node-role.kubernetes.io/drone": "", "kubernetes.io/hostname": name}),
            ),
        );
        let status = json!({"spec": {"taints": null}, "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Heard", "message": "its agent is connected",
            "lastTransitionTime": "2001-02-03T04:05:06Z", "lastHeartbeatTime": "2001-02-03T04:05:06Z"}]}});
        for subresource in ["", "/status"] {
            let answer = s
                .request("PATCH", format!("{NODES}/{name}{subresource}"))
                .quietly()
                .text(MERGE, status.to_string())
                .send();
            assert_eq!(answer.code, 200, "{}", answer.body);
        }
        let label = format!("case={name}");
        s.kubectl(&["get", "nodes", "-l", &label]);
        s.kubectl(&["get", "nodes", "-l", &label, "-o", "wide"]);
        s.kubectl(&["get", "no", &name, "-o", "yaml"]);
        s.kubectl(&["describe", "node", &name]);
        s.kubectl(&[
            "get",
            "node",
            &name,
            "-o",
            "jsonpath={.status.conditions[?(@.type==\"Ready\")].status}",
        ]);
    });
}
