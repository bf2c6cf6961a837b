//! Objects, conditions and Events from the Kubernetes API, with the rights of the person's kubeconfig.
//!
//! Owns: which API that is, and reading again and again what is looked at, each call with a deadline and never more often than the API
//! server bears. Must not: write.

use super::clock::Now;
use super::objects::{Details, EventLine, Listed, ObjectRef, ObjectsSnapshot, Reading, Wanted};
use crate::cluster::{Choice, Cluster};
use crate::failure::Failure;
use crate::route::Route;
use crate::station_record::StationRecord;
use crate::watch::jitter;
use coordinator::cluster::api::error_chain;
use crds::{Drone, Swarm, Vehicle};
use fleet::backoff::Backoff;
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Client;
use kube::api::{Api, ListParams};
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// One call takes at most this long.
const ANSWER: Duration = Duration::from_secs(10);

/// What is looked at is read this often.
const READ_EVERY: Duration = Duration::from_secs(2);

/// A list that took long is read again after so many times as long.
const REST: u32 = 5;

/// So many Events are read of one object.
const EVENTS: u32 = 500;

/// The Namespace in which Events about objects without one are.
const EVENTS_OF_CLUSTER: &str = "default";

/// After an API server that does not answer.
const AGAIN: Backoff = Backoff {
    first: READ_EVERY,
    cap: Duration::from_secs(30),
};

/// The API that belongs to a coordinator.
pub struct Objects {
    choice: Choice,
    client: Client,
    /// In words.
    pub from: String,
    /// The last call failed in a way that a new login, or a new address, may mend.
    renew: AtomicBool,
}

/// Where the objects are, for a person who reaches the coordinator by `route`; `named` is the kubeconfig that was named for one that was
/// named by its address. `Ok(Err)`: nowhere that is known, in words.
///
/// # Errors
/// [`Failure`]: the kubeconfig cannot be used.
pub async fn objects(route: &Route, named: Option<Choice>) -> Result<Result<Objects, String>, Failure> {
    let choice = match route {
        Route::Cluster { choice, .. } => choice.clone(),
        Route::Station { folder, .. } => match StationRecord::read(folder) {
            Some(record) => Choice {
                kubeconfig: Some(record.kubeconfig),
                ..Choice::default()
            },
            None => {
                return Ok(Err(
                    "the station of this machine does not say where its API is".to_owned()
                ));
            }
        },
        // The one who names the address of a coordinator names the objects that belong to it.
        Route::Plain(_) | Route::Files { .. } => match named {
            Some(choice) => choice,
            None => {
                return Ok(Err(
                    "no kubeconfig is named for this coordinator (--kubeconfig, KUBECONFIG)".to_owned(),
                ));
            }
        },
    };
    Ok(Ok(Objects {
        client: Cluster::of(&choice).await?.client,
        from: choice.to_string(),
        choice,
        renew: AtomicBool::new(false),
    }))
}

/// Reads what is `wanted`, again and again, for as long as somebody looks.
pub async fn follow(
    mut objects: Objects,
    namespace: Option<String>,
    mut wanted: watch::Receiver<Wanted>,
    seen: watch::Sender<ObjectsSnapshot>,
) {
    let mut failures = 0;
    loop {
        let now_wanted = wanted.borrow_and_update().clone();
        let begun = Instant::now();
        objects.read(&now_wanted, namespace.as_deref(), &seen).await;
        let mut rest = READ_EVERY.max(begun.elapsed() * REST);
        if objects.renew.swap(false, Ordering::Relaxed) {
            failures += 1;
            rest = AGAIN.delay(failures, jitter());
            // A token has run out, or the API is elsewhere now.
            if let Ok(cluster) = Cluster::of(&objects.choice).await {
                objects.client = cluster.client;
            }
        } else {
            failures = 0;
        }
        tokio::select! {
            changed = wanted.changed() => if changed.is_err() {
                return;
            },
            () = sleep(rest) => {}
        }
    }
}

