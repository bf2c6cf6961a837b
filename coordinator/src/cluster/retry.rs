//! Delays after failed work.

use model::backoff::Backoff;
use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

pub const RETRY: Backoff = Backoff {
    first: Duration::from_millis(200),
    cap: Duration::from_secs(30),
};

/// A watch that has failed. It costs the API server little, and until then we are blind.
pub const WATCH_RETRY: Backoff = Backoff {
    first: Duration::from_millis(400),
    cap: Duration::from_secs(5),
};

/// Limit of the rest after a failure, in which wake-ups are ignored: an outage causes no storm, and a mended cause is soon noticed.
const MAX_REST: Duration = Duration::from_secs(1);

/// Failures in a row, by key. A key is forgotten when its work succeeds or its object is gone.
#[derive(Debug)]
pub struct Failures<K>(Mutex<HashMap<K, Failed>>);

#[derive(Debug)]
struct Failed {
    times: u32,
    last: Instant,
}

impl<K> Default for Failures<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash + Display> Failures<K> {
    /// The delay after which to try again, `jitter` being in 0.0..=1.0.
    pub fn failed(&self, key: &K, error: &impl Display, now: Instant, jitter: f64) -> Duration {
        let mut failures = self.lock();
        let failed = failures.entry(key.clone()).or_insert(Failed { times: 0, last: now });
        *failed = Failed {
            times: failed.times.saturating_add(1),
            last: now,
        };
        let times = failed.times;
        drop(failures);
        // Often enough to be noticed, not so often as to hide all else.
        if times.is_power_of_two() {
            tracing::warn!(%key, %error, failures = times, "will be tried again");
        }
        RETRY.delay(times, jitter)
    }

    pub fn forget(&self, key: &K) {
        self.lock().remove(key);
    }

    /// How long `key` is still left alone after a failure.
    pub fn resting(&self, key: &K, now: Instant) -> Option<Duration> {
        let failures = self.lock();
        let Failed { times, last } = failures.get(key)?;
        let rest = RETRY.delay(*times, 0.0).min(MAX_REST);
        rest.checked_sub(now.saturating_duration_since(*last))
            .filter(|left| !left.is_zero())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, Failed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn delays_grow_with_failures_in_a_row_and_start_afresh_after_a_success() {
        let (failures, now) = (Failures::default(), Instant::now());
        let delays: Vec<_> = (0..10)
            .map(|_| failures.failed(&1, &"no API server", now, 1.0).as_millis())
            .collect();
        assert_eq!(
            delays,
            [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000]
        );
        assert_eq!(failures.failed(&2, &"no API server", now, 1.0), RETRY.first);
        failures.forget(&1);
        assert_eq!(failures.failed(&1, &"no API server", now, 1.0), RETRY.first);
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_just_failed_rests_for_a_moment_and_never_beyond_its_turn() {
        let (failures, now) = (Failures::default(), Instant::now());
        assert_eq!(failures.resting(&1, now), None);
        for _ in 0..10 {
            let delay = failures.failed(&1, &"no API server", now, 0.0);
            assert_eq!(failures.resting(&1, now), Some(delay.min(MAX_REST)));
            assert_eq!(failures.resting(&1, now + delay), None);
        }
    }
}
