//! Keeps every connected agent informed of what should be true on its node.
//!
//! Owns: from a node to its order. Must not: order an agent that holds a Drone that there is none, or begin a flight, before the
//! API server itself, and not a cache, has said so: an old cache must neither land nor lift anybody (invariant 16).

use crate::cluster::api::{self, ApiError};
use crate::cluster::confirm;
use crate::cluster::world::{owner, uid};
use crate::context::Context;
use crate::controllers::drone::facts::facts;
use crate::controllers::queue;
use crate::ground;
use crate::leadership::state::AFTER_DOUBT;
use crate::sessions::HeldByAgent;
use crate::spans;
use crds::Drone;
use fleet::assignment::{Held, Order};
use fleet::drone::order::{Say, for_node};
use fleet::drone::{Claimed, Facts, Ground};
use fleet::freshness::{begins_flight, may_send};
use fleet::ids::{DroneUid, NodeName};
use fleet::node_use::{Lift, NoLift};
use fleet::report::Report;
use fleet::swarm::takeoff_slots::TO_TAKE_OFF;
use fleet::vehicle::FlightTruth;
use kube::api::{Api, ListParams};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tracing::Instrument;

/// Nodes worked on at a time.
const AT_A_TIME: usize = 8;

/// When the API server knows of a Drone that the cache does not show yet.
const AFTER_OLD_CACHE: Duration = Duration::from_secs(1);

/// Starts sending orders to agents.
pub fn start(context: &Arc<Context>, tasks: &mut JoinSet<()>) {
    let shared = Arc::clone(context);
    tasks.spawn(async move { stay_in_doubt(&shared).await });
    let shared = Arc::clone(context);
    tasks.spawn(async move {
        let context = &shared;
        let ask = move |node: NodeName| {
            let span = spans::agent(&node);
            async move { ask_first(context, &node).await }.instrument(span)
        };
        queue::work_off(&context.to_confirm, AT_A_TIME, &context.ending, ask).await;
    });
    let shared = Arc::clone(context);
    tasks.spawn(async move {
        let context = &shared;
        let work = move |node: NodeName| {
            let span = spans::agent(&node);
            async move { reconcile(context, &node).await }.instrument(span)
        };
        queue::work_off(&context.wakes.nodes, AT_A_TIME, &context.ending, work).await;
    });
}

/// When it becomes doubtful who leads, reconciles those that were ordered to fly and have not taken off yet.
async fn stay_in_doubt(context: &Context) {
    let mut acted = true;
    loop {
        let slept = tokio::time::sleep(AFTER_DOUBT);
        if context.ending.run_until_cancelled(slept).await.is_none() {
            return;
        }
        let acts = context.leadership.acts();
        if acted && !acts {
            for (node, snapshot) in context.sessions.connected() {
                let about_to = |report: &Report| {
                    let told = report.held.as_ref().is_some_and(|held| !held.grounded);
                    told && report.truth == FlightTruth::Disarmed
                };
                if snapshot.report.is_some_and(|(report, _)| about_to(&report)) {
                    context.wakes.nodes.wake(node);
                }
            }
        }
        acted = acts;
    }
}

async fn reconcile(context: &Context, node: &NodeName) -> Result<Option<Duration>, ApiError> {
    let Some((mut say, mut again)) = decide(context, node, None) else {
        return Ok(None);
    };
    if let Say::AskFor(stranger) = &say {
        if is_bound(context, node, stranger).await? {
            return Ok(Some(AFTER_OLD_CACHE));
        }
        // The question took its time: an order given meanwhile must not be overtaken by what was seen before it.
        let stranger = stranger.clone();
        match decide(context, node, Some(&stranger)) {
            None => return Ok(None),
            Some((Say::AskFor(_), _)) => return Ok(Some(Duration::ZERO)),
            Some(now) => (say, again) = now,
        }
    }
    // Asked by another task than the one that sends: no ground order waits behind a question.
    if let Say::Order(order) = &say
        && begins_flight(order, held(context, node).as_ref(), truth(context, node))
        && context.sessions.would_send(node, order)
    {
        if !is_confirmed(context, node, order) {
            context.to_confirm.wake(node.clone());
            return Ok(again.into_iter().chain([AFTER_OLD_CACHE]).min());
        }
        if let Some(left) = too_soon(context, node, order) {
            return Ok(again.into_iter().chain([left]).min());
        }
    }
    if let Say::Order(order) = say
        && may_be_sent(context, node, &order)
        && context.sessions.send(node, &order)
    {
        match &order {
            Order::Assigned(a) => {
                spans::assignment(node, a).in_scope(|| tracing::info!(desired = %a.desired, "order sent to the agent"));
            }
            Order::Unassigned { .. } => tracing::debug!("the agent is notified that no Drone is bound to its node"),
        }
    }
    Ok(again)
}

/// Whether the API server itself has said just now what a takeoff by `order` rests on.
fn is_confirmed(context: &Context, node: &NodeName, order: &Order) -> bool {
    let drones = context.world.drones_on(node);
    let meant = |drone: &Drone| matches!(order, Order::Assigned(a) if a.uid.0 == uid(drone));
    let meant = drones.iter().find(|drone| meant(drone));
    meant.is_some_and(|drone| confirm::holds(context, drone, node))
}

/// How long a takeoff by `order` has to wait, because another of its Swarm was ordered just now.
fn too_soon(context: &Context, node: &NodeName, order: &Order) -> Option<Duration> {
    let Order::Assigned(a) = order else { return None };
    let drones = context.world.drones_on(node);
    let drone = drones.iter().find(|drone| a.uid.0 == uid(drone.as_ref()))?;
    context.takeoff_slots.order(context, drone, context.leadership.now())
}

