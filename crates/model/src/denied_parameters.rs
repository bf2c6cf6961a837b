//! What no profile may set.
//!
//! Owns: the list: what is measured on one vehicle and wrong on any other, what names a vehicle, what it counts itself, and what Skein's
//! own safety depends on. Must not: judge whether a value is wise.

use crate::vehicle::Autopilot;

const CALIBRATION: &str = "it is measured on one vehicle and wrong on any other";
const IDENTITY: &str = "it names one vehicle or a part of it";
const COUNTER: &str = "the autopilot writes it itself";
const LINK: &str = "the agent could lose its autopilot";
const CHECKS: &str = "it can switch off checks before arming, or the disarming after landing, on which Skein relies";
const TERMINATION: &str = "it can stop motors in the air";
const MOTORS: &str = "it can start or stop motors, or says which output drives which";
const FENCE: &str = "a Geofence sees to it";
const RESET: &str = "it resets other parameters";

/// Beginnings of names.
const BEGINNINGS: &[(&str, &str)] = &[
    ("AHRS_TRIM", CALIBRATION),
    ("BATT_AMP_", CALIBRATION),
    ("BATT_VOLT_MULT", CALIBRATION),
    ("CAL_", CALIBRATION),
    ("COMPASS_", CALIBRATION),
    ("INS_", CALIBRATION),
    ("MOT_THST_HOVER", CALIBRATION),
    ("SENS_BOARD_", CALIBRATION),
    ("SENS_DPRES_", CALIBRATION),
    ("TC_", CALIBRATION),
    ("TRIM_", CALIBRATION),
    ("BRD_SERIAL_NUM", IDENTITY),
    ("MAV_SYS_ID", IDENTITY),
    ("SYSID", IDENTITY),
    ("COM_FLIGHT_UUID", COUNTER),
    ("LND_FLIGHT_T_", COUNTER),
    ("STAT_", COUNTER),
    ("MAV", LINK),
    ("SERIAL", LINK),
    ("SER_", LINK),
    ("CAN_", LINK),
    ("NET_", LINK),
    ("UXRCE_", LINK),
    ("ARMING_", CHECKS),
    ("BRD_SAFETY", CHECKS),
    ("CBRK_", CHECKS),
    ("COM_ARM_", CHECKS),
    ("COM_DISARM_", CHECKS),
    ("COM_PREARM_MODE", CHECKS),
    ("DISARM_DELAY", CHECKS),
    ("AFS_", TERMINATION),
    ("CHUTE_", TERMINATION),
    ("FD_", TERMINATION),
    ("CA_", MOTORS),
    ("COM_LKDOWN_TKO", MOTORS),
    ("ESC_CAL", MOTORS),
    ("FRAME_", MOTORS),
    ("MOT_PWM_", MOTORS),
    ("PWM_", MOTORS),
    ("RC_MAP_", MOTORS),
    ("SYS_HITL", MOTORS),
    ("FENCE_AUTOENABLE", FENCE),
    ("FENCE_ENABLE", FENCE),
    ("FENCE_OPTIONS", FENCE),
    ("FENCE_TOTAL", FENCE),
    ("GF_PREDICT", FENCE),
    ("GF_SOURCE", FENCE),
    ("FORMAT_VERSION", RESET),
    ("SYS_AUTO", RESET),
    ("SYS_PARAM_VER", RESET),
];

