//! The statuses of Geofences, ParameterProfiles and Operators on their way to the API server.
//!
//! Owns: [`Writes`]: a few at a time, the newest status of each object, paced, and tried again with a capped back-off. Must not: keep
//! anybody waiting who looks after vehicles.

use super::readable::Readable;
use crate::cluster::api::{self, ApiError, error_chain};
use crate::cluster::retry::Failures;
use crate::cluster::world::uid;
use crate::controllers::drone::pacing::{Due, Paces, Urgency};
use crds::{Geofence, Operator, ParameterProfile, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Writes under way at once.
const AT_A_TIME: usize = 8;

/// Statuses that wait to be written, one for each object at most.
#[derive(Default)]
pub struct Writes {
    waiting: BTreeMap<String, Write>,
    under_way: BTreeSet<String>,
    tasks: JoinSet<(String, Result<(), ApiError>)>,
    paces: Paces,
    failures: Failures<String>,
}

/// A status to be written.
struct Write {
    kind: &'static str,
    name: String,
    patch: serde_json::Value,
}

const GEOFENCE: &str = "Geofence";
const PROFILE: &str = "ParameterProfile";
const OPERATOR: &str = "Operator";

impl Writes {
    /// Has `new` written as the status of `object`, which has the status `old` and `conditions`, when that is due.
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
        let patch = json!({
            "apiVersion": K::api_version(&()),
            "kind": kind,
            // An API server does not compare the uid when a status is written: of an object that was made anew under the same name, whose
            // generation is that of the former one, this would say what is so of the former.
            "metadata": {"name": name, "uid": uid(object), "resourceVersion": object.meta().resource_version},
            "status": new,
        });
        self.waiting.insert(key, Write { kind, name, patch });
    }

    /// Begins as many as may be under way.
    pub fn begin(&mut self, client: &Client) {
        while self.tasks.len() < AT_A_TIME
            && let Some((key, write)) = self.waiting.pop_first()
        {
            let client = client.clone();
            self.under_way.insert(key.clone());
            self.tasks.spawn(async move {
                let done = match write.kind {
                    GEOFENCE => patch(Api::<Readable<Geofence>>::all(client), &write).await,
                    OPERATOR => patch(Api::<Operator>::all(client), &write).await,
                    _ => patch(Api::<Readable<ParameterProfile>>::all(client), &write).await,
                };
                (key, done)
            });
        }
    }

    /// Done when one is; never while none is under way. Safe to cancel.
    pub async fn one(&mut self) {
        let Some(done) = self.tasks.join_next().await else {
            return std::future::pending().await;
        };
        // Only a task that panicked is none: its object waits no longer.
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
            // The watch brings the news.
            Err(error) if error.is_overtaken() => {}
            Err(error) => {
                self.failures
                    .failed(&key, &error_chain(&error), Instant::now(), rand::random());
            }
        }
    }
}

async fn patch<K>(api: Api<K>, write: &Write) -> Result<(), ApiError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let params = PatchParams::apply(labels::COORDINATOR).force();
    let patch = Patch::Apply(&write.patch);
    let written = api.patch_status(&write.name, &params, &patch);
    api::call("write the status of rules", written).await.map(drop)
}
