//! Wild worlds: those of the gate, where each field that can be edited is, in each vehicle another receiver and another wind, ground orders come
//! and go, batteries run low, a vehicle flies on a site of its own, and one coordinator is of a version that plans otherwise.
//!
//! Owns: [`Wild`], whose random numbers are its own, so that the worlds of the gate stay as they are under their seeds; [`every_field_is_edited`].
//! Must not: judge.

use super::gate::{DRONES, condition, corner};
use super::{ON_STATION, Run};
use crate::autopilot::Kind;
use crate::station::PersonOrder;
use crate::vehicle::{Spot, Vehicle};
use http::Method;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use sitl::model::{GpsError, Wind};
use std::ops::Range;
use std::time::Duration;

/// Makes its random numbers others than those of the world.
const OTHER: u64 = 0x5EED_FA11;
/// The vehicle on the site of its own, far off, meters east of the others.
const FAR: f64 = 30_000.0;
const FAR_DRONE: &str = "far";
/// How far its station is from its home, and how high, meters.
const FAR_OFF: f64 = 40.0;
const FAR_UP: f64 = 15.0;
/// So much too high or too low a receiver reports its altitude, meters: the work of the gate is flown close above what parked vehicles own.
const DATUM: Range<f64> = -1.5..1.5;
/// How far the estimate of a place is off, meters over ground.
const DRIFT: Range<f64> = -1.0..1.0;
/// A small vehicle can work against it, meters per second.
const WIND: Range<f64> = 0.0..9.0;
/// The other version flies the layers of a Mission so much farther apart, meters, in a share of the worlds.
const RAISES: Range<f64> = 0.3..4.0;
const SHARE_OF_VERSIONS: f64 = 0.7;
/// Which coordinator that is.
const OTHER_VERSION: usize = 1;
/// In each draw.
const EDITS: f64 = 0.01;
const GROUNDS: f64 = 0.0005;
const TIRES: f64 = 0.001;
/// A battery that runs low has this much left, percent: near the usual reserve, and so much later, seconds, below it.
const NEAR_RESERVE: f64 = 22.0;
const BELOW_RESERVE: f64 = 19.0;
const RUNS_DOWN: Range<f64> = 3.0..90.0;
/// One that flies is higher, meters.
const UP: f64 = 6.0;
/// What is edited for a while is as before after this long, seconds.
const FOR_A_WHILE: Range<f64> = 1.0..40.0;

/// The fields that are edited, by the gate or here.
const EDITED: [(&str, &[&str]); 2] = [
    (
        "Mission",
        &[
            "route",
            "survey",
            "parallelism",
            "completions",
            "repeat",
            "handover.overlapSeconds",
            "altitudeStepMeters",
            "nodeSelector",
            "failsafe.onCoordinatorLoss",
            "failsafe.coordinatorLossSeconds",
            "failsafe.onLowBattery",
            "failsafe.reservePercent",
            "failsafe.preflight",
            "backoffLimit",
            "activeDeadlineSeconds",
            "suspend",
            "ttlSecondsAfterFinished",
            "priority",
        ],
    ),
    (
        "Drone",
        &[
            "nodeSelector",
            "takeoffAltitudeMeters",
            "station.latitudeDegrees",
            "station.longitudeDegrees",
            "station.altitudeMeters",
            "station.altitudeReference",
            "station.headingDegrees",
            "station.speedMetersPerSecond",
            "grounded",
            "failsafe.onCoordinatorLoss",
            "failsafe.coordinatorLossSeconds",
            "failsafe.onLowBattery",
            "failsafe.reservePercent",
            "failsafe.preflight",
            "resumeAfterTakeovers",
        ],
    ),
];

/// Those that are not: work of another kind, a field of one value, and one that never changes once it is set.
const LEFT: [(&str, &[&str]); 2] = [("Mission", &["planFrom", "handover.at"]), ("Drone", &["nodeName"])];

/// Fields that are edited as a whole.
const WHOLE: [&str; 3] = ["route", "survey", "planFrom"];

