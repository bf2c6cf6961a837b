//! The watches that keep the caches filled.
//!
//! Owns: listing and watching, finding out what went away while a watch was broken, the stores of the controllers, listing everything again
//! when asked to ([`Relist`]). A store and the [`World`] share their objects; a store is filled first. Must not: decide. An API server that
//! is away only makes the caches older.

use crate::cluster::api::error_chain;
use crate::cluster::key::Key;
use crate::cluster::retry::WATCH_RETRY;
use crate::cluster::world::{Change, World, claim};
use crds::{Drone, GroundOrder, Swarm, labels};
use futures::StreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch as latest;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Length of one watch, by the API server, after which it continues where it was. This detects an open but dead connection: nothing else is
/// sure to arrive on it. kube waits 5 s longer, still less than [`crate::cluster::api::CONNECTION_SILENCE_LIMIT`].
pub(crate) const WATCH_SECONDS: u32 = 20;

/// After this long without trouble, the next failure is the first in a row. Longer than any try takes.
const FAILURES_FORGOTTEN_AFTER: Duration = Duration::from_secs(60);

/// The Drones and Swarms that exist, as kube's controllers read them.
#[derive(Clone, Debug)]
pub struct Stores {
    pub drones: Store<Drone>,
    pub swarms: Store<Swarm>,
}

/// Lists everything again, where watches may be late: without a resourceVersion, so that answers are no older than the question.
#[derive(Clone, Debug, Default)]
pub struct Relist {
    asked: latest::Sender<u64>,
    done: latest::Sender<Vec<u64>>,
}

impl Relist {
    /// Done once all kinds were listed by requests that were sent after this call.
    pub async fn all(&self) {
        let mut done = self.done.subscribe();
        self.asked.send_modify(|count| *count += 1);
        let now = *self.asked.borrow();
        // Fails only if the sender is gone, which `self` owns.
        let _ = done.wait_for(|done| done.iter().all(|count| *count >= now)).await;
    }

    fn another(&self) -> RelistPart {
        let mut kind = 0;
        self.done.send_modify(|done| {
            kind = done.len();
            done.push(0);
        });
        RelistPart {
            asked: self.asked.subscribe(),
            done: self.done.clone(),
            kind,
            now: 0,
        }
    }
}

#[derive(Debug)]
pub(crate) struct RelistPart {
    asked: latest::Receiver<u64>,
    done: latest::Sender<Vec<u64>>,
    kind: usize,
    now: u64,
}

impl RelistPart {
    fn begin(&mut self) {
        self.now = *self.asked.borrow_and_update();
    }

    /// Done when a list is asked for that was not begun yet.
    async fn again(&mut self) {
        if self.asked.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// The list that was begun last, or a later one, is complete.
    fn complete(&self) {
        self.done.send_modify(|done| {
            if let Some(count) = done.get_mut(self.kind) {
                *count = self.now;
            }
        });
    }
}

/// `namespace` is that of the claims.
pub fn start(
    client: &kube::Client,
    namespace: &str,
    world: &Arc<World>,
    ending: &CancellationToken,
    tasks: &mut JoinSet<()>,
) -> (Stores, Relist) {
    let relist = Relist::default();
    let again = || relist.another();
    let client = || client.clone();
    let ending = || ending.clone();
    let shared = world;
    let all = || watcher::Config::default().timeout(WATCH_SECONDS);
    let (drones, swarms) = (Writer::<Drone>::default(), Writer::<Swarm>::default());
    let stores = Stores {
        drones: drones.as_reader(),
        swarms: swarms.as_reader(),
    };
    let world = Arc::clone(shared);
    let api = Api::<Drone>::all(client());
    tasks.spawn(follow_afresh(api, all(), Some(drones), again(), ending(), move |c| {
        world.drone(c);
    }));
    let world = Arc::clone(shared);
    let api = Api::<Swarm>::all(client());
    tasks.spawn(follow_afresh(api, all(), Some(swarms), again(), ending(), move |c| {
        world.swarm(c);
    }));
    // Of nodes and claims only a few facts are kept.
    let world = Arc::clone(shared);
    let api = Api::<Node>::all(client());
    let drone_nodes = all().labels(labels::DRONE_NODE);
    tasks.spawn(follow_afresh(api, drone_nodes, None, again(), ending(), move |c| {
        world.node(c)
    }));
    let world = Arc::clone(shared);
    let api = Api::<GroundOrder>::all(client());
    tasks.spawn(follow_afresh(api, all(), None, again(), ending(), move |c| {
        world.ground_order(c);
    }));
    let world = Arc::clone(shared);
    let api = Api::<Lease>::namespaced(client(), namespace);
    let claims = all().labels(claim::LABEL);
    tasks.spawn(follow_afresh(api, claims, None, again(), ending(), move |c| {
        world.lease(c)
    }));
    (stores, relist)
}

/// Calls `notify` with every change, for ever, after putting it into `store`. After a break it reports deletions, too.
pub(crate) async fn follow<K>(
    api: Api<K>,
    config: watcher::Config,
    store: Option<Writer<K>>,
    ending: CancellationToken,
    notify: impl Fn(Change<K>) + Send,
) where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let alone = Relist::default();
    follow_afresh(api, config, store, alone.another(), ending, notify).await;
}

