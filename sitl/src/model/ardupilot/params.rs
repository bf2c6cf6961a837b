//! ArduCopter parameters that ground stations and tests ask for, with its defaults.
//!
//! Owns: the rows. Must not: act on them.

use crate::model::params::{ParamKind, Params};
use ParamKind::{Int8, Int16, Int32, Real32};

const ROWS: &[(&str, ParamKind, f32)] = &[
    ("ARMING_CHECK", Int32, 1.0),
    ("BATT_CAPACITY", Int32, 3300.0),
    ("BATT_CRT_VOLT", Real32, 0.0),
    ("BATT_FS_CRT_ACT", Int8, 0.0),
    ("BATT_FS_LOW_ACT", Int8, 0.0),
    ("BATT_LOW_VOLT", Real32, 10.5),
    ("BATT_MONITOR", Int8, 4.0),
    ("DISARM_DELAY", Int8, 10.0),
    ("FENCE_ACTION", Int8, 1.0),
    ("FENCE_ALT_MAX", Real32, 100.0),
    ("FENCE_ENABLE", Int8, 0.0),
    ("FENCE_MARGIN", Real32, 2.0),
    ("FENCE_RADIUS", Real32, 300.0),
    ("FENCE_TYPE", Int8, 7.0),
    ("FRAME_CLASS", Int8, 1.0),
    ("FRAME_TYPE", Int8, 0.0),
    ("FS_GCS_ENABLE", Int8, 0.0),
    ("FS_GCS_TIMEOUT", Real32, 5.0),
    ("FS_OPTIONS", Int32, 16.0),
    ("FS_THR_ENABLE", Int8, 1.0),
    ("LAND_ALT_LOW", Real32, 1000.0),
    ("LAND_SPEED", Int16, 50.0),
    ("LAND_SPEED_HIGH", Int16, 0.0),
    ("MAV_GCS_SYSID", Int16, 255.0),
    ("MAV_OPTIONS", Int32, 0.0),
    ("MAV_SYSID", Int16, 1.0),
    ("RTL_ALT", Int32, 1500.0),
    ("RTL_ALT_FINAL", Int16, 0.0),
    ("RTL_LOIT_TIME", Int32, 5000.0),
    ("SIM_BATT_VOLTAGE", Real32, 12.6),
    ("SIM_SPEEDUP", Real32, 1.0),
    ("WPNAV_ACCEL", Real32, 250.0),
    ("WPNAV_SPEED", Real32, 1000.0),
    ("WPNAV_SPEED_DN", Real32, 150.0),
    ("WPNAV_SPEED_UP", Real32, 250.0),
];

pub(in crate::model) fn params() -> Params {
    Params::new(ROWS)
}
