//! Wild worlds: those of the gate, where each field that can be edited is, receivers and winds differ, ground orders
//! come and go, batteries run low, a Swarm flies formations, a program flies one vehicle, another flies on a site of
//! its own, Geofences come over all of them, a captured agent lies, and one coordinator plans otherwise. A ground order
//! is kept for hours in a few.
//!
//! The random numbers of [`Wild`] are its own, so that the worlds of the gate stay as they are under their seeds.

pub mod course;
mod edits;
mod fences;
pub mod fields;
pub mod hours;
pub mod lent;
pub mod liars;
pub mod outline;
mod profiles;
mod settled;
mod swarm;

use super::gate::{DRONES, condition, corner};
use super::{ON_STATION, Run};
use crate::oracle::separation::own_return::OwnReturns;
use crate::station::PersonOrder;
use crate::vehicle::{Spot, Vehicle};
use agent_testkit::autopilot::Kind;
use fences::Fences;
use hours::Hours;
use http::Method;
use liars::{Liar, Lie};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use sitl::model::{GpsError, Wind};
use std::ops::{Range, RangeInclusive};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Vehicles of the gate, and those besides: of the Swarm, one that a program flies, and one on a site of its own.
pub const OF_THE_GATE: RangeInclusive<usize> = 5..=6;
pub const BESIDES: usize = swarm::VEHICLES + 2;
/// Seconds of faults; then holes are judged without any.
pub const DISORDER: Range<f64> = 80.0..160.0;
/// Makes its random numbers differ from those of the world.
const OTHER: u64 = 0x5EED_FA11;
/// Meters east of the others to the vehicle on a site of its own.
const FAR: f64 = 30_000.0;
const FAR_DRONE: &str = "far";
/// Distance from its home to its station, and altitude, meters.
const FAR_OFF: f64 = 40.0;
const FAR_UP: f64 = 15.0;
/// Error of a receiver's altitude, meters: the work of the gate is flown close above what parked vehicles own.
const DATUM: Range<f64> = -1.5..1.5;
/// Error of an estimated place, meters over ground.
const DRIFT: Range<f64> = -1.0..1.0;
/// Meters per second; a small vehicle can work against it.
const WIND: Range<f64> = 0.0..9.0;
/// Meters that the other version adds between the layers of a Mission, and the share of worlds with it.
const RAISES: Range<f64> = 0.3..4.0;
const SHARE_OF_VERSIONS: f64 = 0.7;
const OTHER_VERSION: usize = 1;
const EDITS: f64 = 0.01;
const GROUNDS: f64 = 0.0005;
const TIRES: f64 = 0.001;
/// Percent left in a battery near the usual reserve, and later below it.
const NEAR_RESERVE: f64 = 22.0;
const BELOW_RESERVE: f64 = 19.0;
const RUNS_DOWN: Range<f64> = 3.0..90.0;
/// Meters above which a vehicle flies.
const UP: f64 = 6.0;
/// Seconds until an edit is undone.
const FOR_A_WHILE: Range<f64> = 1.0..40.0;

pub struct Wild {
    rng: StdRng,
    /// Meters that the other version adds to the layers.
    raises: Option<f64>,
    runs_down: Vec<(Duration, usize)>,
    fences: Fences,
    liar: Option<Liar>,
    hours: Option<Hours>,
}

impl Wild {
    pub fn new(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed ^ OTHER);
        let other = rng.random_bool(SHARE_OF_VERSIONS);
        let raises = rng.random_range(RAISES);
        let liar = Liar::of_world(&mut rng, seed);
        Self {
            rng,
            raises: other.then_some(raises),
            runs_down: Vec::new(),
            fences: Fences::default(),
            liar,
            hours: Hours::of_world(seed),
        }
    }

    pub fn lie(&self) -> Option<Arc<Mutex<Lie>>> {
        self.liar.as_ref().map(|liar| Arc::clone(&liar.lie))
    }

    pub fn other_version(&self) -> Option<(usize, f64)> {
        self.raises.map(|raises| (OTHER_VERSION, raises))
    }

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

pub fn homes() -> Vec<Spot> {
    let own = [lent::HOME, far_home()];
    (0..swarm::VEHICLES).map(swarm::home).chain(own).collect()
}

pub const fn kind(number: usize) -> &'static str {
    match number {
        number if number < swarm::VEHICLES => "swarm",
        swarm::VEHICLES => "lent",
        _ => "far",
    }
}

const fn far_home() -> Spot {
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
    pub(super) fn besides(&self) -> usize {
        if self.wild.is_some() { BESIDES } else { 0 }
    }

    pub(super) fn begin_the_wild(&mut self) {
        let Some(mut wild) = self.wild.take() else { return };
        if let Some((coordinator, raises)) = wild.other_version() {
            self.tell(&format!(
                "coordinator-{coordinator} flies layers {raises:.2} m farther apart"
            ));
        }
        for node in self.nodes.iter().rev().take(BESIDES) {
            let label = json!({"metadata": {"labels": {"kind": self.kind_of(node.number)}}});
            self.ask(Method::PATCH, &format!("/api/v1/nodes/{}", node.name()), &label);
        }
        self.oracle.separation.own_returns = Some(OwnReturns::default());
        self.ask_for_the_far_one();
        self.ask_for_the_lent_one();
        self.ask_for_the_field();
        self.ask_for_profiles();
        self.ask_for_the_swarm(&mut wild.rng);
        self.ask_for_the_captured_one(&mut wild);
        self.wild = Some(wild);
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
        self.edit_rules_and_swarm(&mut wild);
        self.change_the_holes(&mut wild);
        self.edit_the_lent_one(&mut wild.rng);
        self.let_the_liar_speak(&mut wild);
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

    fn far_one_is_missing(&self) -> Option<String> {
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
