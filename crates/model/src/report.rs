//! What an agent reports up: what its vehicle does, by the vehicle's own account, and what the agent makes of it.

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
use crate::plan::{PlanDigest, PlanReport, PlanState, Reached};
use crate::remote_id::{RemoteIdReport, Sending, Transmitter};
use crate::reported_flight::SoFar;
use crate::route_order::{OrderNumber, RouteOrder, Waypoint};
use crate::rules::{FenceState, RulesReport};
use crate::stand_down;
use crate::station::{Off, Station};
use crate::time::Moment;
use crate::traffic::Aircraft;
use crate::units::{AltitudeAboveHome, AltitudeAmsl, Heading};
use crate::vehicle::{ArmingReason, Battery, FlightTruth, Identity, Position};
use crate::whereabouts::Astray;

/// One report of an agent: a full picture, not a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The node that the agent serves.
    pub node: NodeName,
    /// When the report was made, on the agent's own clock; the moments in `reasons` are on the same one.
    pub made: Moment,
    /// Whether the autopilot is being heard.
    pub link_alive: bool,
    /// Why the link to the autopilot is not open, in words, while it is not.
    pub link_fault: Option<String>,
    /// The vehicle's identity, once received.
    pub identity: Option<Identity>,
    /// What the vehicle's autopilot reports of the aircraft itself.
    pub inventory: Inventory,
    pub truth: FlightTruth,
    /// The autopilot's own name of the flight mode; `None` when not heard lately.
    pub mode: Option<String>,
    /// Whether arming checks pass; `None` when not heard lately.
    pub ready: Option<bool>,
    /// Why the autopilot does not arm, in its own words.
    pub reasons: Vec<ArmingReason>,
    /// Battery; `None` until heard.
    pub battery: Option<Battery>,
    /// Its charge was near the Drone's reserve in this flight: it is time to come home along a route.
    pub near_reserve: bool,
    /// Batteries that do not drive the motors and do not count for `battery`, by their ids; at most eight.
    pub other_batteries: Vec<OtherBattery>,
    /// When `battery` was received, on the clock of `made`; `None` when not known.
    pub battery_at: Option<Moment>,
    /// Position; `None` until heard.
    pub position: Option<Position>,
    /// When `position` was received, on the clock of `made`; `None` when not known.
    pub position_at: Option<Moment>,
    /// How well the vehicle knows where it is, by accounts of the last seconds.
    pub accuracy: Accuracy,
    /// Where its nose points, received with `position`; `None` when its autopilot does not know.
    pub heading: Option<Heading>,
    /// The assignment that the agent acts on.
    pub held: Option<Held>,
    /// What the agent is busy with.
    pub activity: Activity,
    /// Whether the agent is ending (SIGTERM): it takes no new flight.
    pub terminating: bool,
    /// How often somebody else has taken over in flight under the held assignment; see [`crate::takeover`].
    pub takeovers: u32,
    /// How far the flight under the held assignment has come; see `fleet::flight_record`.
    pub so_far: SoFar,
    /// A ground order that the agent keeps although it was not notified that the order is recorded; see [`crate::ground`].
    pub ground_latch: Option<GroundOrderId>,
    /// What preflight found to be wrong with the autopilot's own failsafes, each with what to do.
    pub warnings: Vec<String>,
    /// How well the agent receives from its autopilot; `None` when not reported.
    pub link: Option<LinkQuality>,
    /// Why the flight is not, or no longer, what was ordered; see [`crate::failsafe`].
    pub diversion: Option<Diversion>,
    /// What the vehicle does instead of holding; see [`crate::whereabouts`].
    pub astray: Option<Astray>,
    /// A way down that was commanded and that the vehicle does not take.
    pub owed: Option<Owed>,
    /// Somebody else flew the vehicle while it served no Drone, and the quiet time since is not over: it is not offered yet.
    pub others_flew: bool,
    /// A flight of the vehicle ended without an order, and no person has acted since: it is offered to no Drone.
    pub stand_down: Option<stand_down::Reported>,
    /// What it makes of the route that it was ordered to fly.
    pub route: RouteState,
    /// Its home position, once received; in the air its altitude is that of before the flight.
    pub home: Option<Waypoint>,
    /// How far somebody moved home in flight, from where it was on the ground; `None` while nobody did.
    pub home_shift: Option<HomeShift>,
    /// The height to which its autopilot climbs to return (ArduCopter: `RTL_ALT`, PX4: `RTL_RETURN_ALT`); `None` until it was read.
    pub return_height: Option<AltitudeAboveHome>,
    /// Aircraft of others that its vehicle receives, the nearest first.
    pub traffic: Vec<Aircraft>,
    /// What is in force of the rules that it holds.
    pub rules: RulesReport,
    /// How far it is with the plan that it holds.
    pub plan: PlanReport,
    /// Whether it sends the operator to its autopilot, and what the transmitter reports.
    pub remote_id: RemoteIdReport,
    /// How far its logs are on their way to an object store; `None` where none is named.
    pub uploads: Option<Uploads>,
}

