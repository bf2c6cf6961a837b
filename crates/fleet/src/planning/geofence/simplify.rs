//! Fewer vertices, and never more room.
//!
//! Each ring has the allowed places on its left. Two steps remove a vertex, and each cuts a triangle off those places:
//!
//! * A corner that sticks out into the forbidden side is cut off: a, b, c become a, c.
//! * An edge that sticks into the allowed side is moved inward: for a, b, c, d, the sides a–b and d–c are extended until they meet in p,
//!   and a, p, d remain.
//!
//! The smallest triangle goes first (as Visvalingam and Whyatt do, who cut on both sides). A triangle with home or another vertex of its
//! ring in it stays, so rings stay simple and home stays inside.

use super::HOME_MARGIN;
use super::shape::depth_of_origin;
use ::geo::Coord;
use model::rules::Side;

pub const MAX_EDGE_MOVE_M: f64 = 20.0;

/// A closed line with the allowed places on its left.
#[derive(Clone, Debug)]
pub struct Ring {
    pub side: Side,
    /// Counterclockwise where the inside is allowed, else clockwise; not closed.
    pub points: Vec<Coord>,
}

impl Ring {
    /// Orders the points so that the allowed side is on the left.
    pub fn new(side: Side, mut points: Vec<Coord>) -> Self {
        let counterclockwise = doubled_area(&points) > 0.0;
        if counterclockwise != (side == Side::Inside) {
            points.reverse();
        }
        Self { side, points }
    }

    /// Distance of a point on the allowed side; negative: on the other.
    pub fn allowed(&self, point: Coord) -> f64 {
        let depth = depth_in(&self.points, point);
        match self.side {
            Side::Inside => depth,
            Side::Outside => -depth,
        }
    }
}

/// A removable vertex: its triangle, and what replaces its two inner points.
struct Cut {
    ring: usize,
    at: usize,
    area: f64,
    triangle: [Coord; 3],
    /// `None`: the vertex goes; else it and the next one become this.
    meet: Option<Coord>,
}

/// Removes vertices until `holds` accepts the vertex count of each ring. Returns the largest move of an edge, meters. Another home within
/// `same` has the same result.
///
/// # Errors
/// The number of vertices left, if that is too many.
pub fn fit(rings: &mut [Ring], home: Coord, same: &mut f64, holds: impl Fn(&[usize]) -> bool) -> Result<f64, usize> {
    let before = rings.to_vec();
    let counts = |rings: &[Ring]| rings.iter().map(|ring| ring.points.len()).collect::<Vec<_>>();
    while !holds(&counts(rings)) {
        let mut cuts: Vec<Cut> = (0..rings.len()).flat_map(|ring| cuts(rings, ring)).collect();
        cuts.sort_by(|one, other| one.area.total_cmp(&other.area));
        let Some(cut) = cuts.into_iter().find(|cut| is_free(rings, cut, home, same)) else {
            return Err(counts(rings).iter().sum());
        };
        let Some(ring) = rings.get_mut(cut.ring) else { break };
        let n = ring.points.len();
        match cut.meet {
            None => drop(ring.points.remove(cut.at)),
            Some(meet) => {
                if let Some(point) = ring.points.get_mut(cut.at) {
                    *point = meet;
                }
                ring.points.remove((cut.at + 1) % n);
            }
        }
    }
    let lost = lost(&before, rings);
    if lost > MAX_EDGE_MOVE_M {
        return Err(counts(rings).iter().sum());
    }
    Ok(lost)
}

fn lost(before: &[Ring], after: &[Ring]) -> f64 {
    let of = |(before, after): (&Ring, &Ring)| {
        let kept_off = |&point: &Coord| (-after.allowed(point)).max(0.0);
        before.points.iter().map(kept_off).fold(0.0, f64::max)
    };
    before.iter().zip(after).map(of).fold(0.0, f64::max)
}

