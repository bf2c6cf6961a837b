//! Volumes beyond a claim: flights that Skein does not order, and failsafes.

use super::{Margin, Route, Rules, Tube, Volume, ground_below};
use model::geo::Local;
use model::time::Moment;
use std::time::Duration;

/// Clear space ahead in time of vehicles that Skein does not fly: an order to others needs that long to take effect.
const ORDER_DELAY: Duration = Duration::from_secs(2);

/// Largest acceleration of another aircraft in turns, climbs and speed: a quarter of its weight.
const MAX_ACCELERATION_M_S2: f64 = 2.5;

/// Prediction time for foreign traffic.
const TRAFFIC_PREDICTION_TIME: Duration = Duration::from_secs(10);

/// Assumed speed of an aircraft that reports none: 1.5 times that of most that fly low.
const ASSUMED_SPEED_M_S: f64 = 100.0;

/// Its assumed climb and sink rate.
const ASSUMED_CLIMB_M_S: f64 = 15.0;

/// Prediction time for a vehicle that Skein does not fly: others need it to stop or to climb out of its way.
pub(super) const PREDICTION_TIME: Duration = Duration::from_secs(6);

/// Apparent speed of a holding vehicle between two reports.
const SPEED_NOISE_M_S: f64 = 1.0;

/// Largest deviation from its observed line within that time.
const MAX_TURN_DEVIATION_M: f64 = 5.0;

/// Altitude of an autopilot's return, meters above mean sea level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReturnHeight {
    Read(f64),
    /// Not known: any up to this one counts (invariant 18).
    UpTo(f64),
}

impl ReturnHeight {
    pub const fn highest(self) -> f64 {
        match self {
            Self::Read(height) | Self::UpTo(height) => height,
        }
    }

    const fn lowest(self) -> f64 {
        match self {
            Self::Read(height) => height,
            Self::UpTo(_) => f64::NEG_INFINITY,
        }
    }
}

/// From ADSB_VEHICLE (246).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// ICAO_address.
    pub icao: u32,
    pub at: Local,
    /// Over ground, meters per second east and north; `None`: not known.
    pub velocity: Option<[f64; 2]>,
    /// Meters per second; `None`: not known.
    pub climb: Option<f64>,
    pub accuracy: Margin,
    /// When it was there: time received less `tslc`.
    pub heard: Moment,
}

impl Traffic {
    /// Where it may be from now until [`TRAFFIC_PREDICTION_TIME`].
    pub(crate) fn volume(&self, now: Moment) -> Volume {
        let until = now
            .since(self.heard)
            .saturating_add(TRAFFIC_PREDICTION_TIME)
            .as_secs_f64();
        let [east, north] = self.velocity.unwrap_or_default();
        let there = self.at.shifted(east * until, north * until);
        let there = there.at_height(self.at.up + self.climb.unwrap_or_default() * until);
        let turns = 0.5 * MAX_ACCELERATION_M_S2 * until * until;
        let flies = self.velocity.map_or(ASSUMED_SPEED_M_S, |_| 0.0);
        let climbs = self.climb.map_or(ASSUMED_CLIMB_M_S, |_| 0.0);
        let over_ground = self.accuracy.horizontal.0 + turns + flies * until;
        let in_height = self.accuracy.vertical.0 + turns + climbs * until;
        Volume::Tubes(vec![Tube::around(&[self.at, there], over_ground, in_height, in_height)])
    }
}

/// Where a vehicle that Skein does not fly may be now and shortly, from its place `at` at time `then`.
pub(super) fn drift(at: Local, margin: Margin, then: Moment, now: Moment, rules: &Rules) -> Tube {
    let time = now.since(then).saturating_add(ORDER_DELAY).as_secs_f64();
    let over_ground = margin.horizontal.0 + rules.fastest.0 * time;
    let in_height = margin.vertical.0 + rules.climbs.0 * time;
    Tube::around(&[at], over_ground, in_height, in_height)
}

#[derive(Clone, Debug)]
pub(super) struct Heard {
    pub(super) heard: Moment,
    pub(super) at: Local,
    pub(super) margin: Margin,
    /// The same without the corners of a plan.
    pub(super) at_rest: Margin,
    /// Meters per second east, north and up, from the last two reports.
    pub(super) velocity: [f64; 3],
}

