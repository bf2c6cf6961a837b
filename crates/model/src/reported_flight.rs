//! What an agent reports of the flight under a Drone, and what the coordinator keeps of it for an agent that has lost its disk.

use crate::vehicle::HardwareUid;
use serde::{Deserialize, Serialize};

/// How far the flight of one Drone has come, in the words that the coordinator keeps.
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

/// Flight under a Drone as an agent reported it before, for one that remembers less of it: it has lost its disk, or could not write to
/// it, and must neither take a vehicle back from a pilot nor make one take off that landed by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ReportedFlight {
    /// How often somebody else had taken over.
    pub takeovers: u32,
    pub so_far: SoFar,
    /// The hardware of the vehicle that served it.
    #[serde(default)]
    pub hardware: Option<HardwareUid>,
}

impl ReportedFlight {
    /// Whether an agent that reports so many takeovers, and this of the flight, remembers less than was reported before: the disk that it has
    /// started from is older than that. Both only grow under one Drone; how far the flight came may begin anew.
    pub fn exceeds(&self, takeovers: u32, so_far: SoFar) -> bool {
        let forgot_kill = self.so_far == SoFar::Killed && so_far != SoFar::Killed;
        self.takeovers > takeovers || forgot_kill
    }
}
