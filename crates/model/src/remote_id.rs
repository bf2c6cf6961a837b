//! Remote ID: who operates a vehicle and from where, the state of its transmitter, and what both mean for arming.
//!
//! Owns: [`Operator`] and the level that carries it ([`RemoteIdOrder`]), which Operator counts ([`choose`]: of several, none), how long an
//! agent sends without its coordinator ([`may_send`]), and the text for people ([`assess`], [`advice`]).
//! Must not: know MAVLink, read a clock, or decide whether a vehicle may arm: its autopilot does.
//!
//! ArduPilot that enforces Remote ID (`DID_ENABLE` 1, `DID_OPTIONS` bit 0) arms only while it knows the aircraft's id, and while the
//! operator's location and a transmitter that is good to arm are both at most 3 s old.

use crate::ids::Term;
use crate::units::{Address, Wgs84};
use crate::vehicle::FlightTruth;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Longest id of an operator or an aircraft, characters (ASTM F3411: 20 octets).
pub const LONGEST_ID: usize = 20;

/// Longest description, characters (ASTM F3411: 23 octets).
pub const LONGEST_DESCRIPTION: usize = 23;

/// Longest text of a transmitter, bytes (OPEN_DRONE_ID_ARM_STATUS.error).
pub const LONGEST_ERROR: usize = 50;

/// Interval of the messages to an autopilot.
pub const EVERY: Duration = Duration::from_secs(1);

/// Age limit of a transmitter's report; ArduPilot's own.
pub const TRANSMITTER_COUNTS_FOR: Duration = Duration::from_secs(3);

