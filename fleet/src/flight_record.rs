//! What the agent has seen of the flight under its present assignment; kept on disk beside the assignment.
//!
//! Owns: [`FlightRecord`], which makes sure that a vehicle which came down without our asking does not rise again by
//! itself, not even after a restart of the agent. Must not: decide; [`crate::safety`] and [`crate::converge`] do.
//!
//!   Fresh --seen airborne--> Flown --seen landed, landing not ours--> Over --a ground order is held--> Fresh

use crate::assignment::{Assignment, Desired};
use crate::ids::DroneUid;
use crate::vehicle::FlightTruth;
use serde::{Deserialize, Serialize};

/// How far the flight of one Drone has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Stage {
    /// Not seen in the air since the Drone was assigned, or since it was last wished to the ground.
    #[default]
    Fresh,
    /// Seen in the air while the assignment wished it there.
    Flown,
    /// Came down while the assignment still wished it in the air: by a failsafe, a pilot, or a crash.
    Over,
}

/// The flight under the present assignment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlightRecord {
    /// Drone that the record is about.
    pub uid: Option<DroneUid>,
    /// How far it has come.
    pub stage: Stage,
}

impl FlightRecord {
    /// The record after seeing the vehicle do `truth` while `held` is the assignment. `landing_ours` is whether this
    /// agent is bringing it down itself (it is ending); such a landing does not end the Drone's flight for good.
    #[must_use]
    pub fn seen(&self, held: Option<&Assignment>, truth: FlightTruth, landing_ours: bool) -> Self {
        let Some(held) = held else { return Self::default() };
        let same = self.uid.as_ref() == Some(&held.uid);
        let before = if same { self.stage } else { Stage::Fresh };
        let stage = match (held.desired, before, truth) {
            // Wished to the ground: once it is there, the next wish starts afresh. Until then nothing is forgotten.
            (Desired::Grounded { .. }, _, FlightTruth::Disarmed) => Stage::Fresh,
            (Desired::Grounded { .. }, before, _) => before,
            (Desired::Flying { .. }, Stage::Fresh, FlightTruth::Airborne(_)) => Stage::Flown,
            (Desired::Flying { .. }, Stage::Flown, FlightTruth::Disarmed) if landing_ours => Stage::Fresh,
            (Desired::Flying { .. }, Stage::Flown, FlightTruth::Disarmed) => Stage::Over,
            (Desired::Flying { .. }, before, _) => before,
        };
        Self {
            uid: Some(held.uid.clone()),
            stage,
        }
    }
}
