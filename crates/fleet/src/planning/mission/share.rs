//! Which vehicle flies which part of the work.
//!
//! Owns: [`Work::share`], which cuts the track into one part for each vehicle so that all are in the air for the same time, ways there and
//! home included; and the rest of it ([`Plan::left`]).
//! Must not: know which vehicles there are, or what they do now.
//!
//! Parts follow one another on the track, and may begin and end within a line. For an order of the vehicles and a time, each takes as much
//! of the track as it can (`timing`); the least time that takes all is searched for. With few vehicles all orders are tried, else the one
//! in which they lie along the track.

use super::area::flat;
use super::timing::{Timing, brakes};
use super::track::{Leg, Point, Track, Work, length};
use super::way::from::WaysFrom;
use ::geo::Coord;
use model::geo::NoPlace;
use model::units::{MetersPerSecond, Wgs84};
use rstar::RTree;
use rstar::primitives::GeomWithData;
use std::collections::HashSet;
use std::time::Duration;

/// Most vehicles of which all orders are tried.
const MAX_PERMUTED_VEHICLES: usize = 4;

pub const MAX_FLIERS: usize = 100;

/// Accuracy of the least time, seconds.
const EXACT_S: f64 = 0.001;

/// Distance of the trials before and after the estimate, seconds.
const BESIDE_S: f64 = 0.4 * EXACT_S;

/// Most doublings of a time that is too short.
const DOUBLINGS: usize = 64;
/// Most halvings: enough for the last digit of any time.
const HALVINGS: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flier {
    /// Where it takes off and lands; in the air: where it is.
    pub start: Wgs84,
    pub speed: Option<MetersPerSecond>,
    /// Time until it has to have landed, without its reserve.
    pub endurance: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CannotShare {
    #[error("there is no vehicle; give at least one")]
    NoVehicle,
    #[error("{0} vehicles are more than {MAX_FLIERS}; divide the work into several Missions")]
    TooMany(usize),
    #[error("the start of vehicle {number} has no place")]
    Start {
        /// From 0.
        number: usize,
        source: NoPlace,
    },
    #[error(
        "the start of vehicle {0} lies in a hole of the area, which no vehicle crosses; move the start, or make the hole smaller"
    )]
    StartInHole(usize),
    #[error("there is no way around the holes of the area from the start of vehicle {0}; move the start")]
    NoWay(usize),
    #[error("the speed of vehicle {0} is not a number above 0; give meters per second")]
    Speed(usize),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// From 0.
    pub flier: usize,
    /// From its start to its start.
    pub path: Vec<Point>,
    /// From start to start at the altitude of the work, without wind.
    pub time: Duration,
    /// Position on the track of each point of the path; on the way there and home, that of the begin and the end.
    positions: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// In the order of the track; without vehicles that have none.
    pub shares: Vec<Share>,
    /// Position from where no vehicle has the time.
    rest: Option<f64>,
}

/// Vehicle, from, and to on the track.
type Parts = Vec<(usize, f64, f64)>;

impl Work {
    /// # Errors
    /// [`CannotShare`], a fault of the fliers. Too little time for all of the work is no error: see [`Plan::is_whole`].
    pub fn share(&self, fliers: &[Flier]) -> Result<Plan, CannotShare> {
        if fliers.is_empty() {
            return Err(CannotShare::NoVehicle);
        }
        if fliers.len() > MAX_FLIERS {
            return Err(CannotShare::TooMany(fliers.len()));
        }
        let brakes = brakes(self.track.points());
        let timed = fliers
            .iter()
            .enumerate()
            .map(|(number, flier)| self.timing(number, flier, &brakes));
        let timed = timed.collect::<Result<Vec<Timing<'_>>, _>>()?;
        let mut best: Option<(f64, Parts)> = None;
        let mut most: Option<(f64, Parts)> = None;
        for order in self.orders(&timed) {
            let (all, reached) = self.take(&timed, &order, f64::INFINITY);
            if reached < self.track.end() {
                if most.as_ref().is_none_or(|(farthest, _)| reached > *farthest) {
                    most = Some((reached, all));
                }
                continue;
            }
            let least = best.as_ref().map_or(f64::INFINITY, |(time, _)| *time);
            if let Some(found) = self.least_time(&timed, &order, least) {
                best = Some(found);
            }
        }
        let (parts, rest) = match (best, most) {
            (Some((_, parts)), _) => (parts, None),
            (None, Some((reached, parts))) => (parts, Some(reached)),
            (None, None) => (Vec::new(), Some(0.0)),
        };
        let share = |(flier, from, to)| self.path(flier, &timed, from, to).ok_or(CannotShare::NoWay(flier));
        let shares: Result<Vec<Share>, CannotShare> = parts.into_iter().map(share).collect();
        self.around.forget();
        Ok(Plan { shares: shares?, rest })
    }

