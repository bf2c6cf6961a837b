//! Remote ID: sending the operator to the autopilot every second, and receiving the vehicle's transmitter.
//!
//! [`RemoteId`] is a plain state machine; [`Remembered`] is kept on the disk. Must not: send, read a clock, or send without an Operator.
//!
//! Each second one set: OPEN_DRONE_ID_SYSTEM (12904) with the operator's place and the time, OPEN_DRONE_ID_OPERATOR_ID (12905),
//! OPEN_DRONE_ID_SELF_ID (12903) where there is a description, and OPEN_DRONE_ID_BASIC_ID (12900) where the id of the aircraft is given.
//! OPEN_DRONE_ID_SYSTEM_UPDATE (12919) saves 40 bytes of the first, but ArduPilot counts it only after a whole one since its boot, and PX4
//! does not read it: so the whole one is always sent. They go to the autopilot alone, which passes them on to its transmitter.
//! Transmitters take a message for new only when its time is.

use link::dialect::{
    MavMessage, MavOdidArmStatus, MavOdidCategoryEu, MavOdidClassEu, MavOdidClassificationType, MavOdidDescType,
    MavOdidIdType, MavOdidOperatorIdType, MavOdidOperatorLocationType, MavOdidUaType, OPEN_DRONE_ID_ARM_STATUS_DATA,
    OPEN_DRONE_ID_BASIC_ID_DATA, OPEN_DRONE_ID_OPERATOR_ID_DATA, OPEN_DRONE_ID_SELF_ID_DATA, OPEN_DRONE_ID_SYSTEM_DATA,
};
use model::ids::Term;
use model::remote_id::{
    self, AircraftIdKind, Category, EVERY, European, Location, Operator, RemoteIdOrder, RemoteIdReport, Sending,
    TRANSMITTER_COUNTS_FOR, Transmitter,
};
use model::time::Moment;
use model::units::{Address, Wgs84};
use model::vehicle::FlightTruth;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tracing::{info, warn};

/// 2019-01-01 00:00 UTC, from which Remote ID counts its seconds, in seconds since 1970.
const EPOCH_S: u64 = 1_546_300_800;

/// A clock that shows an earlier time than 2025-01-01 was never set: companion computers without a network do not know the date.
pub(crate) const CLOCK_IS_SET_S: u64 = 1_735_689_600;

/// What is sent for a height that is not known, meters.
const NO_HEIGHT_M: f32 = -1000.0;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Remembered {
    pub held: Option<Operator>,
    /// The coordinator has taken it away; it is sent until the vehicle is on the ground and disarmed.
    #[serde(default)]
    pub ends: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// `None`: it is not heard, or is not the one that serves the Drone.
    pub to: Option<Address>,
    pub home: Option<Wgs84>,
    pub truth: FlightTruth,
    /// For how long there was no coordinator.
    pub silent: Duration,
    /// The time, since 1970.
    pub date: Option<Duration>,
}

impl Situation {
    /// Seconds since 2019, or 0 where the date is not known.
    fn timestamp(&self) -> u32 {
        let date = self.date.map(|date| date.as_secs()).filter(|s| *s >= CLOCK_IS_SET_S);
        date.and_then(|s| u32::try_from(s - EPOCH_S).ok()).unwrap_or_default()
    }
}

#[derive(Clone, Debug, Default)]
pub struct RemoteId {
    memory: Remembered,
    began_at: Option<Moment>,
    /// What is left of the set of this second, the last first.
    set: Vec<MavMessage>,
    transmitter: Option<(ArmStatus, Moment)>,
}

/// Of a transmitter: its words when it is not good to arm.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ArmStatus(Result<(), String>);

impl RemoteId {
    pub fn new(memory: Remembered) -> Self {
        Self {
            memory,
            ..Self::default()
        }
    }

    pub const fn memory(&self) -> &Remembered {
        &self.memory
    }

    /// The same again changes nothing. An order of a term below `highest` is refused; the error is its term.
    pub fn take(&mut self, order: RemoteIdOrder, highest: Term, truth: FlightTruth) -> Result<(), Term> {
        if order.term < highest {
            return Err(order.term);
        }
        let before = self.memory.clone();
        let (held, ends) = remote_id::take(before.held.clone(), order.operator, truth);
        let after = Remembered { held, ends };
        if after != before {
            let operator = after.held.as_ref().map(|held| held.name.as_str());
            info!(operator, ends, "the operator of the vehicle");
            self.set.clear();
            self.memory = after;
        }
        Ok(())
    }

