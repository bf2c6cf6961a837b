//! Memory of what was found out about places: the tours that are tried, the vehicles, and the cuts of the rest ask about the same places.

use super::horizon::Horizon;
use ::geo::Coord;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Then they are forgotten: some 8 MiB.
const MAX_HORIZONS: usize = 4096;

const MAX_LINES: usize = 1 << 16;

const MAX_WAYS: usize = 1 << 12;

/// Equal only in each bit, so that what is known is what would be found again.
type Place = [u64; 2];

type Way = Option<Arc<[Coord<f64>]>>;

#[derive(Debug, Default)]
pub(super) struct Known(Mutex<Finds>);

#[derive(Debug, Default)]
struct Finds {
    horizons: HashMap<Place, Arc<Horizon>>,
    /// Whether nothing lies between.
    straight: HashMap<(Place, Place), bool>,
    /// Between places that do not see one another.
    ways: HashMap<(Place, Place), Way>,
}

fn place(at: Coord<f64>) -> Place {
    [at.x.to_bits(), at.y.to_bits()]
}

impl Known {
    fn finds(&self) -> MutexGuard<'_, Finds> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn horizon(&self, from: Coord<f64>, find: impl FnOnce() -> Horizon) -> Arc<Horizon> {
        let known = self.finds().horizons.get(&place(from)).cloned();
        known.unwrap_or_else(|| {
            let found = Arc::new(find());
            let horizons = &mut self.finds().horizons;
            if horizons.len() >= MAX_HORIZONS {
                horizons.clear();
            }
            horizons.insert(place(from), Arc::clone(&found));
            found
        })
    }

    pub fn is_straight(&self, a: Coord<f64>, b: Coord<f64>, find: impl FnOnce() -> bool) -> bool {
        let places = (place(a), place(b));
        let known = self.finds().straight.get(&places).copied();
        known.unwrap_or_else(|| {
            let found = find();
            let straight = &mut self.finds().straight;
            if straight.len() >= MAX_LINES {
                straight.clear();
            }
            straight.insert(places, found);
            found
        })
    }

    pub fn way(&self, from: Coord<f64>, to: Coord<f64>, find: impl FnOnce() -> Option<Vec<Coord<f64>>>) -> Way {
        let places = (place(from), place(to));
        let known = self.finds().ways.get(&places).cloned();
        known.unwrap_or_else(|| {
            let found: Way = find().map(Arc::from);
            let ways = &mut self.finds().ways;
            if ways.len() >= MAX_WAYS {
                ways.clear();
            }
            ways.insert(places, found.clone());
            found
        })
    }

    /// All but the ways, which are few and asked for again when work is cut.
    pub fn forget(&self) {
        let finds = &mut *self.finds();
        (finds.horizons, finds.straight) = (HashMap::new(), HashMap::new());
    }
}
