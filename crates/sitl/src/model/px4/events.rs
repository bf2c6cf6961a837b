//! PX4 events (EVENT, message 410): names, log levels and arguments as recorded from PX4 a70a5583.
//! An id is component 1 in the high byte, and 24 bits of the FNV-1a hash of the event's name below.

use std::collections::VecDeque;

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;

const REMEMBERED: usize = 20;
/// Wraps within seconds after boot, as on the real one.
const FIRST_SEQUENCE: u16 = 65530;

/// Log levels: internal in the high half, external in the low half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) id: u32,
    levels: u8,
}

impl Kind {
    const fn new(name: &'static str, levels: u8) -> Self {
        Self {
            name,
            id: id_of(name),
            levels,
        }
    }
}

const fn id_of(name: &str) -> u32 {
    let bytes = name.as_bytes();
    let mut hash: u32 = 0x811c_9dc5;
    let mut index = 0;
    while index < bytes.len() {
        hash = (hash ^ bytes[index] as u32).wrapping_mul(0x0100_0193);
        index += 1;
    }
    (1 << 24) | (hash & 0x00FF_FFFF)
}

pub(super) const HEALTH_SUMMARY: Kind = Kind::new("commander_health_summary", 0x88);
pub(super) const ARMING_CHECK_SUMMARY: Kind = Kind::new("commander_arming_check_summary", 0x88);
pub(super) const NO_ATTITUDE: Kind = Kind::new("check_modes_attitude", 0x22);
pub(super) const NO_LOCAL_POSITION: Kind = Kind::new("check_modes_local_pos", 0x33);
pub(super) const NO_GLOBAL_POSITION: Kind = Kind::new("check_modes_global_pos", 0x33);
pub(super) const NO_ALTITUDE: Kind = Kind::new("check_modes_local_alt", 0x22);
pub(super) const NO_MISSION: Kind = Kind::new("check_modes_mission", 0x66);
pub(super) const NO_OFFBOARD_SIGNAL: Kind = Kind::new("check_modes_offboard_signal", 0x33);
pub(super) const NO_MANUAL_CONTROL: Kind = Kind::new("check_modes_manual_control", 0x44);
pub(super) const NO_GROUND_STATION: Kind = Kind::new("check_rc_dl_no_dllink", 0x66);
/// `NO_GROUND_STATION` where arming needs one.
pub(super) const GROUND_STATION_NEEDED: Kind = Kind::new("check_rc_dl_no_dllink", 0x33);
pub(super) const MODE_NOT_SUITABLE: Kind = Kind::new("check_modes_cannot_takeoff", 0x66);
pub(super) const COMPASS_MISSING: Kind = Kind::new("check_mag_sys_has_mag_missing", 0x33);
pub(super) const BATTERY_LOW_CHECK: Kind = Kind::new("check_battery_low", 0x22);
pub(super) const BATTERY_CRITICAL_CHECK: Kind = Kind::new("check_battery_critical", 0x22);
pub(super) const BATTERY_EMERGENCY_CHECK: Kind = Kind::new("check_battery_emergency", 0x00);
pub(super) const MOTOR_FAILED: Kind = Kind::new("check_failure_detector_motor", 0x22);
pub(super) const REMOTE_ID_MISSING: Kind = Kind::new("check_open_drone_id_missing", 0x33);
pub(super) const FENCE_VIOLATED: Kind = Kind::new("check_gf_violation", 0x33);

pub(super) const ARM_DENIED: Kind = Kind::new("commander_arm_denied_resolve_failures", 0x62);
pub(super) const ARMED_BY: Kind = Kind::new("commander_armed_by", 0x66);
pub(super) const DISARMED_BY: Kind = Kind::new("commander_disarmed_by", 0x66);
pub(super) const DISARM_DENIED: Kind = Kind::new("commander_disarm_denied_not_landed", 0x62);
pub(super) const BAD_ARM_PARAMETER: Kind = Kind::new("commander_unsupported_arm_disarm_param", 0x33);
pub(super) const TAKEOFF_DETECTED: Kind = Kind::new("commander_takeoff_detected", 0x66);
pub(super) const LANDING_HERE: Kind = Kind::new("commander_landing_current_pos", 0x66);
pub(super) const LANDING_DETECTED: Kind = Kind::new("commander_landing_detected", 0x66);
pub(super) const MODE_NOT_AVAILABLE: Kind = Kind::new("commander_modeswitch_not_avail", 0x62);
pub(super) const BAD_AUTO_MODE: Kind = Kind::new("commander_unsupported_auto_mode", 0x33);
pub(super) const BAD_MAIN_MODE: Kind = Kind::new("commander_unsupported_main_mode", 0x33);
pub(super) const NO_MISSION_TO_START: Kind = Kind::new("commander_mission_start_denied_no_mission", 0x62);
pub(super) const RETURNING: Kind = Kind::new("commander_rtl", 0x66);
pub(super) const RETURN_HEIGHT: Kind = Kind::new("vrtl_return_at", 0x66);
pub(super) const RETURN_LANDING: Kind = Kind::new("rtl_land_at_destination", 0x66);
pub(super) const DEFAULT_TAKEOFF_HEIGHT: Kind = Kind::new("navigator_takeoff_default_alt", 0x66);
pub(super) const ALREADY_HIGHER: Kind = Kind::new("navigator_takeoff_already_higher", 0x63);

