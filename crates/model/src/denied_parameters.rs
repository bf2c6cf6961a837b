//! The parameters and values that no profile may set.
//!
//! Owns: the groups of names that a profile may set; in them, calibration of one vehicle, its identity, its own counters, and what Skein's
//! safety depends on; the values of each action that keep the motors running. Must not: judge whether a value is wise.
//!
//! Both are lists of what is allowed: an unknown group or action is refused, so that a new autopilot version brings no way to stop motors
//! in the air. Read in the sources of ArduCopter 4.5.7, 4.6.2 and 4.8-dev, and of PX4 1.15, 1.16, 1.18 and main (August 2026).

use crate::vehicle::Autopilot;

const OTHER_GROUP: &str =
    "it is in no group of which Skein knows that it cannot stop motors or turn what the vehicle measures";
const CALIBRATION: &str = "it is measured on one vehicle and wrong on any other";
const IDENTITY: &str = "it names one vehicle or a part of it";
const COUNTER: &str = "the autopilot writes it itself";
const LINK: &str = "the agent could lose its autopilot";
const CHECKS: &str = "it can switch off the estimator, checks before arming, or the disarming after a landing or a crash, on which Skein relies";
const TERMINATION: &str = "it can stop motors in the air";
const MOTORS: &str = "it can start or stop motors, or says which output drives which";
const CONTROLS: &str = "it says which stick or switch of the transmitter does what";
const EXCEPTIONS: &str = "it can keep a failsafe that is on from doing anything";
const RETURN: &str = "a return would lead elsewhere than straight home above home, which alone is kept clear of others";
const FENCE: &str = "a Geofence sees to it";
const RESET: &str = "it resets other parameters";

/// Prefixes of the names that a profile may set.
const GROUPS: &[&str] = &[
    "ACRO_",
    "ADSB_",
    "AHRS_",
    "AIS_",
    "ANGLE_MAX",
    "ARSPD",
    "ASPD_",
    "ATC_",
    "ATT_",
    "AUTOTUNE_",
    "AUTO_",
    "AVD_",
    "AVOID_",
    "BARO",
    "BAT",
    "BCN_",
    "CAM",
    "CIRCLE_",
    "COM_",
    "CP_",
    "DAA_",
    "DID_",
    "EK2_",
    "EK3_",
    "EKF2_",
    "EV_",
    "FENCE_",
    "FFT_",
    "FHLD_",
    "FILT",
    "FLIGHT_OPTIONS",
    "FLOW_",
    "FLTMODE",
    "FLW_",
    "FOLL_",
    "FS_",
    "GCS_",
    "GF_",
    "GND_EFFECT_",
    "GPS",
    "GRIP_",
    "GUID_",
    "HTE_",
    "IMU_",
    "INITIAL_MODE",
    "LAND_",
    "LGR_",
    "LOG_",
    "LOIT_",
    "LPE_",
    "MAN_",
    "MBE_",
    "MC_",
    "MIS_",
    "MNT",
    "MOT_BAT_",
    "MOT_HOVER_",
    "MOT_SPOOL_",
    "MOT_THST_",
    "MPC_",
    "NAV_",
    "NTF_",
    "OA_",
    "OSD",
    "PD_",
    "PHLD_",
    "PILOT_",
    "PLDP_",
    "PLD_",
    "PLND_",
    "PRX",
    "PSC_",
    "RC_FS_",
    "RC_OPTIONS",
    "RC_OVERRIDE_",
    "RNGFND",
    "RSSI_",
    "RTL_",
    "SCHED_",
    "SDLOG_",
    "SENS_",
    "SIH_",
    "SIMPLE",
    "SIM_",
    "SPRAY_",
    "SRTL_",
    "SUPER_SIMPLE",
    "SURFTRAK_",
    "SYS_HAS_",
    "TEMP",
    "TERRAIN_",
    "THR_",
    "TKOFF_",
    "TRIG_",
    "UWB_",
    "VISO_",
    "VTE_",
    "VTX_",
    "WINCH_",
    "WPNAV_",
    "WP_",
    "WVANE_",
    "WV_",
    "ZIGZ_",
];

