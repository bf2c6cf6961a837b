//! Whether rings make a polygon; if not, which edges are at fault, and where.

use crate::at;
use ::geo::Coord;
use model::geo::Frame;
use rstar::{AABB, RTree, RTreeObject};
use std::fmt;

/// Plane rings, meters, not closed; the outer one first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rings(pub Vec<Vec<Coord>>);

impl Rings {
    #[must_use]
    pub fn square_meters(&self) -> f64 {
        let mut areas = self.0.iter().map(|ring| area(ring).abs());
        areas.next().unwrap_or_default() - areas.sum::<f64>()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingName(pub usize);

impl fmt::Display for RingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("the outer edge"),
            hole => write!(f, "hole {hole}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub ring: RingName,
    pub from: usize,
    pub to: usize,
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the edge of {} from corner {} to {}",
            self.ring.0, self.from, self.to
        )
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    #[error("{0} has fewer than 3 different corners; give at least 3")]
    TooFewCorners(RingName),
    #[error("{ring} crosses itself: the edge from corner {} to {} meets the edge from corner {} to {} at {at}; move or remove one of these corners", one.from, one.to, other.from, other.to)]
    CrossesItself {
        ring: RingName,
        one: Edge,
        other: Edge,
        at: String,
    },
    #[error("{ring} turns back on itself at corner {corner} ({at}); remove that corner")]
    TurnsBack { ring: RingName, corner: usize, at: String },
    #[error("{} and {} meet: the edge from corner {} to {} of the first crosses the edge from corner {} to {} of the other at {at}; draw them apart", one.ring, other.ring, one.from, one.to, other.from, other.to)]
    RingsCross { one: Edge, other: Edge, at: String },
    #[error("{ring} lies outside of the outer edge (at {at}); move or remove it")]
    HoleOutside { ring: RingName, at: String },
    #[error("{ring} lies inside of {around} (at {at}); remove one of them")]
    HoleInHole {
        ring: RingName,
        around: RingName,
        at: String,
    },
}

/// Square meters; positive where the ring runs counterclockwise.
#[must_use]
pub fn area(ring: &[Coord]) -> f64 {
    let next = ring.iter().skip(1).chain(ring.first());
    ring.iter().zip(next).map(|(a, b)| a.x * b.y - b.x * a.y).sum::<f64>() / 2.0
}

#[must_use]
pub fn contains(ring: &[Coord], point: Coord) -> bool {
    let next = ring.iter().skip(1).chain(ring.first());
    let crossings = ring.iter().zip(next).filter(|(a, b)| {
        (a.y > point.y) != (b.y > point.y) && point.x < (b.x - a.x) * (point.y - a.y) / (b.y - a.y) + a.x
    });
    crossings.count() % 2 == 1
}

struct Line {
    ring: usize,
    index: usize,
    count: usize,
    a: Coord,
    b: Coord,
}

impl Line {
    fn left(&self) -> f64 {
        self.a.x.min(self.b.x)
    }

    fn right(&self) -> f64 {
        self.a.x.max(self.b.x)
    }

    fn edge(&self) -> Edge {
        Edge {
            ring: RingName(self.ring),
            from: self.index + 1,
            to: (self.index + 1) % self.count + 1,
        }
    }

    fn boxed(&self, number: usize) -> Boxed {
        Boxed {
            number,
            from: [self.a.x, self.a.y],
            to: [self.b.x, self.b.y],
        }
    }

    fn is_next_to(&self, other: &Self) -> bool {
        let apart = self.index.abs_diff(other.index);
        self.ring == other.ring && (apart == 1 || apart + 1 == self.count)
    }
}

struct Boxed {
    number: usize,
    from: [f64; 2],
    to: [f64; 2],
}

impl RTreeObject for Boxed {
    type Envelope = AABB<[f64; 2]>;

