//! Where a vehicle may be, as plain shapes.
//!
//! Owns: [`Tube`] and [`Volume`], and whether two are clear of each other. Must not: know why.
//!
//! One shape for all: a point, a segment or a triangle over ground, widened by a radius, between two altitudes. A point makes a column, a
//! segment a level corridor, a triangle all straight ways from a segment to one point. The distance of two is that of their cores less both
//! radii, exactly.

use super::Rules;
use model::geo::Local;

/// East and north, meters.
type Point = [f64; 2];

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tube {
    core: [Point; 3],
    /// Points of the core that count: 1 to 3.
    count: u8,
    radius: f64,
    floor: f64,
    ceiling: f64,
    ground: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Volume {
    Everywhere,
    Tubes(Vec<Tube>),
}

impl Tube {
    /// All points within `radius`, meters over ground, of the straight lines between these places, from the lowest less `below` to the
    /// highest plus `above`. NaN makes a tube that is clear of nothing.
    pub fn around(places: &[Local], radius: f64, below: f64, above: f64) -> Self {
        let place = |i: usize| places.get(i).or(places.last());
        let point = |i: usize| place(i).map_or([f64::NAN; 2], |p| [p.east, p.north]);
        let floor = places.iter().map(|p| p.up).fold(f64::INFINITY, f64::min);
        let ceiling = places.iter().map(|p| p.up).fold(f64::NEG_INFINITY, f64::max);
        Self {
            core: [point(0), point(1), point(2)],
            count: u8::try_from(places.len().clamp(1, 3)).unwrap_or(3),
            radius,
            floor: floor - below,
            ceiling: ceiling + above,
            ground: false,
        }
    }

    /// With its core in another frame.
    pub(crate) fn placed(self, place: impl Fn([f64; 2]) -> [f64; 2]) -> Self {
        Self {
            core: self.core.map(place),
            ..self
        }
    }

    pub const fn on_the_ground(self) -> Self {
        Self { ground: true, ..self }
    }

    /// Down to `floor` and up to `ceiling` at least, meters above mean sea level.
    pub fn spanning(self, floor: f64, ceiling: f64) -> Self {
        Self {
            floor: self.floor.min(floor),
            ceiling: self.ceiling.max(ceiling),
            ..self
        }
    }

    /// Whether two vehicles, one anywhere in each, keep the separation.
    pub fn clear_of(&self, other: &Self, rules: &Rules) -> bool {
        if !self.is_finite() || !other.is_finite() {
            return false;
        }
        self.off(other, rules) >= rules.apart(self.ground || other.ground)
    }

    fn off(&self, other: &Self, rules: &Rules) -> f64 {
        let gap = f64::max(self.floor - other.ceiling, other.floor - self.ceiling);
        if gap >= rules.separation.vertical.0 {
            return f64::INFINITY;
        }
        distance(self.points(), other.points()) - (self.radius + other.radius)
    }

    fn points(&self) -> &[Point] {
        &self.core[..usize::from(self.count)]
    }

    pub(super) fn bounds(&self, over_ground: f64, in_height: f64) -> ([f64; 3], [f64; 3]) {
        let part = |i: usize| self.points().iter().map(move |p| p[i]);
        let low = |i| part(i).fold(f64::INFINITY, f64::min) - self.radius - over_ground;
        let high = |i| part(i).fold(f64::NEG_INFINITY, f64::max) + self.radius + over_ground;
        (
            [low(0), low(1), self.floor - in_height],
            [high(0), high(1), self.ceiling + in_height],
        )
    }

    pub(crate) fn core(&self) -> &[Point] {
        self.points()
    }

    /// Reach over ground beyond its core, meters.
    pub(crate) const fn radius(&self) -> f64 {
        self.radius
    }

    /// Meters above mean sea level.
    pub(crate) const fn heights(&self) -> (f64, f64) {
        (self.floor, self.ceiling)
    }

    pub(crate) const fn is_on_the_ground(&self) -> bool {
        self.ground
    }

    pub(crate) fn is_finite(&self) -> bool {
        let numbers = [self.radius, self.floor, self.ceiling];
        self.points().iter().flatten().chain(&numbers).all(|n| n.is_finite())
    }
}

impl Volume {
    /// With the cores of its tubes in another frame.
    pub(crate) fn placed(self, place: impl Fn([f64; 2]) -> [f64; 2]) -> Self {
        match self {
            Self::Everywhere => Self::Everywhere,
            Self::Tubes(tubes) => Self::Tubes(tubes.into_iter().map(|tube| tube.placed(&place)).collect()),
        }
    }

    /// Whether two vehicles, one anywhere in each, keep the separation.
    pub fn clear_of(&self, other: &Self, rules: &Rules) -> bool {
        match (self, other) {
            (Self::Tubes(own), Self::Tubes(others)) => own
                .iter()
                .all(|one| others.iter().all(|other| one.clear_of(other, rules))),
            (Self::Everywhere, other) | (other, Self::Everywhere) => *other == Self::Tubes(Vec::new()),
        }
    }

    /// Distance over ground, meters, of parts that altitude does not separate; negative: they overlap.
    pub(super) fn off(&self, other: &Self, rules: &Rules) -> f64 {
        let (Self::Tubes(own), Self::Tubes(others)) = (self, other) else {
            return f64::NEG_INFINITY;
        };
        let pairs = own.iter().flat_map(|one| others.iter().map(move |other| (one, other)));
        let off = pairs.map(|(one, other)| one.off(other, rules));
        off.fold(f64::INFINITY, f64::min)
    }

    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Tubes(mut own), Self::Tubes(others)) => {
                own.extend(others);
                Self::Tubes(own)
            }
            (Self::Everywhere, _) | (_, Self::Everywhere) => Self::Everywhere,
        }
    }
}

