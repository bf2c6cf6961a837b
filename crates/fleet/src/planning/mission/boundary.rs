//! The edge of what must not be crossed, in an R-tree: a query costs as much as there are edges near it.

mod crossings;

use self::crossings::Crossings;
use super::area::{Area, apart};
use ::geo::{Coord, LineString, Polygon};
use rstar::{AABB, PointDistance, RTree, RTreeObject, SelectionFunction};

/// How far inside a way may be, meters: less than is ever measured.
pub(super) const SLACK: f64 = 0.005;

/// Depth inside that is only arithmetic.
const ARITHMETIC_EPSILON_M: f64 = 1e-6;

/// Distance from the edge at which the forbidden side of a crossing is probed.
const PROBE_DISTANCE_M: f64 = 4.0 * SLACK;

/// Probes before a line is cut into its pieces.
const PROBES_BEFORE_CUT: usize = 2;

/// Rings with the forbidden side on the right of each edge.
#[derive(Clone, Debug)]
pub(super) struct Boundary {
    edges: RTree<Edge>,
    crossings: Crossings,
    is_around: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Edge {
    pub start: Coord<f64>,
    pub end: Coord<f64>,
}

/// From and to as shares of the line.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: f64,
    to: f64,
    /// `None`: short, or so near to the edge that it is allowed.
    is_forbidden: Option<bool>,
}

impl Edge {
    fn of(ring: &LineString<f64>) -> impl Iterator<Item = Self> {
        ring.lines().map(|line| Self {
            start: line.start,
            end: line.end,
        })
    }

    /// Whether it lies surely on one side of the line from `a` to `b`, farther than the slack: then it cuts off no piece of the line.
    fn is_beside(&self, a: Coord<f64>, b: Coord<f64>) -> bool {
        let way = b - a;
        let length = dot(way, way);
        let room = 3.0 * SLACK * length.sqrt();
        let (start, end) = (cross(way, self.start - a), cross(way, self.end - a));
        let is_apart = start.min(end) > room || start.max(end) < -room;
        is_apart && !is_parallel(cross(way, self.end - self.start), length)
    }

    /// Where the line through `a` along `way` crosses it, as a share of `way`. Of two edges that meet on the line, it crosses both or none
    /// if they lie on one side of it, else one.
    fn passed_by(&self, a: Coord<f64>, way: Coord<f64>) -> Option<f64> {
        let (start, end) = (cross(way, self.start - a), cross(way, self.end - a));
        if (start > 0.0) == (end > 0.0) {
            return None;
        }
        let to = self.start + (self.end - self.start) * (start / (start - end)) - a;
        Some(dot(to, way) / dot(way, way))
    }
}

impl RTreeObject for Edge {
    type Envelope = AABB<[f64; 2]>;

    fn envelope(&self) -> Self::Envelope {
        AABB::from_corners([self.start.x, self.start.y], [self.end.x, self.end.y])
    }
}

impl PointDistance for Edge {
    fn distance_2(&self, point: &[f64; 2]) -> f64 {
        let point = Coord {
            x: point[0],
            y: point[1],
        };
        let share = foot(point, self.start, self.end).unwrap_or_default();
        let to = self.start + (self.end - self.start) * share - point;
        dot(to, to)
    }
}

/// Chooses boxes within `room` of a line.
pub(super) struct Along {
    middle: Coord<f64>,
    half: Coord<f64>,
    room: f64,
}

impl Along {
    pub fn new(a: Coord<f64>, b: Coord<f64>, room: f64) -> Self {
        Self {
            middle: (a + b) * 0.5,
            half: (b - a) * 0.5,
            room,
        }
    }

    fn meets(&self, bounds: &AABB<[f64; 2]>) -> bool {
        let (least, most) = (bounds.lower(), bounds.upper());
        let (wide, high) = (
            0.5 * (most[0] - least[0]) + self.room,
            0.5 * (most[1] - least[1]) + self.room,
        );
        let to = Coord {
            x: 0.5 * (most[0] + least[0]) - self.middle.x,
            y: 0.5 * (most[1] + least[1]) - self.middle.y,
        };
        to.x.abs() <= wide + self.half.x.abs()
            && to.y.abs() <= high + self.half.y.abs()
            && cross(self.half, to).abs() <= wide * self.half.y.abs() + high * self.half.x.abs()
    }
}

impl<T: RTreeObject<Envelope = AABB<[f64; 2]>>> SelectionFunction<T> for Along {
    fn should_unpack_parent(&self, bounds: &AABB<[f64; 2]>) -> bool {
        self.meets(bounds)
    }

    fn should_unpack_leaf(&self, edge: &T) -> bool {
        #[cfg(test)]
        steps::add();
        self.meets(&edge.envelope())
    }
}

