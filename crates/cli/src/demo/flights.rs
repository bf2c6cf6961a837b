//! What each vehicle of the demo has done, and when.

use super::stage::Stage;
use crate::vehicle::Vehicle;
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Debug, Default)]
pub struct Flights(BTreeMap<String, Flight>);

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flight {
    pub stage: Stage,
    pub vehicle: Vehicle,
    last_known: Stage,
    firsts: BTreeMap<Stage, Duration>,
    /// Meters above home at the first hold.
    held_at: Option<f64>,
}

impl Flights {
    /// Returns nodes whose vehicles have reached another stage.
    pub fn note(&mut self, at: Duration, fleet: &[Vehicle]) -> Vec<String> {
        let mut changed = Vec::new();
        for vehicle in fleet.iter().filter(|vehicle| !vehicle.node.is_empty()) {
            let new = !self.0.contains_key(&vehicle.node);
            let flight = self.0.entry(vehicle.node.clone()).or_default();
            let stage = Stage::of(vehicle, flight.last_known);
            if stage != Stage::Silent {
                flight.last_known = stage;
            }
            if stage == Stage::Flying && flight.held_at.is_none() {
                flight.held_at = vehicle.position.as_ref().map(|p| p.altitude_above_home_meters);
            }
            flight.firsts.entry(stage).or_insert(at);
            if new || stage != flight.stage {
                changed.push(vehicle.node.clone());
            }
            flight.stage = stage;
            // A deleted Drone keeps its name here.
            let drone = if vehicle.drone.is_empty() {
                std::mem::take(&mut flight.vehicle.drone)
            } else {
                vehicle.drone.clone()
            };
            flight.vehicle = Vehicle {
                drone,
                ..vehicle.clone()
            };
        }
        changed.sort();
        changed
    }

    pub fn get(&self, node: &str) -> Option<&Flight> {
        self.0.get(node)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Flight)> {
        self.0.iter().map(|(node, flight)| (node.as_str(), flight))
    }

    pub fn counts(&self) -> Vec<(Stage, usize)> {
        let count = |stage: Stage| self.0.values().filter(|flight| flight.stage == stage).count();
        Stage::ALL
            .into_iter()
            .map(|stage| (stage, count(stage)))
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    pub fn summary(&self) -> String {
        let mut lines = vec!["Summary, in seconds since the Swarm was applied:".to_owned()];
        let width = self.0.keys().map(String::len).max().unwrap_or_default();
        for (node, flight) in &self.0 {
            let autopilot = flight.vehicle.autopilot.as_deref().unwrap_or("unknown");
            let mut line = format!("  {node:<width$}  {autopilot:<9}");
            for (what, from) in [
                ("ready", Stage::Ready),
                ("armed", Stage::Arming),
                ("holding", Stage::Flying),
                ("touched down", Stage::Landed),
            ] {
                let at = flight
                    .reached(from)
                    .map_or("never".to_owned(), |at| format!("{:.1}", at.as_secs_f32()));
                line += &format!("  {what} {at:<5}");
                if from == Stage::Flying
                    && let Some(height) = flight.held_at
                {
                    line += &format!(" at {height:.1} m");
                }
            }
            if flight.stage != Stage::Landed {
                line += &format!("  last seen {}: {}", flight.stage.label(), flight.vehicle.message);
            }
            lines.push(line.trim_end().to_owned());
        }
        lines.join("\n")
    }
}

impl Flight {
    /// When it was first observed at or past `stage`, as a vehicle may pass one unobserved.
    pub fn reached(&self, stage: Stage) -> Option<Duration> {
        let past = self.firsts.range(stage..=Stage::Landed);
        past.filter(|(at, _)| stage < Stage::Flying || **at == stage)
            .map(|(_, time)| *time)
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(node: &str, truth: &str, activity: &str) -> Vehicle {
        Vehicle {
            node: node.into(),
            truth: truth.into(),
            activity: Some(activity.into()),
            ready: Some(true),
            autopilot: Some("PX4".into()),
            ..Vehicle::default()
        }
    }

    fn at(second: u64) -> Duration {
        Duration::from_secs(second)
    }

    #[test]
    fn a_stage_that_was_never_reported_was_reached_with_the_next_one() {
        let mut flights = Flights::default();
        flights.note(at(1), &[reported("a", "Disarmed", "Idle")]);
        flights.note(at(5), &[reported("a", "InAir", "Holding")]);
        flights.note(at(9), &[reported("a", "Disarmed", "Idle")]);
        let flight = flights.get("a").unwrap();
        assert_eq!(flight.reached(Stage::Ready), Some(at(1)));
        assert_eq!(flight.reached(Stage::Arming), Some(at(5)));
        assert_eq!(flight.reached(Stage::Landed), Some(at(9)));
    }

    #[test]
    fn a_vehicle_that_landed_without_holding_never_held() {
        let mut flights = Flights::default();
        flights.note(at(1), &[reported("a", "TakingOff", "TakingOff")]);
        flights.note(at(2), &[reported("a", "Disarmed", "Idle")]);
        assert_eq!(flights.get("a").unwrap().reached(Stage::Flying), None);
        assert!(flights.summary().contains("holding never"), "{}", flights.summary());
    }

    #[test]
    fn a_vehicle_silent_for_a_while_in_flight_has_landed_when_it_reports_the_ground() {
        let mut flights = Flights::default();
        flights.note(at(1), &[reported("a", "InAir", "Holding")]);
        flights.note(at(2), &[reported("a", "UnknownLinkLost", "Waiting")]);
        flights.note(at(3), &[reported("a", "UnknownLinkLost", "Waiting")]);
        assert_eq!(flights.counts(), [(Stage::Silent, 1)]);
        flights.note(at(4), &[reported("a", "Disarmed", "Idle")]);
        assert_eq!(flights.get("a").unwrap().reached(Stage::Landed), Some(at(4)));
    }

    #[test]
    fn only_a_new_stage_is_a_change() {
        let mut flights = Flights::default();
        let fleet = [reported("a", "InAir", "Holding"), reported("b", "InAir", "Holding")];
        assert_eq!(flights.note(at(1), &fleet), ["a", "b"]);
        assert_eq!(flights.note(at(2), &fleet), [""; 0]);
        assert_eq!(flights.note(at(3), &[reported("b", "Landing", "Landing")]), ["b"]);
        assert_eq!(flights.counts(), [(Stage::Flying, 1), (Stage::Landing, 1)]);
    }

    #[test]
    fn a_drone_that_waits_for_a_vehicle_is_no_flight() {
        let mut flights = Flights::default();
        flights.note(at(1), &[reported("", "NoVehicle", "")]);
        assert_eq!(flights.iter().count(), 0);
    }
}
