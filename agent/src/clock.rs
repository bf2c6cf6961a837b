//! The agent's monotonic clock; follows tokio's paused time in tests.

use model::time::Moment;
use tokio::time::Instant;

#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    pub fn start() -> Self {
        Self(Instant::now())
    }

    pub fn now(&self) -> Moment {
        self.moment(Instant::now())
    }

    /// The epoch, for an instant before it.
    pub fn moment(&self, of: Instant) -> Moment {
        Moment::at(of.saturating_duration_since(self.0))
    }
}