/// On the ground an agent sends for this long without its coordinator: after that the operator's location is not confirmed. In flight it
/// sends without limit.
pub const SENDS_ALONE_FOR: Duration = Duration::from_mins(10);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operator {
    pub name: String,
    /// Registration with the authority, 1 to [`LONGEST_ID`] printable ASCII characters.
    pub id: String,
    /// Purpose of the flight, up to [`LONGEST_DESCRIPTION`] printable ASCII characters; empty: none.
    pub description: String,
    pub location: Location,
    /// `None`: not declared.
    pub eu: Option<European>,
    /// `None`: the vehicle knows its own.
    pub aircraft: Option<AircraftId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Location {
    /// The home position.
    Takeoff,
    Fixed {
        at: Wgs84,
        /// Meters above the WGS 84 ellipsoid; `None`: not known.
        altitude_m: Option<f64>,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct European {
    pub category: Category,
    /// 0 to 6; `None`: not declared.
    pub class: Option<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Category {
    #[default]
    Undeclared,
    Open,
    Specific,
    Certified,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AircraftId {
    pub kind: AircraftIdKind,
    /// 1 to [`LONGEST_ID`] printable ASCII characters.
    pub id: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AircraftIdKind {
    /// By its maker (ANSI/CTA-2063-A).
    #[default]
    SerialNumber,
    Registration,
}

/// A level: sent again, it changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemoteIdOrder {
    pub term: Term,
    /// `None`: nobody.
    pub operator: Option<Operator>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteIdReport {
    /// Name of the Operator; `None`: none.
    pub held: Option<String>,
    pub sending: Sending,
    pub transmitter: Transmitter,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sending {
    /// There is no Operator.
    #[default]
    Nothing,
    /// Every second.
    Yes,
    /// Not yet: the vehicle has not reported its home position, where the operator is.
    NoLocation,
    /// No: the coordinator has been gone for longer than [`SENDS_ALONE_FOR`], and the vehicle is on the ground.
    Alone,
    /// No: the airframe on the wire is not known to be the one that serves its Drone, or the autopilot is not heard.
    NoVehicle,
}

/// State of the vehicle's Remote ID transmitter, by its own report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Transmitter {
    /// Never heard.
    #[default]
    Unheard,
    Good,
    /// Not good to arm; its text.
    Fails(String),
    /// Not heard any more.
    Lost,
}

impl Location {
    /// `None`: not known; `home` is the vehicle's.
    pub const fn place(&self, home: Option<Wgs84>) -> Option<Wgs84> {
        match self {
            Self::Takeoff => home,
            Self::Fixed { at, .. } => Some(*at),
        }
    }
}

/// 1 to `longest` printable ASCII characters.
pub fn can_be_broadcast(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len()) && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice<'a> {
    None,
    /// Its index.
    One(usize),
    /// By name; none of them counts.
    Several(Vec<&'a str>),
}

/// Which Operator counts, of those that select a vehicle, given by index and name.
pub fn choose<'a>(selecting: &[(usize, &'a str)]) -> Choice<'a> {
    match selecting {
        [] => Choice::None,
        [(place, _)] => Choice::One(*place),
        several => Choice::Several(several.iter().map(|(_, name)| *name).collect()),
    }
}

/// Whether to send although the coordinator has been gone for `silent`.
pub fn may_send(truth: FlightTruth, silent: Duration) -> bool {
    truth != FlightTruth::Disarmed || silent <= SENDS_ALONE_FOR
}

/// The Operator after `held` when the coordinator wants `next`. An Operator that is taken away is sent on until the vehicle is on the
/// ground and disarmed: no flight loses its operator. The flag: sending ends then.
pub fn take(held: Option<Operator>, next: Option<Operator>, truth: FlightTruth) -> (Option<Operator>, bool) {
    match (held, next) {
        (_, Some(next)) => (Some(next), false),
        (Some(held), None) if truth != FlightTruth::Disarmed => (Some(held), true),
        (_, None) => (None, false),
    }
}

/// MAV_COMP_ID_ODID_TXRX_1 to _3 of the vehicle `system`.
pub fn is_transmitter(from: Address, system: crate::units::SystemId) -> bool {
    from.system == system && (236..=238).contains(&from.component.0)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// Whether all is sent and the transmitter is good; `None`: no transmitter reports, and its autopilot judges alone.
    pub ready: Option<bool>,
    pub reason: &'static str,
    pub message: String,
}

/// `wanted`: the Operator that selects the vehicle.
pub fn assess(wanted: Option<&str>, report: &RemoteIdReport) -> Assessment {
    let of = |ready, reason, message: &str| Assessment {
        ready,
        reason,
        message: message.to_owned(),
    };
    let no = Some(false);
    match (report.sending, &report.transmitter) {
        (Sending::Nothing, _) if wanted.is_some() => of(
            no,
            "NotTaken",
            "its agent has not taken its Operator over yet, or is of an older version",
        ),
        (Sending::Yes | Sending::NoLocation | Sending::Alone | Sending::NoVehicle, _)
            if wanted.is_some() && report.held.as_deref() != wanted =>
        {
            of(no, "NotTaken", "its agent has not taken its Operator over yet")
        }
        (Sending::NoLocation, _) => of(
            no,
            "NoLocation",
            "the operator is where it takes off, and it has not reported its home position yet",
        ),
        (Sending::Alone, _) => of(
            no,
            "CoordinatorLost",
            "its agent has had no coordinator for too long, so the operator's location is not confirmed any more",
        ),
        (Sending::NoVehicle, _) => of(no, "AutopilotSilent", "its agent receives nothing from its autopilot"),
        (_, Transmitter::Fails(words)) => Assessment {
            ready: no,
            reason: "TransmitterFails",
            message: format!("its Remote ID transmitter is not good to arm: {words}"),
        },
        (_, Transmitter::Lost) => of(
            no,
            "TransmitterLost",
            "its Remote ID transmitter is not heard any more; check its power and its line",
        ),
        (Sending::Nothing, Transmitter::Good | Transmitter::Unheard) => {
            of(no, "NoOperator", "no Operator selects it, so its agent sends none")
        }
        (Sending::Yes, Transmitter::Good) => of(
            Some(true),
            "Ready",
            "its operator is sent to its autopilot, and its transmitter is good to arm",
        ),
        (Sending::Yes, Transmitter::Unheard) => of(
            None,
            "TransmitterUnheard",
            "its operator is sent to its autopilot; no Remote ID transmitter was heard",
        ),
    }
}

/// Prefix of ArduPilot's arming reasons about Remote ID.
const OURS: &str = "OpenDroneID: ";

/// What to do about such a reason; `None` for any other reason, or where its text is advice enough.
pub fn advice(reason: &str, report: &RemoteIdReport) -> Option<&'static str> {
    let reason = reason.strip_prefix(OURS)?;
    Some(match reason {
        "UA_TYPE required in BasicID" if report.sending == Sending::Nothing => {
            "Remote ID: no Operator selects the vehicle, so the autopilot receives no operator; make one, and set label \
             skein.dev/uas-id on the Vehicle or its Node"
        }
        "UA_TYPE required in BasicID" => {
            "Remote ID: the autopilot does not know the id of its aircraft; set label skein.dev/uas-id on the Vehicle or its Node"
        }
        "operator location must be set" | "SYSTEM not available" => match report.sending {
            Sending::Nothing => {
                "Remote ID: no Operator selects the vehicle, so the autopilot receives no operator; make one"
            }
            Sending::NoLocation => {
                "Remote ID: the operator's location is that of takeoff, and the home position is not known yet"
            }
            Sending::Alone => {
                "Remote ID: the coordinator has been gone for too long, so the operator's location is not confirmed; bring it back"
            }
            Sending::Yes | Sending::NoVehicle => return None,
        },
        "ARM_STATUS not available" => {
            "Remote ID: the autopilot receives nothing from its transmitter; check its power and its line, and that DID_MAVPORT or DID_CANDRIVER \
             is where it is connected"
        }
        "DID_ENABLE must be 1" => "Remote ID: DID_OPTIONS enforces it and DID_ENABLE is 0; set DID_ENABLE to 1",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
