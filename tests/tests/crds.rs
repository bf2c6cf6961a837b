//! The CRDs on a real API server: every rule with its message, every default, and the output of kubectl.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::LazyLock;
use std::time::Duration;

use crds::kinds::ALL;
use serde_json::{Value, json};
use testkit::{ControlPlane, Kubectl, wait_for};

static PLANE: LazyLock<ControlPlane> = LazyLock::new(|| ControlPlane::builder().manifests(["crds"]).start().unwrap());

struct Namespace(&'static str);

impl Namespace {
    fn new(name: &'static str) -> Self {
        PLANE.kubectl().run(["create", "namespace", name]).unwrap();
        Self(name)
    }

    fn kubectl(&self) -> &'static Kubectl {
        PLANE.kubectl()
    }

    fn run(&self, args: &[&str]) -> String {
        self.kubectl().run([&["-n", self.0], args].concat()).unwrap()
    }

    fn refused(&self, args: &[&str]) -> String {
        self.kubectl().refused([&["-n", self.0], args].concat()).unwrap()
    }

    fn object(&self, kind: &str, name: &str, spec: &Value) -> String {
        let metadata = json!({"name": name, "namespace": self.0});
        json!({"apiVersion": "skein.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}).to_string()
    }

    fn kept(&self, kind: &str, name: &str, spec: &Value) -> Value {
        self.kubectl().apply(&self.object(kind, name, spec)).unwrap();
        self.get(kind, name)["spec"].clone()
    }

    fn refusal(&self, kind: &str, spec: &Value) -> String {
        self.kubectl()
            .apply_refused(&self.object(kind, "refused", spec))
            .unwrap()
    }

    fn get(&self, kind: &str, name: &str) -> Value {
        self.kubectl().json(["-n", self.0, "get", kind, name]).unwrap()
    }

    fn patch_status(&self, kind: &str, name: &str, status: &Value) {
        let patch = json!({"status": status}).to_string();
        self.run(&[
            "patch",
            kind,
            name,
            "--subresource=status",
            "--type=merge",
            "-p",
            &patch,
        ]);
    }
}

fn condition(kind: &str, status: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": "Test", "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1})
}

#[test]
fn an_empty_spec_gets_every_default() {
    let ns = Namespace::new("defaults");
    let swarm = json!({
        "replicas": 1, "maxSurge": 1, "maxUnavailable": 1, "onCordon": "Continue",
        "template": {"spec": {"takeoffAltitudeMeters": 10}},
    });
    assert_eq!(ns.kept("Swarm", "empty", &json!({})), swarm);
    assert_eq!(ns.kept("Swarm", "empty-template", &json!({"template": {}})), swarm);
    assert_eq!(
        ns.kept("Swarm", "empty-template-spec", &json!({"template": {"spec": {}}})),
        swarm
    );
    assert_eq!(
        ns.kept("Drone", "empty", &json!({})),
        json!({"takeoffAltitudeMeters": 10})
    );
    let failsafe = json!({
        "onCoordinatorLoss": "Continue", "coordinatorLossSeconds": 60,
        "onLowBattery": "Return", "reservePercent": 20, "preflight": "Warn"
    });
    assert_eq!(
        ns.kept("Drone", "failsafe", &json!({"failsafe": {}}))["failsafe"],
        failsafe
    );
    let template = json!({"template": {"spec": {"failsafe": {"onCoordinatorLoss": "Land"}}}});
    assert_eq!(
        ns.kept("Swarm", "failsafe", &template)["template"]["spec"],
        json!({"takeoffAltitudeMeters": 10, "failsafe": {
            "onCoordinatorLoss": "Land", "coordinatorLossSeconds": 60,
            "onLowBattery": "Return", "reservePercent": 20, "preflight": "Warn"
        }})
    );
}

