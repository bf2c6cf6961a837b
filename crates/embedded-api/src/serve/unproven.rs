//! Connections on which the credential was not shown yet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

#[derive(Clone, Debug, Default)]
pub(super) struct Unproven(Arc<Mutex<All>>);

#[derive(Debug, Default)]
struct All {
    count: u64,
    waiting: BTreeMap<u64, CancellationToken>,
}

#[derive(Debug)]
pub(super) struct UnprovenConnection {
    all: Unproven,
    number: u64,
    pub(super) must_close: CancellationToken,
}

impl Unproven {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn enter(&self) -> UnprovenConnection {
        let must_close = CancellationToken::new();
        let mut all = self.lock();
        let number = all.count;
        all.count += 1;
        all.waiting.insert(number, must_close.clone());
        drop(all);
        UnprovenConnection {
            all: self.clone(),
            number,
            must_close,
        }
    }

    pub(super) fn close_oldest(&self) {
        if let Some((_, oldest)) = self.lock().waiting.pop_first() {
            oldest.cancel();
        }
    }
}

impl Drop for UnprovenConnection {
    fn drop(&mut self) {
        self.all.lock().waiting.remove(&self.number);
    }
}

#[derive(Debug)]
pub(super) struct Proof(Mutex<Option<UnprovenConnection>>);

impl Proof {
    pub(super) const fn of(connection: UnprovenConnection) -> Self {
        Self(Mutex::new(Some(connection)))
    }

    pub(super) fn give(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    pub(super) fn is_given(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_that_has_shown_nothing_gives_way() {
        let all = Unproven::default();
        let (first, second, third) = (all.enter(), all.enter(), all.enter());
        let proof = Proof::of(first);
        proof.give();
        assert!(proof.is_given());
        all.close_oldest();
        assert!(second.must_close.is_cancelled() && !third.must_close.is_cancelled());
        drop(third);
        all.close_oldest();
        assert!(all.lock().waiting.is_empty());
    }
}
