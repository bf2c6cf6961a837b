//! BATTERY_STATUS (147) of one or several batteries, as one.
//!
//! Owns: [`Batteries`]: what each battery said last, and which of them speaks for the vehicle: the worst of those that were
//! heard lately, for a vehicle is as empty as its emptiest battery. Must not: decide what is low.

use link::dialect::{BATTERY_INFO_DATA, BATTERY_STATUS_DATA, MavBatteryChargeState};
use model::inventory::BatteryWear;
use model::time::{Moment, Sighting};
use model::units::{Percent, Volts};
use model::vehicle::{Battery, Charge};
use std::time::Duration;

/// A battery that was not heard for this long says nothing; and for this long BATTERY_STATUS is preferred to SYS_STATUS.
const COUNTS_FOR: Duration = Duration::from_secs(10);
/// Batteries kept apart; more share the last place.
const AT_MOST: usize = 8;

/// What each battery said last.
#[derive(Clone, Debug, Default)]
pub struct Batteries([Option<Sighting<Battery>>; AT_MOST], [BatteryWear; AT_MOST]);

impl Batteries {
    /// Takes what one says of its wear; returns the worst of all.
    pub fn wear(&mut self, m: &BATTERY_INFO_DATA) -> BatteryWear {
        if let Some(place) = self.1.get_mut(usize::from(m.id).min(AT_MOST - 1)) {
            *place = BatteryWear {
                cycles: Some(m.cycle_count).filter(|cycles| *cycles != u16::MAX),
                health: Percent::new(m.state_of_health),
            };
        }
        self.1.into_iter().fold(BatteryWear::default(), BatteryWear::or_worse)
    }

    /// Takes a message; returns the battery that speaks for the vehicle now.
    pub fn receive(&mut self, m: &BATTERY_STATUS_DATA, now: Moment) -> Battery {
        let heard = battery(m);
        if let Some(place) = self.0.get_mut(usize::from(m.id).min(AT_MOST - 1)) {
            *place = Some(Sighting::new(heard, now));
        }
        let fresh = self.0.iter().flatten().filter_map(|b| b.fresh(now, COUNTS_FOR));
        fresh.max_by_key(|b| emptiness(b)).copied().unwrap_or(heard)
    }

    /// Whether more than one was ever heard.
    #[must_use]
    pub fn are_several(&self) -> bool {
        self.0.iter().flatten().count() > 1
    }

    /// Whether any battery was heard lately.
    #[must_use]
    pub fn heard_lately(&self, now: Moment) -> bool {
        self.0.iter().flatten().any(|b| b.fresh(now, COUNTS_FOR).is_some())
    }
}

/// Orders batteries by how bad they are: by what the autopilot makes of them, then by what is left.
fn emptiness(battery: &Battery) -> (Charge, Option<u8>) {
    let charge = match battery.charge {
        Charge::Unknown | Charge::Fine => Charge::Fine,
        worse => worse,
    };
    (charge, battery.remaining.map(|left| 100 - left.get()))
}

/// The share left, from battery_remaining; -1 is unknown, and so is 0 of a battery without a voltage: there is none.
#[must_use]
pub fn remaining(percent: i8, voltage: Option<Volts>) -> Option<Percent> {
    let left = u8::try_from(percent).ok().and_then(Percent::new);
    left.filter(|left| left.get() > 0 || voltage.is_some())
}

fn battery(m: &BATTERY_STATUS_DATA) -> Battery {
    let cells = m
        .voltages
        .iter()
        .filter(|&&mv| mv != u16::MAX)
        .chain(m.voltages_ext.iter());
    let millivolts: u32 = cells.map(|&mv| u32::from(mv)).sum();
    let voltage = (millivolts > 0).then(|| Volts::of_millivolts(millivolts));
    Battery {
        remaining: remaining(m.battery_remaining, voltage),
        voltage,
        charge: charge(m.charge_state),
    }
}

