//! A spatial index of tubes, so that a claim is checked against its neighbors only.

use super::{Rules, Tube, Volume};
use model::geo::Local;
use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB, RTree};
use std::collections::{BTreeMap, BTreeSet};

pub(super) type Key = u32;

type Boxed = GeomWithData<Rectangle<[f64; 3]>, (Key, u16)>;

#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    tree: RTree<Boxed>,
    volumes: BTreeMap<Key, Volume>,
    everywhere: BTreeSet<Key>,
}

impl Index {
    /// A tube without a finite box is everywhere.
    pub(super) fn set(&mut self, key: Key, volume: Volume) {
        if self.volumes.get(&key) == Some(&volume) {
            return;
        }
        self.remove(key);
        match &volume {
            Volume::Tubes(tubes) if tubes.len() < usize::from(u16::MAX) && tubes.iter().all(Tube::is_finite) => {
                for boxed in boxes(key, tubes) {
                    self.tree.insert(boxed);
                }
            }
            Volume::Tubes(_) | Volume::Everywhere => {
                self.everywhere.insert(key);
            }
        }
        self.volumes.insert(key, volume);
    }

    pub(super) fn remove(&mut self, key: Key) {
        if let Some(Volume::Tubes(tubes)) = self.volumes.remove(&key)
            && !self.everywhere.remove(&key)
        {
            for boxed in boxes(key, &tubes) {
                self.tree.remove(&boxed);
            }
        } else {
            self.everywhere.remove(&key);
        }
    }

    pub(super) fn volume(&self, key: Key) -> Option<&Volume> {
        self.volumes.get(&key)
    }

    /// Also when it is not finite.
    pub(super) fn is_everywhere(&self, key: Key) -> bool {
        self.everywhere.contains(&key)
    }

    /// Owners that may be within `distance` of `there` over ground, meters, at any altitude; some others, too.
    pub(super) fn around(&self, there: Local, distance: f64) -> BTreeSet<Key> {
        let corner = |far: f64, up: f64| [there.east + far, there.north + far, up];
        let square = AABB::from_corners(corner(-distance, f64::MIN), corner(distance, f64::MAX));
        let near = self.tree.locate_in_envelope_intersecting(square);
        near.map(|near| near.data.0)
            .chain(self.everywhere.iter().copied())
            .collect()
    }

    /// Owners other than `own` whose volume is not clear of `volume`.
    pub(super) fn in_the_way(&self, own: Key, volume: &Volume, rules: &Rules) -> BTreeSet<Key> {
        let mut found: BTreeSet<Key> = self.everywhere.iter().copied().filter(|key| *key != own).collect();
        let tubes = match volume {
            Volume::Tubes(tubes) if tubes.iter().all(Tube::is_finite) => tubes,
            Volume::Tubes(_) | Volume::Everywhere => {
                return self.volumes.keys().copied().filter(|key| *key != own).collect();
            }
        };
        let reach = rules.apart(false).max(rules.apart(true));
        for tube in tubes {
            let (low, high) = tube.bounds(reach, rules.separation.vertical.0);
            for near in self.tree.locate_in_envelope_intersecting(AABB::from_corners(low, high)) {
                let (key, number) = near.data;
                if key == own || found.contains(&key) {
                    continue;
                }
                if let Some(Volume::Tubes(others)) = self.volumes.get(&key)
                    && others
                        .get(usize::from(number))
                        .is_some_and(|other| !tube.clear_of(other, rules))
                {
                    found.insert(key);
                }
            }
        }
        found
    }
}

fn boxes(key: Key, tubes: &[Tube]) -> impl Iterator<Item = Boxed> {
    tubes.iter().zip(0u16..).map(move |(tube, number)| {
        let (low, high) = tube.bounds(0.0, 0.0);
        GeomWithData::new(Rectangle::from_corners(low, high), (key, number))
    })
}