#[test]
fn a_program_flies_around_a_station_within_bounds_and_refusals_say_what_to_do() {
    let ns = Namespace::new("external");
    let station = json!({"latitudeDegrees": 47.4, "longitudeDegrees": 8.5, "altitudeMeters": 20});
    let external = json!({"radiusMeters": 30, "belowMeters": 10, "aboveMeters": 10});
    let whole = json!({"station": station, "control": "External", "external": external});
    assert_eq!(ns.kept("Drone", "whole", &whole)["external"]["leaseSeconds"], 3);
    let with = |field: &str, value: Value| {
        let mut spec = whole.clone();
        spec["external"][field] = value;
        spec
    };
    for (spec, words) in [
        (
            json!({"control": "External", "external": external}),
            "needs spec.station",
        ),
        (json!({"control": "External", "station": station}), "needs spec.station"),
        (
            json!({"station": station, "external": external}),
            "counts only with control: External",
        ),
        (
            json!({"station": station, "control": "Skein", "external": external}),
            "counts only with control: External",
        ),
        (with("radiusMeters", json!(9)), "radiusMeters must be from 10 to 500"),
        (with("belowMeters", json!(4)), "belowMeters must be from 5 to 100"),
        (with("aboveMeters", json!(101)), "aboveMeters must be from 5 to 100"),
        (with("leaseSeconds", json!(31)), "leaseSeconds must be from 1 to 30"),
        (json!({"control": "Mine"}), "supported values: \"Skein\", \"External\""),
    ] {
        let text = ns.refusal("Drone", &spec);
        assert!(text.contains(words), "{spec}: {text}");
    }
}

#[test]
fn an_object_without_a_spec_is_refused_by_name_of_the_field() {
    let ns = Namespace::new("no-spec");
    for kind in ["Swarm", "Drone"] {
        let object = json!({"apiVersion": "skein.dev/v1alpha1", "kind": kind,
            "metadata": {"name": "a", "namespace": ns.0}});
        let text = ns.kubectl().apply_refused(&object.to_string()).unwrap();
        assert!(text.contains("spec: Required value"), "{text}");
    }
}

#[test]
fn what_relieves_vehicles_has_bounds_and_each_refusal_says_what_to_do() {
    let ns = Namespace::new("relief");
    for (spec, words) in [
        (json!({"maxSurge": 101}), "maxSurge must be from 0 to 100"),
        (json!({"maxUnavailable": -1}), "maxUnavailable must be from 0 to 10000"),
        (json!({"maxSurge": 0, "maxUnavailable": 0}), "cannot both be 0"),
        (json!({"onCordon": "Lande"}), "supported values: \"Continue\", \"Land\""),
        (json!({"rotateAtPercent": 101}), "rotateAtPercent"),
        (json!({"takeoffIntervalSeconds": -1}), "takeoffIntervalSeconds"),
        (json!({"replaceLostAfterSeconds": -1}), "replaceLostAfterSeconds"),
    ] {
        let text = ns.refusal("Swarm", &spec);
        assert!(text.contains(words), "{spec}: {text}");
    }
}

