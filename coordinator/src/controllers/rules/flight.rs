//! One record for each flight: which rules were on the vehicle when it took off.
//!
//! Owns: when a flight began and ended, by the autopilot's account, and the record. Must not: write it.

use super::plan::{Objects, Outcome, Subject};
use fleet::ids::DroneName;
use fleet::vehicle::FlightTruth;
use k8s_openapi::jiff::Timestamp;

/// What was so at the takeoff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    /// When it was first seen in the air, by the autopilot's account.
    pub took_off: Timestamp,
    /// The Drone that the vehicle served.
    pub drone: Option<DroneName>,
    /// The number of its autopilot's hardware.
    pub hardware: Option<String>,
    /// Its firmware.
    pub firmware: Option<String>,
    /// The digest of the fence and parameters that its agent held.
    pub digest: Option<String>,
    /// Whether all of it was in force.
    pub in_force: bool,
    /// The objects that it was made from, each with its generation.
    pub objects: Vec<String>,
}

/// The flight of a vehicle after what was reported, and the one that has ended with it.
#[must_use]
pub fn follow(
    before: Option<Flight>,
    objects: &Objects,
    (subject, outcome): (&Subject, &Outcome),
    drone: Option<&DroneName>,
    now: Timestamp,
) -> (Option<Flight>, Option<Flight>) {
    let Some(report) = &subject.report else {
        return (before, None);
    };
    match (report.truth, before) {
        (FlightTruth::Airborne(_), None) => {
            let identity = report.identity.as_ref();
            let fences = outcome.active.iter().filter_map(|&i| objects.fences.get(i));
            let fences = fences.map(|fence| format!("Geofence {} generation {}", fence.name, fence.generation));
            let profiles = outcome.profiles.iter().filter_map(|&i| objects.profiles.get(i));
            let profiles = profiles.map(|values| {
                format!(
                    "ParameterProfile {} generation {}",
                    values.profile.name, values.generation
                )
            });
            let flight = Flight {
                took_off: now,
                drone: drone.cloned(),
                hardware: identity
                    .and_then(|identity| identity.hardware)
                    .map(|uid| uid.to_string()),
                firmware: identity.and_then(|identity| identity.firmware.clone()),
                digest: report.rules.held.as_ref().map(ToString::to_string),
                in_force: report.rules.in_force,
                objects: fences.chain(profiles).collect(),
            };
            (Some(flight), None)
        }
        (FlightTruth::Disarmed, Some(flight)) => (None, Some(flight)),
        (_, before) => (before, None),
    }
}

impl Flight {
    /// The record, as a sentence.
    #[must_use]
    pub fn words(&self, landed: Timestamp) -> String {
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
        let seconds = |time: Timestamp| Timestamp::from_second(time.as_second()).unwrap_or(time);
        let served = self
            .drone
            .as_ref()
            .map_or_else(|| "no Drone".to_owned(), |drone| format!("Drone {drone}"));
        let rules = match (&self.digest, self.in_force) {
            (None, _) => "no rules".to_owned(),
            (Some(digest), true) => format!("rules {digest} in force"),
            (Some(digest), false) => format!("rules {digest} not all in force"),
        };
        let objects = if self.objects.is_empty() {
            String::new()
        } else {
            format!(" ({})", self.objects.join(", "))
        };
        format!(
            "{} to {}, {served}, hardware {}, firmware {}, {rules}{objects}",
            seconds(self.took_off),
            seconds(landed),
            known(&self.hardware),
            known(&self.firmware)
        )
    }
}
