//! Memory of what was found out about places: the tours that are tried, the vehicles, and the cuts of the rest ask about the same places.

use super::horizon::Horizon;
use ::geo::Coord;
use std::collections::HashMap;
use std::hash::Hash;
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
        self.remembered(
            |finds| &mut finds.horizons,
            place(from),
            MAX_HORIZONS,
            || Arc::new(find()),
        )
    }

    pub fn is_straight(&self, a: Coord<f64>, b: Coord<f64>, find: impl FnOnce() -> bool) -> bool {
        self.remembered(|finds| &mut finds.straight, (place(a), place(b)), MAX_LINES, find)
    }

    pub fn way(&self, from: Coord<f64>, to: Coord<f64>, find: impl FnOnce() -> Option<Vec<Coord<f64>>>) -> Way {
        let find = || find().map(Arc::from);
        self.remembered(|finds| &mut finds.ways, (place(from), place(to)), MAX_WAYS, find)
    }

    /// Nothing is locked while it is searched: that may ask for more.
    fn remembered<K: Eq + Hash, V: Clone>(
        &self,
        of: impl Fn(&mut Finds) -> &mut HashMap<K, V>,
        place: K,
        most: usize,
        find: impl FnOnce() -> V,
    ) -> V {
        let known = of(&mut self.finds()).get(&place).cloned();
        known.unwrap_or_else(|| {
            let found = find();
            let mut finds = self.finds();
            let all = of(&mut finds);
            if all.len() >= most {
                all.clear();
            }
            all.insert(place, found.clone());
            found
        })
    }

    /// All but the ways, which are few and asked for again when work is cut.
    pub fn forget(&self) {
        let finds = &mut *self.finds();
        (finds.horizons, finds.straight) = (HashMap::new(), HashMap::new());
    }
}
