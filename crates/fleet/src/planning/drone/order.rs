//! The order for the agent of a node, from the Drone bound to it.
//!
//! Owns: [`for_node`] and [`order`]. Must not: land anything for want of knowledge. Where something is not known the answer is `None`: the
//! agent goes on with what it holds.

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

/// `held`: what the agent reports to hold.
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
        // It goes on at any place until that is known, except for a person's order.
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
            // Staying on the ground needs no order from a coordinator that may not lead any more, or does not know its Swarm; but a vehicle
            // that was ordered to fly may take off at any moment.
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
        // An agent that holds the Drone knows better, unless its disk is older than the reports.
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

/// Whether its vehicle flies for this Drone and goes on when no other would take off; `None` while not known.
fn flies(drone: &Facts, held: Option<&Held>) -> Option<bool> {
    match (held, drone.truth?) {
        (Some(held), _) if held.grounded => Some(false),
        // An agent that has just started and received nothing from its autopilot: a vehicle that was observed in the air goes on, and any
        // other must not take off by an order to go on.
        (Some(_), FlightTruth::Unknown(_)) if !drone.flown => None,
        // Not settled: in the air, unknown, or about to be armed by our order.
        (Some(held), _) => Some(!held.settled),
        (None, FlightTruth::Airborne(_)) => Some(true),
        (None, FlightTruth::Disarmed) => Some(false),
        (None, FlightTruth::ArmedOnGround | FlightTruth::Unknown(_)) => None,
    }
}

#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each decision, and most are orders"
)]
pub enum ToSend {
    Order(Order),
    Nothing,
    /// No Drone of this uid is known here: ask the API server, not a cache, whether the Drone that the agent holds is bound to the node.
    ConfirmUnbound(DroneUid),
}

/// `drones`: those that name this node (more than one only if people set `spec.nodeName`). `held`: `None` before the agent's first report,
/// `Some(None)` when it holds nothing. `confirmed_unbound`: the API server said that the Drone held is not bound to this node.
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

/// The Drone that the vehicle serves: what the agent holds, or else the one with the claim. A Drone without a claim may be about to get it,
/// so the agent is not notified that there is none.
fn served<'a>(drones: &'a [Facts], held: Option<&Held>) -> Option<&'a Facts> {
    let by_agent = drones
        .iter()
        .find(|drone| held.is_some_and(|held| held.uid == drone.uid));
    let by_claim = || drones.iter().find(|drone| drone.claim == Claimed::Ours);
    by_agent
        .or_else(by_claim)
        .or_else(|| drones.iter().find(|drone| drone.claim == Claimed::Free))
}

/// Whether an agent that reports this acts on `order`. If not, it is sent again.
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
            // These change without a new generation: an agent that could not store an order goes on with the one before.
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
