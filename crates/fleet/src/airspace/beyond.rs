//! What a vehicle may do beyond its claim: fly where nobody of ours sends it, or act by its failsafes.
//!
//! Owns: these volumes, and that of foreign [`Traffic`]. Must not: remember anything.

use super::{Margin, Route, Rules, Tube, Volume};
use crate::geo::Local;
use crate::time::Moment;
use std::time::Duration;

/// Vehicles that nobody of ours flies keep this much clear space ahead of them in time: an order needs that long to be followed.
const AHEAD: Duration = Duration::from_secs(2);

/// Another aircraft turns, climbs and gets faster by no more than this, meters per second for each second: a quarter of its weight.
const MANOEUVRES: f64 = 2.5;

/// Foreign traffic is foreseen for this long.
const FORESEEN: Duration = Duration::from_secs(10);

/// An aircraft that others have heard, from ADSB_VEHICLE (246).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// ICAO_address.
    pub icao: u32,
    /// Where it was.
    pub at: Local,
    /// How it moved, meters per second east, north and up.
    pub velocity: [f64; 3],
    /// How well that is known.
    pub accuracy: Margin,
    /// When it was there: when it was received, less `tslc`.
    pub heard: Moment,
}

impl Traffic {
    /// Where it may be from now until [`FORESEEN`].
    pub(super) fn volume(&self, now: Moment) -> Volume {
        let until = now.since(self.heard).saturating_add(FORESEEN).as_secs_f64();
        let [east, north, up] = self.velocity;
        let there = self.at.shifted(east * until, north * until);
        let there = there.at_height(self.at.up + up * until);
        let turns = 0.5 * MANOEUVRES * until * until;
        let (over_ground, in_height) = (self.accuracy.horizontal.0 + turns, self.accuracy.vertical.0 + turns);
        Volume::Tubes(vec![Tube::around(&[self.at, there], over_ground, in_height, in_height)])
    }
}

/// Where a vehicle may be now and shortly that was at `at` then, and which nobody of ours flies.
pub(super) fn drift(at: Local, margin: Margin, then: Moment, now: Moment, rules: &Rules) -> Tube {
    let time = now.since(then).saturating_add(AHEAD).as_secs_f64();
    let over_ground = margin.horizontal.0 + rules.fastest.0 * time;
    let in_height = margin.vertical.0 + rules.climbs.0 * time;
    Tube::around(&[at], over_ground, in_height, in_height)
}

/// Where a vehicle may be on its way back to its route, which it has left.
pub(super) fn back_to(way: &Route, at: Local, margin: Margin) -> Tube {
    let (over_ground, in_height) = (margin.horizontal.0, margin.vertical.0);
    Tube::around(&[at, way.start()], over_ground, in_height, in_height)
}

/// Where the failsafes of a vehicle may take it that is anywhere on `way`: down to the ground where it is, and up to `return_height`, home
/// in a straight line from there (or higher up, if it is higher), and down.
pub(super) fn failsafe(way: &Route, home: Local, return_height: f64, margin: Margin) -> Volume {
    let places = way.places();
    let highest = places.iter().map(|p| p.up).fold(return_height, f64::max);
    let legs = places.len().max(2) - 1;
    let last = places.len() - 1;
    let (over_ground, in_height) = (margin.horizontal.0, margin.vertical.0);
    let mut tubes = Vec::with_capacity(2 * legs + 1);
    for leg in 0..legs {
        let (one, other) = (places[leg], places[(leg + 1).min(last)]);
        let column = Tube::around(&[one, other], over_ground, in_height, in_height);
        tubes.push(column.spanning(home.up - in_height, highest + in_height));
        let level = |p: Local| p.at_height(return_height);
        let home = level(home);
        let corridor = Tube::around(&[level(one), level(other), home], over_ground, in_height, in_height);
        // One that is higher than its return height stays there.
        tubes.push(corridor.spanning(return_height, highest + in_height));
    }
    let column = Tube::around(&[home], over_ground, in_height, in_height);
    tubes.push(column.spanning(home.up - in_height, highest + in_height));
    Volume::Tubes(tubes)
}
