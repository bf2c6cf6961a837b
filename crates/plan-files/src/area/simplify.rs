//! Fewer corners, and never more room.
//!
//! Each ring has the allowed side on its left. Two steps take a corner away, and each cuts a triangle off what is
//! allowed, first where the edge has moved least with it and all cuts before:
//! * A corner that sticks out into the forbidden side is cut off: a, b, c become a, c.
//! * An edge that sticks into the allowed side is moved: of a, b, c, d the sides a–b and d–c are drawn on until they
//!   meet in p, and a, p, d remain.
//!
//! A triangle that has another corner in it, or that another edge crosses, stays: so rings stay simple and apart. So
//! does an edge whose sides meet far away: almost parallel ones would move it by kilometers.

use super::valid::{Rings, area, contains};
use ::geo::Coord;
use rstar::{AABB, RTree, RTreeObject};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// In lengths of the edge that is moved.
const FARTHEST_MEETING: f64 = 3.0;

#[derive(Clone, Copy, Debug)]
struct Corner {
    at: Coord,
    ring: usize,
    before: usize,
    next: usize,
    /// Changes to it and its neighbors; a cut planned before a change is void.
    changed: u32,
    /// How far the edge to the next corner may be from what it stands for, meters.
    off: f64,
    is_there: bool,
}

/// Triangle to cut off; how far the edge has moved with it, in micrometers, comes first, so that cuts are ordered by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cut {
    off: u64,
    corner: usize,
    changed: u32,
}

#[derive(Clone, Copy, Debug)]
struct Triangle {
    corners: [Coord; 3],
    /// Replaces two corners.
    meet: Option<Coord>,
    /// Of the new edges, meters.
    off: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Side {
    corner: usize,
    from: Coord,
    to: Coord,
}

impl RTreeObject for Side {
    type Envelope = AABB<[f64; 2]>;

    fn envelope(&self) -> Self::Envelope {
        AABB::from_corners([self.from.x, self.from.y], [self.to.x, self.to.y])
    }
}

struct Circle {
    corners: Vec<Corner>,
    counts: Vec<usize>,
    cuts: BinaryHeap<Reverse<Cut>>,
    sides: RTree<Side>,
}

/// Takes corners away until `holds` for the number of corners of each ring; returns the largest move of an edge,
/// meters. `inside`: the inside of the outer ring is allowed. Errors: the number of corners that remained.
pub fn fit(rings: &mut Rings, inside: bool, holds: impl Fn(&[usize]) -> bool) -> Result<f64, usize> {
    let counts: Vec<usize> = rings.0.iter().map(Vec::len).collect();
    if holds(&counts) {
        return Ok(0.0);
    }
    for (number, ring) in rings.0.iter_mut().enumerate() {
        let counterclockwise = (number == 0) == inside;
        if (area(ring) > 0.0) != counterclockwise {
            ring.reverse();
        }
    }
    let before = rings.clone();
    let mut circle = Circle::of(rings);
    while !holds(&circle.counts) {
        let Some(Reverse(cut)) = circle.cuts.pop() else {
            return Err(circle.counts.iter().sum());
        };
        circle.apply(cut);
    }
    *rings = circle.rings();
    Ok(moved(&before, rings))
}

impl Circle {
    fn of(rings: &Rings) -> Self {
        let mut corners = Vec::new();
        for (ring, points) in rings.0.iter().enumerate() {
            let (first, count) = (corners.len(), points.len());
            for (index, at) in points.iter().enumerate() {
                corners.push(Corner {
                    at: *at,
                    ring,
                    before: first + (index + count - 1) % count,
                    next: first + (index + 1) % count,
                    changed: 0,
                    off: 0.0,
                    is_there: true,
                });
            }
        }
        let mut circle = Self {
            counts: rings.0.iter().map(Vec::len).collect(),
            cuts: BinaryHeap::new(),
            sides: RTree::new(),
            corners,
        };
        circle.sides = RTree::bulk_load((0..circle.corners.len()).map(|corner| circle.side(corner)).collect());
        for corner in 0..circle.corners.len() {
            circle.consider(corner);
        }
        circle
    }

    fn corner(&self, index: usize) -> Corner {
        const NONE: Corner = Corner {
            at: Coord { x: 0.0, y: 0.0 },
            ring: 0,
            before: 0,
            next: 0,
            changed: 0,
            off: 0.0,
            is_there: false,
        };
        self.corners.get(index).copied().unwrap_or(NONE)
    }

    fn side(&self, index: usize) -> Side {
        let corner = self.corner(index);
        Side {
            corner: index,
            from: corner.at,
            to: self.corner(corner.next).at,
        }
    }

    fn around(&self, index: usize) -> [Coord; 4] {
        let b = self.corner(index);
        let c = self.corner(b.next);
        [self.corner(b.before).at, b.at, c.at, self.corner(c.next).at]
    }

    fn triangle(&self, index: usize) -> Option<Triangle> {
        let corner = self.corner(index);
        let count = self.counts.get(corner.ring).copied().unwrap_or_default();
        let [a, b, c, d] = self.around(index);
        if count <= 3 {
            return None;
        }
        let off = self.corner(corner.before).off.max(corner.off);
        if cross(a, b, c) >= 0.0 {
            return Some(Triangle {
                corners: [a, b, c],
                meet: None,
                off: off + distance(&[a, c], b),
            });
        }
        if count > 4 && cross(b, c, d) < 0.0 {
            let meet = meet((a, b), (d, c))?;
            let far = distance(&[b, c], meet);
            let edge = c - b;
            return (far <= FARTHEST_MEETING * edge.x.hypot(edge.y)).then(|| Triangle {
                corners: [b, meet, c],
                meet: Some(meet),
                off: off.max(self.corner(corner.next).off) + far,
            });
        }
        None
    }

