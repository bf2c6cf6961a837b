//! The Mission controller's writes: statuses, finalizers, and its Drones.

use super::observe::Subject;
use super::work::Job;
use super::{Controller, ReconcileError};
use crate::cluster::api::{self, ApiError};
use crate::cluster::key::Key;
use crate::cluster::status::write_while;
use crate::cluster::world::uid;
use crate::controllers::facts::DroneSnapshot;
use crds::mission::MissionStatus;
use crds::{Drone, Mission, labels};
use fleet::planning::leadership::{ACT_FOR, LASTS};
use fleet::planning::mission::progress::Progress;
use fleet::planning::names::drone_names;
use futures::stream::{self, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DeleteParams, Patch, PropagationPolicy};
use kube::{Resource, ResourceExt};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::{Instant, timeout};

const SPARE_NAMES: usize = 1000;

const CONCURRENT_CALLS: usize = 8;

/// Deadline of a call that changes something: begun by a leader that may act, it ends before another may lead.
const WRITE_DEADLINE: Duration = LASTS.saturating_sub(ACT_FOR);

impl Controller {
    /// Makes a call that changes something, if this leader may act now.
    pub(super) async fn change<T>(
        &self,
        what: &'static str,
        call: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, ReconcileError> {
        if !self.acts() {
            return Err(ReconcileError::MayNotAct);
        }
        let done = timeout(WRITE_DEADLINE, api::call(what, call)).await;
        Ok(done.unwrap_or(Err(ApiError::TimedOut { what }))?)
    }

    /// Writes a status. It needs no deadline: it is written on one resourceVersion, and fails where the next leader has written another.
    pub(super) async fn write(&self, mission: &Mission, status: &MissionStatus) -> Result<(), ReconcileError> {
        if !self.acts() {
            return Err(ReconcileError::MayNotAct);
        }
        let key = Key::of(mission);
        let api: Api<Mission> = Api::namespaced(self.observer.cluster.client(), &key.namespace);
        let what = "write the status of a Mission";
        write_while(|| self.acts(), what, &api, &mission.metadata, status).await?;
        Ok(())
    }

    pub(super) async fn remove(&self, mission: &Mission) -> Result<(), ReconcileError> {
        let key = Key::of(mission);
        let api: Api<Mission> = Api::namespaced(self.observer.cluster.client(), &key.namespace);
        let params = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            ..api::only(uid(mission))
        };
        self.change("delete a Mission that has ended", api.delete(&key.name, &params))
            .await?;
        tracing::info!(mission = %key, "deleted after spec.ttlSecondsAfterFinished");
        Ok(())
    }

    pub(super) async fn set_finalizers(
        &self,
        mission: &Mission,
        change: impl FnOnce(&mut Vec<String>),
    ) -> Result<(), ReconcileError> {
        let key = Key::of(mission);
        let api: Api<Mission> = Api::namespaced(self.observer.cluster.client(), &key.namespace);
        let mut finalizers = mission.finalizers().to_vec();
        change(&mut finalizers);
        let patch = json!({"metadata": {
            "uid": uid(mission),
            "resourceVersion": mission.metadata.resource_version,
            "finalizers": finalizers,
        }});
        let (params, patch) = (api::merging(), Patch::Merge(&patch));
        let set = api.patch(&key.name, &params, &patch);
        self.change("set the finalizer of a Mission", set).await?;
        Ok(())
    }

    pub(super) fn unseen(&self, subject: &Subject, now: Instant) -> Vec<(String, String)> {
        let seen: Vec<Arc<Drone>> = subject
            .drones
            .iter()
            .map(|snapshot| Arc::clone(&snapshot.drone))
            .collect();
        self.expectations
            .unseen_creations(uid(subject.mission.as_ref()), &seen, now)
    }

