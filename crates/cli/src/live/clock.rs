//! The time, as a view needs it.

use jiff::Timestamp;
use nix::time::{ClockId, clock_gettime};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
const SINCE_BOOT: ClockId = ClockId::CLOCK_BOOTTIME;
// CLOCK_MONOTONIC goes on while such a machine sleeps.
#[cfg(not(target_os = "linux"))]
const SINCE_BOOT: ClockId = ClockId::CLOCK_MONOTONIC;

/// For a kernel without a boot clock; stops while the machine sleeps.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Now {
    /// Monotonic; comparable between readings.
    pub elapsed: Duration,
    /// Wall clock, for times of objects.
    pub utc: Timestamp,
}

impl Now {
    pub fn read() -> Self {
        Self {
            elapsed: clock_gettime(SINCE_BOOT).map_or_else(|_| START.elapsed(), Duration::from),
            utc: Timestamp::now(),
        }
    }

    pub const fn since(&self, then: Duration) -> Duration {
        self.elapsed.saturating_sub(then)
    }
}
