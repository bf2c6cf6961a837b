//! A Drone's status for people: phase, flight, and conditions with reasons and messages.
//!
//! Owns: [`status`]. Tools that wait for objects use Ready and Stalled. Must not: show intent as fact: `flying` comes from the vehicle's
//! own report only, and is unknown without a fresh one. No cache, clock or Kubernetes type in here.

mod deviations;
mod ready;
mod reason;
mod stalled;

pub use ready::ON_ITS_WAY;
pub use reason::{ReadyReason, Situation};

use crate::planning::drone::Facts;
use crate::planning::drone::height::Height;
use crate::safety::NoRelease;
use model::ids::NodeName;
use model::report::Report;
use model::vehicle::{FlightTruth, WhyUnknown};
use ready::phase_and_ready;

/// `status.phase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    Pending,
    Preparing,
    Arming,
    TakingOff,
    Flying,
    Landing,
    Grounded,
    /// Somebody else is in command, or the flight ended without our order.
    Interrupted,
    Unknown,
}

impl Phase {
    pub const fn text(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Preparing => "Preparing",
            Self::Arming => "Arming",
            Self::TakingOff => "TakingOff",
            Self::Flying => "Flying",
            Self::Landing => "Landing",
            Self::Grounded => "Grounded",
            Self::Interrupted => "Interrupted",
            Self::Unknown => "Unknown",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Assigned,
    /// Its agent is connected and receives from its autopilot.
    Connected,
    Armable,
    /// By its autopilot.
    Flying,
    Ready,
    /// It does not fly as asked before a person does something. Present only while true, as `kstatus` defines it.
    Stalled,
}

impl Kind {
    /// The condition's `type`.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Assigned => "Assigned",
            Self::Connected => "Connected",
            Self::Armable => "Armable",
            Self::Flying => "Flying",
            Self::Ready => "Ready",
            Self::Stalled => "Stalled",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub kind: Kind,
    /// `None`: Unknown.
    pub value: Option<bool>,
    pub reason: &'static str,
    /// A sentence that says what is the case and, where a person can help, what to do.
    pub message: String,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Binding {
    NotYet,
    Bound(NodeName),
    /// The text says why.
    NoFreeVehicle(String),
    /// By the API server; the text says why.
    Refused(String),
    NodeTaken {
        node: String,
        by: String,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub drone: &'a Facts,
    pub binding: &'a Binding,
    /// While that agent is connected.
    pub report: Option<&'a Report>,
    pub no_release: Option<NoRelease>,
    pub height: Height,
}

/// Without what is copied from the report (vehicle, mode, battery, position).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub phase: Phase,
    /// `None`: unknown.
    pub flying: Option<bool>,
    /// In this order: Assigned, Connected, Armable, Flying, Ready, always present, then perhaps Stalled.
    pub conditions: Vec<Condition>,
}

pub fn status(q: &Question<'_>) -> Status {
    let (mut status, reason) = without_stalled(q);
    status.conditions.extend(stalled::stalled(q, &status, reason));
    status
}

fn without_stalled(q: &Question<'_>) -> (Status, ReadyReason) {
    let Binding::Bound(node) = q.binding else {
        return unbound(q.binding);
    };
    let assigned = condition(
        Kind::Assigned,
        Some(true),
        "Bound",
        format!("bound to the vehicle of node {node}"),
    );
    let Some(report) = q.report else {
        return silent(q, node, assigned);
    };
    let (phase, reason, mut message) = phase_and_ready(q, report);
    let flying = report.truth.flying();
    let as_asked = matches!(reason, ReadyReason::Holding | ReadyReason::ExternalControl);
    let ready = phase == Phase::Flying && as_asked;
    if let Some(no_release) = q.no_release {
        message = match report.truth {
            FlightTruth::Unknown(_) => no_release_message(q.drone, no_release),
            // It lands, or somebody flies it: forcing the release of a vehicle in the air is no way out.
            _ => format!("being deleted, and gone once its vehicle is landed and disarmed: {message}"),
        };
    }
    let ready = condition(
        Kind::Ready,
        Some(ready && q.no_release.is_none()),
        reason.text(),
        message,
    );
    let status = Status {
        phase,
        flying,
        conditions: vec![
            assigned,
            connected(report),
            armable(report),
            condition(
                Kind::Flying,
                flying,
                truth_reason(report.truth),
                truth_message(report.truth).into(),
            ),
            ready,
        ],
    };
    (status, reason)
}

fn condition(kind: Kind, value: Option<bool>, reason: &'static str, message: String) -> Condition {
    Condition {
        kind,
        value,
        reason,
        message,
    }
}

fn unbound(binding: &Binding) -> (Status, ReadyReason) {
    let (reason, message) = match binding {
        Binding::NotYet | Binding::Bound(_) => (ReadyReason::Binding, "a vehicle is being chosen".to_owned()),
        Binding::NoFreeVehicle(why) => (ReadyReason::NoFreeVehicle, why.clone()),
        Binding::Refused(why) => (ReadyReason::Refused, why.clone()),
        Binding::NodeTaken { node, by } => (
            ReadyReason::NodeTaken,
            format!("node {node} serves Drone {by}; delete this Drone, or that one"),
        ),
    };
    let none = "it has no vehicle yet".to_owned();
    let status = Status {
        phase: Phase::Pending,
        flying: Some(false),
        conditions: vec![
            condition(Kind::Assigned, Some(false), reason.text(), message.clone()),
            condition(Kind::Connected, None, "NotAssigned", none.clone()),
            condition(Kind::Armable, None, "NotAssigned", none.clone()),
            condition(Kind::Flying, Some(false), "NotAssigned", none),
            condition(Kind::Ready, Some(false), reason.text(), message),
        ],
    };
    (status, reason)
}

fn silent(q: &Question<'_>, node: &NodeName, assigned: Condition) -> (Status, ReadyReason) {
    let reason = ReadyReason::AgentSilent;
    let unknown = "nothing is known of the vehicle, because its agent is silent".to_owned();
    let message = match q.no_release {
        Some(no_release) => no_release_message(q.drone, no_release),
        None => format!(
            "the agent on node {node} is not connected; check that it runs, in its own log too, and that it reaches the coordinator"
        ),
    };
    let status = Status {
        phase: Phase::Unknown,
        flying: None,
        conditions: vec![
            assigned,
            condition(Kind::Connected, Some(false), reason.text(), message.clone()),
            condition(Kind::Armable, None, reason.text(), unknown.clone()),
            condition(Kind::Flying, None, reason.text(), unknown),
            condition(Kind::Ready, Some(false), reason.text(), message),
        ],
    };
    (status, reason)
}

fn no_release_message(drone: &Facts, no_release: NoRelease) -> String {
    let name = &drone.name;
    format!(
        "being deleted, but it stays: {no_release}. If you are certain that the vehicle is down: kubectl annotate -n {} drone/{} skein.dev/force-release={}",
        name.namespace, name.name, drone.uid
    )
}

fn connected(report: &Report) -> Condition {
    if report.link_alive {
        condition(
            Kind::Connected,
            Some(true),
            "Connected",
            "its agent is connected and receives from its autopilot".into(),
        )
    } else {
        let mut message =
            "the agent is connected but receives nothing from its autopilot; check cable, port, baud rate and power"
                .to_owned();
        if let Some(fault) = &report.link_fault {
            message = format!("the agent is connected but receives nothing from its autopilot; on its link: {fault}");
        }
        condition(
            Kind::Connected,
            Some(false),
            ReadyReason::AutopilotSilent.text(),
            message,
        )
    }
}

/// By its autopilot's own account.
pub fn armable(report: &Report) -> Condition {
    let armed = matches!(report.truth, FlightTruth::ArmedOnGround | FlightTruth::Airborne(_));
    match (armed, report.ready) {
        (true, _) => condition(Kind::Armable, Some(true), "Armed", "it is armed".into()),
        (false, Some(true)) => condition(Kind::Armable, Some(true), "ChecksPass", "arming checks pass".into()),
        (false, Some(false)) => {
            let words: Vec<&str> = report.reasons.iter().map(|r| r.text.as_str()).collect();
            let message = if words.is_empty() {
                "arming checks do not pass; the autopilot has not said why yet".to_owned()
            } else {
                words.join("; ")
            };
            condition(
                Kind::Armable,
                Some(false),
                ReadyReason::ArmingChecksFail.text(),
                message,
            )
        }
        (false, None) => condition(
            Kind::Armable,
            None,
            "NotHeard",
            "the autopilot has not reported its arming checks lately".into(),
        ),
    }
}

const fn truth_reason(truth: FlightTruth) -> &'static str {
    match truth {
        FlightTruth::Unknown(why) => unknown_reason(why).text(),
        FlightTruth::Disarmed => "Disarmed",
        FlightTruth::ArmedOnGround => "ArmedOnGround",
        FlightTruth::Airborne(_) => ReadyReason::InTheAir.text(),
    }
}

const fn unknown_reason(why: WhyUnknown) -> ReadyReason {
    match why {
        WhyUnknown::NeverHeard | WhyUnknown::LinkLost => ReadyReason::AutopilotSilent,
        WhyUnknown::LandedStateUnknown => ReadyReason::LandedStateUnknown,
        WhyUnknown::Contradiction => ReadyReason::Contradiction,
    }
}

const fn truth_message(truth: FlightTruth) -> &'static str {
    match truth {
        FlightTruth::Unknown(WhyUnknown::NeverHeard) => "the autopilot has not been heard yet",
        FlightTruth::Unknown(WhyUnknown::LinkLost) => "the autopilot is not heard any more",
        FlightTruth::Unknown(WhyUnknown::LandedStateUnknown) => "the autopilot does not say whether it is landed",
        FlightTruth::Unknown(WhyUnknown::Contradiction) => "the autopilot says disarmed, yet not on the ground",
        FlightTruth::Disarmed => "on the ground, motors off",
        FlightTruth::ArmedOnGround => "on the ground, motors armed",
        FlightTruth::Airborne(_) => "in the air, by the autopilot's own account",
    }
}

#[cfg(test)]
pub(crate) mod tests;