    /// Makes Drones until the API server refuses one, which is noted and no failure; returns how many it has made.
    pub(super) async fn create(
        &self,
        subject: &Subject,
        (job, progress): (&Job, &Progress),
        unseen: &[(String, String)],
        count: usize,
        now: Instant,
    ) -> Result<usize, ReconcileError> {
        let mission = subject.mission.as_ref();
        let key = Key::of(mission);
        let mut taken: BTreeSet<String> = progress.parts.iter().map(|part| part.drone.clone()).collect();
        taken.extend(unseen.iter().map(|(name, _)| name.clone()));
        let api: Api<Drone> = Api::namespaced(self.observer.cluster.client(), &key.namespace);
        let free = |name: &String| {
            !taken.contains(name) && !self.observer.world().drone_exists(&Key::new(&key.namespace, name))
        };
        let names = drone_names(&key.name, uid(mission)).take(count + SPARE_NAMES);
        let names: Vec<String> = names.filter(free).take(count).collect();
        let is_refused = AtomicBool::new(false);
        let makes: Vec<_> = names
            .iter()
            .map(|name| self.make(&api, mission, name, (job.takeoff, now), &is_refused))
            .collect();
        let made: Vec<Result<bool, ReconcileError>> =
            stream::iter(makes).buffer_unordered(CONCURRENT_CALLS).collect().await;
        let count = made.iter().filter(|made| matches!(made, Ok(true))).count();
        match made.into_iter().find_map(Result::err) {
            Some(ReconcileError::Api(error)) if error.is_refusal() => {
                let generation = mission.metadata.generation;
                let times = self.expectations.refused(uid(mission), generation, &error, now);
                // Often enough to be noticed.
                if times.is_power_of_two() {
                    tracing::warn!(mission = %key, %error, failures = times, "the API server refuses Drones; will be tried again");
                }
            }
            Some(error) => return Err(error),
            None if count > 0 => self.expectations.not_refused(uid(mission)),
            None => {}
        }
        Ok(count)
    }

    /// Makes a Drone, unless another was refused before; `takeoff` in meters.
    async fn make(
        &self,
        api: &Api<Drone>,
        mission: &Mission,
        name: &str,
        (takeoff, now): (f64, Instant),
        is_refused: &AtomicBool,
    ) -> Result<bool, ReconcileError> {
        if is_refused.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let drone = build(mission, name, takeoff);
        match self.change("create a Drone", api.create(&api::posting(), &drone)).await {
            Ok(made) => {
                tracing::info!(mission = %Key::of(mission), drone = name, "made a Drone");
                self.expectations.created(uid(mission), name, uid(&made), now);
                Ok(true)
            }
            Err(ReconcileError::Api(error)) if error.is_already_exists() => Ok(true),
            Err(error) => {
                if matches!(&error, ReconcileError::Api(error) if error.is_refusal()) {
                    is_refused.store(true, Ordering::Relaxed);
                }
                Err(error)
            }
        }
    }

    pub(super) async fn delete(
        &self,
        subject: &Subject,
        names: &BTreeSet<&str>,
        now: Instant,
    ) -> Result<(), ReconcileError> {
        let is_to_go = |snapshot: &&DroneSnapshot| {
            let leaves = snapshot.facts.deleting || self.expectations.expects_deletion(snapshot.uid(), now);
            !leaves && names.contains(snapshot.key.name.as_str())
        };
        let deletions = subject.drones.iter().filter(is_to_go);
        let deletions: Vec<_> = deletions.map(|snapshot| self.delete_one(snapshot, now)).collect();
        let deleted: Vec<Result<(), ReconcileError>> = stream::iter(deletions)
            .buffer_unordered(CONCURRENT_CALLS)
            .collect()
            .await;
        deleted.into_iter().collect()
    }

    async fn delete_one(&self, snapshot: &DroneSnapshot, now: Instant) -> Result<(), ReconcileError> {
        let api: Api<Drone> = Api::namespaced(self.observer.cluster.client(), &snapshot.key.namespace);
        let params = api::only(snapshot.uid());
        let deleted = self.change("delete a Drone", api.delete(&snapshot.key.name, &params));
        match deleted.await {
            Ok(_) => self.expectations.deleted(snapshot.uid(), now),
            Err(ReconcileError::Api(error)) if error.is_not_found() || error.is_conflict() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// `takeoff` in meters.
pub(super) fn build(mission: &Mission, name: &str, takeoff: f64) -> Drone {
    let mut drone = Drone::new(name, mission.spec.drone_spec(takeoff));
    let labels = BTreeMap::from([
        (labels::MANAGED_BY.to_owned(), labels::COORDINATOR.to_owned()),
        (labels::MISSION.to_owned(), mission.name_any()),
    ]);
    drone.metadata.namespace = mission.namespace();
    drone.metadata.labels = Some(labels);
    drone.metadata.finalizers = Some(vec![labels::LANDED_FINALIZER.to_owned()]);
    drone.metadata.owner_references = Some(vec![OwnerReference {
        api_version: Mission::api_version(&()).into_owned(),
        kind: Mission::kind(&()).into_owned(),
        name: mission.name_any(),
        uid: uid(mission).to_owned(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }]);
    drone
}
