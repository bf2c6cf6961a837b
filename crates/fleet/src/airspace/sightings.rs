//! Sightings of foreign aircraft, each by the vehicle that reports it.
//!
//! Owns: which are kept. No report removes what another vehicle receives (invariant 18), and no reporter has more than [`MAX_AIRCRAFT_PER_REPORTER`]: an
//! agent that invents aircraft costs others no more time than that.

use model::ids::NodeName;
use model::time::Moment;
use std::collections::{BTreeMap, BTreeSet};

/// Aircraft kept of one reporter: the last heard.
pub const MAX_AIRCRAFT_PER_REPORTER: usize = 32;

/// By the ICAO address of the aircraft.
#[derive(Clone, Debug)]
pub struct Sightings<T> {
    seen: BTreeMap<u32, BTreeMap<NodeName, (Moment, T)>>,
    by: BTreeMap<NodeName, BTreeSet<u32>>,
}

impl<T> Default for Sightings<T> {
    fn default() -> Self {
        Self {
            seen: BTreeMap::new(),
            by: BTreeMap::new(),
        }
    }
}

impl<T> Sightings<T> {
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// With when it was heard.
    pub fn last(&self, icao: u32, reporter: &NodeName) -> Option<&(Moment, T)> {
        self.seen.get(&icao)?.get(reporter)
    }

    /// Replaces the reporter's last sighting; returns what is dropped: that one, or the oldest of a reporter of too many.
    pub fn put(&mut self, (icao, reporter): (u32, &NodeName), heard: Moment, what: T) -> Option<T> {
        let before = self.remove(icao, reporter).or_else(|| {
            let all = self
                .by
                .get(reporter)
                .filter(|all| all.len() >= MAX_AIRCRAFT_PER_REPORTER)?;
            let heard = |icao: &u32| self.last(*icao, reporter).map(|(heard, _)| *heard);
            let oldest = *all.iter().min_by_key(|icao| heard(icao))?;
            self.remove(oldest, reporter)
        });
        self.seen
            .entry(icao)
            .or_default()
            .insert(reporter.clone(), (heard, what));
        self.by.entry(reporter.clone()).or_default().insert(icao);
        before
    }

    /// Returns what it drops.
    pub fn forget_before(&mut self, then: Moment) -> Vec<T> {
        let of = |(icao, by): (&u32, &BTreeMap<NodeName, (Moment, T)>)| {
            let old = by.iter().filter(|(_, (heard, _))| *heard < then);
            old.map(|(reporter, _)| (*icao, reporter.clone())).collect::<Vec<_>>()
        };
        let gone: Vec<(u32, NodeName)> = self.seen.iter().flat_map(of).collect();
        gone.iter()
            .filter_map(|(icao, reporter)| self.remove(*icao, reporter))
            .collect()
    }

    pub fn aircraft(&self) -> impl Iterator<Item = u32> {
        self.seen.keys().copied()
    }

    pub fn of(&self, icao: u32) -> impl Iterator<Item = &T> {
        self.seen
            .get(&icao)
            .into_iter()
            .flat_map(|by| by.values())
            .map(|(_, what)| what)
    }

    /// With when each was heard.
    pub fn all(&self) -> impl Iterator<Item = &(Moment, T)> {
        self.seen.values().flat_map(BTreeMap::values)
    }

    pub fn remove(&mut self, icao: u32, reporter: &NodeName) -> Option<T> {
        let by = self.seen.get_mut(&icao)?;
        let (_, what) = by.remove(reporter)?;
        if by.is_empty() {
            self.seen.remove(&icao);
        }
        if let Some(all) = self.by.get_mut(reporter) {
            all.remove(&icao);
            if all.is_empty() {
                self.by.remove(reporter);
            }
        }
        Some(what)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{node, second};
    use super::*;

    #[test]
    fn one_that_invents_aircraft_keeps_the_newest_of_them_and_none_of_anothers() {
        let mut sightings = Sightings::default();
        sightings.put((7, &node("honest")), second(0.0), 0);
        for icao in 0..1000 {
            sightings.put((icao, &node("liar")), second(f64::from(icao)), icao);
        }
        let of_liar: Vec<u32> = (0..1000)
            .filter(|icao| sightings.last(*icao, &node("liar")).is_some())
            .collect();
        assert_eq!(of_liar, (968..1000).collect::<Vec<_>>());
        assert_eq!(sightings.of(7).collect::<Vec<_>>(), [&0]);
        assert_eq!(sightings.aircraft().count(), MAX_AIRCRAFT_PER_REPORTER + 1);
        assert_eq!(sightings.forget_before(second(999.0)).len(), MAX_AIRCRAFT_PER_REPORTER);
        assert_eq!(sightings.all().count(), 1);
    }
}
