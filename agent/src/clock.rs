//! The agent's monotonic clock.
//!
//! Owns: turning the runtime's instants into [`Moment`]s, whose epoch is the start of the program. Must not: know the
//! date, which a companion computer without a network often does not.

use model::time::Moment;
use tokio::time::Instant;

/// A monotonic clock; follows tokio's paused time in tests.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock whose epoch is now.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Moment {
        self.moment(Instant::now())
    }

    /// The moment of an instant of the runtime's clock; the epoch, for one before it.
    #[must_use]
    pub fn moment(&self, of: Instant) -> Moment {
        Moment::at(of.saturating_duration_since(self.0))
    }
}
