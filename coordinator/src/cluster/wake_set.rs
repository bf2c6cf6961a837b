//! Objects to be reconciled again.
//!
//! Waking never blocks and drops nothing; a waiting key is kept once, so the set is bounded by the number of objects. (A channel must block
//! the waker, drop, or grow.) Must not: know what a key stands for, or who takes it: kube's Controller for Drones and Swarms,
//! [`crate::controllers::queue`] for nodes.

use futures::Stream;
use std::collections::{HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Waiting keys, oldest first, for one taker.
#[derive(Debug)]
pub struct WakeSet<K> {
    waiting: Mutex<Waiting<K>>,
    changed: Notify,
}

#[derive(Debug)]
struct Waiting<K> {
    order: VecDeque<K>,
    keys: HashSet<K>,
}

impl<K> Default for WakeSet<K> {
    fn default() -> Self {
        let waiting = Waiting {
            order: VecDeque::new(),
            keys: HashSet::new(),
        };
        Self {
            waiting: Mutex::new(waiting),
            changed: Notify::new(),
        }
    }
}

impl<K: Clone + Eq + Hash> WakeSet<K> {
    pub fn wake(&self, key: K) {
        let mut waiting = self.lock();
        if waiting.keys.insert(key.clone()) {
            waiting.order.push_back(key);
            drop(waiting);
            self.changed.notify_one();
        }
    }

    /// Takes the key that has waited longest. Safe to cancel.
    pub async fn next(&self) -> K {
        loop {
            let changed = self.changed.notified();
            if let Some(key) = self.take() {
                return key;
            }
            changed.await;
        }
    }

    /// All keys as they are woken, for ever.
    pub fn stream(self: Arc<Self>) -> impl Stream<Item = K> + Send + 'static
    where
        K: Send + 'static,
    {
        futures::stream::unfold(self, |set| async move {
            let key = set.next().await;
            Some((key, set))
        })
    }

    pub fn len(&self) -> usize {
        self.lock().order.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn take(&self) -> Option<K> {
        let mut waiting = self.lock();
        let key = waiting.order.pop_front()?;
        waiting.keys.remove(&key);
        Some(key)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<K>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl<K: Clone + Eq + Hash> WakeSet<K> {
    pub(crate) fn drain(&self) -> Vec<K> {
        std::iter::from_fn(|| self.take()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt, StreamExt};

    #[tokio::test]
    async fn a_key_woken_many_times_is_reconciled_once() {
        let set = WakeSet::default();
        for _ in 0..100 {
            set.wake(1);
        }
        assert_eq!(set.next().await, 1);
        assert_eq!(set.next().now_or_never(), None);
        set.wake(1);
        assert_eq!(set.next().now_or_never(), Some(1), "it may be woken again once taken");
    }

    #[tokio::test]
    async fn many_keys_woken_while_nobody_takes_all_come_out_in_their_order() {
        let set = Arc::new(WakeSet::default());
        for key in 0..1000 {
            set.wake(key);
        }
        let taken: Vec<_> = Arc::clone(&set).stream().take(1000).collect().await;
        assert_eq!(taken, (0..1000).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn one_who_waits_is_told_and_one_who_gave_up_takes_nothing_with_it() {
        let set = Arc::new(WakeSet::default());
        assert_eq!(set.next().now_or_never(), None);
        let waiting = tokio::spawn(Arc::clone(&set).stream().take(1).collect::<Vec<_>>());
        tokio::task::yield_now().await;
        set.wake(7);
        assert_eq!(waiting.await.unwrap(), [7]);
    }
}