/// Prefixes that it may not set, with a reason.
const BEGINNINGS: &[(&str, &str)] = &[
    ("AHRS_CUSTOM_", CALIBRATION),
    ("AHRS_EKF_TYPE", CHECKS),
    ("AHRS_ORIENTATION", CALIBRATION),
    ("AHRS_ORIGIN_", CALIBRATION),
    ("AHRS_TRIM", CALIBRATION),
    ("BATT_AMP_", CALIBRATION),
    ("BATT_VOLT_MULT", CALIBRATION),
    ("CAL_", CALIBRATION),
    ("COMPASS_", CALIBRATION),
    ("CUST_ROT", CALIBRATION),
    ("INS_", CALIBRATION),
    ("MOT_THST_HOVER", CALIBRATION),
    ("SENS_BOARD_", CALIBRATION),
    ("SENS_DPRES_", CALIBRATION),
    ("SENS_OR_", CALIBRATION),
    ("TC_", CALIBRATION),
    ("TRIM_", CALIBRATION),
    ("BRD_SERIAL_NUM", IDENTITY),
    ("MAV_SYS_ID", IDENTITY),
    ("SYSID", IDENTITY),
    ("COM_FLIGHT_UUID", COUNTER),
    ("COM_MODE0_HASH", COUNTER),
    ("COM_MODE1_HASH", COUNTER),
    ("COM_MODE2_HASH", COUNTER),
    ("COM_MODE3_HASH", COUNTER),
    ("COM_MODE4_HASH", COUNTER),
    ("COM_MODE5_HASH", COUNTER),
    ("COM_MODE6_HASH", COUNTER),
    ("COM_MODE7_HASH", COUNTER),
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
    ("COM_ARM", CHECKS),
    ("COM_DISARM_", CHECKS),
    ("COM_FORCE_SAFETY", CHECKS),
    ("COM_PREARM_MODE", CHECKS),
    ("DISARM_DELAY", CHECKS),
    ("EK2_ENABLE", CHECKS),
    ("EK3_ENABLE", CHECKS),
    ("FS_CRASH_CHECK", CHECKS),
    ("AFS_", TERMINATION),
    ("CHUTE_", TERMINATION),
    ("FD_", TERMINATION),
    // A vehicle that wrongly detects a landing disarms.
    ("LNDMC_", TERMINATION),
    ("MAN_KILL_", TERMINATION),
    ("SYS_FAILURE_EN", TERMINATION),
    ("CA_", MOTORS),
    ("COM_LKDOWN_TKO", MOTORS),
    ("COM_MOT_TEST_EN", MOTORS),
    ("COM_THROW_", MOTORS),
    ("DSHOT_", MOTORS),
    ("ESC_CAL", MOTORS),
    ("FRAME_", MOTORS),
    ("MOT_PWM_", MOTORS),
    ("MOT_SPIN_", MOTORS),
    ("PWM_", MOTORS),
    ("RC_SPEED", MOTORS),
    ("RELAY", MOTORS),
    ("SERVO", MOTORS),
    ("SYS_HITL", MOTORS),
    ("TKOFF_RPM_", MOTORS),
    ("UAVCAN_", MOTORS),
    ("BTN_", CONTROLS),
    ("RCMAP_", CONTROLS),
    ("RC_MAP_", CONTROLS),
    ("TMODE_", CONTROLS),
    ("COM_DLL_EXCEPT", EXCEPTIONS),
    ("FS_OPTIONS", EXCEPTIONS),
    ("RALLY_", RETURN),
    ("RTL_ALT_TYPE", RETURN),
    ("RTL_TYPE", RETURN),
    ("FENCE_AUTOENABLE", FENCE),
    ("FENCE_ENABLE", FENCE),
    ("FENCE_OPTIONS", FENCE),
    ("FENCE_TOTAL", FENCE),
    // Until PX4 1.16.
    ("GF_PREDICT", FENCE),
    ("GF_SOURCE", FENCE),
    ("FORMAT_VERSION", RESET),
    ("SYS_AUTO", RESET),
    ("SYS_PARAM_VER", RESET),
];

/// Why no profile may set the parameter; `None`: it may.
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
    // FLOW_ORIENT_YAW, RNGFND1_ORIENT, SENS_FLOW_ROT: a wrong sensor orientation leads the vehicle away.
    if name.contains("ORIENT") || name.ends_with("_ROT") {
        return Some(CALIBRATION);
    }
    if name == "EKF2_EN" {
        return Some(CHECKS);
    }
    // RC7_OPTION, SR4_POSITION, GPS_1_CONFIG, MAV_0_CONFIG, RC_PORT_CONFIG, GPS_2_CFG.
    if name.starts_with("RC") && name.ends_with("_OPTION") {
        return Some(CONTROLS);
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
    if barometer || power {
        return Some(CALIBRATION);
    }
    let grouped = GROUPS.iter().any(|group| name.starts_with(group));
    (!grouped).then_some(OTHER_GROUP)
}

/// Why an agent does not set this value, whoever wants it; `None`: it does. Parameters of a Geofence are only switched on.
pub fn aboard(autopilot: Autopilot, parameter: &str, wanted: f64) -> Option<&'static str> {
    #[allow(clippy::float_cmp, reason = "the number that a Geofence gives")]
    let fenced = parameter == "FENCE_ENABLE" && wanted == 1.0;
    if fenced {
        return None;
    }
    name(autopilot, parameter).or_else(|| value(autopilot, parameter, wanted))
}

