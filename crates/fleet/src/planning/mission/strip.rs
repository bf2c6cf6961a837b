//! One strip of a survey, and what is flown to cover its part of the area.
//!
//! A point in a strip is within half of its width from the middle, so flying the middle beside it covers it. Only a hole prevents that;
//! then the hole has an edge between the middle and the point, nearer to the point than the middle. That edge is flown.

use super::area::{Area, apart};
use super::boundary::Boundary;
use ::geo::{BoundingRect, Coord, LineString};

/// Shorter runs are not flown.
const MIN_RUN_M: f64 = 0.01;

/// An edge this near to a strip's border lies on it but for the arithmetic.
const BORDER_EPSILON_M: f64 = 1e-6;

#[derive(Clone, Copy, Debug)]
pub(super) struct Strip {
    pub from: Coord<f64>,
    pub along: Coord<f64>,
    pub length: f64,
    /// Half of its width, meters.
    pub half: f64,
    pub number: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Run {
    /// At least two points. A closed one ends where it begins.
    pub path: Vec<Coord<f64>>,
    /// `None` for the edge of a hole.
    pub strip: Option<usize>,
}

impl Run {
    /// A closed run may be entered anywhere.
    pub fn is_closed(&self) -> bool {
        self.path.len() > 3 && self.path.first() == self.path.last()
    }
}

impl Strip {
    const fn across(&self) -> Coord<f64> {
        Coord {
            x: -self.along.y,
            y: self.along.x,
        }
    }

    /// Along and across, meters.
    fn inside(&self, point: Coord<f64>) -> (f64, f64) {
        let (to, across) = (point - self.from, self.across());
        (
            to.x * self.along.x + to.y * self.along.y,
            to.x * across.x + to.y * across.y,
        )
    }

    pub(super) fn at(&self, u: f64, v: f64) -> Coord<f64> {
        self.from + self.along * u + self.across() * v
    }

    /// Meters.
    #[cfg(test)]
    pub fn far_along(&self, point: Coord<f64>) -> f64 {
        self.inside(point).0
    }

    /// The part of an edge in the strip, as shares of its way.
    fn share_of(&self, (from, to): ((f64, f64), (f64, f64))) -> Option<(f64, f64)> {
        let within_half = within(
            Some((0.0, 1.0)),
            from.1,
            to.1,
            BORDER_EPSILON_M - self.half,
            self.half - BORDER_EPSILON_M,
        );
        within(within_half, from.0, to.0, 0.0, self.length)
    }

    /// Spans along the strip in which some of it is on the allowed side of `outline`.
    ///
    /// Beside an edge in the strip lies an allowed place. Between edges the whole width is allowed or is not, which changes where the
    /// middle crosses an edge.
    fn spans(&self, outline: &Boundary) -> Vec<(f64, f64)> {
        let (mut edges, mut turns) = (Vec::new(), Vec::new());
        for edge in outline.along(self.from, self.at(self.length, 0.0), self.half) {
            let (from, to) = (self.inside(edge.start), self.inside(edge.end));
            if (from.1 > 0.0) != (to.1 > 0.0) {
                turns.push(from.0 + (to.0 - from.0) * (from.1 / (from.1 - to.1)));
            }
            if let Some((s, t)) = self.share_of((from, to)) {
                let ends = [s, t].map(|share| from.0 + (to.0 - from.0) * share);
                edges.push((ends[0].min(ends[1]).max(0.0), ends[0].max(ends[1]).min(self.length)));
            }
        }
        edges.sort_by(|a, b| a.0.total_cmp(&b.0));
        turns.sort_by(f64::total_cmp);
        let mut spans = Vec::with_capacity(2 * edges.len() + 1);
        let mut reached = 0.0;
        let mut known: Option<(usize, bool)> = None;
        for (from, to) in edges.into_iter().chain([(self.length, self.length)]) {
            // A smaller gap counts as none.
            if from - reached > MIN_RUN_M {
                let middle = f64::midpoint(reached, from);
                let passed = turns.partition_point(|turn| *turn <= middle);
                let is_allowed = match known {
                    Some((before, was)) => was != ((passed - before) % 2 == 1),
                    None => !outline.is_forbidden(self.at(middle, 0.0)),
                };
                known = Some((passed, is_allowed));
                if is_allowed {
                    spans.push((reached, from));
                }
            }
            if to > from {
                spans.push((from, to));
            }
            reached = to.max(reached);
        }
        spans
    }

