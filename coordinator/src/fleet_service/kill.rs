//! Stops the motors of one vehicle, by a person's order given twice.

use crate::cluster::events::Note;
use crate::cluster::key::Key;
use crate::controllers::facts::DroneSnapshot;
use crate::fleet_service::FleetHandles;
use crate::sessions::KillShot;
use crate::spans;
use crds::Drone;
use model::ids::NodeName;
use model::kill::{KILL_LIFE, KillAnswer, KillOutcome};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

pub const CODE_LIFE: Duration = Duration::from_secs(15);

/// The order's life, two seconds for the autopilot, and the way there and back.
const ANSWER_WITHIN: Duration = Duration::from_secs(6);

/// Why nothing was done, or the result is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KillError {
    #[error("there is no Drone {0}; see `kubectl get drones -A`")]
    NoSuchDrone(Key),
    #[error("Drone {0} has no vehicle; nothing was done")]
    NoVehicle(Key),
    #[error("the agent on node {0} is not connected, so its vehicle cannot be reached from here; nothing was done")]
    AgentSilent(NodeName),
    #[error("the vehicle of node {node} does not serve Drone {drone}; nothing was done")]
    OtherDrone { node: NodeName, drone: Key },
    /// The code is another than the offered one, too old, or used.
    #[error(
        "the code is not valid: it lives {} s, for one Drone, and once; nothing was done, begin again",
        CODE_LIFE.as_secs()
    )]
    BadCode,
    /// The agent went away, or was too busy.
    #[error(
        "the agent on node {0} did not answer; it is not known whether the motors were ordered to stop: check the vehicle"
    )]
    Gone(NodeName),
}

/// Offered codes, by the uid of the Drone; one for each.
#[derive(Debug, Default)]
pub struct Kills(Mutex<HashMap<String, Offer>>);

#[derive(Debug)]
struct Offer {
    code: String,
    node: NodeName,
    until: Instant,
}

impl Kills {
    /// A new code for the Drone with this uid and the vehicle of `node`; an older one is void.
    fn offer(&self, uid: &str, node: &NodeName, now: Instant) -> String {
        let code = format!("{:032x}", rand::random::<u128>());
        let offer = Offer {
            code: code.clone(),
            node: node.clone(),
            until: now + CODE_LIFE,
        };
        let mut offers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        offers.retain(|_, offer| offer.until >= now);
        offers.insert(uid.to_owned(), offer);
        code
    }

    /// Uses up the code of the Drone with this uid; whether it was `code`, for `node`, and in time.
    fn redeem(&self, uid: &str, node: &NodeName, code: &str, now: Instant) -> bool {
        let mut offers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let offer = offers.remove(uid);
        offer.is_some_and(|offer| offer.code == code && offer.node == *node && offer.until >= now)
    }
}

/// Offers a code for the Drone `key`. After an error nothing was done.
pub fn offer(handles: &FleetHandles, key: &Key) -> Result<(String, Arc<Drone>), KillError> {
    let (snapshot, node) = target(handles, key)?;
    let code = handles.kills.offer(snapshot.uid(), &node, Instant::now());
    spans::drone(&snapshot.drone).in_scope(|| tracing::warn!("somebody asks for a code to stop the motors"));
    Ok((code, snapshot.drone))
}

