//! PX4 parameters that ground stations and tests use, with its defaults.

use crate::model::config::Firmware;
use crate::model::params::{ParamKind, Params};
use ParamKind::{Int32, Real32};

const ROWS: &[(&str, ParamKind, f32)] = &[
    ("BAT1_N_CELLS", Int32, 4.0),
    ("BAT_CRIT_THR", Real32, 0.07),
    ("BAT_EMERGEN_THR", Real32, 0.05),
    ("BAT_LOW_THR", Real32, 0.15),
    ("COM_ARM_ODID", Int32, 0.0),
    ("COM_ARM_MIS_REQ", Int32, 0.0),
    ("COM_ARM_WO_GPS", Int32, 1.0),
    ("COM_DLL_EXCEPT", Int32, 0.0),
    ("COM_MODE_ARM_CHK", Int32, 0.0),
    ("COM_DISARM_LAND", Real32, 2.0),
    ("COM_DISARM_PRFLT", Real32, 10.0),
    ("COM_DL_LOSS_T", Int32, 10.0),
    ("COM_FAIL_ACT_T", Real32, 5.0),
    ("COM_LOW_BAT_ACT", Int32, 0.0),
    ("COM_OBC_LOSS_T", Real32, 5.0),
    ("COM_OBL_RC_ACT", Int32, 0.0),
    ("COM_OF_LOSS_T", Real32, 1.0),
    ("COM_RCL_EXCEPT", Int32, 0.0),
    ("COM_RC_IN_MODE", Int32, 1.0),
    ("COM_RC_LOSS_T", Real32, 0.5),
    ("COM_RC_OVERRIDE", Int32, 1.0),
    ("COM_RC_STICK_OV", Real32, 30.0),
    ("COM_SPOOLUP_TIME", Real32, 1.0),
    ("COM_TAKEOFF_ACT", Int32, 0.0),
    ("EKF2_REQ_GPS_H", Real32, 0.5),
    ("GF_ACTION", Int32, 2.0),
    ("GF_MAX_HOR_DIST", Real32, 0.0),
    ("GF_MAX_VER_DIST", Real32, 0.0),
    ("MAV_COMP_ID", Int32, 1.0),
    ("MAV_SYS_ID", Int32, 1.0),
    ("MAV_TYPE", Int32, 2.0),
    ("MIS_TAKEOFF_ALT", Real32, 2.5),
    ("MPC_LAND_ALT1", Real32, 10.0),
    ("MPC_LAND_ALT2", Real32, 5.0),
    ("MPC_LAND_SPEED", Real32, 0.7),
    ("MPC_TKO_SPEED", Real32, 1.5),
    ("MPC_XY_CRUISE", Real32, 5.0),
    ("MPC_Z_V_AUTO_DN", Real32, 1.5),
    ("MPC_Z_V_AUTO_UP", Real32, 3.0),
    ("NAV_ACC_RAD", Real32, 2.0),
    ("NAV_DLL_ACT", Int32, 0.0),
    ("NAV_RCL_ACT", Int32, 2.0),
    ("RTL_DESCEND_ALT", Real32, 30.0),
    ("RTL_LAND_DELAY", Real32, 0.0),
    ("RTL_MIN_DIST", Real32, 10.0),
    ("RTL_RETURN_ALT", Real32, 60.0),
    ("RTL_TYPE", Int32, 0.0),
    // Seconds of a full pack with running motors, and the minimum charge: filled in from the vehicle's settings.
    ("SIM_BAT_DRAIN", Real32, 0.0),
    ("SIM_BAT_MIN_PCT", Real32, 0.0),
    ("SIM_GPS_USED", Int32, 10.0),
    ("SYS_AUTOSTART", Int32, 10040.0),
    ("SYS_FAILURE_EN", Int32, 0.0),
    ("SYS_HAS_MAG", Int32, 1.0),
];

/// Names and defaults in the program's own descriptions of its parameters.
const ONLY_IN_118: &[(&str, ParamKind, f32)] = &[("MAN_OVERRIDE_SPD", Real32, 1.0)];
/// Release notes and sources of PX4 1.18.
const NOT_IN_118: &[&str] = &[
    "COM_OBC_LOSS_T",
    "COM_RC_OVERRIDE",
    "COM_RC_STICK_OV",
    "COM_TAKEOFF_ACT",
];
/// NAV_ACC_RAD, which no setting for multicopters lowers any more.
const RADIUS_IN_118_M: f32 = 10.0;

pub(in crate::model) fn params(firmware: Firmware) -> Params {
    match firmware {
        Firmware::Px4V118 => Params::new(&[ROWS, ONLY_IN_118].concat())
            .of_version(&[], NOT_IN_118)
            .with_default("NAV_ACC_RAD", RADIUS_IN_118_M),
        Firmware::Recorded | Firmware::Px4V116 | Firmware::Copter46 | Firmware::Copter48 => Params::new(ROWS),
    }
}
