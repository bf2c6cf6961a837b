//! Actions that were shown to a person and wait for confirmation.

use super::guard::{same, secret};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A further one replaces the oldest.
const MAX_CONFIRMATIONS: usize = 32;

#[derive(Debug)]
pub struct Confirmations<T>(Mutex<VecDeque<(String, Instant, T)>>);

impl<T> Default for Confirmations<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Confirmations<T> {
    pub fn offer(&self, what: T, lives: Duration, now: Instant) -> String {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let code = secret();
        if waiting.len() >= MAX_CONFIRMATIONS {
            waiting.pop_front();
        }
        waiting.push_back((code.clone(), now + lives, what));
        code
    }

    /// Each code works once.
    pub fn take(&self, code: &str, now: Instant) -> Option<T> {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.retain(|(_, until, _)| *until > now);
        let index = waiting.iter().position(|(other, ..)| same(code, other))?;
        waiting.remove(index).map(|(.., what)| what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once_for_a_while_and_for_what_it_was_made_for() {
        let (codes, now, lives) = (Confirmations::default(), Instant::now(), Duration::from_secs(60));
        let (first, second) = (codes.offer(1, lives, now), codes.offer(2, lives, now));
        assert_eq!(codes.take("", now), None);
        assert_eq!(codes.take(&second, now), Some(2));
        assert_eq!(codes.take(&second, now), None);
        assert_eq!(codes.take(&first, now + lives), None);
    }

    #[test]
    fn so_many_wait_and_not_more() {
        let (codes, now, lives) = (Confirmations::default(), Instant::now(), Duration::from_secs(60));
        let first = codes.offer(0, lives, now);
        let others: Vec<String> = (1..=MAX_CONFIRMATIONS)
            .map(|number| codes.offer(number, lives, now))
            .collect();
        assert_eq!(codes.take(&first, now), None);
        assert_eq!(codes.take(&others[MAX_CONFIRMATIONS - 1], now), Some(MAX_CONFIRMATIONS));
    }
}
