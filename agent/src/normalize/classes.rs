//! Which refusals to arm go away by themselves, and which want a person.

use model::vehicle::ReasonClass::{self, NeedsHuman, Unclear, WillHeal};
use std::time::Duration;

/// In lower case; the first that fits decides.
const TABLE: [(&str, ReasonClass); 56] = [
    // Somebody has to do something, whatever else the text says.
    ("not calibrated", NeedsHuman),
    ("calibrat", NeedsHuman),
    ("too few compasses", NeedsHuman),
    ("hardware safety switch", NeedsHuman),
    ("safety switch", NeedsHuman),
    ("battery", NeedsHuman),
    ("sd card", NeedsHuman),
    ("storage", NeedsHuman),
    ("logging", NeedsHuman),
    ("throttle", NeedsHuman),
    ("rc not found", NeedsHuman),
    ("rc failsafe", NeedsHuman),
    ("radio failsafe", NeedsHuman),
    ("no manual control", NeedsHuman),
    ("no connection to the g", NeedsHuman),
    ("motors:", NeedsHuman),
    ("servo", NeedsHuman),
    ("esc", NeedsHuman),
    ("param", NeedsHuman),
    ("check ", NeedsHuman),
    ("fs_", NeedsHuman),
    ("board (", NeedsHuman),
    ("fence", NeedsHuman),
    ("no valid mission", NeedsHuman),
    ("rtl", NeedsHuman),
    ("terrain", NeedsHuman),
    ("kill switch", NeedsHuman),
    ("emergency stop", NeedsHuman),
    ("mode not armable", NeedsHuman),
    ("mode not suitable", NeedsHuman),
    ("offboard", NeedsHuman),
    ("leaning", NeedsHuman),
    ("internal error", NeedsHuman),
    ("compass", NeedsHuman),
    ("high magnetic", NeedsHuman),
    ("mag field", NeedsHuman),
    ("firmware", NeedsHuman),
    ("hardware", NeedsHuman),
    // It comes with time: satellites, filters, start-up.
    ("need position estimate", WillHeal),
    ("need alt estimate", WillHeal),
    ("position estimate", WillHeal),
    ("altitude estimate", WillHeal),
    ("attitude estimate", WillHeal),
    ("velocity estimate", WillHeal),
    ("waiting for home", WillHeal),
    ("home position", WillHeal),
    ("gps ", WillHeal),
    ("bad fix", WillHeal),
    ("hdop", WillHeal),
    ("satellite", WillHeal),
    ("ekf attitude", WillHeal),
    ("ekf", WillHeal),
    ("ahrs", WillHeal),
    ("initiali", WillHeal),
    ("settling", WillHeal),
    ("being read", WillHeal),
];

/// Sensors that disagree while they warm up after the boot, and agree by themselves within [`STARTUP_TIME`].
const SETTLING: [&str; 2] = ["accels inconsistent", "gyros inconsistent"];

const STARTUP_TIME: Duration = Duration::from_secs(90);

/// `text` without prefix.
pub fn class_after(text: &str, lasted: Duration) -> ReasonClass {
    let lower = text.to_lowercase();
    if lasted < STARTUP_TIME && SETTLING.iter().any(|part| lower.contains(part)) {
        return WillHeal;
    }
    class(text)
}

/// Class of a reason that has lasted for long; `text` without prefix.
pub fn class(text: &str) -> ReasonClass {
    let text = text.to_lowercase();
    // A vehicle whose sensors disagree or are gone does not heal, whatever it is that they measure.
    let broken = [
        "inconsistent",
        "missing",
        "not found",
        "failed",
        "unhealthy",
        "not configured",
    ];
    if broken.iter().any(|part| text.contains(part)) {
        return NeedsHuman;
    }
    let known = TABLE.iter().find(|(part, _)| text.contains(part));
    known.map_or(Unclear, |(_, class)| *class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensors_that_disagree_after_the_boot_settle_and_later_want_a_person() {
        for text in ["Accels inconsistent", "Gyros inconsistent"] {
            assert_eq!(class_after(text, Duration::from_secs(32)), WillHeal);
            assert_eq!(class_after(text, STARTUP_TIME), NeedsHuman);
        }
        assert_eq!(class_after("Compasses inconsistent", Duration::ZERO), NeedsHuman);
    }

    #[test]
    fn what_comes_with_time_heals() {
        for text in [
            "Need Position Estimate",
            "Need Alt Estimate",
            "GPS 1: Bad fix",
            "GPS 1: not healthy",
            "AHRS: waiting for home",
            "EKF attitude is bad",
            "Navigation error: No valid global position estimate",
            "AHRS: EKF3 not initialised",
        ] {
            assert_eq!(class(text), WillHeal, "{text}");
        }
    }

    #[test]
    fn what_a_person_has_to_do_something_about_does_not() {
        for text in [
            "Compass not calibrated",
            "Compasses inconsistent",
            "3D Accel calibration needed",
            "Battery 1 low voltage failsafe",
            "Low battery",
            "Throttle below failsafe",
            "RC not found",
            "Hardware safety switch",
            "Check FS_THR_VALUE",
            "No connection to the ground control station",
            "Found 1 compass (required: 2)",
            "GPS 1: not found",
            "EKF3 core 0 unhealthy",
        ] {
            assert_eq!(class(text), NeedsHuman, "{text}");
        }
    }

    #[test]
    fn what_is_not_known_is_unclear() {
        for text in ["", "PX4 event 0x01234567", "Something new"] {
            assert_eq!(class(text), Unclear, "{text}");
        }
    }
}
