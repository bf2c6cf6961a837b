//! Permits for connections, in all and for each key. When all are taken, a new connection gets the permit of the oldest one, if that one
//! has had its time. Were it cut sooner, a crowd would push its own out before any of them is done.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

#[derive(Debug)]
pub struct ConnectionLimits<K> {
    all: Arc<Mutex<Permits<K>>>,
    most: usize,
    most_per_key: usize,
    /// A younger permit is not withdrawn for a key that has as many.
    time: Duration,
}

#[derive(Debug)]
struct Permits<K> {
    count: u64,
    admitted: BTreeMap<u64, Admitted<K>>,
    per_key: HashMap<K, usize>,
    /// Number of keys by number of permits: with a whole fleet coming, nothing may search all keys for each connection.
    keys_with: BTreeMap<usize, usize>,
}

#[derive(Debug)]
struct Admitted<K> {
    key: K,
    since: Instant,
    lost: CancellationToken,
}

/// Dropping it frees it.
#[derive(Debug)]
pub struct ConnectionPermit<K: Clone + Eq + Hash> {
    all: Arc<Mutex<Permits<K>>>,
    number: u64,
}

impl<K: Clone + Eq + Hash> ConnectionLimits<K> {
    /// `most` permits, and at most `most_per_key` for one key; each for `time`, unless a key that has fewer needs it.
    pub fn new(most: usize, most_per_key: usize, time: Duration) -> Self {
        let taken = Permits {
            count: 0,
            admitted: BTreeMap::new(),
            per_key: HashMap::new(),
            keys_with: BTreeMap::new(),
        };
        Self {
            all: Arc::new(Mutex::new(taken)),
            most,
            most_per_key,
            time,
        }
    }

    /// Takes a permit for `key`; `None` when there is none. One may be withdrawn for it, which cancels its token: when the key has all it
    /// may have, the oldest of the same key; when all permits are taken, the oldest of the key that has the most, or, when no key has more
    /// than this one would, the oldest of all. The first and the last only after their time.
    pub fn take(&self, key: &K, lost: CancellationToken, now: Instant) -> Option<ConnectionPermit<K>> {
        self.take_of(self.most, key, lost, now)
    }

    /// The same with only `most` permits, of which one key may have the same share.
    pub fn take_of(&self, most: usize, key: &K, lost: CancellationToken, now: Instant) -> Option<ConnectionPermit<K>> {
        let most = most.min(self.most);
        let share = self.most_per_key.saturating_mul(most).checked_div(self.most);
        let most_per_key = share.unwrap_or_default().max(1);
        let mut all = lock(&self.all);
        let own = all.per_key.get(key).copied().unwrap_or_default();
        let mut greediest = None;
        let leaving = if own >= most_per_key {
            all.oldest_of(key)
        } else if all.admitted.len() >= most {
            greediest = all.greediest_with_more_than(own + 1);
            match &greediest {
                Some(greediest) => all.oldest_of(greediest),
                None => all.admitted.first_key_value().map(|(number, _)| *number),
            }
        } else {
            None
        };
        if let Some(number) = leaving {
            let admitted = all.admitted.get(&number)?;
            if greediest.is_none() && now.saturating_duration_since(admitted.since) < self.time {
                return None;
            }
            admitted.lost.cancel();
            all.remove(number);
        }
        let number = all.count;
        all.count += 1;
        let admitted = Admitted {
            key: key.clone(),
            since: now,
            lost,
        };
        all.admitted.insert(number, admitted);
        // The one withdrawn may be of the same key.
        let own = all.per_key.get(key).copied().unwrap_or_default();
        all.count_key(key, own + 1);
        drop(all);
        Some(ConnectionPermit {
            all: Arc::clone(&self.all),
            number,
        })
    }

    pub fn taken(&self) -> usize {
        lock(&self.all).admitted.len()
    }
}

impl<K: Clone + Eq + Hash> Permits<K> {
    fn greediest_with_more_than(&self, count: usize) -> Option<K> {
        let (most, _) = self.keys_with.last_key_value().filter(|(most, _)| **most > count)?;
        let mut keys = self.per_key.iter();
        keys.find(|(_, has)| *has == most).map(|(key, _)| key.clone())
    }

    fn oldest_of(&self, key: &K) -> Option<u64> {
        let oldest = self.admitted.iter().find(|(_, admitted)| admitted.key == *key);
        oldest.map(|(number, _)| *number)
    }

    fn remove(&mut self, number: u64) {
        if let Some(Admitted { key, .. }) = self.admitted.remove(&number) {
            let has = self.per_key.get(&key).copied().unwrap_or_default();
            self.count_key(&key, has.saturating_sub(1));
        }
    }

