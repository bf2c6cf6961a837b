//! When a battery is low: by the autopilot's own judgment or by the Drone's reserve, and never by one reading.
//!
//! Owns: the meaning of one reading ([`level_of`]); [`Gauge`], which believes a low reading only once it has lasted: values sag at a
//! takeoff, and noise gets through a checksum now and then. A steady drain meanwhile is counted in, so that the reserve is left when it is
//! acted on; and [`SpentPack`], which detects another battery.
//! Must not: decide what follows ([`crate::flight::converge`], [`crate::safety`]). A battery of which nothing was ever known is not low; one
//! that was low and is silent stays low until it is read otherwise or the motors are off.

use model::battery_level::Level;
use model::time::{Moment, Sighting};
use model::units::{Percent, Volts};
use model::vehicle::{ArmingReason, Battery, Charge, FlightTruth, ReasonClass, Vehicle};
use serde::{Deserialize, Serialize};
use std::time::Duration;

pub const LOW_CONFIRMED_AFTER: Duration = Duration::from_secs(3);

/// Age limit of a reading (BATTERY_STATUS is requested at 0.5 Hz).
pub const READING_COUNTS_FOR: Duration = Duration::from_secs(15);

/// Least interval of readings for the drain: whole percents change too little in less.
const DRAIN_STEP: Duration = Duration::from_millis(1500);

/// Longest interval of readings for the drain.
const DRAIN_STEP_AT_MOST: Duration = Duration::from_secs(10);

/// Readings for a steady drain, the least of their drains: neither one wrong reading nor a sag makes one.
const DRAIN_READINGS: usize = 4;

/// Drain counted ahead: until a low reading has lasted, and the reading after it.
const DRAIN_AHEAD: Duration = Duration::from_secs(LOW_CONFIRMED_AFTER.as_secs() + 2);

const MAX_DRAIN_PERCENT: f64 = 15.0;

pub fn level_of(battery: &Battery, reserve: Percent) -> Level {
    let stated = match battery.charge {
        Charge::Unknown => Level::Unknown,
        Charge::Fine => Level::Fine,
        Charge::Low | Charge::Critical | Charge::Unhealthy => Level::Low,
        Charge::Emergency | Charge::Failed => Level::Emergency,
    };
    let left = match battery.remaining {
        None => Level::Unknown,
        Some(left) if left <= reserve => Level::Low,
        Some(_) => Level::Fine,
    };
    stated.max(left)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// By the last reading alone; used for arming.
    pub latest: Level,
    /// As confirmed over time; ends a flight.
    pub lasting: Level,
    /// How long readings have been low without a break; zero while [`Self::lasting`] is not low.
    pub low_for: Duration,
}

/// Newest first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Drain([Option<(Percent, Moment)>; DRAIN_READINGS]);

impl Drain {
    fn observe(&mut self, remaining: Option<Percent>, at: Moment) {
        let Some(remaining) = remaining else {
            *self = Self::default();
            return;
        };
        if self.0[0].is_none_or(|(_, last)| at.since(last) >= DRAIN_STEP) {
            self.0.rotate_right(1);
            self.0[0] = Some((remaining, at));
        }
    }

    /// Percent a second; 0 without a steady drain.
    fn per_second(&self) -> f64 {
        let between = self.0.windows(2).map(|two| {
            let [Some((now, at)), Some((before, then))] = two else {
                return 0.0;
            };
            let step = at.since(*then);
            if step.is_zero() || step > DRAIN_STEP_AT_MOST {
                return 0.0;
            }
            f64::from(before.get().saturating_sub(now.get())) / step.as_secs_f64()
        });
        between.fold(f64::INFINITY, f64::min)
    }

