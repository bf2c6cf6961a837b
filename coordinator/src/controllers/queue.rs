//! Works off the nodes whose agents may need another order.
//!
//! One reconcile of a node at a time, a few nodes at once, and another later or after a failure. kube's Controller ([`crate::controllers`])
//! does not fit: it reconciles the objects of a store, and an order is for an agent, which may be there before any Node object and must get
//! it when that object is gone. Must not: know what a reconcile of a node does.

use crate::cluster::retry::Failures;
use crate::cluster::wake_set::WakeSet;
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::HashMap;
use std::fmt::Display;
use std::future::Future;
use std::hash::Hash;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::time::DelayQueue;

/// Calls `work` for each key woken, for at most `most` keys at a time, until `ending`; calls under way are then finished. `work` returns
/// the delay until its next run at the latest; an error is retried with a capped, jittered back-off. A key woken while it is worked on is
/// reconciled once more.
pub async fn work_off<K, F, Fut, E>(wakes: &WakeSet<K>, most: usize, ending: &CancellationToken, work: F)
where
    K: Clone + Eq + Hash + Display,
    F: Fn(K) -> Fut,
    Fut: Future<Output = Result<Option<Duration>, E>>,
    E: Display,
{
    let failures = Failures::default();
    // Whether it was woken meanwhile.
    let mut running: HashMap<K, bool> = HashMap::new();
    let mut tasks = FuturesUnordered::new();
    let mut later = DelayQueue::new();
    let mut due = HashMap::new();
    loop {
        let key = tokio::select! {
            biased;
            () = ending.cancelled() => break,
            Some((key, result)) = tasks.next() => {
                let woken = running.remove(&key).unwrap_or_default();
                let again = match result {
                    Ok(again) => {
                        failures.forget(&key);
                        if woken { Some(Duration::ZERO) } else { again }
                    }
                    // It waits even if woken, so that an outage does not become a storm.
                    Err(error) => Some(failures.failed(&key, &error, Instant::now(), rand::random())),
                };
                match again {
                    Some(Duration::ZERO) => wakes.wake(key),
                    Some(delay) => {
                        due.insert(key.clone(), later.insert(key, delay));
                    }
                    None => {}
                }
                continue;
            }
            Some(expired) = later.next() => {
                due.remove(expired.get_ref());
                wakes.wake(expired.into_inner());
                continue;
            }
            key = wakes.next(), if tasks.len() < most => key,
        };
        if let Some(woken) = running.get_mut(&key) {
            *woken = true;
            continue;
        }
        // This reconcile replaces the one planned for later.
        if let Some(planned) = due.remove(&key) {
            later.remove(&planned);
        }
        running.insert(key.clone(), false);
        let reconciling = work(key.clone());
        tasks.push(async move { (key, reconciling.await) });
    }
    while tasks.next().await.is_some() {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Counts the reconciles of `key` within `time`; each takes a second and ends in `result`.
    async fn reconciles(
        wakes: &Arc<WakeSet<i32>>,
        time: Duration,
        result: impl Fn(usize) -> Result<Option<Duration>, &'static str>,
    ) -> usize {
        let (reconciles, at_once) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let ending = CancellationToken::new();
        let work = |_| async {
            assert_eq!(at_once.fetch_add(1, Ordering::Relaxed), 0, "one reconcile at a time");
            tokio::time::sleep(Duration::from_secs(1)).await;
            at_once.fetch_sub(1, Ordering::Relaxed);
            result(reconciles.fetch_add(1, Ordering::Relaxed))
        };
        let ended = tokio::time::timeout(time, work_off(wakes, 2, &ending, work)).await;
        assert!(ended.is_err());
        reconciles.into_inner()
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_woken_while_it_is_worked_on_is_reconciled_again_and_not_at_the_same_time() {
        let wakes = Arc::new(WakeSet::default());
        wakes.wake(1);
        let waker = Arc::clone(&wakes);
        tokio::spawn(async move {
            for _ in 0..5 {
                tokio::time::sleep(Duration::from_millis(100)).await;
                waker.wake(1);
            }
        });
        assert_eq!(reconciles(&wakes, Duration::from_secs(60), |_| Ok(None)).await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reconcile_asked_for_later_comes_then_or_earlier_if_woken_but_not_twice() {
        let wakes = Arc::new(WakeSet::default());
        wakes.wake(1);
        let later = |n| Ok((n == 0).then_some(Duration::from_secs(20)));
        assert_eq!(reconciles(&wakes, Duration::from_secs(60), later).await, 2);
        wakes.wake(1);
        let waker = Arc::clone(&wakes);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            waker.wake(1);
        });
        assert_eq!(reconciles(&wakes, Duration::from_secs(60), later).await, 2);
    }

    #[tokio::test(start_paused = true)]
    async fn failed_work_is_tried_again_with_growing_delays_up_to_the_cap() {
        let wakes = Arc::new(WakeSet::default());
        wakes.wake(1);
        let tries = reconciles(&wakes, Duration::from_secs(600), |_| Err("no API server")).await;
        assert!((20..=60).contains(&tries), "{tries}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_under_way_at_the_end_is_finished() {
        let (wakes, ending, finished) = (WakeSet::default(), CancellationToken::new(), AtomicUsize::new(0));
        wakes.wake(1);
        let work = |_| async {
            ending.cancel();
            tokio::time::sleep(Duration::from_secs(1)).await;
            finished.fetch_add(1, Ordering::Relaxed);
            Ok::<_, &str>(None)
        };
        work_off(&wakes, 2, &ending, work).await;
        assert_eq!(finished.into_inner(), 1);
    }
}