#[test]
fn a_formation_has_what_its_shape_needs_and_each_refusal_says_what_to_do() {
    let ns = Namespace::new("formations");
    let anchor = json!({"latitudeDegrees": 47.4, "longitudeDegrees": 8.5, "altitudeMeters": 20});
    let with = |change: Value| {
        let mut formation = json!({"shape": "Line", "anchor": anchor, "spacingMeters": 20});
        for (key, value) in change.as_object().unwrap() {
            formation[key] = value.clone();
        }
        json!({"formation": formation})
    };
    for (change, words) in [
        (json!({"shape": "Star"}), "supported values: \"Points\""),
        (json!({"shape": "Points"}), "list the place of each slot"),
        (json!({"shape": "Points", "points": []}), "list the place of each slot"),
        (json!({"anchor": null}), "give both, or choose shape Points"),
        (json!({"spacingMeters": null}), "give both, or choose shape Points"),
        (json!({"shape": "Grid"}), "give the number of slots to a row"),
        (
            json!({"shape": "Grid", "columns": 0}),
            "formation.columns must be from 1 to 1000",
        ),
        (json!({"spacingMeters": 0}), "formation.spacingMeters must be above 0"),
        (
            json!({"headingDegrees": 360}),
            "formation.headingDegrees must be from 0 up to 360",
        ),
        (
            json!({"altitudeStepMeters": 101}),
            "formation.altitudeStepMeters must be from -100 to 100",
        ),
        (
            json!({"halfAngleDegrees": 90}),
            "formation.halfAngleDegrees must be from 1 to 89",
        ),
        (
            json!({"toleranceMeters": 0.5}),
            "formation.toleranceMeters must be from 1 to 1000",
        ),
        (
            json!({"anchor": {"latitudeDegrees": 91, "longitudeDegrees": 8.5, "altitudeMeters": 20}}),
            "latitudeDegrees must be from -90 to 90",
        ),
    ] {
        let text = ns.refusal("Swarm", &with(change.clone()));
        assert!(text.contains(words), "{change}: {text}");
    }
    for change in [
        json!({}),
        json!({"shape": "Grid", "columns": 3}),
        json!({"shape": "Points", "points": [anchor]}),
    ] {
        ns.kept("Swarm", "relays", &with(change));
    }
    let text = ns.refused(&[
        "patch",
        "swarm/relays",
        "--type=merge",
        "-p",
        r#"{"spec":{"formation":null}}"#,
    ]);
    assert!(text.contains("spec.formation can be changed and not removed"), "{text}");
}

#[test]
fn replicas_are_from_0_to_10000_however_they_are_set() {
    let ns = Namespace::new("replicas");
    let rule = "replicas must be from 0 to 10000; use several Swarms for more";
    for replicas in [-1, 10_001] {
        let text = ns.refusal("Swarm", &json!({"replicas": replicas}));
        assert!(text.contains("spec.replicas") && text.contains(rule), "{text}");
    }
    for replicas in [0, 10_000] {
        assert_eq!(
            ns.kept("Swarm", "edge", &json!({"replicas": replicas}))["replicas"],
            replicas
        );
    }
    let text = ns.refused(&["scale", "swarm/edge", "--replicas=10001"]);
    assert!(text.contains(rule), "{text}");
}

#[test]
fn takeoff_altitudes_are_from_1_to_120_meters() {
    let ns = Namespace::new("altitudes");
    let rule = "takeoffAltitudeMeters must be from 1 to 120 meters above home; choose an altitude in that range";
    let swarm = |meters: &Value| json!({"template": {"spec": {"takeoffAltitudeMeters": meters}}});
    for meters in [json!(0.99), json!(0), json!(-10), json!(120.01), json!(400)] {
        let text = ns.refusal("Swarm", &swarm(&meters));
        assert!(
            text.contains("spec.template.spec.takeoffAltitudeMeters") && text.contains(rule),
            "{text}"
        );
        let text = ns.refusal("Drone", &json!({"takeoffAltitudeMeters": meters}));
        assert!(
            text.contains("spec.takeoffAltitudeMeters") && text.contains(rule),
            "{text}"
        );
    }
    for meters in [json!(1), json!(12.5), json!(120)] {
        assert_eq!(
            ns.kept("Swarm", "good", &swarm(&meters))["template"]["spec"]["takeoffAltitudeMeters"],
            meters
        );
        assert_eq!(
            ns.kept("Drone", "good", &json!({"takeoffAltitudeMeters": meters}))["takeoffAltitudeMeters"],
            meters
        );
    }
    let text = ns.refusal("Drone", &json!({"takeoffAltitudeMeters": "10m"}));
    assert!(text.contains("spec.takeoffAltitudeMeters"), "{text}");
}

