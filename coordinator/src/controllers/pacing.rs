//! When a changed status is written: at once if it matters, otherwise a little later together with what else changes.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Not worth a write.
    None,
    /// Written with what follows from it.
    Later,
    Soon,
    Now,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    Never,
    Now,
    /// Check again after this time.
    In(Duration),
}

/// Delay of a change that can wait, so that what follows from it is written with it.
pub const BATCH_DELAY: Duration = Duration::from_secs(1);

/// Delay of a change that usually passes by itself.
pub const TRANSIENT_CHANGE_DELAY: Duration = Duration::from_secs(30);

/// Least time between a write and a later one that can wait.
pub const MIN_WRITE_INTERVAL: Duration = Duration::from_secs(2);

/// The last write of each object's status, by uid.
#[derive(Debug, Default)]
pub struct Paces(Mutex<HashMap<String, Pace>>);

#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    wanted: Option<Instant>,
    written: Option<Instant>,
}

impl Paces {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Pace>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn due(&self, uid: &str, urgency: Urgency, now: Instant) -> Due {
        let mut paces = self.lock();
        let pace = paces.entry(uid.to_owned()).or_default();
        match urgency {
            Urgency::None => {
                pace.wanted = None;
                Due::Never
            }
            Urgency::Now => Due::Now,
            Urgency::Soon | Urgency::Later => {
                let delay = if urgency == Urgency::Soon {
                    BATCH_DELAY
                } else {
                    TRANSIENT_CHANGE_DELAY
                };
                let batched = *pace.wanted.get_or_insert(now) + delay;
                let at = pace
                    .written
                    .map_or(batched, |written| batched.max(written + MIN_WRITE_INTERVAL));
                if at <= now { Due::Now } else { Due::In(at - now) }
            }
        }
    }

    pub fn written(&self, uid: &str, now: Instant) {
        self.lock().insert(
            uid.to_owned(),
            Pace {
                wanted: None,
                written: Some(now),
            },
        );
    }

    pub fn forget(&self, uid: &str) {
        self.lock().remove(uid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_is_written_at_once_and_the_rest_waits_for_company() {
        let (paces, start) = (Paces::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(paces.due("a", Urgency::Soon, at(0)), Due::In(BATCH_DELAY));
        assert_eq!(
            paces.due("a", Urgency::Soon, at(400)),
            Due::In(Duration::from_millis(600))
        );
        assert_eq!(paces.due("a", Urgency::Now, at(500)), Due::Now);
        paces.written("a", at(500));
        assert_eq!(
            paces.due("a", Urgency::Soon, at(600)),
            Due::In(Duration::from_millis(1900))
        );
        assert_eq!(paces.due("a", Urgency::Soon, at(2500)), Due::Now);
        assert_eq!(paces.due("a", Urgency::None, at(2600)), Due::Never);
        assert_eq!(paces.due("b", Urgency::Now, at(0)), Due::Now);
        assert_eq!(paces.due("c", Urgency::Later, at(0)), Due::In(TRANSIENT_CHANGE_DELAY));
        assert_eq!(paces.due("c", Urgency::Soon, at(1000)), Due::Now);
    }
}