    pub fn heard(&mut self, status: &OPEN_DRONE_ID_ARM_STATUS_DATA, now: Moment) {
        let status = match status.status {
            MavOdidArmStatus::MAV_ODID_ARM_STATUS_GOOD_TO_ARM => Ok(()),
            MavOdidArmStatus::MAV_ODID_ARM_STATUS_PRE_ARM_FAIL_GENERIC => {
                let words = status.error.to_str().unwrap_or_default();
                let words: String = words.chars().filter(|c| !c.is_control()).collect();
                Err(if words.trim().is_empty() {
                    "it does not say why".to_owned()
                } else {
                    words.trim().to_owned()
                })
            }
        };
        let status = ArmStatus(status);
        if self.transmitter.as_ref().is_none_or(|(before, _)| *before != status) {
            match &status.0 {
                Ok(()) => info!("the Remote ID transmitter is good to arm"),
                Err(words) => warn!(words, "the Remote ID transmitter is not good to arm"),
            }
        }
        self.transmitter = Some((status, now));
    }

    pub fn next(&mut self, situation: &Situation, now: Moment) -> Option<MavMessage> {
        if self.memory.ends && situation.truth == FlightTruth::Disarmed {
            info!("the flight is over, and its operator is not sent any more");
            self.memory = Remembered::default();
        }
        let sending = self.sending(situation);
        let (Some(operator), Some(to), Sending::Yes) = (&self.memory.held, situation.to, sending) else {
            self.set.clear();
            return None;
        };
        if self.set.is_empty() && self.began_at.is_none_or(|at| now.since(at) >= EVERY) {
            let place = operator.location.place(situation.home)?;
            self.began_at = Some(now);
            self.set = set(operator, place, situation.timestamp(), to);
        }
        self.set.pop()
    }

    fn sending(&self, situation: &Situation) -> Sending {
        let Some(operator) = &self.memory.held else {
            return Sending::Nothing;
        };
        if situation.to.is_none() {
            Sending::NoVehicle
        } else if !remote_id::may_send(situation.truth, situation.silent) {
            Sending::Alone
        } else if operator.location.place(situation.home).is_none() {
            Sending::NoLocation
        } else {
            Sending::Yes
        }
    }

    pub fn report(&self, situation: &Situation, now: Moment) -> RemoteIdReport {
        let fresh = |at: Moment| now.since(at) <= TRANSMITTER_COUNTS_FOR;
        RemoteIdReport {
            held: self.memory.held.as_ref().map(|held| held.name.clone()),
            sending: self.sending(situation),
            transmitter: match &self.transmitter {
                None => Transmitter::Unheard,
                Some((_, at)) if !fresh(*at) => Transmitter::Lost,
                Some((ArmStatus(Ok(())), _)) => Transmitter::Good,
                Some((ArmStatus(Err(words)), _)) => Transmitter::Fails(words.clone()),
            },
        }
    }
}