#[test]
fn a_failsafe_acts_in_a_known_way_after_5_to_3600_seconds() {
    let ns = Namespace::new("failsafe");
    let rule = "failsafe.coordinatorLossSeconds must be from 5 to 3600 seconds; choose a time in that range";
    for seconds in [4, 0, -1, 3601] {
        let failsafe = json!({"failsafe": {"coordinatorLossSeconds": seconds}});
        assert!(ns.refusal("Drone", &failsafe).contains(rule));
        assert!(
            ns.refusal("Swarm", &json!({"template": {"spec": failsafe}}))
                .contains(rule)
        );
    }
    let text = ns.refusal("Drone", &json!({"failsafe": {"onCoordinatorLoss": "Explode"}}));
    assert!(
        text.contains(r#"supported values: "Continue", "Hold", "Return", "Land""#),
        "{text}"
    );
    for action in ["Continue", "Hold", "Return", "Land"] {
        let kept = ns.kept("Drone", "good", &json!({"failsafe": {"onCoordinatorLoss": action}}));
        assert_eq!(kept["failsafe"]["onCoordinatorLoss"], action);
    }
}

#[test]
fn a_node_name_is_set_once_and_never_changes() {
    let ns = Namespace::new("node-name");
    let rule = "spec.nodeName is set once by the coordinator and never changes; \
                delete the Drone and create another to use another vehicle";
    ns.kept("Drone", "bound", &json!({}));
    ns.run(&[
        "patch",
        "drone",
        "bound",
        "--type=merge",
        "-p",
        r#"{"spec": {"nodeName": "node-1"}}"#,
    ]);
    for change in [
        r#"[{"op": "replace", "path": "/spec/nodeName", "value": "node-2"}]"#,
        r#"[{"op": "replace", "path": "/spec/nodeName", "value": null}]"#,
        r#"[{"op": "remove", "path": "/spec/nodeName"}]"#,
    ] {
        let text = ns.refused(&["patch", "drone", "bound", "--type=json", "-p", change]);
        assert!(
            text.contains("spec.nodeName: Forbidden") && text.contains(rule),
            "{change}: {text}"
        );
    }
    ns.run(&[
        "patch",
        "drone",
        "bound",
        "--type=merge",
        "-p",
        r#"{"spec": {"grounded": true}}"#,
    ]);
    ns.patch_status("drone", "bound", &json!({"phase": "Grounded", "nodeName": "node-1"}));
    assert_eq!(ns.get("drone", "bound")["spec"]["nodeName"], "node-1");
}

#[test]
fn an_explicit_null_is_no_node() {
    let ns = Namespace::new("null-node");
    let path = format!("/apis/skein.dev/v1alpha1/namespaces/{}/drones", ns.0);
    let object = ns.object("Drone", "null", &json!({"nodeName": null, "failsafe": null}));
    ns.kubectl()
        .run_with(["create", "--raw", &path, "-f", "-"], &object)
        .unwrap();
    let bind = r#"[{"op": "add", "path": "/spec/nodeName", "value": "node-1"}]"#;
    ns.run(&["patch", "drone", "null", "--type=json", "-p", bind]);
    assert_eq!(ns.get("drone", "null")["spec"]["nodeName"], "node-1");
}

#[test]
fn a_node_name_that_no_node_can_have_is_refused() {
    let ns = Namespace::new("bad-node-name");
    for name in ["Node_1", "node 1", "-node", "node.", "a/b"] {
        let text = ns.refusal("Drone", &json!({"nodeName": name}));
        assert!(
            text.contains("nodeName must be the name of a node; leave it out"),
            "{name}: {text}"
        );
    }
    assert!(ns.refusal("Drone", &json!({"nodeName": ""})).contains("spec.nodeName"));
    let long = "a".repeat(254);
    assert!(
        ns.refusal("Drone", &json!({"nodeName": long}))
            .contains("spec.nodeName")
    );
    assert_eq!(
        ns.kept("Drone", "good", &json!({"nodeName": "node-1.field"}))["nodeName"],
        "node-1.field"
    );
}

#[test]
fn the_name_of_a_swarm_fits_into_a_label() {
    let ns = Namespace::new("long-names");
    let named = |length| ns.object("Swarm", &"s".repeat(length), &json!({}));
    let text = ns.kubectl().apply_refused(&named(64)).unwrap();
    assert!(
        text.contains("the name of a Swarm must be at most 63 characters"),
        "{text}"
    );
    ns.kubectl().apply(&named(63)).unwrap();
}

#[test]
fn a_misspelled_field_is_refused_by_name() {
    let ns = Namespace::new("misspelled");
    assert!(
        ns.refusal("Swarm", &json!({"replcas": 3}))
            .contains(r#"unknown field "spec.replcas""#)
    );
    let text = ns.refusal("Drone", &json!({"takeoffAltitudeMetres": 10}));
    assert!(text.contains(r#"unknown field "spec.takeoffAltitudeMetres""#), "{text}");
}

#[test]
fn a_swarm_is_scaled_like_a_deployment() {
    let ns = Namespace::new("scale");
    ns.kept("Swarm", "alpha", &json!({"replicas": 2}));
    ns.run(&["scale", "swarm/alpha", "--replicas=5"]);
    assert_eq!(ns.get("swarm", "alpha")["spec"]["replicas"], 5);
    let text = ns.refused(&["scale", "sw/alpha", "--current-replicas=2", "--replicas=1"]);
    assert!(text.contains("Expected replicas to be 2, was 5"), "{text}");
    ns.patch_status(
        "swarm",
        "alpha",
        &json!({"replicas": 4, "selector": "skein.dev/swarm=alpha"}),
    );
    let path = format!("/apis/skein.dev/v1alpha1/namespaces/{}/swarms/alpha/scale", ns.0);
    let scale: Value = serde_json::from_str(&ns.run(&["get", "--raw", &path])).unwrap();
    assert_eq!(scale["kind"], "Scale");
    assert_eq!(scale["spec"], json!({"replicas": 5}));
    assert_eq!(
        scale["status"],
        json!({"replicas": 4, "selector": "skein.dev/swarm=alpha"})
    );
}

#[test]
fn status_and_spec_are_written_apart() {
    let ns = Namespace::new("subresource");
    ns.kept("Swarm", "alpha", &json!({"replicas": 2}));
    ns.run(&[
        "patch",
        "swarm",
        "alpha",
        "--type=merge",
        "-p",
        r#"{"status": {"flyingDrones": 9}}"#,
    ]);
    assert_eq!(
        ns.get("swarm", "alpha")["status"],
        json!({"observedGeneration": -1, "replicas": 0, "assignedDrones": 0, "flyingDrones": 0, "unknownDrones": 0}),
        "status came in with the spec"
    );
    let both = r#"{"status": {"flyingDrones": 2}, "spec": {"replicas": 7}}"#;
    ns.run(&[
        "patch",
        "swarm",
        "alpha",
        "--subresource=status",
        "--type=merge",
        "-p",
        both,
    ]);
    let swarm = ns.get("swarm", "alpha");
    assert_eq!(
        (&swarm["spec"]["replicas"], &swarm["status"]["flyingDrones"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(swarm["metadata"]["generation"], 1, "a status is no new generation");
}

/// The words of the heading and of each row; columns are at least two spaces apart.
fn cells(table: &str) -> Vec<Vec<&str>> {
    let words = |line| -> Vec<_> {
        str::split(line, "  ")
            .map(str::trim)
            .filter(|w| !w.is_empty())
            .collect()
    };
    table.lines().map(words).collect()
}

#[test]
fn the_columns_of_kubectl_get_tell_the_story() {
    let ns = Namespace::new("columns");
    ns.kept("Swarm", "alpha", &json!({"replicas": 3, "grounded": true}));
    ns.patch_status(
        "swarm",
        "alpha",
        &json!({"replicas": 2, "assignedDrones": 2, "flyingDrones": 1, "unknownDrones": 1, "coveredSlots": 1,
            "conditions": [condition("Ready", "False", "1 of 3 fly")]}),
    );
    let table = ns.run(&["get", "sw", "-o", "wide"]);
    let seen = cells(&table);
    assert_eq!(
        seen[0],
        [
            "NAME", "DESIRED", "DRONES", "ASSIGNED", "FLYING", "UNKNOWN", "COVERED", "GROUNDED", "AGE", "MESSAGE"
        ]
    );
    assert_eq!(seen[1][..8], ["alpha", "3", "2", "2", "1", "1", "1", "true"]);
    assert_eq!(seen[1][9], "1 of 3 fly");

    ns.kept("Drone", "goose", &json!({"nodeName": "node-1"}));
    ns.patch_status(
        "drone",
        "goose",
        &json!({"phase": "Flying", "mode": "AUTO.LOITER", "battery": {"remainingPercent": 87, "observedTime": "2026-01-02T03:04:05Z"},
            "vehicle": {"autopilot": "PX4", "systemId": 7},
            "conditions": [condition("Flying", "True", "it says so"), condition("Ready", "True", "flies as asked")]}),
    );
    let table = ns.run(&["get", "dr", "-o", "wide"]);
    let seen = cells(&table);
    assert_eq!(
        seen[0],
        [
            "NAME",
            "PHASE",
            "FLYING",
            "NODE",
            "AUTOPILOT",
            "MODE",
            "BATTERY",
            "BATTERY AGE",
            "AGE",
            "MESSAGE"
        ]
    );
    assert_eq!(
        seen[1][..7],
        ["goose", "Flying", "True", "node-1", "PX4", "AUTO.LOITER", "87"]
    );
    assert_eq!(seen[1][9], "flies as asked");
    assert!(
        !ns.run(&["get", "drones"]).contains("MESSAGE"),
        "messages are for -o wide"
    );

    let all = ns.run(&["get", "skein", "-o", "name"]);
    // Objects of the whole cluster belong to other tests.
    let ours = |line: &&str| !line.starts_with("operator.");
    assert_eq!(
        all.lines().filter(ours).collect::<Vec<_>>(),
        ["drone.skein.dev/goose", "swarm.skein.dev/alpha"]
    );
}

#[test]
fn drones_are_found_by_their_node() {
    let ns = Namespace::new("by-node");
    ns.kept("Drone", "goose", &json!({"nodeName": "node-1"}));
    ns.kept("Drone", "crane", &json!({"nodeName": "node-2"}));
    let found = ns.run(&["get", "drones", "--field-selector=spec.nodeName=node-2", "-o", "name"]);
    assert_eq!(found.trim(), "drone.skein.dev/crane");
}

#[test]
fn conditions_are_told_apart_by_their_type() {
    let ns = Namespace::new("conditions");
    ns.kept("Drone", "goose", &json!({}));
    let apply = |manager: &str, condition: &Value| {
        let mut object: Value = serde_json::from_str(&ns.object("Drone", "goose", &json!({}))).unwrap();
        object.as_object_mut().unwrap().remove("spec");
        object["status"] = json!({"conditions": [condition]});
        let manager = format!("--field-manager={manager}");
        let args = [
            "apply",
            "--server-side",
            "--subresource=status",
            &manager,
            "--validate=ignore",
            "-f",
            "-",
        ];
        ns.kubectl().run_with(args, &object.to_string()).unwrap();
    };
    apply("one", &condition("Ready", "True", "flies"));
    apply(
        "two",
        &condition("Charging", "False", "another program's condition stays beside ours"),
    );
    let conditions = ns.get("drone", "goose")["status"]["conditions"].clone();
    assert_eq!(conditions.as_array().unwrap().len(), 2, "{conditions}");
}

#[test]
fn kubectl_wait_ends_when_the_swarm_is_ready() {
    let ns = Namespace::new("wait");
    ns.kept("Swarm", "alpha", &json!({}));
    let text = ns.refused(&["wait", "swarm/alpha", "--for=condition=Ready", "--timeout=1s"]);
    assert!(text.contains("timed out"), "{text}");
    let args = [
        "-n",
        ns.0,
        "wait",
        "swarm/alpha",
        "--for=condition=Ready",
        "--timeout=60s",
    ];
    let waiting = std::thread::spawn(move || PLANE.kubectl().run(args));
    ns.patch_status(
        "swarm",
        "alpha",
        &json!({"conditions": [condition("Ready", "False", "0 of 1 fly")]}),
    );
    assert!(!waiting.is_finished());
    ns.patch_status(
        "swarm",
        "alpha",
        &json!({"conditions": [condition("Ready", "True", "1 of 1 fly")]}),
    );
    assert!(waiting.join().unwrap().unwrap().contains("condition met"));
}

fn descriptions(path: &str, schema: &Value, found: &mut Vec<(String, String)>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        let description = field["description"].as_str().unwrap_or_default().to_owned();
        found.push((path.clone(), description));
        descriptions(&path, field, found);
        descriptions(&path, &field["items"], found);
    }
}

#[test]
fn kubectl_explains_every_field() {
    // `kubectl explain` follows the CRDs with a delay.
    let fields = wait_for("the fields of both kinds", Duration::from_secs(60), || {
        let text = PLANE
            .kubectl()
            .run(["get", "--raw", "/openapi/v3/apis/skein.dev/v1alpha1"])?;
        let schemas = serde_json::from_str::<Value>(&text)?["components"]["schemas"].clone();
        let mut found = Vec::new();
        for kind in ["Swarm", "Drone"] {
            descriptions(kind, &schemas[format!("dev.skein.v1alpha1.{kind}")], &mut found);
        }
        anyhow::ensure!(found.len() > 40, "{found:?}");
        Ok(found)
    })
    .unwrap();
    let silent: Vec<&str> = fields
        .iter()
        .filter(|(path, text)| !text.ends_with('.') && matches!(path.split('.').nth(1), Some("spec" | "status")))
        .map(|(path, _)| path.as_str())
        .collect();
    assert_eq!(silent, [""; 0], "fields without a description in whole sentences");

    for kind in ["swarm", "drone"] {
        let tree = PLANE.kubectl().run(["explain", kind, "--recursive"]).unwrap();
        for (path, _) in fields.iter().filter(|(path, _)| path.to_lowercase().starts_with(kind)) {
            let name = path.rsplit('.').next().unwrap();
            assert!(tree.contains(name), "{kind} --recursive does not show {path}:\n{tree}");
        }
    }
    let words = PLANE
        .kubectl()
        .run(["explain", "drone.spec.takeoffAltitudeMeters"])
        .unwrap();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("in meters above its home position (MAVLink: relative altitude). 1 to 120, 10 when left out.")
    );
    let words = PLANE.kubectl().run(["explain", "swarm.spec"]).unwrap();
    assert!(words.contains("All of it can be left out"), "{words}");
}

#[test]
fn the_server_has_no_complaint_about_the_schemas() {
    let kinds = ALL.map(|kind| format!("{}.skein.dev", kind.plural));
    let get = ["get", "crd"].map(str::to_owned);
    let crds = PLANE.kubectl().json(get.into_iter().chain(kinds)).unwrap();
    for crd in crds["items"].as_array().unwrap() {
        let conditions: Vec<(&str, &str)> = crd["status"]["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| (c["type"].as_str().unwrap(), c["status"].as_str().unwrap()))
            .collect();
        assert_eq!(
            conditions,
            [("NamesAccepted", "True"), ("Established", "True")],
            "{crd}"
        );
    }
}

#[test]
fn an_operator_has_a_registration_and_a_place_and_each_refusal_says_what_to_do() {
    let object = |name: &str, more: &Value| {
        let mut spec = json!({"vehicleSelector": {}, "id": "CHE87astrdge12k8"});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let metadata = json!({"name": name});
        json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Operator", "metadata": metadata, "spec": spec}).to_string()
    };
    let kubectl = PLANE.kubectl();
    kubectl.apply(&object("plain", &json!({}))).unwrap();
    let kept = kubectl.json(["get", "operator", "plain"]).unwrap();
    assert_eq!(
        kept["spec"],
        json!({
            "vehicleSelector": {}, "id": "CHE87astrdge12k8", "idType": "CAA", "uasIdType": "SerialNumber",
            "location": {"source": "Takeoff"},
        })
    );
    let fixed = json!({"source": "Fixed", "latitudeDegrees": 47.4, "longitudeDegrees": 8.5, "altitudeMeters": 520.5});
    let whole = json!({"description": "Site patrol", "location": fixed, "eu": {"category": "Open", "class": 2}});
    kubectl.apply(&object("whole", &whole)).unwrap();
    for (bad, words) in [
        (
            json!({"id": ""}),
            "id must be 1 to 20 printable ASCII characters; write",
        ),
        (
            json!({"id": "x".repeat(21)}),
            "id must be 1 to 20 printable ASCII characters; write",
        ),
        (
            json!({"id": "Zürich"}),
            "id must be 1 to 20 printable ASCII characters; write",
        ),
        (json!({"idType": "Passport"}), "Unsupported value"),
        (
            json!({"description": "x".repeat(24)}),
            "description must be 1 to 23 printable ASCII characters; shorten it",
        ),
        (
            json!({"location": {"source": "Fixed", "latitudeDegrees": 47}}),
            "location.source Fixed needs a place; give",
        ),
        (
            json!({"location": {"latitudeDegrees": 47, "longitudeDegrees": 8}}),
            "leave the coordinates out, or use Fixed",
        ),
        (
            json!({"location": {"source": "Fixed", "latitudeDegrees": 0, "longitudeDegrees": 0}}),
            "latitude 0 and longitude 0 for no place; give the operator's own",
        ),
        (
            json!({"location": {"source": "Fixed", "latitudeDegrees": 91, "longitudeDegrees": 0}}),
            "should be less than or equal to 90",
        ),
        (
            json!({"location": {"source": "Fixed", "latitudeDegrees": 1, "longitudeDegrees": 0, "altitudeMeters": -1000}}),
            "-1000 means that it is not known: leave it out",
        ),
        (
            json!({"eu": {"category": "Specific", "class": 2}}),
            "eu.class belongs to category Open; leave it out",
        ),
        (
            json!({"eu": {"category": "Open", "class": 7}}),
            "should be less than or equal to 6",
        ),
    ] {
        let refusal = kubectl.apply_refused(&object("refused", &bad)).unwrap();
        assert!(refusal.contains(words), "{bad}: {refusal}");
    }
}

#[test]
fn a_ground_order_is_kept_as_it_was_given_and_shown_with_who_gave_it() {
    let kubectl = PLANE.kubectl();
    let order = |target: &str| {
        json!({"apiVersion": "skein.dev/v1alpha1", "kind": "GroundOrder", "metadata": {"name": "ground-1"},
            "spec": {"scope": "Node", "target": target, "orderedBy": "user ann", "orderedAt": "2026-01-01T00:00:00Z"}})
        .to_string()
    };
    kubectl.apply(&order("pi-1")).unwrap();
    let refused = kubectl.apply_refused(&order("pi-2")).unwrap();
    assert!(
        refused.contains("a ground order is never changed; end it with `skein release`"),
        "{refused}"
    );
    let scope = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "GroundOrder", "metadata": {"name": "ground-2"},
        "spec": {"scope": "Everything"}});
    let refused = kubectl.apply_refused(&scope.to_string()).unwrap();
    assert!(refused.contains("Unsupported value"), "{refused}");
    let shown = kubectl.run(["get", "gro"]).unwrap();
    for word in ["SCOPE", "TARGET", "BY", "Node", "pi-1", "user ann"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    kubectl.run(["delete", "groundorder", "ground-1"]).unwrap();
}
