//! ArduCopter's battery failsafe: voltage that stays low for BATT_LOW_TIMER seconds.

use crate::model::core::Core;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(super) enum Charge {
    Ok,
    Low,
    Critical,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct BatteryWatch {
    low_since_s: Option<f64>,
    critical_since_s: Option<f64>,
    pub(super) charge: Charge,
}

impl BatteryWatch {
    pub(super) fn new() -> Self {
        Self {
            low_since_s: None,
            critical_since_s: None,
            charge: Charge::Ok,
        }
    }

    pub(super) fn step(&mut self, core: &Core) -> Option<Charge> {
        let volts = volts(core);
        let since = |since: Option<f64>, limit: f32| {
            (limit > 0.0 && volts < f64::from(limit)).then(|| since.unwrap_or(core.uptime_s))
        };
        self.low_since_s = since(self.low_since_s, core.params.get("BATT_LOW_VOLT"));
        self.critical_since_s = since(self.critical_since_s, core.params.get("BATT_CRT_VOLT"));
        let low_for_s = f64::from(core.params.get("BATT_LOW_TIMER"));
        let lasting = |since: Option<f64>| since.is_some_and(|at| core.uptime_s - at >= low_for_s);
        let charge = match (lasting(self.critical_since_s), lasting(self.low_since_s)) {
            (true, _) => Charge::Critical,
            (_, true) => Charge::Low,
            _ => return None,
        };
        (charge > self.charge).then(|| {
            self.charge = charge;
            charge
        })
    }
}

/// Three cells, from SIM_BATT_VOLTAGE (full) down with the charge.
pub(super) fn volts(core: &Core) -> f64 {
    let full = f64::from(core.params.get("SIM_BATT_VOLTAGE"));
    full - (100.0 - core.battery.percent()) * 0.024
}
