//! Letting go of a Drone that is being deleted, once its vehicle is down.
//!
//! Owns: the finalizer's removal. Must not: judge; [`fleet::safety::may_release`] does (invariant 4).

use crate::cluster::api::{self, ApiError};
use crate::cluster::claims;
use crate::cluster::events::Note;
use crate::controllers::drone::DroneController;
use crate::controllers::drone::facts::DroneSnapshot;
use crate::controllers::drone::status;
use crds::{Drone, labels};
use fleet::drone::Claimed;
use fleet::drone::status::Binding;
use fleet::safety::{LastDesired, Release, may_release};
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use std::time::Duration;

/// Lets the Drone go, or says why it stays.
///
/// # Errors
/// [`ApiError`].
pub async fn reconcile(controller: &DroneController, snapshot: &DroneSnapshot) -> Result<Option<Duration>, ApiError> {
    if !snapshot.facts.guarded {
        return Ok(None);
    }
    let served = snapshot.was_served();
    if let (Some(node), true, Claimed::Nobody, false) =
        (&snapshot.node, served, snapshot.facts.claim, snapshot.held_by_agent())
    {
        // Its agent is ordered to land only under a claim; the old one was removed by hand. If another Drone has it by
        // now, the node has gone over to that one, and an operator has to say what is true.
        claims::obtain(&controller.observer.cluster, node, &snapshot.key, snapshot.uid()).await?;
    }
    let forced = snapshot
        .drone
        .annotations()
        .get(labels::FORCE_RELEASE)
        .is_some_and(|value| value == snapshot.uid());
    let desired = LastDesired {
        uid: &snapshot.facts.uid,
        term: controller.observer.leadership.term,
        generation: snapshot.facts.generation,
    };
    match may_release(desired, served, snapshot.report.as_deref(), forced) {
        Ok(release) => let_go(controller, snapshot, release).await,
        Err(kept) => {
            let binding = snapshot.node.clone().map_or(Binding::NotYet, Binding::Bound);
            status::write(controller, snapshot, &binding, Some(kept)).await
        }
    }
}

async fn let_go(
    controller: &DroneController,
    snapshot: &DroneSnapshot,
    release: Release,
) -> Result<Option<Duration>, ApiError> {
    let cluster = &controller.observer.cluster;
    let drones: Api<Drone> = Api::namespaced(cluster.client(), &snapshot.key.namespace);
    let rest: Vec<&String> = snapshot
        .drone
        .finalizers()
        .iter()
        .filter(|f| *f != labels::LANDED_FINALIZER)
        .collect();
    let patch = json!({"metadata": {
        "uid": snapshot.uid(),
        "resourceVersion": snapshot.drone.metadata.resource_version,
        "finalizers": rest,
    }});
    let params = PatchParams {
        field_manager: Some(labels::COORDINATOR.into()),
        ..PatchParams::default()
    };
    match api::call(
        "release a Drone",
        drones.patch(&snapshot.key.name, &params, &Patch::Merge(&patch)),
    )
    .await
    {
        Ok(released) => cluster.world.learn_drone(released),
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error),
    }
    controller.paces.forget(snapshot.uid());
    controller
        .observer
        .takeoff_slots
        .forget(&cluster.world, &snapshot.drone);
    controller.heights.forget(snapshot.uid());
    controller.assessments.forget(&snapshot.drone);
    match release {
        Release::NeverBound => tracing::info!("released: it never had a vehicle"),
        Release::Landed => {
            tracing::info!("released: its vehicle is landed and disarmed");
            cluster.events.record(
                &snapshot.drone,
                Note::normal("Released", "its vehicle is landed and disarmed"),
            );
        }
        Release::Forced => {
            tracing::warn!("released by force: its vehicle was not seen landed and disarmed");
            let text = "released by force: its vehicle was not seen landed and disarmed";
            cluster
                .events
                .record(&snapshot.drone, Note::warning("ReleasedByForce", text));
        }
    }
    Ok(None)
}
