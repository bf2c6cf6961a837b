//! Remote ID: who operates a vehicle and from where, what its transmitter reports, and what both mean for arming.
//!
//! Owns: [`Operator`] and the level that carries it ([`RemoteIdOrder`]), which of several Operators counts ([`choose`]: of several, none),
//! for how long an agent goes on sending without its coordinator ([`may_send`]), and what people read ([`assess`], [`advice`]).
//! Must not: know MAVLink, read a clock, or take a vehicle for one that may arm: its autopilot judges that.
//!
//! ArduPilot that enforces Remote ID (`DID_ENABLE` 1, `DID_OPTIONS` bit 0) arms only while it knows the aircraft's id, the operator's place
//! as of the last 3 s, and that its transmitter is good to arm, as of the last 3 s.

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

/// Between two sets of messages to an autopilot.
pub const EVERY: Duration = Duration::from_secs(1);

/// What a transmitter has reported counts for this long; ArduPilot's own limit.
pub const TRANSMITTER_COUNTS_FOR: Duration = Duration::from_secs(3);

/// On the ground an agent sends for this long without its coordinator: after that the operator's location is not confirmed. In flight it
/// sends to the end.
pub const SENDS_ALONE_FOR: Duration = Duration::from_mins(10);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operator {
    pub name: String,
    /// The operator's registration with the authority, 1 to [`LONGEST_ID`] printable characters of ASCII.
    pub id: String,
    /// What the flight is for, up to [`LONGEST_DESCRIPTION`] printable characters of ASCII; empty: none.
    pub description: String,
    pub location: Location,
    /// How the flight is classified in the European Union; `None`: not declared.
    pub eu: Option<European>,
    /// The id of the aircraft; `None`: the vehicle knows its own.
    pub aircraft: Option<AircraftId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Location {
    /// Where the vehicle takes off: its home position.
    Takeoff,
    /// A place that does not move.
    Fixed {
        at: Wgs84,
        /// Meters above the WGS 84 ellipsoid; `None`: not known.
        altitude_m: Option<f64>,
    },
}

/// The classification of the European Union.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct European {
    pub category: Category,
    /// The class of the aircraft, 0 to 6; `None`: not declared.
    pub class: Option<u8>,
}

/// A category of the European Union.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Category {
    /// Not declared.
    #[default]
    Undeclared,
    Open,
    Specific,
    Certified,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AircraftId {
    /// What kind of id it is.
    pub kind: AircraftIdKind,
    /// 1 to [`LONGEST_ID`] printable characters of ASCII.
    pub id: String,
}

/// What kind of id an aircraft has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum AircraftIdKind {
    /// Its maker's serial number (ANSI/CTA-2063-A).
    #[default]
    SerialNumber,
    Registration,
}

/// What an agent is to send to its autopilot. A level: sent again, it changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemoteIdOrder {
    /// Leadership of the coordinator that sent it.
    pub term: Term,
    /// Whom to name; `None`: nobody.
    pub operator: Option<Operator>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteIdReport {
    /// Name of the Operator that it holds; `None`: none.
    pub held: Option<String>,
    /// Whether it sends that to the autopilot.
    pub sending: Sending,
    pub transmitter: Transmitter,
}

/// Whether an agent sends the operator to its autopilot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sending {
    /// It does not: there is no Operator.
    #[default]
    Nothing,
    /// It does, every second.
    Yes,
    /// It will once it knows where the operator is: the vehicle has not reported its home position.
    NoLocation,
    /// It does not: the coordinator has been gone for longer than [`SENDS_ALONE_FOR`], and the vehicle is on the ground.
    Alone,
    /// It does not: the airframe on the wire is not known to be the one that serves its Drone, or the autopilot is not heard.
    NoVehicle,
}

/// What the Remote ID transmitter of a vehicle reports of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Transmitter {
    /// None was ever heard.
    #[default]
    Unheard,
    Good,
    /// It is not; its words.
    Fails(String),
    /// It was heard and is not any more.
    Lost,
}

impl Location {
    /// The place, if it is known; `home` is the vehicle's.
    pub const fn place(&self, home: Option<Wgs84>) -> Option<Wgs84> {
        match self {
            Self::Takeoff => home,
            Self::Fixed { at, .. } => Some(*at),
        }
    }
}

/// Whether a text can be an id or a description: 1 to `longest` printable characters of ASCII.
pub fn can_be_broadcast(text: &str, longest: usize) -> bool {
    (1..=longest).contains(&text.len()) && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice<'a> {
    None,
    /// One does: its place among the objects.
    One(usize),
    /// Several do, by name, so none of them counts.
    Several(Vec<&'a str>),
}

/// Which of the Operators that select a vehicle counts, each given by its place and its name.
pub fn choose<'a>(selecting: &[(usize, &'a str)]) -> Choice<'a> {
    match selecting {
        [] => Choice::None,
        [(place, _)] => Choice::One(*place),
        several => Choice::Several(several.iter().map(|(_, name)| *name).collect()),
    }
}

/// Whether an agent whose coordinator has been gone for `silent` sends the operator to its autopilot, which does `truth`.
pub fn may_send(truth: FlightTruth, silent: Duration) -> bool {
    truth != FlightTruth::Disarmed || silent <= SENDS_ALONE_FOR
}

/// What remains of the Operator held when the coordinator wants `next`: one that is taken away from a vehicle that is not on the ground and
/// disarmed is sent on until it is, as a flight must not lose its operator. The flag: it ends then.
pub fn take(held: Option<Operator>, next: Option<Operator>, truth: FlightTruth) -> (Option<Operator>, bool) {
    match (held, next) {
        (_, Some(next)) => (Some(next), false),
        (Some(held), None) if truth != FlightTruth::Disarmed => (Some(held), true),
        (_, None) => (None, false),
    }
}

/// Whether a message of the transmitter of the vehicle `system`: MAV_COMP_ID_ODID_TXRX_1 to _3.
pub fn is_transmitter(from: Address, system: crate::units::SystemId) -> bool {
    from.system == system && (236..=238).contains(&from.component.0)
}

/// What people read of the Remote ID of a vehicle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// Whether all is sent and the transmitter is good; `None`: the vehicle has none that reports, and its autopilot judges alone.
    pub ready: Option<bool>,
    pub reason: &'static str,
    pub message: String,
}

/// What people read of the Remote ID of a vehicle; `wanted` is the name of the Operator that selects it.
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

/// Prefix of ArduPilot's reasons that are about Remote ID.
const OURS: &str = "OpenDroneID: ";

/// What to do about a reason of ArduPilot that is about Remote ID; `None` for one that is not, or that says it itself.
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
