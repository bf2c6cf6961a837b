//! Whether this coordinator may act just now.
//!
//! Owns: the clock that it goes by, and the mandate that the last renewal of the Lease gave. Must not: renew it
//! ([`crate::leadership`] does) or judge ([`fleet::leadership`] does).

use fleet::leadership::Mandate;
use fleet::time::Moment;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// The standing of one coordinator.
#[derive(Debug)]
pub struct Standing {
    began: Instant,
    /// None: there is no other coordinator, so there is nothing to doubt.
    mandate: Mutex<Option<Mandate>>,
}

impl Default for Standing {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            mandate: Mutex::default(),
        }
    }
}

impl Standing {
    fn lock(&self) -> MutexGuard<'_, Option<Mandate>> {
        self.mandate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Now, on the clock of this process.
    #[must_use]
    pub fn now(&self) -> Moment {
        Moment::at(self.began.elapsed())
    }

    /// The Lease was taken or renewed by a write that was sent at `sent`.
    pub fn confirm(&self, sent: Moment) {
        *self.lock() = Some(Mandate::confirmed(sent));
    }

    /// Whether the leader may act. If not, it goes on serving its agents, but begins no flight and writes nothing.
    #[must_use]
    pub fn acts(&self) -> bool {
        let mandate = *self.lock();
        mandate.is_none_or(|mandate| mandate.acts(self.now()))
    }
}
