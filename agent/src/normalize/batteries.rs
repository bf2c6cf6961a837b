//! BATTERY_STATUS (147) of one or several batteries: which of them drive the motors, and those as one.
//!
//! A battery that falls silent in flight, or does not know its charge any more, while others are heard goes on counting: with what it had last,
//! less what the others have lost since. Its charge is not known, and that of the others is not that of the vehicle.

use link::dialect::{
    BATTERY_INFO_DATA, BATTERY_STATUS_DATA, MavBatteryChargeState, MavBatteryFunction, MavBatteryType,
};
use model::inventory::BatteryWear;
use model::monitored_battery::{Drives, MotorBatteries};
use model::time::{Moment, Sighting};
use model::units::{Percent, Volts};
use model::vehicle::{Battery, Charge, MonitoredBattery};
use std::time::Duration;

/// A reading counts for this long, and BATTERY_STATUS is preferred to SYS_STATUS.
const COUNTS_FOR: Duration = Duration::from_secs(10);
/// Batteries kept apart; more share the last place.
const AT_MOST: usize = 8;
/// No cell has more, millivolts.
const CELL_AT_MOST_MV: u16 = 5000;
/// The battery that SYS_STATUS (1) reports.
const PRIMARY: u8 = 0;

/// `others`: their charges at that time.
#[derive(Clone, Debug)]
struct Known {
    remaining: Percent,
    others: Vec<(u8, Percent)>,
}

#[derive(Clone, Debug)]
struct Slot {
    battery: MonitoredBattery,
    known: Option<Known>,
}

impl Slot {
    fn drives_motors(&self) -> bool {
        self.battery.drives == Drives::Motors
    }

    fn fresh(&self, now: Moment) -> Option<Battery> {
        self.battery.reading.fresh(now, COUNTS_FOR).copied()
    }
}

#[derive(Clone, Debug, Default)]
pub struct Batteries {
    slots: Vec<Slot>,
    wear: [BatteryWear; AT_MOST],
    motors: MotorBatteries,
}

impl Batteries {
    pub fn of(motors: MotorBatteries) -> Self {
        Self {
            motors,
            ..Self::default()
        }
    }

    /// State after a reboot of the autopilot.
    pub fn forgotten(&self) -> Self {
        Self::of(self.motors.clone())
    }

    /// Returns the worst of all.
    pub fn wear(&mut self, m: &BATTERY_INFO_DATA) -> BatteryWear {
        if let Some(place) = self.wear.get_mut(usize::from(m.id).min(AT_MOST - 1)) {
            *place = BatteryWear {
                cycles: Some(m.cycle_count).filter(|cycles| *cycles != u16::MAX),
                health: Percent::new(m.state_of_health),
            };
        }
        self.wear
            .into_iter()
            .fold(BatteryWear::default(), BatteryWear::or_worse)
    }

    /// Returns what the batteries that drive the motors say now, if the message is of one of them.
    pub fn receive(&mut self, m: &BATTERY_STATUS_DATA, armed: bool, now: Moment) -> Option<Battery> {
        if !armed {
            // On the ground a battery is taken out.
            self.slots.retain(|slot| slot.fresh(now).is_some());
        }
        let drives = self.motors.judge(m.id, function(m.battery_function));
        let heard = battery(m);
        let others = self
            .slots
            .iter()
            .filter(|slot| slot.battery.id != m.id && slot.drives_motors());
        let others = others.filter_map(|slot| Some((slot.battery.id, slot.fresh(now)?.remaining?)));
        let known = heard.remaining.map(|remaining| Known {
            remaining,
            others: others.collect(),
        });
        let battery = MonitoredBattery {
            id: m.id,
            drives,
            cells: cells(m),
            reading: Sighting::new(heard, now),
        };
        match self.place(m.id) {
            Some(slot) => {
                let same = slot.battery.id == m.id;
                slot.known = known.or_else(|| slot.known.take().filter(|_| same));
                slot.battery = battery;
            }
            None => self.slots.push(Slot { battery, known }),
        }
        match drives {
            Drives::Motors => self.speaks(None, armed, now),
            Drives::Avionics | Drives::Payload | Drives::LeftOut => None,
        }
    }

