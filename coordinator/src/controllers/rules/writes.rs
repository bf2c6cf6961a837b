//! The statuses of Geofences, ParameterProfiles and Operators on their way to the API server.

use super::readable::Readable;
use crate::cluster::api::{ApiError, error_chain};
use crate::cluster::retry::Failures;
use crate::cluster::status::write as write_status;
use crate::controllers::facts::Observer;
use crate::controllers::pacing::{Due, Paces, Urgency};
use crds::{Geofence, Operator, ParameterProfile};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::Api;
use kube::core::ObjectMeta;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use tokio::task::JoinSet;
use tokio::time::Instant;

const CONCURRENT_WRITES: usize = 8;

/// Statuses to be written, at most one for each object.
#[derive(Default)]
pub struct Writes {
    waiting: BTreeMap<String, Write>,
    under_way: BTreeSet<String>,
    tasks: JoinSet<(String, Result<(), ApiError>)>,
    paces: Paces,
    failures: Failures<String>,
}

struct Write {
    kind: &'static str,
    about: ObjectMeta,
    status: serde_json::Value,
}

const GEOFENCE: &str = "Geofence";
const PROFILE: &str = "ParameterProfile";
const OPERATOR: &str = "Operator";

impl Writes {
    /// Has `new` written, when that is due, over the status `old` and `conditions` of `object`.
    pub fn offer<K, S>(&mut self, object: &K, (old, conditions): (Option<&S>, &[Condition]), new: &S, now: Instant)
    where
        K: Resource<DynamicType = ()>,
        S: PartialEq + Serialize,
    {
        let urgency = match old {
            Some(old) if old == new => Urgency::None,
            Some(_) if !conditions.is_empty() => Urgency::Soon,
            _ => Urgency::Now,
        };
        let kind = match K::kind(&()).as_ref() {
            GEOFENCE => GEOFENCE,
            OPERATOR => OPERATOR,
            _ => PROFILE,
        };
        let name = object.name_any();
        let key = format!("{kind}/{name}");
        let rests = self.under_way.contains(&key) || self.failures.resting(&key, now).is_some();
        if rests || self.paces.due(&key, urgency, now) != Due::Now {
            self.waiting.remove(&key);
            return;
        }
        // These kinds can all be written as JSON.
        let Ok(status) = serde_json::to_value(new) else { return };
        let about = object.meta().clone();
        self.waiting.insert(key, Write { kind, about, status });
    }

    /// Begins as many as may be under way, while this coordinator acts.
    pub fn begin(&mut self, observer: &Observer) {
        while self.tasks.len() < CONCURRENT_WRITES
            && observer.leadership.state.acts()
            && let Some((key, write)) = self.waiting.pop_first()
        {
            let client = observer.cluster.client();
            self.under_way.insert(key.clone());
            self.tasks.spawn(async move {
                let done = match write.kind {
                    GEOFENCE => write.on(Api::<Readable<Geofence>>::all(client)).await,
                    OPERATOR => write.on(Api::<Operator>::all(client)).await,
                    _ => write.on(Api::<Readable<ParameterProfile>>::all(client)).await,
                };
                (key, done)
            });
        }
    }

    /// Begins another whenever one is done, for ever. Safe to cancel.
    pub async fn go_on(&mut self, observer: &Observer) {
        loop {
            self.one().await;
            self.begin(observer);
        }
    }

    /// Done when one is; never while none is under way. Safe to cancel.
    async fn one(&mut self) {
        let Some(done) = self.tasks.join_next().await else {
            return std::future::pending().await;
        };
        // A task fails only by a panic: its object waits no longer.
        let Ok((key, done)) = done else {
            self.under_way.clear();
            return;
        };
        self.under_way.remove(&key);
        match done {
            Ok(()) => {
                self.failures.forget(&key);
                self.paces.written(&key, Instant::now());
            }
            // The watch brings the other writer's change.
            Err(error) if error.is_overtaken() => {}
            Err(error) => {
                self.failures
                    .failed(&key, &error_chain(&error), Instant::now(), rand::random());
            }
        }
    }
}

impl Write {
    async fn on<K>(&self, api: Api<K>) -> Result<(), ApiError>
    where
        K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
    {
        let written = write_status("write the status of rules", &api, &self.about, &self.status);
        written.await.map(drop)
    }
}
