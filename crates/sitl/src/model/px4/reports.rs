//! PX4's HEARTBEAT, SYS_STATUS and the other messages that depend on its state.

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;

use super::battery_watch::{Charge, charge, volts};
use super::modes::Mode;
use super::{Px4, metadata};
use crate::model::config::Firmware;
use crate::model::core::Core;
use crate::model::outdated;
use crate::model::telemetry::{self, id};

const PREARM: u32 = 0x1000_0000;
const BATTERY: u32 = 0x0200_0000;
const COMPASS: u32 = 0x4;
const GPS: u32 = 0x20;
const POSITION_CONTROL: u32 = 0x4000;
pub(super) const HOME_S: f64 = 2.05;

/// All those of the real one (a70a5583).
const STREAMED: &[u32] = &[
    1, 2, 4, 8, 24, 25, 26, 29, 30, 31, 32, 33, 36, 49, 62, 65, 69, 74, 76, 83, 85, 87, 93, 105, 106, 111, 112, 115,
    116, 124, 129, 132, 137, 141, 143, 147, 148, 149, 192, 225, 230, 231, 233, 235, 241, 242, 245, 246, 250, 251, 253,
    254, 261, 263, 264, 265, 280, 281, 283, 284, 285, 286, 290, 291, 296, 300, 330, 331, 339, 350, 360, 361, 371, 372,
    375, 380, 395, 397, 435, 436, 10001, 12900, 12901, 12904, 12918, 12920,
];
/// Streamed messages without content: a single request is refused.
const EMPTY: &[u32] = &[
    24, 25, 62, 65, 76, 87, 106, 112, 116, 124, 129, 137, 143, 149, 225, 231, 233, 246, 250, 251, 253, 254, 263, 265,
    280, 281, 283, 284, 285, 290, 291, 296, 330, 339, 350, 360, 361, 371, 372, 380, 12918, 12920,
];

pub(super) fn is_streamed(message: u32) -> bool {
    STREAMED.contains(&message)
}

pub(super) fn known(message: u32) -> bool {
    message == 0 || STREAMED.contains(&message) && !EMPTY.contains(&message)
}

/// AUTOPILOT_VERSION.flight_sw_version, and the beginning of the commit as a number: of the versions that were flown.
const fn build(firmware: Firmware) -> (u32, u64) {
    match firmware {
        Firmware::Px4V116 => (0x0110_00FF, 0x6ea3_5391_5700_0000),
        Firmware::Px4V118 => (0x0112_0080, 0x83c4_f4e5_8000_0000),
        Firmware::Recorded | Firmware::Copter46 | Firmware::Copter48 => (0x0111_0040, 0xa70a_5583_9300_0000),
    }
}

fn autopilot_version(core: &Core) -> MavMessage {
    let (version, commit) = build(core.config.firmware);
    MavMessage::AUTOPILOT_VERSION(apm::AUTOPILOT_VERSION_DATA {
        capabilities: apm::MavProtocolCapability::from_bits_retain(59647),
        uid: 5_283_920_058_631_409_231 + u64::from(core.config.system_id) - 1,
        flight_sw_version: version,
        middleware_sw_version: version,
        os_sw_version: 101_854_463,
        board_version: 1,
        flight_custom_version: commit.to_le_bytes(),
        middleware_custom_version: commit.to_le_bytes(),
        ..apm::AUTOPILOT_VERSION_DATA::DEFAULT
    })
}

impl Px4 {
    pub(super) fn compose(&self, core: &Core, message: u32) -> Option<MavMessage> {
        Some(match message {
            id::HEARTBEAT => self.heartbeat(core),
            id::SYS_STATUS => self.sys_status(core),
            id::PING => outdated::ping(core),
            id::GPS_RAW_INT if !self.estimator.has_fix() => telemetry::no_gps_fix(core),
            id::GPS_RAW_INT => telemetry::gps_fix(core, apm::GpsFixType::GPS_FIX_TYPE_3D_FIX, 70),
            id::GLOBAL_POSITION_INT | id::LOCAL_POSITION_NED if core.uptime_s < HOME_S => return None,
            id::MISSION_CURRENT => self.mission_current(),
            id::COMPONENT_METADATA => metadata::component_metadata(core),
            id::COMPONENT_INFORMATION => metadata::component_information(core),
            id::BATTERY_STATUS => self.battery_status(core),
            id::AUTOPILOT_VERSION => autopilot_version(core),
            id::ESTIMATOR_STATUS => MavMessage::ESTIMATOR_STATUS(apm::ESTIMATOR_STATUS_DATA {
                time_usec: core.boot_us(),
                flags: apm::EstimatorStatusFlags::from_bits_retain(
                    self.estimator.flags(core, core.airframe.on_ground()),
                ),
                ..apm::ESTIMATOR_STATUS_DATA::DEFAULT
            }),
            id::HOME_POSITION => {
                let (home, set_us) = self.home.reported()?;
                telemetry::home_position(core, home, set_us)
            }
            id::GPS_GLOBAL_ORIGIN => telemetry::global_origin(core.config.home, 0),
            id::EXTENDED_SYS_STATE => MavMessage::EXTENDED_SYS_STATE(apm::EXTENDED_SYS_STATE_DATA {
                vtol_state: apm::MavVtolState::MAV_VTOL_STATE_UNDEFINED,
                landed_state: match self.landed_number(core) {
                    1 => apm::MavLandedState::MAV_LANDED_STATE_ON_GROUND,
                    3 => apm::MavLandedState::MAV_LANDED_STATE_TAKEOFF,
                    4 => apm::MavLandedState::MAV_LANDED_STATE_LANDING,
                    _ => apm::MavLandedState::MAV_LANDED_STATE_IN_AIR,
                },
            }),
            id::CURRENT_EVENT_SEQUENCE => self.events.current_sequence(),
            id::CURRENT_MODE => self.current_mode(),
            other => {
                return telemetry::compose(core, other, self.home.amsl_m(core));
            }
        })
    }

