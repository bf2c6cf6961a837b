//! The parts that the Drone and the Swarm controller share: kube's Controller, fed by [`WakeSet`]s.
//!
//! Owns: running a reconcile per object on `kube::runtime::Controller`, which reconciles an object once at a time, merges wake-ups, limits
//! how many run at once and keeps the time of the next reconcile; retries; a graceful end. Must not: watch. The watch fills the store first
//! and wakes then ([`crate::cluster::watching`]). The store only says what exists: a reconcile reads the
//! [`World`](crate::cluster::world::World), which knows the answers to our own writes before the watch does.

pub mod airspace;
pub mod airspace_grants;
pub mod drone;
pub mod facts;
pub mod flight_traces;
pub mod mission;
pub mod node;
pub mod node_operators;
pub mod node_rules;
pub mod operator;
pub mod orders;
pub mod pacing;
pub mod plans;
pub mod queue;
pub mod reported_flight;
pub mod rules;
pub mod swarm;
pub mod takeoff_slots;
pub mod upgrade;
pub mod vehicle;

use crate::cluster::api::{ApiError, error_chain};
use crate::cluster::key::Key;
use crate::cluster::retry::Failures;
use crate::cluster::wake_set::WakeSet;
use crate::metrics::{Reconciled, Reconciles};
use crate::spans;
use futures::StreamExt;
use kube::Resource;
use kube::runtime::Controller;
use kube::runtime::controller::{Action, Config, Error};
use kube::runtime::reflector::{ObjectRef, Store};
use serde::de::DeserializeOwned;
use std::collections::HashMap;
use std::fmt::Debug;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The watch brings the other writer's change within this time.
const AFTER_CONFLICT: Duration = Duration::from_millis(100);

/// Finalizer that the API server adds on a deletion with `--cascade=orphan`.
const ORPHAN: &str = "orphan";

/// Calls `reconcile` for each object woken, for at most `most` at a time, until `ending`; calls under way are then finished. `reconcile`
/// returns the delay until its next run, zero if it is not done; `rest` is how long an object is otherwise left alone, even if woken.
pub async fn run<K, F, Fut>(
    objects: Store<K>,
    wakes: Arc<WakeSet<Key>>,
    most: u16,
    ending: CancellationToken,
    reconciles: Reconciles,
    rest: impl Fn(&Key) -> Duration + Send + Sync + 'static,
    reconcile: F,
) where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    F: Fn(Key) -> Fut + Send + 'static,
    Fut: Future<Output = Result<Option<Duration>, ApiError>> + Send + 'static,
{
    let failures = Arc::new(Failures::default());
    let rests = Arc::new(Rests {
        until: Mutex::default(),
        rest: Box::new(rest),
    });
    let resting = Arc::clone(&rests);
    let triggers = wakes
        .stream()
        .map(|key| ObjectRef::new(&key.name).within(&key.namespace));
    // The store's own changes come as wake-ups, too.
    let unused = futures::stream::pending();
    let mut results = std::pin::pin!(
        Controller::for_stream(unused, objects)
            .reconcile_on(triggers)
            .with_config(Config::default().concurrency(most))
            .graceful_shutdown_on(ending.cancelled_owned())
            .run(
                move |object, failures| {
                    let rests = Arc::clone(&resting);
                    one_reconcile(
                        Key::of(object.as_ref()),
                        failures,
                        rests,
                        reconciles.clone(),
                        &reconcile,
                    )
                },
                try_again,
                Arc::clone(&failures),
            )
    );
    while let Some(result) = results.next().await {
        match result {
            // A failed reconcile has been logged.
            Ok(_) | Err(Error::ReconcilerFailed(..)) => {}
            Err(Error::ObjectNotFound(gone)) => {
                let gone = Key::new(gone.namespace.as_deref().unwrap_or_default(), &gone.name);
                failures.forget(&gone);
                rests.forget(&gone);
            }
            Err(error) => {
                tracing::error!(kind = %K::kind(&()), error = error_chain(&error), "the controller has a fault")
            }
        }
    }
}

struct Rests {
    until: Mutex<HashMap<Key, Instant>>,
    rest: Box<dyn Fn(&Key) -> Duration + Send + Sync>,
}

impl Rests {
    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Instant>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn left(&self, key: &Key, now: Instant) -> Option<Duration> {
        let until = *self.lock().get(key)?;
        until.checked_duration_since(now).filter(|left| !left.is_zero())
    }

