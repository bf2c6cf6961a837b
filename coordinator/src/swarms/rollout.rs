//! A changed template, brought to the Drones that a Swarm has already.
//!
//! Owns: comparing a Drone's spec with the template, and writing what differs: altitude and failsafe, which the agent takes up in
//! the air. Must not: choose whose turn it is ([`fleet::swarm::rollout`] does), or touch what is said of one Drone alone: its
//! node, its ground order, its takeovers. A changed nodeSelector is for Drones that are made from now on.

use crate::api::{self, ApiError};
use crate::context::Context;
use crate::drones::facts::Seen;
use crate::key::Key;
use crate::swarms::members::{has_taken, serving};
use crate::world::uid;
use crds::{Drone, Swarm, labels};
use fleet::ids::DroneUid;
use fleet::swarm::rollout::{Update, due};
use futures::{StreamExt, stream};
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;

/// Calls under way at a time.
const CONCURRENCY: usize = 8;

/// Brings the template of `swarm` to those of `drones` whose turn it is.
///
/// # Errors
/// [`ApiError`], the first.
pub async fn roll(context: &Context, swarm: &Swarm, drones: &[Arc<Drone>]) -> Result<(), ApiError> {
    let differs = |drone: &Arc<Drone>| drone.metadata.deletion_timestamp.is_none() && is_outdated(swarm, drone);
    if swarm.metadata.deletion_timestamp.is_some() || !drones.iter().any(differs) {
        return Ok(());
    }
    let live = drones
        .iter()
        .filter(|drone| drone.metadata.deletion_timestamp.is_none());
    let updates: Vec<Update> = live.map(|drone| update(context, swarm, drone)).collect();
    let at_once = usize::try_from(swarm.spec.max_unavailable).unwrap_or_default().max(1);
    let chosen = due(&updates, at_once);
    if chosen.is_empty() {
        return Ok(());
    }
    tracing::info!(swarm = %Key::of(swarm), drones = chosen.len(), "the changed template goes to Drones");
    let chosen: HashSet<DroneUid> = chosen.into_iter().collect();
    let is_chosen = |drone: &Arc<Drone>| chosen.contains(&DroneUid(uid(drone.as_ref()).to_owned()));
    let chosen: Vec<Arc<Drone>> = drones.iter().filter(|drone| is_chosen(drone)).cloned().collect();
    let calls = chosen.into_iter().map(|drone| write(context, swarm, drone));
    let results: Vec<_> = stream::iter(calls).buffer_unordered(CONCURRENCY).collect().await;
    results.into_iter().collect()
}

/// Whether the template of `swarm` has yet to be brought to `drone`.
#[must_use]
pub fn is_outdated(swarm: &Swarm, drone: &Drone) -> bool {
    let wanted = swarm.spec.drone_spec();
    let same_height = (wanted.takeoff_altitude_meters - drone.spec.takeoff_altitude_meters).abs() < f64::EPSILON;
    !same_height || wanted.failsafe != drone.spec.failsafe
}

fn update(context: &Context, swarm: &Swarm, drone: &Arc<Drone>) -> Update {
    let seen = Seen::of(context, Arc::clone(drone));
    Update {
        name: drone.name_any(),
        serving: serving(&seen),
        outdated: is_outdated(swarm, drone),
        changing: !has_taken(&seen),
        uid: seen.facts.uid,
    }
}

async fn write(context: &Context, swarm: &Swarm, drone: Arc<Drone>) -> Result<(), ApiError> {
    let drone = drone.as_ref();
    let key = Key::of(drone);
    let drones: Api<Drone> = Api::namespaced(context.client(), &key.namespace);
    let wanted = swarm.spec.drone_spec();
    let patch = json!({
        "metadata": {"uid": uid(drone), "resourceVersion": drone.metadata.resource_version},
        "spec": {"takeoffAltitudeMeters": wanted.takeoff_altitude_meters, "failsafe": wanted.failsafe},
    });
    let params = PatchParams {
        field_manager: Some(labels::COORDINATOR.into()),
        ..PatchParams::default()
    };
    let patch = Patch::Merge(&patch);
    let written = drones.patch(&key.name, &params, &patch);
    let written = api::call("bring a changed template to a Drone", written).await?;
    context.world.learn_drone(written);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::drone::Failsafe;

    #[test]
    fn a_drone_is_outdated_when_height_or_failsafe_differ_and_not_for_what_is_its_own() {
        let mut swarm = Swarm::new("alpha", crds::SwarmSpec::default());
        let mut drone = Drone::new("alpha-good-bird", swarm.spec.drone_spec());
        drone.spec.node_name = Some("n1".into());
        drone.spec.grounded = true;
        drone.spec.resume_after_takeovers = 3;
        assert!(!is_outdated(&swarm, &drone));
        swarm.spec.template.spec.takeoff_altitude_meters = 25.0;
        assert!(is_outdated(&swarm, &drone));
        drone.spec.takeoff_altitude_meters = 25.0;
        assert!(!is_outdated(&swarm, &drone));
        swarm.spec.template.spec.failsafe = Some(Failsafe::default());
        assert!(is_outdated(&swarm, &drone));
    }
}
