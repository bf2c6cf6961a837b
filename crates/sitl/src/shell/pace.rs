//! Delays of the steps of all vehicles, which show whether this process still keeps real time.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use serde::Serialize;

const LONGEST_MS: usize = 1000;

#[derive(Debug)]
pub(super) struct Pace {
    late_ms: Vec<AtomicU64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PaceReading {
    pub steps: u64,
    /// Whole milliseconds, rounded down.
    pub late_p50_ms: u64,
    pub late_p99_ms: u64,
    pub late_p999_ms: u64,
    /// More than a second counts as a second.
    pub late_max_ms: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            late_ms: (0..=LONGEST_MS).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

impl Pace {
    pub(super) fn stepped(&self, late: Duration) {
        let ms = usize::try_from(late.as_millis()).unwrap_or(LONGEST_MS);
        if let Some(count) = self.late_ms.get(ms.min(LONGEST_MS)) {
            count.fetch_add(1, Relaxed);
        }
    }

    pub(super) fn take(&self) -> PaceReading {
        let counts: Vec<u64> = self.late_ms.iter().map(|count| count.swap(0, Relaxed)).collect();
        let steps: u64 = counts.iter().sum();
        let within = |share: f64| {
            let wanted = (steps as f64 * share).ceil() as u64;
            let mut reading = 0;
            let found = counts.iter().position(|count| {
                reading += count;
                reading >= wanted
            });
            found.unwrap_or(0) as u64
        };
        PaceReading {
            steps,
            late_p50_ms: within(0.5),
            late_p99_ms: within(0.99),
            late_p999_ms: within(0.999),
            late_max_ms: within(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_step_and_the_usual_one_are_distinguished() {
        let pace = Pace::default();
        for _ in 0..995 {
            pace.stepped(Duration::from_micros(1_900));
        }
        for _ in 0..5 {
            pace.stepped(Duration::from_secs(3));
        }
        let reading = pace.take();
        assert_eq!(
            (reading.steps, reading.late_p99_ms, reading.late_max_ms),
            (1000, 1, 1000)
        );
        assert_eq!(pace.take().late_max_ms, 0);
    }
}
