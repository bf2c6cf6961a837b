//! Shared by readers, watches and the writer: the state, and a notification channel per kind.

use super::object::Object;
use super::state::{Change, State};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use tokio::sync::watch;

#[derive(Debug)]
pub(super) struct Shared {
    state: RwLock<State>,
    wakeups: RwLock<HashMap<Arc<str>, watch::Sender<()>>>,
    failing: RwLock<Option<String>>,
}

impl Shared {
    pub(super) fn new(state: State) -> Self {
        Self {
            state: RwLock::new(state),
            wakeups: RwLock::default(),
            failing: RwLock::default(),
        }
    }

    pub(super) fn failing(&self) -> Option<String> {
        let failing = self.failing.read().unwrap_or_else(PoisonError::into_inner);
        failing.clone()
    }

    pub(super) fn set_failing(&self, why: Option<String>) {
        *self.failing.write().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Lock it for a moment only: await nothing and take no other lock meanwhile.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn wakeup(&self, resource: &str) -> watch::Receiver<()> {
        let mut wakeups = self.wakeups.write().unwrap_or_else(PoisonError::into_inner);
        wakeups.entry(resource.into()).or_default().subscribe()
    }

    pub(super) fn publish(&self, changes: impl IntoIterator<Item = Change>) {
        let mut touched = BTreeSet::new();
        let mut state = self.write();
        for change in changes {
            let Object { key, .. } = &*change.object;
            touched.insert(Arc::clone(&key.resource));
            state.apply(change);
        }
        drop(state);
        let wakeups = self.wakeups.read().unwrap_or_else(PoisonError::into_inner);
        for wakeup in touched.iter().filter_map(|resource| wakeups.get(resource)) {
            wakeup.send_replace(());
        }
    }

    pub(super) fn close(&self) {
        self.write().close();
        let wakeups = self.wakeups.read().unwrap_or_else(PoisonError::into_inner);
        for wakeup in wakeups.values() {
            wakeup.send_replace(());
        }
    }
}
