//! The lists for random scripts: commands, modes and parameters of each stack.
//!
//! Left out, because the autopilot's state changes permanently, or it ends: PREFLIGHT_REBOOT (246), PREFLIGHT_STORAGE
//! (245), calibrations with a parameter set (241, 42006, 42424 to 42426), motor tests (209, 310), termination while
//! armed (185), PX4's external position and wind estimates (43003, 43004), and its failure injection that cannot be
//! undone (420).

use sitl::model::{Autopilot, Firmware};
use std::sync::LazyLock;

/// Sent with all parameters zero, in any state of the vehicle.
pub(super) fn plain_commands(autopilot: Autopilot) -> &'static [u16] {
    match autopilot {
        Autopilot::ArduPilot => ARDUPILOT,
        Autopilot::Px4 => PX4,
    }
}

const ARDUPILOT: &[u16] = &[
    16, 18, 19, 23, 32, 34, 80, 82, 84, 92, 93, 94, 95, 112, 113, 114, 177, 178, 180, 181, 182, 183, 184, 185, 186,
    188, 189, 191, 192, 193, 194, 195, 196, 197, 198, 201, 202, 203, 204, 205, 206, 207, 208, 210, 211, 212, 213, 216,
    217, 218, 220, 221, 222, 223, 224, 241, 242, 243, 252, 310, 400, 401, 410, 420, 500, 519, 520, 521, 525, 528, 530,
    532, 534, 601, 1000, 1001, 2000, 2001, 2500, 2501, 2800, 3000, 4000, 4001, 4501, 10001, 32000, 42007, 42428, 42429,
    42600, 42650, 42700, 43000, 43001, 43002, 43003, 43004, 43005, 9999, 31999, 65535,
];

const PX4: &[u16] = &[
    0, 1, 2, 16, 17, 80, 84, 93, 112, 115, 178, 182, 183, 185, 186, 187, 189, 191, 193, 194, 195, 196, 197, 201, 203,
    204, 205, 206, 207, 208, 212, 214, 216, 220, 224, 241, 242, 243, 252, 260, 262, 300, 311, 400, 401, 410, 420, 500,
    519, 520, 521, 525, 528, 530, 531, 532, 1000, 1001, 2000, 2003, 3000, 4501, 30001, 30002, 42424, 42600, 9999,
    31999, 65535,
];

/// custom_mode numbers of ArduCopter on the ground, including numbers without a mode.
pub(super) const ARDUPILOT_MODES: &[u32] = &[
    0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 99,
];
/// Excludes modes in which it tumbles without a pilot's stick input (1, 11, 13, 14, 15, 18, 25, 28), and SMART_RTL
/// (21), which on this version can leave an internal error, after which it does not arm until it is restarted.
pub(super) const ARDUPILOT_MODES_IN_AIR: &[u32] = &[0, 2, 3, 4, 4, 4, 5, 6, 7, 8, 9, 16, 17, 19, 20, 23, 24, 27, 99];

/// Main and sub mode numbers of PX4.
pub(super) const PX4_MODES: &[(u8, u8)] = &[
    (1, 0),
    (2, 0),
    (3, 0),
    (3, 1),
    (3, 2),
    (4, 0),
    (4, 1),
    (4, 2),
    (4, 3),
    (4, 3),
    (4, 3),
    (4, 4),
    (4, 5),
    (4, 6),
    (4, 7),
    (4, 8),
    (4, 9),
    (4, 10),
    (4, 11),
    (4, 77),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (99, 0),
    (0, 0),
];

/// Name, values, whether an integer; written on the ground or in the air.
pub(super) type Parameter = (&'static str, &'static [f32], bool);

pub(super) fn parameters(autopilot: Autopilot, firmware: Firmware) -> &'static [Parameter] {
    match (autopilot, firmware) {
        (Autopilot::ArduPilot, Firmware::Copter48) => COPTER_48_PARAMETERS,
        (Autopilot::ArduPilot, _) => ARDUPILOT_PARAMETERS,
        (Autopilot::Px4, Firmware::Px4V118) => &PX4_118_PARAMETERS,
        (Autopilot::Px4, _) => PX4_PARAMETERS,
    }
}

/// [`ARDUPILOT_PARAMETERS`] in the names and units of ArduCopter 4.8.
const COPTER_48_PARAMETERS: &[Parameter] = &[
    ("AVOID_ENABLE", &[0.0, 1.0, 3.0, 7.0], false),
    ("RTL_ALT_M", &[0.0, 10.0, 20.0], false),
    ("RTL_LOIT_TIME", &[0.0, 2000.0], false),
    ("RTL_ALT_FINAL_M", &[0.0, 3.0], false),
    ("WP_SPD", &[2.0, 5.0], false),
    ("WP_SPD_DN", &[1.0, 2.0], false),
    ("LAND_SPD_MS", &[0.5, 0.8], false),
    ("DISARM_DELAY", &[0.0, 5.0, 20.0], false),
    ("FENCE_ENABLE", &[0.0, 1.0], false),
    ("FENCE_ACTION", &[0.0, 1.0, 2.0, 4.0], false),
    ("FENCE_ALT_MAX", &[15.0, 100.0], false),
    ("FENCE_RADIUS", &[30.0, 100.0], false),
    ("FENCE_TYPE", &[1.0, 3.0, 7.0], false),
    ("FS_GCS_ENABLE", &[0.0, 1.0, 5.0, 7.0], false),
    ("FS_OPTIONS", &[0.0, 16.0], false),
    ("ARMING_SKIPCHK", &[-1.0, 0.0], false),
    ("AUTO_OPTIONS", &[0.0, 3.0], false),
    ("GUID_OPTIONS", &[0.0, 1.0], false),
    ("GUID_TIMEOUT", &[1.0, 3.0], false),
    ("NO_SUCH_NAME", &[1.0], false),
];

