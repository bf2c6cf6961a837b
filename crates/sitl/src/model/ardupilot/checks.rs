//! ArduCopter's preflight checks: which of them fail at a moment of the boot, with the texts of the real one.

use super::boot::{INITIALIZED_S, ORIGIN_S, SENSORS_SETTLED_S};
use super::modes;

/// What is wrong with the battery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatteryTrouble {
    /// The failsafe was triggered since boot; a higher voltage does not clear it.
    pub(super) failed: bool,
    /// It was, and the voltage is low now.
    pub(super) low_now: bool,
}

/// The inputs of the checks.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckInputs {
    /// Seconds since boot.
    pub(super) uptime_s: f64,
    /// Mode number.
    pub(super) mode: u32,
    /// The vehicle never becomes ready.
    pub(super) never_ready: bool,
    /// The estimator has a position.
    pub(super) position: bool,
    /// There is a mission with more than home.
    pub(super) has_mission: bool,
    /// The fence is on and checks more than height.
    pub(super) fence_needs_position: bool,
    /// The battery.
    pub(super) battery: BatteryTrouble,
}

/// Reasons against arming, without the prefix "Arm: " or "PreArm: ".
pub(super) fn failing(inputs: &CheckInputs) -> Vec<&'static str> {
    let CheckInputs {
        uptime_s,
        mode,
        battery,
        ..
    } = *inputs;
    if uptime_s < INITIALIZED_S {
        return vec!["System not initialised"];
    }
    let mut reasons = Vec::new();
    let position = modes::needs_position(mode);
    if inputs.never_ready {
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
        } else if !inputs.position {
            reasons.push("Need Position Estimate");
        }
    }
    if inputs.fence_needs_position && !inputs.position {
        reasons.push("Fence enabled, need position estimate");
    }
    if mode == modes::AUTO && !inputs.has_mission {
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
