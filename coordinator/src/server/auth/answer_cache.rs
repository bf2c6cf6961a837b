//! A cache of answers of the API server, bounded in age and number.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

pub const ANSWER_FRESH_FOR: Duration = Duration::from_secs(10);

/// How long a good answer counts when the API server cannot be asked and the call makes things safer.
pub const LAST_RESORT_FOR: Duration = Duration::from_secs(3600);

/// Time for a newer answer where one of the last hour counts: an order to ground reaches agents within a second.
pub const NEWER_ANSWER_TIMEOUT: Duration = Duration::from_millis(100);

/// By default; beyond it the oldest half goes.
const DEFAULT_MAX_ANSWERS: usize = 4096;

/// Answers, each with its time.
#[derive(Debug)]
pub struct AnswerCache<K, V> {
    answers: Mutex<HashMap<K, (V, Instant)>>,
    most: usize,
}

impl<K, V> Default for AnswerCache<K, V> {
    fn default() -> Self {
        Self::of_at_most(DEFAULT_MAX_ANSWERS)
    }
}

impl<K, V> AnswerCache<K, V> {
    pub fn of_at_most(most: usize) -> Self {
        Self {
            answers: Mutex::default(),
            most,
        }
    }
}

impl<K: Eq + Hash, V: Clone> AnswerCache<K, V> {
    /// `None` where it is older than `age`.
    pub fn get(&self, key: &K, age: Duration, now: Instant) -> Option<V> {
        let cache = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let (answer, at) = cache.get(key)?;
        (now.saturating_duration_since(*at) <= age).then(|| answer.clone())
    }

    pub fn keep(&self, key: K, answer: V, now: Instant) {
        let mut cache = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= self.most && !cache.contains_key(&key) {
            let mut ages: Vec<Instant> = cache.values().map(|(_, at)| *at).collect();
            ages.sort_unstable();
            if let Some(middle) = ages.get(ages.len() / 2).copied() {
                cache.retain(|_, (_, at)| *at > middle);
            }
        }
        cache.insert(key, (answer, now));
    }

    pub fn forget(&self, key: &K) {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

/// Good and bad answers. Apart, so that guesses without end push no good one out.
#[derive(Debug)]
pub struct Verdicts<K, Good, Bad> {
    good: AnswerCache<K, Good>,
    bad: AnswerCache<K, Bad>,
}

impl<K, Good, Bad> Default for Verdicts<K, Good, Bad> {
    fn default() -> Self {
        Self {
            good: AnswerCache::default(),
            bad: AnswerCache::default(),
        }
    }
}

impl<K: Copy + Eq + Hash, Good: Clone, Bad: Clone> Verdicts<K, Good, Bad> {
    /// The answer to `key`, while it counts without asking again.
    pub fn fresh(&self, key: &K, now: Instant) -> Option<Result<Good, Bad>> {
        let good = self.good.get(key, ANSWER_FRESH_FOR, now).map(Ok);
        good.or_else(|| self.bad.get(key, ANSWER_FRESH_FOR, now).map(Err))
    }

    /// The good answer to `key` within the last hour.
    pub fn last_resort(&self, key: &K, now: Instant) -> Option<Good> {
        self.good.get(key, LAST_RESORT_FOR, now)
    }

    /// Whether `key` had a good answer within the last hour, or has a fresh bad one: the cost of checking it is bounded.
    pub fn knows(&self, key: &K, now: Instant) -> bool {
        self.last_resort(key, now).is_some() || self.bad.get(key, ANSWER_FRESH_FOR, now).is_some()
    }

    /// Replaces the answer before.
    pub fn keep(&self, key: K, answer: &Result<Good, Bad>, now: Instant) {
        match answer {
            Ok(good) => {
                self.bad.forget(&key);
                self.good.keep(key, good.clone(), now);
            }
            Err(bad) => {
                self.good.forget(&key);
                self.bad.keep(key, bad.clone(), now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_counts_while_it_is_fresh() {
        let (cache, now) = (AnswerCache::default(), Instant::now());
        cache.keep("a", 1, now);
        assert_eq!(cache.get(&"a", ANSWER_FRESH_FOR, now + ANSWER_FRESH_FOR), Some(1));
        let later = now + ANSWER_FRESH_FOR + Duration::from_secs(1);
        assert_eq!(cache.get(&"a", ANSWER_FRESH_FOR, later), None);
        assert_eq!(cache.get(&"a", LAST_RESORT_FOR, later), Some(1));
        assert_eq!(cache.get(&"b", LAST_RESORT_FOR, now), None);
        cache.forget(&"a");
        assert_eq!(cache.get(&"a", ANSWER_FRESH_FOR, now), None);
    }

    #[tokio::test(start_paused = true)]
    async fn answers_without_end_do_not_fill_the_memory_and_the_newest_stay() {
        let (cache, now) = (AnswerCache::default(), Instant::now());
        for number in 0..10_000_u64 {
            cache.keep(number, (), now + Duration::from_millis(number));
        }
        assert!(cache.answers.lock().unwrap().len() <= DEFAULT_MAX_ANSWERS);
        assert!(cache.get(&9_999, LAST_RESORT_FOR, now).is_some());
        assert!(cache.get(&0, LAST_RESORT_FOR, now).is_none());
        let at_once = AnswerCache::default();
        (0..10_000).for_each(|number| at_once.keep(number, (), now));
        assert!(at_once.answers.lock().unwrap().len() <= DEFAULT_MAX_ANSWERS);
    }
}
