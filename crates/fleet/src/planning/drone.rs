//! One Drone for the coordinator: its agent's [`order`] and its [`status`] for people.
//!
//! Owns: [`Facts`], the input of both, made by [`assess`]. Must not: choose nodes ([`crate::planning::binding`]) or decide on release
//! ([`crate::safety::may_release`]).

pub mod assess;
pub mod desire;
pub mod height;
pub mod on_mission;
pub mod order;
pub mod status;
pub mod way_home;

use crate::planning::node_use::{Lift, NoLift};
use crate::planning::site::OffStation;
use model::assignment::Failsafe;
use model::ground::GroundMark;
use model::ids::{DroneName, DroneUid};
use model::plan::PlanDigest;
use model::reported_flight::ReportedFlight;
use model::route_order::RouteOrder;
use model::rules::RulesDigest;
use model::station::Manner;
use model::units::AltitudeAboveHome;
use model::vehicle::FlightTruth;
use way_home::WayHome;

#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    pub uid: DroneUid,
    pub name: DroneName,
    pub generation: i64,
    pub deleting: bool,
    /// Whether its deletion is by its Swarm or its Mission, and no person.
    pub recalled: bool,
    /// Whether the finalizer that waits for the landing is on it.
    pub guarded: bool,
    pub claim: Claimed,
    /// Altitude of its takeoff or hold: that of its Mission's plan, or `spec.takeoffAltitudeMeters`.
    pub altitude: AltitudeAboveHome,
    /// The desired altitude while its vehicle is kept at another: the way there is not clear, or a Geofence forbids it.
    pub waits_for: Option<(AltitudeAboveHome, NoLift)>,
    /// `spec.failsafe`.
    pub failsafe: Failsafe,
    pub ground: Ground,
    /// As far as its node and its Swarm go.
    pub lift: Lift,
    /// By the last report on the session that is open now.
    pub truth: Option<FlightTruth>,
    /// Observed in the air by its agent since it was last to be on the ground, by the same report.
    pub flown: bool,
    /// Whether its flight ended by itself: it stays down until a person grounds and releases it, or deletes it. A ground order makes its
    /// agent forget that, and an order to wait does so with agents of older versions.
    pub over: bool,
    /// `spec.resumeAfterTakeovers`.
    pub resume_after: u32,
    /// State of a ground order that its agent may keep.
    pub ground_mark: Option<GroundMark>,
    /// As its status has it.
    pub reported_flight: ReportedFlight,
    /// Whether its agent, which holds it, reports less than that: its disk is older.
    pub forgotten: bool,
    pub movement: Option<Movement>,
    /// To be in force before arming; `None`: none select its vehicle.
    pub rules: Option<RulesDigest>,
    /// `None`: it holds.
    pub plan: Option<PlanDigest>,
}

/// Of a Drone with a station, along granted routes only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Movement {
    pub route: Option<RouteOrder>,
    pub manner: Manner,
    pub way_home: WayHome,
    /// Why it is not on its station; `None` when it is.
    pub off_station: Option<OffStation>,
    /// Which vehicle its own would meet if all returned home at once, and what to do; `None`: none.
    pub shared_return: Option<String>,
    /// Through whose stations its autopilot would return by itself, as a sentence.
    pub crossed_station: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Claimed {
    Ours,
    Free,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ground {
    No,
    /// An order of its own, or spec.grounded of the Drone or its Swarm.
    Ordered,
    /// Its Swarm is not known here. What flies goes on; what is on the ground stays.
    Unknown,
}

impl Ground {
    /// From `spec.grounded` of the Drone and of its Swarm (`None`: its Swarm is not known here), and whether an order covers it, recorded
    /// or just given.
    pub const fn of(drone: bool, swarm: Option<bool>, ordered: bool) -> Self {
        match (drone || ordered, swarm) {
            (true, _) | (_, Some(true)) => Self::Ordered,
            (false, Some(false)) => Self::No,
            (false, None) => Self::Unknown,
        }
    }
}
