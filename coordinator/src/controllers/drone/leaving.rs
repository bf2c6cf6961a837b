//! Letting go of a Drone that is being deleted, once its vehicle is down.

use crate::cluster::api::{self, ApiError};
use crate::cluster::events::Note;
use crate::controllers::drone::DroneController;
use crate::controllers::facts::DroneSnapshot;
use crate::controllers::facts::serving_node;
use crds::{Drone, labels};
use fleet::safety::Release;
use kube::ResourceExt;
use kube::api::{Api, Patch};
use serde_json::json;

pub async fn release(controller: &DroneController, snapshot: &DroneSnapshot, release: Release) -> Result<(), ApiError> {
    let cluster = &controller.observer().cluster;
    // Where another Drone has the node by now, its vehicle is not this one's to declare down.
    let given_up = serving_node(controller.observer(), snapshot);
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
    match api::call(
        "release a Drone",
        drones.patch(&snapshot.key.name, &api::merging(), &Patch::Merge(&patch)),
    )
    .await
    {
        Ok(released) => cluster.world.learn_drone(released),
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(error),
    }
    controller.paces.forget(snapshot.uid());
    controller.observer().traces.forget(&snapshot.drone);
    controller
        .observer()
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
            tracing::warn!("released by force: its vehicle was not observed landed and disarmed");
            let text = "released by force: its vehicle was not observed landed and disarmed. It owns no airspace any more once its agent is off";
            if let Some(node) = given_up {
                controller.observer().airspace.declare_down(node);
            }
            cluster
                .events
                .record(&snapshot.drone, Note::warning("ReleasedByForce", text));
        }
    }
    Ok(())
}
