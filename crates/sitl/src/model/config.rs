//! The settings of one simulated vehicle before it boots.

use mavlink::dialects::ardupilotmega::MavBatteryFunction;

use super::geo::Wgs84;

/// Which autopilot is imitated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Autopilot {
    /// ArduCopter 4.7-dev.
    ArduPilot,
    /// PX4 1.17 multicopter.
    Px4,
}

/// Which version of an autopilot is imitated: names, units and presence of parameters, and what depends on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Firmware {
    /// The one that was recorded: ArduCopter 4.7-dev of July 2025, PX4 1.17-alpha of August 2025.
    #[default]
    Recorded,
    /// ArduCopter 4.6.
    Copter46,
    /// ArduCopter 4.8.
    Copter48,
    /// PX4 1.16.
    Px4V116,
    /// PX4 1.18.
    Px4V118,
}

impl Firmware {
    /// The versions besides the recorded ones.
    pub const VERSIONS: [Self; 4] = [Self::Copter46, Self::Copter48, Self::Px4V116, Self::Px4V118];

    /// The name used on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Copter46 => "copter-4.6",
            Self::Copter48 => "copter-4.8",
            Self::Px4V116 => "px4-1.16",
            Self::Px4V118 => "px4-1.18",
        }
    }

    /// The autopilot of which it is a version; `None` for the recorded ones of both.
    pub fn autopilot(self) -> Option<Autopilot> {
        match self {
            Self::Recorded => None,
            Self::Copter46 | Self::Copter48 => Some(Autopilot::ArduPilot),
            Self::Px4V116 | Self::Px4V118 => Some(Autopilot::Px4),
        }
    }

    /// Whether it answers to an unknown parameter, by PARAM_ERROR (345).
    pub(super) fn names_missing_parameters(self) -> bool {
        matches!(self, Self::Copter48 | Self::Px4V118)
    }

    /// Whether the link acknowledges DO_SET_MODE (176) as accepted before the commander has judged it (recorded: up to PX4 1.17-alpha).
    pub(super) fn accepts_modes_unjudged(self) -> bool {
        self != Self::Px4V118
    }
}

impl Autopilot {
    /// The name used on the command line and in the vehicle list.
    pub fn name(self) -> &'static str {
        match self {
            Self::ArduPilot => "ardupilot",
            Self::Px4 => "px4",
        }
    }
}

/// What a port is configured for; only PX4 depends on it, in what it sends unrequested and how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// A telemetry radio: mode Normal, 1200 bytes a second.
    Radio,
    /// A companion on a serial line at 57600 baud: mode Onboard, more messages than fit.
    Companion,
    /// A network with room for everything: mode Normal.
    Network,
}

/// What is wrong with the satellite receiver, and what it says of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpsError {
    /// All altitudes above mean sea level are reported too high by this, at home as in flight, meters: another receiver has another datum.
    pub altitude_offset_m: f64,
    /// In the air the estimate of the place wanders over ground by up to this, slowly, meters.
    pub wander_m: f64,
    /// GPS_RAW_INT.h_acc, meters; 0 as a receiver that does not know.
    pub horizontal_accuracy_m: f64,
    /// GPS_RAW_INT.v_acc, meters; 0 as a receiver that does not know.
    pub vertical_accuracy_m: f64,
}

impl Default for GpsError {
    /// None; PX4's simulator reports these accuracies.
    fn default() -> Self {
        Self {
            altitude_offset_m: 0.0,
            wander_m: 0.0,
            horizontal_accuracy_m: 0.9,
            vertical_accuracy_m: 1.78,
        }
    }
}

/// A further battery that the autopilot monitors, as it reports it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OtherBattery {
    /// BATTERY_STATUS.id; that of the motors' own is 0.
    pub id: u8,
    /// BATTERY_STATUS.battery_function: ArduPilot sends 0 (unknown) and PX4 1 (all) of each; 3 is avionics, 4 a payload.
    pub function: MavBatteryFunction,
    /// BATTERY_STATUS.battery_remaining, as it is sent.
    pub percent: i8,
    /// Its voltage.
    pub volts: f64,
}

/// Settings of one vehicle.
#[derive(Clone, Debug)]
pub struct VehicleConfig {
    /// The imitated autopilot.
    pub autopilot: Autopilot,
    /// Its version.
    pub firmware: Firmware,
    /// MAVLink system id; the component is always 1.
    pub system_id: u8,
    /// Its place at boot; its altitude is the ground's, above mean sea level.
    pub home: Wgs84,
    /// Battery at boot, 0 to 100.
    pub battery_percent: f64,
    /// Drain while armed, percent per minute.
    pub battery_percent_per_minute: f64,
    /// A preflight check always fails, with the reason text of the real autopilot.
    pub never_ready: bool,
    /// Seconds of simulated time that pass in one second of the peers' time (1.0 without time-lapse).
    /// Peers send heartbeats once in *their* second, so every timeout on them is stretched by this.
    pub seconds_per_peer_second: f64,
    /// Parameters that were stored before boot; names that the autopilot does not have are left out.
    pub parameters: Vec<(String, f32)>,
    /// Parameters that this build does not have, though its version has: a build of one's own, or a version that is not known yet.
    pub missing_parameters: Vec<String>,
    /// The pack is full again whenever the motors stop, as in PX4's own battery simulation.
    pub battery_refills: bool,
    /// Batteries beside the one that drives the motors; they drain by no flight.
    pub other_batteries: Vec<OtherBattery>,
    /// What the autopilot's port is configured for.
    pub port: Port,
    /// Takeoff and reposition are checked as PX4 after 1.17 does: COMMAND_LONG gets COMMAND_INT_ONLY, a frame that is not
    /// global UNSUPPORTED_MAV_FRAME, a value in an unused parameter DENIED.
    pub strict_positions: bool,
    /// The satellite receiver's error.
    pub gps: GpsError,
    /// The board restarts on command. An autopilot that runs as a process of a computer cannot.
    pub can_reboot: bool,
}

impl VehicleConfig {
    /// A vehicle with the default battery, at real speed.
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
