//! Whether this coordinator may act just now.
//!
//! Owns: the clocks that it goes by, the mandate that the last renewal of the Lease gave, and what it knows of the fleet. Must not:
//! renew the Lease ([`crate::leadership`] does), list ([`crate::cluster::watching`] does), or decide ([`fleet::planning::leadership`] and
//! [`fleet::planning::freshness`] do).

use fleet::planning::freshness::Knowledge;
use fleet::planning::leadership::Mandate;
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use model::time::Moment;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// While another may lead, nothing is written; the next reconcile comes this soon.
pub const AFTER_DOUBT: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct LeadershipState {
    began: Instant,
    /// `None`: there is no other coordinator, so there is nothing to doubt.
    mandate: Mutex<Option<Mandate>>,
    knowledge: watch::Sender<Knowledge>,
    /// Time on the API server's clock, and when it was read.
    shared_time: Mutex<Option<(Timestamp, Instant)>>,
}

impl Default for LeadershipState {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            mandate: Mutex::default(),
            knowledge: watch::Sender::default(),
            shared_time: Mutex::default(),
        }
    }
}

impl LeadershipState {
    fn lock(&self) -> MutexGuard<'_, Option<Mandate>> {
        self.mandate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// On the clock of this process.
    pub fn now(&self) -> Moment {
        Moment::at(self.began.elapsed())
    }

    /// Equal for equal instants, whenever it is called.
    pub fn moment(&self, at: Instant) -> Moment {
        Moment::at(at.saturating_duration_since(self.began))
    }

    /// Takes in that it is `time` just now on the API server's clock.
    pub fn read_shared_time(&self, time: Timestamp) {
        let mut shared = self.shared_time.lock().unwrap_or_else(PoisonError::into_inner);
        *shared = Some((time, Instant::now()));
    }

    /// Time that may be compared with what another leader has written: the API server's, or that of this machine where it is not known.
    pub fn wall(&self) -> Timestamp {
        let shared = *self.shared_time.lock().unwrap_or_else(PoisonError::into_inner);
        let now = |(time, at): (Timestamp, Instant)| {
            let since = SignedDuration::try_from(at.elapsed()).ok()?;
            time.checked_add(since).ok()
        };
        shared.and_then(now).unwrap_or_else(Timestamp::now)
    }

    /// The Lease was taken or renewed by a write that was sent at `sent`.
    pub fn confirm(&self, sent: Moment) {
        *self.lock() = Some(Mandate::confirmed(sent));
    }

    /// Whether the leader may act. If not, it goes on serving its agents, but begins no flight and writes nothing.
    pub fn acts(&self) -> bool {
        let mandate = *self.lock();
        self.knowledge().acts() && mandate.is_none_or(|mandate| mandate.acts(self.now()))
    }

    /// Whether it holds the Lease for sure, whatever it knows.
    pub fn leads(&self) -> bool {
        let mandate = *self.lock();
        mandate.is_none_or(|mandate| mandate.acts(self.now()))
    }

    pub fn knowledge(&self) -> Knowledge {
        *self.knowledge.borrow()
    }

    /// Returns whether the knowledge is new.
    pub fn knows(&self, knowledge: Knowledge) -> bool {
        self.knowledge
            .send_if_modified(|known| std::mem::replace(known, knowledge) != knowledge)
    }

    pub async fn until(&self, knowledge: Knowledge) {
        // Fails only if the sender is gone, which `self` owns.
        let _ = self.knowledge.subscribe().wait_for(|known| *known == knowledge).await;
    }
}
