//! What cannot be seen from a place, for all directions at once.
//!
//! Each of the parts of all directions keeps the distance of the nearest edge that fills it. What lies behind that edge is hidden; anything
//! else may be seen or not, and has to be examined.

#[cfg(test)]
use crate::planning::mission::boundary::steps;
use crate::planning::mission::boundary::{Boundary, Edge, SLACK, cross, dot};
use ::geo::Coord;
use rstar::{AABB, ParentNode, RTreeNode};
use std::sync::LazyLock;

/// Parts of a quarter of all directions.
const QUARTER: usize = 64;

const PARTS: usize = 4 * QUARTER;

const PARTS_AROUND: f64 = 256.0;

/// An edge fills a part when it reaches this far beyond it on both sides.
const PART_EPSILON: f64 = 1e-6;

/// An edge hides nothing from a place this near to its line, and nothing this little behind it, meters.
const HIDING_MARGIN_M: f64 = 4.0 * SLACK;

/// Unit vectors to where each part begins, and to the first once more.
static BEGINS: LazyLock<[Coord<f64>; PARTS + 1]> = LazyLock::new(|| {
    std::array::from_fn(|number| {
        #[expect(clippy::cast_precision_loss, reason = "they are few")]
        let share = (number % QUARTER) as f64 / QUARTER as f64;
        let (along, aside) = (1.0 - share, share);
        let length = along.hypot(aside);
        let (x, y) = match number / QUARTER % 4 {
            0 => (along, aside),
            1 => (-aside, along),
            2 => (-along, -aside),
            _ => (aside, -along),
        };
        Coord {
            x: x / length,
            y: y / length,
        }
    })
});

#[derive(Clone, Debug)]
pub(in crate::planning::mission) struct Horizon {
    from: Coord<f64>,
    /// Visible distance by part, meters.
    far: [f64; PARTS],
}

/// Counterclockwise from the east; the fraction is the place within the part.
fn part(direction: Coord<f64>) -> f64 {
    let Coord { x, y } = direction;
    let all = x.abs() + y.abs();
    if all <= 0.0 {
        return 0.0;
    }
    let quarters = match (x >= 0.0, y >= 0.0) {
        (true, true) => y / all,
        (false, true) => 1.0 - x / all,
        (false, false) => 2.0 - y / all,
        (true, false) => 3.0 + x / all,
    };
    quarters * (0.25 * PARTS_AROUND)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "parts are few, and not below 0"
)]
const fn whole(part: f64) -> usize {
    part as usize
}

/// The least whole number that is not below.
fn whole_above(part: f64) -> usize {
    let below = whole(part);
    #[expect(clippy::cast_precision_loss, reason = "parts are few")]
    let is_whole = below as f64 >= part;
    if is_whole { below } else { below + 1 }
}

impl Horizon {
    /// Edges behind others are not examined.
    pub fn new<'a>(from: Coord<f64>, boundaries: impl Iterator<Item = &'a Boundary>) -> Self {
        let mut horizon = Self {
            from,
            far: [f64::INFINITY; PARTS],
        };
        for boundary in boundaries {
            horizon.add_all(boundary.edges().root());
        }
        horizon
    }

    /// About the nearest first.
    fn add_all(&mut self, node: &ParentNode<Edge>) {
        let from = [self.from.x, self.from.y];
        let mut parents: Vec<(f64, &ParentNode<Edge>)> = Vec::new();
        for child in node.children() {
            match child {
                RTreeNode::Leaf(edge) => self.add(edge),
                RTreeNode::Parent(parent) => parents.push((parent.envelope().distance_2(&from), parent)),
            }
        }
        parents.sort_unstable_by(|(one, _), (other, _)| one.total_cmp(other));
        for (squared, parent) in parents {
            if !self.hides_box(&parent.envelope(), squared) {
                self.add_all(parent);
            }
        }
    }

    fn add(&mut self, edge: &Edge) {
        #[cfg(test)]
        steps::add();
        let (start, end) = (edge.start - self.from, edge.end - self.from);
        let along = end - start;
        // Twice the area of the triangle; below 0 for an edge that is seen from behind.
        let area = cross(start, end);
        if area <= 0.0 || area * area <= HIDING_MARGIN_M * HIDING_MARGIN_M * dot(along, along) {
            return;
        }
        let (begin, mut last) = (part(start), part(end));
        // From the last part on into the first.
        if begin - last > 0.5 * PARTS_AROUND {
            last += PARTS_AROUND;
        }
        let (first, end) = (whole_above(begin + PART_EPSILON), whole((last - PART_EPSILON).max(0.0)));
        if first >= end {
            return;
        }
        let begins = &*BEGINS;
        let reach = |number: usize| {
            begins
                .get(number % PARTS)
                .map_or(f64::INFINITY, |ray| area / cross(*ray, along))
        };
        let mut before = reach(first);
        for number in first..end {
            let after = reach(number + 1);
            if let Some(far) = self.far.get_mut(number % PARTS) {
                *far = far.min(before.max(after));
            }
            before = after;
        }
    }

    /// Whether all of a box is surely hidden; `squared`: distance of its nearest place, squared.
    fn hides_box(&self, bounds: &AABB<[f64; 2]>, squared: f64) -> bool {
        if squared <= 0.0 {
            return false;
        }
        let ([west, south], [east, north]) = (bounds.lower(), bounds.upper());
        let middle = Coord {
            x: west.midpoint(east),
            y: south.midpoint(north),
        };
        let middle = part(middle - self.from);
        let (mut first, mut last) = (middle, middle);
        for (x, y) in [(west, south), (west, north), (east, south), (east, north)] {
            let mut corner = part(Coord { x, y } - self.from);
            if corner - middle > 0.5 * PARTS_AROUND {
                corner -= PARTS_AROUND;
            } else if middle - corner > 0.5 * PARTS_AROUND {
                corner += PARTS_AROUND;
            }
            (first, last) = (first.min(corner), last.max(corner));
        }
        let (first, last) = (whole(first + PARTS_AROUND), whole(last + PARTS_AROUND));
        let is_hidden = |number: usize| {
            let far = self.far.get(number % PARTS).copied().unwrap_or(f64::INFINITY) + HIDING_MARGIN_M;
            squared > far * far
        };
        (first..=last).all(is_hidden)
    }

    /// Whether `to` is surely hidden.
    pub fn hides(&self, to: Coord<f64>) -> bool {
        let direction = to - self.from;
        let far = self.far.get(whole(part(direction)) % PARTS);
        let far = far.copied().unwrap_or(f64::INFINITY) + HIDING_MARGIN_M;
        dot(direction, direction) > far * far
    }
}
