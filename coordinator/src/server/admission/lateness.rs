//! How long the tasks of this process wait for a processor, measured by a task that wants to run ten times a second. Must not: decide what
//! follows from it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

const CHECK_INTERVAL: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct Lateness(Mutex<Measured>);

#[derive(Clone, Copy, Debug)]
struct Measured {
    /// When the task wants to run next.
    due: Instant,
    /// Delay of its last run.
    last: Duration,
}

impl Measured {
    /// The greater of the last delay and of the present one.
    fn at(self, now: Instant) -> Duration {
        self.last.max(now.saturating_duration_since(self.due))
    }
}

impl Lateness {
    pub fn none() -> Self {
        Self(Mutex::new(Measured {
            due: Instant::now() + CHECK_INTERVAL,
            last: Duration::ZERO,
        }))
    }

    /// Measures for as long as this runs.
    pub async fn measure(&self) {
        let mut last = Duration::ZERO;
        loop {
            let due = Instant::now() + CHECK_INTERVAL;
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Measured { due, last };
            sleep_until(due).await;
            last = due.elapsed();
        }
    }

    pub fn at(&self, now: Instant) -> Duration {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).at(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_task_that_does_not_run_is_late_by_then_and_was_late_until_it_has_run_in_time() {
        let (due, ms) = (Instant::now(), Duration::from_millis);
        let last = |last| Measured { due, last: ms(last) };
        assert_eq!(last(0).at(due), ms(0));
        assert_eq!(last(0).at(due + ms(700)), ms(700));
        assert_eq!(last(900).at(due + ms(700)), ms(900));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_measured_while_somebody_does() {
        let lateness = Lateness::none();
        let measuring = lateness.measure();
        assert!(tokio::time::timeout(Duration::from_secs(3), measuring).await.is_err());
        assert!(lateness.at(Instant::now()) < CHECK_INTERVAL * 2);
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(lateness.at(Instant::now()) >= Duration::from_millis(1_900));
    }
}
