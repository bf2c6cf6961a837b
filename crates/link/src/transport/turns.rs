//! Turns at the serial ports of this machine. Boards that draw power from one hub start when their ports are opened,
//! and many at once can take it down; so a program that flies several vehicles opens one port after the other.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

const APART: Duration = Duration::from_millis(100);

/// A turn further away is invalid: the clock was set.
const FARTHEST: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct Turns {
    last: Mutex<Option<Instant>>,
}

pub(crate) static SERIAL: Turns = Turns { last: Mutex::new(None) };

impl Turns {
    /// Safe to cancel; the turn is lost then.
    pub async fn wait(&self) {
        sleep_until(self.take(Instant::now())).await;
    }

    fn take(&self, now: Instant) -> Instant {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let next = last.map(|last| last + APART).filter(|next| *next <= now + FARTHEST);
        let turn = next.map_or(now, |next| next.max(now));
        *last = Some(turn);
        turn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_at_once_are_spread_and_one_alone_waits_for_nothing() {
        let (turns, now) = (Turns::default(), Instant::now());
        let at_once: Vec<Duration> = (0..50).map(|_| turns.take(now) - now).collect();
        assert_eq!(at_once.first(), Some(&Duration::ZERO));
        assert!(at_once.windows(2).all(|pair| pair[1] - pair[0] == APART), "{at_once:?}");
        let later = now + Duration::from_secs(30);
        assert_eq!(turns.take(later), later);
        assert_eq!(turns.take(now), now + Duration::from_secs(30) + APART);
        let turns = Turns {
            last: Mutex::new(Some(now + Duration::from_secs(3600))),
        };
        assert_eq!(turns.take(now), now);
    }
}
