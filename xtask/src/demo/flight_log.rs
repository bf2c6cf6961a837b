//! What each vehicle has done in this demo, for the summary.
//!
//! Owns: when each was first seen in a state. Must not: judge. Times are as seen from here, from the start of following.

use std::collections::BTreeMap;
use std::time::Duration;

use super::picture::Row;
use crate::say;

/// The flights, by node.
#[derive(Debug, Default)]
pub struct FlightLog(BTreeMap<String, Flight>);

#[derive(Debug, Default, PartialEq)]
struct Flight {
    drone: String,
    autopilot: String,
    took_off: Option<Duration>,
    held: Option<Duration>,
    /// The Drone has gone after the vehicle flew: its finalizer waits for touchdown and disarming.
    landed: Option<Duration>,
    message: String,
}

impl FlightLog {
    /// Takes note of what is seen `at` this time.
    pub fn note(&mut self, at: Duration, rows: &[Row]) {
        for row in rows.iter().filter(|row| !row.node.is_empty()) {
            let flight = self.0.entry(row.node.clone()).or_default();
            match &row.drone {
                None => flight.landed = flight.landed.or(flight.took_off.map(|_| at)),
                Some(drone) => {
                    flight.drone.clone_from(drone);
                    flight.autopilot.clone_from(&row.autopilot);
                    flight.message.clone_from(&row.message);
                    flight.landed = None;
                    if row.flying == Some(true) {
                        flight.took_off.get_or_insert(at);
                    }
                    if row.holding {
                        flight.held.get_or_insert(at);
                    }
                }
            }
        }
    }

    /// A line per vehicle.
    pub fn summary(&self) -> String {
        let at = |time: Option<Duration>| time.map_or("never".to_owned(), say::duration);
        let mut lines = vec!["\nSummary (times since the swarm was applied):".to_owned()];
        for (node, flight) in &self.0 {
            let (flew, held, landed) = (at(flight.took_off), at(flight.held), at(flight.landed));
            let mut line = format!("  {node:<8} {:<9} {:<28}", flight.autopilot, flight.drone);
            line += &format!(" in the air {flew:<8} holding {held:<8} landed and gone {landed}");
            if flight.held.is_none() || flight.landed.is_none() {
                line += &format!("  last heard: {}", flight.message);
            }
            lines.push(line.trim_end().to_owned());
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::picture::rows;
    use serde_json::{Value, json};

    #[test]
    fn a_flight_is_told_from_takeoff_to_the_end_of_its_drone() {
        let nodes = ["n".to_owned()];
        let drone = |flying: bool| {
            json!({"items": [{"metadata": {"name": "x"}, "spec": {"nodeName": "n"}, "status": {"flying": flying,
                "conditions": [{"type": "Ready", "status": if flying { "True" } else { "False" }}]}}]})
        };
        let mut log = FlightLog::default();
        for (second, seen) in [(1, drone(false)), (2, drone(true)), (8, drone(false)), (9, Value::Null)] {
            log.note(Duration::from_secs(second), &rows(&nodes, &seen, &Value::Null));
        }
        let summary = log.summary();
        assert!(
            summary.contains("in the air 2.0 s    holding 2.0 s    landed and gone 9.0 s"),
            "{summary}"
        );
    }
}