/// Has the motors of the Drone `key` stopped; `code` is from [`offer`]. After an error nothing was done, but for [`KillError::Gone`].
pub async fn carry_out(handles: &FleetHandles, key: &Key, code: &str) -> Result<(KillAnswer, Arc<Drone>), KillError> {
    let (snapshot, node) = target(handles, key)?;
    if !handles.kills.redeem(snapshot.uid(), &node, code, Instant::now()) {
        return Err(KillError::BadCode);
    }
    let (answer, answered) = oneshot::channel();
    let shot = KillShot {
        nonce: rand::random_range(1..=u64::MAX),
        uid: snapshot.facts.uid.clone(),
        until: Instant::now() + KILL_LIFE,
        answer,
    };
    tracing::warn!(
        nonce = shot.nonce,
        "KILL: the motors are to be stopped, by a person's order"
    );
    if !handles.observer.sessions.kill(&node, shot) {
        return Err(KillError::AgentSilent(node));
    }
    let answer = match timeout(ANSWER_WITHIN, answered).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) | Err(_) => {
            record(
                handles,
                &snapshot.drone,
                "an operator had the motors stopped; the agent did not answer",
            );
            handles.metrics.kill(None);
            return Err(KillError::Gone(node));
        }
    };
    tracing::warn!(outcome = ?answer.outcome, "KILL: answered");
    handles.metrics.kill(Some(&answer.outcome));
    match &answer.outcome {
        KillOutcome::NotSent(_) => {}
        KillOutcome::Accepted => record(
            handles,
            &snapshot.drone,
            "an operator had the motors stopped; the autopilot accepted it",
        ),
        KillOutcome::Refused(result) => {
            let text = format!("an operator wanted the motors stopped; the autopilot refused it ({result})");
            record(handles, &snapshot.drone, &text);
        }
        KillOutcome::NoAnswer => {
            let text = "an operator had the motors stopped; the autopilot did not answer";
            record(handles, &snapshot.drone, text);
        }
    }
    Ok((answer, snapshot.drone))
}

fn record(handles: &FleetHandles, drone: &Drone, text: &str) {
    handles
        .observer
        .cluster
        .events
        .record(drone, Note::warning("Kill", text));
}

/// The Drone `key` and the node whose vehicle serves it, by its agent's report on its open stream.
fn target(handles: &FleetHandles, key: &Key) -> Result<(DroneSnapshot, NodeName), KillError> {
    let drone = handles.observer.world().get_drone(key);
    let snapshot = DroneSnapshot::of(
        &handles.observer,
        drone.ok_or_else(|| KillError::NoSuchDrone(key.clone()))?,
    );
    let node = snapshot.node.clone().ok_or_else(|| KillError::NoVehicle(key.clone()))?;
    if snapshot.report.is_none() {
        return Err(KillError::AgentSilent(node));
    }
    if !snapshot.held_by_agent() {
        let drone = key.clone();
        return Err(KillError::OtherDrone { node, drone });
    }
    Ok((snapshot, node))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str) -> NodeName {
        NodeName::parse(name).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_is_for_one_drone_on_one_node_once_and_not_for_long() {
        let (kills, now) = (Kills::default(), Instant::now());
        let code = kills.offer("u", &node("a"), now);
        assert!(kills.redeem("u", &node("a"), &code, now + CODE_LIFE));
        assert!(!kills.redeem("u", &node("a"), &code, now), "once");
        let code = kills.offer("u", &node("a"), now);
        let late = now + CODE_LIFE + Duration::from_millis(1);
        assert!(!kills.redeem("u", &node("a"), &code, late));
        let code = kills.offer("u", &node("a"), now);
        assert!(!kills.redeem("v", &node("a"), &code, now), "another Drone");
        assert!(!kills.redeem("u", &node("b"), &code, now), "another vehicle");
        let first = kills.offer("u", &node("a"), now);
        let second = kills.offer("u", &node("a"), now);
        assert_ne!(first, second);
        assert!(!kills.redeem("u", &node("a"), &first, now), "a newer one was offered");
        assert!(
            !kills.redeem("u", &node("a"), &second, now),
            "a wrong guess costs the code"
        );
        assert!(!kills.redeem("u", &node("a"), "", now));
    }

    #[tokio::test(start_paused = true)]
    async fn codes_that_nobody_used_are_forgotten() {
        let (kills, now) = (Kills::default(), Instant::now());
        for n in 0..1000 {
            kills.offer(&n.to_string(), &node("a"), now);
        }
        kills.offer("last", &node("a"), now + CODE_LIFE * 2);
        assert_eq!(kills.0.lock().unwrap().len(), 1);
    }
}
