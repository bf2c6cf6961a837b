//! The time, as the view needs it.

use jiff::Timestamp;
use nix::time::{ClockId, clock_gettime};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
const SINCE_BOOT: ClockId = ClockId::CLOCK_BOOTTIME;
// It goes on while the machine sleeps there.
#[cfg(not(target_os = "linux"))]
const SINCE_BOOT: ClockId = ClockId::CLOCK_MONOTONIC;

/// For a kernel that has no such clock: one that stops while the machine sleeps.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Since some start, the same for all; it never goes back.
    pub elapsed: Duration,
    /// By the wall clock, for the times that objects carry.
    pub utc: Timestamp,
}

impl Now {
    /// The moment, by this machine's clocks.
    pub fn read() -> Self {
        Self {
            elapsed: clock_gettime(SINCE_BOOT).map_or_else(|_| START.elapsed(), Duration::from),
            utc: Timestamp::now(),
        }
    }

    /// How long ago `then` was.
    pub const fn since(&self, then: Duration) -> Duration {
        self.elapsed.saturating_sub(then)
    }
}
