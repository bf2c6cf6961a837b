//! A changed template, brought to the existing Drones of a Swarm.
//!
//! Written are altitude and failsafe, which the agent takes up in the air; and the nodeSelector, of a Drone that has no node yet or whose
//! node matches the new one. Any other is replaced ([`fleet::planning::swarm::placement`]). Must not: choose which is next
//! ([`fleet::planning::swarm::rollout`] does), or touch fields of one Drone alone: its node, its ground order, its takeovers.

use crate::cluster::Cluster;
use crate::cluster::api::{self, ApiError};
use crate::cluster::key::Key;
use crate::cluster::world::{World, uid};
use crate::controllers::facts::{DroneSnapshot, Observer};
use crate::controllers::swarm::members::{acts_on_spec, placed, serving};
use crds::{Drone, Swarm};
use fleet::planning::swarm::placement::{Labels, Placement};
use fleet::planning::swarm::rollout::{Update, due};
use futures::{StreamExt, stream};
use kube::ResourceExt;
use kube::api::{Api, Patch};
use model::ids::DroneUid;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

const CONCURRENCY: usize = 8;

/// Brings the template of `swarm` to those of `drones` that are next; the error is the first of several.
pub async fn roll(observer: &Observer, swarm: &Swarm, drones: &[Arc<Drone>]) -> Result<(), ApiError> {
    let differs = |drone: &Arc<Drone>| {
        let stays = drone.metadata.deletion_timestamp.is_none();
        stays && (differs_in_flight(swarm, drone) || selector_applies(observer.world(), swarm, drone))
    };
    if swarm.metadata.deletion_timestamp.is_some() || !drones.iter().any(differs) {
        return Ok(());
    }
    let live = drones
        .iter()
        .filter(|drone| drone.metadata.deletion_timestamp.is_none());
    let updates: Vec<Update> = live.map(|drone| update(observer, swarm, drone)).collect();
    let at_once = usize::try_from(swarm.spec.max_unavailable).unwrap_or_default().max(1);
    let chosen = due(&updates, at_once);
    if chosen.is_empty() {
        return Ok(());
    }
    tracing::info!(drones = chosen.len(), "the changed template goes to Drones");
    let chosen: HashSet<DroneUid> = chosen.into_iter().collect();
    let is_chosen = |drone: &Arc<Drone>| chosen.contains(&DroneUid(uid(drone.as_ref()).to_owned()));
    let chosen: Vec<Arc<Drone>> = drones.iter().filter(|drone| is_chosen(drone)).cloned().collect();
    let calls = chosen.into_iter().map(|drone| write(&observer.cluster, swarm, drone));
    let results: Vec<_> = stream::iter(calls).buffer_unordered(CONCURRENCY).collect().await;
    results.into_iter().collect()
}

/// Whether a Drone can have the changed nodeSelector on its present node.
fn selector_applies(world: &World, swarm: &Swarm, drone: &Drone) -> bool {
    // Cheaper than comparing the nodes, while nothing has changed.
    *swarm.spec.drone_node_selector() != drone.spec.node_selector
        && placed(world, swarm, drone) == Placement::StillMatches
}

/// Whether the template of `swarm` has yet to be brought to `drone`, or to its replacement.
pub fn is_outdated(swarm: &Swarm, drone: &Drone) -> bool {
    differs_in_flight(swarm, drone) || *swarm.spec.drone_node_selector() != drone.spec.node_selector
}

/// Whether a field that an agent takes up in the air has changed.
fn differs_in_flight(swarm: &Swarm, drone: &Drone) -> bool {
    let wanted = &swarm.spec.template.spec;
    let same_height = (wanted.takeoff_altitude_meters - drone.spec.takeoff_altitude_meters).abs() < f64::EPSILON;
    !same_height || wanted.failsafe != drone.spec.failsafe
}

/// The merge patch that turns `has` into `wanted`.
fn selector_patch(has: &Labels, wanted: &Labels) -> Value {
    let gone = has.keys().filter(|key| !wanted.contains_key(*key));
    let gone = gone.map(|key| (key.clone(), Value::Null));
    let there = wanted.iter().map(|(key, value)| (key.clone(), json!(value)));
    gone.chain(there).collect::<serde_json::Map<_, _>>().into()
}

fn update(observer: &Observer, swarm: &Swarm, drone: &Arc<Drone>) -> Update {
    let snapshot = DroneSnapshot::of(observer, Arc::clone(drone));
    Update {
        name: drone.name_any(),
        serving: serving(&snapshot),
        outdated: differs_in_flight(swarm, drone) || selector_applies(observer.world(), swarm, drone),
        // A Drone without a vehicle has no agent, so it takes up a change at once.
        changing: snapshot.was_served() && !acts_on_spec(&snapshot),
        uid: snapshot.facts.uid,
    }
}

async fn write(cluster: &Cluster, swarm: &Swarm, drone: Arc<Drone>) -> Result<(), ApiError> {
    let takes_selector = selector_applies(&cluster.world, swarm, &drone);
    let drone = drone.as_ref();
    let key = Key::of(drone);
    let drones: Api<Drone> = Api::namespaced(cluster.client(), &key.namespace);
    let wanted = swarm.spec.drone_spec();
    let mut patch = json!({
        "metadata": {"uid": uid(drone), "resourceVersion": drone.metadata.resource_version},
        "spec": {"takeoffAltitudeMeters": wanted.takeoff_altitude_meters, "failsafe": wanted.failsafe},
    });
    if takes_selector {
        patch["spec"]["nodeSelector"] = selector_patch(&drone.spec.node_selector, &wanted.node_selector);
    }
    let patch = Patch::Merge(&patch);
    let params = api::merging();
    let written = drones.patch(&key.name, &params, &patch);
    let written = api::call("bring a changed template to a Drone", written).await?;
    cluster.world.learn_drone(written);
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
        drone.spec.failsafe.clone_from(&swarm.spec.template.spec.failsafe);
        assert!(!is_outdated(&swarm, &drone));
        swarm.spec.node_selector.insert("site".into(), "north".into());
        assert!(is_outdated(&swarm, &drone) && !differs_in_flight(&swarm, &drone));
    }

    #[test]
    fn a_node_selector_is_replaced_as_a_whole() {
        let labels = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let (has, wanted): (Labels, Labels) = (labels(&[("a", "1"), ("b", "1")]), labels(&[("b", "2"), ("c", "1")]));
        assert_eq!(selector_patch(&has, &wanted), json!({"a": null, "b": "2", "c": "1"}));
    }
}