/// Least distance of two cores, meters: 0 where they touch.
fn distance(one: &[Point], other: &[Point]) -> f64 {
    if other.iter().any(|p| inside(*p, one)) || one.iter().any(|p| inside(*p, other)) {
        return 0.0;
    }
    let mut least = f64::INFINITY;
    for a in edges(one) {
        for b in edges(other) {
            least = least.min(segments(a, b));
        }
    }
    least
}

fn edges(core: &[Point]) -> impl Iterator<Item = (Point, Point)> {
    let count = if core.len() == 3 { 3 } else { 1 };
    (0..count).map(move |i| (core[i], core[(i + 1) % core.len()]))
}

/// Twice the area of the triangle, positive for a left turn.
fn turn(a: Point, b: Point, c: Point) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

fn inside(point: Point, core: &[Point]) -> bool {
    let [a, b, c] = core else { return false };
    let turns = [turn(*a, *b, point), turn(*b, *c, point), turn(*c, *a, point)];
    // A triangle without an area has no inside; its edges are measured.
    turn(*a, *b, *c) != 0.0 && (turns.iter().all(|t| *t >= 0.0) || turns.iter().all(|t| *t <= 0.0))
}

fn segments((a, b): (Point, Point), (c, d): (Point, Point)) -> f64 {
    let cross = |p, q, r, s| turn(p, q, r) * turn(p, q, s) < 0.0;
    if cross(a, b, c, d) && cross(c, d, a, b) {
        return 0.0;
    }
    to_segment(a, c, d)
        .min(to_segment(b, c, d))
        .min(to_segment(c, a, b))
        .min(to_segment(d, a, b))
}

fn to_segment(p: Point, a: Point, b: Point) -> f64 {
    let along = [b[0] - a[0], b[1] - a[1]];
    let length = along[0] * along[0] + along[1] * along[1];
    let share = if length > 0.0 {
        (((p[0] - a[0]) * along[0] + (p[1] - a[1]) * along[1]) / length).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (p[0] - a[0] - share * along[0]).hypot(p[1] - a[1] - share * along[1])
}

#[cfg(test)]
mod tests;
