//! ArduCopter's preflight checks: which of them fail at a moment of the boot, in the words of the real one.
//!
//! Owns: reasons. Must not: send them, or look at armed state.

use super::boot::{INITIALISED_S, ORIGIN_S, POSITION_S, SENSORS_SETTLED_S};
use super::modes;

/// What is wrong with the battery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatteryTrouble {
    /// The failsafe was triggered since boot; a better voltage does not clear it.
    pub(super) failed: bool,
    /// It was, and the voltage is low now.
    pub(super) low_now: bool,
}

/// Reasons that stand against arming in `mode`, without the "Arm: " or "PreArm: " in front.
pub(super) fn failing(uptime_s: f64, mode: u32, never_ready: bool, battery: BatteryTrouble) -> Vec<&'static str> {
    if uptime_s < INITIALISED_S {
        return vec!["System not initialised"];
    }
    let mut reasons = Vec::new();
    let position = modes::needs_position(mode);
    if never_ready {
        reasons.push("Compass not calibrated");
    }
    if position && uptime_s < 6.0 {
        reasons.push("Need Alt Estimate");
    }
    if uptime_s < 12.4 {
        reasons.push("Accels inconsistent");
    } else if uptime_s < SENSORS_SETTLED_S {
        reasons.push("Gyros inconsistent");
    }
    if uptime_s < 6.0 {
        reasons.push("EKF attitude is bad");
    }
    if !position && uptime_s < 4.42 {
        reasons.push("AHRS: not using configured AHRS type");
    }
    if position {
        if uptime_s < ORIGIN_S {
            reasons.push("AHRS: waiting for home");
        } else if uptime_s < POSITION_S {
            reasons.push("Need Position Estimate");
        }
    }
    if mode == modes::AUTO {
        reasons.push("Mode requires mission");
    }
    if battery.low_now {
        reasons.push("Battery 1 low voltage failsafe");
    }
    if battery.failed {
        reasons.push("Battery failsafe");
    }
    reasons
}
