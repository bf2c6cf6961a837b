//! The shortest way from one place to another that crosses no hole.
//!
//! Owns: [`Ways`]; lengths from one place to all others (`from`); what hides places from one another (`horizon`); what was found before
//! (`known`). Must not: know what is flown where.
//!
//! A shortest way around polygons turns at corners only, and passes each on the outside. Which corners see one another is found once; which
//! of them the two ends see, only for corners that may be on the shortest way and are not hidden by nearer edges.

pub(super) mod from;
pub(super) mod horizon;
mod known;

use self::horizon::Horizon;
use self::known::Known;
use super::area::{Area, apart};
use super::boundary::{Along, Boundary, SLACK, cross, dot, is_between};
use ::geo::algorithm::buffer::{Buffer, BufferStyle, LineJoin};
use ::geo::{Coord, LineString, Orient, orient::Direction};
use rstar::RTree;
use rstar::primitives::GeomWithData;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::{Arc, OnceLock};

#[derive(Clone, Debug)]
pub struct Ways(Option<Arc<Obstacles>>);

#[derive(Debug)]
struct Obstacles {
    /// Not outside of these.
    outer: Vec<Boundary>,
    /// Not inside of these.
    holes: Arc<Boundary>,
    corners: Vec<Corner>,
    /// Corners seen from each corner and passed on the outside.
    passes: OnceLock<Seen>,
    /// Corners seen from each corner.
    sees: OnceLock<Seen>,
    known: Known,
}

/// For each corner the others, and their distance in meters.
type Seen = Vec<Vec<(usize, f64)>>;

#[derive(Clone, Copy, Debug)]
struct Corner {
    at: Coord<f64>,
    /// From it to the corners before and after it, and their distance in meters.
    sides: [(Coord<f64>, f64); 2],
}

#[derive(Clone, Copy, Debug)]
struct Came {
    direction: Coord<f64>,
    /// Meters.
    length: f64,
    /// Sides of the way on which both edges of the corner are: left, right.
    beside: (bool, bool),
}

impl Corner {
    /// The corners of a ring at which it turns right. The inside is on its left.
    fn of(ring: &LineString<f64>) -> Vec<Self> {
        let corners = ring.0.get(1..).unwrap_or_default();
        let next = corners.iter().cycle();
        let triples = corners.iter().zip(next.clone().skip(1)).zip(next.skip(2));
        let side = |side: Coord<f64>| (side, dot(side, side).sqrt());
        triples
            .filter(|((before, at), after)| cross(**at - **before, **after - **at) < 0.0)
            .map(|((before, at), after)| Self {
                at: *at,
                sides: [side(*before - *at), side(*after - *at)],
            })
            .collect()
    }

    /// Sides, left and right, of a line in `direction` through the corner on which both edges are. On the line counts as both: if the
    /// corner before or after is near to the line, or the line's other end is near to the edge, as the end of a way may lie on an edge.
    fn is_beside(&self, direction: Coord<f64>) -> (bool, bool) {
        let length = dot(direction, direction).sqrt();
        let [before, after] = self.sides.map(|(side, far)| {
            let (turn, room) = (cross(direction, side), 2.0 * SLACK * length.max(far));
            (turn >= -room, turn <= room)
        });
        (before.0 && after.0, before.1 && after.1)
    }

    /// Whether a way from `from` may turn here: not if it runs into the corner.
    fn is_passed(&self, from: Coord<f64>) -> bool {
        let (left, right) = self.is_beside(self.at - from);
        left || right
    }

    fn came(&self, from: Coord<f64>) -> Came {
        let direction = self.at - from;
        Came {
            direction,
            length: dot(direction, direction).sqrt(),
            beside: self.is_beside(direction),
        }
    }

    /// Whether a way that `came` here and goes on to `to` is pulled tight around the corner.
    fn is_tight(&self, came: &Came, to: Coord<f64>) -> bool {
        let (left, right) = came.beside;
        if !left && !right {
            return false;
        }
        let goes = to - self.at;
        let beside = self.is_beside(goes);
        let (room, turn) = (2.0 * SLACK * came.length, cross(came.direction, goes));
        (left && beside.0 && turn >= -room) || (right && beside.1 && turn <= room)
    }
}

#[derive(Clone, Copy, Debug)]
struct Step {
    /// Lower bound of the whole way, meters.
    least: f64,
    /// To here, meters.
    length: f64,
    /// `None`: the end.
    corner: Option<usize>,
    /// `None`: the begin.
    before: Option<usize>,
    is_seen: bool,
}

impl Ord for Step {
    /// Reversed: a heap pops the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.least.total_cmp(&self.least)
    }
}

impl PartialOrd for Step {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Step {}

impl Ways {
    pub const fn free() -> Self {
        Self(None)
    }

    pub fn around_holes(area: &Area) -> Self {
        Self::around(area, Arc::new(Boundary::of_holes(area)))
    }

