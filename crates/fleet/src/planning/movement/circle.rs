//! Which vehicles wait in a circle.

use crate::airspace::Owner;
use model::ids::NodeName;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct Circles {
    /// For which others in circles each waits.
    waits: BTreeMap<NodeName, BTreeSet<NodeName>>,
    awaited: BTreeMap<NodeName, BTreeSet<NodeName>>,
}

impl Circles {
    pub(super) fn among<'a>(waits: impl Iterator<Item = (&'a NodeName, &'a BTreeSet<Owner>)>) -> Self {
        let all: BTreeMap<&NodeName, &BTreeSet<Owner>> = waits.collect();
        let mut circles = Self::default();
        for (&one, owners) in &all {
            for owner in owners.iter() {
                // A vehicle that does not wait either moves or never will: it is in no circle.
                if let Owner::Vehicle(other) = owner
                    && all.contains_key(other)
                {
                    circles.waits.entry(one.clone()).or_default().insert(other.clone());
                    circles.awaited.entry(other.clone()).or_default().insert(one.clone());
                }
            }
        }
        let ends: Vec<NodeName> = all.keys().map(|&one| one.clone()).collect();
        circles.peel(ends);
        circles
    }

    /// In a circle, or between two.
    pub(super) fn has(&self, vehicle: &NodeName) -> bool {
        self.waits.contains_key(vehicle) && self.awaited.contains_key(vehicle)
    }

    pub(super) fn remove(&mut self, vehicle: &NodeName) {
        let touched = self.take_out(vehicle);
        self.peel(touched);
    }

    /// Removes all that wait for none here, or for which none here waits, until nothing changes.
    fn peel(&mut self, mut maybe: Vec<NodeName>) {
        while let Some(one) = maybe.pop() {
            if !self.has(&one) {
                maybe.extend(self.take_out(&one));
            }
        }
    }

    fn take_out(&mut self, vehicle: &NodeName) -> Vec<NodeName> {
        let ahead = self.waits.remove(vehicle).unwrap_or_default();
        let behind = self.awaited.remove(vehicle).unwrap_or_default();
        drop_from(&mut self.awaited, &ahead, vehicle);
        drop_from(&mut self.waits, &behind, vehicle);
        ahead.into_iter().chain(behind).collect()
    }
}

fn drop_from(of: &mut BTreeMap<NodeName, BTreeSet<NodeName>>, all: &BTreeSet<NodeName>, vehicle: &NodeName) {
    for one in all {
        if let Some(others) = of.get_mut(one) {
            others.remove(vehicle);
            if others.is_empty() {
                of.remove(one);
            }
        }
    }
}
