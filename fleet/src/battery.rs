//! When a battery is low: by the autopilot's own judgement or by the Drone's reserve, and never by one reading.
//!
//! Owns: [`Level`], how one reading is judged ([`judge`]), and [`Gauge`], which believes a low reading only once it has
//! stood for a while: values sag at a takeoff, and noise gets through a checksum now and then.
//! Must not: decide what follows ([`crate::converge`], [`crate::safety`]). A battery of which nothing is known is not low.

use crate::time::{Moment, Sighting};
use crate::units::Percent;
use crate::vehicle::{ArmingReason, Battery, Charge, ReasonClass};
use std::time::Duration;

/// A low reading counts once readings have been low for this long.
pub const LOW_STANDS_FOR: Duration = Duration::from_secs(3);

/// A reading older than this says nothing any more (BATTERY_STATUS is asked for at 0.5 Hz).
pub const READING_COUNTS_FOR: Duration = Duration::from_secs(15);

/// How full a battery is, as far as flight goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Nothing is known.
    #[default]
    Unknown,
    /// Above the reserve, and the autopilot does not complain.
    Fine,
    /// At or below the reserve, or the autopilot calls it low or critical.
    Low,
    /// The autopilot says that it must land now.
    Emergency,
}

/// What one reading means, `reserve` being the Drone's.
#[must_use]
pub fn judge(battery: &Battery, reserve: Percent) -> Level {
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

/// How full a battery is: at its last reading, and as readings have said for a while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// By the last reading alone; what arming goes by.
    pub latest: Level,
    /// What has stood for a while; what a flight is ended by.
    pub lasting: Level,
}

/// Readings of one battery over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gauge {
    last: Option<(Level, Moment)>,
    remaining: Option<Percent>,
    low_since: Option<Moment>,
    emergency_since: Option<Moment>,
}

impl Gauge {
    /// Takes the last reading; the same one may be given again.
    pub fn observe(&mut self, battery: Option<&Sighting<Battery>>, reserve: Percent) {
        let Some(reading) = battery else {
            *self = Self::default();
            return;
        };
        let level = judge(&reading.value, reserve);
        let stands = |since: Option<Moment>, at_least: Level| {
            (level >= at_least).then(|| since.map_or(reading.at, |since| since.min(reading.at)))
        };
        self.low_since = stands(self.low_since, Level::Low);
        self.emergency_since = stands(self.emergency_since, Level::Emergency);
        self.last = Some((level, reading.at));
        self.remaining = reading.value.remaining;
    }

    /// How full the battery is.
    #[must_use]
    pub fn levels(&self, now: Moment) -> Levels {
        let Some((latest, at)) = self.last.filter(|(_, at)| now.since(*at) <= READING_COUNTS_FOR) else {
            return Levels::default();
        };
        let lasting = self.lasting(latest, at);
        Levels { latest, lasting }
    }

    /// Why the vehicle is not armed, if the battery is the reason.
    #[must_use]
    pub fn refusal(&self, reserve: Percent, now: Moment) -> Option<ArmingReason> {
        if self.levels(now).latest < Level::Low {
            return None;
        }
        let reserve = reserve.get();
        let text = match self.remaining {
            Some(left) => format!("battery at {} %, reserve {reserve} %; charge or replace it", left.get()),
            None => "the autopilot calls its battery low; charge or replace it".to_owned(),
        };
        let since = self.low_since.unwrap_or(now);
        Some(ArmingReason {
            class: ReasonClass::NeedsHuman,
            ..ArmingReason::told(text, since)
        })
    }

    fn lasting(&self, level: Level, at: Moment) -> Level {
        let stood = |since: Option<Moment>| since.is_some_and(|since| at.since(since) >= LOW_STANDS_FOR);
        match level {
            Level::Emergency if stood(self.emergency_since) => Level::Emergency,
            Level::Emergency | Level::Low if stood(self.low_since) => Level::Low,
            Level::Emergency | Level::Low => Level::Fine,
            Level::Fine | Level::Unknown => level,
        }
    }
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
            volts: None,
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
        let judged = |remaining, charge| judge(&battery(remaining, charge), percent(20));
        assert_eq!(judged(Some(21), Charge::Unknown), Level::Fine);
        assert_eq!(judged(Some(20), Charge::Fine), Level::Low);
        assert_eq!(judged(Some(0), Charge::Unknown), Level::Low);
        for charge in [Charge::Low, Charge::Critical, Charge::Unhealthy] {
            assert_eq!(judged(Some(80), charge), Level::Low);
        }
        for charge in [Charge::Emergency, Charge::Failed] {
            assert_eq!(judged(Some(80), charge), Level::Emergency);
        }
    }

    #[test]
    fn a_battery_that_does_not_know_itself_is_not_low() {
        let unknown = battery(None, Charge::Unknown);
        assert_eq!(judge(&unknown, percent(20)), Level::Unknown);
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
    fn an_emergency_counts_as_low_until_it_has_stood() {
        let (low, worse) = (battery(Some(10), Charge::Critical), battery(Some(3), Charge::Emergency));
        assert_eq!(lasting(&[(0, low), (4, low), (5, worse)], 5), Level::Low);
        assert_eq!(lasting(&[(0, low), (5, worse), (8, worse)], 8), Level::Emergency);
    }

    #[test]
    fn a_low_battery_on_the_ground_is_told_with_what_to_do() {
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
    fn what_was_read_long_ago_says_nothing() {
        let low = battery(Some(10), Charge::Unknown);
        let readings = [(0, low), (4, low)];
        assert_eq!(
            (lasting(&readings, 19), lasting(&readings, 20)),
            (Level::Low, Level::Unknown)
        );
    }
}