    /// The slot of the battery with this id; the last one where there is no room.
    fn place(&mut self, id: u8) -> Option<&mut Slot> {
        let has = self.slots.iter().position(|slot| slot.battery.id == id);
        let full = (self.slots.len() >= AT_MOST).then_some(AT_MOST - 1);
        self.slots.get_mut(has.or(full)?)
    }

    /// Reading of the batteries that drive the motors, where SYS_STATUS says this of the primary one; `None`: its message is of another, or
    /// BATTERY_STATUS has said more.
    pub fn or_primary(&self, primary: Battery, armed: bool, now: Moment) -> Option<Battery> {
        let slot = self.slots.iter().find(|slot| slot.battery.id == PRIMARY);
        let drives = slot.map_or_else(
            || self.motors.judge(PRIMARY, Drives::Motors),
            |slot| slot.battery.drives,
        );
        if drives != Drives::Motors || self.heard_lately(now) {
            return None;
        }
        self.speaks(Some(primary), armed, now)
    }

    fn speaks(&self, primary: Option<Battery>, armed: bool, now: Moment) -> Option<Battery> {
        let motors = || self.slots.iter().filter(|slot| slot.drives_motors());
        let gone = motors().filter(|_| armed);
        let gone = gone.filter(|slot| primary.is_none() || slot.battery.id != PRIMARY);
        let gone = gone.filter_map(|slot| self.carried(slot, now));
        let heard = motors().filter_map(|slot| slot.fresh(now)).chain(primary);
        heard.chain(gone).reduce(worse)
    }

    /// Reading that counts for a battery that has fallen silent in flight, or does not know its charge any more, while others are heard.
    fn carried(&self, slot: &Slot, now: Moment) -> Option<Battery> {
        let reading = &slot.battery.reading;
        if slot.fresh(now).is_some_and(|heard| heard.remaining.is_some()) {
            return None;
        }
        let known = slot.known.as_ref()?;
        let lost = |(id, then): &(u8, Percent)| {
            let other = self.slots.iter().find(|other| other.battery.id == *id)?;
            let left = other.fresh(now)?.remaining?;
            Some(then.get().saturating_sub(left.get()))
        };
        // Alone it is as unknown as a single battery.
        let lost = known.others.iter().filter_map(lost).max()?;
        Some(Battery {
            remaining: Percent::new(known.remaining.get().saturating_sub(lost)),
            ..reading.value
        })
    }

    /// By their ids.
    pub fn each(&self) -> Vec<MonitoredBattery> {
        let mut all: Vec<_> = self.slots.iter().map(|slot| slot.battery).collect();
        all.sort_by_key(|battery| battery.id);
        all
    }

    pub fn are_several(&self) -> bool {
        self.slots.iter().filter(|slot| slot.drives_motors()).count() > 1
    }

    pub fn heard_lately(&self, now: Moment) -> bool {
        let counts = |slot: &Slot| slot.drives_motors() && slot.fresh(now).is_some();
        self.slots.iter().any(counts)
    }
}

const fn function(of: MavBatteryFunction) -> Drives {
    match of {
        MavBatteryFunction::MAV_BATTERY_FUNCTION_UNKNOWN
        | MavBatteryFunction::MAV_BATTERY_FUNCTION_ALL
        | MavBatteryFunction::MAV_BATTERY_FUNCTION_PROPULSION => Drives::Motors,
        MavBatteryFunction::MAV_BATTERY_FUNCTION_AVIONICS => Drives::Avionics,
        MavBatteryFunction::MAV_BATTERY_FUNCTION_PAYLOAD => Drives::Payload,
    }
}

/// The worse of each figure, with the voltage of the emptier battery.
fn worse(one: Battery, other: Battery) -> Battery {
    let ranks = |charge: Charge| match charge {
        Charge::Unknown | Charge::Fine => Charge::Fine,
        worse => worse,
    };
    let emptiness = |battery: &Battery| (battery.remaining.map(|left| 100 - left.get()), ranks(battery.charge));
    let [emptier, fuller] = if emptiness(&other) > emptiness(&one) {
        [other, one]
    } else {
        [one, other]
    };
    let charge = if ranks(fuller.charge) > ranks(emptier.charge) {
        fuller.charge
    } else {
        emptier.charge
    };
    Battery { charge, ..emptier }
}

