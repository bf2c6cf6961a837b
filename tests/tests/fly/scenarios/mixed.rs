//! One fleet of several versions of both autopilots.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use testkit::autopilots::Stack;

use super::formations::{nearest, wait_flying};
use super::gate::swarm;
use super::missions::{apply as apply_mission, corners, wait_for};
use super::stations::place;
use crate::field::{Field, NODES, SWARM, Setup, may_repeat_versions};
use crate::figures::Figures;
use crate::objects::{condition, is};
use crate::scenario::Scenario;
use skein_tests::wire::now;

pub const ALL: &[Scenario] = &[Scenario::new(
    "mixed-fleet",
    "four vehicles, each of another version of an autopilot: one profile by meaning, a Geofence, a formation, a shared survey",
    fleet,
)
.with(|_| Setup {
    vehicles: 4,
    apart: 15.0,
    versions: true,
    ..Setup::default()
})
.on(&[Stack::ArduPilot])
.real_time()];

const UP: f64 = 20.0;

fn apply(field: &Field, kind: &str, spec: &Value) -> anyhow::Result<()> {
    let object = json!({"apiVersion": "skein.dev/v1alpha1", "kind": kind, "metadata": {"name": "north"}, "spec": spec});
    field.kubectl().apply(&object.to_string()).map(drop)
}

fn wait_in_force(field: &Field, kind: &str) -> anyhow::Result<()> {
    field.wait(&format!("{kind} in force on four"), 120, || {
        let object = field.read(&format!("{kind}s/north"))?;
        ensure!(
            object["status"]["inForce"] == 4 && is(&object, "InForce"),
            "{}",
            object["status"]
        );
        Ok(())
    })
}

/// Meters, under whichever name the autopilot has it.
fn return_altitude(field: &Field, node: &str) -> anyhow::Result<f64> {
    let vehicle = field.vehicle(node);
    match vehicle.autopilot.stack() {
        Stack::Px4 => vehicle.pilot.read("RTL_RETURN_ALT"),
        Stack::ArduPilot => match vehicle.pilot.read("RTL_ALT_M") {
            Ok(meters) => Ok(meters),
            Err(_) => Ok(vehicle.pilot.read("RTL_ALT")? / 100.0),
        },
    }
}

fn fleet(field: &mut Field, figures: &mut Figures) -> anyhow::Result<()> {
    let began = now();
    for (node, number) in NODES[..4].iter().zip(0..) {
        let label = format!("skein.dev/number={number}");
        field.kubectl().run(["label", "node", node, "site=north", &label])?;
    }
    let selector = json!({"matchLabels": {"site": "north"}});
    let settings = json!({
        "returnAltitudeMeters": "{{ 30 + 6*number }}", "waypointSpeedMetersPerSecond": "5",
        "onLowBattery": "Return",
    });
    let profile = json!({"vehicleSelector": selector, "enforce": "Apply", "maxUnavailable": 4, "settings": settings});
    apply(field, "ParameterProfile", &profile)?;
    let around = [[-100.0, -40.0], [150.0, -40.0], [150.0, 200.0], [-100.0, 200.0]];
    let fence = json!({
        "vehicleSelector": selector, "include": [{"polygon": corners(&around)}], "ceilingMeters": 100.0, "breach": "Return",
    });
    apply(field, "Geofence", &fence)?;
    wait_in_force(field, "parameterprofile")?;
    wait_in_force(field, "geofence")?;
    figures.took("profile and Geofence in force on four", began, now());
    for (node, number) in NODES[..4].iter().zip(0_u32..) {
        let (wanted, found) = (30.0 + 6.0 * f64::from(number), return_altitude(field, node)?);
        ensure!(
            (found - wanted).abs() < 0.01,
            "{node} returns at {found} m, not {wanted}"
        );
    }

    let since = now();
    let line = json!({"shape": "Line", "anchor": place(20.0, 80.0, UP), "spacingMeters": 15.0});
    swarm(field, &json!({"replicas": 4, "formation": line}))?;
    field.wait("four in their places", 240, || {
        let swarm = field.read(&format!("namespaces/default/swarms/{SWARM}"))?;
        ensure!(is(&swarm, "Covered"), "{}", condition(&swarm, "Covered"));
        Ok(())
    })?;
    figures.took("in a line", since, now());
    field.pass(20, Duration::from_secs(20));
    field.kubectl().run(["delete", "swarm", SWARM, "--wait=false"])?;
    wait_flying(field, 0)?;
    field.wait("the Drones to be gone", 60, || {
        let left = field.kubectl().run(["get", "drones", "-o", "name"])?;
        ensure!(left.is_empty(), "{left}");
        Ok(())
    })?;

    let since = now();
    let area = [[-60.0, 40.0], [100.0, 40.0], [100.0, 160.0], [-60.0, 160.0]];
    let survey = json!({
        "area": {"polygon": corners(&area)}, "lineSpacingMeters": 20.0, "altitudeMeters": UP, "speedMetersPerSecond": 5.0,
    });
    let spec = json!({"parallelism": 4, "altitudeStepMeters": 15, "survey": survey});
    apply_mission(field, "field", &spec)?;
    let object = wait_for(field, "field", "Complete", 600)?;
    ensure!(object["status"]["failures"] == 0, "{}", object["status"]);
    figures.took("a survey flown by four", since, now());
    let mut builds = BTreeSet::new();
    for node in &NODES[..4] {
        let arms = field.record(node).arms()?;
        ensure!(arms == 2, "{node} armed {arms} times");
        let build = field.record(node).build().context("it reports no version")?;
        figures.note(format!("{node} {}", build.0));
        builds.insert((field.vehicle(node).autopilot.stack(), build));
    }
    ensure!(
        builds.len() == 4 || may_repeat_versions(),
        "only {} of the four are of different versions: {builds:?}",
        builds.len()
    );
    wait_flying(field, 0)?;
    nearest(field, figures, began)
}
