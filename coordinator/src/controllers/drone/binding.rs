//! Giving a Drone its vehicle: choose a node, claim it, then write it into `spec.nodeName`, once.
//!
//! Each step can fail or be cut off; the next reconcile goes on from the objects. Must not: send orders; the agent gets its order once the
//! claim, the finalizer and the binding are all observed.

use crate::cluster::api::{self, ApiError};
use crate::cluster::claims::{self, Outcome};
use crate::cluster::confirm;
use crate::cluster::events::Note;
use crate::cluster::world::{Found, NodeFacts, Reservation, Shortlist, VehicleRequest, World, mission, owner};
use crate::controllers::facts::{DroneSnapshot, Observer};
use crate::controllers::plans::Resting;
use crate::controllers::takeoff_slots::policy;
use crate::ground;
use crds::{Drone, labels};
use fleet::planning::binding::{Candidate, NoVehicle, Requirements, choose, suits};
use fleet::planning::drone::Claimed;
use fleet::planning::drone::on_mission::NEAR_RESERVE;
use fleet::planning::drone::status::Binding;
use kube::ResourceExt;
use kube::api::{Api, Patch};
use model::ids::NodeName;
use model::report::Report;
use model::units::{Percent, Wgs84};
use serde_json::json;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

const NODES_PER_RECONCILE: usize = 4;

/// A Drone without a vehicle is woken when one may be free; this is for a lost wake-up, as after a failed call gave up a reservation.
pub(super) const UNBOUND_RECHECK_INTERVAL: Duration = Duration::from_secs(60);

/// When all tries were lost to others.
const LOST_RACE_RETRY_DELAY: Duration = Duration::from_secs(1);

const OTHERS_WERE_FASTER: &str = "other Drones were faster; trying again";

/// Length of a shortlist, for all Drones that request the same.
const SHORTLIST_LENGTH: usize = 1024;

/// Nodes of a shortlist that one Drone checks within one reconcile.
const MAX_CHECKED_NODES: usize = 2 * SHORTLIST_LENGTH;

#[derive(Clone, Debug)]
pub struct Binder {
    pub observer: Observer,
    /// Whether a vehicle that is granted to no namespace is used by none.
    pub granted_only: bool,
}

/// The snapshot after a step, the binding, and when to reconcile again at the latest.
pub type Bound = (DroneSnapshot, Binding, Option<Duration>);

/// Ensures finalizer and claim of the Drone that has `node`.
pub async fn keep(observer: &Observer, snapshot: DroneSnapshot, node: NodeName) -> Result<Bound, ApiError> {
    let (snapshot, outcome) = hold(observer, snapshot, &node).await?;
    Ok((snapshot, binding(node, outcome), None))
}

fn binding(node: NodeName, outcome: Outcome) -> Binding {
    match outcome {
        Outcome::Ours => Binding::Bound(node),
        Outcome::Taken(by) => Binding::NodeTaken {
            node: node.to_string(),
            by: by.to_string(),
        },
    }
}

/// Ensures finalizer and claim of a bound Drone.
async fn hold(
    observer: &Observer,
    snapshot: DroneSnapshot,
    node: &NodeName,
) -> Result<(DroneSnapshot, Outcome), ApiError> {
    let snapshot = if snapshot.facts.guarded {
        snapshot
    } else {
        guard(observer, &snapshot, None).await?
    };
    if snapshot.facts.claim == Claimed::Ours {
        return Ok((snapshot, Outcome::Ours));
    }
    let outcome = claims::obtain(&observer.cluster, node, &snapshot.key, snapshot.uid()).await?;
    let snapshot = DroneSnapshot::of(observer, Arc::clone(&snapshot.drone));
    Ok((snapshot, outcome))
}

