//! What an agent reports: what its vehicle does by its own account, and what the agent concludes.

use crate::accuracy::Accuracy;
pub use crate::activity::{Activity, HandsOff};
use crate::answer::{Owed, Stalled};
use crate::assignment::Held;
use crate::failsafe::Diversion;
use crate::ground::GroundOrderId;
use crate::home_shift::HomeShift;
use crate::ids::{DroneUid, NodeName, Term};
use crate::inventory::{BatteryWear, Inventory};
use crate::lent::Lent;
use crate::logs::upload::Uploads;
use crate::monitored_battery::OtherBattery;
use crate::plan::{PassedBeside, PlanDigest, PlanReport, PlanState, Reached};
use crate::remote_id::{RemoteIdReport, Sending, Transmitter};
use crate::reported_flight::SoFar;
use crate::route_order::{OrderNumber, RouteOrder, Waypoint};
use crate::rules::{FenceState, RulesReport};
use crate::stand_down;
use crate::station::{Off, Station};
use crate::time::Moment;
use crate::traffic::Aircraft;
use crate::units::{AltitudeAboveHome, AltitudeAmsl, Heading, Meters};
use crate::vehicle::{ArmingReason, Battery, FlightTruth, Identity, Position};
use crate::whereabouts::Astray;

/// A full picture, not a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub node: NodeName,
    /// On the agent's own clock, as the moments in `reasons`.
    pub made: Moment,
    pub link_alive: bool,
    /// Why the link to the autopilot is not open, or what is heard on it instead of the autopilot.
    pub link_fault: Option<String>,
    pub identity: Option<Identity>,
    pub inventory: Inventory,
    pub truth: FlightTruth,
    /// The autopilot's own name of it; `None` when not heard lately.
    pub mode: Option<String>,
    /// Whether arming checks pass; `None` when not heard lately.
    pub ready: Option<bool>,
    /// Why the autopilot does not arm.
    pub reasons: Vec<ArmingReason>,
    pub battery: Option<Battery>,
    /// Its charge was near the Drone's reserve in this flight: it should come home along a route now.
    pub near_reserve: bool,
    /// Batteries that do not drive the motors and do not count for `battery`, by id; at most eight.
    pub other_batteries: Vec<OtherBattery>,
    /// On the clock of `made`.
    pub battery_at: Option<Moment>,
    pub position: Option<Position>,
    /// On the clock of `made`.
    pub position_at: Option<Moment>,
    /// From reports of the last seconds.
    pub accuracy: Accuracy,
    /// Received with `position`; `None` when its autopilot does not know.
    pub heading: Option<Heading>,
    /// The assignment that the agent acts on.
    pub held: Option<Held>,
    pub activity: Activity,
    /// The agent shuts down (SIGTERM): it takes no new flight.
    pub terminating: bool,
    /// Under the held assignment; see [`crate::takeover`].
    pub takeovers: u32,
    /// Under the held assignment; see `fleet::flight_record`.
    pub so_far: SoFar,
    /// A ground order that is not known to be recorded; see [`crate::ground`].
    pub ground_latch: Option<GroundOrderId>,
    /// Faults of the autopilot's own failsafes, each with what to do.
    pub warnings: Vec<String>,
    /// Reception from the autopilot.
    pub link: Option<LinkQuality>,
    /// Why the flight is not what was ordered; see [`crate::failsafe`].
    pub diversion: Option<Diversion>,
    /// What the vehicle does instead of holding; see [`crate::whereabouts`].
    pub astray: Option<Astray>,
    /// A commanded descent that the vehicle does not take.
    pub owed: Option<Owed>,
    /// Somebody else flew the vehicle while it served no Drone, and the quiet time since is not over: not offered yet.
    pub others_flew: bool,
    /// A flight ended without an order, and no person has acted since: offered to no Drone.
    pub stand_down: Option<stand_down::Reported>,
    pub route: RouteState,
    /// In the air its altitude is that of before the flight.
    pub home: Option<Waypoint>,
    /// How far home was moved in flight, from where it was on the ground; `None`: not moved.
    pub home_shift: Option<HomeShift>,
    /// Altitude of a return (ArduCopter: `RTL_ALT`, PX4: `RTL_RETURN_ALT`); `None` until read.
    pub return_height: Option<AltitudeAboveHome>,
    /// How far before a place of its plan it turns (ArduCopter: `WP_RADIUS_M`); `None` until read, when it may be any, and of PX4, which
    /// each place tells.
    pub waypoint_radius: Option<Meters>,
    /// Whether its failsafes or its return may lead elsewhere than straight home; `None` until read, when they may.
    pub detours: Option<bool>,
    /// Nearest first.
    pub traffic: Vec<Aircraft>,
    pub rules: RulesReport,
    pub plan: PlanReport,
    pub remote_id: RemoteIdReport,
    /// `None` where no object store is named.
    pub uploads: Option<Uploads>,
}

