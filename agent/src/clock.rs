//! The agent's monotonic clock.

use model::time::Moment;
use tokio::time::Instant;

/// A monotonic clock; follows tokio's paused time in tests.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock whose epoch is now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn now(&self) -> Moment {
        self.moment(Instant::now())
    }

    /// The moment of an instant of the runtime's clock; the epoch, for one before it.
    pub fn moment(&self, of: Instant) -> Moment {
        Moment::at(of.saturating_duration_since(self.0))
    }
}
