//! How far a home position is from another place, for people.

use crate::geo::offset;
use crate::units::Wgs84;
use std::fmt;

/// PX4 moves the altitude of home by up to 2.5 m in flight; twice that is somebody's order, meters.
pub const MOVED_UP_AT_LEAST_M: f64 = 5.0;

/// Homes wander by a few meters over ground; more than this is somebody's order, meters.
pub const MOVED_OVER_GROUND_AT_LEAST_M: f64 = 20.0;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HomeShift {
    pub east_m: f64,
    pub north_m: f64,
    pub up_m: f64,
}

impl HomeShift {
    /// `up_m`: of `to` above `from`, meters.
    pub fn between(from: Wgs84, to: Wgs84, up_m: f64) -> Self {
        let (east_m, north_m) = offset(from, to);
        Self { east_m, north_m, up_m }
    }

    pub fn over_ground_m(&self) -> f64 {
        self.east_m.hypot(self.north_m)
    }

    /// Whether somebody moved home in flight, rather than an autopilot that corrects it.
    pub fn is_one_in_flight(&self) -> bool {
        self.moves_altitudes() || self.over_ground_m() > MOVED_OVER_GROUND_AT_LEAST_M
    }

    /// Whether altitudes above home have changed their meaning.
    pub fn moves_altitudes(&self) -> bool {
        self.up_m.abs() > MOVED_UP_AT_LEAST_M
    }

    fn direction(&self) -> &'static str {
        let degrees = self.east_m.atan2(self.north_m).to_degrees().rem_euclid(360.0);
        let names = [
            (22.5, "north"),
            (67.5, "northeast"),
            (112.5, "east"),
            (157.5, "southeast"),
            (202.5, "south"),
            (247.5, "southwest"),
            (292.5, "west"),
            (337.5, "northwest"),
        ];
        let name = names.iter().find(|(end, _)| degrees < *end);
        name.map_or("north", |(_, name)| name)
    }
}

/// "64 m north", "64 m north and 50 m lower"; kilometers from 10 km on.
impl fmt::Display for HomeShift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let far = self.over_ground_m();
        let level = self.up_m.abs() < MOVED_UP_AT_LEAST_M;
        if far >= 10_000.0 {
            write!(f, "{:.0} km {}", far / 1000.0, self.direction())?;
        } else if far >= 1.0 || level {
            write!(f, "{far:.0} m {}", self.direction())?;
        }
        if level {
            return Ok(());
        }
        let and = if far >= 1.0 { " and " } else { "" };
        let way = if self.up_m > 0.0 { "higher" } else { "lower" };
        write!(f, "{and}{:.0} m {way}", self.up_m.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shift(east_m: f64, north_m: f64, up_m: f64) -> HomeShift {
        HomeShift { east_m, north_m, up_m }
    }

    #[test]
    fn the_words_are_distance_and_direction() {
        for (of, words) in [
            (shift(0.0, 64.0, 1.0), "64 m north"),
            (shift(-30.0, -30.0, -50.2), "42 m southwest and 50 m lower"),
            (shift(0.2, 0.1, 30.0), "30 m higher"),
            (shift(50_000.0, 900.0, 0.0), "50 km east"),
            (shift(-0.1, 5.0, 0.0), "5 m north"),
        ] {
            assert_eq!(of.to_string(), words);
        }
    }

    #[test]
    fn what_autopilots_do_by_themselves_is_no_shift() {
        assert!(!shift(3.0, 4.0, 2.5).is_one_in_flight());
        assert!(shift(0.0, 0.0, -5.1).is_one_in_flight());
        let level = shift(21.0, 0.0, 0.0);
        assert!(level.is_one_in_flight() && !level.moves_altitudes());
    }
}