/// Actions of an autopilot, with the values that keep its motors running in the air. PX4's Terminate, Disarm and Lockdown and ArduPilot's
/// Terminate are never listed.
const ACTIONS: &[(Autopilot, &str, &[f64])] = &[
    (Autopilot::Px4, "COM_ACT_FAIL_ACT", &[0.0, 1.0, 2.0, 3.0]),
    (Autopilot::Px4, "COM_FLTT_LOW_ACT", &[0.0, 1.0, 3.0]),
    (Autopilot::Px4, "COM_GNSSLOSS_ACT", &[0.0, 1.0, 2.0]),
    (Autopilot::Px4, "COM_IMB_PROP_ACT", &[-1.0, 0.0, 1.0, 2.0]),
    (Autopilot::Px4, "COM_LOW_BAT_ACT", &[0.0, 1.0, 2.0, 3.0]),
    (Autopilot::Px4, "COM_OBL_RC_ACT", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
    (Autopilot::Px4, "COM_PARACHUTE", &[0.0, 1.0, 2.0, 3.0, 4.0]),
    (Autopilot::Px4, "COM_POS_FS_ACT", &[0.0]),
    (Autopilot::Px4, "COM_POS_LOW_ACT", &[0.0, 1.0, 2.0, 3.0, 5.0]),
    (Autopilot::Px4, "COM_QC_ACT", &[-1.0, 0.0, 1.0, 2.0]),
    (Autopilot::Px4, "COM_TAKEOFF_ACT", &[0.0, 1.0]),
    (Autopilot::Px4, "COM_TRAFF_AVOID", &[0.0, 1.0, 2.0, 3.0, 4.0]),
    (Autopilot::Px4, "COM_WIND_MAX_ACT", &[0.0, 1.0, 2.0, 3.0, 5.0]),
    (Autopilot::Px4, "DAA_LVL_CRIT_ACT", &[0.0, 1.0, 2.0, 3.0, 4.0]),
    (Autopilot::Px4, "DAA_LVL_HIGH_ACT", &[0.0, 1.0, 2.0, 3.0, 4.0]),
    (Autopilot::Px4, "DAA_LVL_LOW_ACT", &[0.0, 1.0, 2.0, 3.0, 4.0]),
    (Autopilot::Px4, "DAA_LVL_MED_ACT", &[0.0, 1.0, 2.0, 3.0, 4.0]),
    (Autopilot::Px4, "GF_ACTION", &[0.0, 1.0, 2.0, 3.0, 5.0]),
    (Autopilot::Px4, "NAV_DLL_ACT", &[1.0, 2.0, 3.0]),
    (Autopilot::Px4, "NAV_RCL_ACT", &[0.0, 1.0, 2.0, 3.0, 7.0]),
    (Autopilot::Px4, "NAV_TRAFF_AVOID", &[0.0, 1.0, 2.0, 3.0, 4.0]),
    (
        Autopilot::ArduPilot,
        "AVD_F_ACTION",
        &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    ),
    (Autopilot::ArduPilot, "AVD_W_ACTION", &[0.0, 1.0]),
    (Autopilot::ArduPilot, "FENCE_ACTION", &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
    (Autopilot::ArduPilot, "FS_DR_ENABLE", &[0.0, 1.0, 2.0, 3.0, 4.0, 6.0]),
    (Autopilot::ArduPilot, "FS_EKF_ACTION", &[0.0, 1.0, 2.0, 3.0]),
    (Autopilot::ArduPilot, "FS_GCS_ENABLE", &[1.0, 3.0, 4.0, 5.0, 6.0, 7.0]),
    (
        Autopilot::ArduPilot,
        "FS_THR_ENABLE",
        &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
    ),
];

/// For BATT_FS_LOW_ACT, BATT2_FS_CRT_ACT and so on; 5 is Terminate.
const BATTERY_ACTIONS: &[f64] = &[0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 7.0];

/// Failsafes for a lost agent: without them nothing acts when the agent is gone (invariant 7).
const KEEPS: &[(Autopilot, &str)] = &[(Autopilot::ArduPilot, "FS_GCS_ENABLE"), (Autopilot::Px4, "NAV_DLL_ACT")];

/// The values of an action that keep motors running; `None`: it is no action; empty: an action that no list names.
fn kept_running(autopilot: Autopilot, name: &str) -> Option<&'static [f64]> {
    let listed = ACTIONS
        .iter()
        .find(|(of, action, _)| (*of, *action) == (autopilot, name));
    if let Some((.., values)) = listed {
        return Some(values);
    }
    let action = name.ends_with("_ACT") || name.ends_with("_ACTION");
    let battery = autopilot == Autopilot::ArduPilot && name.starts_with("BATT") && name.contains("_FS_");
    match (action, battery) {
        (true, true) => Some(BATTERY_ACTIONS),
        (true, false) => Some(&[]),
        (false, _) => None,
    }
}

/// Why no profile may give the parameter this value; `None`: it may.
pub fn value(autopilot: Autopilot, name: &str, value: f64) -> Option<&'static str> {
    // ArduCopter truncates fractions.
    let value = value.trunc();
    if value == 0.0 && KEEPS.contains(&(autopilot, name)) {
        return Some("that value switches off the failsafe that acts when its agent is gone");
    }
    let stops = kept_running(autopilot, name).is_some_and(|values| !values.contains(&value));
    stops.then_some("that value stops motors in the air, or is not known to keep them running")
}