const ARDUPILOT_PARAMETERS: &[Parameter] = &[
    ("AVOID_ENABLE", &[0.0, 1.0, 3.0, 7.0], false),
    ("RTL_ALT", &[0.0, 1000.0, 2000.0], false),
    ("RTL_LOIT_TIME", &[0.0, 2000.0], false),
    ("RTL_ALT_FINAL", &[0.0, 300.0], false),
    ("WPNAV_SPEED", &[200.0, 500.0], false),
    ("WPNAV_SPEED_DN", &[100.0, 200.0], false),
    ("LAND_SPEED", &[50.0, 80.0], false),
    ("DISARM_DELAY", &[0.0, 5.0, 20.0], false),
    ("FENCE_ENABLE", &[0.0, 1.0], false),
    ("FENCE_ACTION", &[0.0, 1.0, 2.0, 4.0], false),
    ("FENCE_ALT_MAX", &[15.0, 100.0], false),
    ("FENCE_RADIUS", &[30.0, 100.0], false),
    ("FENCE_TYPE", &[1.0, 3.0, 7.0], false),
    ("FS_GCS_ENABLE", &[0.0, 1.0, 5.0, 7.0], false),
    ("FS_OPTIONS", &[0.0, 16.0], false),
    ("ARMING_CHECK", &[0.0, 1.0], false),
    ("AUTO_OPTIONS", &[0.0, 3.0], false),
    ("GUID_OPTIONS", &[0.0, 1.0], false),
    ("GUID_TIMEOUT", &[1.0, 3.0], false),
    ("NO_SUCH_NAME", &[1.0], false),
];

/// [`PX4_PARAMETERS`] without the one that PX4 1.18 has removed.
static PX4_118_PARAMETERS: LazyLock<Vec<Parameter>> = LazyLock::new(|| {
    let all = PX4_PARAMETERS.iter().copied();
    all.filter(|(name, ..)| *name != "COM_TAKEOFF_ACT").collect()
});

const PX4_PARAMETERS: &[Parameter] = &[
    ("MIS_TAKEOFF_ALT", &[2.5, 5.0], false),
    ("COM_DISARM_LAND", &[2.0, 4.0], false),
    ("COM_DISARM_PRFLT", &[5.0, 10.0], false),
    ("COM_FAIL_ACT_T", &[0.0, 2.0, 5.0], false),
    ("COM_OF_LOSS_T", &[1.0, 3.0], false),
    ("COM_OBL_RC_ACT", &[0.0, 1.0, 4.0, 5.0], true),
    ("COM_RCL_EXCEPT", &[0.0, 4.0], true),
    ("COM_DL_LOSS_T", &[5.0, 10.0], true),
    ("COM_DLL_EXCEPT", &[0.0, 2.0, 4.0], true),
    ("NAV_DLL_ACT", &[0.0, 1.0, 2.0, 3.0], true),
    ("GF_ACTION", &[1.0, 2.0, 3.0, 5.0], true),
    ("GF_MAX_HOR_DIST", &[0.0, 25.0], false),
    ("GF_MAX_VER_DIST", &[0.0, 12.0], false),
    ("RTL_RETURN_ALT", &[15.0, 30.0], false),
    ("RTL_DESCEND_ALT", &[10.0, 30.0], false),
    ("RTL_LAND_DELAY", &[0.0, 3.0], false),
    ("MPC_XY_CRUISE", &[3.0, 8.0], false),
    ("MPC_LAND_SPEED", &[0.5, 0.7], false),
    ("COM_TAKEOFF_ACT", &[0.0, 1.0], true),
    ("SYS_FAILURE_EN", &[0.0, 1.0], true),
    ("NO_SUCH_NAME", &[1.0], true),
];

/// Message ids to request, known and unknown to each stack. Excludes one that PX4 refuses without a new measurement
/// (24).
pub(super) const MESSAGES: &[u32] = &[
    0, 1, 2, 30, 31, 32, 33, 36, 42, 62, 74, 83, 85, 87, 105, 116, 125, 132, 141, 147, 148, 162, 168, 193, 230, 242,
    245, 253, 265, 291, 300, 331, 340, 395, 397, 410, 411, 435, 436, 437, 9999,
];

#[cfg(test)]
mod tests {
    use super::super::encode::Scene;
    use super::super::simulated::parameter_names;
    use super::*;
    use sitl::model::Wgs84;

    #[test]
    fn each_version_has_the_parameters_that_its_scripts_write() {
        let recorded = [Autopilot::ArduPilot, Autopilot::Px4].map(|autopilot| (autopilot, Firmware::Recorded));
        let played = Firmware::VERSIONS.map(|firmware| (firmware.autopilot().unwrap(), firmware));
        for (autopilot, firmware) in recorded.into_iter().chain(played) {
            let place = Wgs84 {
                lat_deg: 47.0,
                lon_deg: 8.0,
                amsl_m: 488.0,
            };
            let names = parameter_names(&Scene {
                place,
                system: 1,
                autopilot,
                firmware,
            });
            let lacks = |name: &&str| !names.iter().any(|known| known == name);
            let missing: Vec<_> = parameters(autopilot, firmware)
                .iter()
                .map(|row| row.0)
                .filter(lacks)
                .collect();
            assert_eq!(missing, ["NO_SUCH_NAME"], "{firmware:?}");
        }
    }
}
