//! Keeps every connected agent informed of the desired state of its node.

use crate::cluster::Cluster;
use crate::cluster::api::{self, ApiError};
use crate::cluster::confirm;
use crate::cluster::wake_set::WakeSet;
use crate::cluster::world::uid;
use crate::controllers::facts::{Observer, facts_of};
use crate::controllers::flight_traces;
use crate::controllers::plans::PlanOf;
use crate::controllers::queue;
use crate::ground;
use crate::leadership::periodic::Periodic;
use crate::leadership::state::AFTER_DOUBT;
use crate::spans;
use crds::Drone;
use fleet::planning::drone::order::{ToSend, for_node};
use fleet::planning::drone::{Claimed, Facts, Ground};
use fleet::planning::freshness::{begins_flight, may_send};
use fleet::planning::node_use::{Lift, NoLift};
use fleet::planning::swarm::takeoff_slots::TO_TAKE_OFF;
use kube::api::{Api, ListParams};
use model::assignment::{Assignment, Desired, Held, Order};
use model::ground::GroundOrderId;
use model::ids::{DroneUid, NodeName};
use model::report::Report;
use model::vehicle::FlightTruth;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tracing::Instrument;

const CONCURRENT_ORDERS: usize = 8;

/// When the API server knows of a Drone that the cache does not show yet.
const STALE_CACHE_RETRY_DELAY: Duration = Duration::from_secs(1);

pub fn start(observer: &Observer, tasks: &mut JoinSet<()>) {
    let doubt = Doubt {
        observer: observer.clone(),
        acted: true,
    };
    tasks.spawn(observer.leadership.loops.clone().run(doubt));
    // Nodes about which the API server has to be asked before a takeoff.
    let to_confirm = Arc::new(WakeSet::default());
    let (shared, asked) = (observer.clone(), Arc::clone(&to_confirm));
    tasks.spawn(async move {
        let observer = &shared;
        let ask = move |node: NodeName| {
            let span = spans::agent(&node);
            async move { confirm_takeoff(&observer.cluster, &node).await }.instrument(span)
        };
        queue::work_off(&asked, CONCURRENT_ORDERS, &observer.leadership.ending, ask).await;
    });
    let shared = observer.clone();
    tasks.spawn(async move {
        let (observer, to_confirm) = (&shared, &*to_confirm);
        let work = move |node: NodeName| {
            let span = spans::agent(&node);
            async move { reconcile(observer, to_confirm, &node).await }.instrument(span)
        };
        let Observer {
            cluster, leadership, ..
        } = observer;
        queue::work_off(&cluster.wakes.nodes, CONCURRENT_ORDERS, &leadership.ending, work).await;
    });
}

/// When it becomes doubtful who leads, reconciles the nodes that were ordered to fly and have not taken off yet.
struct Doubt {
    observer: Observer,
    acted: bool,
}

impl Periodic for Doubt {
    const NAME: &'static str = "doubt";
    const INTERVAL: Duration = AFTER_DOUBT;
    const EVEN_IN_DOUBT: bool = true;

    async fn run(&mut self) -> Result<(), ApiError> {
        let Observer {
            cluster,
            sessions,
            leadership,
            ..
        } = &self.observer;
        let acts = leadership.state.acts();
        let acted = std::mem::replace(&mut self.acted, acts);
        if !acted || acts {
            return Ok(());
        }
        for (node, snapshot) in sessions.connected() {
            let about_to = |report: &Report| {
                let to_fly = report.held.as_ref().is_some_and(|held| !held.grounded);
                to_fly && report.truth == FlightTruth::Disarmed
            };
            if snapshot.report.is_some_and(|(report, _)| about_to(&report)) {
                cluster.wakes.nodes.wake(node);
            }
        }
        Ok(())
    }
}

/// The order for an agent, and its grounds.
struct Decision {
    to_send: ToSend,
    /// On the agent's open session.
    report: Option<Arc<Report>>,
    /// When to check again at the latest.
    again: Option<Duration>,
}

