//! Objects, conditions and Events from the Kubernetes API, with the rights of the person's kubeconfig.

use super::objects::{Details, EventLine, Listed, ObjectRef, ObjectsSnapshot, Wanted};
use crate::live::clock::Now;
use crate::live::objects::{Objects, Reading};
use crate::watch::jitter;
use crds::{Drone, Mission, Swarm, Vehicle};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource;
use kube::api::{Api, ListParams};
use model::backoff::Backoff;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

const READ_INTERVAL: Duration = Duration::from_secs(2);

/// Pause after a list, in multiples of its duration.
const REST_PER_READING: u32 = 5;

const MAX_EVENTS: u32 = 500;

/// Namespace of Events about objects without one.
const EVENTS_OF_CLUSTER: &str = "default";

const RETRY: Backoff = Backoff {
    first: READ_INTERVAL,
    cap: Duration::from_secs(30),
};

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
        let mut rest = READ_INTERVAL.max(begun.elapsed() * REST_PER_READING);
        // An expired token, or the API has another address.
        if objects.renew().await {
            failures += 1;
            rest = RETRY.delay(failures, jitter());
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
                    let answer = self
                        .list("list the Swarms", &self.of(namespace), &ListParams::default())
                        .await;
                    seen.send_modify(|seen| seen.swarms.note(answer.map(Arc::new), Now::read().elapsed));
                }
                Some(Listed::Missions) => {
                    let answer = self
                        .list("list the Missions", &self.of(namespace), &ListParams::default())
                        .await;
                    seen.send_modify(|seen| seen.missions.note(answer.map(Arc::new), Now::read().elapsed));
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

    /// `None`: all namespaces.
    fn of<K>(&self, namespace: Option<&str>) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        match namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
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
                let object = self
                    .get(of.kind, &of.name, &Api::<Swarm>::namespaced(client, namespace))
                    .await?;
                object.status.map(|status| status.conditions)
            }
            "Mission" => {
                let object = self
                    .get(of.kind, &of.name, &Api::<Mission>::namespaced(client, namespace))
                    .await?;
                object.status.map(|status| status.conditions)
            }
            "Vehicle" => {
                let object = self.get(of.kind, &of.name, &Api::<Vehicle>::all(client)).await?;
                object.status.map(|status| status.conditions)
            }
            _ => {
                let object = self
                    .get(of.kind, &of.name, &Api::<Drone>::namespaced(client, namespace))
                    .await?;
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
            .limit(MAX_EVENTS);
        let api = Api::<Event>::namespaced(self.client.clone(), namespace);
        let events = self.list("list its Events", &api, &about).await?;
        let mut lines: Vec<EventLine> = events.iter().map(EventLine::of).collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.at));
        Ok(lines)
    }
}
