//! Report of the flight under a Drone, which the coordinator keeps for an agent that loses its disk.

use crate::vehicle::HardwareUid;
use serde::{Deserialize, Serialize};

/// How far the flight of one Drone has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SoFar {
    /// `fleet::flight_record::Stage::Fresh`.
    #[default]
    Fresh,
    /// `fleet::flight_record::Stage::Flown`.
    Flown,
    /// `fleet::flight_record::Stage::Over`.
    Over,
    /// A command to stop its motors was sent.
    Killed,
}

/// Earlier report of the flight, for an agent that lost its disk or could not write to it: it must neither take a vehicle back from a pilot
/// nor take off with one that landed by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ReportedFlight {
    /// By somebody else.
    pub takeovers: u32,
    pub so_far: SoFar,
    /// Of the vehicle that served the Drone.
    #[serde(default)]
    pub hardware: Option<HardwareUid>,
}

impl ReportedFlight {
    /// Whether an agent that reports these has started from an older disk. Takeovers and a kill only grow under one Drone; the rest of
    /// `so_far` may begin anew.
    pub fn exceeds(&self, takeovers: u32, so_far: SoFar) -> bool {
        let forgot_kill = self.so_far == SoFar::Killed && so_far != SoFar::Killed;
        self.takeovers > takeovers || forgot_kill
    }
}
