//! Requests to the API server that the cache does not show yet, so that an old cache does not have them made twice.

use crate::cluster::world::uid;
use crds::Drone;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// A watch that has not shown a write after this time is broken, and will be listed again.
pub(super) const EXPECTATION_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub struct Expectations(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// By the Swarm's uid, then the Drone's uid: its name, and when it was made.
    made: HashMap<String, HashMap<String, (String, Instant)>>,
    /// By the Drone's uid: when it was deleted.
    deleted: HashMap<String, Instant>,
}

impl Expectations {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `swarm` and `drone` are uids.
    pub fn created(&self, swarm: &str, name: &str, drone: &str, now: Instant) {
        let mut inner = self.lock();
        inner
            .made
            .entry(swarm.to_owned())
            .or_default()
            .insert(drone.to_owned(), (name.to_owned(), now));
    }

    /// Name and uid of the Drones made for a Swarm that are not among `observed`.
    pub fn unseen_creations(&self, swarm: &str, observed: &[Arc<Drone>], now: Instant) -> Vec<(String, String)> {
        let mut inner = self.lock();
        let Some(made) = inner.made.get_mut(swarm) else {
            return vec![];
        };
        if made.is_empty() {
            return vec![];
        }
        let observed: HashSet<&str> = observed.iter().map(|drone| uid(drone.as_ref())).collect();
        made.retain(|drone, (_, at)| !observed.contains(drone.as_str()) && now - *at < EXPECTATION_TIMEOUT);
        made.iter()
            .map(|(drone, (name, _))| (name.clone(), drone.clone()))
            .collect()
    }

    pub fn expects_creations(&self, swarm: &str, now: Instant) -> bool {
        self.lock()
            .made
            .get(swarm)
            .is_some_and(|made| made.values().any(|(_, at)| now - *at < EXPECTATION_TIMEOUT))
    }

    pub fn deleted(&self, drone: &str, now: Instant) {
        let mut inner = self.lock();
        inner.deleted.retain(|_, at| now - *at < EXPECTATION_TIMEOUT);
        inner.deleted.insert(drone.to_owned(), now);
    }

    pub fn expects_deletion(&self, drone: &str, now: Instant) -> bool {
        self.lock()
            .deleted
            .get(drone)
            .is_some_and(|at| now - *at < EXPECTATION_TIMEOUT)
    }

    pub fn forget(&self, swarm: &str) {
        self.lock().made.remove(swarm);
    }
}

#[cfg(test)]
fn drone(name: &str, uid: &str) -> Arc<Drone> {
    let mut drone = Drone::new(name, crds::DroneSpec::default());
    drone.metadata.uid = Some(uid.into());
    Arc::new(drone)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_drone_just_made_counts_until_the_cache_shows_it() {
        let (expectations, now) = (Expectations::default(), Instant::now());
        expectations.created("swarm", "a", "1", now);
        expectations.created("swarm", "b", "2", now);
        assert_eq!(expectations.unseen_creations("swarm", &[], now).len(), 2);
        let left = expectations.unseen_creations("swarm", &[drone("a", "1")], now);
        assert_eq!(left, [("b".to_owned(), "2".to_owned())]);
        assert!(
            expectations
                .unseen_creations("swarm", &[], now + EXPECTATION_TIMEOUT)
                .is_empty()
        );
    }

    #[test]
    fn a_deletion_asked_for_is_remembered_until_it_is_seen() {
        let (expectations, now) = (Expectations::default(), Instant::now());
        assert!(!expectations.expects_deletion("1", now));
        expectations.deleted("1", now);
        assert!(expectations.expects_deletion("1", now));
        assert!(!expectations.expects_deletion("1", now + EXPECTATION_TIMEOUT));
    }
}
