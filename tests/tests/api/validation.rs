//! The CRDs' rules, and objects that break them.

use serde_json::{Value, json};

use crate::both;
use crate::objects::{condition, drone, swarm};
use crate::session::MERGE;

#[test]
fn replicas_out_of_range_are_refused() {
    both(|s| {
        for replicas in [
            json!(-1),
            json!(10_001),
            json!("3"),
            json!(1.5),
            json!(3_000_000_000_i64),
            json!(true),
            json!([]),
        ] {
            s.post(s.swarm(""), &swarm("a", json!({"replicas": replicas})));
        }
        s.post(s.swarm(""), &swarm("max", json!({"replicas": 10_000})));
        s.post(s.swarm(""), &swarm("none", json!({"replicas": 0})));
        s.patch(MERGE, s.swarm("max"), &json!({"spec": {"replicas": 10_001}}));
    });
}

#[test]
fn altitudes_out_of_range_are_refused() {
    both(|s| {
        for meters in [
            json!(0.99),
            json!(0),
            json!(-10),
            json!(120.01),
            json!(400),
            json!("10m"),
            json!(1e300),
        ] {
            s.post(s.drone(""), &drone("a", json!({"takeoffAltitudeMeters": meters})));
            s.post(
                s.swarm(""),
                &swarm("a", json!({"template": {"spec": {"takeoffAltitudeMeters": meters}}})),
            );
        }
    });
}

#[test]
fn failsafes_out_of_range_are_refused() {
    both(|s| {
        for failsafe in [
            json!({"coordinatorLossSeconds": 4}),
            json!({"coordinatorLossSeconds": 3601}),
            json!({"onCoordinatorLoss": "Explode"}),
            json!({"onCoordinatorLoss": ""}),
            json!({"onCoordinatorLoss": 5}),
            json!({"onCoordinatorLoss": "Explode", "coordinatorLossSeconds": 1}),
            json!([]),
            json!("Land"),
        ] {
            s.post(s.drone(""), &drone("a", json!({"failsafe": failsafe})));
            s.post(
                s.swarm(""),
                &swarm("a", json!({"template": {"spec": {"failsafe": failsafe}}})),
            );
        }
    });
}

#[test]
fn node_names_that_no_node_can_have_are_refused() {
    both(|s| {
        for name in [
            json!(""),
            json!("Node_1"),
            json!("-n"),
            json!("a/b"),
            json!("a".repeat(254)),
            json!(5),
        ] {
            s.post(s.drone(""), &drone("a", json!({"nodeName": name})));
        }
    });
}

#[test]
fn selectors_and_flags_have_their_types() {
    both(|s| {
        for spec in [
            json!({"nodeSelector": {"a": 1}}),
            json!({"nodeSelector": ["a"]}),
            json!({"nodeSelector": "a"}),
            json!({"grounded": "yes"}),
            json!({"nodeSelector": {"a": null}}),
            json!({"grounded": null}),
        ] {
            s.post(s.drone(""), &drone("a", spec));
        }
        s.post(
            s.swarm(""),
            &swarm("a", json!({"template": {"metadata": {"labels": {"a": 1}}}})),
        );
        s.post(s.swarm(""), &swarm("b", json!({"template": 5})));
        s.post(s.swarm(""), &swarm("c", json!({"template": {"spec": []}})));
    });
}

#[test]
fn an_object_needs_a_spec() {
    both(|s| {
        for kind in ["Drone", "Swarm"] {
            let path = if kind == "Drone" { s.drone("") } else { s.swarm("") };
            let mut object = json!({"apiVersion": "skein.dev/v1alpha1", "kind": kind, "metadata": {"name": "a"}});
            s.post(&path, &object);
            object["spec"] = Value::Null;
            s.post(&path, &object);
            object["spec"] = json!("x");
            s.post(&path, &object);
        }
    });
}

#[test]
fn several_faults_are_reported_at_once() {
    both(|s| {
        let spec = json!({"replicas": -1, "template": {"spec": {"takeoffAltitudeMeters": 500, "failsafe": {"coordinatorLossSeconds": 1, "onCoordinatorLoss": "x"}}}});
        s.post(s.swarm(""), &swarm("a", spec));
        let spec = json!({"replicas": -1, "template": {"spec": {"takeoffAltitudeMeters": 500, "failsafe": {"coordinatorLossSeconds": 1}}}});
        s.post(s.swarm(""), &swarm("a", spec));
        s.post(
            s.drone(""),
            &drone(
                "a",
                json!({"nodeName": "A_b", "takeoffAltitudeMeters": 0, "grounded": 5}),
            ),
        );
        s.post(
            s.drone(""),
            &drone("a", json!({"nodeName": "A_b", "takeoffAltitudeMeters": 0})),
        );
        s.post(s.drone(""), &drone("A_b", json!({"nodeName": "A_b"})));
    });
}