/// Why no profile may set the parameter; `None`: it may.
#[must_use]
pub fn name(autopilot: Autopilot, name: &str) -> Option<&'static str> {
    let begins = BEGINNINGS.iter().find(|(beginning, _)| name.starts_with(beginning));
    if let Some((_, why)) = begins {
        return Some(why);
    }
    // COMPASS_DEV_ID2, CAL_ACC0_ID, BARO1_DEVID.
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if stem.ends_with("_ID") || stem.ends_with("DEVID") || stem.ends_with("_SERIAL_NUM") {
        return Some(IDENTITY);
    }
    // SERVO1_FUNCTION, RC7_OPTION, SR4_POSITION, GPS_1_CONFIG, MAV_0_CONFIG, RC_PORT_CONFIG, GPS_2_CFG.
    if (name.starts_with("SERVO") && name.ends_with("_FUNCTION"))
        || (name.starts_with("RC") && name.ends_with("_OPTION"))
    {
        return Some(MOTORS);
    }
    let port = name
        .strip_prefix("SR")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if port || name.ends_with("_CFG") || name.ends_with("_CONFIG") {
        return Some(LINK);
    }
    let channel = name.strip_prefix("RC").and_then(|rest| rest.split_once('_'));
    if let Some((number, what)) = channel
        && !number.is_empty()
        && number.chars().all(|c| c.is_ascii_digit())
        && ["MIN", "MAX", "TRIM", "REV", "REVERSED", "DZ"].contains(&what)
    {
        return Some(CALIBRATION);
    }
    let barometer = name.starts_with("BARO") && (name.ends_with("_GND_PRESS") || name.ends_with("_ALT_OFFSET"));
    let power = autopilot == Autopilot::Px4
        && name.starts_with("BAT")
        && ["_V_DIV", "_A_PER_V"].iter().any(|end| name.ends_with(end));
    (barometer || power).then_some(CALIBRATION)
}

/// Why an agent does not give the parameter this value, whatever wants it; `None`: it does. What a Geofence sees to is switched on only.
#[must_use]
pub fn aboard(autopilot: Autopilot, parameter: &str, wanted: f64) -> Option<&'static str> {
    #[allow(clippy::float_cmp, reason = "the number that a Geofence gives")]
    let fenced = parameter == "FENCE_ENABLE" && wanted == 1.0;
    if fenced {
        return None;
    }
    name(autopilot, parameter).or_else(|| value(autopilot, parameter, wanted))
}

/// Actions by which an autopilot stops its motors.
///
/// PX4: 4 is Terminate in GF_ACTION and COM_ACT_FAIL_ACT, 5 Terminate and 6 Disarm in those of lost links.
const STOPS: &[(Autopilot, &str, &[f64])] = &[
    (Autopilot::Px4, "GF_ACTION", &[4.0]),
    (Autopilot::Px4, "NAV_DLL_ACT", &[4.0, 5.0, 6.0]),
    (Autopilot::Px4, "NAV_RCL_ACT", &[4.0, 5.0, 6.0]),
    (Autopilot::Px4, "COM_OBL_RC_ACT", &[6.0, 7.0]),
    (Autopilot::Px4, "COM_ACT_FAIL_ACT", &[4.0]),
];

/// Failsafes for a lost agent: without them nothing looks after the vehicle when the agent is gone (invariant 7).
const KEEPS: &[(Autopilot, &str)] = &[(Autopilot::ArduPilot, "FS_GCS_ENABLE"), (Autopilot::Px4, "NAV_DLL_ACT")];

/// Why no profile may give the parameter this value; `None`: it may.
#[must_use]
pub fn value(autopilot: Autopilot, name: &str, value: f64) -> Option<&'static str> {
    // ArduCopter cuts what is not whole.
    let value = value.trunc();
    // BATT_FS_LOW_ACT, BATT2_FS_CRT_ACT: 5 is Terminate.
    let battery = autopilot == Autopilot::ArduPilot
        && name.starts_with("BATT")
        && name.contains("_FS_")
        && name.ends_with("_ACT");
    #[allow(clippy::float_cmp, reason = "whole numbers")]
    let (terminates, off) = (battery && value == 5.0, value == 0.0);
    if off && KEEPS.contains(&(autopilot, name)) {
        return Some("that value switches off the failsafe that acts when its agent is gone");
    }
    #[allow(clippy::float_cmp, reason = "whole numbers")]
    let stops = |(of, parameter, values): &(Autopilot, &str, &[f64])| {
        *of == autopilot && *parameter == name && values.contains(&value)
    };
    (terminates || STOPS.iter().any(stops)).then_some("that value stops motors in the air")
}
