//! How near a vehicle passed a place, by its own positions, and how near it was to.
//!
//! Owns: lower bounds of that distance, over ground. Must not: say that a vehicle passed farther away than it did; what was not observed
//! may have led to the place.

use model::geo::offset;
use model::plan::ACCEPTANCE_RADIUS;
use model::plan::item::{self, Item};
use model::time::{Moment, Sighting};
use model::units::{Meters, Wgs84};
use std::time::Duration;

/// Longest interval of positions that is filled by a curve; in a longer one the vehicle may have been anywhere that it can fly to.
const MAX_INTERVAL: Duration = Duration::from_secs(2);
/// A multicopter accelerates and turns with less, m/s².
const ACCELERATION_M_S2: f64 = 5.0;
/// More than any plan is flown at, with the wind, m/s. What seems faster, as in a simulation faster than real time, says nothing.
const FASTEST_M_S: f64 = 30.0;
/// Horizontal accuracy of a vehicle that reports none, meters.
const UNKNOWN_ACCURACY_M: f64 = 3.0;
/// Beyond radius and accuracy, meters: autopilots lag behind their set-points.
const MARGIN_M: f64 = 1.0;

type Seen = Sighting<Wgs84>;

/// Distance from the place of `item` beyond which it was passed beside, meters; `None`: it has no place that is passed.
pub fn widest(item: &Item, accuracy: Option<Meters>) -> Option<f64> {
    let [_, second, ..] = item.params;
    let radius = match item.command {
        item::NAV_WAYPOINT => second.filter(|radius| *radius > 0.0),
        item::NAV_LOITER_TIME | item::NAV_SPLINE_WAYPOINT => None,
        _ => return None,
    };
    let accuracy = accuracy.map_or(UNKNOWN_ACCURACY_M, |accuracy| accuracy.0);
    Some(radius.unwrap_or(ACCEPTANCE_RADIUS.0) + accuracy + MARGIN_M)
}

/// Least distance from `place` between two successive positions, meters.
pub fn between(place: Wgs84, from: Seen, to: Seen) -> f64 {
    let interval = to.at.since(from.at);
    let seconds = interval.as_secs_f64();
    let (first, last) = (offset(place, from.value), offset(place, to.value));
    if interval > MAX_INTERVAL {
        // Both ways together are no longer than it can fly.
        let there_and_on = first.0.hypot(first.1) + last.0.hypot(last.1);
        return FASTEST_M_S.mul_add(-seconds, there_and_on).max(0.0) / 2.0;
    }
    let way = (last.0 - first.0, last.1 - first.1);
    if way.0.hypot(way.1) > FASTEST_M_S * seconds {
        return 0.0;
    }
    let squared = way.0.mul_add(way.0, way.1 * way.1);
    let part = if squared > 0.0 {
        (-first.0.mul_add(way.0, first.1 * way.1) / squared).clamp(0.0, 1.0)
    } else {
        1.0
    };
    let straight = way.0.mul_add(part, first.0).hypot(way.1.mul_add(part, first.1));
    let bulge = ACCELERATION_M_S2 * seconds * seconds / 8.0;
    (straight - bulge).max(0.0)
}

/// Least distance from `place` since the position `last`, meters; `before`: the position before that.
pub fn since(place: Wgs84, before: Option<Seen>, last: Seen, now: Moment) -> f64 {
    let age = now.since(last.at);
    let before = before.filter(|before| last.at.since(before.at) <= MAX_INTERVAL && last.at > before.at);
    let speed = before.map_or(FASTEST_M_S, |before| {
        let (east, north) = offset(before.value, last.value);
        east.hypot(north) / last.at.since(before.at).as_secs_f64()
    });
    if speed > FASTEST_M_S {
        return 0.0;
    }
    let seconds = age.as_secs_f64();
    let flown = if age > MAX_INTERVAL {
        FASTEST_M_S * seconds
    } else {
        (ACCELERATION_M_S2 / 2.0).mul_add(seconds, speed) * seconds
    };
    let (east, north) = offset(place, last.value);
    (east.hypot(north) - flown).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::geo::shifted;

    const PLACE: Wgs84 = Wgs84 {
        latitude_deg: 47.397_742,
        longitude_deg: 8.545_594,
    };

    fn at(millis: u64) -> Moment {
        Moment::at(Duration::from_millis(millis))
    }

    fn seen(east: f64, north: f64, millis: u64) -> Seen {
        Sighting::new(shifted(PLACE, east, north), at(millis))
    }

    #[test]
    fn a_place_passed_between_two_positions_was_passed_as_near_as_the_line_between_them() {
        let fast = between(PLACE, seen(-4.0, 3.0, 0), seen(4.0, 3.0, 500));
        assert!((2.8..=3.0).contains(&fast), "{fast}");
        let short_of_it = between(PLACE, seen(-20.0, 0.0, 0), seen(-10.0, 0.0, 500));
        assert!((9.8..=10.0).contains(&short_of_it), "{short_of_it}");
        let held = between(PLACE, seen(0.0, 9.6, 0), seen(0.0, 9.6, 200));
        assert!((9.5..=9.6).contains(&held), "{held}");
    }

    #[test]
    fn what_flies_faster_than_any_vehicle_says_nothing() {
        let (one, next) = (seen(40.0, 9.0, 0), seen(20.0, 9.0, 200));
        assert!(between(PLACE, one, next) < 0.1);
        assert!(since(PLACE, Some(one), next, at(300)) < 0.1);
    }

    #[test]
    fn what_was_not_observed_may_have_led_to_the_place() {
        assert!(between(PLACE, seen(-40.0, 30.0, 0), seen(40.0, 30.0, 5000)) < 0.1);
        let far = between(PLACE, seen(-400.0, 0.0, 0), seen(-390.0, 0.0, 5000));
        assert!(
            (300.0..390.0).contains(&far),
            "it cannot have flown there and back: {far}"
        );
        let before = Some(seen(-17.5, 0.0, 0));
        let soon = since(PLACE, before, seen(-12.5, 0.0, 500), at(700));
        assert!((10.0..10.5).contains(&soon), "{soon}");
        assert!(since(PLACE, before, seen(-12.5, 0.0, 500), at(3000)) < 0.1);
        assert!(since(PLACE, None, seen(-12.5, 0.0, 500), at(1000)) < 0.1);
    }

    #[test]
    fn a_place_may_be_passed_as_far_away_as_its_own_radius_and_the_accuracy_allow() {
        let item = |command, second| Item {
            command,
            frame: item::FRAME_GLOBAL_RELATIVE_ALT,
            params: [Some(0.0), second, None, None, Some(47.0), Some(8.5), Some(30.0)],
            goes_on: true,
        };
        let sharp = Some(Meters(0.5));
        assert_eq!(widest(&item(item::NAV_WAYPOINT, Some(0.0)), sharp), Some(3.5));
        assert_eq!(widest(&item(item::NAV_WAYPOINT, Some(10.0)), sharp), Some(11.5));
        assert_eq!(widest(&item(item::NAV_WAYPOINT, None), None), Some(6.0));
        assert_eq!(
            widest(&item(item::NAV_LOITER_TIME, Some(1.0)), sharp),
            Some(3.5),
            "that is no radius"
        );
        assert_eq!(widest(&item(item::NAV_LAND, None), sharp), None);
        assert_eq!(widest(&item(18, None), sharp), None, "it turns around the place");
    }
}