    fn consider(&mut self, index: usize) {
        let Some(Triangle { off, .. }) = self.triangle(index) else {
            return;
        };
        let off = (off * 1e6).min(1e18);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
        let off = off as u64;
        self.cuts.push(Reverse(Cut {
            off,
            corner: index,
            changed: self.corner(index).changed,
        }));
    }

    fn apply(&mut self, cut: Cut) {
        let corner = self.corner(cut.corner);
        if !corner.is_there || corner.changed != cut.changed {
            return;
        }
        let Some(Triangle { corners, meet, off }) = self.triangle(cut.corner) else {
            return;
        };
        let mine = [corner.before, cut.corner, corner.next, self.corner(corner.next).next];
        if !self.is_free(&corners, meet.is_some(), &mine) {
            return;
        }
        let old = [corner.before, cut.corner, corner.next].map(|index| self.side(index));
        let old = if meet.is_some() { &old[..] } else { &old[..2] };
        for side in old {
            self.sides.remove(side);
        }
        let gone = if let Some(meet) = meet {
            if let Some(corner) = self.corners.get_mut(cut.corner) {
                corner.at = meet;
            }
            corner.next
        } else {
            cut.corner
        };
        let (before, next) = (self.corner(gone).before, self.corner(gone).next);
        if let Some(corner) = self.corners.get_mut(gone) {
            corner.is_there = false;
        }
        if let Some(corner) = self.corners.get_mut(before) {
            corner.next = next;
            corner.off = off;
        }
        if let Some(corner) = self.corners.get_mut(next) {
            corner.before = before;
        }
        if let Some(count) = self.counts.get_mut(corner.ring) {
            *count -= 1;
        }
        self.sides.insert(self.side(before));
        if meet.is_some() {
            let first = self.corner(before).before;
            if let Some(corner) = self.corners.get_mut(first) {
                corner.off = off;
            }
            self.sides.insert(self.side(first));
        }
        // A cut depends on one corner before and two after.
        let mut changed = next;
        for _ in 0..5 {
            if let Some(corner) = self.corners.get_mut(changed) {
                corner.changed += 1;
            }
            self.consider(changed);
            changed = self.corner(changed).before;
        }
    }

    fn is_free(&self, triangle: &[Coord; 3], crossable: bool, mine: &[usize; 4]) -> bool {
        let [a, b, c] = *triangle;
        let low = [a.x.min(b.x).min(c.x), a.y.min(b.y).min(c.y)];
        let high = [a.x.max(b.x).max(c.x), a.y.max(b.y).max(c.y)];
        let inside = |p: Coord| {
            let turns = [cross(a, b, p), cross(b, c, p), cross(c, a, p)];
            turns.iter().all(|turn| *turn >= 0.0) || turns.iter().all(|turn| *turn <= 0.0)
        };
        let mut near = self
            .sides
            .locate_in_envelope_intersecting(AABB::from_corners(low, high));
        !near.any(|side| {
            let (p, q) = (side.from, side.to);
            let is_mine = mine.contains(&side.corner);
            if !is_mine && inside(p) {
                return true;
            }
            let apart = !is_mine && !mine.contains(&self.corner(side.corner).next);
            crossable && apart && (cross_each_other((p, q), (a, b)) || cross_each_other((p, q), (b, c)))
        })
    }

    fn rings(&self) -> Rings {
        let mut rings = vec![Vec::new(); self.counts.len()];
        let mut seen = vec![false; self.corners.len()];
        for (index, corner) in self.corners.iter().enumerate() {
            let mut at = index;
            while self.corner(at).is_there && seen.get(at) == Some(&false) {
                if let Some(seen) = seen.get_mut(at) {
                    *seen = true;
                }
                if let Some(ring) = rings.get_mut(corner.ring) {
                    ring.push(self.corner(at).at);
                }
                at = self.corner(at).next;
            }
        }
        Rings(rings)
    }
}

/// Meters: how far a forbidden old corner is from the new edges, and a new one from the old.
pub(super) fn moved(before: &Rings, after: &Rings) -> f64 {
    let of = |(before, after): (&Vec<Coord>, &Vec<Coord>)| {
        let allowed_inside = area(after) > 0.0;
        let lost = before
            .iter()
            .filter(|point| contains(after, **point) != allowed_inside)
            .map(|point| distance(after, *point));
        let new = after.iter().map(|point| distance(before, *point));
        lost.chain(new).fold(0.0, f64::max)
    };
    before.0.iter().zip(&after.0).map(of).fold(0.0, f64::max)
}

pub(super) fn distance(ring: &[Coord], point: Coord) -> f64 {
    let next = ring.iter().skip(1).chain(ring.first());
    let to = |(a, b): (&Coord, &Coord)| {
        let (along, from) = (*b - *a, point - *a);
        let length = along.x * along.x + along.y * along.y;
        let share = if length > 0.0 {
            ((from.x * along.x + from.y * along.y) / length).clamp(0.0, 1.0)
        } else {
            0.0
        };
        (from.x - along.x * share).hypot(from.y - along.y * share)
    };
    ring.iter().zip(next).map(to).fold(f64::INFINITY, f64::min)
}

/// Where the lines a–b and d–c meet beyond b and c.
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

/// Twice the area of the triangle, positive when it turns to the left.
fn cross(a: Coord, b: Coord, c: Coord) -> f64 {
    (b.x - a.x) * (c.y - b.y) - (b.y - a.y) * (c.x - b.x)
}
