//! Which objects are to be looked at again, and when.
//!
//! Owns: [`Queue`]. Each key is worked on by one worker at a time; waking a key that waits costs nothing; a key woken while
//! it is worked on is looked at once more. Waking never blocks and nothing is dropped: the queue is bounded by the number
//! of objects. (kube's Controller keeps a second copy of every object and takes its outside triggers from a channel,
//! which must either block the sender or drop; hence this.)
//! Must not: know what a key stands for.

use fleet::backoff::Backoff;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt::Display;
use std::future::Future;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How failed work is tried again.
pub const RETRY: Backoff = Backoff {
    first: Duration::from_millis(200),
    cap: Duration::from_secs(30),
};

/// A queue of keys.
#[derive(Debug)]
pub struct Queue<K> {
    state: Mutex<State<K>>,
    changed: Notify,
}

#[derive(Debug)]
struct State<K> {
    ready: VecDeque<K>,
    queued: HashSet<K>,
    running: HashSet<K>,
    again: HashSet<K>,
    due: HashMap<K, Instant>,
    timers: BTreeSet<(Instant, K)>,
    failures: HashMap<K, u32>,
}

impl<K> Default for Queue<K> {
    fn default() -> Self {
        let state = State {
            ready: VecDeque::new(),
            queued: HashSet::new(),
            running: HashSet::new(),
            again: HashSet::new(),
            due: HashMap::new(),
            timers: BTreeSet::new(),
            failures: HashMap::new(),
        };
        Self {
            state: Mutex::new(state),
            changed: Notify::new(),
        }
    }
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    /// Has `key` looked at as soon as a worker is free.
    pub fn wake(&self, key: K) {
        let mut state = self.lock();
        if state.running.contains(&key) {
            state.again.insert(key);
        } else if state.queued.insert(key.clone()) {
            state.ready.push_back(key);
        } else {
            return;
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Has `key` looked at when `delay` is over, or earlier if it was to be earlier.
    pub fn wake_after(&self, key: K, delay: Duration) {
        let mut state = self.lock();
        let at = Instant::now() + delay;
        match state.due.get(&key).copied() {
            Some(earlier) if earlier <= at => return,
            Some(later) => {
                state.timers.remove(&(later, key.clone()));
            }
            None => {}
        }
        state.due.insert(key.clone(), at);
        state.timers.insert((at, key));
        drop(state);
        self.changed.notify_one();
    }

    /// The next key to work on. Every key taken must be given back with [`Self::done`].
    async fn next(&self) -> K {
        loop {
            let changed = self.changed.notified();
            let (key, until) = self.take();
            if let Some(key) = key {
                return key;
            }
            match until {
                Some(until) => {
                    tokio::select! {
                        () = changed => (),
                        () = tokio::time::sleep_until(until) => (),
                    }
                }
                None => changed.await,
            }
        }
    }

    fn take(&self) -> (Option<K>, Option<Instant>) {
        let mut state = self.lock();
        let now = Instant::now();
        while let Some((at, key)) = state.timers.first().cloned().filter(|(at, _)| *at <= now) {
            state.timers.remove(&(at, key.clone()));
            state.due.remove(&key);
            if state.running.contains(&key) {
                state.again.insert(key);
            } else if state.queued.insert(key.clone()) {
                state.ready.push_back(key);
            }
        }
        let key = state.ready.pop_front();
        if let Some(key) = &key {
            state.queued.remove(key);
            state.running.insert(key.clone());
            if !state.ready.is_empty() {
                // One wake-up may stand for several keys: pass it on.
                self.changed.notify_one();
            }
        }
        (key, state.timers.first().map(|(at, _)| *at))
    }

    /// Gives back `key`; returns how often it has failed in a row.
    fn done(&self, key: K, failed: bool, again_after: Option<Duration>) -> u32 {
        let mut state = self.lock();
        state.running.remove(&key);
        let woken = state.again.remove(&key);
        let (failures, delay) = if failed {
            let failures = state.failures.entry(key.clone()).or_default();
            *failures = failures.saturating_add(1);
            (*failures, Some(RETRY.delay(*failures, rand::random::<f64>())))
        } else {
            state.failures.remove(&key);
            (0, again_after)
        };
        drop(state);
        // What failed waits its turn even if it was woken, so that an outage does not become a storm.
        if woken && !failed {
            self.wake(key);
        } else if let Some(delay) = delay {
            self.wake_after(key, delay);
        }
        failures
    }

    fn lock(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts `workers` workers that call `work` for each key until `ending`. `work` says after which time it wants to look
/// again at the latest; an error is logged and tried again with a capped, jittered back-off.
pub fn start<K, F, Fut, E>(
    tasks: &mut JoinSet<()>,
    queue: Arc<Queue<K>>,
    workers: usize,
    ending: &CancellationToken,
    work: F,
) where
    K: Clone + Eq + Hash + Ord + Display + Send + Sync + 'static,
    F: Fn(K) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Option<Duration>, E>> + Send,
    E: Display + Send,
{
    for _ in 0..workers {
        let (queue, ending, work) = (Arc::clone(&queue), ending.clone(), work.clone());
        tasks.spawn(async move {
            loop {
                let key = tokio::select! {
                    biased;
                    () = ending.cancelled() => return,
                    key = queue.next() => key,
                };
                match work(key.clone()).await {
                    Ok(again) => {
                        queue.done(key, false, again);
                    }
                    Err(error) => {
                        let failures = queue.done(key.clone(), true, None);
                        // Often enough to be seen, not so often as to hide all else.
                        if failures.is_power_of_two() {
                            tracing::warn!(%key, %error, failures, "will be tried again");
                        }
                    }
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test(start_paused = true)]
    async fn a_key_woken_many_times_is_looked_at_once() {
        let queue = Queue::default();
        for _ in 0..100 {
            queue.wake(1);
        }
        assert_eq!(queue.next().await, 1);
        queue.done(1, false, None);
        assert!(
            tokio::time::timeout(Duration::from_secs(60), queue.next())
                .await
                .is_err()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_woken_while_it_is_worked_on_is_looked_at_once_more_and_not_at_the_same_time() {
        let queue = Queue::default();
        queue.wake(1);
        assert_eq!(queue.next().await, 1);
        queue.wake(1);
        assert!(
            tokio::time::timeout(Duration::from_secs(60), queue.next())
                .await
                .is_err()
        );
        queue.done(1, false, None);
        assert_eq!(queue.next().await, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_earlier_of_two_delays_counts() {
        let queue = Queue::default();
        let start = Instant::now();
        queue.wake_after(1, Duration::from_secs(5));
        queue.wake_after(1, Duration::from_secs(2));
        queue.wake_after(1, Duration::from_secs(9));
        assert_eq!(queue.next().await, 1);
        assert_eq!(start.elapsed().as_secs(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn failed_work_is_tried_again_with_growing_delays_up_to_the_cap() {
        let (queue, tries) = (Arc::new(Queue::default()), Arc::new(AtomicUsize::new(0)));
        let (mut tasks, ending) = (JoinSet::new(), CancellationToken::new());
        let counted = Arc::clone(&tries);
        start(&mut tasks, Arc::clone(&queue), 2, &ending, move |_: i32| {
            let tries = Arc::clone(&counted);
            async move {
                tries.fetch_add(1, Ordering::Relaxed);
                Err::<Option<Duration>, _>("no API server")
            }
        });
        queue.wake(1);
        tokio::time::sleep(Duration::from_secs(600)).await;
        let tries = tries.load(Ordering::Relaxed);
        assert!((20..=60).contains(&tries), "{tries}");
        ending.cancel();
        while tasks.join_next().await.is_some() {}
    }
}
