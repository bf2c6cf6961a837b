//! Names of parameters that releases of firmware have changed.
//!
//! Owns: the table, for words. Must not: convert a value: units changed with the names.

use model::vehicle::Autopilot;

/// Until ArduCopter 4.6, and from 4.7 on; with the units of both where they differ.
const ARDUCOPTER_4_7: [(&str, &str, &str); 23] = [
    ("RTL_ALT", "RTL_ALT_M", "cm, now m"),
    ("RTL_ALT_FINAL", "RTL_ALT_FINAL_M", "cm, now m"),
    ("RTL_CLIMB_MIN", "RTL_CLIMB_MIN_M", "cm, now m"),
    ("RTL_SPEED", "RTL_SPEED_MS", "cm/s, now m/s"),
    ("LAND_SPEED", "LAND_SPD_MS", "cm/s, now m/s"),
    ("LAND_SPEED_HIGH", "LAND_SPD_HIGH_MS", "cm/s, now m/s"),
    ("LAND_ALT_LOW", "LAND_ALT_LOW_M", "cm, now m"),
    ("WPNAV_SPEED", "WP_SPD", "cm/s, now m/s"),
    ("WPNAV_SPEED_UP", "WP_SPD_UP", "cm/s, now m/s"),
    ("WPNAV_SPEED_DN", "WP_SPD_DN", "cm/s, now m/s"),
    ("WPNAV_RADIUS", "WP_RADIUS_M", "cm, now m"),
    ("WPNAV_ACCEL", "WP_ACC", "cm/s², now m/s²"),
    ("PILOT_SPEED_UP", "PILOT_SPD_UP", "cm/s, now m/s"),
    ("PILOT_SPEED_DN", "PILOT_SPD_DN", "cm/s, now m/s"),
    ("PILOT_ACCEL_Z", "PILOT_ACC_Z", "cm/s², now m/s²"),
    ("PILOT_TKOFF_ALT", "PILOT_TKO_ALT_M", "cm, now m"),
    ("ANGLE_MAX", "ATC_ANGLE_MAX", "centidegrees, now degrees"),
    (
        "ARMING_CHECK",
        "ARMING_SKIPCHK",
        "checks that are done, now those that are skipped",
    ),
    ("PHLD_BRAKE_ANGLE", "PHLD_BRK_ANGLE", "centidegrees, now degrees"),
    ("SYSID_THISMAV", "MAV_SYSID", ""),
    ("SYSID_MYGCS", "MAV_GCS_SYSID", ""),
    ("SYSID_ENFORCE", "MAV_OPTIONS", ""),
    ("TELEM_DELAY", "MAV_TELEM_DELAY", ""),
];

/// Names that PX4 1.18 has no more.
const GONE_FROM_PX4_1_18: [&str; 4] = ["COM_TAKEOFF_ACT", "COM_OBC_LOSS_T", "COM_RC_OVERRIDE", "MAV_SIGN_CFG"];

/// What became of a name, in a sentence; `None`: nothing that is known.
pub fn words(autopilot: Autopilot, name: &str) -> Option<String> {
    match autopilot {
        Autopilot::ArduPilot => {
            let find = |(old, new, unit): &(&str, &str, &str)| {
                let unit = if unit.is_empty() {
                    String::new()
                } else {
                    format!(" ({unit})")
                };
                if *old == name {
                    Some(format!("{old} is named {new} from ArduCopter 4.7 on{unit}"))
                } else if *new == name {
                    Some(format!("{new} is named {old} until ArduCopter 4.6{unit}"))
                } else {
                    None
                }
            };
            ARDUCOPTER_4_7.iter().find_map(find)
        }
        Autopilot::Px4 => {
            let gone = GONE_FROM_PX4_1_18.contains(&name);
            gone.then(|| format!("{name} is gone from PX4 1.18"))
        }
    }
}
