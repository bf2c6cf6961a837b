//! Counts lost spans, and decides when to report them.

use std::time::{Duration, Instant};

const AT_MOST_EVERY: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub struct Losses {
    count: usize,
    said: Option<Instant>,
}

impl Losses {
    /// Returns the number to log, if it is time to.
    pub fn lost(&mut self, count: usize, now: Instant) -> Option<usize> {
        self.count = self.count.saturating_add(count);
        if self.said.is_some_and(|said| now.duration_since(said) < AT_MOST_EVERY) {
            return None;
        }
        self.said = Some(now);
        Some(std::mem::take(&mut self.count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_that_is_away_for_long_is_a_line_a_minute_that_counts_all() {
        let (mut losses, start) = (Losses::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(losses.lost(3, at(0)), Some(3));
        assert_eq!(losses.lost(2, at(5)), None);
        assert_eq!(losses.lost(4, at(59)), None);
        assert_eq!(losses.lost(1, at(60)), Some(7));
        assert_eq!(losses.lost(1, at(61)), None);
    }
}