/// A user wrote `spec.nodeName`: that node and no other, if its vehicle is free.
pub async fn bind_to(binder: &Binder, snapshot: DroneSnapshot, node: &str) -> Result<Bound, ApiError> {
    // The claim decides whether it is taken: several Drones may name the same node.
    let required = Requirements {
        only: Some(node),
        ..required(binder, &snapshot)
    };
    let name = NodeName::parse(node).ok();
    let reservation = name
        .as_ref()
        .and_then(|node| reserve(binder, &snapshot, node, required, |_| false));
    let Some(reservation) = reservation else {
        let facts = name.as_ref().and_then(|node| binder.observer.world().node_facts(node));
        let none = check(binder, required, facts.iter().map(|facts| (facts, false)), 1);
        let claim = binder
            .observer
            .world()
            .claim(node)
            .filter(|claim| claim.uid != snapshot.uid());
        let holder = claim.filter(|c| {
            binder
                .observer
                .world()
                .get_drone(&c.holder)
                .is_some_and(|d| crate::cluster::world::uid(d.as_ref()) == c.uid)
        });
        let (binding, again) = match (holder, none) {
            (Some(claim), _) => {
                let by = claim.holder.to_string();
                (
                    Binding::NodeTaken {
                        node: node.to_owned(),
                        by,
                    },
                    UNBOUND_RECHECK_INTERVAL,
                )
            }
            (None, Err(none)) => (Binding::NoFreeVehicle(none.to_string()), UNBOUND_RECHECK_INTERVAL),
            (None, Ok(_)) => (
                Binding::NoFreeVehicle(OTHERS_WERE_FASTER.to_owned()),
                LOST_RACE_RETRY_DELAY,
            ),
        };
        return Ok((snapshot, binding, Some(again)));
    };
    let node = reservation.node.clone();
    let (snapshot, outcome) = hold(&binder.observer, snapshot, &node).await?;
    if outcome == Outcome::Ours {
        binder.observer.cluster.wakes.nodes.wake(node.clone());
        binder.observer.traces.bound(&snapshot.drone, &node);
        binder.observer.cluster.events.record(
            &snapshot.drone,
            Note::normal("Bound", format!("bound to the vehicle of node {node}")),
        );
    }
    Ok((snapshot, binding(node, outcome), None))
}

/// Chooses a node for a Drone that has none, claims it, and writes it into the Drone.
pub async fn bind(binder: &Binder, snapshot: DroneSnapshot) -> Result<Bound, ApiError> {
    let mut lost = HashSet::new();
    for _ in 0..NODES_PER_RECONCILE {
        let reservation = match find(binder, &snapshot, &lost) {
            Ok(reservation) => reservation,
            Err((why, again)) => return Ok((snapshot, Binding::NoFreeVehicle(why), Some(again))),
        };
        let node = &reservation.node;
        if !is_still_free(binder, &snapshot, node).await? {
            lost.insert(node.clone());
            continue;
        }
        match claims::obtain(&binder.observer.cluster, node, &snapshot.key, snapshot.uid()).await? {
            Outcome::Taken(by) => {
                tracing::debug!(to = %node, %by, "node is claimed by another Drone");
                lost.insert(node.clone());
            }
            Outcome::Ours => {
                let snapshot = guard(&binder.observer, &snapshot, Some(node)).await?;
                tracing::info!(to = %node, "bound");
                binder.observer.traces.bound(&snapshot.drone, node);
                binder.observer.cluster.events.record(
                    &snapshot.drone,
                    Note::normal("Bound", format!("bound to the vehicle of node {node}")),
                );
                return Ok((snapshot, Binding::Bound(node.clone()), None));
            }
        }
    }
    Ok((
        snapshot,
        Binding::NoFreeVehicle(OTHERS_WERE_FASTER.to_owned()),
        Some(LOST_RACE_RETRY_DELAY),
    ))
}

/// Asks the API server whether a chosen node still suits: a cordon may not have reached the cache.
async fn is_still_free(binder: &Binder, snapshot: &DroneSnapshot, node: &NodeName) -> Result<bool, ApiError> {
    if !confirm::node(&binder.observer.cluster, node).await? {
        return Ok(false);
    }
    let facts = binder.observer.world().node_facts(node);
    let report = binder.observer.sessions.current(node);
    let elsewhere = flies_elsewhere(&binder.observer, node, report.as_deref());
    Ok(facts.is_some_and(|facts| {
        suits(
            required(binder, snapshot),
            &candidate(&binder.observer, &facts, false, elsewhere, report.as_deref()),
        )
    }))
}

/// [`find_among`] the vehicles that have not refused a plan of the Drone's Mission; then among the others, each after a rest.
fn find(
    binder: &Binder,
    snapshot: &DroneSnapshot,
    lost: &HashSet<NodeName>,
) -> Result<Reservation, (String, Duration)> {
    let refused = binder.observer.missions.refused(&snapshot.drone);
    let has_refused = |node: &NodeName| refused.iter().any(|one| one.node == *node);
    let found = find_among(binder, snapshot, |node| lost.contains(node) || has_refused(node));
    let Err((_, again)) = &found else { return found };
    let (required, now) = (required(binder, snapshot), Instant::now());
    let rested = |one: &&Resting| one.until <= now && !lost.contains(&one.node);
    let mut rested = refused.iter().filter(rested);
    if let Some(last) = rested.find_map(|one| reserve(binder, snapshot, &one.node, required, |_| false)) {
        return Ok(last);
    }
    let Some(next) = refused.iter().filter(|one| one.until > now).min_by_key(|one| one.until) else {
        return found;
    };
    let why = format!(
        "no other vehicle is free than that of node {}, which has refused the plan of this Mission and is tried again after a rest: {}",
        next.node, next.words
    );
    Err((why, (next.until - now).min(LOST_RACE_RETRY_DELAY.max(*again))))
}

