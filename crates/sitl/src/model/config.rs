//! Settings of one simulated vehicle before it boots.

use mavlink::dialects::ardupilotmega::MavBatteryFunction;

use super::geo::Wgs84;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Autopilot {
    ArduPilot,
    Px4,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Firmware {
    /// ArduCopter 4.7-dev of July 2025, PX4 1.17-alpha of August 2025.
    #[default]
    Recorded,
    Copter46,
    Copter48,
    Px4V116,
    Px4V118,
}

impl Firmware {
    pub const VERSIONS: [Self; 4] = [Self::Copter46, Self::Copter48, Self::Px4V116, Self::Px4V118];

    pub fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Copter46 => "copter-4.6",
            Self::Copter48 => "copter-4.8",
            Self::Px4V116 => "px4-1.16",
            Self::Px4V118 => "px4-1.18",
        }
    }

    pub fn autopilot(self) -> Option<Autopilot> {
        match self {
            Self::Recorded => None,
            Self::Copter46 | Self::Copter48 => Some(Autopilot::ArduPilot),
            Self::Px4V116 | Self::Px4V118 => Some(Autopilot::Px4),
        }
    }

    /// Answers with PARAM_ERROR (345).
    pub(super) fn names_missing_parameters(self) -> bool {
        matches!(self, Self::Copter48 | Self::Px4V118)
    }

    /// The link accepts DO_SET_MODE (176) before the commander has judged it (recorded: up to PX4 1.17-alpha).
    pub(super) fn accepts_modes_unjudged(self) -> bool {
        self != Self::Px4V118
    }
}

impl Autopilot {
    pub fn name(self) -> &'static str {
        match self {
            Self::ArduPilot => "ardupilot",
            Self::Px4 => "px4",
        }
    }
}

/// Only PX4 depends on it, in its unrequested messages and their rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// Mode Normal, 1200 bytes a second.
    Radio,
    /// Serial line at 57600 baud: mode Onboard, more messages than fit.
    Companion,
    /// Mode Normal, room for everything.
    Network,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpsError {
    /// Added to all altitudes above mean sea level, at home as in flight: a receiver of another datum.
    pub altitude_offset_m: f64,
    /// Largest slow wander of the estimate over ground in the air.
    pub wander_m: f64,
    /// GPS_RAW_INT.h_acc; 0: unknown.
    pub horizontal_accuracy_m: f64,
    /// GPS_RAW_INT.v_acc; 0: unknown.
    pub vertical_accuracy_m: f64,
}

impl Default for GpsError {
    fn default() -> Self {
        Self {
            altitude_offset_m: 0.0,
            wander_m: 0.0,
            horizontal_accuracy_m: 0.9,
            vertical_accuracy_m: 1.78,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OtherBattery {
    /// BATTERY_STATUS.id; the motors' battery has 0.
    pub id: u8,
    /// BATTERY_STATUS.battery_function: ArduPilot sends 0 (unknown), PX4 1 (all); 3 is avionics, 4 a payload.
    pub function: MavBatteryFunction,
    pub percent: i8,
    pub volts: f64,
}

#[derive(Clone, Debug)]
pub struct VehicleConfig {
    pub autopilot: Autopilot,
    pub firmware: Firmware,
    pub system_id: u8,
    /// Place at boot; its altitude is the ground's.
    pub home: Wgs84,
    pub battery_percent: f64,
    pub battery_percent_per_minute: f64,
    pub never_ready: bool,
    /// Peers send heartbeats once in a second of their own, so every timeout on them is stretched by this (time-lapse).
    pub seconds_per_peer_second: f64,
    /// Names that the autopilot lacks are ignored.
    pub parameters: Vec<(String, f32)>,
    pub missing_parameters: Vec<String>,
    /// Full whenever the motors stop, as in PX4's own battery simulation.
    pub battery_refills: bool,
    pub other_batteries: Vec<OtherBattery>,
    pub port: Port,
    /// Refuses takeoff and reposition by COMMAND_LONG, in a local frame, or with an unused value, as PX4 after 1.17.
    pub strict_positions: bool,
    pub gps: GpsError,
    /// An autopilot that runs as a process of a computer cannot.
    pub can_reboot: bool,
}

impl VehicleConfig {
    pub fn new(autopilot: Autopilot, system_id: u8, home: Wgs84) -> Self {
        Self {
            autopilot,
            firmware: Firmware::default(),
            system_id,
            home,
            battery_percent: 100.0,
            battery_percent_per_minute: 4.0,
            never_ready: false,
            seconds_per_peer_second: 1.0,
            parameters: Vec::new(),
            missing_parameters: Vec::new(),
            battery_refills: false,
            other_batteries: Vec::new(),
            port: Port::Radio,
            strict_positions: false,
            gps: GpsError::default(),
            can_reboot: true,
        }
    }
}
