//! The shortest way from one place to another that crosses no hole.
//!
//! Owns: [`Ways`]. Must not: know what is flown where.
//!
//! A shortest way around polygons turns at their corners only. So it is searched for among those that see one another.

use super::area::{Area, apart};
use ::geo::algorithm::buffer::{Buffer, BufferStyle, LineJoin};
use ::geo::coordinate_position::{CoordPos, CoordinatePosition};
use ::geo::{BoundingRect, Coord, LineString, Orient, Polygon, Rect, orient::Direction};
use pathfinding::directed::astar::astar;
use std::sync::OnceLock;

/// A way may be so far inside of what it must not cross, meters: less than is ever measured.
const SLACK: f64 = 0.005;

/// Where one may fly.
#[derive(Clone, Debug)]
pub struct Ways {
    /// Not outside of these; nothing is outside where there are none.
    outer: Vec<Fence>,
    /// Not inside of these.
    holes: Vec<Fence>,
    corners: Vec<Coord<f64>>,
    /// Which other corners one sees from a corner, and how far away they are, millimeters.
    sees: Vec<OnceLock<Vec<(usize, u64)>>>,
}

#[derive(Clone, Debug)]
struct Fence {
    polygon: Polygon<f64>,
    bounds: Rect<f64>,
}

impl Fence {
    fn new(polygon: Polygon<f64>) -> Option<Self> {
        let bounds = polygon.bounding_rect()?;
        Some(Self { polygon, bounds })
    }

    fn rings(&self) -> impl Iterator<Item = &LineString<f64>> {
        rings(&self.polygon)
    }

    fn may_meet(&self, a: Coord<f64>, b: Coord<f64>) -> bool {
        let (least, most) = (self.bounds.min(), self.bounds.max());
        a.x.min(b.x) <= most.x && a.x.max(b.x) >= least.x && a.y.min(b.y) <= most.y && a.y.max(b.y) >= least.y
    }

    /// Whether some of the line from `a` to `b` is on the `forbidden` side of the edge.
    fn is_crossed(&self, a: Coord<f64>, b: Coord<f64>, forbidden: CoordPos) -> bool {
        pieces(&self.polygon, a, b, forbidden).any(|(_, _, is_there)| is_there)
    }
}

fn rings(polygon: &Polygon<f64>) -> impl Iterator<Item = &LineString<f64>> {
    std::iter::once(polygon.exterior()).chain(polygon.interiors())
}

/// The pieces of the line from `a` to `b` between the places where it meets the edge of `polygon` or passes one of its corners closely, as
/// shares of its way, and whether each is on that `side` of it.
///
/// The middle of a piece decides. Beside a piece there is no corner that it passes closely, so it is nowhere twice as far from the edge as
/// its middle is, where that is near the edge.
fn pieces(
    polygon: &Polygon<f64>,
    a: Coord<f64>,
    b: Coord<f64>,
    side: CoordPos,
) -> impl Iterator<Item = (f64, f64, bool)> {
    let mut cuts = vec![0.0, 1.0];
    for edge in rings(polygon).flat_map(LineString::lines) {
        cuts.extend(meeting(a, b, edge.start, edge.end).into_iter().flatten());
        cuts.extend(foot(edge.start, a, b).filter(|share| apart(edge.start, a + (b - a) * *share).0 <= 2.0 * SLACK));
    }
    cuts.sort_by(f64::total_cmp);
    let length = apart(a, b).0;
    let ends = cuts.clone().into_iter().skip(1);
    cuts.into_iter().zip(ends).map(move |(from, to)| {
        let middle = a + (b - a) * from.midpoint(to);
        let is_there = (to - from) * length > SLACK
            && polygon.coordinate_position(&middle) == side
            && distance(polygon, middle) > SLACK;
        (from, to, is_there)
    })
}

fn distance(polygon: &Polygon<f64>, point: Coord<f64>) -> f64 {
    let edges = rings(polygon).flat_map(LineString::lines);
    edges
        .map(|edge| to_line(point, edge.start, edge.end))
        .fold(f64::INFINITY, f64::min)
}

/// What of the line from `a` to `b` is in none of `holes`, as shares of its way, in order.
pub(super) fn outside(holes: &[Polygon<f64>], a: Coord<f64>, b: Coord<f64>) -> Vec<(f64, f64)> {
    let mut left = vec![(0.0, 1.0)];
    for hole in holes {
        for (from, to, _) in pieces(hole, a, b, CoordPos::Inside).filter(|(_, _, is_inside)| *is_inside) {
            let without = |(s, t): (f64, f64)| [(s, t.min(from)), (s.max(to), t)];
            left = left.into_iter().flat_map(without).filter(|(s, t)| t > s).collect();
        }
    }
    left
}

impl Ways {
    /// Anywhere.
    #[must_use]
    pub const fn free() -> Self {
        Self {
            outer: Vec::new(),
            holes: Vec::new(),
            corners: Vec::new(),
            sees: Vec::new(),
        }
    }

    /// Around the holes of `area`.
    #[must_use]
    pub fn around_holes(area: &Area) -> Self {
        Self::new(area, Vec::new())
    }

    /// Around the holes of `area`, and no farther than `room` meters outside of its outer edge.
    #[must_use]
    pub fn within(area: &Area, room: f64) -> Self {
        let outer = Polygon::new(area.polygon().exterior().clone(), Vec::new());
        let style = BufferStyle::new(room).line_join(LineJoin::Round(0.5));
        let wider = outer.buffer_with_style(style).orient(Direction::Default);
        Self::new(area, wider.0)
    }

