//! Other senders on the same wire, and the vehicle's frames that only a script causes.

use std::time::Duration;

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;
use mavlink::{MavlinkVersion, Message};

use super::chance::Chance;
use crate::model::Wgs84;
use crate::wire::{Address, Outgoing, Sender};

const GIMBAL: u8 = 154;
const STATION: Address = Address {
    system: 255,
    component: 190,
};
const STATION_KIND: u8 = 6;
/// Ids from here on are in no dialect.
const FIRST_UNKNOWN: u32 = 60_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    SecondAutopilot {
        system: u8,
        px4: bool,
        near: (i32, i32, i32),
    },
    Gimbal {
        system: u8,
    },
    GroundStation,
}

#[derive(Clone, Debug)]
pub(super) struct Neighbor {
    who: Who,
    sender: Sender,
    next_s: f64,
}

impl Neighbor {
    pub(super) fn new(who: Who, now_s: f64) -> Self {
        let (system, component) = match who {
            Who::SecondAutopilot { system, .. } => (system, 1),
            Who::Gimbal { system } => (system, GIMBAL),
            Who::GroundStation => (STATION.system, STATION.component),
        };
        Self {
            who,
            sender: Sender::new(system, component),
            next_s: now_s,
        }
    }

    pub(super) fn frames(&mut self, now_s: f64) -> Vec<Vec<u8>> {
        if now_s + 1e-9 < self.next_s {
            return Vec::new();
        }
        self.next_s += 1.0;
        let messages = self.messages(now_s);
        messages
            .into_iter()
            .map(|message| self.sender.encode(&Outgoing::from(message)))
            .collect()
    }

    fn messages(&self, now_s: f64) -> Vec<MavMessage> {
        let beat = apm::HEARTBEAT_DATA {
            mavlink_version: 3,
            ..apm::HEARTBEAT_DATA::DEFAULT
        };
        match self.who {
            Who::SecondAutopilot { px4, near, .. } => {
                let (autopilot, custom_mode) = if px4 {
                    (apm::MavAutopilot::MAV_AUTOPILOT_PX4, 0x0304_0000)
                } else {
                    (apm::MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA, 4)
                };
                let (lat, lon, alt) = near;
                vec![
                    MavMessage::HEARTBEAT(apm::HEARTBEAT_DATA {
                        custom_mode,
                        mavtype: apm::MavType::MAV_TYPE_QUADROTOR,
                        autopilot,
                        base_mode: apm::MavModeFlag::from_bits_retain(128 | 89),
                        system_status: apm::MavState::MAV_STATE_ACTIVE,
                        ..beat
                    }),
                    MavMessage::EXTENDED_SYS_STATE(apm::EXTENDED_SYS_STATE_DATA {
                        vtol_state: apm::MavVtolState::MAV_VTOL_STATE_UNDEFINED,
                        landed_state: apm::MavLandedState::MAV_LANDED_STATE_IN_AIR,
                    }),
                    MavMessage::GLOBAL_POSITION_INT(apm::GLOBAL_POSITION_INT_DATA {
                        time_boot_ms: (now_s * 1000.0) as u32,
                        lat,
                        lon,
                        alt: alt + 77_000,
                        relative_alt: 77_000,
                        ..apm::GLOBAL_POSITION_INT_DATA::DEFAULT
                    }),
                ]
            }
            Who::Gimbal { .. } => vec![MavMessage::HEARTBEAT(apm::HEARTBEAT_DATA {
                mavtype: apm::MavType::MAV_TYPE_GIMBAL,
                autopilot: apm::MavAutopilot::MAV_AUTOPILOT_INVALID,
                system_status: apm::MavState::MAV_STATE_ACTIVE,
                ..beat
            })],
            Who::GroundStation => vec![MavMessage::HEARTBEAT(apm::HEARTBEAT_DATA {
                mavtype: apm::MavType::MAV_TYPE_GCS,
                autopilot: apm::MavAutopilot::MAV_AUTOPILOT_INVALID,
                system_status: apm::MavState::MAV_STATE_ACTIVE,
                ..beat
            })],
        }
    }

    pub(super) fn received_as(&self) -> Option<(Address, u8)> {
        (self.who == Who::GroundStation).then_some((STATION, STATION_KIND))
    }
}

/// Units of GLOBAL_POSITION_INT.
pub(super) fn numbers(place: Wgs84) -> (i32, i32, i32) {
    let (lat, lon) = place.e7();
    (lat, lon, place.amsl_mm())
}

pub(super) fn aircraft(sender: &mut Sender, here: Wgs84) -> Vec<u8> {
    let (lat, lon, altitude) = numbers(here);
    let flags = apm::AdsbFlags::ADSB_FLAGS_VALID_COORDS
        | apm::AdsbFlags::ADSB_FLAGS_VALID_ALTITUDE
        | apm::AdsbFlags::ADSB_FLAGS_VALID_HEADING
        | apm::AdsbFlags::ADSB_FLAGS_VALID_VELOCITY
        | apm::AdsbFlags::ADSB_FLAGS_VALID_CALLSIGN
        | apm::AdsbFlags::ADSB_FLAGS_VERTICAL_VELOCITY_VALID;
    let message = MavMessage::ADSB_VEHICLE(apm::ADSB_VEHICLE_DATA {
        ICAO_address: 0x4b_1234,
        lat,
        lon,
        altitude,
        callsign: "HBXYZ".into(),
        altitude_type: apm::AdsbAltitudeType::ADSB_ALTITUDE_TYPE_GEOMETRIC,
        emitter_type: apm::AdsbEmitterType::ADSB_EMITTER_TYPE_ROTOCRAFT,
        flags,
        ..apm::ADSB_VEHICLE_DATA::DEFAULT
    });
    sender.encode(&Outgoing::from(message))
}

/// The id is in no dialect, so that the checksum cannot be verified.
pub(super) fn unknown(sender: &mut Sender, chance: &mut Chance) -> Vec<u8> {
    let id = FIRST_UNKNOWN + chance.below(1000) as u32;
    let length = 1 + chance.below(60);
    let payload: Vec<u8> = (0..length).map(|_| 1 + chance.below(255) as u8).collect();
    sender.frame(id, &payload, chance.below(256) as u8)
}

/// Messages that begin with the time since boot, in milliseconds (4 bytes) or microseconds (8 bytes).
const BOOT_MS: &[u32] = &[29, 30, 31, 32, 33, 83, 85, 87, 89, 116, 129, 132];
const BOOT_US: &[u32] = &[27, 63, 105, 106, 141, 230, 231, 241, 290, 291, 331];

/// Ones in all fields but the time since boot; no extension fields.
pub(super) fn meaningless(sender: &mut Sender, id: u32, uptime: Duration) -> Vec<u8> {
    let mut payload = [0; 255];
    let message = MavMessage::default_message_from_id(id);
    let length = message.map_or(1, |message| message.ser(MavlinkVersion::V1, &mut payload));
    payload.fill(1);
    if BOOT_MS.contains(&id) {
        payload[..4].copy_from_slice(&(uptime.as_millis() as u32).to_le_bytes());
    } else if BOOT_US.contains(&id) {
        payload[..8].copy_from_slice(&(uptime.as_micros() as u64).to_le_bytes());
    }
    sender.frame(id, &payload[..length.min(255)], MavMessage::extra_crc(id))
}