/// The same, and lists again whenever it is `asked` to.
async fn follow_afresh<K>(
    api: Api<K>,
    config: watcher::Config,
    store: Option<Writer<K>>,
    mut asked: RelistPart,
    ending: CancellationToken,
    notify: impl Fn(Change<K>) + Send,
) where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let kind = K::kind(&());
    let begin = || Box::pin(watch(api.clone(), config.clone()).modify(drop_managed_fields));
    asked.begin();
    let mut events = begin();
    let mut known = Observed::new(store);
    let mut trouble = Trouble::default();
    let mut broken = false;
    loop {
        let event = tokio::select! {
            () = ending.cancelled() => return,
            () = asked.again() => {
                asked.begin();
                events = begin();
                continue;
            }
            event = events.next() => event,
        };
        match event {
            Some(Ok(event)) => {
                // `Init` only reports that a list is asked for.
                if broken && !matches!(event, Event::Init) {
                    broken = false;
                    tracing::info!(%kind, "watch is back");
                }
                let complete = matches!(event, Event::InitDone);
                known.take(event, &notify);
                if complete {
                    asked.complete();
                }
            }
            Some(Err(error)) => {
                if !std::mem::replace(&mut broken, true) {
                    tracing::warn!(%kind, error = error_chain(&error), "watch is broken; will be tried again, vehicles go on as assigned");
                }
                if is_expired(&error) {
                    asked.begin();
                    events = begin();
                }
                let rest = trouble.rest(Instant::now(), rand::random());
                if ending.run_until_cancelled(tokio::time::sleep(rest)).await.is_none() {
                    return;
                }
            }
            None => return,
        }
    }
}

/// Whether a watch was refused because its resourceVersion is too old. kube lists again when an event of the watch says so, but would
/// repeat the request for ever where the response's status does.
fn is_expired(error: &watcher::Error) -> bool {
    matches!(error, watcher::Error::WatchStartFailed(kube::Error::Api(status)) if status.code == 410)
}

#[derive(Debug, Default)]
struct Trouble {
    times: u32,
    last: Option<Instant>,
}

impl Trouble {
    /// The delay after a failure at `now`, `jitter` in 0.0..=1.0. A list does not end the row: the watch after it may fail each time.
    fn rest(&mut self, now: Instant, jitter: f64) -> Duration {
        let calm = self.last.is_none_or(|last| now - last > FAILURES_FORGOTTEN_AFTER);
        self.times = if calm { 1 } else { self.times.saturating_add(1) };
        self.last = Some(now);
        WATCH_RETRY.delay(self.times, jitter)
    }
}

/// The objects that exist, to find at a fresh list those that went away unseen.
struct Observed<K: Resource<DynamicType = ()> + Clone + 'static> {
    now: HashSet<Key>,
    listed: HashSet<Key>,
    store: Option<Writer<K>>,
}

impl<K: Resource<DynamicType = ()> + Clone + 'static> Observed<K> {
    fn new(store: Option<Writer<K>>) -> Self {
        Self {
            now: HashSet::new(),
            listed: HashSet::new(),
            store,
        }
    }

    fn take(&mut self, event: Event<K>, notify: impl Fn(Change<K>)) {
        if let Some(store) = &mut self.store {
            store.apply_watcher_event(&event);
        }
        match event {
            // The list is asked for after this event is handled.
            Event::Init => {
                self.listed.clear();
                notify(Change::Asked);
            }
            Event::InitApply(object) => {
                self.listed.insert(Key::of(&object));
                // A store shows a list as a whole, once complete.
                if self.store.is_none() {
                    notify(Change::Is(Arc::new(object)));
                }
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                for gone in self.now.difference(&listed) {
                    notify(Change::Gone(gone.clone()));
                }
                self.now = listed;
                let stored = self.store.as_ref().map(|store| store.as_reader().state());
                for object in stored.into_iter().flatten() {
                    notify(Change::Is(object));
                }
                notify(Change::Filled);
            }
            Event::Apply(object) => {
                self.now.insert(Key::of(&object));
                notify(Change::Is(self.shared(object)));
            }
            Event::Delete(object) => {
                let key = Key::of(&object);
                self.now.remove(&key);
                notify(Change::Gone(key));
            }
        }
    }

    /// The store's copy of `object`, so that it is not kept twice.
    fn shared(&self, object: K) -> Arc<K> {
        let store = self.store.as_ref().map(Writer::as_reader);
        let stored = store.and_then(|store| store.get(&ObjectRef::from_obj(&object)));
        stored.unwrap_or_else(|| Arc::new(object))
    }
}

/// Half of an object is bookkeeping of field managers.
fn drop_managed_fields<K: ResourceExt>(object: &mut K) {
    object.managed_fields_mut().clear();
}

#[cfg(test)]
mod tests;
