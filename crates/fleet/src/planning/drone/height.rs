//! Whether a vehicle is at its Drone's altitude, and whether it takes too long to get there.
//!
//!   Away --within DRIFTS--> There --asked for another altitude, or farther off than GUST_TOLERANCE_M--> Away

use model::time::Moment;
use model::units::AltitudeAboveHome;
use model::whereabouts::DRIFTS;
use std::time::Duration;

/// Distance at which a vehicle that held its altitude has left it.
const GUST_TOLERANCE_M: f64 = 6.0;

/// Slowest intended climb or sink rate of an autopilot: by default at least 1.
const MIN_CLIMB_M_S: f64 = 0.5;

/// Time besides the climb itself.
const CLIMB_GRACE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Height {
    /// Or its altitude is not known.
    There,
    UnderWay,
    NotReached {
        at: AltitudeAboveHome,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Climb {
    desired: AltitudeAboveHome,
    /// Begin and its time; `None` once it has been there.
    away: Option<(AltitudeAboveHome, Moment)>,
}

impl Climb {
    pub fn observe(
        before: Option<Self>,
        desired: AltitudeAboveHome,
        at: AltitudeAboveHome,
        now: Moment,
    ) -> (Self, Height) {
        let before = before.filter(|climb| climb.desired == desired);
        let off = distance(at, desired);
        let held = before.is_some_and(|climb| climb.away.is_none());
        if off <= if held { GUST_TOLERANCE_M } else { DRIFTS } {
            return (Self { desired, away: None }, Height::There);
        }
        let (from, since) = before.and_then(|climb| climb.away).unwrap_or((at, now));
        let away = Some((from, since));
        let height = if now.since(since) > allowed(from, desired) {
            Height::NotReached { at }
        } else {
            Height::UnderWay
        };
        (Self { desired, away }, height)
    }
}

fn distance(a: AltitudeAboveHome, b: AltitudeAboveHome) -> f64 {
    (a.0 - b.0).abs()
}

fn allowed(from: AltitudeAboveHome, desired: AltitudeAboveHome) -> Duration {
    let way = Duration::try_from_secs_f64(distance(from, desired) / MIN_CLIMB_M_S);
    // NaN is never reached.
    way.map_or(CLIMB_GRACE, |way| CLIMB_GRACE.saturating_add(way))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Desired at 25 m, at these altitudes at these seconds.
    fn heights_of(heights: &[(u64, f64)]) -> Vec<Height> {
        let mut climb = None;
        let observe = |(second, at): &(u64, f64)| {
            let now = Moment::at(Duration::from_secs(*second));
            let (next, height) = Climb::observe(climb, AltitudeAboveHome(25.0), AltitudeAboveHome(*at), now);
            climb = Some(next);
            height
        };
        heights.iter().map(observe).collect()
    }

    fn not_reached(at: f64) -> Height {
        Height::NotReached {
            at: AltitudeAboveHome(at),
        }
    }

    #[test]
    fn a_vehicle_that_climbs_is_under_way_and_then_there() {
        let seen = heights_of(&[(0, 10.0), (10, 20.0), (12, 22.5)]);
        assert_eq!(seen, [Height::UnderWay, Height::UnderWay, Height::There]);
    }

    #[test]
    fn one_that_stays_where_it_is_has_half_a_minute_and_two_seconds_for_each_meter() {
        let seen = heights_of(&[(0, 10.0), (60, 14.0), (61, 14.0)]);
        assert_eq!(seen, [Height::UnderWay, Height::UnderWay, not_reached(14.0)]);
    }

    #[test]
    fn one_that_comes_late_is_there_all_the_same() {
        let seen = heights_of(&[(0, 10.0), (100, 14.0), (200, 25.0)]);
        assert_eq!(seen, [Height::UnderWay, not_reached(14.0), Height::There]);
    }

    #[test]
    fn a_gust_is_no_news_and_a_fall_is() {
        let seen = heights_of(&[(0, 25.0), (10, 30.0), (20, 18.0), (100, 18.0)]);
        assert_eq!(
            seen,
            [Height::There, Height::There, Height::UnderWay, not_reached(18.0)]
        );
    }

    #[test]
    fn another_height_is_another_way_with_a_time_of_its_own() {
        let at = |second| Moment::at(Duration::from_secs(second));
        let ten = AltitudeAboveHome(10.0);
        let (climb, height) = Climb::observe(None, AltitudeAboveHome(25.0), ten, at(0));
        assert_eq!(height, Height::UnderWay);
        let (climb, height) = Climb::observe(Some(climb), AltitudeAboveHome(40.0), ten, at(60));
        assert_eq!(height, Height::UnderWay);
        let (_, height) = Climb::observe(Some(climb), AltitudeAboveHome(40.0), ten, at(100));
        assert_eq!(height, Height::UnderWay, "it was asked for 40 s ago");
    }

    #[test]
    fn a_height_that_is_no_number_is_never_reached() {
        let nothing = AltitudeAboveHome(f64::NAN);
        let ten = AltitudeAboveHome(10.0);
        let (climb, height) = Climb::observe(None, ten, nothing, Moment::default());
        assert_eq!(height, Height::UnderWay);
        let later = Moment::at(CLIMB_GRACE * 2);
        assert!(matches!(
            Climb::observe(Some(climb), ten, nothing, later).1,
            Height::NotReached { .. }
        ));
    }
}