    /// Around the holes of `area`: ways that stay within `room` meters outside of its outer edge, and all.
    pub(super) fn inside_and_around(area: &Area, room: f64) -> (Self, Self) {
        let outer = ::geo::Polygon::new(area.polygon().exterior().clone(), Vec::new());
        let style = BufferStyle::new(room).line_join(LineJoin::Round(0.5));
        let wider = outer.buffer_with_style(style).orient(Direction::Default);
        let around = Self::around(area, Arc::new(Boundary::of_holes(area)));
        let Some(obstacles) = &around.0 else {
            return (Self::free(), around);
        };
        let rings = wider
            .iter()
            .flat_map(|polygon| std::iter::once(polygon.exterior()).chain(polygon.interiors()));
        let outward = rings.flat_map(Corner::of);
        let inside = Obstacles {
            outer: wider.iter().map(Boundary::around).collect(),
            holes: Arc::clone(&obstacles.holes),
            corners: outward.chain(obstacles.corners.iter().copied()).collect(),
            passes: OnceLock::new(),
            sees: OnceLock::new(),
            known: Known::default(),
        };
        (Self(Some(Arc::new(inside))), around)
    }

    fn around(area: &Area, holes: Arc<Boundary>) -> Self {
        Self(Some(Arc::new(Obstacles {
            outer: Vec::new(),
            holes,
            corners: area.polygon().interiors().iter().flat_map(Corner::of).collect(),
            passes: OnceLock::new(),
            sees: OnceLock::new(),
            known: Known::default(),
        })))
    }

    pub fn allows(&self, point: Coord<f64>) -> bool {
        !self.0.as_ref().is_some_and(|obstacles| obstacles.holes.forbids(point))
    }

    pub(super) fn is_straight(&self, a: Coord<f64>, b: Coord<f64>) -> bool {
        self.0.as_ref().is_none_or(|obstacles| obstacles.is_straight(a, b))
    }

    /// As [`Self::is_straight`], of places that are asked about again until [`Self::forget`].
    pub(super) fn is_seen(&self, a: Coord<f64>, b: Coord<f64>) -> bool {
        self.0.as_ref().is_none_or(|obstacles| obstacles.is_seen(a, b))
    }

    /// Frees most of what is known of places, when no more is asked about them for now.
    pub(super) fn forget(&self) {
        if let Some(obstacles) = &self.0 {
            obstacles.known.forget();
        }
    }

    /// What is hidden from `from`; `None`: nothing.
    pub(super) fn horizon(&self, from: Coord<f64>) -> Option<Arc<Horizon>> {
        self.0.as_ref().map(|obstacles| obstacles.horizon(from))
    }

    /// Both ends included; `None` when there is none.
    pub fn shortest(&self, from: Coord<f64>, to: Coord<f64>) -> Option<Vec<Coord<f64>>> {
        match &self.0 {
            Some(obstacles) if !obstacles.is_seen(from, to) => {
                let way = obstacles.known.way(from, to, || obstacles.shortest(from, to));
                way.map(|way| way.to_vec())
            }
            _ => Some(vec![from, to]),
        }
    }

    /// Meters.
    pub fn length(&self, from: Coord<f64>, to: Coord<f64>) -> Option<f64> {
        let way = self.shortest(from, to)?;
        Some(way.windows(2).map(|pair| apart(pair[0], pair[1]).0).sum())
    }
}

impl Obstacles {
    fn is_straight(&self, a: Coord<f64>, b: Coord<f64>) -> bool {
        !self.holes.is_crossed(a, b) && !self.outer.iter().any(|outer| outer.is_crossed(a, b))
    }

    fn is_seen(&self, a: Coord<f64>, b: Coord<f64>) -> bool {
        self.known.is_straight(a, b, || self.is_straight(a, b))
    }

    fn horizon(&self, from: Coord<f64>) -> Arc<Horizon> {
        self.known.horizon(from, || self.look(from))
    }

    fn look(&self, from: Coord<f64>) -> Horizon {
        Horizon::new(from, self.outer.iter().chain([&*self.holes]))
    }

    /// The corners seen from `corner`; with `is_tight`, only those on ways pulled tight.
    fn next(&self, corner: usize, is_tight: bool) -> &[(usize, f64)] {
        let seen = if is_tight { &self.passes } else { &self.sees };
        let seen = seen.get_or_init(|| self.seen(is_tight));
        seen.get(corner).map_or(&[], Vec::as_slice)
    }

