//! State that both profiles share: time, airframe, battery, parameters, streams, and the outbox.

use mavlink::dialects::ardupilotmega as apm;
use mavlink::dialects::ardupilotmega::MavMessage;

use super::airframe::Airframe;
use super::battery::Battery;
use super::config::{OtherBattery, VehicleConfig};
use super::geo::{Neu, Wgs84};
use super::params::Params;
use super::streams::Streams;
use crate::wire::{Address, CommandAck, Outgoing};

pub(super) mod result {
    pub const ACCEPTED: u8 = 0;
    pub const TEMPORARILY_REJECTED: u8 = 1;
    pub const DENIED: u8 = 2;
    pub const UNSUPPORTED: u8 = 3;
    pub const FAILED: u8 = 4;
    pub const IN_PROGRESS: u8 = 5;
    pub const CANCELLED: u8 = 6;
    pub const COMMAND_INT_ONLY: u8 = 8;
    pub const UNSUPPORTED_MAV_FRAME: u8 = 9;
}

pub(super) mod cmd {
    pub const NAV_LOITER_UNLIMITED: u16 = 17;
    pub const NAV_RETURN_TO_LAUNCH: u16 = 20;
    pub const NAV_LAND: u16 = 21;
    pub const NAV_TAKEOFF: u16 = 22;
    pub const NAV_PRECISION_LAND: u16 = 23;
    pub const DO_ORBIT: u16 = 34;
    pub const NAV_VTOL_LAND: u16 = 85;
    pub const CONDITION_YAW: u16 = 115;
    pub const DO_SET_MODE: u16 = 176;
    pub const DO_CHANGE_SPEED: u16 = 178;
    pub const DO_SET_HOME: u16 = 179;
    pub const DO_FLIGHTTERMINATION: u16 = 185;
    pub const DO_CHANGE_ALTITUDE: u16 = 186;
    pub const DO_REPOSITION: u16 = 192;
    pub const PREFLIGHT_CALIBRATION: u16 = 241;
    pub const PREFLIGHT_REBOOT: u16 = 246;
    pub const MISSION_START: u16 = 300;
    pub const ARM_DISARM: u16 = 400;
    pub const RUN_PREARM_CHECKS: u16 = 401;
    pub const GET_HOME_POSITION: u16 = 410;
    pub const INJECT_FAILURE: u16 = 420;
    pub const GET_MESSAGE_INTERVAL: u16 = 510;
    pub const SET_MESSAGE_INTERVAL: u16 = 511;
    pub const REQUEST_MESSAGE: u16 = 512;
    pub const REQUEST_PROTOCOL_VERSION: u16 = 519;
    pub const REQUEST_CAPABILITIES: u16 = 520;
}

/// ARM_DISARM, parameter 2.
pub(super) const FORCE: f32 = 21196.0;

pub(super) struct Core {
    pub(super) config: VehicleConfig,
    pub(super) uptime_s: f64,
    pub(super) airframe: Airframe,
    pub(super) battery: Battery,
    pub(super) params: Params,
    pub(super) streams: Streams,
    pub(super) received_from_peer: bool,
    pub(super) reboot_at_s: Option<f64>,
    outbox: Vec<Outgoing>,
}

impl Core {
    pub(super) fn new(config: VehicleConfig, params: Params) -> Self {
        let battery = Battery::new(config.battery_percent, config.battery_percent_per_minute);
        Self {
            config,
            uptime_s: 0.0,
            airframe: Airframe::default(),
            battery,
            params,
            streams: Streams::default(),
            received_from_peer: false,
            reboot_at_s: None,
            outbox: Vec::new(),
        }
    }

    pub(super) fn load_stored_parameters(&mut self) {
        for (name, value) in &self.config.parameters {
            self.params.set(name, *value);
        }
    }

    pub(super) fn send(&mut self, message: MavMessage) {
        let is_battery = matches!(message, MavMessage::BATTERY_STATUS(_));
        self.outbox.push(message.into());
        if is_battery {
            let others = self.config.other_batteries.iter().map(other_battery);
            self.outbox.extend(others.map(Outgoing::from));
        }
    }

    pub(super) fn send_raw(&mut self, outgoing: Outgoing) {
        self.outbox.push(outgoing);
    }

    pub(super) fn ack(&mut self, to: Address, command: u16, result: u8) {
        let ack = CommandAck {
            command,
            result,
            target_system: to.system,
            target_component: to.component,
        };
        self.outbox.push(Outgoing::Ack(ack));
    }

    pub(super) fn take_outbox(&mut self) -> Vec<Outgoing> {
        std::mem::take(&mut self.outbox)
    }

    pub(super) fn place(&self) -> Wgs84 {
        self.config.home.offset(self.airframe.position)
    }

    /// Meters from the place of boot; the caller fills in `up`.
    pub(super) fn local_e7(&self, lat_e7: i32, lon_e7: i32) -> Neu {
        self.local_deg(f64::from(lat_e7) / 1e7, f64::from(lon_e7) / 1e7)
    }

    pub(super) fn local_deg(&self, lat_deg: f64, lon_deg: f64) -> Neu {
        self.config.home.to_local(Wgs84 {
            lat_deg,
            lon_deg,
            amsl_m: self.config.home.amsl_m,
        })
    }

    pub(super) fn boot_ms(&self) -> u32 {
        (self.uptime_s * 1000.0).round() as u32
    }

    pub(super) fn boot_us(&self) -> u64 {
        (self.uptime_s * 1e6).round() as u64
    }

    pub(super) fn is_for_us(&self, to: Address) -> bool {
        to.system == self.config.system_id && matches!(to.component, 0 | 1)
    }

    /// Answers a read or write of this name by PARAM_ERROR.
    pub(super) fn names_as_missing(&self, name: &str) -> bool {
        self.config.firmware.names_missing_parameters() && self.params.index_of(name).is_none()
    }
}

fn other_battery(battery: &OtherBattery) -> MavMessage {
    let mut voltages = [u16::MAX; 10];
    voltages[0] = (battery.volts * 1000.0).round() as u16;
    MavMessage::BATTERY_STATUS(apm::BATTERY_STATUS_DATA {
        id: battery.id,
        battery_function: battery.function,
        battery_remaining: battery.percent,
        temperature: i16::MAX,
        current_consumed: -1,
        energy_consumed: -1,
        current_battery: -1,
        voltages,
        ..apm::BATTERY_STATUS_DATA::DEFAULT
    })
}