pub struct Wild {
    rng: StdRng,
    /// By how much the other version raises the layers, meters.
    raises: Option<f64>,
    /// When the batteries of these are below the reserve.
    runs_down: Vec<(Duration, usize)>,
}

impl Wild {
    pub fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed ^ OTHER);
        let other = rng.random_bool(SHARE_OF_VERSIONS);
        let raises = rng.random_range(RAISES);
        Self {
            rng,
            raises: other.then_some(raises),
            runs_down: Vec::new(),
        }
    }

    /// Which coordinator reads by how much higher steps, if one does.
    pub fn other_version(&self) -> Option<(usize, f64)> {
        self.raises.map(|raises| (OTHER_VERSION, raises))
    }

    /// A vehicle with a receiver and a wind of its own.
    pub fn vehicle(&mut self, kind: Kind, home: Spot) -> Vehicle {
        let gps = GpsError {
            altitude_offset_m: self.rng.random_range(DATUM),
            ..GpsError::default()
        };
        let wind = Wind {
            speed_m_s: self.rng.random_range(WIND),
            from_deg: self.rng.random_range(0.0..360.0),
        };
        let vehicle = Vehicle::with_gps(kind, home, gps);
        vehicle.is_out_in_the_weather(wind, self.rng.random_range(DRIFT));
        vehicle
    }
}

/// The home of the vehicle on a site of its own.
pub const fn far_home() -> Spot {
    Spot {
        east: FAR,
        north: 0.0,
        up: 0.0,
    }
}

const fn far_station() -> Spot {
    Spot {
        east: FAR,
        north: FAR_OFF,
        up: FAR_UP,
    }
}

/// The fields of `spec` in the CRD of a kind; those of a part of it as `part.field`.
fn fields(document: &Value) -> Vec<String> {
    let schema = &document["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let spec = schema["properties"]["spec"]["properties"].as_object();
    let mut names = Vec::new();
    for (name, field) in spec.into_iter().flatten() {
        let parts = field["properties"]
            .as_object()
            .filter(|_| !WHOLE.contains(&name.as_str()));
        match parts {
            Some(parts) => names.extend(parts.keys().map(|part| format!("{name}.{part}"))),
            None => names.push(name.clone()),
        }
    }
    names
}

/// Each field of what is flown here is edited, or it is said above why it is not: a new one is to be thought of.
pub fn every_field_is_edited() {
    for document in crds::yaml::documents().unwrap() {
        let kind = document["spec"]["names"]["kind"].as_str().unwrap_or_default();
        let of = |table: &[(&str, &'static [&'static str])]| {
            let found = table.iter().find(|(name, _)| *name == kind);
            found.map(|(_, fields)| *fields)
        };
        let Some(edited) = of(&EDITED) else { continue };
        let left = of(&LEFT).unwrap_or_default();
        let all = fields(&document);
        let forgotten: Vec<&String> = all
            .iter()
            .filter(|field| !edited.contains(&field.as_str()) && !left.contains(&field.as_str()))
            .collect();
        assert!(
            forgotten.is_empty(),
            "fields of {kind} that no wild world edits: {forgotten:?}"
        );
        let gone: Vec<&&str> = edited
            .iter()
            .filter(|field| !all.iter().any(|name| name == *field))
            .collect();
        assert!(gone.is_empty(), "fields that {kind} has not: {gone:?}");
    }
}

fn failsafe(rng: &mut StdRng) -> Value {
    let on_loss = ["Continue", "Continue", "Hold", "Return", "Land"][rng.random_range(0..5)];
    let on_low = ["Return", "Land", "Continue"][rng.random_range(0..3)];
    let preflight = ["Warn", "Ignore"][rng.random_range(0..2)];
    json!({
        "onCoordinatorLoss": on_loss,
        "coordinatorLossSeconds": rng.random_range(10..60),
        "onLowBattery": on_low,
        "reservePercent": rng.random_range(5..=40),
        "preflight": preflight,
    })
}

fn path_of(drone: &Value) -> String {
    format!("{DRONES}/{}", drone["metadata"]["name"].as_str().unwrap_or_default())
}

