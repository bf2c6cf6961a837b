//! Locks of what the parts of the Mission controller share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `of`, also where a task has panicked that had locked it.
pub(super) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
