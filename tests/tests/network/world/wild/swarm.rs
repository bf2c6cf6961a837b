//! A Swarm with a formation among all that is wild: all its fields are edited, its vehicles taken, tired and drained.

use super::edits;
use crate::node::Node;
use crate::vehicle::Spot;
use crate::world::{ON_STATION, Run, SWARM};
use http::Method;
use rand::rngs::StdRng;
use serde_json::{Value, json};

pub const VEHICLES: usize = 2;
/// Meters.
const HOMES: f64 = 25.0;
/// The places at the end, clear of all homes and all work.
pub const SOUND: [Spot; VEHICLES] = [
    Spot {
        east: 15.0,
        north: -90.0,
        up: 14.0,
    },
    Spot {
        east: 50.0,
        north: -90.0,
        up: 14.0,
    },
];

pub fn home(number: usize) -> Spot {
    Spot {
        east: 20.0 + HOMES * number as f64,
        north: -50.0,
        up: 0.0,
    }
}

impl Run<'_> {
    pub(super) fn ask_for_the_swarm(&self, rng: &mut StdRng) {
        let mut formation = edits::formation(rng);
        if let Some(parts) = formation.as_object_mut() {
            parts.retain(|_, part| !part.is_null());
        }
        let spec = json!({"replicas": VEHICLES, "nodeSelector": {"kind": "swarm"}, "formation": formation});
        let swarm =
            json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": "alpha"}, "spec": spec});
        self.ask(Method::POST, SWARM.trim_end_matches("/alpha"), &swarm);
    }

    pub(super) fn settle_the_swarm(&mut self) {
        let spec = json!({
            "replicas": VEHICLES,
            "nodeSelector": {"spare": null},
            "template": {"spec": {"nodeSelector": {"spare": null}}},
            "formation": edits::formation_at(&SOUND),
            "grounded": false,
            "maxSurge": 1,
            "maxUnavailable": 1,
            "onCordon": "Continue",
            "replaceLostAfterSeconds": null,
            "rotateAtPercent": null,
            "takeoffIntervalSeconds": 0,
        });
        self.edit(SWARM, &json!({"spec": spec}));
    }

    pub(super) fn swarm_is_not_covered(&self) -> Option<String> {
        let swarm = self.ask(Method::GET, SWARM, &Value::Null);
        let up: Vec<Spot> = self
            .nodes
            .iter()
            .filter(|node: &&Node| node.is_up())
            .filter_map(|node| Some(node.vehicle.spot()?.0))
            .collect();
        let is_at = |place: &Spot, spot: &Spot| {
            spot.over_ground(*place) <= ON_STATION.0 && (spot.up - place.up).abs() <= ON_STATION.1
        };
        let open = SOUND
            .iter()
            .find(|place| up.iter().filter(|spot| is_at(place, spot)).count() != 1);
        let status = &swarm["status"];
        let says =
            status["observedGeneration"] == swarm["metadata"]["generation"] && status["coveredSlots"] == VEHICLES;
        if open.is_none() && says {
            return None;
        }
        Some(format!(
            "the Swarm is not covered at {open:.1?}: slots {}, conditions {}",
            status["slots"], status["conditions"]
        ))
    }
}
