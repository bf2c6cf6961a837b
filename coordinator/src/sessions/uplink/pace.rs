//! Limits how fast one agent is read: above the rate of any well-meant agent.
//!
//! One that sends more waits, by HTTP/2's flow control, and no other does: each report may cost others a reconcile.

use std::time::Duration;
use tokio::time::Instant;

/// Messages at once: an agent reports each change, and a vehicle that takes off changes a lot.
const MESSAGE_BURST: u32 = 100;

/// One more after each such span.
const MESSAGE_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// When the whole burst is available again.
    whole_at: Instant,
}

impl Pace {
    pub const fn new(now: Instant) -> Self {
        Self { whole_at: now }
    }

    /// When the next message may be read.
    pub fn next(&self) -> Instant {
        let spared = MESSAGE_INTERVAL * (MESSAGE_BURST - 1);
        self.whole_at.checked_sub(spared).unwrap_or(self.whole_at)
    }

    pub fn took_one(&mut self, now: Instant) {
        self.whole_at = self.whole_at.max(now) + MESSAGE_INTERVAL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages read within `span` of an agent that always has one ready.
    async fn read_within(span: Duration, rest: Duration) -> u32 {
        let (begun, mut pace, mut read) = (Instant::now(), Pace::new(Instant::now()), 0);
        while begun.elapsed() < span {
            tokio::time::sleep_until(pace.next()).await;
            pace.took_one(Instant::now());
            read += 1;
            tokio::time::advance(rest).await;
        }
        read
    }

    #[tokio::test(start_paused = true)]
    async fn who_sends_without_end_is_read_at_its_pace() {
        let read = read_within(Duration::from_secs(10), Duration::ZERO).await;
        assert!((580..=620).contains(&read), "{read}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_reports_twenty_times_a_second_is_never_held_up() {
        let read = read_within(Duration::from_secs(60), Duration::from_millis(50)).await;
        assert!(read >= 1200, "{read}");
    }
}
