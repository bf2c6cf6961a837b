//! What an agent reports up: what its vehicle does, by the vehicle's own account, and what the agent makes of it.
//!
//! Owns: [`Report`]. Must not: carry intent as fact; [`Activity`] is what the agent is busy with, [`FlightTruth`] is
//! what the vehicle does.

use crate::assignment::Held;
use crate::ids::NodeName;
use crate::vehicle::{ArmingReason, Battery, FlightTruth, Identity, Position};

/// What an agent is busy with. Says nothing about flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// No assignment, or the assignment is fulfilled on the ground.
    Idle,
    /// Nothing is known about the vehicle, so nothing is sent to it.
    Waiting,
    /// The autopilot's arming checks do not pass yet, or it refused to arm; tried again with a capped back-off.
    NotArmable,
    /// Setting the mode, arming.
    Arming,
    /// Takeoff commanded, climbing.
    TakingOff,
    /// In the air as wished.
    Holding,
    /// Landing commanded or under way.
    Landing,
    /// The coordinator is lost and the Drone's failsafe is being flown.
    Failsafe,
    /// Somebody else is in command; the agent sends nothing.
    HandsOff(HandsOff),
}

/// Why the agent has let go of its vehicle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HandsOff {
    /// In the air in a mode that we did not ask for: a pilot, a ground station or a failsafe has taken over.
    OtherMode,
    /// Somebody else armed it.
    ArmedByOther,
    /// It flew for this Drone and came down without our asking; it does not take off again by itself.
    FlightOver,
}

/// One report of an agent: a full picture, not a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The node that the agent serves.
    pub node: NodeName,
    /// Whether the autopilot is being heard.
    pub link_alive: bool,
    /// Who the vehicle is, once heard.
    pub identity: Option<Identity>,
    /// Is it flying?
    pub truth: FlightTruth,
    /// The autopilot's own name of the flight mode; `None` when not heard lately.
    pub mode: Option<String>,
    /// Whether arming checks pass; `None` when not heard lately.
    pub ready: Option<bool>,
    /// Why the autopilot does not arm, in its own words.
    pub reasons: Vec<ArmingReason>,
    /// Battery; `None` until heard.
    pub battery: Option<Battery>,
    /// Position; `None` until heard.
    pub position: Option<Position>,
    /// The assignment that the agent acts on.
    pub held: Option<Held>,
    /// What the agent is busy with.
    pub activity: Activity,
    /// Whether the agent is ending (SIGTERM): it takes no new flight.
    pub terminating: bool,
}

impl Report {
    /// Whether a new Drone may be bound to this vehicle as far as the vehicle goes: heard, landed and disarmed, and
    /// its agent is not ending.
    #[must_use]
    pub fn vehicle_free(&self) -> bool {
        self.link_alive && self.truth == FlightTruth::Disarmed && !self.terminating
    }
}