/// The last first.
fn set(operator: &Operator, place: Wgs84, timestamp: u32, to: Address) -> Vec<MavMessage> {
    let (target_system, target_component) = (to.system.0, to.component.0);
    let (location, altitude) = match operator.location {
        Location::Takeoff => (
            MavOdidOperatorLocationType::MAV_ODID_OPERATOR_LOCATION_TYPE_TAKEOFF,
            None,
        ),
        Location::Fixed { altitude_m, .. } => (
            MavOdidOperatorLocationType::MAV_ODID_OPERATOR_LOCATION_TYPE_FIXED,
            altitude_m,
        ),
    };
    let (category_eu, class_eu) = european(operator.eu.unwrap_or_default());
    let system = OPEN_DRONE_ID_SYSTEM_DATA {
        target_system,
        target_component,
        operator_location_type: location,
        classification_type: if operator.eu.is_some() {
            MavOdidClassificationType::MAV_ODID_CLASSIFICATION_TYPE_EU
        } else {
            MavOdidClassificationType::MAV_ODID_CLASSIFICATION_TYPE_UNDECLARED
        },
        operator_latitude: e7(place.latitude_deg),
        operator_longitude: e7(place.longitude_deg),
        area_count: 1,
        area_ceiling: NO_HEIGHT_M,
        area_floor: NO_HEIGHT_M,
        category_eu,
        class_eu,
        operator_altitude_geo: altitude.map_or(NO_HEIGHT_M, height),
        timestamp,
        ..OPEN_DRONE_ID_SYSTEM_DATA::default()
    };
    let aircraft = operator.aircraft.as_ref().map(|aircraft| {
        let mut uas_id = [0; 20];
        for (byte, of_id) in uas_id.iter_mut().zip(aircraft.id.bytes()) {
            *byte = of_id;
        }
        MavMessage::OPEN_DRONE_ID_BASIC_ID(OPEN_DRONE_ID_BASIC_ID_DATA {
            target_system,
            target_component,
            id_type: match aircraft.kind {
                AircraftIdKind::SerialNumber => MavOdidIdType::MAV_ODID_ID_TYPE_SERIAL_NUMBER,
                AircraftIdKind::Registration => MavOdidIdType::MAV_ODID_ID_TYPE_CAA_REGISTRATION_ID,
            },
            ua_type: MavOdidUaType::MAV_ODID_UA_TYPE_HELICOPTER_OR_MULTIROTOR,
            uas_id,
            ..OPEN_DRONE_ID_BASIC_ID_DATA::default()
        })
    });
    let description = (!operator.description.is_empty()).then(|| {
        MavMessage::OPEN_DRONE_ID_SELF_ID(OPEN_DRONE_ID_SELF_ID_DATA {
            target_system,
            target_component,
            description_type: MavOdidDescType::MAV_ODID_DESC_TYPE_TEXT,
            description: operator.description.as_str().into(),
            ..OPEN_DRONE_ID_SELF_ID_DATA::default()
        })
    });
    let id = MavMessage::OPEN_DRONE_ID_OPERATOR_ID(OPEN_DRONE_ID_OPERATOR_ID_DATA {
        target_system,
        target_component,
        operator_id_type: MavOdidOperatorIdType::MAV_ODID_OPERATOR_ID_TYPE_CAA,
        operator_id: operator.id.as_str().into(),
        ..OPEN_DRONE_ID_OPERATOR_ID_DATA::default()
    });
    let system = MavMessage::OPEN_DRONE_ID_SYSTEM(system);
    // The place is what ages: it goes first.
    aircraft.into_iter().chain(description).chain([id, system]).collect()
}

const fn european(eu: European) -> (MavOdidCategoryEu, MavOdidClassEu) {
    let category = match eu.category {
        Category::Undeclared => MavOdidCategoryEu::MAV_ODID_CATEGORY_EU_UNDECLARED,
        Category::Open => MavOdidCategoryEu::MAV_ODID_CATEGORY_EU_OPEN,
        Category::Specific => MavOdidCategoryEu::MAV_ODID_CATEGORY_EU_SPECIFIC,
        Category::Certified => MavOdidCategoryEu::MAV_ODID_CATEGORY_EU_CERTIFIED,
    };
    let class = match eu.class {
        Some(0) => MavOdidClassEu::MAV_ODID_CLASS_EU_CLASS_0,
        Some(1) => MavOdidClassEu::MAV_ODID_CLASS_EU_CLASS_1,
        Some(2) => MavOdidClassEu::MAV_ODID_CLASS_EU_CLASS_2,
        Some(3) => MavOdidClassEu::MAV_ODID_CLASS_EU_CLASS_3,
        Some(4) => MavOdidClassEu::MAV_ODID_CLASS_EU_CLASS_4,
        Some(5) => MavOdidClassEu::MAV_ODID_CLASS_EU_CLASS_5,
        Some(6) => MavOdidClassEu::MAV_ODID_CLASS_EU_CLASS_6,
        Some(_) | None => MavOdidClassEu::MAV_ODID_CLASS_EU_UNDECLARED,
    };
    (category, class)
}

/// Degrees × 10⁷.
#[allow(
    clippy::cast_possible_truncation,
    reason = "at most 180 degrees, which the wire's border has checked"
)]
fn e7(degrees: f64) -> i32 {
    (degrees * 1e7).round() as i32
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "Remote ID rounds altitudes to half a meter"
)]
const fn height(meters: f64) -> f32 {
    meters as f32
}

#[cfg(test)]
mod tests;
