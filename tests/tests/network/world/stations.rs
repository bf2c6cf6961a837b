//! Drones with stations, in a share of the worlds: the person creates, moves and swaps them, and makes them again.

use super::{DISORDER, ON_STATION, PATIENCE, Run};
use crate::vehicle::Spot;
use http::Method;
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::ops::Range;
use std::time::Duration;

const DRONES: &str = "/apis/skein.dev/v1alpha1/namespaces/default/drones";
/// One world in this many has stations; the other seeds keep the runs that they are without.
const SHARE: u64 = 3;
/// Least and largest distance of homes, meters.
const HOMES: (f64, f64) = (20.0, 60.0);
/// Meters from the middle to stations, east and north.
const REACH: f64 = 30.0;
/// Meters between stations, and to all homes, at the end: none that stays is in the way of another.
const SOUND: f64 = 13.0;
/// Altitudes, meters.
const UP: Range<f64> = 4.0..25.0;
/// At the end where all Drones have `preflight: Refuse`: below all ways home, which autopilots take at 15 m or higher.
const BELOW_RETURNS: Range<f64> = 4.0..5.8;
const LONGER: u32 = 2;

pub struct Stations {
    places: Vec<Spot>,
    homes: Vec<Spot>,
}

fn between(rng: &mut StdRng, reach: f64) -> f64 {
    rng.random_range(-reach..reach)
}

pub fn homes(count: usize, rng: &mut StdRng) -> Vec<Spot> {
    let mut homes: Vec<Spot> = Vec::new();
    while homes.len() < count {
        let (east, north) = (between(rng, HOMES.1 / 2.0), between(rng, HOMES.1 / 2.0));
        let home = Spot { east, north, up: 0.0 };
        let nearest = homes.iter().map(|other| home.over_ground(*other));
        let nearest = nearest.fold(f64::INFINITY, f64::min);
        if homes.is_empty() || (HOMES.0..HOMES.1).contains(&nearest) {
            homes.push(home);
        }
    }
    homes
}

impl Stations {
    pub const fn fly_in(seed: u64) -> bool {
        seed % SHARE == SHARE - 1
    }

    pub fn new(homes: &[Spot], rng: &mut StdRng) -> Self {
        let drones = rng.random_range(2..homes.len());
        let places = (0..drones).map(|_| anywhere(rng, UP)).collect();
        Self {
            places,
            homes: homes.to_vec(),
        }
    }

    pub fn count(&self) -> u32 {
        u32::try_from(self.places.len()).unwrap_or(u32::MAX)
    }
}

fn anywhere(rng: &mut StdRng, up: Range<f64>) -> Spot {
    Spot {
        east: between(rng, REACH),
        north: between(rng, REACH),
        up: rng.random_range(up),
    }
}

fn asked(place: Spot) -> Value {
    let (latitude, longitude) = place.degrees();
    json!({"latitudeDegrees": latitude, "longitudeDegrees": longitude, "altitudeMeters": place.up})
}

fn name(number: usize) -> String {
    format!("st-{number}")
}

