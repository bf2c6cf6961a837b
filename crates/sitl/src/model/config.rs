//! The settings of one simulated vehicle before it boots.

use mavlink::dialects::ardupilotmega::MavBatteryFunction;

use super::geo::Wgs84;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Autopilot {
    ArduPilot,
    Px4,
}

/// Version of an autopilot: names, units and presence of parameters, and what depends on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Firmware {
    /// The one that was recorded: ArduCopter 4.7-dev of July 2025, PX4 1.17-alpha of August 2025.
    #[default]
    Recorded,
    Copter46,
    Copter48,
    Px4V116,
    Px4V118,
}

impl Firmware {
    pub const VERSIONS: [Self; 4] = [Self::Copter46, Self::Copter48, Self::Px4V116, Self::Px4V118];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Copter46 => "copter-4.6",
            Self::Copter48 => "copter-4.8",
            Self::Px4V116 => "px4-1.16",
            Self::Px4V118 => "px4-1.18",
        }
    }

    /// `None` for the recorded versions of both.
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

/// Configuration of a port; only PX4 depends on it, in its unrequested messages and their rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// A telemetry radio: mode Normal, 1200 bytes a second.
    Radio,
    /// A companion on a serial line at 57600 baud: mode Onboard, more messages than fit.
    Companion,
    /// A network with room for everything: mode Normal.
    Network,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpsError {
    /// Added to all altitudes above mean sea level, at home as in flight, meters: a receiver of another datum.
    pub altitude_offset_m: f64,
    /// Largest slow wander of the estimate over ground in the air, meters.
    pub wander_m: f64,
    /// GPS_RAW_INT.h_acc, meters; 0: unknown.
    pub horizontal_accuracy_m: f64,
    /// GPS_RAW_INT.v_acc, meters; 0: unknown.
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

/// A monitored battery that does not drive the motors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OtherBattery {
    /// BATTERY_STATUS.id; the motors' battery has 0.
    pub id: u8,
    /// BATTERY_STATUS.battery_function: ArduPilot sends 0 (unknown), PX4 1 (all); 3 is avionics, 4 a payload.
    pub function: MavBatteryFunction,
    /// BATTERY_STATUS.battery_remaining.
    pub percent: i8,
    pub volts: f64,
}

#[derive(Clone, Debug)]
pub struct VehicleConfig {
    pub autopilot: Autopilot,
    pub firmware: Firmware,
    /// The component is always 1.
    pub system_id: u8,
    /// Place at boot; its altitude is the ground's, above mean sea level.
    pub home: Wgs84,
    /// Charge at boot, 0 to 100.
    pub battery_percent: f64,
    /// Drain while armed.
    pub battery_percent_per_minute: f64,
    pub never_ready: bool,
    /// Simulated seconds in one second of the peers' time (1.0 without time-lapse). Peers send heartbeats once in *their* second,
    /// so every timeout on them is stretched by this.
    pub seconds_per_peer_second: f64,
    /// Stored before boot; names that the autopilot lacks are ignored.
    pub parameters: Vec<(String, f32)>,
    /// Removed from the version's table, as in a custom build or an unknown version.
    pub missing_parameters: Vec<String>,
    /// Full whenever the motors stop, as in PX4's own battery simulation.
    pub battery_refills: bool,
    pub other_batteries: Vec<OtherBattery>,
    pub port: Port,
    /// Takeoff and reposition are checked as PX4 after 1.17 does: COMMAND_LONG gets COMMAND_INT_ONLY, a frame that is not
    /// global UNSUPPORTED_MAV_FRAME, a value in an unused parameter DENIED.
    pub strict_positions: bool,
    pub gps: GpsError,
    /// Restarts on command. An autopilot that runs as a process of a computer cannot.
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