    /// For each corner those seen from it, without those behind a third on the way: a row of corners makes few pairs.
    fn seen(&self, is_tight: bool) -> Seen {
        let places = self.corners.iter().enumerate();
        let places = places.map(|(number, corner)| GeomWithData::new([corner.at.x, corner.at.y], number));
        let places = RTree::bulk_load(places.collect());
        let horizons: Vec<Horizon> = if is_tight {
            self.corners.iter().map(|corner| self.look(corner.at)).collect()
        } else {
            Vec::new()
        };
        let hides = |one: usize, other: &Corner| horizons.get(one).is_some_and(|horizon| horizon.hides(other.at));
        let mut pairs = Vec::new();
        for (one, a) in self.corners.iter().enumerate() {
            for (other, b) in self.corners.iter().enumerate().skip(one + 1) {
                let may_be = !hides(one, b) && !hides(other, a);
                if may_be && (!is_tight || (a.is_passed(b.at) && b.is_passed(a.at))) {
                    pairs.push((apart(a.at, b.at).0, one, other));
                }
            }
        }
        pairs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut seen = vec![Vec::new(); self.corners.len()];
        let mut leads = vec![vec![false; self.corners.len()]; self.corners.len()];
        for (length, one, other) in pairs {
            let (a, b) = (self.corners[one].at, self.corners[other].at);
            let mut near = places.locate_with_selection_function(Along::new(a, b, SLACK));
            let is_by_third = near.any(|third| {
                let leads = leads[one][third.data] && leads[third.data][other];
                leads && is_between(self.corners[third.data].at, a, b)
            });
            if !is_by_third && self.is_straight(a, b) {
                seen[one].push((other, length));
                seen[other].push((one, length));
            } else if !is_by_third {
                continue;
            }
            (leads[one][other], leads[other][one]) = (true, true);
        }
        seen
    }

    /// Without places on the straight way between those before and after.
    fn straightened(&self, way: &[Coord<f64>]) -> Vec<Coord<f64>> {
        let mut left: Vec<Coord<f64>> = way.first().copied().into_iter().collect();
        let mut at = 0;
        while at + 1 < way.len() {
            let is_row = |end: &usize| {
                way[at + 1..*end]
                    .iter()
                    .all(|place| is_between(*place, way[at], way[*end]))
            };
            let end = (at + 2..way.len()).take_while(is_row).last();
            at = end.filter(|end| self.is_straight(way[at], way[*end])).unwrap_or(at + 1);
            left.push(way[at]);
        }
        left
    }

    /// The corners that may be seen from `from`, each with its least length to `to`; with `is_tight`, those that may be passed from there.
    fn begin(&self, from: Coord<f64>, to: Option<Coord<f64>>, is_tight: bool) -> BinaryHeap<Step> {
        let horizon = is_tight.then(|| self.horizon(from));
        let corners = self.corners.iter().enumerate();
        let step = |(number, corner): (usize, &Corner)| {
            let length = apart(from, corner.at).0;
            Step {
                least: length + to.map_or(0.0, |to| apart(corner.at, to).0),
                length,
                corner: Some(number),
                before: None,
                is_seen: false,
            }
        };
        let may_be = |corner: &Corner| {
            let hides = |horizon: &Horizon| horizon.hides(corner.at);
            !is_tight || (!horizon.as_deref().is_some_and(hides) && corner.is_passed(from))
        };
        let corners = corners.filter(|(_, corner)| may_be(corner));
        corners.map(step).collect()
    }

    /// Between ends that do not see one another.
    ///
    /// A way pulled tight is searched for first. Where an end or a corner lies within the slack of an edge, a way may be found only among
    /// all that are seen, which costs as much as there are pairs of corners, once.
    fn shortest(&self, from: Coord<f64>, to: Coord<f64>) -> Option<Vec<Coord<f64>>> {
        self.search(from, to, true).or_else(|| self.search(from, to, false))
    }

    /// A* over corners. Whether an end sees a corner is examined when nothing else is nearer.
    fn search(&self, from: Coord<f64>, to: Coord<f64>, is_tight: bool) -> Option<Vec<Coord<f64>>> {
        let mut open = self.begin(from, Some(to), is_tight);
        let horizon = is_tight.then(|| self.horizon(to));
        let may_end = |corner: &Corner| {
            let hides = |horizon: &Horizon| horizon.hides(corner.at);
            !is_tight || (!horizon.as_deref().is_some_and(hides) && corner.is_passed(to))
        };
        let mut before: Vec<Option<Option<usize>>> = vec![None; self.corners.len()];
        while let Some(step) = open.pop() {
            let Some(number) = step.corner else {
                let last = step.before.and_then(|last| self.corners.get(last))?;
                if !self.is_straight(last.at, to) {
                    continue;
                }
                let mut way = vec![to];
                let mut corner = step.before;
                while let Some(number) = corner {
                    way.push(self.corners.get(number)?.at);
                    corner = before.get(number).copied().flatten()?;
                }
                way.push(from);
                way.reverse();
                return Some(self.straightened(&way));
            };
            let (Some(corner), Some(found)) = (self.corners.get(number), before.get_mut(number)) else {
                continue;
            };
            if found.is_some() || !(step.is_seen || self.is_straight(from, corner.at)) {
                continue;
            }
            *found = Some(step.before);
            if may_end(corner) {
                let length = step.length + apart(corner.at, to).0;
                open.push(Step {
                    least: length,
                    length,
                    corner: None,
                    before: Some(number),
                    is_seen: false,
                });
            }
            for (next, far) in self.next(number, is_tight) {
                if before.get(*next).is_some_and(Option::is_none)
                    && let Some(at) = self.corners.get(*next)
                {
                    let length = step.length + far;
                    open.push(Step {
                        least: length + apart(at.at, to).0,
                        length,
                        corner: Some(*next),
                        before: Some(number),
                        is_seen: true,
                    });
                }
            }
        }
        None
    }
}