#[test]
fn the_name_of_a_swarm_fits_into_a_label() {
    both(|s| {
        s.post(s.swarm(""), &swarm(&"a".repeat(64), json!({})));
        s.post(s.swarm(""), &swarm(&"a".repeat(63), json!({})));
    });
}

#[test]
fn the_places_of_a_formation_are_checked() {
    both(|s| {
        let place = |latitude: f64| json!({"latitudeDegrees": latitude, "longitudeDegrees": 8, "altitudeMeters": 30});
        let dry = format!("{}?dryRun=All", s.swarm(""));
        for formation in [
            json!({"shape": "Points", "points": [place(47.0), place(95.0), {}]}),
            json!({"shape": "Points", "points": [place(47.0), place(95.0)]}),
            json!({"shape": "Points", "points": []}),
            json!({"shape": "Points"}),
            json!({"shape": "Grid", "anchor": place(47.0), "spacingMeters": 10}),
            json!({"shape": "Line", "anchor": place(-91.0)}),
            json!({"shape": "Heart", "spacingMeters": 0}),
            json!({"shape": "Line", "anchor": place(47.0), "spacingMeters": 10, "headingDegrees": 360}),
            json!({"shape": "Line", "anchor": place(47.0), "spacingMeters": 10, "columns": null}),
        ] {
            s.post(&dry, &swarm("a", json!({"formation": formation})));
        }
        let line = json!({"shape": "Line", "anchor": place(47.0), "spacingMeters": 10});
        s.given(s.swarm(""), &swarm("a", json!({"formation": line})));
        s.patch(MERGE, s.swarm("a"), &json!({"spec": {"formation": null}}));
        s.patch(
            MERGE,
            s.swarm("a"),
            &json!({"spec": {"formation": {"spacingMeters": 20}}}),
        );
    });
}

#[test]
fn a_node_name_is_set_once_and_never_changes() {
    both(|s| {
        let path = s.drone("a");
        s.given(s.drone(""), &drone("a", json!({})));
        s.patch(MERGE, &path, &json!({"spec": {"nodeName": "n-1"}}));
        s.patch(MERGE, &path, &json!({"spec": {"nodeName": "n-2"}}));
        s.patch(MERGE, &path, &json!({"spec": {"nodeName": null}}));
        let mut kept = s.get(&path).body;
        kept["spec"]["nodeName"] = json!("n-3");
        s.put(&path, &kept);
        kept["spec"] = json!({});
        s.put(&path, &kept);
        s.patch(MERGE, &path, &json!({"spec": {"grounded": true}}));
    });
}

#[test]
fn an_enum_and_a_number_in_status_are_checked_too() {
    both(|s| {
        s.given(s.drone(""), &drone("a", json!({})));
        let path = s.drone("a/status");
        for status in [
            json!({"battery": {"remainingPercent": "full"}}),
            json!({"vehicle": {"autopilot": "PX4"}}),
            json!({"flying": 1}),
            json!({"position": {"latitudeDegrees": 1}}),
            json!({"conditions": [{"type": "Ready"}]}),
            json!({"conditions": [condition("Ready", "True", "a"), condition("Ready", "False", "b")]}),
            json!({"conditions": [{"type": "Ready", "status": "True", "reason": "x", "message": "", "lastTransitionTime": "yesterday"}]}),
            json!({"conditions": {}}),
            json!({"vehicle": {"autopilot": "PX4", "systemId": 5_000_000_000_i64}}),
            json!("fine"),
        ] {
            s.patch(MERGE, &path, &json!({"status": status}));
        }
        s.get(s.drone("a"));
    });
}

#[test]
fn unknown_fields_are_dropped() {
    both(|s| {
        let mut object = drone(
            "a",
            json!({"speed": 5, "failsafe": {"siren": true}, "nodeSelector": {"any": "thing"}}),
        );
        object["more"] = json!({"a": 1});
        object["metadata"]["colour"] = json!("red");
        s.post(s.drone(""), &object);
        s.patch(MERGE, s.drone("a"), &json!({"spec": {"speed": 6}}));
        s.patch(
            MERGE,
            s.drone("a/status"),
            &json!({"status": {"speed": 6, "battery": {"volts": 3}}}),
        );
    });
}