    fn count_key(&mut self, key: &K, now: usize) {
        let before = match now {
            0 => self.per_key.remove(key),
            _ => self.per_key.insert(key.clone(), now),
        };
        if let Some(before) = before
            && let Some(keys) = self.keys_with.get_mut(&before)
        {
            *keys -= 1;
            if *keys == 0 {
                self.keys_with.remove(&before);
            }
        }
        if now > 0 {
            *self.keys_with.entry(now).or_default() += 1;
        }
    }
}

impl<K: Clone + Eq + Hash> Drop for ConnectionPermit<K> {
    fn drop(&mut self) {
        lock(&self.all).remove(self.number);
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: Duration = Duration::from_secs(5);

    fn try_take(
        limits: &ConnectionLimits<&'static str>,
        key: &'static str,
    ) -> Option<(ConnectionPermit<&'static str>, CancellationToken)> {
        let lost = CancellationToken::new();
        Some((limits.take(&key, lost.clone(), Instant::now())?, lost))
    }

    fn take(
        limits: &ConnectionLimits<&'static str>,
        key: &'static str,
    ) -> (ConnectionPermit<&'static str>, CancellationToken) {
        try_take(limits, key).expect("there is a place")
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_too_many_places_loses_its_own_oldest() {
        let limits = ConnectionLimits::new(10, 2, Duration::ZERO);
        let bystander = take(&limits, "bystander");
        let crowd: Vec<_> = (0..20).map(|_| take(&limits, "crowd")).collect();
        assert_eq!(limits.taken(), 3);
        assert!(!bystander.1.is_cancelled());
        let lost = crowd.iter().filter(|(_, lost)| lost.is_cancelled()).count();
        assert_eq!(lost, 18);
        assert!(!crowd[18].1.is_cancelled() && !crowd[19].1.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn when_all_places_are_taken_the_greediest_pays_for_the_newcomer_at_once() {
        let limits = ConnectionLimits::new(4, 3, TIME);
        let bystander = take(&limits, "bystander");
        let crowd: Vec<_> = (0..3).map(|_| take(&limits, "crowd")).collect();
        let newcomer = take(&limits, "newcomer");
        assert!(!bystander.1.is_cancelled() && !newcomer.1.is_cancelled());
        assert!(crowd[0].1.is_cancelled());
        assert_eq!(limits.taken(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn who_sits_has_its_time_against_its_own_and_against_those_who_are_no_better_off() {
        let limits = ConnectionLimits::new(3, 2, TIME);
        let first = take(&limits, "a");
        tokio::time::advance(TIME / 2).await;
        let second = take(&limits, "a");
        assert!(try_take(&limits, "a").is_none(), "it has two, and both are young");
        let third = take(&limits, "b");
        tokio::time::advance(TIME / 2).await;
        let fourth = take(&limits, "a");
        assert!(first.1.is_cancelled() && !second.1.is_cancelled());
        drop(fourth);
        let fifth = take(&limits, "c");
        assert!(
            try_take(&limits, "d").is_none(),
            "each has one, and the oldest is young"
        );
        tokio::time::advance(TIME / 2).await;
        let sixth = take(&limits, "d");
        let lost = [&second, &third, &fifth, &sixth].map(|(_, lost)| lost.is_cancelled());
        assert_eq!(lost, [true, false, false, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn of_fewer_places_one_has_the_same_share_and_nobody_who_sits_is_hurried() {
        let limits = ConnectionLimits::new(8, 4, TIME);
        let take_of = |most, key| {
            let lost = CancellationToken::new();
            Some((limits.take_of(most, &key, lost.clone(), Instant::now())?, lost))
        };
        let crowd: Vec<_> = (0..2).filter_map(|_| take_of(4, "crowd")).collect();
        assert_eq!(crowd.len(), 2);
        assert!(take_of(4, "crowd").is_none(), "two of four are its share");
        let others = [take_of(4, "a").unwrap(), take_of(4, "b").unwrap()];
        // The one that has the most pays for a newcomer.
        let newcomer = take_of(4, "c").unwrap();
        assert!(crowd[0].1.is_cancelled() && !crowd[1].1.is_cancelled());
        assert!(take_of(4, "d").is_none(), "each has one, and the oldest is young");
        assert!(take_of(8, "d").is_some());
        assert!(others.iter().chain([&newcomer]).all(|(_, lost)| !lost.is_cancelled()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_that_is_given_back_is_free_and_one_that_was_lost_is_given_back_once() {
        let limits = ConnectionLimits::new(2, 1, Duration::ZERO);
        let first = take(&limits, "a");
        let second = take(&limits, "a");
        assert!(first.1.is_cancelled());
        drop(first);
        assert_eq!(limits.taken(), 1);
        drop(second);
        assert_eq!(limits.taken(), 0);
        assert!(lock(&limits.all).per_key.is_empty() && lock(&limits.all).keys_with.is_empty());
    }
}
