//! Places for connections, a number in all and for each key; whoever comes when they are taken gets the oldest one's, if that one
//! has had its time. Were it sent away sooner, a crowd would push its own out before any of them is done, and nobody would get in.
//!
//! Owns: who has a place. Must not: know what a connection is; one that loses its place sees its token cancelled. Must not: read
//! a clock; time is a parameter.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The places.
#[derive(Debug)]
pub struct Seats<K> {
    all: Arc<Mutex<Taken<K>>>,
    most: usize,
    most_per_key: usize,
    /// Whoever sits for a shorter time keeps its place against those whose key has as many.
    time: Duration,
}

#[derive(Debug)]
struct Taken<K> {
    count: u64,
    /// By age.
    seats: BTreeMap<u64, Sitting<K>>,
    /// How many each key has.
    per_key: HashMap<K, usize>,
    /// How many keys have so many: when a whole fleet comes, nobody is to look through all of them for each that comes.
    keys_with: BTreeMap<usize, usize>,
}

#[derive(Debug)]
struct Sitting<K> {
    key: K,
    since: Instant,
    lost: CancellationToken,
}

/// A place; dropping it frees it.
#[derive(Debug)]
pub struct Seat<K: Clone + Eq + Hash> {
    all: Arc<Mutex<Taken<K>>>,
    number: u64,
}

impl<K: Clone + Eq + Hash> Seats<K> {
    /// `most` places, and at most `most_per_key` for one key; each for `time`, if nobody needs it who has fewer.
    #[must_use]
    pub fn new(most: usize, most_per_key: usize, time: Duration) -> Self {
        let taken = Taken {
            count: 0,
            seats: BTreeMap::new(),
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

    /// Takes a place for `key`; `None` when there is none. Whoever has to go sees its token cancelled: when the key has all it may,
    /// the oldest of the same key; when all places are taken, the oldest of the key that has the most, or, when no key has more
    /// than this one would, the oldest of all. The first and the last only when they have had their time.
    pub fn take(&self, key: &K, lost: CancellationToken, now: Instant) -> Option<Seat<K>> {
        let mut all = lock(&self.all);
        let own = all.per_key.get(key).copied().unwrap_or_default();
        let mut greediest = None;
        let leaving = if own >= self.most_per_key {
            all.oldest_of(key)
        } else if all.seats.len() >= self.most {
            greediest = all.greediest_with_more_than(own + 1);
            match &greediest {
                Some(greediest) => all.oldest_of(greediest),
                None => all.seats.first_key_value().map(|(number, _)| *number),
            }
        } else {
            None
        };
        if let Some(number) = leaving {
            let sitting = all.seats.get(&number)?;
            if greediest.is_none() && now.saturating_duration_since(sitting.since) < self.time {
                return None;
            }
            sitting.lost.cancel();
            all.remove(number);
        }
        let number = all.count;
        all.count += 1;
        let sitting = Sitting {
            key: key.clone(),
            since: now,
            lost,
        };
        all.seats.insert(number, sitting);
        // It may be one of its own that had to go.
        let own = all.per_key.get(key).copied().unwrap_or_default();
        all.count_key(key, own + 1);
        drop(all);
        Some(Seat {
            all: Arc::clone(&self.all),
            number,
        })
    }

    /// How many places are taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        lock(&self.all).seats.len()
    }
}

impl<K: Clone + Eq + Hash> Taken<K> {
    fn greediest_with_more_than(&self, count: usize) -> Option<K> {
        let (most, _) = self.keys_with.last_key_value().filter(|(most, _)| **most > count)?;
        let mut keys = self.per_key.iter();
        keys.find(|(_, has)| *has == most).map(|(key, _)| key.clone())
    }

    fn oldest_of(&self, key: &K) -> Option<u64> {
        let oldest = self.seats.iter().find(|(_, sitting)| sitting.key == *key);
        oldest.map(|(number, _)| *number)
    }

    fn remove(&mut self, number: u64) {
        if let Some(Sitting { key, .. }) = self.seats.remove(&number) {
            let has = self.per_key.get(&key).copied().unwrap_or_default();
            self.count_key(&key, has.saturating_sub(1));
        }
    }

    /// From now on `key` has so many.
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

impl<K: Clone + Eq + Hash> Drop for Seat<K> {
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

    fn try_take(seats: &Seats<&'static str>, key: &'static str) -> Option<(Seat<&'static str>, CancellationToken)> {
        let lost = CancellationToken::new();
        Some((seats.take(&key, lost.clone(), Instant::now())?, lost))
    }

    fn take(seats: &Seats<&'static str>, key: &'static str) -> (Seat<&'static str>, CancellationToken) {
        try_take(seats, key).expect("there is a place")
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_too_many_places_loses_its_own_oldest() {
        let seats = Seats::new(10, 2, Duration::ZERO);
        let bystander = take(&seats, "bystander");
        let crowd: Vec<_> = (0..20).map(|_| take(&seats, "crowd")).collect();
        assert_eq!(seats.taken(), 3);
        assert!(!bystander.1.is_cancelled());
        let lost = crowd.iter().filter(|(_, lost)| lost.is_cancelled()).count();
        assert_eq!(lost, 18);
        assert!(!crowd[18].1.is_cancelled() && !crowd[19].1.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn when_all_places_are_taken_the_greediest_pays_for_the_newcomer_at_once() {
        let seats = Seats::new(4, 3, TIME);
        let bystander = take(&seats, "bystander");
        let crowd: Vec<_> = (0..3).map(|_| take(&seats, "crowd")).collect();
        let newcomer = take(&seats, "newcomer");
        assert!(!bystander.1.is_cancelled() && !newcomer.1.is_cancelled());
        assert!(crowd[0].1.is_cancelled());
        assert_eq!(seats.taken(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn who_sits_has_its_time_against_its_own_and_against_those_who_are_no_better_off() {
        let seats = Seats::new(3, 2, TIME);
        let first = take(&seats, "a");
        tokio::time::advance(TIME / 2).await;
        let second = take(&seats, "a");
        assert!(try_take(&seats, "a").is_none(), "it has two, and both are young");
        let third = take(&seats, "b");
        tokio::time::advance(TIME / 2).await;
        let fourth = take(&seats, "a");
        assert!(first.1.is_cancelled() && !second.1.is_cancelled());
        drop(fourth);
        let fifth = take(&seats, "c");
        assert!(try_take(&seats, "d").is_none(), "each has one, and the oldest is young");
        tokio::time::advance(TIME / 2).await;
        let sixth = take(&seats, "d");
        let lost = [&second, &third, &fifth, &sixth].map(|(_, lost)| lost.is_cancelled());
        assert_eq!(lost, [true, false, false, false]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_place_that_is_given_back_is_free_and_one_that_was_lost_is_given_back_once() {
        let seats = Seats::new(2, 1, Duration::ZERO);
        let first = take(&seats, "a");
        let second = take(&seats, "a");
        assert!(first.1.is_cancelled());
        drop(first);
        assert_eq!(seats.taken(), 1);
        drop(second);
        assert_eq!(seats.taken(), 0);
        assert!(lock(&seats.all).per_key.is_empty() && lock(&seats.all).keys_with.is_empty());
    }
}