    fn begin(&self, key: Key, now: Instant) {
        let rest = (self.rest)(&key);
        if !rest.is_zero() {
            self.lock().insert(key, now + rest);
        }
    }

    fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }
}

fn one_reconcile<F, Fut>(
    key: Key,
    failures: Arc<Failures<Key>>,
    rests: Arc<Rests>,
    reconciles: Reconciles,
    reconcile: &F,
) -> impl Future<Output = Result<Action, ApiError>> + Send + 'static + use<F, Fut>
where
    F: Fn(Key) -> Fut,
    Fut: Future<Output = Result<Option<Duration>, ApiError>> + Send + 'static,
{
    let work = reconcile(key.clone());
    async move {
        let now = Instant::now();
        if let Some(rest) = failures.resting(&key, now).max(rests.left(&key, now)) {
            return Ok(Action::requeue(rest));
        }
        let began = Instant::now();
        let result = work.await;
        let outcome = match &result {
            Ok(_) => Reconciled::Done,
            Err(error) if error.is_refusal() => Reconciled::Refused,
            Err(_) => Reconciled::Failed,
        };
        reconciles.done(outcome, began.elapsed());
        if !matches!(result, Ok(Some(Duration::ZERO))) {
            rests.begin(key.clone(), Instant::now());
        }
        let again = result?;
        failures.forget(&key);
        Ok(again.map_or(Action::await_change(), Action::requeue))
    }
}

#[allow(clippy::needless_pass_by_value, reason = "the Controller's signature")]
fn try_again<K: Resource<DynamicType = ()>>(object: Arc<K>, error: &ApiError, failures: Arc<Failures<Key>>) -> Action {
    let key = Key::of(object.as_ref());
    let _about = spans::object(object.as_ref()).entered();
    Action::requeue(failures.failed(&key, error, Instant::now(), rand::random()))
}