impl Run<'_> {
    /// How many vehicles fly on sites of their own.
    pub(super) fn far(&self) -> usize {
        usize::from(self.wild.is_some())
    }

    pub(super) fn begin_the_wild(&mut self) {
        let Some(version) = self.wild.as_ref().map(Wild::other_version) else {
            return;
        };
        if let Some((coordinator, raises)) = version {
            self.tell(&format!(
                "coordinator-{coordinator} flies layers {raises:.2} m farther apart"
            ));
        }
        let number = self.nodes.len() - 1;
        let path = format!("/api/v1/nodes/{}", self.nodes[number].name());
        self.ask(Method::PATCH, &path, &json!({"metadata": {"labels": {"kind": "far"}}}));
        self.ask_for_the_far_one();
    }

    fn ask_for_the_far_one(&self) {
        let there = self.ask(Method::GET, &format!("{DRONES}/{FAR_DRONE}"), &Value::Null);
        if there["kind"] == "Drone" {
            return;
        }
        let place = far_station();
        let mut station = corner(place.east, place.north);
        station["altitudeMeters"] = json!(place.up);
        let drone = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": FAR_DRONE},
            "spec": {"station": station, "nodeSelector": {"kind": "far"}}});
        self.ask(Method::POST, DRONES, &drone);
    }

    /// What comes besides, in each draw.
    pub(super) fn disturb_wildly(&mut self) {
        let Some(mut wild) = self.wild.take() else { return };
        if wild.rng.random_bool(EDITS) {
            self.edit_anything(&mut wild.rng);
        }
        if wild.rng.random_bool(GROUNDS) {
            self.tell("everything is grounded");
            self.oracle.tally.ground_orders += 1;
            self.say(PersonOrder::Ground);
            self.release_later(wild.rng.random_range(FOR_A_WHILE));
        }
        if wild.rng.random_bool(TIRES) {
            self.empty_a_battery(&mut wild);
        }
        self.tend_batteries(&mut wild);
        self.wild = Some(wild);
    }

    fn empty_a_battery(&mut self, wild: &mut Wild) {
        let flies = |number: &usize| {
            let vehicle = &self.nodes[*number].vehicle;
            vehicle.armed() && vehicle.height() > UP && !self.oracle.tired.contains(number)
        };
        let fly: Vec<usize> = (0..self.nodes.len()).filter(flies).collect();
        if fly.is_empty() {
            return;
        }
        let number = fly[wild.rng.random_range(0..fly.len())];
        let seconds = wild.rng.random_range(RUNS_DOWN);
        self.tell(&format!(
            "the battery of node-{number} runs low, and {seconds:.0} s later down to its reserve"
        ));
        self.nodes[number].vehicle.set_battery(NEAR_RESERVE);
        self.oracle.tired.insert(number);
        let at = self.sim.elapsed() + Duration::from_secs_f64(seconds);
        wild.runs_down.push((at, number));
    }

    /// Batteries run down, and a person charges those of vehicles on the ground.
    fn tend_batteries(&mut self, wild: &mut Wild) {
        let now = self.sim.elapsed();
        let nodes = &self.nodes;
        let charged: Vec<usize> = (self.oracle.tired.iter().copied())
            .filter(|number| !nodes[*number].vehicle.armed())
            .collect();
        for number in charged {
            nodes[number].vehicle.set_battery(100.0);
            self.oracle.tired.remove(&number);
            wild.runs_down.retain(|(_, of)| *of != number);
        }
        wild.runs_down.retain(|(at, number)| {
            if *at <= now {
                nodes[*number].vehicle.set_battery(BELOW_RESERVE);
            }
            *at > now
        });
    }

    fn edit_anything(&mut self, rng: &mut StdRng) {
        let missions = self.mission_names();
        let mission = missions[rng.random_range(0..missions.len())].clone();
        let drones = self.drones();
        let drone = (!drones.is_empty()).then(|| drones[rng.random_range(0..drones.len())].clone());
        let back = rng.random_range(FOR_A_WHILE);
        match rng.random_range(0..12) {
            0 => {
                let forever = json!({"repeat": "Forever", "completions": 1});
                self.edit_for_a_while(&mission, &forever, json!({"repeat": "Once"}), back);
            }
            1 => {
                let deadline = json!({"activeDeadlineSeconds": 2_592_000});
                self.edit_for_a_while(&mission, &deadline, json!({"activeDeadlineSeconds": null}), back);
            }
            2 => {
                let kept = json!({"ttlSecondsAfterFinished": 31_536_000});
                self.edit_for_a_while(&mission, &kept, json!({"ttlSecondsAfterFinished": null}), back);
            }
            3 => {
                let others = json!({"nodeSelector": {"kind": "post"}});
                self.edit_for_a_while(&mission, &others, json!({"nodeSelector": {"kind": "mission"}}), back);
            }
            4 => self.patch_mission(&mission, &json!({"failsafe": failsafe(rng)})),
            5 => {
                let node = rng.random_range(0..self.nodes.len());
                let path = format!("/api/v1/nodes/{}", self.nodes[node].name());
                let taint = json!([{"key": fleet::planning::node_use::GROUND_TAINT, "effect": "NoExecute"}]);
                self.edit(&path, &json!({"spec": {"taints": taint}}));
                self.undo_later(back, path, json!({"spec": {"taints": null}}));
            }
            choice => {
                if let Some(drone) = drone {
                    self.edit_the_drone(&drone, choice, back, rng);
                }
            }
        }
    }

    fn edit_the_drone(&mut self, drone: &Value, choice: u32, back: f64, rng: &mut StdRng) {
        let path = path_of(drone);
        let has_station = !drone["spec"]["station"].is_null();
        match choice {
            6 => self.edit(&path, &json!({"spec": {"failsafe": failsafe(rng)}})),
            7 if has_station => {
                let manner = json!({"headingDegrees": rng.random_range(0.0..359.0_f64).round(),
                    "speedMetersPerSecond": rng.random_range(2.0..9.0_f64).round()});
                self.edit(&path, &json!({"spec": {"station": manner}}));
            }
            8 if has_station => {
                let edit = |reference: &str| json!({"spec": {"station": {"altitudeReference": reference}}});
                self.edit(&path, &edit("AboveMeanSeaLevel"));
                self.undo_later(back, path, edit("AboveHome"));
            }
            9 => {
                self.edit(&path, &json!({"spec": {"grounded": true}}));
                self.undo_later(back, path, json!({"spec": {"grounded": false}}));
            }
            10 => {
                self.edit(&path, &json!({"spec": {"nodeSelector": {"spare": "yes"}}}));
                self.undo_later(back, path, json!({"spec": {"nodeSelector": {"spare": null}}}));
            }
            _ => {
                // Nobody can agree to takeovers that are still to come.
                let known = drone["spec"]["resumeAfterTakeovers"].as_u64().unwrap_or_default();
                let more = known + rng.random_range(1..3_u64);
                self.edit(&path, &json!({"spec": {"resumeAfterTakeovers": more}}));
            }
        }
    }

    /// The faults end: what was edited is as it was, and the other version stays.
    pub(super) fn look_after_the_wild(&mut self) {
        if let Some(mut wild) = self.wild.take() {
            self.say(PersonOrder::Release);
            self.ask_for_the_far_one();
            self.tend_batteries(&mut wild);
            self.wild = Some(wild);
        }
    }

    /// Why the vehicle on the site of its own is not at its station, if it is not.
    pub(super) fn far_one_is_missing(&self) -> Option<String> {
        self.wild.as_ref()?;
        let node = self.nodes.last()?;
        let (at, _) = node.vehicle.spot()?;
        let place = far_station();
        let is_there = at.over_ground(place) <= ON_STATION.0 && (at.up - place.up).abs() <= ON_STATION.1;
        if is_there {
            return None;
        }
        let drone = self.ask(Method::GET, &format!("{DRONES}/{FAR_DRONE}"), &Value::Null);
        let ready = condition(&drone, "Ready").cloned().unwrap_or_default();
        Some(format!("{FAR_DRONE} is at {at:.1?}: {ready}"))
    }
}