    /// The rest of `battery` when a low reading of now would have lasted.
    fn ahead(&self, battery: &Battery) -> Battery {
        let taken = (self.per_second() * DRAIN_AHEAD.as_secs_f64()).clamp(0.0, MAX_DRAIN_PERCENT);
        let left = |now: Percent| {
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it was clamped to a few percent"
            )]
            let taken = taken.round() as u8;
            Percent::new(now.get().saturating_sub(taken)).unwrap_or(now)
        };
        Battery {
            remaining: battery.remaining.map(left),
            ..*battery
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gauge {
    last: Option<Reading>,
    drain: Drain,
    low_since: Option<Moment>,
    /// For how long lives of the agent before this one found it low, in the flight that the vehicle is on.
    low_before: Duration,
    emergency_since: Option<Moment>,
    /// What had lasted at the last reading that says something, if that is [`Level::Low`] or worse; else unknown.
    lasted: Level,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Reading {
    battery: Battery,
    at: Moment,
    level: Level,
    ahead: Level,
}

impl Gauge {
    /// The same of an agent whose lives before found the battery low for `time` in the present flight.
    pub const fn after_lives_low(self, time: Duration) -> Self {
        Self {
            low_before: time,
            ..self
        }
    }

    /// How long readings have been low without a break, believed or not, with the lives of the agent before.
    pub fn low_so_far(&self, now: Moment) -> Duration {
        let in_this_life = self.low_since.map_or(Duration::ZERO, |since| now.since(since));
        in_this_life.saturating_add(self.low_before)
    }

    /// The same reading may be given again. One that says nothing, or none, makes no low battery fine: it is drained on, and its monitor has
    /// failed with it, perhaps.
    pub fn observe(&mut self, battery: Option<&Sighting<Battery>>, reserve: Percent) {
        let Some(reading) = battery else {
            (self.last, self.drain) = (None, Drain::default());
            self.keep_what_lasted();
            return;
        };
        self.drain.observe(reading.value.remaining, reading.at);
        let level = level_of(&reading.value, reserve);
        let ahead = level.max(level_of(&self.drain.ahead(&reading.value), reserve));
        self.last = Some(Reading {
            battery: reading.value,
            at: reading.at,
            level,
            ahead,
        });
        if ahead == Level::Unknown {
            self.keep_what_lasted();
            return;
        }
        let since_when = |since: Option<Moment>, at_least: Level| {
            (ahead >= at_least).then(|| since.map_or(reading.at, |since| since.min(reading.at)))
        };
        self.low_since = since_when(self.low_since, Level::Low);
        if self.low_since.is_none() {
            self.low_before = Duration::ZERO;
        }
        self.emergency_since = since_when(self.emergency_since, Level::Emergency);
        let lasting = self.lasting(ahead, reading.at);
        self.lasted = if lasting >= Level::Low { lasting } else { Level::Unknown };
    }

    fn keep_what_lasted(&mut self) {
        let lasted = self.lasted;
        self.low_since = self.low_since.filter(|_| lasted >= Level::Low);
        self.emergency_since = self.emergency_since.filter(|_| lasted >= Level::Emergency);
    }

    /// The motors are off: what was low and has fallen silent says nothing of the next flight.
    pub fn forget_old(&mut self, now: Moment) {
        if self.counting(now).is_none() {
            (self.low_since, self.emergency_since) = (None, None);
            (self.lasted, self.low_before) = (Level::Unknown, Duration::ZERO);
        }
    }

    /// The last reading, if it says something of now.
    fn counting(&self, now: Moment) -> Option<Reading> {
        self.fresh(now).filter(|last| last.ahead != Level::Unknown)
    }

    fn fresh(&self, now: Moment) -> Option<Reading> {
        self.last.filter(|last| now.since(last.at) <= READING_COUNTS_FOR)
    }

    pub fn levels(&self, now: Moment) -> Levels {
        let lasting = match self.counting(now) {
            Some(last) => self.lasting(last.ahead, last.at),
            None => self.lasted,
        };
        let low_since = self.low_since.filter(|_| lasting >= Level::Low);
        Levels {
            latest: self.fresh(now).map_or(Level::Unknown, |last| last.level),
            lasting,
            low_for: low_since.map_or(Duration::ZERO, |_| self.low_so_far(now)),
        }
    }

    pub fn refusal(&self, reserve: Percent, now: Moment) -> Option<ArmingReason> {
        if self.levels(now).latest < Level::Low {
            return None;
        }
        let reserve = reserve.get();
        let battery = self.last.map(|last| last.battery);
        let left = battery.and_then(|battery| battery.remaining).map(Percent::get);
        let voltage = battery.and_then(|battery| battery.voltage);
        let (calls, act) = match battery.map(|battery| battery.charge) {
            Some(Charge::Unhealthy | Charge::Failed) => ("unhealthy", "check it and the wires of its monitor"),
            _ => ("low", "charge or replace it"),
        };
        let text = match (left, voltage) {
            // Monitors that do not know the charge send none as 0.
            (Some(0), Some(Volts(volts))) => format!(
                "battery at 0 % with {volts:.1} V, reserve {reserve} %; charge or replace it; if a charged one has this voltage, its monitor does \
                 not know the charge (ArduPilot with DroneCAN: set bit 0 of BATT_OPTIONS)"
            ),
            (Some(left), _) if left <= reserve => {
                format!("battery at {left} %, reserve {reserve} %; charge or replace it")
            }
            // The charge is not the reason; its voltage or its own threshold is.
            (Some(left), Some(Volts(volts))) => {
                format!("the autopilot calls its battery {calls}, at {left} % and {volts:.1} V; {act}")
            }
            (Some(left), None) => format!("the autopilot calls its battery {calls}, at {left} %; {act}"),
            (None, Some(Volts(volts))) => {
                format!("the autopilot calls its battery {calls}, at {volts:.1} V; {act}")
            }
            (None, None) => format!("the autopilot calls its battery {calls}; {act}"),
        };
        let since = self.low_since.unwrap_or(now);
        Some(ArmingReason {
            class: ReasonClass::NeedsHuman,
            ..ArmingReason::reported(text, since)
        })
    }

    fn lasting(&self, level: Level, at: Moment) -> Level {
        let lasted = |since: Option<Moment>| since.is_some_and(|since| at.since(since) >= LOW_CONFIRMED_AFTER);
        match level {
            Level::Emergency if lasted(self.emergency_since) => Level::Emergency,
            Level::Emergency | Level::Low if lasted(self.low_since) => Level::Low,
            Level::Emergency | Level::Low => Level::Fine,
            Level::Fine | Level::Unknown => level,
        }
    }
}

/// Percent above the reserve at which a vehicle with a station comes home along a route: the cost of some hundred meters, and a wait for
/// others.
const COMES_HOME_BEFORE: u8 = 3;

/// Whether the charge was near the reserve in this flight. It lasts until the landing: a vehicle that turns back to its station on one
/// better reading is flown down to the reserve there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NearReserve {
    gauge: Gauge,
    was: bool,
}

impl NearReserve {
    /// Continues from what an earlier life of the agent stored.
    pub fn remembered(was: bool) -> Self {
        Self { was, ..Self::default() }
    }

    /// The same reading may be given again.
    pub fn observe(&mut self, battery: Option<&Sighting<Battery>>, reserve: Percent, truth: FlightTruth, now: Moment) {
        let near = Percent::new(reserve.get().saturating_add(COMES_HOME_BEFORE)).unwrap_or(reserve);
        self.gauge.observe(battery, near);
        if matches!(truth, FlightTruth::Disarmed | FlightTruth::ArmedOnGround) {
            self.gauge.forget_old(now);
        }
        self.was = match truth {
            FlightTruth::Disarmed | FlightTruth::ArmedOnGround => false,
            FlightTruth::Airborne(_) => self.was || self.gauge.levels(now).lasting >= Level::Low,
            FlightTruth::Unknown(_) => self.was,
        };
    }

    pub const fn was(&self) -> bool {
        self.was
    }
}

/// Least voltage ratio of a full battery to one at rest that was flown down to its reserve: about 4.2 V a cell to 3.75 V. A rebound after
/// the landing is a third of that.
const RISE_OF_ANOTHER_BATTERY: f64 = 1.06;

/// An autopilot that has run for less time than at the landing has restarted. Messages overtake one another by less than this,
/// milliseconds.
const RESTART_AT_LEAST_MS: u64 = 1000;

/// A rebound is followed in these steps, millivolts: each is written to the disk.
const REBOUND_STEP_MV: u32 = 100;

/// The battery with which a vehicle landed because it was low.
///
/// Another battery shows in two facts: the pack was gone (the autopilot lost power, or measured none), and the voltage rose by more than a
/// resting pack regains. A higher charge proves nothing: autopilots that count what was taken call any pack full after a restart, and
/// others go by the voltage, which rebounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpentPack {
    /// Voltage after its rebound, before it was gone.
    millivolts: Option<u32>,
    /// How long the autopilot had run at the landing, milliseconds.
    running_ms: Option<u64>,
    gone: bool,
}

