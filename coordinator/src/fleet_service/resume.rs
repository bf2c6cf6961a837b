//! Going on after somebody else has taken over in flight: a person's order, written into the Drone.
//!
//! Owns: writing `spec.resumeAfterTakeovers`, the number of takeovers that its agent reports. Must not: agree to takeovers that
//! are still to come.

use crate::cluster::api::{self, ApiError};
use crate::cluster::key::Key;
use crate::controllers::facts::DroneSnapshot;
use crate::fleet_service::FleetHandles;
use crds::Drone;
use kube::api::{Api, Patch};
use model::takeover::let_go;
use serde_json::json;
use std::sync::Arc;

/// Why nothing goes on.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// There is no such Drone.
    #[error("there is no Drone {0}; see `kubectl get drones -A`")]
    NoSuchDrone(Key),
    /// Nobody has taken over.
    #[error("there is nothing to resume: nobody has taken over the vehicle of Drone {0} as far as is known")]
    NeverTakenOver(Key),
    /// It was said before.
    #[error(
        "there is nothing to resume: Drone {drone} was ordered to go on after takeover {count}, and there was none since"
    )]
    AlreadyOrdered {
        /// The Drone.
        drone: Key,
        /// Takeovers in all.
        count: u32,
    },
    /// It was not written.
    #[error("it could not be written to Kubernetes, so nothing goes on; try again: {0}")]
    NotWritten(#[from] ApiError),
}

/// Lets Skein go on with the vehicle of the Drone `key`: after how many takeovers, and the Drone.
///
/// # Errors
/// [`ResumeError`]; then nothing goes on.
pub async fn resume(handles: &FleetHandles, key: &Key) -> Result<(u32, Arc<Drone>), ResumeError> {
    let cluster = &handles.observer.cluster;
    let drone = cluster.world.get_drone(key);
    let snapshot = DroneSnapshot::of(
        &handles.observer,
        drone.ok_or_else(|| ResumeError::NoSuchDrone(key.clone()))?,
    );
    let count = taken_over(&snapshot);
    let resumed_after = snapshot.facts.resume_after;
    if !let_go(count, resumed_after) {
        return Err(if count == 0 {
            ResumeError::NeverTakenOver(key.clone())
        } else {
            let drone = key.clone();
            ResumeError::AlreadyOrdered { drone, count }
        });
    }
    let patch = Patch::Merge(json!({"metadata": {"uid": snapshot.uid()}, "spec": {"resumeAfterTakeovers": count}}));
    let drones: Api<Drone> = Api::namespaced(cluster.client(), &key.namespace);
    let params = api::merging();
    let written = drones.patch(&key.name, &params, &patch);
    let written = api::call("resume a Drone", written).await?;
    tracing::warn!(takeovers = count, "ordered to go on after a takeover");
    handles.metrics.person("resume");
    cluster.world.learn_drone(written.clone());
    Ok((count, Arc::new(written)))
}

/// Takeovers as the agent reports them now, or as they were reported last.
fn taken_over(snapshot: &DroneSnapshot) -> u32 {
    let now = snapshot.report.as_ref().filter(|_| snapshot.held_by_agent());
    let last = || snapshot.drone.status.as_ref().and_then(|status| status.takeovers);
    now.map_or_else(
        || u32::try_from(last().unwrap_or(0)).unwrap_or(0),
        |report| report.takeovers,
    )
}
