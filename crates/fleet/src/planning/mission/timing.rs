//! How long one vehicle needs for a part of the track, and how much it can fly in a time.
//!
//! Times along the track are running sums, so that a part's time is a difference. A way home is computed on demand.

use super::area::apart;
use super::track::{Leg, Point, Track, USUAL_SPEED, split};
use super::way::from::WaysFrom;
use ::geo::Coord;
use rstar::RTree;
use rstar::primitives::GeomWithData;
use std::cell::OnceCell;
use std::time::Duration;

/// Acceleration before and after a turn: what both autopilots are set to at least.
const ACCELERATION_M_S2: f64 = 2.5;

/// Smaller turns are flown without braking.
const GENTLE_TURN_DEG: f64 = 30.0;

/// Work is not cut nearer to the end of a line.
const MIN_PART_M: f64 = 1.0;

/// Accuracy of the end of a part within a line, seconds.
const EXACT_S: f64 = 1e-6;

/// Most steps of that search.
const MAX_SEARCH_STEPS: usize = 32;

/// Of one vehicle, seconds.
pub(super) struct Timing<'a> {
    track: &'a Track,
    ways: WaysFrom<'a>,
    speed: f64,
    /// On the way to each point of the track.
    travel: Vec<f64>,
    /// From the first point until it leaves each point.
    since_first: Vec<f64>,
    homes: Vec<OnceCell<f64>>,
    /// Whether the track is nowhere faster than the way home: from farther along, it is never home earlier.
    is_even: bool,
    pub endurance: f64,
}

impl<'a> Timing<'a> {
    /// Of a vehicle that flies no faster than `most` m/s, on `ways` from its start; it `brakes` at these points of the track.
    pub fn new(track: &'a Track, ways: WaysFrom<'a>, most: f64, endurance: Option<Duration>, brakes: &[bool]) -> Self {
        let points = track.points();
        let speed = points.first().map_or(USUAL_SPEED.0, speed_of).min(most);
        let (mut travel, mut since_first) = (vec![0.0], vec![0.0]);
        let mut is_even = true;
        let mut reached = 0.0;
        for (pair, brakes) in points.windows(2).zip(brakes) {
            let [before, point] = pair else { continue };
            let pace = speed_of(point).min(most);
            is_even &= pace <= speed;
            // It brakes at the point before, where it turns or holds; at the last, that is part of the way home.
            let leg = point.from(before) / pace + if *brakes { pace / ACCELERATION_M_S2 } else { 0.0 };
            reached += leg + point.hold.as_secs_f64();
            travel.push(leg);
            since_first.push(reached);
        }
        Self {
            track,
            ways,
            speed,
            travel,
            since_first,
            homes: vec![OnceCell::new(); points.len()],
            is_even,
            endurance: endurance.map_or(f64::INFINITY, |endurance| endurance.as_secs_f64()),
        }
    }

    pub const fn start(&self) -> Coord<f64> {
        self.ways.start()
    }

    /// For all of it, about.
    pub fn alone(&self) -> f64 {
        self.since_first.last().copied().unwrap_or_default() + 2.0 * self.home(0) + 1.0
    }

    pub fn reached(&self, position: f64) -> f64 {
        let (index, share) = split(position);
        let at = self.since_first.get(index).copied().unwrap_or_default();
        at + self.travel.get(index + 1).map_or(0.0, |leg| leg * share)
    }

    /// From a point home, or there; infinite when there is no way.
    pub fn home(&self, index: usize) -> f64 {
        let (Some(home), Some(point)) = (self.homes.get(index), self.track.points().get(index)) else {
            return f64::INFINITY;
        };
        *home.get_or_init(|| self.home_of(point.at))
    }

    /// Lower bound, at once: no way is shorter than the straight one.
    fn least_home(&self, index: usize) -> f64 {
        let point = self.track.points().get(index);
        point.map_or(f64::INFINITY, |point| self.least(apart(self.start(), point.at).0))
    }

    /// For a way of at least so many meters, less than rounding may take off.
    fn least(&self, meters: f64) -> f64 {
        meters * (1.0 - 1e-9) / self.speed + self.speed / ACCELERATION_M_S2
    }

    fn home_of(&self, at: Coord<f64>) -> f64 {
        let length = self.ways.length(at);
        length.map_or(f64::INFINITY, |length| {
            length / self.speed + self.speed / ACCELERATION_M_S2
        })
    }

    pub fn home_from(&self, position: f64) -> f64 {
        let (index, share) = split(position);
        let points = self.track.points();
        match (points.get(index), points.get(index + 1)) {
            (Some(before), Some(next)) if share > 0.0 => self.home_of(before.at + (next.at - before.at) * share),
            _ => self.home(index),
        }
    }

    /// From start to start, for this part of the track.
    pub fn part(&self, from: f64, to: f64) -> f64 {
        self.home_from(from) + self.reached(to) - self.reached(from) + self.home_from(to)
    }

