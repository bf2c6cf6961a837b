//! Reads the objects that the map shows, with the person's own rights.

use crate::live::clock::Now;
use crate::live::objects::{Objects, Reading};
use crate::watch::jitter;
use crds::{Drone, Geofence, Mission, Swarm};
use kube::api::{Api, ListParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};
use model::backoff::Backoff;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{RwLock, watch};
use tokio::time::{Instant, sleep};

const READ_INTERVAL: Duration = Duration::from_secs(2);

/// Pause after a list, in multiples of its duration.
const REST_PER_READING: u32 = 5;

const RETRY: Backoff = Backoff {
    first: READ_INTERVAL,
    cap: Duration::from_secs(30),
};

#[derive(Debug, Clone, Default)]
pub struct ObjectsSnapshot {
    /// Why no objects can be read.
    pub none: Option<String>,
    pub drones: Reading<Arc<Vec<Drone>>>,
    pub swarms: Reading<Arc<Vec<Swarm>>>,
    pub missions: Reading<Arc<Vec<Mission>>>,
    pub geofences: Reading<Arc<Vec<Geofence>>>,
}

/// Reads while somebody takes `documents`.
pub async fn follow<T: Send + Sync>(
    objects: Arc<RwLock<Objects>>,
    namespace: Option<String>,
    documents: watch::Sender<T>,
    seen: watch::Sender<ObjectsSnapshot>,
) {
    let mut failures = 0;
    loop {
        let begun = Instant::now();
        if documents.receiver_count() > 0 {
            read(&*objects.read().await, namespace.as_deref(), &seen).await;
        }
        let mut rest = READ_INTERVAL.max(begun.elapsed() * REST_PER_READING);
        // An expired token, or the API has another address.
        if objects.write().await.renew().await {
            failures += 1;
            rest = RETRY.delay(failures, jitter());
        } else {
            failures = 0;
        }
        sleep(rest).await;
    }
}

async fn read(objects: &Objects, namespace: Option<&str>, seen: &watch::Sender<ObjectsSnapshot>) {
    let (client, all) = (&objects.client, ListParams::default());
    let (drones, swarms) = (of::<Drone>(client, namespace), of::<Swarm>(client, namespace));
    let (missions, geofences) = (of::<Mission>(client, namespace), Api::<Geofence>::all(client.clone()));
    let (drones, swarms, missions, geofences) = tokio::join!(
        objects.list("list the Drones", &drones, &all),
        objects.list("list the Swarms", &swarms, &all),
        objects.list("list the Missions", &missions, &all),
        objects.list("list the Geofences", &geofences, &all),
    );
    let at = Now::read().elapsed;
    seen.send_modify(|seen| {
        seen.drones.note(drones.map(Arc::new), at);
        seen.swarms.note(swarms.map(Arc::new), at);
        seen.missions.note(missions.map(Arc::new), at);
        seen.geofences.note(geofences.map(Arc::new), at);
    });
}

fn of<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(
    client: &Client,
    namespace: Option<&str>,
) -> Api<K> {
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}