    fn envelope(&self) -> Self::Envelope {
        AABB::from_corners(self.from, self.to)
    }
}

fn box_of(number: usize, ring: &[Coord]) -> Boxed {
    let (mut from, mut to) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for corner in ring {
        from = [from[0].min(corner.x), from[1].min(corner.y)];
        to = [to[0].max(corner.x), to[1].max(corner.y)];
    }
    Boxed { number, from, to }
}

#[must_use]
pub fn fault(rings: &Rings, frame: &Frame) -> Option<Fault> {
    let place = |point: Coord| at(super::position(frame, point));
    if let Some(short) = rings.0.iter().position(|ring| ring.len() < 3) {
        return Some(Fault::TooFewCorners(RingName(short)));
    }
    let mut lines: Vec<Line> = Vec::new();
    for (number, ring) in rings.0.iter().enumerate() {
        let count = ring.len();
        for (index, a) in ring.iter().enumerate() {
            let b = ring.get((index + 1) % count).copied().unwrap_or_default();
            let c = ring.get((index + 2) % count).copied().unwrap_or_default();
            let (u, v) = (b - *a, c - b);
            let (cross, dot) = (u.x * v.y - u.y * v.x, u.x * v.x + u.y * v.y);
            if dot < 0.0 && cross.abs() <= 1e-9 * u.x.hypot(u.y) * v.x.hypot(v.y) {
                return Some(Fault::TurnsBack {
                    ring: RingName(number),
                    corner: (index + 1) % count + 1,
                    at: place(b),
                });
            }
            lines.push(Line {
                ring: number,
                index,
                count,
                a: *a,
                b,
            });
        }
    }
    let boxes = lines.iter().enumerate().map(|(number, line)| line.boxed(number));
    let tree = RTree::bulk_load(boxes.collect());
    let mut found: Option<(&Line, &Line, Coord)> = None;
    for (number, line) in lines.iter().enumerate() {
        for near in tree.locate_in_envelope_intersecting(line.boxed(number).envelope()) {
            let Some(other) = lines.get(near.number).filter(|_| near.number > number) else {
                continue;
            };
            let (west, east) = if other.left() < line.left() {
                (other, line)
            } else {
                (line, other)
            };
            if let Some(point) = meet(west, east)
                && found.is_none_or(|(one, other, _)| order(west, east) < order(one, other))
            {
                found = Some((west, east, point));
            }
        }
        if found.is_some() {
            break;
        }
    }
    if let Some((one, other, point)) = found {
        let (one, other) = if (one.ring, one.index) < (other.ring, other.index) {
            (one, other)
        } else {
            (other, one)
        };
        let (one, other, at) = (one.edge(), other.edge(), place(point));
        return Some(if one.ring == other.ring {
            Fault::CrossesItself {
                ring: one.ring,
                one,
                other,
                at,
            }
        } else {
            Fault::RingsCross { one, other, at }
        });
    }
    let (outer, holes) = rings.0.split_first()?;
    let boxes = holes.iter().enumerate().map(|(number, hole)| box_of(number, hole));
    let tree = RTree::bulk_load(boxes.collect());
    for (number, hole) in holes.iter().enumerate() {
        let ring = RingName(number + 1);
        // A corner of a hole may lie on the outer edge, the middle of an edge may not.
        let (Some(a), Some(b)) = (hole.first(), hole.get(1)) else {
            continue;
        };
        let inner = (*a + *b) / 2.0;
        if !contains(outer, inner) {
            return Some(Fault::HoleOutside { ring, at: place(inner) });
        }
        let near = tree.locate_in_envelope_intersecting(AABB::from_point([inner.x, inner.y]));
        let is_around = |other: &usize| {
            let hole = holes.get(*other).filter(|_| *other != number);
            hole.is_some_and(|hole| contains(hole, inner))
        };
        let around = near.map(|hole| hole.number).filter(is_around).min();
        if let Some(around) = around {
            return Some(Fault::HoleInHole {
                ring,
                around: RingName(around + 1),
                at: place(inner),
            });
        }
    }
    None
}

fn order(one: &Line, other: &Line) -> ((usize, usize), (usize, usize)) {
    let (a, b) = ((one.ring, one.index), (other.ring, other.index));
    (a.min(b), a.max(b))
}

/// Where two edges meet that should not; two rings may touch in a corner.
fn meet(one: &Line, other: &Line) -> Option<Coord> {
    if one.a.y.max(one.b.y) < other.a.y.min(other.b.y)
        || other.a.y.max(other.b.y) < one.a.y.min(one.b.y)
        || one.is_next_to(other)
    {
        return None;
    }
    let side = |from: Coord, to: Coord, point: Coord| {
        (to.x - from.x) * (point.y - from.y) - (to.y - from.y) * (point.x - from.x)
    };
    let (a, b) = (side(one.a, one.b, other.a), side(one.a, one.b, other.b));
    let (c, d) = (side(other.a, other.b, one.a), side(other.a, other.b, one.b));
    if a * b > 0.0 || c * d > 0.0 {
        return None;
    }
    if a == 0.0 && b == 0.0 {
        // On one straight line: do they share more than an end?
        let within = |line: &Line, point: Coord| {
            let (low, high) = (line.left(), line.right());
            let (down, up) = (line.a.y.min(line.b.y), line.a.y.max(line.b.y));
            (low..=high).contains(&point.x) && (down..=up).contains(&point.y)
        };
        return [other.a, other.b]
            .into_iter()
            .find(|point| within(one, *point))
            .or_else(|| [one.a, one.b].into_iter().find(|point| within(other, *point)));
    }
    let touches = [a, b, c, d].contains(&0.0);
    if one.ring != other.ring && touches {
        return None;
    }
    let share = a / (a - b);
    Some(other.a + (other.b - other.a) * share)
}
