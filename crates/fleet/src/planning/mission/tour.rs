//! The order in which the runs of a survey are flown.
//!
//! Parallel lines nearest first, from a corner: there and back over each part of the area in turn. Behind a wall, a near line may be far to
//! fly to; so in two more orders visible lines come first. The legs of an expanding square keep their order; the edge of a hole is flown
//! where the legs come nearest to it.

use super::area::apart;
use super::strip::Run;
use super::way::Ways;
use ::geo::Coord;
use rstar::RTree;
use rstar::primitives::GeomWithData;

/// Nearest places examined for a visible one.
const MAX_NEAREST_EXAMINED: usize = 8;

/// Of these, surely hidden ones before a visible one.
const MAX_HIDDEN_EXAMINED: usize = 256;

#[derive(Clone, Copy)]
pub(super) enum Sight<'a> {
    Through,
    /// One of the nearest that is visible, if any; else any.
    Near(&'a Ways),
    /// A visible one even behind nearer hidden ones, if any; else any.
    Far(&'a Ways),
}

/// Nearest first, of those in `sight`, with the best of the tried first ends.
pub(super) fn nearest_first(runs: &[Run], sight: Sight<'_>) -> Vec<Run> {
    let both = |run: &Run| Some((*run.path.first()?, *run.path.last()?));
    let lines: Vec<(usize, &Run)> = runs.iter().enumerate().filter(|(_, run)| run.strip.is_some()).collect();
    let corners = [lines.first(), lines.last()].into_iter().flatten();
    let all: Vec<Begin> = runs
        .iter()
        .enumerate()
        .flat_map(|(number, run)| begins(run, number))
        .collect();
    let first = corners.filter_map(|(_, run)| both(run)).flat_map(|(a, b)| [a, b]);
    let mut shortest: Option<(f64, Vec<Run>)> = None;
    for begin in first {
        let least = shortest.as_ref().map_or(f64::INFINITY, |(ways, _)| *ways);
        let tour = from(begin, runs, &all, sight, least);
        shortest = tour.filter(|(ways, _)| *ways < least).or(shortest);
    }
    shortest.map_or_else(|| runs.to_vec(), |(_, tour)| tour)
}

/// In the order of their strips, edges of holes where they cost least.
pub(super) fn in_order(runs: &[Run]) -> Vec<Run> {
    let (mut tour, edges): (Vec<Run>, Vec<Run>) = runs.iter().cloned().partition(|run| run.strip.is_some());
    for edge in edges {
        let mut best: Option<(f64, usize, Option<Coord<f64>>, bool)> = None;
        for place in 0..=tour.len() {
            let before = place
                .checked_sub(1)
                .and_then(|i| tour.get(i))
                .and_then(|run| run.path.last().copied());
            let after = tour.get(place).and_then(|run| run.path.first().copied());
            for (first, last, is_back) in ends(&edge, before.or(after)) {
                let to = before.map_or(0.0, |before| apart(before, first).0);
                let on = after.map_or(0.0, |after| apart(last, after).0);
                let saved = before.zip(after).map_or(0.0, |(before, after)| apart(before, after).0);
                let cost = to + on - saved;
                if best.is_none_or(|(least, ..)| cost < least) {
                    best = Some((cost, place, before.or(after), is_back));
                }
            }
        }
        if let Some((_, place, near, is_back)) = best
            && let Some(way) = turned(&edge, near).into_iter().nth(usize::from(is_back))
        {
            tour.insert(place, way);
        }
    }
    tour
}

/// Where a run may begin: its ends, and each corner of a closed one; with its number.
type Begin = GeomWithData<[f64; 2], usize>;

fn begins(run: &Run, number: usize) -> impl Iterator<Item = Begin> {
    let ends = [run.path.first(), run.path.last()].into_iter().flatten();
    let all = if run.is_closed() {
        run.path.get(1..run.path.len() - 1).unwrap_or_default()
    } else {
        &[]
    };
    ends.chain(all).map(move |at| Begin::new([at.x, at.y], number))
}

/// With the straight ways between them, meters; `None` when these become longer than `most`.
fn from(begin: Coord<f64>, runs: &[Run], all: &[Begin], sight: Sight<'_>, most: f64) -> Option<(f64, Vec<Run>)> {
    let mut left = RTree::bulk_load(all.to_vec());
    let mut at = begin;
    let mut between = 0.0;
    let mut tour: Vec<Run> = Vec::with_capacity(runs.len());
    // Ties go to the first of these.
    let mut order: Vec<usize> = (0..runs.len()).collect();
    let mut places = order.clone();
    for _ in runs {
        let number = nearest(at, &left, &places, sight).or_else(|| nearest(at, &left, &places, Sight::Through));
        let next = number.and_then(|number| Some((number, runs.get(number)?, *places.get(number)?)));
        let Some((number, run, place)) = next else { break };
        order.swap_remove(place);
        if let Some(moved) = order.get(place).and_then(|moved| places.get_mut(*moved)) {
            *moved = place;
        }
        for gone in begins(run, number) {
            left.remove(&gone);
        }
        let ways = turned(run, Some(at));
        let first = |way: &Run| way.path.first().map_or(f64::INFINITY, |point| apart(at, *point).0);
        if let Some(way) = ways.into_iter().min_by(|a, b| first(a).total_cmp(&first(b))) {
            if !tour.is_empty() {
                between += first(&way);
            }
            if between > most {
                return None;
            }
            at = way.path.last().copied().unwrap_or(at);
            tour.push(way);
        }
    }
    Some((between, tour))
}

/// Of those in `sight`; of several, that with the least place.
fn nearest(at: Coord<f64>, left: &RTree<Begin>, places: &[usize], sight: Sight<'_>) -> Option<usize> {
    let horizon = match sight {
        Sight::Far(ways) => ways.horizon(at),
        Sight::Through | Sight::Near(_) => None,
    };
    let mut hidden_for_certain = 0;
    let mut best: Option<(f64, usize, usize)> = None;
    let mut hidden = 0;
    for (begin, squared) in left.nearest_neighbor_iter_with_distance_2([at.x, at.y]) {
        // Squares are rounded in another way than distances are.
        if hidden >= MAX_NEAREST_EXAMINED || best.is_some_and(|(least, ..)| squared > least * least * (1.0 + 1e-9)) {
            break;
        }
        let [x, y] = *begin.geom();
        let here = Coord { x, y };
        if horizon.as_ref().is_some_and(|horizon| horizon.hides(here)) {
            hidden_for_certain += 1;
            if hidden_for_certain >= MAX_HIDDEN_EXAMINED {
                break;
            }
            continue;
        }
        let is_seen = match sight {
            Sight::Through => true,
            Sight::Near(ways) | Sight::Far(ways) => ways.is_seen(at, here),
        };
        if !is_seen {
            hidden += 1;
            continue;
        }
        let (far, place) = (apart(at, here).0, places.get(begin.data).copied().unwrap_or(usize::MAX));
        if best.is_none_or(|(least, before, _)| (far, place) < (least, before)) {
            best = Some((far, place, begin.data));
        }
    }
    best.map(|(.., number)| number)
}

/// Where the ways of [`turned`] begin and end, and whether they run back.
fn ends(run: &Run, near: Option<Coord<f64>>) -> impl Iterator<Item = (Coord<f64>, Coord<f64>, bool)> {
    let both = run.path.first().copied().zip(run.path.last().copied());
    let (there, back) = if run.is_closed() {
        (
            nearest_corner(run, near)
                .and_then(|index| run.path.get(index + 1))
                .map(|at| (*at, *at, false)),
            None,
        )
    } else {
        (
            both.map(|(first, last)| (first, last, false)),
            both.map(|(first, last)| (last, first, true)),
        )
    };
    there.into_iter().chain(back)
}

/// Counted from the second point of a closed run.
fn nearest_corner(run: &Run, near: Option<Coord<f64>>) -> Option<usize> {
    let far = |point: &Coord<f64>| near.map_or(0.0, |near| apart(near, *point).0);
    let ring = run.path.get(1..).unwrap_or_default().iter().enumerate();
    let nearest = ring.min_by(|(_, a), (_, b)| far(a).total_cmp(&far(b)));
    nearest.map(|(index, _)| index)
}

/// A run from both of its ends; a closed one from its corner that is nearest to `near`.
fn turned(run: &Run, near: Option<Coord<f64>>) -> Vec<Run> {
    if run.is_closed() {
        let ring = run.path.get(1..).unwrap_or_default();
        let start = nearest_corner(run, near).unwrap_or_default();
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