pub(super) const LOW_BATTERY: Kind = Kind::new("commander_failsafe_enter_low_bat", 0x64);
pub(super) const NO_SHUTDOWN: Kind = Kind::new("commander_low_bat_shutdown_failed", 0x30);
pub(super) const FAILSAFE_HOLD: Kind = Kind::new("commander_failsafe_enter_hold", 0x42);
pub(super) const FAILSAFE: Kind = Kind::new("commander_failsafe_enter", 0x42);
/// Causes without an event of their own, such as a lost position or a breached fence.
pub(super) const FAILSAFE_GENERIC_HOLD: Kind = Kind::new("commander_failsafe_enter_generic_hold", 0x42);
/// `FAILSAFE_GENERIC_HOLD` without the wait.
pub(super) const FAILSAFE_GENERIC: Kind = Kind::new("commander_failsafe_enter_generic", 0x42);
pub(super) const TAKEN_OVER: Kind = Kind::new("failsafe_rc_override", 0x66);
pub(super) const GCS_LOST: Kind = Kind::new("commander_gcs_lost", 0x64);
pub(super) const GCS_REGAINED: Kind = Kind::new("commander_dl_regained", 0x66);
pub(super) const COMPANION_LOST: Kind = Kind::new("commander_mission_comp_lost", 0x22);
pub(super) const COMPANION_REGAINED: Kind = Kind::new("commander_onboard_ctrl_regained", 0x66);

pub(super) const MISSION_ITEM_INVALID: Kind = Kind::new("mavlink_mission_mis_item_invalid", 0x33);
pub(super) const MISSION_TIMEOUT: Kind = Kind::new("mavlink_mission_op_timeout", 0x33);
pub(super) const MISSION_OUTSIDE_FENCE: Kind = Kind::new("navigator_mis_geofence_violation", 0x63);
pub(super) const FENCE_WITHOUT_HOME: Kind = Kind::new("navigator_geofence_invalid_against_home", 0x42);
pub(super) const MISSION_BEGINS: Kind = Kind::new("mission_execute", 0x66);
pub(super) const MISSION_CLIMBS: Kind = Kind::new("mission_climb_before_start", 0x66);
pub(super) const MISSION_NOT_VALID: Kind = Kind::new("mission_not_valid_loiter", 0x93);
pub(super) const MISSION_ENDS: Kind = Kind::new("mission_finished_loiter", 0x66);

/// Arguments of `FAILSAFE_HOLD` and `FAILSAFE`.
pub(super) const CAUSE_GENERIC: u8 = 0;
pub(super) const CAUSE_GCS_LOSS: u8 = 2;
pub(super) const CAUSE_CRITICAL_BATTERY: u8 = 4;
pub(super) const CAUSE_EMERGENCY_BATTERY: u8 = 5;

/// Arguments of `ARMED_BY` and `DISARMED_BY`.
pub(super) const BY_COMMAND: u8 = 4;
pub(super) const BY_MISSION_START: u8 = 5;
pub(super) const BY_LANDING: u8 = 6;
pub(super) const BY_PREFLIGHT_TIMEOUT: u8 = 7;
pub(super) const BY_FAILSAFE: u8 = 14;

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

    pub(super) fn raise(&mut self, kind: Kind, arguments: &[u8], boot_ms: u32) -> MavMessage {
        let mut bytes = [0u8; 40];
        let len = arguments.len().min(40);
        bytes[..len].copy_from_slice(&arguments[..len]);
        let event = apm::EVENT_DATA {
            id: kind.id,
            event_time_boot_ms: boot_ms,
            sequence: self.next,
            log_levels: kind.levels,
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

    pub(super) fn current_sequence(&self) -> MavMessage {
        MavMessage::CURRENT_EVENT_SEQUENCE(apm::CURRENT_EVENT_SEQUENCE_DATA {
            sequence: self.next.wrapping_sub(1),
            flags: apm::MavEventCurrentSequenceFlags::from_bits_retain(0),
        })
    }

    /// Answers REQUEST_EVENT: remembered events, an error for each forgotten one.
    pub(super) fn replay(&self, first: u16, last: u16, to: (u8, u8)) -> Vec<MavMessage> {
        let count = last.wrapping_sub(first).min(2 * REMEMBERED as u16);
        let oldest = self.past.front().map_or(self.next, |event| event.sequence);
        // Future events are not answered.
        let exists = |wanted: u16| self.next.wrapping_sub(1).wrapping_sub(wanted) < u16::MAX / 2;
        (0..=count)
            .map(|step| first.wrapping_add(step))
            .filter(|wanted| exists(*wanted))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_event_follows_from_its_name_as_recorded() {
        let recorded = [
            (ARM_DENIED, 16_910_493),
            (ARMED_BY, 26_266_355),
            (NO_GROUND_STATION, 23_579_003),
            (RETURN_HEIGHT, 22_161_044),
            (BATTERY_EMERGENCY_CHECK, 28_121_863),
            (MISSION_TIMEOUT, 25_297_520),
            (FENCE_WITHOUT_HOME, 27_750_677),
        ];
        for (kind, id) in recorded {
            assert_eq!(kind.id, id, "{}", kind.name);
        }
    }

    #[test]
    fn a_forgotten_event_is_an_error_that_names_the_oldest_and_one_to_come_is_no_answer() {
        let mut events = Events::new();
        for _ in 0..25 {
            events.raise(ARM_DENIED, &[], 0);
        }
        let forgotten = events.replay(FIRST_SEQUENCE, FIRST_SEQUENCE, (255, 190));
        let oldest = FIRST_SEQUENCE.wrapping_add(5);
        assert!(matches!(&forgotten[..], [MavMessage::RESPONSE_EVENT_ERROR(error)]
            if error.sequence == FIRST_SEQUENCE && error.sequence_oldest_available == oldest));
        let coming = FIRST_SEQUENCE.wrapping_add(25);
        assert_eq!(events.replay(coming, coming.wrapping_add(3), (255, 190)).len(), 0);
    }
}
