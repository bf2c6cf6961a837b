//! What the agent of a node is sent, from what is known of the Drone bound to it.
//!
//! Owns: [`for_node`] and [`order`]. Must not: land anything for want of knowledge. Where something is not known, the
//! answer is `None`: nothing new is said, and the agent goes on with what it holds.

use crate::planning::drone::way_home::WayHome;
use crate::planning::drone::{Claimed, Facts, Ground};
use crate::planning::node_use::{Lift, NoLift};
use model::assignment::{Assignment, Desired, GroundedWhy, Held, HeldDetails, Order};
use model::ground::{GroundMark, GroundOrderId};
use model::ids::{DroneUid, Term};
use model::report::RouteState;
use model::reported_flight::ReportedFlight;
use model::route_order::OrderNumber;
use model::station::Manner;
use model::vehicle::FlightTruth;

/// The order for the vehicle that serves `drone`; `held` is what the agent reports to hold.
pub fn order(term: Term, drone: &Facts, held: Option<&Held>) -> Option<Order> {
    let held = held.filter(|h| h.uid == drone.uid);
    // A vehicle takes off only under a claim and a finalizer. One that serves this Drone already goes on getting orders.
    if held.is_none() && (drone.claim != Claimed::Ours || !(drone.guarded || drone.deleting)) {
        return None;
    }
    let flying = Desired::Flying {
        altitude: drone.altitude,
    };
    let grounded = |why| Desired::Grounded { why };
    let way_home = drone.movement.as_ref().map(|movement| movement.way_home);
    let goes_home = way_home == Some(WayHome::Ahead);
    let desired = match (drone.ground, drone.lift) {
        // Below its station may be no place to land. A person's order to land does not wait for that.
        (Ground::Ordered, _) if goes_home => grounded(GroundedWhy::Ordered),
        _ if goes_home && (drone.deleting || drone.lift == Lift::Land) => flying,
        // Wherever it is, it goes on until that is known, but for a person's order.
        (ground, lift)
            if way_home == Some(WayHome::Unknown)
                && ground != Ground::Ordered
                && (drone.deleting || lift == Lift::Land) =>
        {
            return None;
        }
        _ if drone.deleting => grounded(GroundedWhy::Deleted),
        (Ground::Ordered, _) => grounded(GroundedWhy::Ordered),
        (_, Lift::Land) => grounded(GroundedWhy::Waiting),
        (Ground::No, Lift::Free) => flying,
        (Ground::Unknown, Lift::Free) if held.is_some_and(|h| !h.grounded) => flying,
        (Ground::Unknown, Lift::Free) => return None,
        (ground, Lift::Stay(why)) => match flies(drone, held)? {
            true => flying,
            // To keep it where it is needs no order of one that may lead no more, or that does not know its Swarm: but one that was
            // ordered to fly and has not taken off yet may do so at any moment.
            false if ground == Ground::Unknown => return None,
            false if why == NoLift::Doubt && held.is_none_or(|held| held.grounded) => return None,
            false => grounded(GroundedWhy::Waiting),
        },
    };
    let route = drone.movement.as_ref().and_then(|movement| movement.route.clone());
    Some(Order::Assigned(Assignment {
        term,
        uid: drone.uid.clone(),
        name: drone.name.clone(),
        generation: drone.generation,
        desired,
        failsafe: drone.failsafe,
        resume_after: drone.resume_after,
        ground_mark: drone.ground_mark,
        // An agent that holds the Drone knows better, unless its disk is older than what was reported.
        reported_flight: if held.is_none() || drone.forgotten {
            drone.reported_flight
        } else {
            ReportedFlight::default()
        },
        routed: drone.movement.is_some(),
        manner: drone
            .movement
            .as_ref()
            .map_or_else(Manner::default, |movement| movement.manner),
        void: model::route_order::OrderNumber::default(),
        rules: drone.rules.clone(),
        plan: drone.plan.clone(),
        recalled: drone.deleting && drone.recalled,
        route: route.filter(|_| flying == desired),
    }))
}