impl SpentPack {
    /// Of `vehicle`, which has just landed. With several batteries nothing is kept: the next reading may be another one's.
    pub fn of(vehicle: &Vehicle) -> Self {
        let battery = vehicle.battery.filter(|_| !vehicle.several_batteries);
        let battery = battery.map(|battery| battery.value);
        Self {
            millivolts: battery.and_then(|battery| battery.voltage).map(millivolts),
            running_ms: vehicle.running_for.map(milliseconds),
            gone: false,
        }
    }

    pub fn after(&self, vehicle: &Vehicle, now: Moment) -> Self {
        let running = vehicle.running_for.map(milliseconds);
        let restarted = running
            .zip(self.running_ms)
            .is_some_and(|(running, before)| running.saturating_add(RESTART_AT_LEAST_MS) < before);
        let battery = vehicle.battery.as_ref().and_then(|b| b.fresh(now, READING_COUNTS_FOR));
        let absent = self.millivolts.is_some() && battery.is_some_and(|battery| battery.voltage.is_none());
        let gone = self.gone || restarted || absent;
        let measured = battery.and_then(|battery| battery.voltage).map(millivolts);
        let rebounds = |before: u32| match measured {
            Some(measured) if !gone && measured >= before.saturating_add(REBOUND_STEP_MV) => measured,
            _ => before,
        };
        Self {
            millivolts: self.millivolts.map(rebounds),
            running_ms: self.running_ms,
            gone,
        }
    }