/// Where a vehicle that flies on as observed will be until [`PREDICTION_TIME`]. `turns`: somebody flies it; else it drifts, and its observed place
/// is its place.
pub(super) fn flies_on(last: &Heard, turns: bool, rules: &Rules, now: Moment) -> Tube {
    let time = now.since(last.heard).saturating_add(PREDICTION_TIME).as_secs_f64();
    let speed = |speed: f64| if speed.abs() < SPEED_NOISE_M_S { 0.0 } else { speed };
    let [east, north, up] = last.velocity.map(|one| speed(one) * time);
    let there = last.at.shifted(east, north).at_height(last.at.up + up);
    let margin = last.margin;
    let (over_ground, in_height) = if turns {
        (margin.horizontal.0 + MAX_TURN_DEVIATION_M, margin.vertical.0)
    } else {
        (
            margin.horizontal.0 - rules.off_by.horizontal.0,
            margin.vertical.0 - rules.off_by.vertical.0,
        )
    };
    Tube::around(&[last.at, there], over_ground, in_height, in_height)
}

/// Where a vehicle may be on the way back to its route.
pub(super) fn back_to(way: &Route, at: Local, margin: Margin) -> Tube {
    let (over_ground, in_height) = (margin.horizontal.0, margin.vertical.0);
    Tube::around(&[at, way.start()], over_ground, in_height, in_height)
}

/// Over home, this sink rate or more is the last part of a return, meters per second.
const SINKS_M_S: f64 = 0.3;

/// Where a returning autopilot will be: up to `return_height` at its last place, level to its home, and down. Over home, once it sinks,
/// only down.
pub(super) fn returning(last: &Heard, home: Local, return_height: f64) -> Volume {
    let over_home = last.at.over_ground(home) <= last.margin.horizontal.0;
    let [_, _, up] = last.velocity;
    let sinks = over_home && up <= -SINKS_M_S;
    let top = if sinks {
        last.at.up
    } else {
        return_height.max(last.at.up)
    };
    let (over_ground, in_height) = (last.margin.horizontal.0, last.margin.vertical.0);
    let around = |places: &[Local]| Tube::around(places, over_ground, in_height, in_height);
    Volume::Tubes(vec![
        around(&[last.at, last.at.at_height(top)]),
        // Near home both stacks climb less: RTL_CONE_SLOPE, RTL_CONE_ANG.
        around(&[last.at.at_height(top), home.at_height(top)]).spanning(last.at.up - in_height, top + in_height),
        around(&[home.at_height(top), home]),
    ])
}

/// Down from its last place to the ground.
pub(super) fn descending(last: &Heard, home: Local) -> Volume {
    let (over_ground, in_height) = (last.margin.horizontal.0, last.margin.vertical.0);
    let ground = ground_below(last.at, home);
    Volume::Tubes(vec![Tube::around(
        &[last.at, ground],
        over_ground,
        in_height,
        in_height,
    )])
}

/// Beyond this share of the distance from home, the airspace's radius is counted all the way home.
const WIDE_SHARE: f64 = 0.9;

/// The level part of a return: straight home from the hold, or from anywhere in the airspace around it, at the altitude of its return or
/// its own if higher. If the altitude of its return is not known, at each from its own up.
pub(super) fn level_home(hold: &Route, home: Local, return_height: ReturnHeight, margin: Margin) -> Vec<Tube> {
    let end = hold.end();
    let (wide, below, above) = extent(hold);
    let top = return_height.highest().max(end.up + above);
    let bottom = return_height.lowest().max(end.up - below);
    let (over_ground, in_height) = (margin.horizontal.0, margin.vertical.0);
    let level = |places: &[Local], radius: f64| {
        let tube = Tube::around(places, over_ground + radius, in_height, in_height);
        tube.spanning(bottom - in_height, top + in_height)
    };
    let (from, home) = (end.at_height(top), home.at_height(top));
    let far = from.over_ground(home);
    let share = wide / far;
    if wide == 0.0 || far == 0.0 || share > WIDE_SHARE {
        return vec![level(&[from, home], wide)];
    }
    // From home, the two tangents to the airspace, up to beside its middle.
    let half = wide / (1.0 - share * share).sqrt();
    let (east, north) = ((home.east - from.east) / far, (home.north - from.north) / far);
    let sides = [
        from.shifted(-north * half, east * half),
        from.shifted(north * half, -east * half),
    ];
    vec![level(&[from], wide), level(&[home, sides[0], sides[1]], 0.0)]
}

/// All of a return from the hold, or from anywhere in the airspace around it: up, level to its home, and down.
pub(super) fn way_home(hold: &Route, home: Local, return_height: ReturnHeight, margin: Margin) -> Volume {
    let end = hold.end();
    let (wide, below, above) = extent(hold);
    let top = return_height.highest().max(end.up + above);
    let (over_ground, in_height) = (margin.horizontal.0, margin.vertical.0);
    let upright = |low: Local, radius: f64| {
        let places = [low, low.at_height(top)];
        Tube::around(&places, over_ground + radius, in_height, in_height)
    };
    let mut tubes = level_home(hold, home, return_height, margin);
    tubes.extend([upright(end.at_height(end.up - below), wide), upright(home, 0.0)]);
    Volume::Tubes(tubes)
}

