//! ArduCopter parameters that ground stations, tests and this profile use: defaults, and answers to requests.

use mavlink::dialects::ardupilotmega::{MavMessage, MavSeverity};

use super::ArduPilot;
use crate::model::config::Firmware;
use crate::model::core::Core;
use crate::model::params::{Form, Param, ParamKind, Params, Rename};
use crate::model::telemetry::{self, ParamEncoding};
use crate::wire::Address;
use ParamKind::{Int8, Int16, Int32, Real32};

const ROWS: &[(&str, ParamKind, f32)] = &[
    ("ARMING_CHECK", Int32, 1.0),
    ("AUTO_OPTIONS", Int32, 0.0),
    ("AVOID_ENABLE", Int8, 3.0),
    ("AVOID_MARGIN", Real32, 2.0),
    ("BATT_CAPACITY", Int32, 3300.0),
    ("BATT_CRT_VOLT", Real32, 0.0),
    ("BATT_FS_CRT_ACT", Int8, 0.0),
    ("BATT_FS_LOW_ACT", Int8, 0.0),
    ("BATT_LOW_MAH", Real32, 0.0),
    ("BATT_LOW_TIMER", Int8, 10.0),
    ("BATT_LOW_VOLT", Real32, 10.5),
    ("BATT_MONITOR", Int8, 4.0),
    ("DID_CANDRIVER", Int8, 0.0),
    ("DID_ENABLE", Int8, 0.0),
    ("DID_MAVPORT", Int8, -1.0),
    ("DID_OPTIONS", Int16, 0.0),
    ("DISARM_DELAY", Int8, 10.0),
    ("FENCE_ACTION", Int8, 1.0),
    ("FENCE_ALT_MAX", Real32, 100.0),
    ("FENCE_ALT_MIN", Real32, -10.0),
    ("FENCE_ENABLE", Int8, 0.0),
    ("FENCE_MARGIN", Real32, 2.0),
    ("FENCE_OPTIONS", Int16, 0.0),
    ("FENCE_RADIUS", Real32, 300.0),
    ("FENCE_TOTAL", Int8, 0.0),
    ("FENCE_TYPE", Int8, 7.0),
    ("FRAME_CLASS", Int8, 1.0),
    ("FRAME_TYPE", Int8, 0.0),
    ("FS_CRASH_CHECK", Int8, 1.0),
    ("FS_EKF_ACTION", Int8, 1.0),
    ("FS_EKF_THRESH", Real32, 0.8),
    ("FS_GCS_ENABLE", Int8, 0.0),
    ("FS_GCS_TIMEOUT", Real32, 5.0),
    ("FS_OPTIONS", Int32, 16.0),
    ("FS_THR_ENABLE", Int8, 1.0),
    ("GUID_OPTIONS", Int32, 0.0),
    ("GUID_TIMEOUT", Real32, 3.0),
    ("LAND_ALT_LOW", Real32, 1000.0),
    ("LAND_SPEED", Int16, 50.0),
    ("LAND_SPEED_HIGH", Int16, 0.0),
    ("MAV_GCS_SYSID", Int16, 255.0),
    ("MAV_GCS_SYSID_HI", Int16, 0.0),
    ("MAV_OPTIONS", Int32, 0.0),
    ("MAV_SYSID", Int16, 1.0),
    ("MIS_RESTART", Int8, 0.0),
    ("MIS_TOTAL", Int16, 0.0),
    ("RALLY_TOTAL", Int8, 0.0),
    ("RTL_ALT", Int32, 1500.0),
    ("RTL_ALT_FINAL", Int16, 0.0),
    ("RTL_ALT_TYPE", Int8, 0.0),
    ("RTL_CLIMB_MIN", Int16, 0.0),
    ("RTL_CONE_SLOPE", Real32, 3.0),
    ("RTL_LOIT_TIME", Int32, 5000.0),
    ("SIM_BATT_VOLTAGE", Real32, 12.6),
    ("SIM_ENGINE_FAIL", Int32, 0.0),
    ("SIM_ENGINE_MUL", Real32, 1.0),
    ("SIM_GPS1_ENABLE", Int8, 1.0),
    ("SIM_SPEEDUP", Real32, 1.0),
    ("SIM_UART_LOSS", Real32, 0.0),
    ("WPNAV_ACCEL", Real32, 250.0),
    ("WPNAV_RADIUS", Real32, 200.0),
    ("WPNAV_SPEED", Real32, 1000.0),
    ("WPNAV_SPEED_DN", Real32, 150.0),
    ("WPNAV_SPEED_UP", Real32, 250.0),
];

/// Prefixes of the libraries' parameters; the others are the vehicle's.
const LIBRARIES: &[&str] = &[
    "ARMING_", "AVOID_", "BATT_", "DID_", "FENCE_", "FRAME_", "MAV_", "MIS_", "SIM_", "WPNAV_", "WP_",
];

/// Few, so that a slow link is not flooded.
const LISTED_PER_STEP: usize = 4;

/// Answered with the old value and a text (recorded).
const READ_ONLY: &[&str] = &["MIS_TOTAL"];

