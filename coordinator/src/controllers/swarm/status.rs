//! The Swarm's status, from the status of its Drones.
//!
//! Owns: counting, and writing when a number changed. Must not: count what a Drone's own autopilot has not said.

use crate::cluster::api::{self, ApiError};
use crate::cluster::key::Key;
use crate::cluster::selection::swarm_label;
use crate::cluster::world::uid;
use crate::controllers::drone::facts::Observer;
use crate::controllers::drone::pacing::{Due, Urgency};
use crate::controllers::drone::status::condition;
use crate::controllers::swarm::SwarmController;
use crate::controllers::swarm::rollout::is_outdated;
use crate::controllers::takeoff_slots::bounds;
use crate::ground::{self, Ground};
use crds::{Drone, Swarm, SwarmStatus, labels};
use fleet::swarm::{Readiness, Tally, readiness};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// So many names are in the status.
const MOST_NAMES: usize = 100;

/// Writes the Swarm's status if it says something new, or says when to reconcile again. `trouble` is why Drones could not be
/// made or removed.
///
/// # Errors
/// [`ApiError`].
pub async fn write(
    controller: &SwarmController,
    swarm: &Swarm,
    trouble: Option<String>,
) -> Result<Option<Duration>, ApiError> {
    let Observer { cluster, ground, .. } = &controller.observer;
    let drones = cluster.world.drones_of_swarm(uid(swarm));
    let old = swarm.status.clone().unwrap_or_default();
    let calm = controller.assessments.calm(uid(swarm));
    let grounded = swarm.spec.grounded || covered(ground, &drones);
    let next = assemble(swarm, &old, (&drones, grounded), calm, trouble, Timestamp::now());
    let ready = |s: &SwarmStatus| s.conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True");
    let urgency = match (old == next, ready(&next) && !ready(&old)) {
        (true, _) => Urgency::None,
        (false, true) => Urgency::Now,
        (false, false) => Urgency::Soon,
    };
    match controller.paces.due(uid(swarm), urgency, Instant::now()) {
        Due::Never => return Ok(None),
        Due::In(delay) => return Ok(Some(delay)),
        Due::Now => {}
    }
    let key = Key::of(swarm);
    let swarms: Api<Swarm> = Api::namespaced(cluster.client(), &key.namespace);
    let patch = json!({
        "apiVersion": "skein.dev/v1alpha1",
        "kind": "Swarm",
        "metadata": {"name": key.name, "uid": uid(swarm)},
        "status": next,
    });
    let params = PatchParams::apply(labels::COORDINATOR).force();
    let written = api::call(
        "write the status of a Swarm",
        swarms.patch_status(&key.name, &params, &Patch::Apply(&patch)),
    )
    .await?;
    controller.paces.written(uid(swarm), Instant::now());
    cluster.world.learn_swarm(written);
    Ok(None)
}

/// Whether ground orders keep all Drones of a Swarm down.
fn covered(ground: &Ground, drones: &[Arc<Drone>]) -> bool {
    !drones.is_empty() && drones.iter().all(|drone| ground::covering(ground, drone).is_some())
}

fn assemble(
    swarm: &Swarm,
    old: &SwarmStatus,
    (drones, grounded): (&[Arc<Drone>], bool),
    calm: bool,
    trouble: Option<String>,
    now: Timestamp,
) -> SwarmStatus {
    let small = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    let mut tally = Tally {
        surge: if calm { 0 } else { bounds(swarm).surge },
        desired: usize::try_from(swarm.spec.replicas).unwrap_or_default(),
        live: 0,
        leaving: 0,
        assigned: 0,
        ready: 0,
        stalled: 0,
        unknown: 0,
        grounded,
        deleting: swarm.metadata.deletion_timestamp.is_some(),
    };
    let mut flying = 0;
    for drone in drones {
        count(swarm, drone, &mut tally, &mut flying);
    }
    let mut verdict = readiness(&tally);
    let refused = trouble.is_some();
    if let Some(trouble) = trouble {
        verdict = Readiness {
            ready: false,
            stalled: true,
            reason: "Refused",
            message: trouble,
        };
    }
    let generation = swarm.metadata.generation.unwrap_or_default();
    // They are in the order of their names.
    let names = drones.iter().take(MOST_NAMES).map(|drone| drone.name_any());
    let make = |kind, value| {
        let (reason, message) = (verdict.reason, &verdict.message);
        condition(&old.conditions, kind, Some(value), reason, message, generation, now)
    };
    let mut ready = make("Ready", verdict.ready);
    // The words of others may hold numbers that are no news; how many fly is.
    if !refused {
        ready.message.clone_from(&verdict.message);
    }
    let mut conditions = vec![ready];
    // There only while it is so, as `kstatus` has it.
    conditions.extend(verdict.stalled.then(|| make("Stalled", true)));
    SwarmStatus {
        replicas: small(drones.len()),
        assigned_drones: small(tally.assigned),
        flying_drones: small(flying),
        unknown_drones: small(tally.unknown),
        selector: swarm_label(swarm).map(|(key, value)| format!("{key}={value}")),
        drone_names: names.collect(),
        observed_generation: Some(generation),
        conditions,
    }
}

/// Counts one Drone.
fn count(swarm: &Swarm, drone: &Drone, tally: &mut Tally, flying: &mut usize) {
    let status = drone.status.as_ref();
    *flying += usize::from(status.is_some_and(|status| status.flying == Some(true)));
    let bound = drone.spec.node_name.is_some();
    tally.assigned += usize::from(bound);
    // Absent while it is not known; a Drone that was not reconciled yet has no phase either.
    tally.unknown += usize::from(bound && status.is_some_and(|s| s.flying.is_none() && s.phase.is_some()));
    if drone.metadata.deletion_timestamp.is_some() {
        tally.leaving += 1;
        return;
    }
    tally.live += 1;
    let is = |kind: &str| {
        let mut conditions = status.into_iter().flat_map(|status| &status.conditions);
        // What was reported of an earlier spec says nothing of this one.
        conditions.any(|c| c.type_ == kind && c.status == "True" && c.observed_generation == drone.metadata.generation)
    };
    tally.ready += usize::from(is("Ready") && !is_outdated(swarm, drone));
    tally.stalled += usize::from(is("Stalled"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_swarm_tell_how_many_fly_now() {
        let swarm = Swarm::new(
            "alpha",
            crds::SwarmSpec {
                replicas: 3,
                ..crds::SwarmSpec::default()
            },
        );
        let drone = |flies: bool| {
            let mut drone = Drone::new(
                "alpha-1",
                crds::DroneSpec {
                    node_name: Some("n1".into()),
                    ..crds::DroneSpec::default()
                },
            );
            drone.metadata.generation = Some(1);
            let ready = condition(&[], "Ready", Some(flies), "Holding", "", 1, Timestamp::UNIX_EPOCH);
            drone.status = Some(crds::DroneStatus {
                conditions: vec![ready],
                ..crds::DroneStatus::default()
            });
            Arc::new(drone)
        };
        let make = |old: &SwarmStatus, flying: usize| {
            let drones: Vec<_> = (0..3).map(|n| drone(n < flying)).collect();
            assemble(&swarm, old, (&drones, false), true, None, Timestamp::UNIX_EPOCH)
        };
        let one = make(&SwarmStatus::default(), 1);
        assert!(one.conditions[0].message.starts_with("1 of 3 fly"));
        let two = make(&one, 2);
        assert!(
            two.conditions[0].message.starts_with("2 of 3 fly"),
            "{}",
            two.conditions[0].message
        );
        assert_eq!(make(&two, 2), two, "nothing is written while nothing changes");
    }
}
