//! The lengths of the shortest ways from one place to many others.
//!
//! The distance of each corner is found once (Dijkstra). The shortest way to another place is straight, or by the nearest in all of the
//! corners that see it, and is pulled tight there.

use super::horizon::Horizon;
use super::{Came, Step, Ways};
use crate::planning::mission::area::apart;
use ::geo::Coord;
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Unseen corners before those are skipped that cannot be seen.
const UNSEEN_CORNERS_TRIED: usize = 3;

#[derive(Debug)]
pub(in crate::planning::mission) struct WaysFrom<'a> {
    ways: &'a Ways,
    from: Coord<f64>,
    reached: OnceCell<Vec<Reached>>,
}

/// A corner's distance, and how a way arrives there; `None`: no way.
type Reached = Option<(f64, Came)>;

/// A sortable length, and the number of a corner.
#[derive(PartialEq)]
struct By(f64, usize);

impl Eq for By {}

impl PartialOrd for By {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for By {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

impl<'a> WaysFrom<'a> {
    pub const fn new(ways: &'a Ways, from: Coord<f64>) -> Self {
        Self {
            ways,
            from,
            reached: OnceCell::new(),
        }
    }

    pub const fn start(&self) -> Coord<f64> {
        self.from
    }

    /// Meters.
    pub fn length(&self, to: Coord<f64>) -> Option<f64> {
        let straight = apart(self.from, to).0;
        let Some(obstacles) = &self.ways.0 else {
            return Some(straight);
        };
        if obstacles.is_straight(self.from, to) {
            return Some(straight);
        }
        let corners = obstacles.corners.iter().zip(self.reached()).enumerate();
        let by = |(number, (corner, reached)): (usize, (&super::Corner, &Reached))| {
            let (length, came) = reached.as_ref()?;
            let is_tight = corner.is_tight(came, to);
            is_tight.then(|| Reverse(By(length + apart(corner.at, to).0, number)))
        };
        let mut nearest: BinaryHeap<Reverse<By>> = corners.filter_map(by).collect();
        let mut horizon: Option<Arc<Horizon>> = None;
        let mut tried = 0;
        while let Some(Reverse(By(length, number))) = nearest.pop() {
            let Some(corner) = obstacles.corners.get(number) else {
                continue;
            };
            if horizon.as_ref().is_some_and(|horizon| horizon.hides(corner.at)) {
                continue;
            }
            if obstacles.is_straight(corner.at, to) {
                return Some(length);
            }
            tried += 1;
            if tried == UNSEEN_CORNERS_TRIED {
                horizon = Some(obstacles.horizon(to));
            }
        }
        // Where corners lie within the slack of one another, no way may seem tight.
        self.ways.length(self.from, to)
    }

    fn reached(&self) -> &[Reached] {
        self.reached.get_or_init(|| {
            let Some(obstacles) = &self.ways.0 else {
                return Vec::new();
            };
            let mut reached = vec![None; obstacles.corners.len()];
            let mut open = obstacles.begin(self.from, None, true);
            while let Some(step) = open.pop() {
                let Some((number, corner)) = step
                    .corner
                    .and_then(|number| Some((number, obstacles.corners.get(number)?)))
                else {
                    continue;
                };
                let Some(found) = reached.get_mut(number).filter(|found| found.is_none()) else {
                    continue;
                };
                if !(step.is_seen || obstacles.is_straight(self.from, corner.at)) {
                    continue;
                }
                let before = step.before.and_then(|before| obstacles.corners.get(before));
                *found = Some((step.length, corner.came(before.map_or(self.from, |before| before.at))));
                for (next, far) in obstacles.next(number, true) {
                    if reached.get(*next).is_some_and(Option::is_none) {
                        let length = step.length + far;
                        open.push(Step {
                            least: length,
                            length,
                            corner: Some(*next),
                            before: Some(number),
                            is_seen: true,
                        });
                    }
                }
            }
            reached
        })
    }
}