/// Whether its vehicle flies for this Drone and is to go on, when no other would take off; `None` while that is not known.
fn flies(drone: &Facts, held: Option<&Held>) -> Option<bool> {
    match (held, drone.truth?) {
        (Some(held), _) if held.grounded => Some(false),
        // An agent that has just started and has received nothing from its autopilot yet: what was observed in the air goes on, and what was
        // not must not take off by an order to go on.
        (Some(_), FlightTruth::Unknown(_)) if !drone.flown => None,
        // Not settled: in the air, unknown, or about to be armed by our order.
        (Some(held), _) => Some(!held.settled),
        (None, FlightTruth::Airborne(_)) => Some(true),
        (None, FlightTruth::Disarmed) => Some(false),
        (None, FlightTruth::ArmedOnGround | FlightTruth::Unknown(_)) => None,
    }
}

/// What to send to the agent of a node.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each decision, and most are orders"
)]
pub enum ToSend {
    Order(Order),
    Nothing,
    /// First find out, from the API server and not from a cache, that the Drone that the agent holds is not bound to the
    /// node; no Drone of that uid is known here.
    ConfirmUnbound(DroneUid),
}

/// What to send to the agent of a node that `drones` name as theirs (more than one only if people set `spec.nodeName`).
///
/// `held` is what the agent reports to hold: `None` before its first report, `Some(None)` when it holds nothing.
/// `confirmed_unbound` is whether the API server said that the Drone held is not bound to this node.
pub fn for_node(term: Term, drones: &[Facts], held: Option<Option<&Held>>, confirmed_unbound: bool) -> ToSend {
    let holds = held.flatten();
    if let Some(stranger) = holds.filter(|h| drones.iter().all(|drone| drone.uid != h.uid)) {
        if !confirmed_unbound {
            return ToSend::ConfirmUnbound(stranger.uid.clone());
        }
        if !stranger.settled {
            // Its vehicle lands before it serves another Drone.
            return ToSend::Order(Order::unassigned(term));
        }
    }
    let order = match served(drones, holds) {
        Some(drone) => order(term, drone, holds),
        None => held.map(|_| Order::unassigned(term)),
    };
    order.map_or(ToSend::Nothing, ToSend::Order)
}

/// Of the Drones that name a node, the one that its vehicle serves: what the agent holds, or else the one with the claim. One
/// without a claim may be about to get it, so that the agent is not notified that there is no Drone.
fn served<'a>(drones: &'a [Facts], held: Option<&Held>) -> Option<&'a Facts> {
    let by_agent = drones
        .iter()
        .find(|drone| held.is_some_and(|held| held.uid == drone.uid));
    let by_claim = || drones.iter().find(|drone| drone.claim == Claimed::Ours);
    by_agent
        .or_else(by_claim)
        .or_else(|| drones.iter().find(|drone| drone.claim == Claimed::Free))
}

/// Whether an agent that reports `held`, to keep the ground order `latch`, and `route`, acts on `order`. If not, the order is sent
/// again.
pub fn taken(order: &Order, held: Option<&Held>, latch: Option<GroundOrderId>, route: &RouteState) -> bool {
    match (order, held) {
        (Order::Unassigned { void, .. }, held) => held.is_none() && route.last >= *void,
        (Order::Assigned(_), None) => false,
        (Order::Assigned(a), Some(h)) => {
            let grounded = matches!(a.desired, Desired::Grounded { .. });
            let heard = match a.ground_mark {
                Some(GroundMark::Given(id)) => latch == Some(id),
                Some(GroundMark::Done(id)) => latch != Some(id),
                None => true,
            };
            let newer = |number: OrderNumber| route.last >= number;
            let kept = route.order.as_ref().is_none_or(|kept| kept.number > a.void);
            let on_route = newer(a.void) && a.route.as_ref().map_or(kept, |ordered| newer(ordered.number));
            // They change by themselves: an agent that could not write an order down goes on with what it held before.
            let same = |details: &HeldDetails| details.act_on(&HeldDetails::of(a));
            heard
                && on_route
                && h.details.as_ref().is_none_or(same)
                && (h.uid == a.uid)
                && (h.term, h.generation, h.grounded) == (a.term, a.generation, grounded)
        }
    }
}

#[cfg(test)]
mod tests;
