//! ArduCopter's HEARTBEAT, SYS_STATUS and the other messages that depend on its state.

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;

use super::ArduPilot;
use super::battery_watch::{Charge, volts};
use super::boot::{GPS_FIX_S, INITIALIZED_S, ORIGIN_S, SENSORS_SETTLED_S};
use super::modes;
use crate::model::config::Firmware;
use crate::model::core::Core;
use crate::model::telemetry::{self, id};

const PREARM: u32 = 0x1000_0000;
const GPS: u32 = 0x20;
const AHRS: u32 = 0x0020_0000;
const BATTERY: u32 = 0x0200_0000;
const FENCE: u32 = 0x0010_0000;
const POSITION_CONTROL: u32 = 0x6000;

/// All messages that the real one sends on request (90700977).
const KNOWN: &[u32] = &[
    0, 1, 2, 22, 24, 26, 27, 29, 30, 31, 32, 33, 35, 36, 42, 46, 49, 62, 65, 74, 83, 85, 87, 100, 105, 108, 116, 124,
    125, 127, 128, 129, 132, 133, 136, 137, 143, 147, 148, 152, 162, 163, 164, 165, 168, 173, 178, 180, 191, 192, 193,
    194, 225, 226, 235, 241, 242, 245, 246, 259, 260, 262, 264, 269, 271, 277, 280, 281, 285, 286, 295, 301, 373, 376,
    435, 437, 9005, 11030,
];

pub(super) fn known(message: u32) -> bool {
    KNOWN.contains(&message)
}

/// AUTOPILOT_VERSION.flight_sw_version, and the beginning of the commit as text: of the versions that were flown.
const fn build(firmware: Firmware) -> (u32, [u8; 8]) {
    match firmware {
        Firmware::Copter46 => (0x0406_02FF, *b"1ebd4d99"),
        Firmware::Copter48 => (0x0408_0000, *b"64a9c787"),
        Firmware::Recorded | Firmware::Px4V116 | Firmware::Px4V118 => (0x0407_0000, *b"90700977"),
    }
}

/// Id as in the real simulator: 17 characters, the first advanced by the instance, here the system id less one.
fn hardware_uid(system_id: u8) -> [u8; 18] {
    let mut uid = *b"0f3a61c58b2d947e6\0";
    uid[0] = uid[0].wrapping_add(system_id.wrapping_sub(1));
    uid
}

fn autopilot_version(core: &Core) -> MavMessage {
    let (flight_sw_version, flight_custom_version) = build(core.config.firmware);
    MavMessage::AUTOPILOT_VERSION(apm::AUTOPILOT_VERSION_DATA {
        capabilities: apm::MavProtocolCapability::from_bits_retain(64495),
        flight_sw_version,
        flight_custom_version,
        uid2: hardware_uid(core.config.system_id),
        ..apm::AUTOPILOT_VERSION_DATA::DEFAULT
    })
}

impl ArduPilot {
    pub(super) fn compose(&self, core: &Core, message: u32) -> Option<MavMessage> {
        Some(match message {
            id::HEARTBEAT => self.heartbeat(core),
            id::SYS_STATUS => self.sys_status(core),
            id::GPS_RAW_INT if self.position.has_fix(core) => {
                telemetry::gps_fix(core, apm::GpsFixType::GPS_FIX_TYPE_RTK_FIXED, 121)
            }
            id::GPS_RAW_INT => MavMessage::GPS_RAW_INT(apm::GPS_RAW_INT_DATA {
                eph: u16::MAX,
                epv: u16::MAX,
                ..apm::GPS_RAW_INT_DATA::DEFAULT
            }),
            id::GLOBAL_POSITION_INT if core.uptime_s < ORIGIN_S => {
                MavMessage::GLOBAL_POSITION_INT(apm::GLOBAL_POSITION_INT_DATA {
                    time_boot_ms: core.boot_ms(),
                    ..apm::GLOBAL_POSITION_INT_DATA::DEFAULT
                })
            }
            id::MISSION_CURRENT => self.mission_current(),
            id::FENCE_STATUS if !self.fence.is_on() => return None,
            id::FENCE_STATUS => self.fence_status(),
            id::BATTERY_STATUS => self.battery_status(core),
            id::AUTOPILOT_VERSION => autopilot_version(core),
            id::EKF_STATUS_REPORT => MavMessage::EKF_STATUS_REPORT(apm::EKF_STATUS_REPORT_DATA {
                flags: apm::EkfStatusFlags::from_bits_retain(match core.uptime_s {
                    t if t < 5.0 => 1024,
                    t if t < 6.0 => 0,
                    _ if !self.position.is_known(core) => 167,
                    _ => 831,
                }),
                ..apm::EKF_STATUS_REPORT_DATA::DEFAULT
            }),
            id::HOME_POSITION => telemetry::home_position(core, self.home?, self.home_set_us),
            id::GPS_GLOBAL_ORIGIN => telemetry::global_origin(self.origin?, self.home_set_us),
            id::EXTENDED_SYS_STATE => MavMessage::EXTENDED_SYS_STATE(apm::EXTENDED_SYS_STATE_DATA {
                vtol_state: apm::MavVtolState::MAV_VTOL_STATE_MC,
                landed_state: match self.landed_state_number(core) {
                    1 => apm::MavLandedState::MAV_LANDED_STATE_ON_GROUND,
                    3 => apm::MavLandedState::MAV_LANDED_STATE_TAKEOFF,
                    4 => apm::MavLandedState::MAV_LANDED_STATE_LANDING,
                    _ => apm::MavLandedState::MAV_LANDED_STATE_IN_AIR,
                },
            }),
            other => {
                return telemetry::compose(
                    core,
                    other,
                    self.home.map_or(core.config.home.amsl_m, |home| home.amsl_m),
                );
            }
        })
    }

