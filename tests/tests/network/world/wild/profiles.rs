//! Which object of rules gets which edit of [`super::edits`], and when that is undone.

use super::edits::{self, Draw};
use super::fences::{FIELD, HOLE};
use super::{FOR_A_WHILE, Wild};
use crate::oracle::rules::GEOFENCES;
use crate::world::rules::PROFILES;
use crate::world::{Run, SWARM};
use http::Method;
use rand::RngExt;
use serde_json::{Value, json};

/// The profile whose values are set, and the one that only reports.
pub const APPLIED: &str = "applied";
pub const REPORTED: &str = "reported";
const EDITS: f64 = 0.02;

impl Run<'_> {
    pub(super) fn ask_for_profiles(&self) {
        let applied = json!({"vehicleSelector": edits::all_here(), "enforce": "Apply", "maxUnavailable": 2,
            "settings": {"waypointRadiusMeters": "2"}});
        self.apply(PROFILES, "ParameterProfile", APPLIED, &applied);
        let reported =
            json!({"vehicleSelector": edits::all_here(), "enforce": "Report", "settings": {"onLowBattery": "Return"}});
        self.apply(PROFILES, "ParameterProfile", REPORTED, &reported);
    }

    pub(super) fn edit_rules_and_swarm(&mut self, wild: &mut Wild) {
        if !wild.rng.random_bool(EDITS) {
            return;
        }
        let of = |path: &str, name: &str| format!("{path}/{name}");
        let (path, draw) = match wild.rng.random_range(0..8) {
            0..=2 => (SWARM.to_owned(), edits::of_swarm as Draw),
            3 | 4 => (of(GEOFENCES, FIELD), edits::of_field as Draw),
            5 => (of(GEOFENCES, HOLE), edits::of_hole as Draw),
            6 => (of(PROFILES, APPLIED), edits::of_applied as Draw),
            _ => (of(PROFILES, REPORTED), edits::of_reported as Draw),
        };
        // An object with an edit to undo gets no other, and a hole may be gone.
        if self.is_to_be_undone(&path) || self.ask(Method::GET, &path, &Value::Null)["kind"] == "Status" {
            return;
        }
        let edit = draw(&mut wild.rng);
        self.edit(&path, &json!({"spec": edit.spec}));
        if !edit.back.is_null() {
            let seconds = wild.rng.random_range(FOR_A_WHILE);
            self.undo_later(seconds, path, json!({"spec": edit.back}));
        }
    }
}
