//! Keeps every connected agent told what should be true on its node.
//!
//! Owns: from a node to its order. Must not: tell an agent that holds a Drone that there is none, before the API server
//! itself, and not a cache, has said so: an old cache must not land anybody.

use crate::api::{self, ApiError};
use crate::context::Context;
use crate::drones::facts::facts;
use crate::queue;
use crate::sessions::Holding;
use crds::Drone;
use fleet::assignment::{Held, Order};
use fleet::drone::order::{order, unassigned};
use fleet::drone::{Claimed, Facts};
use fleet::ids::NodeName;
use kube::api::{Api, ListParams};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Nodes worked on at a time.
const WORKERS: usize = 8;

/// When the API server knows of a Drone that the cache does not show yet.
const AFTER_OLD_CACHE: Duration = Duration::from_secs(1);

/// Starts telling agents.
pub fn start(context: &Arc<Context>, tasks: &mut JoinSet<()>) {
    let shared = Arc::clone(context);
    queue::start(
        tasks,
        Arc::clone(&context.queues.nodes),
        WORKERS,
        &context.ending,
        move |node| {
            let context = Arc::clone(&shared);
            async move { tell(&context, &node).await }
        },
    );
}

async fn tell(context: &Context, node: &NodeName) -> Result<Option<Duration>, ApiError> {
    let reported = match context.sessions.holding(node) {
        Holding::Silent => return Ok(None),
        Holding::NotYetReported => None,
        Holding::Reported(held) => Some(held),
    };
    let held = reported.as_ref().and_then(Option::as_ref);
    if let Some(held) = held {
        context.heard_of_term(held.term);
    }
    let drones: Vec<Facts> = context
        .world
        .drones_on(node)
        .iter()
        .map(|drone| facts(context, drone))
        .collect();
    let order = match served(&drones, held) {
        Some(drone) => order(context.term, drone, held),
        None => {
            let reported = reported.as_ref().map(Option::as_ref);
            let at_once = unassigned(context.term, reported, false);
            if at_once.is_none() && held.is_some() {
                if is_bound(context, node).await? {
                    return Ok(Some(AFTER_OLD_CACHE));
                }
                unassigned(context.term, reported, true)
            } else {
                at_once
            }
        }
    };
    if let Some(order) = order
        && context.sessions.tell(node, &order)
    {
        match &order {
            Order::Assigned(a) => tracing::info!(%node, drone = %a.name, desired = ?a.desired, "agent is told"),
            Order::Unassigned { .. } => tracing::debug!(%node, "agent is told that no Drone is bound to its node"),
        }
    }
    Ok(None)
}

/// Of the Drones that name a node, the one that its vehicle serves: what the agent holds, or else who has the claim.
/// `None` when the vehicle serves none of them.
fn served<'a>(drones: &'a [Facts], held: Option<&Held>) -> Option<&'a Facts> {
    let by_agent = drones
        .iter()
        .find(|drone| held.is_some_and(|held| held.uid == drone.uid));
    let by_claim = || drones.iter().find(|drone| drone.claim == Claimed::Ours);
    // One that lost its claim is still "somebody": no order follows from it, but the node is not free either.
    by_agent
        .or_else(by_claim)
        .or_else(|| drones.iter().find(|drone| drone.claim == Claimed::Nobody))
}

/// Whether any Drone is bound to `node`, by the API server's own word.
async fn is_bound(context: &Context, node: &NodeName) -> Result<bool, ApiError> {
    let drones: Api<Drone> = Api::all(context.client());
    let bound = ListParams::default().fields(&format!("spec.nodeName={node}")).limit(1);
    let list = api::call("list the Drones of a node", drones.list_metadata(&bound)).await?;
    let found = !list.items.is_empty();
    if found {
        tracing::debug!(%node, "the API server knows of a Drone on the node that is not in the cache yet");
    }
    Ok(found)
}
