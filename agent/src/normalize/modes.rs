//! Flight modes: the meaning of HEARTBEAT.custom_mode, and the autopilot's own name for it.

use model::vehicle::{Autopilot, Mode, ModeReport};

pub fn mode(autopilot: Autopilot, custom_mode: u32) -> ModeReport {
    match autopilot {
        Autopilot::ArduPilot => arducopter(custom_mode),
        Autopilot::Px4 => px4(custom_mode),
    }
}

fn report(mode: Mode, label: &str) -> ModeReport {
    ModeReport {
        mode,
        label: label.to_owned(),
    }
}

/// ArduCopter: custom_mode is the mode number (ArduCopter/mode.h).
fn arducopter(number: u32) -> ModeReport {
    use Mode::{Foreign, Land, Mission, Return, Station};
    let (mode, label) = match number {
        0 => (Foreign, "STABILIZE"),
        1 => (Foreign, "ACRO"),
        2 => (Foreign, "ALT_HOLD"),
        3 => (Mission, "AUTO"),
        4 => (Station, "GUIDED"),
        5 => (Foreign, "LOITER"),
        6 => (Return, "RTL"),
        7 => (Foreign, "CIRCLE"),
        9 => (Land, "LAND"),
        11 => (Foreign, "DRIFT"),
        13 => (Foreign, "SPORT"),
        14 => (Foreign, "FLIP"),
        15 => (Foreign, "AUTOTUNE"),
        16 => (Foreign, "POSHOLD"),
        17 => (Foreign, "BRAKE"),
        18 => (Foreign, "THROW"),
        19 => (Foreign, "AVOID_ADSB"),
        20 => (Foreign, "GUIDED_NOGPS"),
        21 => (Return, "SMART_RTL"),
        22 => (Foreign, "FLOWHOLD"),
        23 => (Foreign, "FOLLOW"),
        24 => (Foreign, "ZIGZAG"),
        25 => (Foreign, "SYSTEMID"),
        26 => (Foreign, "AUTOROTATE"),
        27 => (Return, "AUTO_RTL"),
        28 => (Foreign, "TURTLE"),
        other => return report(Foreign, &format!("MODE {other}")),
    };
    report(mode, label)
}

/// PX4: bits 16 to 23 are the main mode, 24 to 31 the sub mode (px4_custom_mode.h).
fn px4(custom_mode: u32) -> ModeReport {
    use Mode::{Foreign, Land, Mission, Return, Station, Takeoff};
    let main = (custom_mode >> 16) & 0xFF;
    let sub = custom_mode >> 24;
    let (mode, label) = match (main, sub) {
        (1, _) => (Foreign, "MANUAL"),
        (2, _) => (Foreign, "ALTCTL"),
        (3, 1) => (Foreign, "POSCTL.ORBIT"),
        (3, 2) => (Foreign, "POSCTL.SLOW"),
        (3, _) => (Foreign, "POSCTL"),
        (4, 1) => (Foreign, "AUTO.READY"),
        (4, 2) => (Takeoff, "AUTO.TAKEOFF"),
        (4, 3) => (Station, "AUTO.LOITER"),
        (4, 4) => (Mission, "AUTO.MISSION"),
        (4, 5) => (Return, "AUTO.RTL"),
        (4, 6) => (Land, "AUTO.LAND"),
        (4, 8) => (Foreign, "AUTO.FOLLOW"),
        (4, 9) => (Land, "AUTO.PRECLAND"),
        (4, 10) => (Foreign, "AUTO.VTOL_TAKEOFF"),
        (4, n @ 11..=18) => return report(Foreign, &format!("AUTO.EXTERNAL{}", n - 10)),
        (5, _) => (Foreign, "ACRO"),
        (6, _) => (Foreign, "OFFBOARD"),
        (7, _) => (Foreign, "STABILIZED"),
        (10, _) => (Foreign, "TERMINATION"),
        (main, sub) => return report(Foreign, &format!("MODE {main}.{sub}")),
    };
    report(mode, label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modes_in_which_we_command_are_guided_and_hold() {
        for (autopilot, custom, meaning, label) in [
            (Autopilot::ArduPilot, 4, Mode::Station, "GUIDED"),
            (Autopilot::ArduPilot, 9, Mode::Land, "LAND"),
            (Autopilot::ArduPilot, 6, Mode::Return, "RTL"),
            (Autopilot::ArduPilot, 5, Mode::Foreign, "LOITER"),
            (Autopilot::ArduPilot, 3, Mode::Mission, "AUTO"),
            (Autopilot::Px4, 0x0404_0000, Mode::Mission, "AUTO.MISSION"),
            (Autopilot::ArduPilot, 99, Mode::Foreign, "MODE 99"),
            (Autopilot::Px4, 0x0304_0000, Mode::Station, "AUTO.LOITER"),
            (Autopilot::Px4, 0x0204_0000, Mode::Takeoff, "AUTO.TAKEOFF"),
            (Autopilot::Px4, 84_148_224, Mode::Return, "AUTO.RTL"),
            (Autopilot::Px4, 100_925_440, Mode::Land, "AUTO.LAND"),
            (Autopilot::Px4, 0x0003_0000, Mode::Foreign, "POSCTL"),
            (Autopilot::Px4, 0x0006_0000, Mode::Foreign, "OFFBOARD"),
            (Autopilot::Px4, 0, Mode::Foreign, "MODE 0.0"),
        ] {
            assert_eq!(
                mode(autopilot, custom),
                ModeReport {
                    mode: meaning,
                    label: label.into()
                }
            );
        }
    }
}