    pub fn runs(&self, outline: &Boundary, holes: &Boundary) -> Vec<Run> {
        let mut spans = self.spans(outline);
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut joined: Vec<(f64, f64)> = Vec::new();
        for (from, to) in spans {
            match joined.last_mut() {
                Some(last) if from <= last.1 + MIN_RUN_M => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        let lines = joined.into_iter().filter(|(from, to)| to - from > MIN_RUN_M);
        let mut spans: Vec<(f64, f64)> = lines
            .flat_map(|(from, to)| {
                let allowed = holes.allowed(self.at(from, 0.0), self.at(to, 0.0));
                allowed
                    .into_iter()
                    .map(move |(s, t)| (from + s * (to - from), from + t * (to - from)))
            })
            .filter(|(from, to)| to - from > MIN_RUN_M)
            .collect();
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let run = |(from, to)| Run {
            path: vec![self.at(from, 0.0), self.at(to, 0.0)],
            strip: Some(self.number),
        };
        spans.into_iter().map(run).collect()
    }
}

#[derive(Debug)]
pub(super) struct Edges {
    /// Clockwise around the hole, which is on the right; the last point is the first.
    ring: Vec<Coord<f64>>,
    /// Position of each point along the ring, meters.
    reached: Vec<f64>,
    bounds: Option<::geo::Rect<f64>>,
    /// From and to, meters along the ring.
    needed: Vec<(f64, f64)>,
}

impl Edges {
    pub fn of(area: &Area) -> Vec<Self> {
        area.polygon().interiors().iter().map(Self::around).collect()
    }

    fn around(ring: &LineString<f64>) -> Self {
        let mut reached = vec![0.0];
        for line in ring.lines() {
            let before = reached.last().copied().unwrap_or_default();
            reached.push(before + apart(line.start, line.end).0);
        }
        Self {
            ring: ring.0.clone(),
            reached,
            bounds: ring.bounding_rect(),
            needed: Vec::new(),
        }
    }

    /// Notes the edges that hide something from the middle of `strip`.
    pub fn need(&mut self, strip: &Strip) {
        let Some(bounds) = self.bounds else { return };
        let corners = [
            (bounds.min().x, bounds.min().y),
            (bounds.max().x, bounds.min().y),
            (bounds.min().x, bounds.max().y),
            (bounds.max().x, bounds.max().y),
        ];
        let across = corners.map(|(x, y)| strip.inside(Coord { x, y }).1);
        if across.iter().all(|v| *v > strip.half) || across.iter().all(|v| *v < -strip.half) {
            return;
        }
        for (index, pair) in self.ring.windows(2).enumerate() {
            let [a, b] = pair else { continue };
            let (from, to) = (strip.inside(*a), strip.inside(*b));
            // The hole is on the right of the edge: below an edge that runs forward along the strip.
            let (low, high) = if to.0 < from.0 {
                (-strip.half, 0.0)
            } else {
                (0.0, strip.half)
            };
            // An edge that runs straight across hides nothing.
            if (to.0 - from.0).abs() < 1e-9 {
                continue;
            }
            let all = Some((0.0, 1.0));
            let part = within(all, from.1, to.1, low, high);
            let Some((s, t)) = within(part, from.0, to.0, 0.0, strip.length) else {
                continue;
            };
            let (Some(start), Some(end)) = (self.reached.get(index), self.reached.get(index + 1)) else {
                continue;
            };
            let highest = (from.1 + (to.1 - from.1) * s)
                .abs()
                .max((from.1 + (to.1 - from.1) * t).abs());
            if (t - s) * (end - start) > 1e-6 && highest > 1e-6 {
                self.needed.push((start + s * (end - start), start + t * (end - start)));
            }
        }
    }

    /// Parts with a gap of less than `gap` meters are flown in one go.
    pub fn runs(mut self, gap: f64) -> Vec<Run> {
        let Some(around) = self.reached.last().copied() else {
            return Vec::new();
        };
        self.needed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut joined: Vec<(f64, f64)> = Vec::new();
        for (from, to) in std::mem::take(&mut self.needed) {
            match joined.last_mut() {
                Some(last) if from <= last.1 + gap => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        // Across the begin of the ring.
        if let [first, .., last] = joined.as_slice()
            && first.0 + around <= last.1 + gap
        {
            let (from, to) = (last.0, first.1 + around);
            joined.pop();
            joined.remove(0);
            joined.push((from, to));
        }
        if let [(from, to)] = joined.as_slice()
            && to - from + gap >= around
        {
            return vec![Run {
                path: self.ring,
                strip: None,
            }];
        }
        let run = |(from, to)| Run {
            path: self.part(from, to, around),
            strip: None,
        };
        joined.into_iter().map(run).collect()
    }

    fn part(&self, from: f64, to: f64, around: f64) -> Vec<Coord<f64>> {
        let mut path = vec![self.point(from, around)];
        let twice = self.reached.iter().zip(&self.ring);
        let twice = twice.clone().chain(twice);
        for (index, (reached, point)) in twice.enumerate() {
            let reached = if index >= self.ring.len() {
                reached + around
            } else {
                *reached
            };
            if reached > from + MIN_RUN_M && reached < to - MIN_RUN_M && path.last() != Some(point) {
                path.push(*point);
            }
        }
        path.push(self.point(to, around));
        path
    }

    fn point(&self, at: f64, around: f64) -> Coord<f64> {
        let at = if at > around { at - around } else { at };
        let next = self
            .reached
            .partition_point(|reached| *reached < at)
            .clamp(1, self.ring.len().max(2) - 1);
        let (Some(&a), Some(&b)) = (self.ring.get(next - 1), self.ring.get(next)) else {
            return self.ring.first().copied().unwrap_or_default();
        };
        let (start, end) = (self.reached[next - 1], self.reached[next]);
        let share = if end > start {
            ((at - start) / (end - start)).clamp(0.0, 1.0)
        } else {
            0.0
        };
        a + (b - a) * share
    }
}

/// The part of `part` in which a value that goes evenly from `from` to `to` is between `low` and `high`.
fn within(part: Option<(f64, f64)>, from: f64, to: f64, low: f64, high: f64) -> Option<(f64, f64)> {
    let (s, t) = part?;
    let change = to - from;
    if change.abs() < 1e-12 {
        return (low <= from && from <= high).then_some((s, t));
    }
    let (enter, leave) = ((low - from) / change, (high - from) / change);
    let (s, t) = (s.max(enter.min(leave)), t.min(enter.max(leave)));
    (s < t).then_some((s, t))
}