async fn reconcile(
    observer: &Observer,
    to_confirm: &WakeSet<NodeName>,
    node: &NodeName,
) -> Result<Option<Duration>, ApiError> {
    let Some(mut decision) = decide(observer, node, None) else {
        return Ok(None);
    };
    if let ToSend::ConfirmUnbound(stranger) = &decision.to_send {
        if is_bound(&observer.cluster, node, stranger).await? {
            return Ok(Some(STALE_CACHE_RETRY_DELAY));
        }
        // The question took its time: decide again, or an older state would replace an order given meanwhile.
        let stranger = stranger.clone();
        decision = match decide(observer, node, Some(&stranger)) {
            None => return Ok(None),
            Some(now) => now,
        };
    }
    let Decision { to_send, report, again } = decision;
    let order = match to_send {
        ToSend::Order(order) => order,
        ToSend::Nothing => return Ok(again),
        ToSend::ConfirmUnbound(_) => return Ok(Some(Duration::ZERO)),
    };
    // Another task asks, so that no ground order waits behind a question.
    let held = report.as_ref().and_then(|report| report.held.as_ref());
    let truth = report.as_ref().map(|report| report.truth);
    let begins = begins_flight(&order, held, truth);
    if begins && observer.sessions.would_send(node, &order) {
        if !is_confirmed(&observer.cluster, node, &order) {
            to_confirm.wake(node.clone());
            return Ok(again.into_iter().chain([STALE_CACHE_RETRY_DELAY]).min());
        }
        if let Some(left) = too_soon(observer, node, &order) {
            return Ok(again.into_iter().chain([left]).min());
        }
    }
    // Before it is sent: the agent may be faster than this.
    let at = flight_traces::now();
    if may_be_sent(observer, node, &order, held) && observer.sessions.send(node, &order) {
        match &order {
            Order::Assigned(a) => {
                spans::assignment(node, a).in_scope(|| tracing::info!(desired = %a.desired, "order sent to the agent"));
                observer.traces.ordered(a, node, (begins, at));
            }
            Order::Unassigned { .. } => tracing::debug!("the agent is notified that no Drone is bound to its node"),
        }
    }
    Ok(again)
}

/// Whether the API server itself has confirmed just now what a takeoff by `order` rests on.
fn is_confirmed(cluster: &Cluster, node: &NodeName, order: &Order) -> bool {
    let drones = cluster.world.drones_on(node);
    let meant = |drone: &Drone| matches!(order, Order::Assigned(a) if a.uid.0 == uid(drone));
    let meant = drones.iter().find(|drone| meant(drone));
    meant.is_some_and(|drone| confirm::holds(cluster, drone, node))
}

/// How long a takeoff by `order` has to wait, because another of its Swarm was ordered just now.
fn too_soon(observer: &Observer, node: &NodeName, order: &Order) -> Option<Duration> {
    let Order::Assigned(a) = order else { return None };
    let drones = observer.world().drones_on(node);
    let drone = drones.iter().find(|drone| a.uid.0 == uid(drone.as_ref()))?;
    observer
        .takeoff_slots
        .order(observer.world(), drone, observer.leadership.state.now())
}

/// Asks the API server about the Drones on `node`, of which one is to take off.
async fn confirm_takeoff(cluster: &Cluster, node: &NodeName) -> Result<Option<Duration>, ApiError> {
    let mut there = false;
    for drone in cluster.world.drones_on(node) {
        there |= confirm::takeoff(cluster, &drone, node).await?;
    }
    if there {
        cluster.wakes.nodes.wake(node.clone());
    }
    Ok(None)
}

/// Whether `order` may be sent to an agent that reports `held`.
fn may_be_sent(observer: &Observer, node: &NodeName, order: &Order, held: Option<&Held>) -> bool {
    let knowledge = observer.leadership.state.knowledge();
    let ours = |drone: &Drone| matches!(order, Order::Assigned(a) if a.uid.0 == uid(drone));
    let here = || {
        let drones = observer.world().drones_on(node);
        drones
            .iter()
            .any(|drone| ours(drone) && ground::ordered_here(&observer.ground, drone))
    };
    may_send(knowledge, order, held, !knowledge.acts() && here())
}

