//! A vehicle that stands down: a flight ended without an order of Skein's, and it is not armed before a person acts.

use crate::ids::{DroneName, DroneUid, NodeName, Term};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum StoodDown {
    Killed,
    /// Its battery had reached the reserve, or its autopilot's own threshold.
    LowBattery,
    CoordinatorLoss,
    AutopilotFailsafe,
    TakenOver,
    /// No cause was observed.
    Landed,
}

impl StoodDown {
    /// A clause whose subject is the vehicle.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Killed => "its motors were stopped by a kill",
            Self::LowBattery => "it landed because its battery was low",
            Self::CoordinatorLoss => "it landed because the coordinator was lost",
            Self::AutopilotFailsafe => "a failsafe of its autopilot landed it",
            Self::TakenOver => "somebody took over or stopped its motors",
            Self::Landed => "it landed without an order",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported {
    /// Counted by each vehicle.
    pub number: u32,
    pub why: StoodDown,
    pub uid: DroneUid,
    pub name: DroneName,
}

/// A person's permission that the vehicle of a node may fly again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StandUp {
    pub term: Term,
    /// The stand-down that it ends.
    pub number: u32,
}

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
            "it flew for Drone field/goose, somebody took over or stopped its motors, and it stays down until a person acts: check it, \
             then `skein resume --vehicle pine`"
        );
        assert!(advice(&node, StoodDown::LowBattery, &name).ends_with(", or once it has another battery"));
    }
}
