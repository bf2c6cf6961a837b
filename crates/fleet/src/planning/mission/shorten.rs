//! Shorter ways between the runs of a survey, by small changes of their order: consecutive runs are turned around together, or a few are
//! moved to where they cost less, as long as that shortens the ways.
//!
//! Owns: [`shortened`]. Must not: know how the first order was found.

use super::area::apart;
use super::boundary::dot;
use super::strip::Run;
use ::geo::Coord;
use std::collections::HashMap;

/// The order of more runs is kept: it would cost too much.
const MAX_REORDERED_RUNS: usize = 128;

const MAX_MOVED_RUNS: usize = 3;

const MAX_ROUNDS: usize = 16;

const MIN_SAVING_M: f64 = 0.05;

/// Length of the way between two places, meters, no shorter than the straight one; `None`: there is no way.
pub(super) type Length<'a> = &'a dyn Fn(Coord<f64>, Coord<f64>) -> Option<f64>;

/// Begin or end of a run, with its number among all.
#[derive(Clone, Copy)]
struct End {
    at: Coord<f64>,
    number: usize,
}

#[derive(Clone, Copy)]
struct Flown {
    first: End,
    last: End,
    run: usize,
    is_back: bool,
}

impl Flown {
    fn of(run: usize, path: &[Coord<f64>]) -> Option<Self> {
        let end = |at: &Coord<f64>, number| End { at: *at, number };
        Some(Self {
            first: end(path.first()?, 2 * run),
            last: end(path.last()?, 2 * run + 1),
            run,
            is_back: false,
        })
    }

    const fn turned(self) -> Self {
        Self {
            first: self.last,
            last: self.first,
            run: self.run,
            is_back: !self.is_back,
        }
    }
}

struct Tour<'a> {
    all: Vec<Flown>,
    length: Length<'a>,
    /// Lengths by the numbers of both ends, the smaller first.
    known: HashMap<(usize, usize), f64>,
}

/// With shorter ways than `ways` meters between them; `None` when no order near to this one is shorter, or none can be shorter by `worth`
/// meters.
pub(super) fn shortened(runs: &[Run], ways: f64, worth: f64, length: Length<'_>) -> Option<Vec<Run>> {
    if runs.len() > MAX_REORDERED_RUNS {
        return None;
    }
    let all = runs
        .iter()
        .enumerate()
        .map(|(number, run)| Flown::of(number, &run.path));
    let mut tour = Tour {
        all: all.collect::<Option<_>>()?,
        length,
        known: HashMap::new(),
    };
    if ways - bound(&tour.all) < worth {
        return None;
    }
    let mut is_shorter = false;
    for _ in 0..MAX_ROUNDS {
        let (turns, moves) = (tour.turn(), tour.shift());
        if !turns && !moves {
            break;
        }
        is_shorter = true;
    }
    let flown = tour.all.iter().filter_map(|flown| {
        let mut run = runs.get(flown.run)?.clone();
        if flown.is_back {
            run.path.reverse();
        }
        Some(run)
    });
    is_shorter.then(|| flown.collect())
}

/// Lower bound: one way leads from each end but two, and none is shorter than to the nearest end.
fn bound(all: &[Flown]) -> f64 {
    let ends = |flown: &Flown| [flown.first.at, flown.last.at];
    let others = |run: usize| all.iter().filter(move |other| other.run != run).flat_map(ends);
    let nearest = |run: usize, at: Coord<f64>| {
        others(run)
            .map(|end| dot(end - at, end - at))
            .fold(f64::INFINITY, f64::min)
    };
    let nearest = all
        .iter()
        .flat_map(|flown| ends(flown).map(|at| nearest(flown.run, at).sqrt()));
    let mut nearest: Vec<f64> = nearest.collect();
    nearest.sort_unstable_by(f64::total_cmp);
    nearest.iter().rev().skip(2).sum::<f64>() / 2.0
}

/// Lower bound between two ends. Before the first run and after the last there is no way.
fn least(from: Option<End>, to: Option<End>) -> f64 {
    from.zip(to).map_or(0.0, |(from, to)| apart(from.at, to.at).0)
}

impl Tour<'_> {
    fn exact(&mut self, from: Option<End>, to: Option<End>) -> f64 {
        let Some((from, to)) = from.zip(to) else { return 0.0 };
        let numbers = (from.number.min(to.number), from.number.max(to.number));
        let length = self.length;
        let known = self.known.entry(numbers);
        *known.or_insert_with(|| length(from.at, to.at).unwrap_or(f64::INFINITY))
    }

    fn around(&self, from: usize, to: usize) -> (Option<End>, Option<End>) {
        let before = from.checked_sub(1).and_then(|before| self.all.get(before));
        let after = self.all.get(to + 1);
        (before.map(|flown| flown.last), after.map(|flown| flown.first))
    }

    fn ends(&self, from: usize, to: usize) -> (Option<End>, Option<End>) {
        let (first, last) = (self.all.get(from), self.all.get(to));
        (first.map(|flown| flown.first), last.map(|flown| flown.last))
    }

    /// Returns whether any was turned.
    fn turn(&mut self) -> bool {
        let mut is_shorter = false;
        for from in 0..self.all.len() {
            for to in from..self.all.len() {
                let ((before, after), (first, last)) = (self.around(from, to), self.ends(from, to));
                let now = self.exact(before, first) + self.exact(last, after) - MIN_SAVING_M;
                if least(before, last) + least(first, after) < now
                    && self.exact(before, last) + self.exact(first, after) < now
                    && let Some(part) = self.all.get_mut(from..=to)
                {
                    part.reverse();
                    for flown in part {
                        *flown = flown.turned();
                    }
                    is_shorter = true;
                }
            }
        }
        is_shorter
    }

    /// Returns whether any was moved.
    fn shift(&mut self) -> bool {
        let mut is_shorter = false;
        for count in 1..=MAX_MOVED_RUNS {
            for from in 0..(self.all.len() + 1).saturating_sub(count) {
                let to = from + count - 1;
                let ((before, after), (first, last)) = (self.around(from, to), self.ends(from, to));
                let now =
                    self.exact(before, first) + self.exact(last, after) - self.exact(before, after) - MIN_SAVING_M;
                // No place costs less than nothing.
                if now > 0.0
                    && let Some((place, is_back)) = self.better(from, to, now)
                {
                    let mut part: Vec<Flown> = self.all.drain(from..=to).collect();
                    if is_back {
                        part.reverse();
                        part = part.into_iter().map(Flown::turned).collect();
                    }
                    self.all.splice(place..place, part);
                    is_shorter = true;
                }
            }
        }
        is_shorter
    }

    /// Where the runs `from..=to` cost the least, and less than `now` meters: before which of the others, and whether turned around.
    fn better(&mut self, from: usize, to: usize, now: f64) -> Option<(usize, bool)> {
        let (first, last) = self.ends(from, to);
        let mut best = None;
        let mut most = now;
        for gap in (0..from).chain(to + 2..self.all.len() + 1) {
            let before = gap.checked_sub(1).and_then(|before| self.all.get(before));
            let before = before.map(|flown| flown.last);
            let after = self.all.get(gap).map(|flown| flown.first);
            let saved = self.exact(before, after);
            for (begin, end, is_back) in [(first, last, false), (last, first, true)] {
                if least(before, begin) + least(end, after) - saved < most {
                    let cost = self.exact(before, begin) + self.exact(end, after) - saved;
                    if cost < most {
                        most = cost;
                        best = Some((if gap > to { gap - (to + 1 - from) } else { gap }, is_back));
                    }
                }
            }
        }
        best
    }
}