/// Losing to another writer is no fault: reconcile again once the cache is up to date.
pub(crate) fn overtaken_is_no_failure(
    result: Result<Option<Duration>, ApiError>,
) -> Result<Option<Duration>, ApiError> {
    match result {
        Err(error) if error.is_overtaken() => {
            tracing::debug!(%error, "overtaken by another writer");
            Ok(Some(AFTER_CONFLICT))
        }
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use crds::Swarm;
    use kube::runtime::reflector::store::Writer;
    use kube::runtime::watcher::Event;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::task::JoinHandle;

    const FAILED: ApiError = ApiError::TimedOut { what: "try" };

    fn swarm(name: &str) -> Swarm {
        let mut swarm = Swarm::new(name, crds::SwarmSpec::default());
        swarm.metadata.namespace = Some("north".into());
        swarm
    }

    fn key(name: &str) -> Key {
        Key::new("north", name)
    }

    struct Running {
        wakes: Arc<WakeSet<Key>>,
        store: Writer<Swarm>,
        ending: CancellationToken,
        task: JoinHandle<()>,
    }

    /// A controller of the Swarms `a` and `b`.
    fn running<Fut>(reconcile: impl Fn(Key) -> Fut + Send + 'static) -> Running
    where
        Fut: Future<Output = Result<Option<Duration>, ApiError>> + Send + 'static,
    {
        resting(Duration::ZERO, reconcile)
    }

    fn resting<Fut>(rest: Duration, reconcile: impl Fn(Key) -> Fut + Send + 'static) -> Running
    where
        Fut: Future<Output = Result<Option<Duration>, ApiError>> + Send + 'static,
    {
        let mut store = Writer::<Swarm>::default();
        for name in ["a", "b"] {
            store.apply_watcher_event(&Event::Apply(swarm(name)));
        }
        store.apply_watcher_event(&Event::Init);
        for name in ["a", "b"] {
            store.apply_watcher_event(&Event::InitApply(swarm(name)));
        }
        store.apply_watcher_event(&Event::InitDone);
        let (wakes, ending) = (Arc::new(WakeSet::default()), CancellationToken::new());
        let task = tokio::spawn(run(
            store.as_reader(),
            Arc::clone(&wakes),
            2,
            ending.clone(),
            Metrics::default().reconciles_of("Swarm"),
            move |_| rest,
            reconcile,
        ));
        Running {
            wakes,
            store,
            ending,
            task,
        }
    }

    fn counter() -> (Arc<AtomicUsize>, impl Fn() -> usize) {
        let count = Arc::new(AtomicUsize::new(0));
        let shared = Arc::clone(&count);
        (count, move || shared.load(Ordering::Relaxed))
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_woken_while_it_is_worked_on_is_reconciled_again_and_not_meanwhile() {
        let (reconciles, seen) = counter();
        let running = running(move |_| {
            let reconciles = Arc::clone(&reconciles);
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                reconciles.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
        });
        for _ in 0..8 {
            running.wakes.wake(key("a"));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(seen(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn failed_work_is_tried_again_with_growing_delays_up_to_the_cap() {
        let (tries, seen) = counter();
        let running = running(move |_| {
            tries.fetch_add(1, Ordering::Relaxed);
            async { Err(FAILED) }
        });
        running.wakes.wake(key("a"));
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert!((20..=60).contains(&seen()), "{}", seen());
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_is_woken_all_the_while_does_not_turn_an_outage_into_a_storm() {
        let (tries, seen) = counter();
        let running = running(move |_| {
            let tries = Arc::clone(&tries);
            async move {
                tries.fetch_add(1, Ordering::Relaxed);
                Err(FAILED)
            }
        });
        for _ in 0..10_000 {
            running.wakes.wake(key("a"));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!((10..=60).contains(&seen()), "{}", seen());
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_woken_all_the_while_rests_between_reconciles_and_loses_none() {
        let (reconciles, seen) = counter();
        let running = resting(Duration::from_millis(100), move |_| {
            let reconciles = Arc::clone(&reconciles);
            async move {
                reconciles.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
        });
        for _ in 0..1000 {
            running.wakes.wake(key("a"));
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!((9..=11).contains(&seen()), "{}", seen());
        let before = seen();
        running.wakes.wake(key("a"));
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(seen() > before, "what was woken during the rest is reconciled after it");
        tokio::time::sleep(Duration::from_secs(60)).await;
        let before = seen();
        running.wakes.wake(key("a"));
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(seen(), before + 1, "one that has rested is reconciled at once");
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_with_more_to_do_at_once_does_it_before_it_rests() {
        let (reconciles, seen) = counter();
        let running = resting(Duration::from_secs(10), move |_| {
            let reconciles = Arc::clone(&reconciles);
            async move {
                let more = reconciles.fetch_add(1, Ordering::Relaxed) < 4;
                Ok(more.then_some(Duration::ZERO))
            }
        });
        running.wakes.wake(key("a"));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(seen(), 5, "a Swarm that is deleted lands its Drones some at a time");
        running.wakes.wake(key("a"));
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(seen(), 5, "then it rests");
    }

    #[tokio::test(start_paused = true)]
    async fn a_failing_object_does_not_hold_up_another() {
        let (reconciles, seen) = counter();
        let running = running(move |key: Key| {
            let reconciles = Arc::clone(&reconciles);
            async move {
                if key.name == "a" {
                    return Err(FAILED);
                }
                reconciles.fetch_add(1, Ordering::Relaxed);
                Ok(Some(Duration::from_secs(10)))
            }
        });
        running.wakes.wake(key("a"));
        running.wakes.wake(key("b"));
        tokio::time::sleep(Duration::from_secs(55)).await;
        assert_eq!(seen(), 6, "reconciled once and then as often as it asked for");
    }

    #[tokio::test(start_paused = true)]
    async fn an_object_that_is_gone_is_not_reconciled_and_one_that_comes_is() {
        let (reconciles, seen) = counter();
        let mut running = running(move |_| {
            reconciles.fetch_add(1, Ordering::Relaxed);
            async { Ok(None) }
        });
        running.store.apply_watcher_event(&Event::Delete(swarm("a")));
        running.wakes.wake(key("a"));
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(seen(), 0);
        running.store.apply_watcher_event(&Event::Apply(swarm("c")));
        running.wakes.wake(key("c"));
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(seen(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_under_way_at_the_end_is_finished_and_nothing_new_is_begun() {
        let (finished, seen) = counter();
        let running = running(move |_| {
            let finished = Arc::clone(&finished);
            async move {
                tokio::time::sleep(Duration::from_secs(5)).await;
                finished.fetch_add(1, Ordering::Relaxed);
                Ok(Some(Duration::ZERO))
            }
        });
        running.wakes.wake(key("a"));
        tokio::time::sleep(Duration::from_secs(1)).await;
        running.ending.cancel();
        running.wakes.wake(key("b"));
        running.task.await.unwrap();
        assert_eq!(seen(), 1);
    }
}