impl Boundary {
    /// All outside of `area`, with its holes.
    pub fn of_area(area: &Area) -> Self {
        Self::around(area.polygon())
    }

    /// All outside of `polygon`, which is oriented as usual.
    pub fn around(polygon: &Polygon<f64>) -> Self {
        let rings = std::iter::once(polygon.exterior()).chain(polygon.interiors());
        Self::new(rings.flat_map(Edge::of).collect(), true)
    }

    pub fn of_holes(area: &Area) -> Self {
        Self::new(area.polygon().interiors().iter().flat_map(Edge::of).collect(), false)
    }

    fn new(edges: Vec<Edge>, is_around: bool) -> Self {
        Self {
            edges: RTree::bulk_load(edges.clone()),
            crossings: Crossings::of(edges),
            is_around,
        }
    }

    pub const fn edges(&self) -> &RTree<Edge> {
        &self.edges
    }

    /// The edges within `room` meters of the line from `a` to `b`, and some more.
    pub fn along(&self, a: Coord<f64>, b: Coord<f64>, room: f64) -> impl Iterator<Item = &Edge> {
        self.edges.locate_with_selection_function(Along::new(a, b, room))
    }

    /// On the edge itself, either.
    pub fn is_forbidden(&self, point: Coord<f64>) -> bool {
        self.crossings.east_of(point).is_multiple_of(2) == self.is_around
    }

    fn is_near(&self, point: Coord<f64>, room: f64) -> bool {
        let mut near = self.edges.locate_within_distance([point.x, point.y], room * room);
        near.next().is_some()
    }

    /// As [`Self::is_forbidden`], and not only by arithmetic.
    pub fn forbids(&self, point: Coord<f64>) -> bool {
        self.is_forbidden(point) && !self.is_near(point, SLACK)
    }

    /// Whether some of the line from `a` to `b` is on the forbidden side.
    pub fn is_crossed(&self, a: Coord<f64>, b: Coord<f64>) -> bool {
        let length = apart(a, b).0;
        if length <= SLACK {
            return false;
        }
        let mut near = Vec::new();
        let mut probes = PROBES_BEFORE_CUT;
        for edge in self.along(a, b, 2.0 * SLACK).filter(|edge| !edge.is_beside(a, b)) {
            near.push(*edge);
            // Most lines that cross the boundary do so far from its corners.
            if probes > 0
                && let Some(probe) = beyond(edge, a, b)
            {
                if !self.is_near(probe, 2.0 * SLACK) && self.is_forbidden(probe) {
                    return true;
                }
                probes -= 1;
            }
        }
        let mut pieces = self.pieces(a, b, &near);
        pieces.any(|piece| piece.is_forbidden == Some(true))
    }

    /// The forbidden pieces of the line from `a` to `b`, as shares of it, in order. A piece that is only a little inside counts at the ends
    /// of the line and beside another, so that the rest ends at the edge.
    pub fn forbidden(&self, a: Coord<f64>, b: Coord<f64>) -> Vec<(f64, f64)> {
        let near = self.along(a, b, 2.0 * SLACK).filter(|edge| !edge.is_beside(a, b));
        let near: Vec<Edge> = near.copied().collect();
        let mut pieces: Vec<Piece> = self.pieces(a, b, &near).collect();
        let goes_on = |piece: &mut Piece, after: bool| {
            let middle = a + (b - a) * piece.from.midpoint(piece.to);
            let is_inside = || !self.is_near(middle, ARITHMETIC_EPSILON_M) && self.is_forbidden(middle);
            if after && piece.is_forbidden.is_none() && is_inside() {
                piece.is_forbidden = Some(true);
            }
            piece.is_forbidden == Some(true)
        };
        let mut after = true;
        for piece in &mut pieces {
            after = goes_on(piece, after);
        }
        after = true;
        for piece in pieces.iter_mut().rev() {
            after = goes_on(piece, after);
        }
        let forbidden = pieces.iter().filter(|piece| piece.is_forbidden == Some(true));
        forbidden.map(|piece| (piece.from, piece.to)).collect()
    }

    /// The allowed pieces of the line from `a` to `b`, as shares of it, in order.
    pub fn allowed(&self, a: Coord<f64>, b: Coord<f64>) -> Vec<(f64, f64)> {
        let mut allowed = Vec::new();
        let mut from = 0.0;
        for (begin, end) in self.forbidden(a, b) {
            allowed.push((from, begin));
            from = end;
        }
        allowed.push((from, 1.0));
        allowed.retain(|(from, to)| to > from);
        allowed
    }