    fn timing(&self, number: usize, flier: &Flier, brakes: &[bool]) -> Result<Timing<'_>, CannotShare> {
        let start = flat(&self.frame, flier.start).map_err(|source| CannotShare::Start { number, source })?;
        if !self.around.allows(start) {
            return Err(CannotShare::StartInHole(number));
        }
        let most = flier.speed.map_or(f64::INFINITY, |speed| speed.0);
        if most.is_nan() || most <= 0.0 {
            return Err(CannotShare::Speed(number));
        }
        let ways = WaysFrom::new(&self.around, start);
        let timing = Timing::new(&self.track, ways, most, flier.endurance, brakes);
        // No part of the track is shut off from another.
        if timing.home(0).is_finite() {
            Ok(timing)
        } else {
            Err(CannotShare::NoWay(number))
        }
    }

    fn orders(&self, timed: &[Timing<'_>]) -> Vec<Vec<usize>> {
        let mut along: Vec<usize> = (0..timed.len()).collect();
        if timed.len() <= MAX_PERMUTED_VEHICLES {
            let mut all = Vec::new();
            permute(&mut along, 0, &mut all);
            return all;
        }
        let points = self.track.points().iter().enumerate();
        let points = points.map(|(index, point)| GeomWithData::new([point.at.x, point.at.y], index));
        let points = RTree::bulk_load(points.collect());
        along.sort_by_cached_key(|flier| timed.get(*flier).map_or(0, |timing| timing.nearest(&points)));
        vec![along]
    }

    /// The least time in which the vehicles in this order take all, if less than `below`.
    ///
    /// With a little more time for each, all of it is left to the last. So the last one's spare time, or the rest of the track, gives an
    /// estimate; times a little before and after it are tried, and in turn the middle.
    fn least_time(&self, timed: &[Timing<'_>], order: &[usize], below: f64) -> Option<(f64, Parts)> {
        let count = f64::from(u32::try_from(order.len()).unwrap_or(1).max(1));
        let tried = |time: f64| self.tried(timed, order, time);
        let (mut short, mut long) = (0.0, below * 0.999);
        let mut found = None;
        if !below.is_finite() {
            long = timed.iter().map(Timing::alone).fold(0.0, f64::max) / count;
            for _ in 0..DOUBLINGS {
                found = tried(long).ok();
                if found.is_some() {
                    break;
                }
                (short, long) = (long, 2.0 * long);
            }
        }
        let (mut parts, spare) = found.or_else(|| tried(long).ok())?;
        let mut least = long - spare / count;
        for step in 0..2 * HALVINGS {
            if long - short <= EXACT_S {
                break;
            }
            let beside = [least - BESIDE_S, least + BESIDE_S].into_iter();
            let near = beside
                .filter(|_| step % 2 == 0)
                .find(|time| short < *time && *time < long);
            let time = near.unwrap_or_else(|| f64::midpoint(short, long));
            match tried(time) {
                Ok((found, spare)) => {
                    (long, parts) = (time, found);
                    least = time - spare / count;
                }
                Err(left) => {
                    short = time;
                    least = time + left / count;
                }
            }
        }
        Some((long, parts))
    }

    /// The parts within `time` if they are all of the track, and the spare time of the last; or else the rest of the track. Both in
    /// seconds.
    fn tried(&self, timed: &[Timing<'_>], order: &[usize], time: f64) -> Result<(Parts, f64), f64> {
        let (parts, reached) = self.take(timed, order, time);
        let end = self.track.end();
        if reached < end {
            let first = order.first().and_then(|first| timed.get(*first));
            return Err(first.map_or(0.0, |timing| timing.reached(end) - timing.reached(reached)));
        }
        let last = parts
            .last()
            .and_then(|(flier, from, to)| Some((timed.get(*flier)?, from, to)));
        let spare = last.map_or(0.0, |(timing, from, to)| time - timing.part(*from, *to));
        Ok((parts, spare))
    }

    /// What each vehicle in this order takes within `time`: which, from, and to on the track; and how far that is.
    fn take(&self, timed: &[Timing<'_>], order: &[usize], time: f64) -> (Parts, f64) {
        let mut parts = Vec::new();
        let mut reached = self.track.work_from(0.0);
        for &flier in order {
            let Some(timing) = timed.get(flier) else { continue };
            let to = timing.farthest(reached, time.min(timing.endurance));
            if to > reached {
                parts.push((flier, reached, to));
                reached = self.track.work_from(to);
            }
        }
        (parts, reached)
    }

    fn path(&self, flier: usize, timed: &[Timing<'_>], from: f64, to: f64) -> Option<Share> {
        let timing = timed.get(flier)?;
        let part = self.track.part(from, to);
        let (first, last) = (&part.first()?.1, &part.last()?.1);
        let out = self.around.shortest(timing.start(), first.at)?;
        let home = self.around.shortest(last.at, timing.start())?;
        let passed = |at: &Coord<f64>, like: &Point| Point {
            at: *at,
            ..like.passed()
        };
        let mut path: Vec<Point> = out.iter().take(out.len() - 1).map(|at| passed(at, first)).collect();
        let mut positions = vec![from; path.len()];
        let on_the_way = home.iter().skip(1).map(|at| passed(at, last)).collect::<Vec<_>>();
        for (position, point) in part {
            positions.push(position);
            path.push(point);
        }
        positions.extend(on_the_way.iter().map(|_| to));
        path.extend(on_the_way);
        let seconds = timing.part(from, to);
        Some(Share {
            flier,
            path,
            time: Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
            positions,
        })
    }
}

impl Share {
    pub fn work_meters(&self) -> f64 {
        length(&self.path, Leg::Work)
    }

    pub(super) fn ends(&self) -> (f64, f64) {
        let end = |position: Option<&f64>| position.copied().unwrap_or_default();
        (end(self.positions.first()), end(self.positions.last()))
    }

    pub(super) fn positions(&self) -> &[f64] {
        &self.positions
    }

    pub fn meters(&self) -> f64 {
        self.work_meters() + length(&self.path, Leg::Transit)
    }
}

impl Plan {
    pub const fn is_whole(&self) -> bool {
        self.rest.is_none()
    }

    /// The rest of `work` when so many points of each share's path were reached; a share that is not named has not begun. `None`: nothing
    /// is left. Share it again among those that are there.
    pub fn left(&self, work: &Work, reached: &[usize]) -> Option<Work> {
        let mut parts: Vec<(f64, f64)> = Vec::new();
        for (number, share) in self.shares.iter().enumerate() {
            let count = reached.get(number).copied().unwrap_or_default();
            let begin = share.positions.first().copied().unwrap_or_default();
            let from = count.checked_sub(1).map_or(begin, |last| {
                share
                    .positions
                    .get(last)
                    .or(share.positions.last())
                    .copied()
                    .unwrap_or(begin)
            });
            parts.push((from, share.positions.last().copied().unwrap_or(from)));
        }
        parts.extend(self.rest.map(|rest| (rest, work.track.end())));
        let pieces = parts.into_iter().filter_map(|(from, to)| {
            let from = work.track.work_from(from);
            (from < to).then(|| work.track.part(from, to).into_iter().map(|(_, point)| point).collect())
        });
        let pieces: Vec<Vec<Point>> = pieces.collect();
        if pieces.is_empty() { None } else { work.with(pieces) }
    }
}

fn permute(order: &mut [usize], at: usize, all: &mut Vec<Vec<usize>>) {
    if at + 1 >= order.len() {
        all.push(order.to_vec());
        return;
    }
    let mut tried = HashSet::new();
    for other in at..order.len() {
        if tried.insert(order.get(other).copied()) {
            order.swap(at, other);
            permute(order, at + 1, all);
            order.swap(at, other);
        }
    }
}

impl Track {
    pub fn work_meters(&self) -> f64 {
        length(self.points(), Leg::Work)
    }
}
