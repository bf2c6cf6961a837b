//! Wind, and the wander of the estimate by which the autopilot flies and reports: the vehicle is not where it says.

use super::geo::Neu;
use std::f64::consts::TAU;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wind {
    pub speed_m_s: f64,
    /// Clockwise from north, from where it blows.
    pub from_deg: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weather {
    wind: Wind,
    /// Largest error of the estimate over ground.
    drift_m: f64,
    /// Largest error from boot on, whatever the weather.
    wander_m: f64,
    flown_s: f64,
    of: u8,
}

/// Share of the difference in speed that acts on a small multirotor in a second.
const DRAG: f64 = 0.2;
/// Share of the wind's speed that changes in gusts and moves the vehicle until its autopilot notices it.
const GUSTS: f64 = 0.3;
const SWAY: f64 = 0.015;

impl Weather {
    pub(super) fn of(system_id: u8, wander_m: f64) -> Self {
        Self {
            of: system_id,
            wander_m,
            ..Self::default()
        }
    }

    pub(super) fn set(&mut self, wind: Wind, drift_m: f64) {
        (self.wind, self.drift_m) = (wind, drift_m);
    }

    pub(super) fn pass(&mut self, dt_s: f64) {
        self.flown_s += dt_s;
    }

    /// Push on a vehicle at rest, meters a second for each second, and shake, meters a second.
    pub(super) fn wind(&self) -> (Neu, Neu) {
        let to = (self.wind.from_deg + 180.0).to_radians();
        let along = |length: f64| Neu {
            north: length * to.cos(),
            east: length * to.sin(),
            up: 0.0,
        };
        let gust = self.wave(7.3, 2.1);
        let push = DRAG * self.wind.speed_m_s * (1.0 + GUSTS * gust);
        (along(push), along(SWAY * self.wind.speed_m_s * gust))
    }

    /// Position relative to the autopilot's estimate.
    pub(super) fn off(&self) -> Neu {
        let reach = self.drift_m.max(self.wander_m) / std::f64::consts::SQRT_2;
        Neu {
            north: reach * self.wave(61.0, 17.0),
            east: reach * self.wave(47.0, 13.0),
            up: 0.0,
        }
    }

    /// Wave from -1 to 1, beginning with 0, with these periods, longer by vehicle.
    fn wave(&self, slow_s: f64, fast_s: f64) -> f64 {
        let longer = 1.0 + f64::from(self.of) / 256.0;
        let wave = |period_s: f64| (TAU * self.flown_s / (period_s * longer)).sin();
        0.7 * wave(slow_s) + 0.3 * wave(fast_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_begins_true_and_wanders_no_farther_and_no_faster_than_told() {
        let mut weather = Weather::of(3, 0.0);
        weather.set(Wind::default(), 1.0);
        let (mut before, mut farthest) = (weather.off(), 0.0_f64);
        assert_eq!((before.north, before.east), (0.0, 0.0));
        for _ in 0..50 * 600 {
            weather.pass(0.02);
            let off = weather.off();
            assert!(before.ground_distance(off) < 0.02 * 0.4, "{off:?}");
            farthest = farthest.max(off.north.hypot(off.east));
            before = off;
        }
        assert!(farthest > 0.7 && farthest <= 1.0, "{farthest}");
    }

    #[test]
    fn a_wind_from_the_west_pushes_to_the_east() {
        let mut weather = Weather::of(1, 0.0);
        let wind = Wind {
            speed_m_s: 10.0,
            from_deg: 270.0,
        };
        weather.set(wind, 0.0);
        let (push, shakes) = weather.wind();
        assert!((push.east - 2.0).abs() < 1e-9 && push.north.abs() < 1e-9, "{push:?}");
        assert_eq!(shakes.east, 0.0);
    }
}