    fn heartbeat(&self, core: &Core) -> MavMessage {
        let booting = core.uptime_s < INITIALIZED_S;
        let bits = if booting { 89 } else { modes::base_mode_bits(self.mode) };
        MavMessage::HEARTBEAT(apm::HEARTBEAT_DATA {
            custom_mode: self.mode,
            mavtype: apm::MavType::MAV_TYPE_QUADROTOR,
            autopilot: apm::MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA,
            base_mode: apm::MavModeFlag::from_bits_retain(bits | if self.armed_s.is_some() { 128 } else { 0 }),
            system_status: match () {
                () if booting => apm::MavState::MAV_STATE_BOOT,
                () if self.any_failsafe() => apm::MavState::MAV_STATE_CRITICAL,
                () if self.landed(core) => apm::MavState::MAV_STATE_STANDBY,
                () => apm::MavState::MAV_STATE_ACTIVE,
            },
            mavlink_version: 3,
        })
    }

    fn sys_status(&self, core: &Core) -> MavMessage {
        let since = |at: f64, bits: u32| if core.uptime_s >= at { bits } else { 0 };
        let control = if modes::needs_position(self.mode) {
            POSITION_CONTROL
        } else {
            0
        };
        // A fence that only reports never counts as on.
        let acts = core.params.get("FENCE_ACTION") > 0.0;
        let fence = if self.fence.is_on() && acts { FENCE } else { 0 };
        let fix = if self.position.has_fix(core) { GPS } else { 0 };
        let enabled = since(GPS_FIX_S, GPS) | control | fence;
        let mut health = (1_196_530_703 | fix | control | since(SENSORS_SETTLED_S, AHRS)) & !PREARM;
        if self.prearm_ok {
            health |= PREARM;
        }
        if self.watch.charge != Charge::Ok {
            health &= !BATTERY;
        }
        if self.fence.is_breached() {
            health &= !FENCE;
        }
        let sensors = apm::MavSysStatusSensor::from_bits_retain;
        MavMessage::SYS_STATUS(apm::SYS_STATUS_DATA {
            onboard_control_sensors_present: sensors(1_399_979_023 | since(GPS_FIX_S, GPS)),
            onboard_control_sensors_enabled: sensors(1_380_031_503 | enabled | since(SENSORS_SETTLED_S, AHRS)),
            onboard_control_sensors_health: sensors(health),
            voltage_battery: (volts(core) * 1000.0).round() as u16,
            current_battery: if self.armed_s.is_some() { 3000 } else { 0 },
            battery_remaining: core.battery.remaining(),
            ..apm::SYS_STATUS_DATA::DEFAULT
        })
    }

    fn battery_status(&self, core: &Core) -> MavMessage {
        let mut voltages = [u16::MAX; 10];
        voltages[0] = (volts(core) * 1000.0).round() as u16;
        MavMessage::BATTERY_STATUS(apm::BATTERY_STATUS_DATA {
            temperature: i16::MAX,
            voltages,
            current_battery: if self.armed_s.is_some() { 3000 } else { 0 },
            current_consumed: core.battery.consumed_mah(),
            battery_remaining: core.battery.remaining(),
            charge_state: match self.watch.charge {
                _ if core.uptime_s < super::boot::BATTERY_READ_S => {
                    apm::MavBatteryChargeState::MAV_BATTERY_CHARGE_STATE_UNHEALTHY
                }
                Charge::Ok => apm::MavBatteryChargeState::MAV_BATTERY_CHARGE_STATE_OK,
                Charge::Low => apm::MavBatteryChargeState::MAV_BATTERY_CHARGE_STATE_LOW,
                Charge::Critical => apm::MavBatteryChargeState::MAV_BATTERY_CHARGE_STATE_CRITICAL,
            },
            ..apm::BATTERY_STATUS_DATA::DEFAULT
        })
    }

    fn fence_status(&self) -> MavMessage {
        MavMessage::FENCE_STATUS(apm::FENCE_STATUS_DATA {
            breach_time: self.fence.breached_ms,
            breach_count: self.fence.breaches,
            breach_status: u8::from(self.fence.is_breached()),
            breach_type: match self.fence.breach_type() {
                1 => apm::FenceBreach::FENCE_BREACH_MINALT,
                2 => apm::FenceBreach::FENCE_BREACH_MAXALT,
                3 => apm::FenceBreach::FENCE_BREACH_BOUNDARY,
                _ => apm::FenceBreach::FENCE_BREACH_NONE,
            },
            ..apm::FENCE_STATUS_DATA::DEFAULT
        })
    }
}
