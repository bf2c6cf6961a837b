//! PX4's battery: the charge of its simulated pack, and the warning level by the estimated charge.

use crate::model::core::Core;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(super) enum Charge {
    Ok,
    Low,
    Critical,
    Emergency,
}

pub(super) fn charge(core: &Core) -> Charge {
    let left = core.battery.estimate() / 100.0;
    let below = |name: &str| left < f64::from(core.params.get(name));
    match () {
        () if below("BAT_EMERGEN_THR") => Charge::Emergency,
        () if below("BAT_CRIT_THR") => Charge::Critical,
        () if below("BAT_LOW_THR") => Charge::Low,
        () => Charge::Ok,
    }
}

/// Four cells (recorded): 3.6 V a cell when empty, 4.05 V when full.
pub(super) fn volts(core: &Core) -> f64 {
    14.4 + 1.8 * core.battery.percent() / 100.0
}

/// SIM_BAT_DRAIN; 0 never empties it.
pub(super) fn seconds_of_a_full_pack(percent_per_minute: f64) -> f32 {
    if percent_per_minute > 0.0 {
        (6000.0 / percent_per_minute) as f32
    } else {
        0.0
    }
}

pub(super) fn step(core: &mut Core, motors_run: bool, dt_s: f64) {
    let lasts_s = f64::from(core.params.get("SIM_BAT_DRAIN"));
    let floor_percent = f64::from(core.params.get("SIM_BAT_MIN_PCT"));
    if motors_run {
        let used = if lasts_s > 0.0 { 100.0 * dt_s / lasts_s } else { 0.0 };
        core.battery.use_up(used, floor_percent);
    } else if core.config.battery_refills {
        core.battery.refill();
    }
    core.battery.measure(dt_s);
}