/// The present order for the agent of `node`; `None` when it is not connected. `unbound` is not bound to the node, by the API server.
fn decide(observer: &Observer, node: &NodeName, unbound: Option<&DroneUid>) -> Option<Decision> {
    let report = observer.sessions.agent(node)?.report.map(|(report, _)| report);
    let reported = report.as_ref().map(|report| report.held.as_ref());
    let held = reported.flatten();
    if let Some(held) = held {
        observer.leadership.deposition.note_reported_term(node, held.term);
    }
    // Read before the facts: a route that is granted meanwhile is not void.
    let granted = observer.airspace.last_granted(node);
    let is_unbound = held.is_some_and(|held| Some(&held.uid) == unbound);
    let bound = observer.world().drones_on(node);
    let latch = report.as_ref().and_then(|report| report.ground_latch);
    let facts = |drone: &Drone| facts_of(observer, drone, report.as_deref());
    let gather = || bound.iter().map(|drone| facts(drone)).collect::<Vec<Facts>>();
    let mut drones = gather();
    let of_agent = |known: &&Facts| held.is_some_and(|held| held.uid == known.uid);
    if let Some((known, drone)) = drones.iter().zip(&bound).find(|(known, _)| of_agent(known))
        && take_up_ground_order(observer, latch, drone, known)
    {
        drones = gather();
    }
    let mut again = (!observer.leadership.state.acts()).then_some(AFTER_DOUBT);
    let drones = drones.into_iter().zip(&bound).map(|(known, drone)| {
        let (known, wait) = request_slot(observer, drone, known, report.as_deref());
        again = [again, wait].into_iter().flatten().min();
        known
    });
    let drones: Vec<Facts> = drones.collect();
    let to_send = for_node(observer.leadership.term, &drones, reported, is_unbound);
    // Its plan is not known here yet: an airborne vehicle gets no new order.
    let unplanned = |a: &Assignment| {
        let drone = bound.iter().find(|drone| uid(drone.as_ref()) == a.uid.0);
        matches!(a.desired, Desired::Flying { .. })
            && drone.is_some_and(|drone| {
                drone.metadata.deletion_timestamp.is_none() && observer.missions.plan(drone) == PlanOf::Unknown
            })
    };
    let to_send = match to_send {
        ToSend::Order(Order::Assigned(a)) if unplanned(&a) => ToSend::Nothing,
        to_send => to_send,
    };
    let to_send = match (to_send, granted) {
        (ToSend::Order(order), Some(number)) => ToSend::Order(order.without_routes_to(number)),
        (to_send, _) => to_send,
    };
    Some(Decision { to_send, report, again })
}

/// Requests a takeoff slot for a Drone on the ground, where only that is missing; the facts then, and when to ask again.
fn request_slot(
    observer: &Observer,
    drone: &Drone,
    known: Facts,
    report: Option<&Report>,
) -> (Facts, Option<Duration>) {
    let on_ground = known.truth == Some(FlightTruth::Disarmed);
    let may = known.claim == Claimed::Ours && known.guarded && !known.deleting && known.ground == Ground::No;
    let swarm = observer.world().swarm_of(drone);
    let Some(swarm) = swarm.filter(|_| on_ground && may) else {
        return (known, None);
    };
    let fit = report.is_none_or(|report| report.ready != Some(false));
    let (now, spread) = (observer.leadership.state.now(), swarm.spec.takeoff_interval_seconds > 0);
    match known.lift {
        Lift::Stay(NoLift::TakeoffSlot) => {
            match observer
                .takeoff_slots
                .request(observer.world(), &swarm, drone, fit, now)
            {
                None => (facts_of(observer, drone, report), Some(TO_TAKE_OFF).filter(|_| spread)),
                wait => (known, wait),
            }
        }
        Lift::Free if !fit => match observer.takeoff_slots.refuses(&swarm, drone, now) {
            Some(Duration::ZERO) => (facts_of(observer, drone, report), Some(TO_TAKE_OFF)),
            wait => (known, wait),
        },
        Lift::Free => (known, Some(TO_TAKE_OFF).filter(|_| spread)),
        Lift::Stay(_) | Lift::Land => (known, None),
    }
}

/// Puts the ground order `latch` of an agent in force again that is not known here as given or ended, nor repeats another. Whether it did.
fn take_up_ground_order(observer: &Observer, latch: Option<GroundOrderId>, drone: &Drone, known: &Facts) -> bool {
    let latch = latch.filter(|_| known.ground_mark.is_none() && !known.deleting);
    if let Some(id) = latch {
        spans::drone(drone).in_scope(|| ground::remembered(&observer.ground, drone, id));
    }
    latch.is_some()
}

/// Asks the API server whether the Drone `uid` is bound to `node`.
async fn is_bound(cluster: &Cluster, node: &NodeName, uid: &DroneUid) -> Result<bool, ApiError> {
    let drones: Api<Drone> = Api::all(cluster.client());
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