/// The share left, from battery_remaining; -1 is unknown, as is all below it and above 100, and so is 0 of a battery without a voltage: there
/// is none.
pub fn remaining(percent: i8, voltage: Option<Volts>) -> Option<Percent> {
    let left = u8::try_from(percent).ok().and_then(Percent::new);
    left.filter(|left| left.get() > 0 || voltage.is_some())
}

/// Voltages of cells, or of the whole battery: that is in the first place alone, from 65.534 V on also in the next ones. Millivolts; 65535
/// and 0 stand for none.
fn voltages(m: &BATTERY_STATUS_DATA) -> impl Iterator<Item = u16> {
    let all = m.voltages.iter().chain(m.voltages_ext.iter()).copied();
    all.filter(|mv| !matches!(*mv, 0 | u16::MAX))
}

/// Cells of other kinds have other voltages.
fn cells(m: &BATTERY_STATUS_DATA) -> Option<u8> {
    match m.mavtype {
        MavBatteryType::MAV_BATTERY_TYPE_UNKNOWN
        | MavBatteryType::MAV_BATTERY_TYPE_LIPO
        | MavBatteryType::MAV_BATTERY_TYPE_LION => {}
        MavBatteryType::MAV_BATTERY_TYPE_LIFE | MavBatteryType::MAV_BATTERY_TYPE_NIMH => return None,
    }
    let are_cells = voltages(m).all(|mv| mv <= CELL_AT_MOST_MV);
    u8::try_from(voltages(m).count())
        .ok()
        .filter(|count| are_cells && *count > 1)
}

