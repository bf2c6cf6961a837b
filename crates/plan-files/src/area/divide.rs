//! A survey in pieces. Each is simplified by itself: between two a strip may stay as wide as their edges moved.

use super::valid::Rings;
use super::{GRID_M, Purpose, SMALLEST_M2, polygon_of, rings_of, simplify};
use ::geo::{BooleanOps as _, Coord, Rect};

/// spec.survey.area.holes of a Mission.
const MOST_HOLES: usize = 50;

const HALVED_AT_MOST: u32 = 8;

pub(super) fn corners(rings: &Rings) -> usize {
    rings.0.iter().map(Vec::len).sum()
}

pub(super) struct Fitted {
    pub(super) rings: Rings,
    pub(super) before: usize,
    /// Largest move of an edge, meters.
    pub(super) moved: f64,
}

/// Halves a survey with too many corners or holes: all of its pieces are flown. A vehicle stays inside of all
/// inclusions, so those are not halved. Errors: the number of corners that are left.
pub(super) fn fitted(rings: Rings, purpose: Purpose, halved: u32) -> Result<Vec<Fitted>, usize> {
    let before = corners(&rings);
    let halves_more = purpose == Purpose::Survey && halved < HALVED_AT_MOST;
    let mut simpler = rings.clone();
    let got = if halves_more && rings.0.len() > MOST_HOLES + 1 {
        before
    } else {
        match fewer(&mut simpler, purpose) {
            Ok(moved) => {
                let rings = simpler;
                return Ok(vec![Fitted { rings, before, moved }]);
            }
            Err(got) => got,
        }
    };
    if !halves_more {
        return Err(got);
    }
    let mut all = Vec::new();
    for half in halves(&rings) {
        all.extend(fitted(half, purpose, halved + 1)?);
    }
    if all.is_empty() { Err(got) } else { Ok(all) }
}

/// Both sides of a line through the middle of the corners, across the longer way.
fn halves(rings: &Rings) -> Vec<Rings> {
    let all = || rings.0.iter().flatten();
    let (low, high) = all().fold(([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]), |(low, high), at| {
        (
            [low[0].min(at.x), low[1].min(at.y)],
            [high[0].max(at.x), high[1].max(at.y)],
        )
    });
    let is_wide = high[0] - low[0] >= high[1] - low[1];
    let mut along: Vec<f64> = all().map(|at| if is_wide { at.x } else { at.y }).collect();
    along.sort_by(f64::total_cmp);
    // Between two corners, so that none lies on the line.
    let between = |index: usize| {
        let (one, next) = (along.get(index.checked_sub(1)?)?, along.get(index)?);
        (next - one > 2.0 * GRID_M).then(|| f64::midpoint(*one, *next))
    };
    let half = along.len() / 2;
    let mut nearest = (0..=half).flat_map(|away| [half - away, half + away]);
    let Some(middle) = nearest.find_map(between) else {
        return Vec::new();
    };
    let corner = |x: f64, y: f64| Coord { x, y };
    let boxes = if is_wide {
        [
            Rect::new(corner(low[0] - 1.0, low[1] - 1.0), corner(middle, high[1] + 1.0)),
            Rect::new(corner(middle, low[1] - 1.0), corner(high[0] + 1.0, high[1] + 1.0)),
        ]
    } else {
        [
            Rect::new(corner(low[0] - 1.0, low[1] - 1.0), corner(high[0] + 1.0, middle)),
            Rect::new(corner(low[0] - 1.0, middle), corner(high[0] + 1.0, high[1] + 1.0)),
        ]
    };
    let whole = polygon_of(rings, |corner| *corner);
    let parts = boxes
        .iter()
        .flat_map(|side| rings_of(&whole.intersection(&side.to_polygon())));
    parts.filter(|rings| rings.square_meters() >= SMALLEST_M2).collect()
}

fn fewer(rings: &mut Rings, purpose: Purpose) -> Result<f64, usize> {
    let most = purpose.most();
    let holds = |counts: &[usize]| match purpose {
        Purpose::Survey => counts.iter().sum::<usize>() <= most,
        Purpose::Inclusion | Purpose::Exclusion => counts.iter().all(|count| *count <= most),
    };
    simplify::fit(rings, purpose != Purpose::Exclusion, holds)
}