    fn new(area: &Area, outer: Vec<Polygon<f64>>) -> Self {
        let outer: Vec<Fence> = outer.into_iter().filter_map(Fence::new).collect();
        let alone = |ring: &LineString<f64>| Fence::new(Polygon::new(ring.clone(), Vec::new()));
        let holes: Vec<Fence> = area.polygon().interiors().iter().filter_map(alone).collect();
        // The inside is on the left of each ring; at a corner to the right, a way may turn.
        let outward = outer.iter().flat_map(Fence::rings).flat_map(right_turns);
        let around = area.polygon().interiors().iter().flat_map(right_turns);
        let corners: Vec<Coord<f64>> = outward.chain(around).collect();
        let sees = corners.iter().map(|_| OnceLock::new()).collect();
        Self {
            outer,
            holes,
            corners,
            sees,
        }
    }

    /// Whether `point` is where one may be: in no hole.
    #[must_use]
    pub fn allows(&self, point: Coord<f64>) -> bool {
        !self.holes.iter().any(|hole| {
            hole.polygon.coordinate_position(&point) == CoordPos::Inside && distance(&hole.polygon, point) > SLACK
        })
    }

    /// Whether the straight line from `a` to `b` is such a way.
    pub(super) fn is_straight(&self, a: Coord<f64>, b: Coord<f64>) -> bool {
        let crosses_hole = |hole: &Fence| hole.may_meet(a, b) && hole.is_crossed(a, b, CoordPos::Inside);
        !self.holes.iter().any(crosses_hole)
            && !self.outer.iter().any(|outer| outer.is_crossed(a, b, CoordPos::Outside))
    }

    /// The shortest way from `from` to `to`, both included; `None` when there is none.
    #[must_use]
    pub fn shortest(&self, from: Coord<f64>, to: Coord<f64>) -> Option<Vec<Coord<f64>>> {
        if self.is_straight(from, to) {
            return Some(vec![from, to]);
        }
        if self.corners.is_empty() {
            return None;
        }
        // Corners by their number, then the two ends.
        let (first, last) = (self.corners.len(), self.corners.len() + 1);
        let at = |node: usize| match node {
            _ if node == first => from,
            _ if node == last => to,
            _ => self.corners.get(node).copied().unwrap_or(to),
        };
        let near_end: Vec<Option<u64>> = self
            .corners
            .iter()
            .map(|corner| self.is_straight(*corner, to).then(|| millimeters(*corner, to)))
            .collect();
        let next = |&node: &usize| -> Vec<(usize, u64)> {
            if node == first {
                return self.seen_from(from);
            }
            let mut next = self
                .sees
                .get(node)
                .map_or_else(Vec::new, |seen| seen.get_or_init(|| self.seen_from(at(node))).clone());
            next.extend(near_end.get(node).copied().flatten().map(|cost| (last, cost)));
            next
        };
        let (path, _) = astar(&first, next, |node| millimeters(at(*node), to), |node| *node == last)?;
        Some(path.into_iter().map(at).collect())
    }

    /// How long the shortest way is, meters.
    #[must_use]
    pub fn length(&self, from: Coord<f64>, to: Coord<f64>) -> Option<f64> {
        let way = self.shortest(from, to)?;
        Some(way.windows(2).map(|pair| apart(pair[0], pair[1]).0).sum())
    }

    fn seen_from(&self, point: Coord<f64>) -> Vec<(usize, u64)> {
        let others = self.corners.iter().enumerate().filter(|(_, corner)| **corner != point);
        others
            .filter(|(_, corner)| self.is_straight(point, **corner))
            .map(|(index, corner)| (index, millimeters(point, *corner)))
            .collect()
    }
}

/// Rounded down, so that no way is shorter than the straight one.
fn millimeters(a: Coord<f64>, b: Coord<f64>) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a distance within one site"
    )]
    let whole = (apart(a, b).0 * 1000.0) as u64;
    whole
}

fn right_turns(ring: &LineString<f64>) -> Vec<Coord<f64>> {
    let corners = ring.0.get(1..).unwrap_or_default();
    let count = corners.len();
    let corner = |index: usize| corners.get(index % count.max(1)).copied().unwrap_or_default();
    (0..count)
        .filter(|&index| {
            let (a, b, c) = (corner(index), corner(index + 1), corner(index + 2));
            cross(b - a, c - b) < 0.0
        })
        .map(|index| corner(index + 1))
        .collect()
}

fn cross(a: Coord<f64>, b: Coord<f64>) -> f64 {
    a.x * b.y - a.y * b.x
}

/// Where the line from `a` to `b` meets that from `c` to `d`, as shares of the way from `a`. For parallel lines: both ends of the other.
fn meeting(a: Coord<f64>, b: Coord<f64>, c: Coord<f64>, d: Coord<f64>) -> [Option<f64>; 2] {
    let (way, edge, apart) = (b - a, d - c, c - a);
    let turn = cross(way, edge);
    let inside = |share: f64| (share > 0.0 && share < 1.0).then_some(share);
    let length = way.x * way.x + way.y * way.y;
    if turn.abs() <= 1e-12 * length.max(1e-12) {
        let share = |to: Coord<f64>| (to.x * way.x + to.y * way.y) / length;
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

/// How far `point` is from the line from `a` to `b`, meters.
pub(super) fn to_line(point: Coord<f64>, a: Coord<f64>, b: Coord<f64>) -> f64 {
    apart(point, a + (b - a) * foot(point, a, b).unwrap_or_default()).0
}

/// The place on the line from `a` to `b` that is nearest to `point`, as a share of its way; `None` when the line has no length.
fn foot(point: Coord<f64>, a: Coord<f64>, b: Coord<f64>) -> Option<f64> {
    let (way, to) = (b - a, point - a);
    let length = way.x * way.x + way.y * way.y;
    (length > 0.0).then(|| ((to.x * way.x + to.y * way.y) / length).clamp(0.0, 1.0))
}
