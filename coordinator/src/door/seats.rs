//! Places for connections, a number in all and for each key; whoever comes when they are taken gets the oldest one's.
//!
//! Owns: who has a place. Must not: know what a connection is; one that loses its place sees its token cancelled.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// The places.
#[derive(Debug)]
pub struct Seats<K> {
    all: Arc<Mutex<Taken<K>>>,
    most: usize,
    most_per_key: usize,
}

#[derive(Debug)]
struct Taken<K> {
    count: u64,
    /// By age.
    seats: BTreeMap<u64, (K, CancellationToken)>,
    /// How many each key has.
    per_key: HashMap<K, usize>,
}

/// A place; dropping it frees it.
#[derive(Debug)]
pub struct Seat<K: Eq + Hash> {
    all: Arc<Mutex<Taken<K>>>,
    number: u64,
}

impl<K: Clone + Eq + Hash> Seats<K> {
    /// `most` places, and at most `most_per_key` for one key.
    #[must_use]
    pub fn new(most: usize, most_per_key: usize) -> Self {
        let taken = Taken {
            count: 0,
            seats: BTreeMap::new(),
            per_key: HashMap::new(),
        };
        Self {
            all: Arc::new(Mutex::new(taken)),
            most,
            most_per_key,
        }
    }

    /// Takes a place for `key`; whoever has to go sees its token cancelled: the oldest of the same key when the key has all it
    /// may, else, when all places are taken, the oldest of the key that has the most.
    pub fn take(&self, key: &K, lost: CancellationToken) -> Seat<K> {
        let mut all = lock(&self.all);
        let own = all.per_key.get(key).copied().unwrap_or_default();
        let leaving = if own >= self.most_per_key {
            Some(key.clone())
        } else if all.seats.len() >= self.most {
            let greediest = all.per_key.iter().max_by_key(|(_, count)| **count);
            greediest.map(|(key, _)| key.clone())
        } else {
            None
        };
        if let Some(leaving) = leaving {
            let oldest = all.seats.iter().find(|(_, (key, _))| *key == leaving);
            if let Some(number) = oldest.map(|(number, _)| *number)
                && let Some(token) = all.remove(number)
            {
                token.cancel();
            }
        }
        let number = all.count;
        all.count += 1;
        all.seats.insert(number, (key.clone(), lost));
        *all.per_key.entry(key.clone()).or_default() += 1;
        drop(all);
        Seat {
            all: Arc::clone(&self.all),
            number,
        }
    }

    /// How many places are taken.
    #[must_use]
    pub fn taken(&self) -> usize {
        lock(&self.all).seats.len()
    }
}

impl<K: Eq + Hash> Taken<K> {
    fn remove(&mut self, number: u64) -> Option<CancellationToken> {
        let (key, token) = self.seats.remove(&number)?;
        if let Some(count) = self.per_key.get_mut(&key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.per_key.remove(&key);
            }
        }
        Some(token)
    }
}

impl<K: Eq + Hash> Drop for Seat<K> {
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

    fn take(seats: &Seats<&'static str>, key: &'static str) -> (Seat<&'static str>, CancellationToken) {
        let lost = CancellationToken::new();
        (seats.take(&key, lost.clone()), lost)
    }

    #[test]
    fn who_takes_too_many_places_loses_its_own_oldest() {
        let seats = Seats::new(10, 2);
        let bystander = take(&seats, "bystander");
        let crowd: Vec<_> = (0..20).map(|_| take(&seats, "crowd")).collect();
        assert_eq!(seats.taken(), 3);
        assert!(!bystander.1.is_cancelled());
        let lost = crowd.iter().filter(|(_, lost)| lost.is_cancelled()).count();
        assert_eq!(lost, 18);
        assert!(!crowd[18].1.is_cancelled() && !crowd[19].1.is_cancelled());
    }

    #[test]
    fn when_all_places_are_taken_the_greediest_pays_for_the_newcomer() {
        let seats = Seats::new(4, 3);
        let bystander = take(&seats, "bystander");
        let crowd: Vec<_> = (0..3).map(|_| take(&seats, "crowd")).collect();
        let newcomer = take(&seats, "newcomer");
        assert!(!bystander.1.is_cancelled() && !newcomer.1.is_cancelled());
        assert!(crowd[0].1.is_cancelled());
        assert_eq!(seats.taken(), 4);
    }

    #[test]
    fn a_place_that_is_given_back_is_free_and_one_that_was_lost_is_given_back_once() {
        let seats = Seats::new(2, 1);
        let first = take(&seats, "a");
        let second = take(&seats, "a");
        assert!(first.1.is_cancelled());
        drop(first);
        assert_eq!(seats.taken(), 1);
        drop(second);
        assert_eq!(seats.taken(), 0);
        assert!(lock(&seats.all).per_key.is_empty());
    }
}
