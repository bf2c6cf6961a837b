//! Which vehicle goes to which slot.
//!
//! Owns: [`assign`](assign()), the least total of squared distances with a preference for held slots. Squares, since one long way costs
//! more time than two short ones, and straight ways of such an assignment seldom cross. Must not: know of stations, Drones or claims.
//!
//! Solved by `pathfinding`'s Kuhn-Munkres, in integers, so that equal inputs give equal results everywhere.

use model::geo::Local;
use model::units::Meters;
use pathfinding::prelude::{Matrix, kuhn_munkres_min};
use std::collections::BTreeMap;

/// Largest whole problem. In a larger one, vehicles at their slots keep them, and the rest must not exceed this: the time grows with its
/// cube.
pub const MAX_WEIGHED: usize = 1_200;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seeker {
    pub at: Local,
    /// Its former slot, if that is still a slot of the same shape.
    pub holds: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} vehicles and slots are to be matched again, more than {MAX_WEIGHED}; split the formation")]
pub struct TooMany(pub usize);

/// Vehicles by slot, as many as there are vehicles and slots, with the least total of squared distances. A vehicle leaves a slot that it
/// holds only if that saves more than the square of `keep` for each that does so. Ties: the first vehicles by id, the lowest slots.
///
/// # Errors
/// [`TooMany`], see [`MAX_WEIGHED`].
pub fn assign<Id: Ord + Clone>(
    vehicles: &BTreeMap<Id, Seeker>,
    slots: &[Local],
    keep: Meters,
) -> Result<BTreeMap<usize, Id>, TooMany> {
    let weighs_all = vehicles.len().max(slots.len()) <= MAX_WEIGHED;
    let mut holders: Vec<Option<&Id>> = vec![None; slots.len()];
    let mut seekers: Vec<(&Id, Seeker)> = Vec::new();
    for (id, seeker) in vehicles {
        let held = seeker.holds.filter(|_| !weighs_all).and_then(|slot| {
            let in_place = squared(seeker.at, *slots.get(slot)?) <= keep.0 * keep.0;
            holders.get_mut(slot).filter(|holder| in_place && holder.is_none())
        });
        match held {
            Some(holder) => *holder = Some(id),
            None => seekers.push((id, *seeker)),
        }
    }
    let free = |(slot, place): (usize, &Local)| holders[slot].is_none().then_some((slot, *place));
    let open: Vec<(usize, Local)> = slots.iter().enumerate().filter_map(free).collect();
    let size = seekers.len().max(open.len());
    if seekers.len().min(open.len()) > MAX_WEIGHED
        || seekers.len().saturating_mul(open.len()) > MAX_WEIGHED * MAX_WEIGHED * 4
    {
        return Err(TooMany(size));
    }
    for (seeker, slot) in matched(&seekers, &open, keep) {
        holders[open[slot].0] = Some(seekers[seeker].0);
    }
    let assigned = |(slot, holder): (usize, Option<&Id>)| Some((slot, holder?.clone()));
    Ok(holders.into_iter().enumerate().filter_map(assigned).collect())
}

fn squared(one: Local, other: Local) -> f64 {
    (one.east - other.east).powi(2) + (one.north - other.north).powi(2) + (one.up - other.up).powi(2)
}

/// One squared decimeter; ranks below it break ties.
const UNIT: i64 = 1 << 24;

/// Squared decimeters: no two points of a frame are farther apart. With [`UNIT`] it stays within 63 bits.
const MAX_DISTANCE_DM2: f64 = 2.0e11;

fn matched<Id>(seekers: &[(&Id, Seeker)], open: &[(usize, Local)], keep: Meters) -> Vec<(usize, usize)> {
    if seekers.is_empty() || open.is_empty() {
        return Vec::new();
    }
    let (rows, columns) = (seekers.len(), open.len());
    // A common shift of all slots changes each way by what depends on one end alone, so the best assignment of a full match stays the same.
    // It saves most of the time where the formation is far away.
    let shift = if rows == columns {
        let center = |points: Vec<Local>| {
            #[allow(clippy::cast_precision_loss, reason = "they are few")]
            let share = 1.0 / points.len() as f64;
            let sum = |part: fn(&Local) -> f64| points.iter().map(part).sum::<f64>() * share;
            (sum(|p| p.east), sum(|p| p.north), sum(|p| p.up))
        };
        let from = center(seekers.iter().map(|(_, seeker)| seeker.at).collect());
        let to = center(open.iter().map(|(_, place)| *place).collect());
        (from.0 - to.0, from.1 - to.1, from.2 - to.2)
    } else {
        (0.0, 0.0, 0.0)
    };
    let cost = |row: usize, column: usize| {
        let ((_, seeker), (slot, place)) = (&seekers[row], open[column]);
        let place = Local {
            east: place.east + shift.0,
            north: place.north + shift.1,
            up: place.up + shift.2,
        };
        let leaves = seeker.holds.is_some_and(|held| held != slot);
        let square = squared(seeker.at, place) + if leaves { keep.0 * keep.0 } else { 0.0 };
        #[allow(clippy::cast_possible_truncation, reason = "it is bounded")]
        let whole = (square * 100.0).round().min(MAX_DISTANCE_DM2) as i64;
        whole * UNIT
    };
    // Ranks choose among those that are not all needed; their sum stays below one unit of cost.
    let rank = |index: usize| i64::try_from(index).unwrap_or(i64::MAX).min(UNIT / 4096);
    if rows <= columns {
        let weights = reduced(Matrix::from_fn(rows, columns, |(r, c)| cost(r, c) + rank(c)));
        kuhn_munkres_min(&weights).1.into_iter().enumerate().collect()
    } else {
        let weights = Matrix::from_fn(columns, rows, |(c, r)| cost(r, c) + rank(r));
        let found = kuhn_munkres_min(&weights).1.into_iter().enumerate();
        found.map(|(column, row)| (row, column)).collect()
    }
}

/// With the least of each column taken off: solved sooner. Only where every column is used.
fn reduced(mut weights: Matrix<i64>) -> Matrix<i64> {
    if weights.rows == weights.columns {
        for column in 0..weights.columns {
            let least = (0..weights.rows).map(|row| weights[(row, column)]).min().unwrap_or(0);
            for row in 0..weights.rows {
                weights[(row, column)] -= least;
            }
        }
    }
    weights
}

#[cfg(test)]
mod tests;