impl Objects {
    async fn read(&self, wanted: &Wanted, namespace: Option<&str>, seen: &watch::Sender<ObjectsSnapshot>) {
        let list = async {
            match wanted.list {
                Some(Listed::Swarms) => {
                    let api = match namespace {
                        Some(namespace) => Api::<Swarm>::namespaced(self.client.clone(), namespace),
                        None => Api::all(self.client.clone()),
                    };
                    let answer = self.list("list the Swarms", &api, &ListParams::default()).await;
                    seen.send_modify(|seen| seen.swarms.note(answer.map(Arc::new), Now::read().elapsed));
                }
                Some(Listed::Vehicles) => {
                    let api = Api::<Vehicle>::all(self.client.clone());
                    let answer = self.list("list the Vehicles", &api, &ListParams::default()).await;
                    seen.send_modify(|seen| seen.vehicles.note(answer.map(Arc::new), Now::read().elapsed));
                }
                None => {}
            }
        };
        let details = async {
            let Some(of) = &wanted.details else { return };
            let answer = self.details(of).await;
            seen.send_modify(|seen| {
                let mut reading = match seen.details.take() {
                    Some((about, reading)) if about == *of => reading,
                    _ => Reading::default(),
                };
                reading.note(answer, Now::read().elapsed);
                seen.details = Some((of.clone(), reading));
            });
        };
        tokio::join!(list, details);
    }

    async fn details(&self, of: &ObjectRef) -> Result<Details, String> {
        let (conditions, events) = tokio::join!(self.conditions(of), self.events(of));
        Ok(Details {
            conditions: conditions?,
            events,
        })
    }

    async fn conditions(&self, of: &ObjectRef) -> Result<Vec<Condition>, String> {
        let (client, namespace) = (self.client.clone(), of.namespace.as_str());
        Ok(match of.kind {
            "Swarm" => {
                let object = self.get(of, &Api::<Swarm>::namespaced(client, namespace)).await?;
                object.status.map(|status| status.conditions)
            }
            "Vehicle" => {
                let object = self.get(of, &Api::<Vehicle>::all(client)).await?;
                object.status.map(|status| status.conditions)
            }
            _ => {
                let object = self.get(of, &Api::<Drone>::namespaced(client, namespace)).await?;
                object.status.map(|status| status.conditions)
            }
        }
        .unwrap_or_default())
    }

    async fn events(&self, of: &ObjectRef) -> Result<Vec<EventLine>, String> {
        let namespace = if of.namespace.is_empty() {
            EVENTS_OF_CLUSTER
        } else {
            &of.namespace
        };
        let about = ListParams::default()
            .fields(&format!(
                "involvedObject.kind={},involvedObject.name={}",
                of.kind, of.name
            ))
            .limit(EVENTS);
        let api = Api::<Event>::namespaced(self.client.clone(), namespace);
        let events = self.list("list its Events", &api, &about).await?;
        let mut lines: Vec<EventLine> = events.iter().map(EventLine::of).collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.at));
        Ok(lines)
    }

    async fn list<K>(&self, what: &str, api: &Api<K>, params: &ListParams) -> Result<Vec<K>, String>
    where
        K: Clone + DeserializeOwned + Debug,
    {
        Ok(self.answered(what, api.list(params)).await?.items)
    }

    async fn get<K>(&self, of: &ObjectRef, api: &Api<K>) -> Result<K, String>
    where
        K: Clone + DeserializeOwned + Debug,
    {
        self.answered(&format!("read the {}", of.kind), api.get(&of.name)).await
    }

    async fn answered<T>(&self, what: &str, call: impl Future<Output = kube::Result<T>>) -> Result<T, String> {
        let answer = timeout(ANSWER, call).await;
        let refused = matches!(&answer, Ok(Err(kube::Error::Api(status))) if status.code != 401);
        if !refused && !matches!(&answer, Ok(Ok(_))) {
            self.renew.store(true, Ordering::Relaxed);
        }
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => {
                Err(format!("you may not {what}: {}", status.message))
            }
            Ok(Err(kube::Error::Api(status))) => Err(format!("cannot {what}: {}", status.message)),
            Ok(Err(error)) => Err(format!("cannot {what}: {}", error_chain(&error))),
            Err(_) => Err(format!(
                "cannot {what}: the API server does not answer within {} s",
                ANSWER.as_secs()
            )),
        }
    }
}
