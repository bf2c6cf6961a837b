//! The order in which the runs of a survey are flown.
//!
//! Owns: that order, and from which end each is flown. Must not: know what a run is for.
//!
//! Parallel lines are flown nearest first, from one of the corners: there and back over each part of the area in turn. The legs of an
//! expanding square keep their order; the edge of a hole is flown where the legs come nearest to it.

use super::area::apart;
use super::strip::Run;
use ::geo::Coord;

/// Nearest first, from the end from which the whole way is the shortest of those tried.
pub(super) fn nearest_first(runs: &[Run]) -> Vec<Run> {
    let ends = |run: &Run| Some((*run.path.first()?, *run.path.last()?));
    let lines: Vec<(usize, &Run)> = runs.iter().enumerate().filter(|(_, run)| run.strip.is_some()).collect();
    let corners = [lines.first(), lines.last()].into_iter().flatten();
    let begins = corners.filter_map(|(_, run)| ends(run)).flat_map(|(a, b)| [a, b]);
    let tours = begins.map(|begin| from(begin, runs));
    let shortest = tours.min_by(|a, b| between(a).total_cmp(&between(b)));
    shortest.unwrap_or_else(|| runs.to_vec())
}

/// In the order of their strips, edges of holes where they cost least.
pub(super) fn in_order(runs: &[Run]) -> Vec<Run> {
    let (mut tour, edges): (Vec<Run>, Vec<Run>) = runs.iter().cloned().partition(|run| run.strip.is_some());
    for edge in edges {
        let mut best: Option<(f64, usize, Run)> = None;
        for place in 0..=tour.len() {
            let before = place
                .checked_sub(1)
                .and_then(|i| tour.get(i))
                .and_then(|run| run.path.last().copied());
            let after = tour.get(place).and_then(|run| run.path.first().copied());
            for way in turned(&edge, before.or(after)) {
                let (Some(first), Some(last)) = (way.path.first(), way.path.last()) else {
                    continue;
                };
                let to = before.map_or(0.0, |before| apart(before, *first).0);
                let on = after.map_or(0.0, |after| apart(*last, after).0);
                let saved = before.zip(after).map_or(0.0, |(before, after)| apart(before, after).0);
                let cost = to + on - saved;
                if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                    best = Some((cost, place, way));
                }
            }
        }
        if let Some((_, place, way)) = best {
            tour.insert(place, way);
        }
    }
    tour
}

fn from(begin: Coord<f64>, runs: &[Run]) -> Vec<Run> {
    let mut left: Vec<Run> = runs.to_vec();
    let mut at = begin;
    let mut tour = Vec::with_capacity(runs.len());
    while !left.is_empty() {
        let far = |run: &Run| {
            let ends = [run.path.first(), run.path.last()].into_iter().flatten();
            let all = if run.is_closed() { run.path.as_slice() } else { &[] };
            ends.chain(all)
                .map(|point| apart(at, *point).0)
                .fold(f64::INFINITY, f64::min)
        };
        let nearest = left
            .iter()
            .enumerate()
            .min_by(|(_, a), (_, b)| far(a).total_cmp(&far(b)));
        let Some(index) = nearest.map(|(index, _)| index) else {
            break;
        };
        let run = left.swap_remove(index);
        let ways = turned(&run, Some(at));
        let first = |way: &Run| way.path.first().map_or(f64::INFINITY, |point| apart(at, *point).0);
        if let Some(way) = ways.into_iter().min_by(|a, b| first(a).total_cmp(&first(b))) {
            at = way.path.last().copied().unwrap_or(at);
            tour.push(way);
        }
    }
    tour
}

/// A run from both of its ends; a closed one from its corner that is nearest to `near`.
fn turned(run: &Run, near: Option<Coord<f64>>) -> Vec<Run> {
    if run.is_closed() {
        let ring = run.path.get(1..).unwrap_or_default();
        let far = |point: &Coord<f64>| near.map_or(0.0, |near| apart(near, *point).0);
        let nearest = ring
            .iter()
            .enumerate()
            .min_by(|(_, a), (_, b)| far(a).total_cmp(&far(b)));
        let start = nearest.map_or(0, |(index, _)| index);
        let mut path: Vec<Coord<f64>> = ring.iter().cycle().skip(start).take(ring.len()).copied().collect();
        path.extend(path.first().copied());
        return vec![Run { path, strip: run.strip }];
    }
    let back = Run {
        path: run.path.iter().rev().copied().collect(),
        strip: run.strip,
    };
    vec![run.clone(), back]
}

/// The length of the ways from one run to the next.
fn between(tour: &[Run]) -> f64 {
    let ways = tour
        .windows(2)
        .filter_map(|pair| Some(apart(*pair.first()?.path.last()?, *pair.last()?.path.first()?).0));
    ways.sum()
}
