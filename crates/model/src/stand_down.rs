//! A vehicle that stands down: a flight of it ended without an order of Skein's, and it is armed for nobody before a person acts.

use crate::ids::{DroneName, DroneUid, NodeName, Term};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StoodDown {
    /// Its motors were stopped by a kill.
    Killed,
    /// Its battery had reached the reserve, or its autopilot's own threshold.
    LowBattery,
    CoordinatorLoss,
    /// A failsafe of its autopilot brought it down.
    AutopilotFailsafe,
    TakenOver,
    /// It landed, and no cause was observed.
    Landed,
}

impl StoodDown {
    /// In a clause whose subject is the vehicle.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Killed => "its motors were stopped by a kill",
            Self::LowBattery => "it landed because its battery was low",
            Self::CoordinatorLoss => "it landed because the coordinator was lost",
            Self::AutopilotFailsafe => "a failsafe of its autopilot landed it",
            Self::TakenOver => "somebody took over in flight and it landed",
            Self::Landed => "it landed without an order",
        }
    }
}

/// A stand-down as it is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported {
    /// Its number: each vehicle counts its own.
    pub number: u32,
    pub why: StoodDown,
    /// The Drone that it flew for.
    pub uid: DroneUid,
    pub name: DroneName,
}

/// A person's word that the vehicle of a node may fly again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StandUp {
    /// Leadership of the coordinator that sent it.
    pub term: Term,
    /// The number of the stand-down that it is about.
    pub number: u32,
}

/// What a person reads of a vehicle that stands down on `node`.
pub fn advice(node: &NodeName, why: StoodDown, name: &DroneName) -> String {
    let battery = if why == StoodDown::LowBattery {
        ", or once it has another battery"
    } else {
        ""
    };
    format!(
        "it flew for Drone {name}, {}, and it stays down until a person acts: check it, then `skein resume --vehicle {node}`{battery}",
        why.text()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_reads_what_happened_and_what_to_do() {
        let node = NodeName::parse("pine").unwrap();
        let name = DroneName {
            namespace: "field".into(),
            name: "goose".into(),
        };
        assert_eq!(
            advice(&node, StoodDown::TakenOver, &name),
            "it flew for Drone field/goose, somebody took over in flight and it landed, and it stays down until a person acts: check it, \
             then `skein resume --vehicle pine`"
        );
        assert!(advice(&node, StoodDown::LowBattery, &name).ends_with(", or once it has another battery"));
    }
}
