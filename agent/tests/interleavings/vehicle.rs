//! A vehicle for random runs that obeys, refuses and fails; shares only the messages with the agent.

use link::dialect::{
    BATTERY_STATUS_DATA, COMMAND_ACK_DATA, EXTENDED_SYS_STATE_DATA, GLOBAL_POSITION_INT_DATA, HEARTBEAT_DATA,
    HOME_POSITION_DATA, MavAutopilot, MavBatteryChargeState, MavCmd, MavLandedState, MavMessage, MavModeFlag,
    MavResult, MavState, MavSysStatusSensor, MavType, SYS_STATUS_DATA,
};

pub const SYSTEM: u8 = 7;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    ArduCopter,
    Px4,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// STABILIZE or POSCTL: a pilot's.
    Pilot,
    Station,
    Takeoff,
    Land,
    Return,
}

#[derive(Debug)]
pub struct Vehicle {
    pub kind: Kind,
    pub mode: Mode,
    pub armed: bool,
    pub in_air: bool,
    pub height: f64,
    pub target: f64,
    pub ready: bool,
    pub remaining: i8,
    pub boot_at: u64,
    pub still_since: u64,
}

impl Vehicle {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            mode: if kind == Kind::Px4 { Mode::Station } else { Mode::Pilot },
            armed: false,
            in_air: false,
            height: 0.0,
            target: 0.0,
            ready: true,
            remaining: 90,
            boot_at: 0,
            still_since: 0,
        }
    }

    pub fn custom_mode(&self) -> u32 {
        match (self.kind, self.mode) {
            (Kind::ArduCopter, Mode::Pilot) => 0,
            (Kind::ArduCopter, Mode::Station | Mode::Takeoff) => 4,
            (Kind::ArduCopter, Mode::Land) => 9,
            (Kind::ArduCopter, Mode::Return) => 6,
            (Kind::Px4, Mode::Pilot) => 0x0003_0000,
            (Kind::Px4, Mode::Station) => 0x0304_0000,
            (Kind::Px4, Mode::Takeoff) => 0x0204_0000,
            (Kind::Px4, Mode::Land) => 0x0604_0000,
            (Kind::Px4, Mode::Return) => 0x0504_0000,
        }
    }

    pub fn fly(&mut self, now: u64, ms: u64) {
        #[allow(clippy::cast_precision_loss, reason = "some hundred milliseconds")]
        let seconds = ms as f64 / 1000.0;
        if !self.armed {
            return;
        }
        match self.mode {
            Mode::Land | Mode::Return => {
                self.height = (self.height - seconds).max(0.0);
                if self.height <= 0.0 {
                    if self.in_air {
                        self.in_air = false;
                        self.still_since = now;
                    }
                    if now.saturating_sub(self.still_since) > 2000 {
                        self.disarm();
                    }
                }
            }
            Mode::Pilot | Mode::Station | Mode::Takeoff => {
                if self.target > 0.0 {
                    self.in_air = true;
                    self.height = (self.height + 2.0 * seconds).min(self.target);
                    if self.height >= self.target && self.mode == Mode::Takeoff {
                        self.mode = Mode::Station;
                    }
                } else if !self.in_air && now.saturating_sub(self.still_since) > 10_000 {
                    self.disarm();
                }
            }
        }
    }

    fn disarm(&mut self) {
        self.armed = false;
        self.target = 0.0;
        if self.kind == Kind::Px4 {
            self.mode = Mode::Station;
        }
    }

    pub fn obey(&mut self, command: MavCmd, p: [f32; 3], now: u64) -> Option<MavMessage> {
        let result = match command {
            MavCmd::MAV_CMD_DO_SET_MODE => {
                self.mode = Mode::Station;
                MavResult::MAV_RESULT_ACCEPTED
            }
            MavCmd::MAV_CMD_COMPONENT_ARM_DISARM if self.ready && !self.armed && self.mode == Mode::Station => {
                self.armed = true;
                self.still_since = now;
                MavResult::MAV_RESULT_ACCEPTED
            }
            MavCmd::MAV_CMD_COMPONENT_ARM_DISARM => MavResult::MAV_RESULT_FAILED,
            MavCmd::MAV_CMD_NAV_TAKEOFF if self.armed && !self.in_air && p[0].to_bits() != 1 => {
                self.target = 10.0;
                self.mode = if self.kind == Kind::Px4 {
                    Mode::Takeoff
                } else {
                    Mode::Station
                };
                MavResult::MAV_RESULT_ACCEPTED
            }
            MavCmd::MAV_CMD_NAV_TAKEOFF => MavResult::MAV_RESULT_FAILED,
            MavCmd::MAV_CMD_NAV_LAND => {
                self.mode = Mode::Land;
                MavResult::MAV_RESULT_ACCEPTED
            }
            MavCmd::MAV_CMD_NAV_RETURN_TO_LAUNCH => {
                self.mode = Mode::Return;
                MavResult::MAV_RESULT_ACCEPTED
            }
            _ => MavResult::MAV_RESULT_ACCEPTED,
        };
        Some(MavMessage::COMMAND_ACK(COMMAND_ACK_DATA {
            command,
            result,
            target_system: SYSTEM,
            target_component: 191,
            ..COMMAND_ACK_DATA::default()
        }))
    }

    pub fn reboot(&mut self, now: u64) {
        *self = Self {
            boot_at: now,
            ready: self.ready,
            remaining: self.remaining,
            ..Self::new(self.kind)
        };
    }

    pub fn reports(&self, now: u64) -> Vec<MavMessage> {
        let mut base_mode = MavModeFlag::MAV_MODE_FLAG_CUSTOM_MODE_ENABLED;
        base_mode.set(MavModeFlag::MAV_MODE_FLAG_SAFETY_ARMED, self.armed);
        let mut health = MavSysStatusSensor::empty();
        health.set(MavSysStatusSensor::MAV_SYS_STATUS_PREARM_CHECK, self.ready);
        #[allow(clippy::cast_possible_truncation, reason = "some meters")]
        let height = (self.height * 1000.0) as i32;
        vec![
            MavMessage::HEARTBEAT(HEARTBEAT_DATA {
                custom_mode: self.custom_mode(),
                mavtype: MavType::MAV_TYPE_QUADROTOR,
                autopilot: match self.kind {
                    Kind::ArduCopter => MavAutopilot::MAV_AUTOPILOT_ARDUPILOTMEGA,
                    Kind::Px4 => MavAutopilot::MAV_AUTOPILOT_PX4,
                },
                base_mode,
                system_status: MavState::MAV_STATE_STANDBY,
                mavlink_version: 3,
            }),
            MavMessage::EXTENDED_SYS_STATE(EXTENDED_SYS_STATE_DATA {
                landed_state: match (self.in_air, self.mode) {
                    (false, _) => MavLandedState::MAV_LANDED_STATE_ON_GROUND,
                    (true, Mode::Land | Mode::Return) => MavLandedState::MAV_LANDED_STATE_LANDING,
                    (true, _) if self.height < self.target => MavLandedState::MAV_LANDED_STATE_TAKEOFF,
                    (true, _) => MavLandedState::MAV_LANDED_STATE_IN_AIR,
                },
                ..EXTENDED_SYS_STATE_DATA::default()
            }),
            MavMessage::SYS_STATUS(SYS_STATUS_DATA {
                onboard_control_sensors_health: health,
                voltage_battery: 12_600,
                battery_remaining: self.remaining,
                ..SYS_STATUS_DATA::default()
            }),
            MavMessage::GLOBAL_POSITION_INT(GLOBAL_POSITION_INT_DATA {
                time_boot_ms: u32::try_from(now.saturating_sub(self.boot_at)).unwrap_or(u32::MAX),
                lat: 473_977_420,
                lon: 85_455_940,
                alt: 488_000 + height,
                relative_alt: height,
                ..GLOBAL_POSITION_INT_DATA::default()
            }),
            MavMessage::HOME_POSITION(HOME_POSITION_DATA {
                latitude: 473_977_420,
                longitude: 85_455_940,
                altitude: 488_000,
                ..HOME_POSITION_DATA::default()
            }),
            MavMessage::BATTERY_STATUS(BATTERY_STATUS_DATA {
                battery_remaining: self.remaining,
                charge_state: MavBatteryChargeState::MAV_BATTERY_CHARGE_STATE_UNDEFINED,
                voltages: [4000; 10],
                ..BATTERY_STATUS_DATA::default()
            }),
        ]
    }
}