/// What an agent makes of its routes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouteState {
    /// The highest number that it ever took.
    pub last: OrderNumber,
    /// The route that it flies or has flown to where it holds; `None` once its vehicle has left it.
    pub order: Option<RouteOrder>,
    /// The place of it that comes next, their number when it has arrived; `None` when the vehicle is not on it.
    pub next: Option<usize>,
    /// Orders to fly to that place that do not move it.
    pub stalled: Option<Stalled>,
    /// What has become of it since it was lent to a program in this flight; `None`: it was not, or that is over.
    pub lent: Option<Lent>,
}

/// What came over the link to the autopilot and what did not, since the agent started. All only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkQuality {
    pub frames: u64,
    /// Frames that did not, by the gaps in their senders' sequence numbers.
    pub lost: u64,
    pub damaged: u64,
}

impl Report {
    /// The report of an agent that has heard nothing yet.
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
            },
            remote_id: RemoteIdReport {
                held: None,
                sending: Sending::Nothing,
                transmitter: Transmitter::Unheard,
            },
            uploads: None,
        }
    }

    /// Whether the flight under the held assignment came to its end by itself, and the vehicle stays down. What the agent is busy
    /// with may lag behind that by a command on its way.
    pub fn flight_is_over(&self) -> bool {
        self.so_far == SoFar::Over || self.activity == Activity::HandsOff(HandsOff::FlightOver)
    }

    /// How far the vehicle is off `station`; `None` while it does not say where it is. Above home counts from `home`, as its route did: PX4 moves
    /// its own up and down by more than a meter in flight.
    pub fn off(&self, station: &Station, home: Option<AltitudeAmsl>) -> Option<Off> {
        let position = self.position?;
        let above = home.map(|home| AltitudeAboveHome(position.amsl.0 - home.0));
        Some(station.off(position.at, position.amsl, above.unwrap_or(position.above_home)))
    }

    /// Whether a new Drone may be bound to this vehicle as far as the vehicle goes: heard, landed and disarmed, and
    /// its agent is not ending, nobody else has just flown it, and no person has to act first.
    pub fn vehicle_free(&self) -> bool {
        let offered = !self.terminating && !self.others_flew && self.stand_down.is_none();
        self.link_alive && self.truth == FlightTruth::Disarmed && offered
    }

    /// Whether what it says of its plan is about the one with this digest and of this Drone. A Drone before may have flown an equal one, and
    /// until its agent takes the new assignment it speaks of that (invariant 13).
    pub fn has_plan(&self, of: &DroneUid, digest: &PlanDigest) -> bool {
        self.held.as_ref().is_some_and(|held| held.uid == *of) && self.plan.held.as_ref() == Some(digest)
    }
}