/// Asks the API server about the Drones on `node`, of which one is to take off.
async fn ask_first(context: &Context, node: &NodeName) -> Result<Option<Duration>, ApiError> {
    let mut there = false;
    for drone in context.world.drones_on(node) {
        there |= confirm::takeoff(context, &drone, node).await?;
    }
    if there {
        context.wakes.nodes.wake(node.clone());
    }
    Ok(None)
}

/// Whether `order` may be sent by what is known.
fn may_be_sent(context: &Context, node: &NodeName, order: &Order) -> bool {
    let knowledge = context.leadership.knowledge();
    let ours = |drone: &Drone| matches!(order, Order::Assigned(a) if a.uid.0 == uid(drone));
    let here = || {
        let drones = context.world.drones_on(node);
        drones
            .iter()
            .any(|drone| ours(drone) && ground::ordered_here(context, drone))
    };
    may_send(
        knowledge,
        order,
        held(context, node).as_ref(),
        !knowledge.acts() && here(),
    )
}

/// What the vehicle of `node` does.
fn truth(context: &Context, node: &NodeName) -> Option<FlightTruth> {
    context.sessions.current(node).map(|report| report.truth)
}

/// What the agent of `node` reports to hold.
fn held(context: &Context, node: &NodeName) -> Option<Held> {
    match context.sessions.held(node) {
        HeldByAgent::Reported(held) => held,
        HeldByAgent::Silent | HeldByAgent::NotYetReported => None,
    }
}

/// What to say to the agent of `node`, as things are now; `None` when it is not connected. `gone` is a Drone of which the
/// API server said that it is not bound to the node. Also, when to check again at the latest.
fn decide(context: &Context, node: &NodeName, gone: Option<&DroneUid>) -> Option<(Say, Option<Duration>)> {
    let reported = match context.sessions.held(node) {
        HeldByAgent::Silent => return None,
        HeldByAgent::NotYetReported => None,
        HeldByAgent::Reported(held) => Some(held),
    };
    let held = reported.as_ref().and_then(Option::as_ref);
    if let Some(held) = held {
        context.note_reported_term(node, held.term);
    }
    let gone = held.is_some_and(|held| Some(&held.uid) == gone);
    let bound = context.world.drones_on(node);
    if let Some(drone) = bound
        .iter()
        .find(|d| held.is_some_and(|held| held.uid.0 == uid(d.as_ref())))
    {
        take_up_ground_order(context, node, drone);
    }
    let mut again = (!context.leadership.acts()).then_some(AFTER_DOUBT);
    let drones: Vec<Facts> = bound.iter().map(|drone| facts(context, drone)).collect();
    let drones = drones.into_iter().zip(&bound).map(|(known, drone)| {
        let (known, wait) = request_slot(context, drone, known);
        again = [again, wait].into_iter().flatten().min();
        known
    });
    let drones: Vec<Facts> = drones.collect();
    let say = for_node(context.term, &drones, reported.as_ref().map(Option::as_ref), gone);
    Some((say, again))
}

/// Requests a takeoff slot for a Drone on the ground, where only that is missing; what is known of it then, and when to ask again.
fn request_slot(context: &Context, drone: &Drone, known: Facts) -> (Facts, Option<Duration>) {
    let stands = known.truth == Some(FlightTruth::Disarmed);
    let may = known.claim == Claimed::Ours && known.guarded && !known.deleting && known.ground == Ground::No;
    let swarm = owner(drone).and_then(|(swarm, _)| context.world.swarm_of_uid(swarm));
    let Some(swarm) = swarm.filter(|_| stands && may) else {
        return (known, None);
    };
    let node = drone
        .spec
        .node_name
        .as_deref()
        .and_then(|node| NodeName::parse(node).ok());
    let report = node.and_then(|node| context.sessions.current(&node));
    let fit = report.is_none_or(|report| report.ready != Some(false));
    let (now, spread) = (context.leadership.now(), swarm.spec.takeoff_interval_seconds > 0);
    match known.lift {
        Lift::Stay(NoLift::TakeoffSlot) => match context.takeoff_slots.request(context, &swarm, drone, fit, now) {
            None => (facts(context, drone), Some(TO_TAKE_OFF).filter(|_| spread)),
            wait => (known, wait),
        },
        Lift::Free if !fit => match context.takeoff_slots.refuses(&swarm, drone, now) {
            Some(Duration::ZERO) => (facts(context, drone), Some(TO_TAKE_OFF)),
            wait => (known, wait),
        },
        Lift::Free => (known, Some(TO_TAKE_OFF).filter(|_| spread)),
        Lift::Stay(_) | Lift::Down => (known, None),
    }
}

/// An agent that keeps a ground order which is known neither as given nor as done is right, and not the coordinator.
fn take_up_ground_order(context: &Context, node: &NodeName, drone: &Drone) {
    let kept = context.sessions.current(node).and_then(|report| report.ground_latch);
    let facts = facts(context, drone);
    if let Some(id) = kept.filter(|_| facts.ground_mark.is_none() && !facts.deleting) {
        spans::drone(drone).in_scope(|| ground::remembered(context, drone, id));
    }
}

/// Whether the Drone `uid` is bound to `node`, by asking the API server.
async fn is_bound(context: &Context, node: &NodeName, uid: &DroneUid) -> Result<bool, ApiError> {
    let drones: Api<Drone> = Api::all(context.client());
    let on_node = ListParams::default().fields(&format!("spec.nodeName={node}"));
    let list = api::call("list the Drones of a node", drones.list_metadata(&on_node)).await?;
    let found = list
        .items
        .iter()
        .any(|drone| drone.metadata.uid.as_deref() == Some(uid.0.as_str()));
    if found {
        tracing::debug!(%uid, "the API server knows of a Drone on the node that is not in the cache yet");
    }
    Ok(found)
}