impl Run<'_> {
    pub(super) fn disorder(&self) -> Duration {
        DISORDER * if self.stations.is_some() { LONGER } else { 1 }
    }

    pub(super) fn patience(&self) -> Duration {
        // An aircraft is gone with the faults, and counts for a while after it was last heard.
        let counts = match self.oracle.tally.aircraft {
            0 => Duration::ZERO,
            _ => fleet::airspace::Rules::default().traffic_kept,
        };
        counts + PATIENCE * if self.stations.is_some() { LONGER } else { 1 }
    }

    pub(super) fn ask_for_stations(&mut self) {
        let Some(stations) = &self.stations else { return };
        let places = stations.places.clone();
        for (number, place) in places.into_iter().enumerate() {
            let there = self
                .cluster
                .ask(Method::GET, &format!("{DRONES}/{}", name(number)), &Value::Null);
            if there["kind"] == "Drone" {
                continue;
            }
            let action = ["Land", "Continue", "Return", "Hold"][self.rng.random_range(0..4)];
            let mut failsafe =
                json!({"onCoordinatorLoss": action, "coordinatorLossSeconds": self.rng.random_range(5..40)});
            self.refuse_without_rules(&mut failsafe);
            let drone = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": name(number)},
                "spec": {"station": asked(place), "failsafe": failsafe}});
            self.ask(Method::POST, DRONES, &drone);
            self.oracle.tally.stations += 1;
        }
    }

    pub(super) fn move_stations(&mut self) {
        let Some(stations) = &self.stations else { return };
        let (count, homes) = (stations.places.len(), stations.homes.clone());
        if self.chance(0.02) {
            let number = self.rng.random_range(0..count);
            let place = match self.rng.random_range(0..10) {
                // Over a home, or nearly where another is: it may have to wait.
                0 => {
                    let home = homes[self.rng.random_range(0..homes.len())];
                    Spot {
                        up: self.rng.random_range(UP),
                        ..home
                    }
                }
                1 => {
                    let other = self
                        .stations
                        .as_ref()
                        .map(|stations| stations.places[self.rng.random_range(0..count)]);
                    let other = other.unwrap_or(homes[0]);
                    Spot {
                        east: other.east + between(&mut self.rng, 8.0),
                        up: self.rng.random_range(UP),
                        ..other
                    }
                }
                _ => anywhere(&mut self.rng, UP),
            };
            self.place(number, place);
        }
        if self.chance(0.01) {
            let (one, other) = (self.rng.random_range(0..count), self.rng.random_range(0..count));
            let Some(stations) = &self.stations else { return };
            let (here, there) = (stations.places[one], stations.places[other]);
            self.place(one, there);
            self.place(other, here);
        }
        if self.chance(0.006) {
            let number = self.rng.random_range(0..count);
            self.ask(Method::DELETE, &format!("{DRONES}/{}", name(number)), &Value::Null);
        }
        if self.chance(0.03) {
            self.ask_for_stations();
        }
    }

    fn place(&mut self, number: usize, place: Spot) {
        if let Some(stations) = &mut self.stations {
            stations.places[number] = place;
        }
        let path = format!("{DRONES}/{}", name(number));
        self.ask(Method::PATCH, &path, &json!({"spec": {"station": asked(place)}}));
        self.oracle.tally.stations += 1;
    }

    /// From now on none that stays is in the way of another, nor of the return of one that would not take off for that.
    pub(super) fn choose_sound_stations(&mut self) {
        let Some(stations) = &self.stations else { return };
        let (count, homes) = (stations.places.len(), stations.homes.clone());
        let up = if self.oracle.rules.is_some() { BELOW_RETURNS } else { UP };
        let mut places: Vec<Spot> = Vec::new();
        while places.len() < count {
            let place = anywhere(&mut self.rng, up.clone());
            let others = homes.iter().chain(&places);
            if others
                .map(|other| place.over_ground(*other))
                .all(|apart| apart >= SOUND)
            {
                places.push(place);
            }
        }
        for (number, place) in places.into_iter().enumerate() {
            self.place(number, place);
        }
    }

    pub(super) fn put_back_what_is_on_the_ground(&mut self) {
        for node in &self.nodes {
            node.vehicle.carry_home();
        }
        self.ask_for_stations();
    }

    pub(super) fn situation(&self) -> String {
        let vehicles = self.nodes.iter().map(|node| {
            let (armed, mode) = (node.vehicle.armed(), node.vehicle.mode());
            format!(
                "{}: armed {armed}, mode {mode:#x}, at {:.1?}",
                node.name(),
                node.vehicle.spot()
            )
        });
        let drones = self.drones();
        let drones = drones.iter().map(|drone| {
            let ready = drone["status"]["conditions"].as_array().into_iter().flatten();
            let ready = ready.filter(|one| one["type"] == "Ready").map(|one| &one["message"]);
            let (name, node) = (&drone["metadata"]["name"], &drone["spec"]["nodeName"]);
            let warnings = &drone["status"]["preflightWarnings"];
            let ready = ready.map(Value::to_string).collect::<String>();
            format!("{name} on {node}: {ready}, warned of {warnings}")
        });
        vehicles.chain(drones).collect::<Vec<_>>().join("; ")
    }

    pub(super) fn kept_waiting(&self) -> usize {
        if self.stations.is_none() {
            return 0;
        }
        let drones = self.drones();
        drones
            .iter()
            .filter(|drone| self.waits_for_one_far_from_home(drone))
            .count()
    }

    /// It landed on its way and took off there again without a station, far from home: no order of ours may bring them
    /// closer.
    fn waits_for_one_far_from_home(&self, drone: &Value) -> bool {
        let conditions = drone["status"]["conditions"].as_array();
        let ready = conditions.and_then(|all| all.iter().find(|one| one["type"] == "Ready"));
        let message = ready.and_then(|ready| ready["message"].as_str()).unwrap_or_default();
        let own = self.nodes.iter().find(|node| drone["spec"]["nodeName"] == node.name());
        let Some((at, _)) = own
            .filter(|own| !own.vehicle.armed())
            .and_then(|own| own.vehicle.spot())
        else {
            return false;
        };
        self.nodes.iter().any(|node| {
            let holds_here = node.vehicle.armed()
                && node
                    .vehicle
                    .spot()
                    .is_some_and(|(there, home)| there.over_ground(home) > SOUND && there.over_ground(at) < SOUND);
            holds_here
                && message.contains(&format!(
                    "waits for the airspace of the vehicle of node {}",
                    node.name()
                ))
        })
    }

    pub(super) fn off_station(&self) -> Option<String> {
        let stations = self.stations.as_ref()?;
        let drones = self.drones();
        for (number, place) in stations.places.iter().enumerate() {
            let drone = drones
                .iter()
                .find(|drone| drone["metadata"]["name"] == name(number).as_str());
            let node = drone.and_then(|drone| drone["spec"]["nodeName"].as_str());
            let node = self.nodes.iter().find(|of| Some(of.name().as_str()) == node);
            let at = node.and_then(|node| node.vehicle.spot()).map(|(at, _)| at);
            let there =
                at.is_some_and(|at| at.over_ground(*place) <= ON_STATION.0 && (at.up - place.up).abs() <= ON_STATION.1);
            let conditions = drone.and_then(|drone| drone["status"]["conditions"].as_array());
            let ready = conditions.and_then(|all| all.iter().find(|one| one["type"] == "Ready"));
            let waits = drone.is_some_and(|drone| self.waits_for_one_far_from_home(drone));
            if !waits && (!there || ready.is_none_or(|ready| ready["status"] != "True")) {
                return Some(format!("{} should be at {place:.1?}", name(number)));
            }
        }
        None
    }
}
