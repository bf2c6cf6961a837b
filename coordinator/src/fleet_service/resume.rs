//! A person's order to resume: a Drone after a takeover in flight, written into the Drone; or a vehicle that stands down and no longer
//! serves the Drone that it flew for, sent to its agent.

use crate::cluster::api::{self, ApiError};
use crate::cluster::key::Key;
use crate::controllers::facts::DroneSnapshot;
use crate::fleet_service::FleetHandles;
use crds::Drone;
use kube::api::{Api, Patch};
use model::ids::{DroneName, NodeName};
use model::stand_down::{Reported, StandUp};
use model::takeover::let_go;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error(
        "there is no Drone {0}; see `kubectl get drones -A`, and for a vehicle whose Drone is gone `skein resume --vehicle`"
    )]
    NoSuchDrone(Key),
    #[error("there is nothing to resume: nobody has taken over the vehicle of Drone {0} as far as is known")]
    NeverTakenOver(Key),
    /// It was resumed before.
    #[error(
        "there is nothing to resume: Drone {drone} was ordered to go on after takeover {count}, and there was none since"
    )]
    AlreadyOrdered { drone: Key, count: u32 },
    #[error("it could not be written to Kubernetes, so nothing goes on; try again: {0}")]
    NotWritten(#[from] ApiError),
}

/// Resumes the vehicle of the Drone `key`: the number of takeovers, and the Drone. After an error nothing goes on.
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

/// Takeovers in the agent's present report, or in the last one.
fn taken_over(snapshot: &DroneSnapshot) -> u32 {
    let now = snapshot.report.as_ref().filter(|_| snapshot.held_by_agent());
    let last = || snapshot.drone.status.as_ref().and_then(|status| status.takeovers);
    now.map_or_else(
        || u32::try_from(last().unwrap_or(0)).unwrap_or(0),
        |report| report.takeovers,
    )
}

/// Why a vehicle still stands down.
#[derive(Debug, thiserror::Error)]
pub enum StandUpError {
    #[error("the agent on node {0} is not connected, so its vehicle cannot be reached from here; nothing was changed")]
    NotConnected(NodeName),
    #[error("there is nothing to resume: the vehicle of node {0} does not stand down; see `kubectl get vehicles`")]
    NoStandDown(NodeName),
    /// The Drone that it flew for has it.
    #[error(
        "the vehicle of node {node} serves Drone {drone} still, whose flight has ended: ground and release that Drone, or delete it, to fly again"
    )]
    ServesItsDrone { node: NodeName, drone: DroneName },
    #[error(
        "the agent on node {0} has not confirmed that its vehicle may fly again; see `kubectl get vehicles`, and try again"
    )]
    NotConfirmed(NodeName),
}

const CONFIRMED_WITHIN: Duration = Duration::from_secs(5);

const CHECK_EVERY: Duration = Duration::from_millis(50);

pub fn stand_down(handles: &FleetHandles, node: &NodeName) -> Option<Reported> {
    handles.observer.sessions.current(node)?.stand_down.clone()
}

/// Lets the vehicle of `node` fly again; returns the stand-down that has ended.
pub async fn stand_up(handles: &FleetHandles, node: &NodeName) -> Result<Reported, StandUpError> {
    let report = handles.observer.sessions.current(node);
    let report = report.ok_or_else(|| StandUpError::NotConnected(node.clone()))?;
    let down = report.stand_down.clone();
    let down = down.ok_or_else(|| StandUpError::NoStandDown(node.clone()))?;
    if report.held.as_ref().is_some_and(|held| held.uid == down.uid) {
        return Err(StandUpError::ServesItsDrone {
            node: node.clone(),
            drone: down.name,
        });
    }
    let order = StandUp {
        term: handles.observer.leadership.term,
        number: down.number,
    };
    if !handles.observer.sessions.stand_up(node, order) {
        return Err(StandUpError::NotConnected(node.clone()));
    }
    handles.metrics.person("resume");
    tracing::warn!(number = down.number, flew_for = %down.name, why = down.why.text(), "ordered to let a vehicle fly again");
    let ended = async {
        while stand_down(handles, node).is_some_and(|now| now.number == down.number) {
            tokio::time::sleep(CHECK_EVERY).await;
        }
    };
    let confirmed = tokio::time::timeout(CONFIRMED_WITHIN, ended).await;
    confirmed.map_err(|_| StandUpError::NotConfirmed(node.clone()))?;
    // An agent that went away meanwhile has confirmed nothing.
    match handles.observer.sessions.current(node) {
        Some(_) => Ok(down),
        None => Err(StandUpError::NotConfirmed(node.clone())),
    }
}