/// Index in answers to a write, and to a read by name.
const NO_INDEX: u16 = u16::MAX;

/// ArduCopter 4.8 beside the recorded one (its sources).
const COPTER_48: &[Rename] = &[
    ("ARMING_CHECK", "ARMING_SKIPCHK", Form::Skipped),
    ("LAND_ALT_LOW", "LAND_ALT_LOW_M", Form::Hundredth),
    ("LAND_SPEED", "LAND_SPD_MS", Form::Hundredth),
    ("LAND_SPEED_HIGH", "LAND_SPD_HIGH_MS", Form::Hundredth),
    ("RTL_ALT", "RTL_ALT_M", Form::Hundredth),
    ("RTL_ALT_FINAL", "RTL_ALT_FINAL_M", Form::Hundredth),
    ("RTL_CLIMB_MIN", "RTL_CLIMB_MIN_M", Form::Hundredth),
    ("WPNAV_ACCEL", "WP_ACC", Form::Hundredth),
    ("WPNAV_RADIUS", "WP_RADIUS_M", Form::Hundredth),
    ("WPNAV_SPEED", "WP_SPD", Form::Hundredth),
    ("WPNAV_SPEED_DN", "WP_SPD_DN", Form::Hundredth),
    ("WPNAV_SPEED_UP", "WP_SPD_UP", Form::Hundredth),
];

/// ArduCopter 4.6 beside the recorded one (its sources).
const COPTER_46: &[Rename] = &[
    ("MAV_GCS_SYSID", "SYSID_MYGCS", Form::Same),
    ("MAV_SYSID", "SYSID_THISMAV", Form::Same),
];
const NOT_IN_46: &[&str] = &["MAV_GCS_SYSID_HI", "MAV_OPTIONS"];

pub(in crate::model) fn params(firmware: Firmware) -> Params {
    let recorded = Params::new(ROWS);
    match firmware {
        Firmware::Copter48 => recorded.of_version(COPTER_48, &[]),
        Firmware::Copter46 => recorded.of_version(COPTER_46, NOT_IN_46),
        Firmware::Recorded | Firmware::Px4V116 | Firmware::Px4V118 => recorded,
    }
}

impl ArduPilot {
    /// PARAM_REQUEST_READ of a peer; a version that does not name missing parameters does not answer then.
    pub(super) fn answer_param(&self, core: &mut Core, from: Address, index: i16, name: &str) {
        let is_missing = match usize::try_from(index) {
            Ok(at) => core.config.firmware.names_missing_parameters() && core.params.at(at).is_none(),
            Err(_) => core.names_as_missing(name),
        };
        if is_missing {
            return core.send(telemetry::param_missing(from, index, name));
        }
        self.read_param(core, index, name);
    }

    pub(super) fn read_param(&self, core: &mut Core, index: i16, name: &str) {
        let (at, shown_index) = match u16::try_from(index) {
            Ok(index) => (Some(usize::from(index)), index),
            Err(_) => (core.params.index_of(name), NO_INDEX),
        };
        if let Some(param) = at.and_then(|at| core.params.at(at)).cloned() {
            core.send(value(core, &param, shown_index));
        }
    }

    /// No answer for an unknown name or NaN.
    pub(super) fn write_param(&mut self, core: &mut Core, name: &str, given: f32) {
        let Some((kind, read_only)) = core
            .params
            .index_of(name)
            .and_then(|at| core.params.at(at))
            .map(|p| (p.kind, p.read_only))
        else {
            return;
        };
        if !given.is_finite() {
            return;
        }
        if read_only || READ_ONLY.contains(&name) {
            self.read_param(core, -1, name);
            let text = format!("Param write denied ({name})");
            return self.text(core, MavSeverity::MAV_SEVERITY_WARNING, &text);
        }
        let Some(param) = core
            .params
            .set(name, kind.cut(given))
            .and_then(|at| core.params.at(at))
            .cloned()
        else {
            return;
        };
        // A library's default that was never stored has no type in the storage: it is sent as a float.
        let untyped = !param.stored && LIBRARIES.iter().any(|library| name.starts_with(library));
        let sent = Param {
            kind: if untyped { Real32 } else { param.kind },
            ..param
        };
        core.send(value(core, &sent, NO_INDEX));
        self.after_param(core, name);
    }

    pub(super) fn report_param(core: &mut Core, name: &str, new: f32) {
        let stored = core.params.set(name, new).and_then(|at| core.params.at(at)).cloned();
        if let Some(param) = stored {
            core.send(value(core, &param, NO_INDEX));
        }
    }

    pub(super) fn list_params(&mut self) {
        self.listing = Some(0);
    }

    pub(super) fn listing_step(&mut self, core: &mut Core) {
        for _ in 0..LISTED_PER_STEP {
            let Some(at) = self.listing else { return };
            let Some(param) = core.params.at(at).cloned() else {
                self.listing = None;
                return;
            };
            core.send(value(core, &param, at as u16));
            self.listing = Some(at + 1);
        }
    }
}

fn value(core: &Core, param: &Param, index: u16) -> MavMessage {
    telemetry::param_value(param, ParamEncoding::AsFloat, index, core.params.len())
}
