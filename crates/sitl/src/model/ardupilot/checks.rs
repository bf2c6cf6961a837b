//! ArduCopter's preflight checks by moment of the boot, with the texts of the real one.

use super::boot::{INITIALIZED_S, ORIGIN_S, SENSORS_SETTLED_S};
use super::modes;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatteryTrouble {
    /// A higher voltage does not clear it.
    pub(super) failed: bool,
    pub(super) low_now: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct CheckInputs {
    pub(super) uptime_s: f64,
    pub(super) mode: u32,
    pub(super) never_ready: bool,
    pub(super) position: bool,
    pub(super) has_mission: bool,
    pub(super) fence_needs_position: bool,
    pub(super) battery: BatteryTrouble,
}

/// Reasons without the prefix "Arm: " or "PreArm: ".
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
