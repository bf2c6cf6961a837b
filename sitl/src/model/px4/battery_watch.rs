//! PX4's battery warnings: charge thresholds, each said once when crossed.
//!
//! Owns: the voltage model and the warning level. Must not: change modes.

use crate::model::core::Core;

/// MAV_BATTERY_CHARGE_STATE as PX4 uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(super) enum Charge {
    Ok,
    Low,
    Critical,
    Emergency,
}

/// The warning level of the present charge.
pub(super) fn charge(core: &Core) -> Charge {
    let left = core.battery.percent() / 100.0;
    let below = |name: &str| left < f64::from(core.params.get(name));
    match () {
        () if below("BAT_EMERGEN_THR") => Charge::Emergency,
        () if below("BAT_CRIT_THR") => Charge::Critical,
        () if below("BAT_LOW_THR") => Charge::Low,
        () => Charge::Ok,
    }
}

/// Volts of the recorded four-cell pack at the present charge.
pub(super) fn volts(core: &Core) -> f64 {
    16.2 - (100.0 - core.battery.percent()) * 0.0184
}