const fn charge(state: MavBatteryChargeState) -> Charge {
    use MavBatteryChargeState as State;
    match state {
        State::MAV_BATTERY_CHARGE_STATE_UNDEFINED => Charge::Unknown,
        State::MAV_BATTERY_CHARGE_STATE_OK | State::MAV_BATTERY_CHARGE_STATE_CHARGING => Charge::Fine,
        State::MAV_BATTERY_CHARGE_STATE_LOW => Charge::Low,
        State::MAV_BATTERY_CHARGE_STATE_UNHEALTHY => Charge::Unhealthy,
        State::MAV_BATTERY_CHARGE_STATE_CRITICAL => Charge::Critical,
        State::MAV_BATTERY_CHARGE_STATE_EMERGENCY => Charge::Emergency,
        State::MAV_BATTERY_CHARGE_STATE_FAILED => Charge::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(id: u8, remaining: i8, state: MavBatteryChargeState) -> BATTERY_STATUS_DATA {
        BATTERY_STATUS_DATA {
            id,
            battery_remaining: remaining,
            charge_state: state,
            voltages: [u16::MAX; 10],
            ..BATTERY_STATUS_DATA::default()
        }
    }

    fn left(battery: Battery) -> Option<u8> {
        battery.remaining.map(Percent::get)
    }

    const FINE: MavBatteryChargeState = MavBatteryChargeState::MAV_BATTERY_CHARGE_STATE_OK;
    const UNDEFINED: MavBatteryChargeState = MavBatteryChargeState::MAV_BATTERY_CHARGE_STATE_UNDEFINED;
    const CRITICAL: MavBatteryChargeState = MavBatteryChargeState::MAV_BATTERY_CHARGE_STATE_CRITICAL;

    fn at(s: u64) -> Moment {
        Moment::at(Duration::from_secs(s))
    }

    #[test]
    fn the_emptiest_battery_speaks_for_the_vehicle() {
        let mut batteries = Batteries::default();
        assert_eq!(left(batteries.receive(&status(0, 80, FINE), at(0))), Some(80));
        assert_eq!(left(batteries.receive(&status(1, 30, UNDEFINED), at(0))), Some(30));
        assert_eq!(left(batteries.receive(&status(0, 79, FINE), at(1))), Some(30));
        let worst = batteries.receive(&status(2, 60, CRITICAL), at(1));
        assert_eq!((left(worst), worst.charge), (Some(60), Charge::Critical));
    }

    #[test]
    fn a_battery_that_does_not_know_or_is_silent_does_not_speak_for_one_that_does() {
        let mut batteries = Batteries::default();
        batteries.receive(&status(0, 12, UNDEFINED), at(0));
        assert_eq!(left(batteries.receive(&status(1, -1, UNDEFINED), at(1))), Some(12));
        assert_eq!(
            left(batteries.receive(&status(1, 90, UNDEFINED), at(20))),
            Some(90),
            "the first one is gone"
        );
        assert!(batteries.heard_lately(at(30)) && !batteries.heard_lately(at(31)));
    }

    #[test]
    fn a_battery_without_charge_and_voltage_is_no_battery() {
        assert_eq!(
            left(Batteries::default().receive(&status(0, 0, UNDEFINED), at(0))),
            None
        );
        let empty = BATTERY_STATUS_DATA {
            voltages: [3000; 10],
            ..status(0, 0, UNDEFINED)
        };
        assert_eq!(left(Batteries::default().receive(&empty, at(0))), Some(0));
    }

    #[test]
    fn any_number_of_batteries_can_be_heard() {
        let mut batteries = Batteries::default();
        for id in 0..=u8::MAX {
            batteries.receive(&status(id, 50, UNDEFINED), at(0));
        }
        assert_eq!(left(batteries.receive(&status(200, 10, UNDEFINED), at(0))), Some(10));
    }
}
