//! Agents' reports of a Drone's flight, as the Drone's status keeps them.

use crds::DroneStatus;
use model::report::Report;
use model::reported_flight::{ReportedFlight, SoFar};
use model::vehicle::HardwareUid;

const FLOWN: &str = "Flown";
const OVER: &str = "Over";
const KILLED: &str = "Killed";

pub const fn so_far(reported: SoFar) -> Option<&'static str> {
    match reported {
        SoFar::Fresh => None,
        SoFar::Flown => Some(FLOWN),
        SoFar::Over => Some(OVER),
        SoFar::Killed => Some(KILLED),
    }
}

pub fn reported_flight(status: &DroneStatus) -> ReportedFlight {
    ReportedFlight {
        takeovers: status
            .takeovers
            .and_then(|count| u32::try_from(count).ok())
            .unwrap_or(0),
        so_far: match status.flight.as_deref() {
            Some(FLOWN) => SoFar::Flown,
            Some(OVER) => SoFar::Over,
            Some(KILLED) => SoFar::Killed,
            Some(_) | None => SoFar::Fresh,
        },
        hardware: status
            .vehicle
            .as_ref()
            .and_then(|vehicle| HardwareUid::parse(vehicle.hardware_uid.as_deref()?)),
    }
}

/// The flight after `holder`, the report of the agent that serves the Drone. Takeovers are never fewer and a kill is never undone: an agent
/// that reports less has started from an older disk, and is sent what is kept.
pub fn later(before: ReportedFlight, holder: Option<&Report>) -> ReportedFlight {
    let Some(report) = holder else { return before };
    ReportedFlight {
        takeovers: before.takeovers.max(report.takeovers),
        so_far: match before.so_far {
            SoFar::Killed => SoFar::Killed,
            SoFar::Fresh | SoFar::Flown | SoFar::Over => report.so_far,
        },
        ..before
    }
}