    pub fn is_replaced(&self, vehicle: &Vehicle, now: Moment) -> bool {
        let battery = vehicle.battery.as_ref().and_then(|b| b.fresh(now, READING_COUNTS_FOR));
        let voltage = battery.and_then(|battery| battery.voltage).map(millivolts);
        let rises = |(before, now): (u32, u32)| f64::from(now) >= f64::from(before) * RISE_OF_ANOTHER_BATTERY;
        self.gone && !vehicle.several_batteries && self.millivolts.zip(voltage).is_some_and(rises)
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn millivolts(volts: Volts) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a cast to an integer saturates"
    )]
    let millivolts = (volts.0 * 1000.0).round() as u32;
    millivolts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Moment {
        Moment::at(Duration::from_secs(s))
    }

    fn percent(value: u8) -> Percent {
        Percent::new(value).unwrap()
    }

    fn battery(remaining: Option<u8>, charge: Charge) -> Battery {
        Battery {
            remaining: remaining.map(percent),
            voltage: None,
            charge,
        }
    }

    fn after(readings: &[(u64, Battery)]) -> Gauge {
        let mut gauge = Gauge::default();
        for (s, battery) in readings {
            gauge.observe(Some(&Sighting::new(*battery, at(*s))), percent(20));
        }
        gauge
    }

    fn lasting(readings: &[(u64, Battery)], now_s: u64) -> Level {
        after(readings).levels(at(now_s)).lasting
    }

    #[test]
    fn a_battery_is_low_at_its_reserve_or_when_the_autopilot_says_so() {
        let level = |remaining, charge| level_of(&battery(remaining, charge), percent(20));
        assert_eq!(level(Some(21), Charge::Unknown), Level::Fine);
        assert_eq!(level(Some(20), Charge::Fine), Level::Low);
        assert_eq!(level(Some(0), Charge::Unknown), Level::Low);
        for charge in [Charge::Low, Charge::Critical, Charge::Unhealthy] {
            assert_eq!(level(Some(80), charge), Level::Low);
        }
        for charge in [Charge::Emergency, Charge::Failed] {
            assert_eq!(level(Some(80), charge), Level::Emergency);
        }
    }

    #[test]
    fn a_battery_that_does_not_know_itself_is_not_low() {
        let unknown = battery(None, Charge::Unknown);
        assert_eq!(level_of(&unknown, percent(20)), Level::Unknown);
        assert_eq!(lasting(&[(0, unknown), (9, unknown)], 9), Level::Unknown);
        assert_eq!(lasting(&[], 0), Level::Unknown);
    }

    #[test]
    fn one_low_reading_or_a_short_sag_is_not_believed() {
        let (low, fine) = (battery(Some(5), Charge::Unknown), battery(Some(70), Charge::Fine));
        assert_eq!(lasting(&[(0, fine), (2, low)], 10), Level::Fine);
        assert_eq!(lasting(&[(0, low), (2, low), (3, fine), (4, low)], 4), Level::Fine);
        assert_eq!(lasting(&[(0, low), (2, low)], 2), Level::Fine);
        assert_eq!(lasting(&[(0, low), (2, low), (4, low)], 4), Level::Low);
        assert_eq!(after(&[(0, low)]).levels(at(0)).latest, Level::Low);
    }

    #[test]
    fn how_long_it_is_low_counts_from_the_first_low_reading_of_those_without_a_break() {
        let (low, fine) = (battery(Some(5), Charge::Unknown), battery(Some(70), Charge::Fine));
        let low_for = |readings: &[(u64, Battery)], now_s| after(readings).levels(at(now_s)).low_for;
        assert_eq!(
            low_for(&[(0, low), (2, low)], 2),
            Duration::ZERO,
            "it is not believed yet"
        );
        assert_eq!(low_for(&[(0, low), (4, low)], 9), Duration::from_secs(9));
        let again = [(0, low), (4, low), (6, fine), (8, low), (12, low)];
        assert_eq!(low_for(&again, 12), Duration::from_secs(4));
        assert_eq!(low_for(&[(0, low), (4, low), (6, fine)], 6), Duration::ZERO);
    }

    #[test]
    fn how_long_it_is_low_counts_on_in_the_agents_next_life_until_it_is_fine() {
        let (low, fine) = (battery(Some(5), Charge::Unknown), battery(Some(70), Charge::Fine));
        let seconds = Duration::from_secs;
        let mut gauge = Gauge::default().after_lives_low(seconds(20));
        assert_eq!(
            (gauge.levels(at(9)).low_for, gauge.low_so_far(at(9))),
            (seconds(0), seconds(20))
        );
        for s in [10, 12, 14] {
            gauge.observe(Some(&Sighting::new(low, at(s))), percent(20));
        }
        assert_eq!(gauge.levels(at(14)).low_for, seconds(24));
        gauge.observe(Some(&Sighting::new(fine, at(16))), percent(20));
        assert_eq!(gauge.low_so_far(at(16)), seconds(0));
    }

    #[test]
    fn an_emergency_counts_as_low_until_it_has_stood() {
        let (low, worse) = (battery(Some(10), Charge::Critical), battery(Some(3), Charge::Emergency));
        assert_eq!(lasting(&[(0, low), (4, low), (5, worse)], 5), Level::Low);
        assert_eq!(lasting(&[(0, low), (5, worse), (8, worse)], 8), Level::Emergency);
    }

    #[test]
    fn a_low_battery_on_the_ground_is_reported_with_what_to_do() {
        let text = |b| after(&[(0, b)]).refusal(percent(20), at(1)).map(|r| (r.text, r.class));
        let low = text(battery(Some(18), Charge::Unknown)).unwrap();
        assert_eq!(
            low,
            (
                "battery at 18 %, reserve 20 %; charge or replace it".to_owned(),
                ReasonClass::NeedsHuman
            )
        );
        assert!(text(battery(None, Charge::Critical)).is_some());
        assert_eq!(text(battery(Some(21), Charge::Fine)), None);
    }

    #[test]
    fn a_steady_drain_is_counted_in_so_that_the_reserve_is_there_when_it_is_acted_on() {
        // 1.7 % a second, read every two seconds: once came home at 13 % with a reserve of 20 %.
        for (tenths_per_s, at_least, at_most) in [(17, 18, 26), (5, 18, 23), (2, 18, 21), (40, 16, 34)] {
            let mut gauge = Gauge::default();
            let acted = (0..400).step_by(2).find_map(|s| {
                let left = percent(u8::try_from((900 - tenths_per_s * s).max(0) / 10).unwrap());
                let reading = battery(Some(left.get()), Charge::Unknown);
                let now = at(u64::try_from(s).unwrap());
                gauge.observe(Some(&Sighting::new(reading, now)), percent(20));
                (gauge.levels(now).lasting == Level::Low).then_some(left.get())
            });
            let acted = acted.unwrap();
            assert!((at_least..=at_most).contains(&acted), "{tenths_per_s}: at {acted} %");
        }
    }

    #[test]
    fn a_wrong_reading_or_a_sag_is_no_drain() {
        let of = |left| battery(Some(left), Charge::Unknown);
        let readings = [
            (0, of(30)),
            (2, of(30)),
            (4, of(25)),
            (6, of(25)),
            (8, of(24)),
            (10, of(24)),
        ];
        assert_eq!(lasting(&readings, 10), Level::Fine);
        let sag = [(0, of(60)), (2, of(40)), (4, of(27)), (6, of(45)), (8, of(44))];
        assert_eq!(lasting(&sag, 8), Level::Fine);
        let drained = [
            (0, of(40)),
            (2, of(37)),
            (4, of(34)),
            (6, of(31)),
            (8, of(28)),
            (10, of(25)),
        ];
        let gauge = after(&drained);
        assert_eq!(gauge.levels(at(10)).latest, Level::Fine, "arming goes by what is there");
    }

    #[test]
    fn a_charge_that_was_near_the_reserve_counts_until_the_vehicle_has_landed() {
        let mut near = NearReserve::default();
        let up = FlightTruth::Airborne(model::vehicle::Airborne::InAir);
        let mut after = |s: u64, left: u8, truth: FlightTruth| {
            let reading = Sighting::new(battery(Some(left), Charge::Fine), at(s));
            near.observe(Some(&reading), percent(20), truth, at(s));
            near.was()
        };
        assert!(!after(0, 24, up) && !after(10, 22, up), "one reading is none");
        assert!(after(20, 22, up) && after(30, 26, up), "it rebounds");
        let mut restarted = NearReserve::remembered(true);
        let fine = Sighting::new(battery(Some(26), Charge::Fine), at(31));
        let mut on_board = |truth| {
            restarted.observe(Some(&fine), percent(20), truth, at(31));
            restarted.was()
        };
        let unheard = FlightTruth::Unknown(model::vehicle::WhyUnknown::NeverHeard);
        assert!(on_board(unheard) && on_board(up) && !on_board(FlightTruth::Disarmed));
        assert!(!after(40, 22, FlightTruth::Disarmed));
    }

    #[test]
    fn a_battery_that_is_low_by_its_voltage_is_not_blamed_on_the_reserve() {
        let low = Battery {
            voltage: Some(Volts(13.84)),
            ..battery(Some(73), Charge::Low)
        };
        let text = after(&[(0, low)]).refusal(percent(20), at(1)).unwrap().text;
        assert_eq!(
            text,
            "the autopilot calls its battery low, at 73 % and 13.8 V; charge or replace it"
        );
    }

    #[test]
    fn a_monitor_that_is_lost_or_knows_no_charge_is_not_called_an_empty_battery() {
        let said = |battery: Battery| after(&[(0, battery)]).refusal(percent(20), at(1)).unwrap().text;
        let unhealthy = Battery {
            voltage: Some(Volts(15.9)),
            ..battery(Some(80), Charge::Unhealthy)
        };
        assert_eq!(
            said(unhealthy),
            "the autopilot calls its battery unhealthy, at 80 % and 15.9 V; check it and the wires of its monitor"
        );
        assert!(said(battery(None, Charge::Failed)).starts_with("the autopilot calls its battery unhealthy; check"));
        let no_charge = Battery {
            voltage: Some(Volts(16.44)),
            ..battery(Some(0), Charge::Fine)
        };
        let words = said(no_charge);
        assert!(
            words.starts_with("battery at 0 % with 16.4 V, reserve 20 %;") && words.contains("BATT_OPTIONS"),
            "{words}"
        );
        let low = Battery {
            voltage: Some(Volts(14.0)),
            ..battery(Some(1), Charge::Unknown)
        };
        assert_eq!(said(low), "battery at 1 %, reserve 20 %; charge or replace it");
    }

    #[test]
    fn what_was_read_long_ago_says_nothing() {
        let (low, fine) = (battery(Some(10), Charge::Unknown), battery(Some(70), Charge::Fine));
        assert_eq!(
            (lasting(&[(0, low)], 15), lasting(&[(0, low)], 16)),
            (Level::Fine, Level::Unknown)
        );
        assert_eq!(
            (lasting(&[(4, fine)], 19), lasting(&[(4, fine)], 20)),
            (Level::Fine, Level::Unknown)
        );
        let levels = after(&[(0, low), (4, low)]).levels(at(20));
        assert_eq!(levels.latest, Level::Unknown, "arming goes by what is read");
    }

    /// A PX4 loses its power module: its BATTERY_STATUS ends, or does not know the charge any more.
    #[test]
    fn a_low_battery_of_which_nothing_is_read_any_more_stays_low() {
        let (low, unknown) = (battery(Some(10), Charge::Unknown), battery(None, Charge::Unknown));
        let low_for = |readings: &[(u64, Battery)], now_s| {
            let levels = after(readings).levels(at(now_s));
            (levels.lasting, levels.low_for)
        };
        let silent = [(0, low), (4, low)];
        assert_eq!(low_for(&silent, 19), (Level::Low, Duration::from_secs(19)));
        assert_eq!(low_for(&silent, 40), (Level::Low, Duration::from_secs(40)));
        let does_not_know = [(0, low), (4, low), (6, unknown), (8, unknown)];
        assert_eq!(low_for(&does_not_know, 9), (Level::Low, Duration::from_secs(9)));
        assert_eq!(low_for(&does_not_know, 60), (Level::Low, Duration::from_secs(60)));
        let worse = battery(Some(3), Charge::Emergency);
        assert_eq!(low_for(&[(0, worse), (4, worse)], 60).0, Level::Emergency);
        let not_believed = [(0, low), (2, unknown), (4, unknown)];
        assert_eq!(low_for(&not_believed, 4), (Level::Unknown, Duration::ZERO));
        let mut gone = after(&silent);
        gone.observe(None, percent(20));
        assert_eq!(gone.levels(at(60)).lasting, Level::Low);
    }

    #[test]
    fn a_low_battery_that_fell_silent_is_low_until_it_reads_fine_or_the_motors_are_off() {
        let (low, fine) = (battery(Some(10), Charge::Unknown), battery(Some(70), Charge::Fine));
        let unknown = battery(None, Charge::Unknown);
        assert_eq!(lasting(&[(0, low), (4, low), (40, fine)], 40), Level::Fine);
        assert_eq!(
            lasting(&[(0, low), (4, low), (40, fine), (41, unknown)], 80),
            Level::Unknown
        );
        assert_eq!(lasting(&[(0, low), (4, low), (40, low)], 40), Level::Low);
        let down = |mut gauge: Gauge, s| {
            gauge.forget_old(at(s));
            gauge
        };
        let silent = after(&[(0, low), (4, low)]);
        assert_eq!(down(silent, 10).levels(at(10)).lasting, Level::Low, "it is read");
        let mut landed = down(silent, 30);
        assert_eq!(landed.levels(at(30)), Levels::default());
        landed.observe(Some(&Sighting::new(low, at(4))), percent(20));
        assert_eq!(landed.levels(at(31)), Levels::default(), "the same reading again");
        let mut near = NearReserve::default();
        let reading = |s| Sighting::new(battery(Some(22), Charge::Fine), at(s));
        let up = FlightTruth::Airborne(model::vehicle::Airborne::InAir);
        near.observe(Some(&reading(0)), percent(20), up, at(0));
        near.observe(Some(&reading(5)), percent(20), up, at(5));
        assert!(near.was());
        near.observe(Some(&reading(5)), percent(20), FlightTruth::Disarmed, at(60));
        near.observe(Some(&reading(5)), percent(20), up, at(90));
        assert!(!near.was(), "the next flight is another");
    }
}