/// Reserves the best node but those `lost`; or why there is none, and when to try again. All nodes are gone through once for all Drones
/// that request the same, and the result is checked again for each Drone.
fn find_among(
    binder: &Binder,
    snapshot: &DroneSnapshot,
    is_lost: impl Fn(&NodeName) -> bool,
) -> Result<Reservation, (String, Duration)> {
    let required = required(binder, snapshot);
    let is_lost = &is_lost;
    // A claim from an earlier, unfinished try comes first, so that it does not keep its node from others.
    let claimed = binder.observer.world().claimed_by(snapshot.uid());
    let again = claimed.and_then(|node| reserve(binder, snapshot, &node, required, is_lost));
    if let Some(reservation) = again {
        return Ok(reservation);
    }
    let (request, mut made) = (VehicleRequest::of(&snapshot.drone), false);
    for _ in 0..MAX_CHECKED_NODES {
        match binder.observer.world().find(&request, Instant::now()) {
            Found::Try(node) => {
                if let Some(reservation) = reserve(binder, snapshot, &node, required, is_lost) {
                    return Ok(reservation);
                }
            }
            Found::Exhausted(again) => return Err((OTHERS_WERE_FASTER.to_owned(), again)),
            Found::None(why, again) => return Err((why.to_string(), again.unwrap_or(UNBOUND_RECHECK_INTERVAL))),
            // Others have emptied the list, or this Drone requests something else now.
            Found::NotSearched if made => break,
            Found::NotSearched => {
                made = true;
                let list = shortlist(binder, snapshot, required);
                let why = list.none.as_ref().map(ToString::to_string);
                binder.observer.world().keep(&request, list);
                if let Some(why) = why {
                    return Err((why, UNBOUND_RECHECK_INTERVAL));
                }
            }
        }
    }
    Err((OTHERS_WERE_FASTER.to_owned(), LOST_RACE_RETRY_DELAY))
}

fn shortlist(binder: &Binder, snapshot: &DroneSnapshot, required: Requirements<'_>) -> Shortlist {
    let at = Instant::now();
    let near = where_others_fly(&binder.observer, snapshot);
    let (nodes, changes) = binder.observer.world().candidates();
    let candidates = nodes.iter().map(|(facts, taken)| (facts, *taken));
    let found = check(binder, Requirements { near, ..required }, candidates, SHORTLIST_LENGTH);
    let (nodes, none) = match found {
        Ok(nodes) => (VecDeque::from(nodes), None),
        Err(none) => (VecDeque::new(), Some(none)),
    };
    Shortlist {
        cut: nodes.len() == SHORTLIST_LENGTH,
        nodes,
        none,
        at,
        changes,
    }
}

/// Requirements on a node, but for where the others fly.
fn required<'a>(binder: &Binder, snapshot: &'a DroneSnapshot) -> Requirements<'a> {
    Requirements {
        selector: &snapshot.drone.spec.node_selector,
        only: None,
        more_than: least_battery(binder.observer.world(), snapshot),
        near: None,
        namespace: &snapshot.key.namespace,
        granted_only: binder.granted_only,
    }
}

fn where_others_fly(observer: &Observer, snapshot: &DroneSnapshot) -> Option<Wgs84> {
    let (swarm, _) = owner(&snapshot.drone)?;
    let others = observer.world().drones_of_swarm(swarm);
    let nodes = others.iter().filter_map(|other| observer.sessions.node_of(other));
    let mut reports = nodes.filter_map(|node| observer.sessions.current(&node));
    reports.find_map(|report| {
        report
            .position
            .filter(|_| report.truth.flying() == Some(true))
            .map(|p| p.at)
    })
}

/// On the ground a vehicle is given up at the charge at which it would be relieved ([`fleet::planning::swarm::replacement`]). Choosing
/// needs this many percent more, so that a wavering reading does not have it chosen and given up again and again.
const MARGIN_ABOVE_RELIEF_PERCENT: u8 = 2;

