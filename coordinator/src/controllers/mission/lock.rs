//! Locks of what the parts of the Mission controller share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `of`, also after a panic of a task that held the lock.
pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
