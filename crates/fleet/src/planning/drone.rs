//! One Drone as the coordinator sees it: what its agent is sent ([`order`]) and what people read ([`status`]).
//!
//! Owns: [`Facts`], what both depend on. Must not: choose nodes ([`crate::planning::binding`]) or decide on release
//! ([`crate::safety::may_release`]).

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

/// What is known of a Drone object and its claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// `metadata.uid`.
    pub uid: DroneUid,
    pub name: DroneName,
    /// `metadata.generation`.
    pub generation: i64,
    pub deleting: bool,
    /// Whether its deletion, if there is one, is that of its Swarm or its Mission, and no person's.
    pub recalled: bool,
    /// Whether the finalizer that waits for the landing is on it.
    pub guarded: bool,
    /// Which Drone holds the claim to the node it is bound to.
    pub claim: Claimed,
    /// To which height it takes off, or where it holds: that of its Mission's plan, or `spec.takeoffAltitudeMeters`.
    pub altitude: AltitudeAboveHome,
    /// The height that it is asked for, while its vehicle is kept at another, and why: the way there is not clear, or a Geofence forbids it.
    pub waits_for: Option<(AltitudeAboveHome, NoLift)>,
    /// `spec.failsafe`.
    pub failsafe: Failsafe,
    /// Whether it should be on the ground.
    pub ground: Ground,
    /// Whether its vehicle may take off, as far as its node and its Swarm go.
    pub lift: Lift,
    /// What its vehicle does, by the last report on the session that is open now.
    pub truth: Option<FlightTruth>,
    /// Whether its agent has observed it in the air since it was last to be on the ground, by the same report.
    pub flown: bool,
    /// Whether its flight has come to its end by itself: it stays down until a person grounds and releases it, or deletes it. An order to
    /// be on the ground makes its agent forget that, and one to wait does so with an agent of an older version.
    pub over: bool,
    /// `spec.resumeAfterTakeovers`.
    pub resume_after: u32,
    /// What has become of a ground order that its agent may keep.
    pub ground_mark: Option<GroundMark>,
    /// What its agent reported of the flight so far, as its status has it.
    pub reported_flight: ReportedFlight,
    /// Whether its agent, which holds it, reports less than that: it has started from a disk that is older.
    pub forgotten: bool,
    /// How it moves, if it has a station.
    pub movement: Option<Movement>,
    /// The rules that have to be in force on its vehicle before that is armed; `None`: none select it.
    pub rules: Option<RulesDigest>,
    /// The plan that its vehicle flies once it is up; `None`: it holds.
    pub plan: Option<PlanDigest>,
}

/// How a Drone with a station moves: along granted routes only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Movement {
    /// The route that it was granted last.
    pub route: Option<RouteOrder>,
    /// How it flies, and its heading on its station.
    pub manner: Manner,
    /// Whether it flies home before it lands; see [`order`](order::order).
    pub way_home: WayHome,
    /// Why it is not on its station; `None` when it is.
    pub off_station: Option<OffStation>,
    /// Which vehicle its own would meet, if all returned home at once, and what to do; `None`: it would meet none.
    pub shared_return: Option<String>,
    /// Through whose stations its autopilot would return by itself, in a sentence.
    pub crossed_station: Option<String>,
}

/// Which Drone holds the claim to a Drone's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Claimed {
    Ours,
    /// None, as far as is known.
    Free,
    Other,
}

/// Whether a ground order covers a Drone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ground {
    /// None does.
    No,
    /// One does: an order of its own, or spec.grounded of the Drone or its Swarm.
    Ordered,
    /// Its Swarm is not known here, so it is not known. What flies goes on; what is on the ground stays.
    Unknown,
}

impl Ground {
    /// From `spec.grounded` of the Drone and of its Swarm (`None` when it has a Swarm that is not known here), and whether an order
    /// covers it, recorded or just given.
    pub const fn of(drone: bool, swarm: Option<bool>, ordered: bool) -> Self {
        match (drone || ordered, swarm) {
            (true, _) | (_, Some(true)) => Self::Ordered,
            (false, Some(false)) => Self::No,
            (false, None) => Self::Unknown,
        }
    }
}
