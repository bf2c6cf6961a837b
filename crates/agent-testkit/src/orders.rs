//! The coordinator's orders about this node's Drone.

use model::assignment::{Assignment, Desired, Failsafe};
use model::ids::{DroneName, DroneUid, Term};
use model::reported_flight::ReportedFlight;
use model::route_order::OrderNumber;
use model::station::Manner;

pub fn assignment(generation: i64, desired: Desired) -> Assignment {
    Assignment {
        term: Term(3),
        uid: DroneUid("u-1".into()),
        name: DroneName {
            namespace: "field".into(),
            name: "alpha-brave-finch".into(),
        },
        generation,
        desired,
        failsafe: Failsafe::default(),
        resume_after: 0,
        ground_mark: None,
        reported_flight: ReportedFlight::default(),
        routed: false,
        manner: Manner::default(),
        recalled: false,
        void: OrderNumber::default(),
        route: None,
        rules: None,
        plan: None,
    }
}