    /// The point from which it is home first; of several, the first.
    pub fn nearest(&self, points: &RTree<GeomWithData<[f64; 2], usize>>) -> usize {
        let start = self.start();
        let mut best: Option<(f64, usize)> = None;
        for (point, squared) in points.nearest_neighbor_iter_with_distance_2([start.x, start.y]) {
            // No way is shorter than the straight one.
            let least = self.least(squared.sqrt());
            if best.is_some_and(|(home, _)| least > home) {
                break;
            }
            let found = (self.home(point.data), point.data);
            if best.is_none_or(|best| found < best) {
                best = Some(found);
            }
        }
        best.map_or(0, |(_, index)| index)
    }

    /// How far along the track it gets from `from` if it is home again in `time`.
    pub fn farthest(&self, from: f64, time: f64) -> f64 {
        let points = self.track.points();
        let is_work = |index: usize| points.get(index).is_some_and(|point| point.leg == Leg::Work);
        let there = self.home_from(from);
        // `time`, counted from the first point of the track.
        let left = time - there + self.reached(from);
        let since = |index: usize| self.since_first.get(index).copied().unwrap_or(f64::INFINITY);
        let fits =
            |index: usize| since(index) + self.least_home(index) <= left && since(index) + self.home(index) <= left;
        let first = split(from).0 + 1;
        let end = self.since_first.partition_point(|since| *since <= left).max(first);
        let end = if self.is_even { partition(first, end, fits) } else { end };
        let last = (first..end)
            .rev()
            .find(|index| is_work(*index) && (self.is_even || fits(*index)));
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
        let farthest = last.map_or(from, |index| index as f64);
        let mut next = last.map_or(first, |index| index + 1);
        while points.get(next).is_some_and(|point| point.leg == Leg::Transit) {
            next += 1;
        }
        let (Some(before), Some(point)) = (next.checked_sub(1).and_then(|i| points.get(i)), points.get(next)) else {
            return farthest;
        };
        #[expect(clippy::cast_precision_loss, reason = "there are far fewer")]
        let (begin, end) = ((next as f64 - 1.0).max(from), next as f64);
        let length = apart(before.at, point.at).0;
        let late = |position: f64| self.reached(position) + self.home_from(position) - left;
        // The ways home from both ends are known.
        let last = end - 1e-9;
        let home = if begin > from { self.home(next - 1) } else { there };
        let early = self.reached(begin) + home - left;
        let over = self.reached(last) + self.home(next) - left;
        let near = last_in_time((begin, early), (last, over), late).min(end - MIN_PART_M / length);
        if (near - begin) * length >= MIN_PART_M {
            near
        } else {
            farthest
        }
    }
}

/// The first index in `first..end` that does not fit, when all before one that fits do.
fn partition(first: usize, end: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut from, mut to) = (first, end);
    while from < to {
        let middle = usize::midpoint(from, to);
        if fits(middle) { from = middle + 1 } else { to = middle }
    }
    from
}

/// The last position from `near` to `far` that is not `late`, seconds, which grows along the way; `near` when all are. Both ends come with
/// how late they are.
fn last_in_time(near: (f64, f64), far: (f64, f64), late: impl Fn(f64) -> f64) -> f64 {
    let ((mut near, mut early), (mut far, mut over)) = (near, far);
    if over <= 0.0 {
        return far;
    }
    for step in 0..MAX_SEARCH_STEPS {
        if early > -EXACT_S {
            break;
        }
        // In turn: a little before the linear estimate, and the middle.
        let middle = if step % 2 == 0 && over.is_finite() {
            near + (far - near) * ((early + 0.5 * EXACT_S) / (early - over)).clamp(0.0, 1.0)
        } else {
            f64::midpoint(near, far)
        };
        let at = late(middle);
        if at <= 0.0 {
            (near, early) = (middle, at);
        } else {
            (far, over) = (middle, at);
        }
    }
    near
}

/// Whether a vehicle brakes at the point before each but the first: where it turns or holds.
pub(super) fn brakes(points: &[Point]) -> Vec<bool> {
    let mut before_last: Option<&Point> = None;
    let brakes = points.windows(2).map(|pair| {
        let [before, point] = pair else { return false };
        let last = before_last.replace(before);
        last.is_some_and(|last| !before.hold.is_zero() || turn(last.at, before.at, point.at) >= GENTLE_TURN_DEG)
    });
    brakes.collect()
}

fn speed_of(point: &Point) -> f64 {
    point.speed.unwrap_or(USUAL_SPEED).0
}

/// Degrees.
fn turn(a: Coord<f64>, b: Coord<f64>, c: Coord<f64>) -> f64 {
    let (one, other) = (b - a, c - b);
    let (cross, dot) = (one.x * other.y - one.y * other.x, one.x * other.x + one.y * other.y);
    cross.atan2(dot).to_degrees().abs()
}
