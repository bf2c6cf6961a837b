//! A survey in pieces. Each is simplified by itself: between two a strip may stay as wide as their edges moved.

use super::valid::{Rings, area};
use super::{GRID_M, Purpose, SMALLEST_M2, polygon_of, rings_of, simplify};
use ::geo::{BooleanOps as _, ConvexHull as _, Coord, Rect};

/// spec.survey.area.holes of a Mission.
const MOST_HOLES: usize = 50;

const HALVED_AT_MOST: u32 = 8;

/// Pieces of an area that could be one: more are worse than an edge that moved far, which is said.
const MOST_PIECES: usize = 50;

/// Part of the extent: an edge that moves farther is another one than was drawn.
const MOST_MOVED: f64 = 0.05;

pub(super) fn corners(rings: &Rings) -> usize {
    rings.0.iter().map(Vec::len).sum()
}

pub(super) struct Fitted {
    pub(super) rings: Rings,
    pub(super) before: usize,
    /// Largest move of an edge, meters.
    pub(super) moved: f64,
    /// By more than a twentieth of its extent.
    pub(super) is_far: bool,
}

/// Halves a survey with too many corners or holes: all of its pieces are flown. A vehicle stays inside of all
/// inclusions, so those are not halved. Errors: the number of corners that is left.
pub(super) fn fitted(rings: &Rings, purpose: Purpose) -> Result<Vec<Fitted>, usize> {
    let (low, high) = extent(rings);
    let most = MOST_MOVED * (high[0] - low[0]).hypot(high[1] - low[1]);
    halved(rings, purpose, most, 0)
}

fn halved(rings: &Rings, purpose: Purpose, most: f64, times: u32) -> Result<Vec<Fitted>, usize> {
    let before = corners(rings);
    let halves_more = purpose == Purpose::Survey && times < HALVED_AT_MOST;
    let whole = if halves_more && rings.0.len() > MOST_HOLES + 1 {
        Err(before)
    } else {
        fewer(rings, purpose, most).map(|(rings, moved)| Fitted {
            rings,
            before,
            moved,
            is_far: moved > most,
        })
    };
    match whole {
        Ok(fitted) if !(fitted.is_far && halves_more) => return Ok(vec![fitted]),
        Err(left) if !halves_more => return Err(left),
        _ => {}
    }
    let pieces: Result<Vec<Vec<Fitted>>, usize> = halves(rings)
        .iter()
        .map(|half| halved(half, purpose, most, times + 1))
        .collect();
    let pieces: Result<Vec<Fitted>, usize> = pieces.map(|each| each.into_iter().flatten().collect());
    match (whole, pieces) {
        (Ok(_), Ok(pieces)) if (1..=MOST_PIECES).contains(&pieces.len()) => Ok(pieces),
        (Ok(fitted), _) => Ok(vec![fitted]),
        (Err(left), Ok(pieces)) if pieces.is_empty() => Err(left),
        (Err(_), pieces) => pieces,
    }
}

/// South-western and north-eastern corner of the box around it.
fn extent(rings: &Rings) -> ([f64; 2], [f64; 2]) {
    let none = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    rings.0.iter().flatten().fold(none, |(low, high), at| {
        (
            [low[0].min(at.x), low[1].min(at.y)],
            [high[0].max(at.x), high[1].max(at.y)],
        )
    })
}

/// Both sides of a line through the middle of the corners, across the longer way.
fn halves(rings: &Rings) -> Vec<Rings> {
    let all = || rings.0.iter().flatten();
    let (low, high) = extent(rings);
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

/// With how far the edge moved, meters. What is kept out of is its convex hull where that moves less.
fn fewer(rings: &Rings, purpose: Purpose, most: f64) -> Result<(Rings, f64), usize> {
    let most_corners = purpose.most();
    let holds = |counts: &[usize]| match purpose {
        Purpose::Survey => counts.iter().sum::<usize>() <= most_corners,
        Purpose::Inclusion | Purpose::Exclusion => counts.iter().all(|count| *count <= most_corners),
    };
    let mut simpler = rings.clone();
    let cut = simplify::fit(&mut simpler, purpose != Purpose::Exclusion, holds).map(|moved| (simpler, moved));
    if purpose != Purpose::Exclusion || cut.as_ref().is_ok_and(|(_, moved)| *moved <= most) {
        return cut;
    }
    let mut around = hull(rings);
    if simplify::fit(&mut around, false, holds).is_err() {
        return cut;
    }
    let moved = simplify::moved(rings, &around);
    match cut {
        Ok((_, by)) if by <= moved => cut,
        _ => Ok((around, moved)),
    }
}

/// Convex, clockwise, and without holes.
fn hull(rings: &Rings) -> Rings {
    let polygon = polygon_of(rings, |corner| *corner).convex_hull();
    let mut ring = polygon.exterior().0.clone();
    ring.pop();
    if area(&ring) > 0.0 {
        ring.reverse();
    }
    Rings(vec![ring])
}