    /// The pieces of the line from `a` to `b` between the places where it meets an edge or passes a corner closely, in order. `near` has
    /// all edges that come near to it.
    ///
    /// The middle of a piece decides: no corner is close beside a piece, so it is nowhere twice as far from the edge as its middle, where
    /// that is near the edge.
    fn pieces(&self, a: Coord<f64>, b: Coord<f64>, near: &[Edge]) -> impl Iterator<Item = Piece> {
        let (way, length) = (b - a, apart(a, b).0);
        let mut cuts = vec![0.0, 1.0];
        let mut turns = Vec::new();
        for edge in near {
            cuts.extend(meeting(a, b, edge.start, edge.end).into_iter().flatten());
            cuts.extend(foot(edge.start, a, b).filter(|share| apart(edge.start, a + way * *share).0 <= 2.0 * SLACK));
            turns.extend(edge.passed_by(a, way));
        }
        cuts.sort_unstable_by(f64::total_cmp);
        turns.sort_unstable_by(f64::total_cmp);
        // A place of the line, how often the line crosses an edge before it, and whether it is forbidden.
        let mut known: Option<(usize, bool)> = None;
        let ends: Vec<f64> = cuts.iter().copied().skip(1).collect();
        cuts.into_iter().zip(ends).map(move |(from, to)| {
            let share = from.midpoint(to);
            let middle = a + way * share;
            if (to - from) * length <= SLACK || self.is_near(middle, SLACK) {
                return Piece {
                    from,
                    to,
                    is_forbidden: None,
                };
            }
            let passed = turns.partition_point(|turn| *turn <= share);
            let is_forbidden = match known {
                Some((before, was)) => was != ((passed - before) % 2 == 1),
                None => self.is_forbidden(middle),
            };
            known = Some((passed, is_forbidden));
            Piece {
                from,
                to,
                is_forbidden: Some(is_forbidden),
            }
        })
    }
}

/// A place on the line from `a` to `b` a little beyond `edge`, on its forbidden side, if the line crosses it.
fn beyond(edge: &Edge, a: Coord<f64>, b: Coord<f64>) -> Option<Coord<f64>> {
    let (way, along) = (b - a, edge.end - edge.start);
    let passes = edge.passed_by(a, way)?;
    let (turn, length) = (cross(along, way), dot(along, along).sqrt());
    // Forward when the line turns right at the edge, and back when it turns left.
    let share = passes - PROBE_DISTANCE_M * length / turn;
    (share > 0.0 && share < 1.0).then(|| a + way * share)
}

pub(super) fn cross(a: Coord<f64>, b: Coord<f64>) -> f64 {
    a.x * b.y - a.y * b.x
}

pub(super) fn dot(a: Coord<f64>, b: Coord<f64>) -> f64 {
    a.x * b.x + a.y * b.y
}

/// By the cross product of both ways, and the square of the length of one.
fn is_parallel(turn: f64, squared: f64) -> bool {
    turn.abs() <= 1e-12 * squared.max(1e-12)
}

/// Where the two lines meet, as shares of `a` to `b`. For parallel lines: both ends of the other.
fn meeting(a: Coord<f64>, b: Coord<f64>, c: Coord<f64>, d: Coord<f64>) -> [Option<f64>; 2] {
    let (way, edge, apart) = (b - a, d - c, c - a);
    let turn = cross(way, edge);
    let inside = |share: f64| (share > 0.0 && share < 1.0).then_some(share);
    let length = dot(way, way);
    if is_parallel(turn, length) {
        let share = |to: Coord<f64>| dot(to, way) / length;
        return if length > 0.0 {
            [inside(share(apart)), inside(share(d - a))]
        } else {
            [None; 2]
        };
    }
    let (on_way, on_edge) = (cross(apart, edge) / turn, cross(apart, way) / turn);
    [
        (-1e-9..=1.0 + 1e-9)
            .contains(&on_edge)
            .then_some(on_way)
            .and_then(inside),
        None,
    ]
}

/// The place on the line from `a` to `b` nearest to `point`, as a share of it; `None` for a line without length.
pub(super) fn foot(point: Coord<f64>, a: Coord<f64>, b: Coord<f64>) -> Option<f64> {
    let (way, to) = (b - a, point - a);
    let length = dot(way, way);
    (length > 0.0).then(|| (dot(to, way) / length).clamp(0.0, 1.0))
}

/// Within arithmetic of the line between `a` and `b`.
pub(super) fn is_between(point: Coord<f64>, a: Coord<f64>, b: Coord<f64>) -> bool {
    let inside = foot(point, a, b).filter(|share| *share > 0.0 && *share < 1.0);
    inside.is_some_and(|share| apart(point, a + (b - a) * share).0 <= SLACK)
}

/// Edges examined on this thread, so that tests can bound the work.
#[cfg(test)]
pub(super) mod steps {
    use std::cell::Cell;

    thread_local! {
        static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    pub fn add() {
        STEPS.with(|steps| steps.set(steps.get() + 1));
    }

    /// Since the last call.
    pub fn take() -> u64 {
        STEPS.with(Cell::take)
    }
}
