//! The watches that keep the caches filled.
//!
//! Owns: listing and watching Drones, Swarms, drone nodes and claims, and finding out what went away while a watch was
//! broken. Must not: decide. An API server that is away only makes the caches older.

use crate::claims;
use crate::context::Context;
use crate::key::Key;
use crate::world::Change;
use crds::{Drone, Swarm, labels};
use futures::StreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::Arc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Starts all watches.
pub fn start(context: &Arc<Context>, tasks: &mut JoinSet<()>) {
    let client = || context.client();
    let ending = || context.ending.clone();
    let all = watcher::Config::default;
    let world = Arc::clone(&context.world);
    tasks.spawn(follow(Api::<Drone>::all(client()), all(), ending(), move |c| {
        world.drone(c)
    }));
    let world = Arc::clone(&context.world);
    tasks.spawn(follow(Api::<Swarm>::all(client()), all(), ending(), move |c| {
        world.swarm(c)
    }));
    let world = Arc::clone(&context.world);
    let drone_nodes = all().labels(labels::DRONE_NODE);
    tasks.spawn(follow(Api::<Node>::all(client()), drone_nodes, ending(), move |c| {
        world.node(c)
    }));
    let world = Arc::clone(&context.world);
    let leases = Api::<Lease>::namespaced(client(), &context.namespace);
    tasks.spawn(follow(leases, all().labels(claims::LABEL), ending(), move |c| {
        world.lease(c)
    }));
}

/// Tells `tell` of every change, for ever. After a break it tells of what is gone, too.
async fn follow<K>(api: Api<K>, config: watcher::Config, ending: CancellationToken, tell: impl Fn(Change<K>) + Send)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let kind = K::kind(&());
    let mut events = std::pin::pin!(watch(api, config).default_backoff());
    let mut known = Known::default();
    let mut broken = false;
    loop {
        let event = tokio::select! {
            () = ending.cancelled() => return,
            event = events.next() => event,
        };
        match event {
            Some(Ok(event)) => {
                if std::mem::take(&mut broken) {
                    tracing::info!(%kind, "watch is back");
                }
                known.take(event, &tell);
            }
            Some(Err(error)) => {
                if !std::mem::replace(&mut broken, true) {
                    tracing::warn!(%kind, %error, "watch is broken; will be tried again, vehicles go on as assigned");
                }
            }
            None => return,
        }
    }
}

/// The keys that exist, for finding out at a fresh list what went away unseen.
#[derive(Debug, Default)]
struct Known {
    now: HashSet<Key>,
    listed: HashSet<Key>,
}

impl Known {
    fn take<K: ResourceExt>(&mut self, event: Event<K>, tell: impl Fn(Change<K>)) {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                self.listed.insert(Key::of(&object));
                tell(Change::Is(lean(object)));
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                for gone in self.now.difference(&listed) {
                    tell(Change::Gone(gone.clone()));
                }
                self.now = listed;
                tell(Change::Filled);
            }
            Event::Apply(object) => {
                self.now.insert(Key::of(&object));
                tell(Change::Is(lean(object)));
            }
            Event::Delete(object) => {
                let key = Key::of(&object);
                self.now.remove(&key);
                tell(Change::Gone(key));
            }
        }
    }
}

/// Without the bookkeeping of field managers, which is half of an object and of no use here.
fn lean<K: ResourceExt>(mut object: K) -> K {
    object.managed_fields_mut().clear();
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn drone(name: &str) -> Drone {
        let mut drone = Drone::new(name, crds::DroneSpec::default());
        drone.metadata.namespace = Some("field".into());
        drone
    }

    #[test]
    fn what_went_away_while_the_watch_was_broken_is_told_after_the_next_list() {
        let (mut known, told) = (Known::default(), RefCell::new(vec![]));
        let tell = |change: Change<Drone>| {
            if let Change::Gone(key) = change {
                told.borrow_mut().push(key.name);
            }
        };
        for event in [
            Event::Init,
            Event::InitApply(drone("a")),
            Event::InitApply(drone("b")),
            Event::InitDone,
        ] {
            known.take(event, tell);
        }
        known.take(Event::Apply(drone("c")), tell);
        assert!(told.borrow().is_empty());
        for event in [Event::Init, Event::InitApply(drone("b")), Event::InitDone] {
            known.take(event, tell);
        }
        told.borrow_mut().sort();
        assert_eq!(*told.borrow(), ["a", "c"]);
    }
}
