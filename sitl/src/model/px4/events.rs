//! PX4 events (EVENT, message 410): ids, log levels and arguments as recorded from PX4 a70a5583.
//!
//! Owns: the id of each event, numbering, and the memory for REQUEST_EVENT. Must not: decide when one is raised.

use std::collections::VecDeque;

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;

/// How many past events can be asked for again.
const REMEMBERED: usize = 20;
/// The first number after boot; it wraps within seconds, as on the real one.
const FIRST_SEQUENCE: u16 = 65530;

/// Event id and log levels (internal in the high half, external in the low half).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind(u32, u8);

pub(super) const HEALTH_SUMMARY: Kind = Kind(18_691_879, 0x88);
pub(super) const ARMING_CHECK_SUMMARY: Kind = Kind(27_825_120, 0x88);
pub(super) const NO_LOCAL_POSITION: Kind = Kind(30_612_409, 0x33);
pub(super) const NO_GLOBAL_POSITION: Kind = Kind(26_788_467, 0x33);
pub(super) const NO_MISSION: Kind = Kind(17_154_777, 0x66);
pub(super) const NO_OFFBOARD_SIGNAL: Kind = Kind(19_865_031, 0x33);
pub(super) const NO_MANUAL_CONTROL: Kind = Kind(17_231_145, 0x44);
pub(super) const NO_GROUND_STATION: Kind = Kind(23_579_003, 0x66);
pub(super) const MODE_NOT_SUITABLE: Kind = Kind(18_648_929, 0x66);
pub(super) const COMPASS_MISSING: Kind = Kind(22_720_449, 0x33);
pub(super) const BATTERY_CRITICAL_CHECK: Kind = Kind(19_404_811, 0x22);
pub(super) const ARM_DENIED: Kind = Kind(16_910_493, 0x62);
pub(super) const ARMED_BY: Kind = Kind(26_266_355, 0x66);
pub(super) const DISARMED_BY: Kind = Kind(32_794_487, 0x66);
pub(super) const DISARM_DENIED: Kind = Kind(25_868_725, 0x62);
pub(super) const BAD_ARM_PARAMETER: Kind = Kind(19_217_309, 0x33);
pub(super) const TAKEOFF_DETECTED: Kind = Kind(21_054_825, 0x66);
pub(super) const LANDING_HERE: Kind = Kind(20_099_806, 0x66);
pub(super) const LANDING_DETECTED: Kind = Kind(26_622_124, 0x66);
pub(super) const MODE_NOT_AVAILABLE: Kind = Kind(27_280_279, 0x62);
pub(super) const BAD_AUTO_MODE: Kind = Kind(19_869_445, 0x33);
pub(super) const NO_MISSION_TO_START: Kind = Kind(23_844_490, 0x62);
pub(super) const RETURNING: Kind = Kind(20_262_116, 0x66);
pub(super) const RETURN_HEIGHT: Kind = Kind(22_161_044, 0x66);
pub(super) const RETURN_LANDING: Kind = Kind(16_962_474, 0x66);
pub(super) const DEFAULT_TAKEOFF_HEIGHT: Kind = Kind(20_656_071, 0x66);
pub(super) const ALREADY_HIGHER: Kind = Kind(19_098_816, 0x63);
pub(super) const LOW_BATTERY: Kind = Kind(28_993_875, 0x64);
pub(super) const FAILSAFE_HOLD: Kind = Kind(30_481_910, 0x42);
pub(super) const FAILSAFE: Kind = Kind(26_528_394, 0x42);

pub(super) const GCS_LOST: Kind = Kind(27_571_288, 0x64);
pub(super) const GCS_REGAINED: Kind = Kind(31_011_876, 0x66);
/// `NO_GROUND_STATION` where a ground station is needed for arming.
pub(super) const GROUND_STATION_NEEDED: Kind = Kind(23_579_003, 0x33);

/// Causes in the arguments of `FAILSAFE_HOLD` and `FAILSAFE`.
pub(super) const CAUSE_GCS_LOSS: u8 = 2;
pub(super) const CAUSE_CRITICAL_BATTERY: u8 = 4;
pub(super) const CAUSE_EMERGENCY_BATTERY: u8 = 5;

/// Who armed or disarmed, in the arguments of `ARMED_BY` and `DISARMED_BY`.
pub(super) const BY_COMMAND: u8 = 4;
pub(super) const BY_LANDING: u8 = 6;
pub(super) const BY_PREFLIGHT_TIMEOUT: u8 = 7;

/// See the module text.
#[derive(Clone, Debug)]
pub(super) struct Events {
    next: u16,
    past: VecDeque<apm::EVENT_DATA>,
}

impl Events {
    pub(super) fn new() -> Self {
        Self {
            next: FIRST_SEQUENCE,
            past: VecDeque::new(),
        }
    }

    /// The next event; the message goes to every link.
    pub(super) fn raise(&mut self, kind: Kind, arguments: &[u8], boot_ms: u32) -> MavMessage {
        let mut bytes = [0u8; 40];
        let len = arguments.len().min(40);
        bytes[..len].copy_from_slice(&arguments[..len]);
        let event = apm::EVENT_DATA {
            id: kind.0,
            event_time_boot_ms: boot_ms,
            sequence: self.next,
            log_levels: kind.1,
            arguments: bytes,
            ..apm::EVENT_DATA::DEFAULT
        };
        self.next = self.next.wrapping_add(1);
        if self.past.len() == REMEMBERED {
            self.past.pop_front();
        }
        self.past.push_back(event.clone());
        MavMessage::EVENT(event)
    }

    /// CURRENT_EVENT_SEQUENCE (411).
    pub(super) fn current_sequence(&self) -> MavMessage {
        MavMessage::CURRENT_EVENT_SEQUENCE(apm::CURRENT_EVENT_SEQUENCE_DATA {
            sequence: self.next.wrapping_sub(1),
            flags: apm::MavEventCurrentSequenceFlags::from_bits_retain(0),
        })
    }

    /// The answer to REQUEST_EVENT: the remembered events, an error for each forgotten one.
    pub(super) fn replay(&self, first: u16, last: u16, to: (u8, u8)) -> Vec<MavMessage> {
        let count = last.wrapping_sub(first).min(2 * REMEMBERED as u16);
        let oldest = self.past.front().map_or(self.next, |event| event.sequence);
        (0..=count)
            .map(|step| first.wrapping_add(step))
            .map(|wanted| match self.past.iter().find(|event| event.sequence == wanted) {
                Some(event) => MavMessage::EVENT(event.clone()),
                None => MavMessage::RESPONSE_EVENT_ERROR(apm::RESPONSE_EVENT_ERROR_DATA {
                    sequence: wanted,
                    sequence_oldest_available: oldest,
                    target_system: to.0,
                    target_component: to.1,
                    reason: apm::MavEventErrorReason::MAV_EVENT_ERROR_REASON_UNAVAILABLE,
                }),
            })
            .collect()
    }
}
