//! A vehicle that a program flies among all that is wild, beside the places where the others are at the end.

use super::{DRONES, FOR_A_WHILE};
use crate::program::Volume;
use crate::vehicle::Spot;
use crate::world::Run;
use crate::world::gate::{condition, corner};
use crate::world::lent::is_flown_or_at_its_station;
use http::Method;
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::ops::Range;

pub const HOME: Spot = Spot {
    east: -100.0,
    north: -45.0,
    up: 0.0,
};
const NAME: &str = "lent";
const FROM_THE_END: usize = 2;
const VOLUME: Volume = Volume {
    middle: Spot {
        east: -75.0,
        north: -110.0,
        up: 25.0,
    },
    radius: 45.0,
    below: 12.0,
    above: 12.0,
};
const LEASE: u32 = 2;
const EDITS: f64 = 0.002;
const LOOKS: f64 = 0.02;
/// Its smaller airspace for a while, meters: the oracle judges by the largest.
const RADIUS: Range<f64> = 30.0..45.0;
const HIGH: Range<f64> = 6.0..12.0;
/// Reasons of a vehicle that flies as asked, or is about to: they do not explain its absence.
const SAY_NOTHING: [&str; 7] = [
    "",
    "InTheAir",
    "Holding",
    "Moving",
    "Updating",
    "TakingOff",
    "ExternalControl",
];

pub fn volume(number: usize, count: usize) -> Option<Volume> {
    (number + FROM_THE_END == count).then_some(VOLUME)
}

fn external(radius: f64, high: f64, lease: u32) -> Value {
    json!({"radiusMeters": radius, "belowMeters": high, "aboveMeters": high, "leaseSeconds": lease})
}

fn usual() -> Value {
    json!({"control": "External", "external": external(VOLUME.radius, VOLUME.below, LEASE)})
}

impl Run<'_> {
    fn lent_path(&self) -> String {
        format!("{DRONES}/{NAME}")
    }

    fn lent_one(&self) -> Option<Value> {
        let there = self.ask(Method::GET, &self.lent_path(), &Value::Null);
        (there["kind"] == "Drone").then_some(there)
    }

    pub(in crate::world) fn ask_for_the_lent_one(&self) {
        if self.lent_one().is_some() {
            return;
        }
        let place = VOLUME.middle;
        let mut station = corner(place.east, place.north);
        station["altitudeMeters"] = json!(place.up);
        let mut spec = usual();
        spec["station"] = station;
        spec["nodeSelector"] = json!({"kind": "lent"});
        let drone =
            json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": {"name": NAME}, "spec": spec});
        self.ask(Method::POST, DRONES, &drone);
    }

    pub(super) fn edit_the_lent_one(&mut self, rng: &mut StdRng) {
        if rng.random_bool(LOOKS) {
            self.ask_for_the_lent_one();
        }
        let path = self.lent_path();
        if !rng.random_bool(EDITS) || self.is_to_be_undone(&path) || self.lent_one().is_none() {
            return;
        }
        let (radius, high) = (rng.random_range(RADIUS).round(), rng.random_range(HIGH).round());
        let edit = match rng.random_bool(0.3) {
            true => json!({"control": "Skein", "external": null}),
            false => json!({"external": external(radius, high, rng.random_range(1..5))}),
        };
        self.edit(&path, &json!({"spec": edit}));
        let seconds = rng.random_range(FOR_A_WHILE);
        self.undo_later(seconds, path, json!({"spec": usual()}));
    }

    pub(super) fn settle_the_lent_one(&mut self) {
        for program in self.nodes.iter().filter_map(|node| node.program.as_ref()) {
            program.calm();
        }
        let path = self.lent_path();
        self.edit(&path, &json!({"spec": usual()}));
    }

    pub(super) fn lent_one_is_missing(&self) -> Option<String> {
        let drone = self.lent_one().unwrap_or_default();
        let node = self.nodes.iter().find(|node| node.program.is_some())?;
        if is_flown_or_at_its_station(&drone, node) {
            return None;
        }
        let ready = condition(&drone, "Ready").cloned().unwrap_or_default();
        let reason = ready["reason"].as_str().unwrap_or_default();
        let says_why = ready["status"] == "False" && !SAY_NOTHING.contains(&reason);
        (!says_why).then(|| format!("{NAME} is at {:.1?}: {ready}", node.vehicle.spot()))
    }
}