/// Progress on the agent's routes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouteState {
    /// The highest number ever taken.
    pub last: OrderNumber,
    /// The route that it flies or has flown to where it holds; `None` once its vehicle has left it.
    pub order: Option<RouteOrder>,
    /// Index of the next place, the number of places on arrival; `None` when the vehicle is not on the route.
    pub next: Option<usize>,
    /// Orders to fly to that place without effect.
    pub stalled: Option<Stalled>,
    /// State of the loan to a program in this flight; `None`: not lent, or that is over.
    pub lent: Option<Lent>,
}

/// Counted since the agent started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkQuality {
    pub frames: u64,
    /// By the gaps in their senders' sequence numbers.
    pub lost: u64,
    pub damaged: u64,
}

impl Report {
    pub const fn of_nothing(node: NodeName) -> Self {
        Self {
            node,
            made: Moment::at(std::time::Duration::ZERO),
            link_alive: false,
            link_fault: None,
            identity: None,
            inventory: Inventory {
                board: None,
                wear: BatteryWear {
                    cycles: None,
                    health: None,
                },
            },
            truth: FlightTruth::Unknown(crate::vehicle::WhyUnknown::NeverHeard),
            mode: None,
            ready: None,
            reasons: Vec::new(),
            battery: None,
            near_reserve: false,
            other_batteries: Vec::new(),
            battery_at: None,
            position: None,
            position_at: None,
            accuracy: Accuracy {
                horizontal: None,
                vertical: None,
            },
            heading: None,
            held: None,
            activity: Activity::Idle,
            terminating: false,
            takeovers: 0,
            so_far: SoFar::Fresh,
            ground_latch: None,
            warnings: Vec::new(),
            link: None,
            diversion: None,
            astray: None,
            owed: None,
            others_flew: false,
            stand_down: None,
            route: RouteState {
                last: OrderNumber {
                    term: Term(0),
                    count: 0,
                },
                order: None,
                next: None,
                stalled: None,
                lent: None,
            },
            home: None,
            home_shift: None,
            return_height: None,
            waypoint_radius: None,
            detours: None,
            traffic: Vec::new(),
            rules: RulesReport {
                held: None,
                fence: FenceState::None,
                parameters_in_force: 0,
                deviations: Vec::new(),
                in_force: false,
            },
            plan: PlanReport {
                held: None,
                state: PlanState::Idle,
                flying: false,
                current: None,
                reached: Reached::none(),
                ended: false,
                finished: false,
                passed_beside: PassedBeside {
                    places: 0,
                    farthest: Meters(0.0),
                },
            },
            remote_id: RemoteIdReport {
                held: None,
                sending: Sending::Nothing,
                transmitter: Transmitter::Unheard,
            },
            uploads: None,
        }
    }

    /// Whether the flight ended by itself, and the vehicle stays down. `activity` may lag by a command on its way.
    pub fn flight_is_over(&self) -> bool {
        self.so_far == SoFar::Over || self.activity == Activity::HandsOff(HandsOff::FlightOver)
    }

    /// `None` while the vehicle does not report its position. Above home counts from `home`, as its route did: PX4 moves its own by more
    /// than a meter in flight.
    pub fn off(&self, station: &Station, home: Option<AltitudeAmsl>) -> Option<Off> {
        let position = self.position?;
        let above = home.map(|home| AltitudeAboveHome(position.amsl.0 - home.0));
        Some(station.off(position.at, position.amsl, above.unwrap_or(position.above_home)))
    }

    /// Whether a new Drone may be bound as far as the vehicle goes: heard, landed and disarmed, its agent does not end, nobody else has
    /// just flown it, and no person has to act first.
    pub fn vehicle_free(&self) -> bool {
        let offered = !self.terminating && !self.others_flew && self.stand_down.is_none();
        self.link_alive && self.truth == FlightTruth::Disarmed && offered
    }

    /// Whether its plan report is about this plan of this Drone. A Drone before may have flown an equal plan, which is reported until the
    /// agent takes the new assignment (invariant 13).
    pub fn has_plan(&self, of: &DroneUid, digest: &PlanDigest) -> bool {
        self.held.as_ref().is_some_and(|held| held.uid == *of) && self.plan.held.as_ref() == Some(digest)
    }
}
