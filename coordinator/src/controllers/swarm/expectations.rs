//! Requests to the API server that the cache does not show yet, so that an old cache does not have them made twice; and creations that it
//! refuses, so that one who may have no more Drones (a ResourceQuota, an admission webhook) does not ask at each reconcile.

use crate::cluster::api::ApiError;
use crate::cluster::retry::RETRY;
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
    /// By the uid of the Swarm or Mission.
    refused: HashMap<String, Refused>,
}

/// Creations of Drones that the API server has refused in a row.
#[derive(Debug)]
struct Refused {
    /// Generation of the Swarm or Mission: an edit is tried at once.
    generation: Option<i64>,
    times: u32,
    until: Instant,
    why: String,
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

    /// Notes that the API server refuses Drones to the Swarm or Mission `of`; returns how often it has in a row.
    pub fn refused(&self, of: &str, generation: Option<i64>, error: &ApiError, now: Instant) -> u32 {
        let mut inner = self.lock();
        let before = inner.refused.get(of).filter(|known| known.generation == generation);
        let times = before.map_or(1, |known| known.times.saturating_add(1));
        let refused = Refused {
            generation,
            times,
            until: now + RETRY.delay(times, rand::random()),
            why: sentence(error),
        };
        inner.refused.insert(of.to_owned(), refused);
        times
    }

    /// Forgets refusals: the API server has made a Drone, or none is asked for.
    pub fn not_refused(&self, of: &str) {
        self.lock().refused.remove(of);
    }

    /// How many Drones may be asked for now: one after a refusal, and none for a while.
    pub fn may_ask(&self, of: &str, generation: Option<i64>, now: Instant) -> usize {
        let inner = self.lock();
        match inner.refused.get(of) {
            Some(refused) if refused.generation == generation => usize::from(refused.until <= now),
            Some(_) => 1,
            None => usize::MAX,
        }
    }

    /// Why the API server refuses Drones, in a sentence, and the time until it is asked again.
    pub fn refusal(&self, of: &str, now: Instant) -> Option<(String, Duration)> {
        let inner = self.lock();
        let refused = inner.refused.get(of)?;
        Some((refused.why.clone(), refused.until.saturating_duration_since(now)))
    }

    pub fn forget(&self, swarm: &str) {
        let mut inner = self.lock();
        inner.made.remove(swarm);
        inner.refused.remove(swarm);
    }
}

/// Begins the words of the API server about a ResourceQuota.
pub(super) const EXCEEDED_QUOTA: &str = "exceeded quota: ";

/// Without the name of the Drone where the quota is why: it may be another at each try.
fn sentence(error: &ApiError) -> String {
    let text = error.to_string();
    match text.split_once(EXCEEDED_QUOTA) {
        Some((_, quota)) => {
            let quota = quota.trim_end_matches(" (403)");
            format!(
                "cannot create a Drone: {EXCEEDED_QUOTA}{quota}; raise that ResourceQuota, or delete other Drones of this namespace"
            )
        }
        None => text,
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

    fn refusal(words: &str) -> ApiError {
        let status = kube::core::Status::failure(words, "Forbidden").with_code(403);
        ApiError::Refused {
            what: "create a Drone",
            refusal: Box::new(kube::Error::Api(Box::new(status))),
        }
    }

    #[test]
    fn an_api_server_that_refuses_drones_is_asked_for_one_at_a_time_and_ever_more_rarely() {
        let (expectations, begin) = (Expectations::default(), Instant::now());
        let error = refusal("denied by a webhook");
        assert_eq!(expectations.may_ask("swarm", Some(1), begin), usize::MAX);
        let mut asked = 0;
        for second in 0..600 {
            let now = begin + Duration::from_secs(second);
            if expectations.may_ask("swarm", Some(1), now) > 0 {
                assert_eq!(expectations.refused("swarm", Some(1), &error, now), asked + 1);
                asked += 1;
                let (_, rest) = expectations.refusal("swarm", now).unwrap();
                assert!(!rest.is_zero() && rest <= RETRY.cap, "{rest:?}");
            }
        }
        assert!((20..60).contains(&asked), "{asked} in ten minutes");
        let last = begin + Duration::from_secs(600);
        assert_eq!(expectations.may_ask("other", Some(1), last), usize::MAX);
        assert_eq!(expectations.may_ask("swarm", Some(2), last), 1, "it was edited");
        assert_eq!(expectations.refused("swarm", Some(2), &error, last), 1);
        expectations.not_refused("swarm");
        assert_eq!(expectations.may_ask("swarm", Some(2), last), usize::MAX);
        assert_eq!(expectations.refusal("swarm", last), None);
    }

    #[test]
    fn a_quota_is_named_in_one_sentence_that_is_the_same_for_each_drone() {
        let of = |name: &str| {
            let quota = "exceeded quota: small, requested: count/drones.skein.dev=1, used: count/drones.skein.dev=2, limited: \
                         count/drones.skein.dev=2";
            sentence(&refusal(&format!("drones.skein.dev \"{name}\" is forbidden: {quota}")))
        };
        assert_eq!(of("alpha-good-bird"), of("alpha-calm-fox"));
        assert_eq!(
            of("alpha-good-bird"),
            "cannot create a Drone: exceeded quota: small, requested: count/drones.skein.dev=1, used: count/drones.skein.dev=2, limited: \
             count/drones.skein.dev=2; raise that ResourceQuota, or delete other Drones of this namespace"
        );
        assert_eq!(sentence(&refusal("no")), "cannot create a Drone: no (403)");
    }
}
