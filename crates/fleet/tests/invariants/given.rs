//! Parts of the combinations.

use model::assignment::{Assignment, Desired, Failsafe, GroundedWhy};
use model::ids::{DroneName, DroneUid, Term};
use model::time::{Moment, Sighting};
use model::units::AltitudeAboveHome;
use model::vehicle::{Heartbeat, LandedState, Mode, ModeReport, Vehicle};
use std::time::Duration;

pub const NOW: u64 = 100_000;

pub const FLYING: Desired = Desired::Flying {
    altitude: AltitudeAboveHome(10.0),
};
pub const GROUNDED: Desired = Desired::Grounded {
    why: GroundedWhy::Deleted,
};
pub const ORDERED: Desired = Desired::Grounded {
    why: GroundedWhy::Ordered,
};

pub fn at(ms: u64) -> Moment {
    Moment::at(Duration::from_millis(ms))
}

pub fn uid(name: &str) -> DroneUid {
    DroneUid(name.into())
}

pub fn assigned(name: &str, term: u64, desired: Desired) -> Assignment {
    Assignment {
        term: Term(term),
        uid: uid(name),
        name: DroneName {
            namespace: "field".into(),
            name: name.into(),
        },
        generation: 1,
        desired,
        failsafe: Failsafe::default(),
        resume_after: 0,
        ground_mark: None,
        reported_flight: model::reported_flight::ReportedFlight::default(),
        routed: false,
        manner: model::station::Manner::default(),
        recalled: false,
        void: model::route_order::OrderNumber::default(),
        rules: None,
        plan: None,
        route: None,
    }
}

/// `age`: milliseconds.
pub fn heard<T>(value: T, age: u64) -> Sighting<T> {
    Sighting::new(value, at(NOW - age))
}

/// It has reported only a heartbeat and landed_state, `age` milliseconds ago.
pub fn vehicle(armed: bool, mode: Mode, landed: Option<LandedState>, age: u64) -> Vehicle {
    let mode = ModeReport {
        mode,
        label: String::new(),
    };
    Vehicle {
        heartbeat: Some(heard(Heartbeat { armed, mode }, age)),
        landed: Some(heard(landed, age)),
        ..Vehicle::default()
    }
}