fn battery(m: &BATTERY_STATUS_DATA) -> Battery {
    let millivolts: u32 = voltages(m).map(u32::from).sum();
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

    fn left(battery: Option<Battery>) -> Option<u8> {
        battery?.remaining.map(Percent::get)
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
        assert_eq!(left(batteries.receive(&status(0, 80, FINE), false, at(0))), Some(80));
        assert_eq!(
            left(batteries.receive(&status(1, 30, UNDEFINED), false, at(0))),
            Some(30)
        );
        assert_eq!(left(batteries.receive(&status(0, 79, FINE), false, at(1))), Some(30));
        let worst = batteries.receive(&status(2, 60, CRITICAL), false, at(1));
        let charge = worst.map(|worst| worst.charge);
        assert_eq!((left(worst), charge), (Some(30), Some(Charge::Critical)), "each figure");
    }

    #[test]
    fn a_battery_that_does_not_know_or_is_silent_does_not_speak_for_one_that_does() {
        let mut batteries = Batteries::default();
        batteries.receive(&status(0, 12, UNDEFINED), false, at(0));
        assert_eq!(
            left(batteries.receive(&status(1, -1, UNDEFINED), false, at(1))),
            Some(12)
        );
        assert_eq!(
            left(batteries.receive(&status(1, 90, UNDEFINED), false, at(20))),
            Some(90),
            "the first one is gone"
        );
        assert!(batteries.heard_lately(at(30)) && !batteries.heard_lately(at(31)));
    }

    #[test]
    fn a_battery_without_charge_and_voltage_is_no_battery() {
        assert_eq!(
            left(Batteries::default().receive(&status(0, 0, UNDEFINED), false, at(0))),
            None
        );
        let empty = BATTERY_STATUS_DATA {
            voltages: [3000; 10],
            ..status(0, 0, UNDEFINED)
        };
        assert_eq!(left(Batteries::default().receive(&empty, false, at(0))), Some(0));
    }

    #[test]
    fn any_number_of_batteries_can_be_heard() {
        let mut batteries = Batteries::default();
        for id in 0..=u8::MAX {
            batteries.receive(&status(id, 50, UNDEFINED), false, at(0));
        }
        assert_eq!(
            left(batteries.receive(&status(200, 10, UNDEFINED), false, at(0))),
            Some(10)
        );
    }

    #[test]
    fn a_cell_whose_voltage_is_not_known_adds_none() {
        const NONE: u16 = u16::MAX;
        let with = |voltages_ext| BATTERY_STATUS_DATA {
            voltages: [3700; 10],
            voltages_ext,
            ..status(0, 50, FINE)
        };
        for (ext, volts) in [([0; 4], 37.0), ([NONE; 4], 37.0), ([3700, 3700, NONE, 0], 44.4)] {
            assert_eq!(battery(&with(ext)).voltage, Some(Volts(volts)), "{ext:?}");
        }
        let nothing = BATTERY_STATUS_DATA {
            voltages_ext: [NONE; 4],
            ..status(0, 0, FINE)
        };
        assert_eq!(battery(&nothing), battery(&status(0, 0, FINE)), "no battery is there");
    }

    #[test]
    fn the_number_of_cells_is_known_where_each_has_a_voltage() {
        let with = |kind, known: &[u16], ext: &[u16]| {
            let mut status = status(0, 50, FINE);
            status.mavtype = kind;
            status.voltages[..known.len()].copy_from_slice(known);
            status.voltages_ext[..ext.len()].copy_from_slice(ext);
            let mut batteries = Batteries::default();
            batteries.receive(&status, false, at(0));
            batteries.each()[0].cells
        };
        for (known, ext, count) in [
            (&[3600; 6][..], &[][..], Some(6)),
            (&[3600; 10][..], &[3600, 3600, 0, 0][..], Some(12)),
            (&[3600; 10][..], &[u16::MAX; 4][..], Some(10)),
            // The whole battery in one place, and one of 67 V in two.
            (&[21_600][..], &[][..], None),
            (&[65_534, 1466][..], &[][..], None),
            (&[][..], &[][..], None),
        ] {
            for kind in [
                MavBatteryType::MAV_BATTERY_TYPE_UNKNOWN,
                MavBatteryType::MAV_BATTERY_TYPE_LIPO,
                MavBatteryType::MAV_BATTERY_TYPE_LION,
            ] {
                assert_eq!(with(kind, known, ext), count, "{known:?} {ext:?}");
            }
        }
        let iron = MavBatteryType::MAV_BATTERY_TYPE_LIFE;
        assert_eq!(with(iron, &[3300; 6], &[]), None, "it is full at 3.4 V a cell");
    }

    use MavBatteryFunction as Function;

    fn of(function: Function, status: BATTERY_STATUS_DATA) -> BATTERY_STATUS_DATA {
        BATTERY_STATUS_DATA {
            battery_function: function,
            ..status
        }
    }

    #[test]
    fn a_battery_of_a_camera_or_of_the_avionics_is_shown_and_never_counts() {
        for (function, drives) in [
            (Function::MAV_BATTERY_FUNCTION_PAYLOAD, Drives::Payload),
            (Function::MAV_BATTERY_FUNCTION_AVIONICS, Drives::Avionics),
        ] {
            let mut batteries = Batteries::default();
            assert_eq!(left(batteries.receive(&status(0, 80, FINE), true, at(0))), Some(80));
            let camera = of(function, status(1, 5, CRITICAL));
            assert_eq!(batteries.receive(&camera, true, at(1)), None, "{function:?}");
            let worst = batteries.receive(&status(0, 79, FINE), true, at(2));
            assert_eq!(worst.map(|b| b.charge), Some(Charge::Fine), "{function:?}");
            assert_eq!(left(worst), Some(79), "{function:?}");
            assert!(!batteries.are_several());
            let each: Vec<_> = batteries.each().into_iter().map(|b| (b.id, b.drives)).collect();
            assert_eq!(each, [(0, Drives::Motors), (1, drives)]);
        }
    }

    #[test]
    fn a_battery_that_is_for_the_motors_or_says_nothing_counts() {
        for function in [
            Function::MAV_BATTERY_FUNCTION_UNKNOWN,
            Function::MAV_BATTERY_FUNCTION_ALL,
            Function::MAV_BATTERY_FUNCTION_PROPULSION,
        ] {
            let mut batteries = Batteries::default();
            batteries.receive(&status(0, 80, FINE), true, at(0));
            let second = of(function, status(1, 40, FINE));
            assert_eq!(left(batteries.receive(&second, true, at(0))), Some(40), "{function:?}");
        }
    }

    #[test]
    fn where_a_person_names_the_ids_that_count_the_others_do_not() {
        let mut batteries = Batteries::of("1".parse().unwrap());
        assert_eq!(batteries.receive(&status(0, 5, CRITICAL), true, at(0)), None);
        assert_eq!(left(batteries.receive(&status(1, 70, FINE), true, at(0))), Some(70));
        let primary = battery(&status(0, 5, CRITICAL));
        assert_eq!(
            batteries.or_primary(primary, true, at(60)),
            None,
            "SYS_STATUS speaks of id 0"
        );
        assert_eq!(
            Batteries::of("1".parse().unwrap()).or_primary(primary, true, at(0)),
            None
        );
        let forgotten = batteries.forgotten().receive(&status(0, 5, CRITICAL), true, at(61));
        assert_eq!(forgotten, None, "also after a reboot");
    }

    #[test]
    fn a_pack_that_falls_silent_in_flight_raises_no_charge_and_falls_with_the_others() {
        let mut batteries = Batteries::default();
        batteries.receive(&status(1, 82, FINE), true, at(0));
        assert_eq!(left(batteries.receive(&status(0, 40, FINE), true, at(0))), Some(40));
        for (s, other, counts) in [(9, 80, 40), (20, 78, 36), (200, 60, 18), (300, 38, 0), (400, 10, 0)] {
            let now = batteries.receive(&status(1, other, FINE), true, at(s));
            assert_eq!(left(now), Some(counts), "after {s} s");
        }
        // On the ground a pack is taken out; and one that comes back speaks for itself.
        assert_eq!(left(batteries.receive(&status(0, 35, FINE), true, at(401))), Some(10));
        assert_eq!(left(batteries.receive(&status(1, 90, FINE), false, at(500))), Some(90));
        assert_eq!(left(batteries.receive(&status(1, 89, FINE), true, at(510))), Some(89));
    }

    #[test]
    fn a_pack_that_does_not_know_its_charge_any_more_in_flight_counts_the_same() {
        let mut batteries = Batteries::default();
        batteries.receive(&status(1, 82, FINE), true, at(0));
        batteries.receive(&status(0, 40, FINE), true, at(0));
        assert_eq!(
            left(batteries.receive(&status(0, -1, UNDEFINED), true, at(2))),
            Some(40)
        );
        assert_eq!(left(batteries.receive(&status(1, 72, FINE), true, at(4))), Some(30));
        let mut alone = Batteries::default();
        alone.receive(&status(0, 40, FINE), true, at(0));
        assert_eq!(left(alone.receive(&status(0, -1, UNDEFINED), true, at(2))), None);
    }

    #[test]
    fn no_charge_outside_of_its_range_is_one() {
        for (sent, counts) in [
            (-106, None),
            (-128, None),
            (-1, None),
            (0, Some(0)),
            (100, Some(100)),
            (101, None),
            (127, None),
        ] {
            let reading = BATTERY_STATUS_DATA {
                voltages: [4200; 10],
                ..status(0, sent, UNDEFINED)
            };
            let counted = Batteries::default().receive(&reading, false, at(0));
            assert_eq!(left(counted), counts, "{sent}");
        }
    }

    #[test]
    fn in_flight_sys_status_hides_no_pack_that_fell_silent() {
        let mut batteries = Batteries::default();
        batteries.receive(&status(0, 82, FINE), true, at(0));
        batteries.receive(&status(1, 40, FINE), true, at(0));
        let primary = battery(&status(0, 70, FINE));
        assert_eq!(batteries.or_primary(primary, true, at(5)), None, "it has said more");
        let alone = Batteries::default().or_primary(primary, true, at(5));
        assert_eq!(left(alone), Some(70));
    }
}