fn cuts(rings: &[Ring], index: usize) -> Vec<Cut> {
    let points = rings.get(index).map_or(&[][..], |ring| &ring.points);
    let n = points.len();
    if n <= 3 {
        return Vec::new();
    }
    let point = |i: usize| points.get(i % n).copied().unwrap_or_default();
    let mut found = Vec::new();
    for at in 0..n {
        let (a, b, c, d) = (point(at + n - 1), point(at), point(at + 1), point(at + 2));
        let turn = cross(a, b, c);
        if turn >= 0.0 {
            // A corner of the allowed side, or a vertex on a straight line.
            if height(b, a, c) <= MAX_EDGE_MOVE_M {
                found.push(Cut {
                    ring: index,
                    at,
                    area: turn / 2.0,
                    triangle: [a, b, c],
                    meet: None,
                });
            }
        } else if n > 4
            && cross(b, c, d) < 0.0
            && let Some(meet) = meet((a, b), (d, c))
            && height(meet, b, c) <= MAX_EDGE_MOVE_M
        {
            found.push(Cut {
                ring: index,
                at,
                area: cross(b, c, meet).abs() / 2.0,
                triangle: [b, meet, c],
                meet: Some(meet),
            });
        }
    }
    found
}

fn is_free(rings: &[Ring], cut: &Cut, home: Coord, same: &mut f64) -> bool {
    let Some(ring) = rings.get(cut.ring) else { return false };
    let [a, b, c] = cut.triangle;
    let inside = |p: Coord| {
        let turns = [cross(a, b, p), cross(b, c, p), cross(c, a, p)];
        turns.iter().all(|&turn| turn >= 0.0) || turns.iter().all(|&turn| turn <= 0.0)
    };
    let is_other = |p: Coord| p != a && p != b && p != c;
    if ring.points.iter().any(|&p| is_other(p) && inside(p)) {
        return false;
    }
    // An edge that crosses both new sides has no end in the triangle.
    if let Some(meet) = cut.meet {
        let next = ring.points.iter().skip(1).chain(ring.points.first());
        let crosses = ring.points.iter().zip(next).any(|(&p, &q)| {
            let apart = is_other(p) && is_other(q);
            apart && (cross_each_other((p, q), (a, meet)) || cross_each_other((p, q), (meet, c)))
        });
        if crosses {
            return false;
        }
    }
    let left = -depth_in(&cut.triangle, home) - HOME_MARGIN;
    *same = same.min(left.abs());
    left > 0.0
}

/// Where the lines through both pairs meet, beyond the second point of each.
fn meet((a, b): (Coord, Coord), (d, c): (Coord, Coord)) -> Option<Coord> {
    let (u, v) = (b - a, c - d);
    let denominator = u.x * v.y - u.y * v.x;
    if denominator.abs() <= 1e-9 * u.x.hypot(u.y) * v.x.hypot(v.y) {
        return None;
    }
    let between = c - b;
    let along_u = (between.x * v.y - between.y * v.x) / denominator;
    let along_v = (between.x * u.y - between.y * u.x) / denominator;
    (along_u > 0.0 && along_v > 0.0).then(|| b + u * along_u)
}

fn cross_each_other((p, q): (Coord, Coord), (a, b): (Coord, Coord)) -> bool {
    let sides = |a, b, p, q| cross(a, b, p) * cross(a, b, q) <= 0.0;
    sides(a, b, p, q) && sides(p, q, a, b)
}

/// Twice the area of the triangle, positive for a left turn.
fn cross(a: Coord, b: Coord, c: Coord) -> f64 {
    (b.x - a.x) * (c.y - b.y) - (b.y - a.y) * (c.x - b.x)
}

fn height(point: Coord, a: Coord, b: Coord) -> f64 {
    cross(a, b, point).abs() / (b.x - a.x).hypot(b.y - a.y).max(1e-9)
}

fn doubled_area(points: &[Coord]) -> f64 {
    let next = points.iter().skip(1).chain(points.first());
    points.iter().zip(next).map(|(a, b)| a.x * b.y - b.x * a.y).sum()
}

fn depth_in(ring: &[Coord], point: Coord) -> f64 {
    let around: Vec<(f64, f64)> = ring.iter().map(|p| (p.x - point.x, p.y - point.y)).collect();
    depth_of_origin(&around)
}