/// Up from anywhere on `way` to the altitude of a return. Another at the altitude of the way or below is not in there: what that may come
/// near to is claimed.
pub(super) fn climbs(way: &Route, return_height: ReturnHeight, margin: Margin, rules: &Rules) -> Vec<Tube> {
    let (wide, _, above) = extent(way);
    let top = return_height.highest();
    let (radius, in_height) = (margin.horizontal.0 + wide, margin.vertical.0);
    let column = |leg: &[Local]| {
        let highest = altitudes(leg).1 + above;
        let floor = (highest + in_height + rules.separation.vertical.0).min(top + in_height);
        let places: Vec<Local> = leg.iter().map(|place| place.at_height(top)).collect();
        (top > highest).then(|| Tube::around(&places, radius, top - floor, in_height))
    };
    legs(way).filter_map(column).collect()
}

/// All of a return from anywhere on `way`, which has no airspace around it: up, level to its home, and down.
pub(super) fn way_home_from(
    way: &Route,
    home: Local,
    return_height: ReturnHeight,
    margin: Margin,
    rules: &Rules,
) -> Volume {
    let (over_ground, in_height) = (margin.horizontal.0, margin.vertical.0);
    let level = |leg: &[Local]| {
        let (lowest, highest) = altitudes(leg);
        let top = return_height.highest().max(highest);
        let bottom = return_height.lowest().max(lowest);
        let places: Vec<Local> = leg.iter().chain([&home]).map(|place| place.at_height(top)).collect();
        Tube::around(&places, over_ground, in_height, in_height).spanning(bottom - in_height, top + in_height)
    };
    let mut tubes = climbs(way, return_height, margin, rules);
    tubes.extend(legs(way).map(level));
    let (_, highest) = altitudes(way.places());
    let top = home.at_height(return_height.highest().max(highest));
    tubes.push(Tube::around(&[home, top], over_ground, in_height, in_height));
    Volume::Tubes(tubes)
}

/// Pairs of places; the place of a hold alone.
fn legs(way: &Route) -> impl Iterator<Item = &[Local]> {
    let places = way.places();
    places.windows(places.len().clamp(1, 2))
}

/// The lowest and the highest.
fn altitudes(places: &[Local]) -> (f64, f64) {
    let all = places.iter().map(|place| place.up);
    all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), up| {
        (low.min(up), high.max(up))
    })
}

/// How far the airspace around the end of a route reaches: over ground, down and up, meters.
fn extent(way: &Route) -> (f64, f64, f64) {
    way.room()
        .map_or((0.0, 0.0, 0.0), |room| (room.radius, room.below, room.above))
}

/// Where the failsafes of a vehicle may take it that is anywhere on `way`: down to the ground where it is, and home in a straight line, no
/// lower than now and no higher than `return_height` if it is below that (both stacks climb less near home: `RTL_CONE_SLOPE`,
/// `RTL_CONE_ANG`), and down.
pub(super) fn failsafe(way: &Route, home: Local, return_height: f64, margin: Margin) -> Volume {
    let places = way.places();
    let (wide, below, above) = extent(way);
    let highest = places.iter().map(|p| p.up + above).fold(return_height, f64::max);
    let lowest = places.iter().map(|p| p.up - below).fold(f64::INFINITY, f64::min);
    let legs = places.len().max(2) - 1;
    let last = places.len() - 1;
    let (over_ground, in_height) = (margin.horizontal.0 + wide, margin.vertical.0);
    let mut tubes = Vec::with_capacity(2 * legs + 1);
    for leg in 0..legs {
        let (one, other) = (places[leg], places[(leg + 1).min(last)]);
        let column = Tube::around(&[one, other], over_ground, in_height, in_height);
        let ground = ground_below(one, home).up.min(ground_below(other, home).up);
        tubes.push(column.spanning(ground.min(home.up) - in_height, highest + in_height));
        let level = |p: Local| p.at_height(return_height);
        let corridor = Tube::around(
            &[level(one), level(other), level(home)],
            over_ground,
            in_height,
            in_height,
        );
        // A vehicle above its return altitude stays there.
        tubes.push(corridor.spanning(lowest.max(home.up) - in_height, highest + in_height));
    }
    let column = Tube::around(&[home], over_ground, in_height, in_height);
    tubes.push(column.spanning(home.up - in_height, highest + in_height));
    Volume::Tubes(tubes)
}