/// A vehicle to be relieved once airborne is of no use to a Swarm or a Mission, and two such would replace each other for ever.
fn least_battery(world: &World, snapshot: &DroneSnapshot) -> Percent {
    let reserve = snapshot.facts.failsafe.reserve;
    let higher = |than: Percent, by: u8| {
        Percent::new(than.get().saturating_add(by).min(99)).map_or(than, |above| above.max(than))
    };
    let swarm = world.swarm_of(&snapshot.drone);
    let relief = match swarm {
        Some(swarm) => policy(&swarm).rotate_at.max(reserve),
        None if mission(&snapshot.drone).is_some() => higher(reserve, NEAR_RESERVE),
        None => return reserve,
    };
    higher(relief, MARGIN_ABOVE_RELIEF_PERCENT)
}

fn check<'a>(
    binder: &Binder,
    required: Requirements<'_>,
    nodes: impl Iterator<Item = (&'a Arc<NodeFacts>, bool)>,
    most: usize,
) -> Result<Vec<NodeName>, NoVehicle> {
    let nodes: Vec<_> = nodes
        .map(|(facts, taken)| {
            let report = binder.observer.sessions.current(&facts.name);
            let elsewhere = flies_elsewhere(&binder.observer, &facts.name, report.as_deref());
            (facts, taken, elsewhere, report)
        })
        .collect();
    let candidates = nodes.iter().map(|(facts, taken, elsewhere, report)| {
        candidate(&binder.observer, facts, *taken, *elsewhere, report.as_deref())
    });
    choose(required, candidates, most).map(|best| best.into_iter().cloned().collect())
}

/// Whether the airframe of `node` may be flying, by its hardware number, for a Drone of another node whose agent is away. Where both agents
/// are there, they are two airframes of one number, or one that is observed to fly.
pub fn flies_elsewhere(observer: &Observer, node: &NodeName, report: Option<&Report>) -> bool {
    let hardware = report.and_then(|report| report.identity.as_ref()?.hardware.as_ref());
    hardware.is_some_and(|hardware| {
        let others = observer.world().flying_elsewhere(hardware, node);
        others.iter().any(|other| observer.sessions.current(other).is_none())
    })
}

/// `elsewhere` is the result of [`flies_elsewhere`].
pub fn candidate<'a>(
    observer: &Observer,
    facts: &'a NodeFacts,
    taken: bool,
    elsewhere: bool,
    report: Option<&'a Report>,
) -> Candidate<'a> {
    Candidate {
        node: &facts.name,
        labels: &facts.labels,
        ready: facts.ready,
        cordoned: facts.cordoned,
        tainted: facts.tainted,
        taken,
        upgrading: observer.upgrades.holds(&facts.name),
        grounded: ground::keep_vehicle(&observer.ground, facts.name.as_str()),
        flies_elsewhere: elsewhere,
        report,
    }
}

/// Reserves `node` if it suits now, with the caches locked. For a node that a user named the claim decides whether it is taken.
fn reserve(
    binder: &Binder,
    snapshot: &DroneSnapshot,
    node: &NodeName,
    required: Requirements<'_>,
    lost: impl Fn(&NodeName) -> bool,
) -> Option<Reservation> {
    let report = binder.observer.sessions.current(node);
    let elsewhere = flies_elsewhere(&binder.observer, node, report.as_deref());
    binder.observer.world().reserve(snapshot.uid(), node, |facts, taken| {
        let taken = (taken && required.only.is_none()) || lost(node);
        let candidate = candidate(&binder.observer, facts, taken, elsewhere, report.as_deref());
        suits(required, &candidate)
    })
}

/// Writes finalizer and node in one write that fails if the object has changed since it was observed.
async fn guard(
    observer: &Observer,
    snapshot: &DroneSnapshot,
    node: Option<&NodeName>,
) -> Result<DroneSnapshot, ApiError> {
    let drones: Api<Drone> = Api::namespaced(observer.cluster.client(), &snapshot.key.namespace);
    let mut finalizers = snapshot.drone.finalizers().to_vec();
    if !snapshot.facts.guarded {
        finalizers.push(labels::LANDED_FINALIZER.to_owned());
    }
    let mut patch = json!({"metadata": {
        "uid": snapshot.uid(),
        "resourceVersion": snapshot.drone.metadata.resource_version,
        "finalizers": finalizers,
    }});
    if let Some(node) = node {
        patch["spec"] = json!({"nodeName": node.as_str()});
    }
    let bound = api::call(
        "bind a Drone",
        drones.patch(&snapshot.key.name, &api::merging(), &Patch::Merge(&patch)),
    )
    .await?;
    observer.world().learn_drone(bound.clone());
    Ok(DroneSnapshot::of(observer, Arc::new(bound)))
}

#[cfg(test)]
mod tests;
