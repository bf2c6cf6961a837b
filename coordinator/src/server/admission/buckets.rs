//! Token buckets by key, bounded in number.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Beyond it, those with full buckets are forgotten.
const MAX_KEYS: usize = 10_000;

#[derive(Debug)]
pub struct Buckets<K> {
    burst: u32,
    every: Duration,
    /// When each bucket is full again.
    full_at: Mutex<HashMap<K, Instant>>,
}

impl<K: Eq + Hash> Buckets<K> {
    pub fn new(burst: u32, every: Duration) -> Self {
        Self {
            burst,
            every,
            full_at: Mutex::default(),
        }
    }

    /// False when the bucket is empty.
    pub fn take(&self, key: K, now: Instant) -> bool {
        self.reserve(key, Duration::ZERO, now).is_some()
    }

    /// Takes one from the bucket of `key`, or the next that comes into it within `patience`; when that is, or `None` where it takes longer.
    pub fn reserve(&self, key: K, patience: Duration, now: Instant) -> Option<Instant> {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if full_at.len() >= MAX_KEYS && !full_at.contains_key(&key) {
            full_at.retain(|_, full| *full > now);
            if full_at.len() >= MAX_KEYS {
                return None;
            }
        }
        let full = full_at.entry(key).or_insert(now);
        let next = (*full).max(now) + self.every;
        let due = next
            .checked_sub(self.every * self.burst)
            .map_or(now, |due| due.max(now));
        let fits = due.saturating_duration_since(now) <= patience;
        if fits {
            *full = next;
        }
        fits.then_some(due)
    }

    pub fn give_back(&self, key: &K, now: Instant) {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(full) = full_at.get_mut(key) {
            *full = full.checked_sub(self.every).map_or(now, |earlier| earlier.max(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_bucket_gives_its_burst_and_then_one_after_each_span() {
        let (buckets, now) = (Buckets::new(3, Duration::from_secs(1)), Instant::now());
        assert!((0..3).all(|_| buckets.take("a", now)));
        assert!(!buckets.take("a", now));
        buckets.give_back(&"a", now);
        assert!(buckets.take("a", now) && !buckets.take("a", now));
        assert!(buckets.take("b", now), "another key has its own");
        let later = now + Duration::from_secs(1);
        assert!(buckets.take("a", later));
        assert!(!buckets.take("a", later));
        let much_later = now + Duration::from_secs(60);
        assert!((0..3).all(|_| buckets.take("a", much_later)));
        assert!(!buckets.take("a", much_later));
    }

    #[tokio::test(start_paused = true)]
    async fn who_can_wait_gets_the_next_in_turn() {
        let (buckets, now) = (Buckets::new(2, Duration::from_secs(1)), Instant::now());
        let after = |patience| {
            let due = buckets.reserve("a", Duration::from_secs(patience), now);
            due.map(|due| due.duration_since(now).as_secs())
        };
        let patient = [2, 2, 2, 2, 2].map(after);
        assert_eq!(patient, [Some(0), Some(0), Some(1), Some(2), None]);
        assert!(!buckets.take("a", now));
        buckets.give_back(&"a", now);
        assert_eq!([after(1), after(2)], [None, Some(2)]);
        assert_eq!(buckets.reserve("b", Duration::ZERO, now), Some(now));
    }

    #[tokio::test(start_paused = true)]
    async fn keys_without_end_do_not_fill_the_memory() {
        let (buckets, now) = (Buckets::new(1, Duration::from_secs(1)), Instant::now());
        assert!((0..MAX_KEYS).all(|key| buckets.take(key, now)));
        assert!(!buckets.take(MAX_KEYS, now));
        assert!(buckets.take(MAX_KEYS, now + Duration::from_secs(2)));
        assert_eq!(buckets.full_at.lock().unwrap().len(), 1);
    }
}
