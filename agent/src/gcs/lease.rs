//! Between the pilot, who says whether a program may fly the vehicle, and the hub, which passes on what the program sends.
//!
//! Owns: the one place where both meet. Must not: decide ([`fleet::flight::lending`] does). What came while nothing was passed on counts for
//! nothing: a lease begins with what comes after.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

#[derive(Clone, Debug, Default)]
pub struct Lease(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    passes: bool,
    heard: Option<Instant>,
    set_point: Option<Instant>,
}

impl Lease {
    /// From now on what a program sends to move the vehicle is passed on, or not.
    pub fn pass(&self, passes: bool) {
        let mut state = self.lock();
        if !passes {
            *state = State::default();
        }
        state.passes = passes;
    }

    /// Takes in a sign of life of the program, which is a `set_point` or not. Whether it counts, and may be passed on.
    pub fn hear(&self, set_point: bool, now: Instant) -> bool {
        let mut state = self.lock();
        if state.passes {
            state.heard = Some(now);
            state.set_point = if set_point { Some(now) } else { state.set_point };
        }
        state.passes
    }

    /// When its last sign of life came, and its last set-point.
    pub fn heard(&self) -> (Option<Instant>, Option<Instant>) {
        let state = self.lock();
        (state.heard, state.set_point)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_comes_while_nothing_is_passed_on_renews_no_lease() {
        let (lease, now) = (Lease::default(), Instant::now());
        assert!(!lease.hear(true, now));
        assert_eq!(lease.heard(), (None, None));
        lease.pass(true);
        assert!(lease.hear(true, now));
        let later = now + Duration::from_secs(1);
        assert!(lease.hear(false, later));
        assert_eq!(lease.heard(), (Some(later), Some(now)));
        lease.pass(false);
        lease.pass(true);
        assert_eq!(lease.heard(), (None, None), "another lease");
    }
}