    fn heartbeat(&self, core: &Core) -> MavMessage {
        let armed = self.armed_s.is_some();
        MavMessage::HEARTBEAT(apm::HEARTBEAT_DATA {
            custom_mode: self.mode.custom_mode(),
            mavtype: apm::MavType::MAV_TYPE_QUADROTOR,
            autopilot: apm::MavAutopilot::MAV_AUTOPILOT_PX4,
            base_mode: apm::MavModeFlag::from_bits_retain(self.mode.base_mode() | if armed { 128 } else { 0 }),
            system_status: match (armed, self.health(core).can_arm()) {
                _ if self.mode == Mode::Termination => apm::MavState::MAV_STATE_FLIGHT_TERMINATION,
                (true, _) if self.failsafe.is_some() => apm::MavState::MAV_STATE_CRITICAL,
                (true, _) => apm::MavState::MAV_STATE_ACTIVE,
                (false, true) => apm::MavState::MAV_STATE_STANDBY,
                (false, false) => apm::MavState::MAV_STATE_UNINIT,
            },
            mavlink_version: 3,
        })
    }

    fn current_mode(&self) -> MavMessage {
        MavMessage::CURRENT_MODE(apm::CURRENT_MODE_DATA {
            custom_mode: self.mode.custom_mode(),
            intended_custom_mode: self.intended.custom_mode(),
            standard_mode: match self.mode {
                Mode::Takeoff => apm::MavStandardMode::MAV_STANDARD_MODE_TAKEOFF,
                Mode::Land => apm::MavStandardMode::MAV_STANDARD_MODE_LAND,
                Mode::Return => apm::MavStandardMode::MAV_STANDARD_MODE_SAFE_RECOVERY,
                Mode::Mission => apm::MavStandardMode::MAV_STANDARD_MODE_MISSION,
                Mode::Position => apm::MavStandardMode::MAV_STANDARD_MODE_POSITION_HOLD,
                Mode::Altitude => apm::MavStandardMode::MAV_STANDARD_MODE_ALTITUDE_HOLD,
                _ => apm::MavStandardMode::MAV_STANDARD_MODE_NON_STANDARD,
            },
        })
    }

    fn sys_status(&self, core: &Core) -> MavMessage {
        let health = self.health(core);
        let mut healthy = 52_463_679;
        if health.position {
            healthy |= POSITION_CONTROL;
        }
        if !self.estimator.has_fix() {
            healthy &= !GPS;
        }
        if health.can_arm() {
            healthy |= PREARM;
        }
        if health.compass_missing {
            healthy &= !COMPASS;
        }
        if charge(core) != Charge::Ok {
            healthy &= !BATTERY;
        }
        let sensors = apm::MavSysStatusSensor::from_bits_retain;
        MavMessage::SYS_STATUS(apm::SYS_STATUS_DATA {
            onboard_control_sensors_present: sensors(33_570_863),
            onboard_control_sensors_enabled: sensors(33_636_399),
            onboard_control_sensors_health: sensors(healthy),
            load: 98,
            voltage_battery: (volts(core) * 1000.0).round() as u16,
            current_battery: -100,
            battery_remaining: core.battery.estimated_remaining(),
            ..apm::SYS_STATUS_DATA::DEFAULT
        })
    }

    fn battery_status(&self, core: &Core) -> MavMessage {
        let mut voltages = [u16::MAX; 10];
        voltages[0] = (volts(core) * 1000.0).round() as u16;
        MavMessage::BATTERY_STATUS(apm::BATTERY_STATUS_DATA {
            energy_consumed: -1,
            temperature: i16::MAX,
            voltages,
            current_battery: -100,
            battery_function: apm::MavBatteryFunction::MAV_BATTERY_FUNCTION_ALL,
            mavtype: apm::MavBatteryType::MAV_BATTERY_TYPE_LIPO,
            battery_remaining: core.battery.estimated_remaining(),
            charge_state: match charge(core) {
                Charge::Ok => apm::MavBatteryChargeState::MAV_BATTERY_CHARGE_STATE_OK,
                Charge::Low => apm::MavBatteryChargeState::MAV_BATTERY_CHARGE_STATE_LOW,
                Charge::Critical => apm::MavBatteryChargeState::MAV_BATTERY_CHARGE_STATE_CRITICAL,
                Charge::Emergency => apm::MavBatteryChargeState::MAV_BATTERY_CHARGE_STATE_EMERGENCY,
            },
            ..apm::BATTERY_STATUS_DATA::DEFAULT
        })
    }
}
