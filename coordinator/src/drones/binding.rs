//! Giving a Drone its vehicle: choose a node, claim it, then write it into `spec.nodeName`, once.
//!
//! Owns: the order of these steps. Each can fail or be cut off after any of them; the next look goes on from what is there.
//! Must not: tell the agent; it is told once the claim, the finalizer and the binding are all seen.

use crate::api::{self, ApiError};
use crate::claims::{self, Outcome};
use crate::context::Context;
use crate::drones::facts::Seen;
use crate::events::Note;
use crate::turns::policy;
use crate::world::{NodeFacts, owner};
use crds::{Drone, labels};
use fleet::binding::{Candidate, NoVehicle, Wanted, choose};
use fleet::drone::Claimed;
use fleet::drone::status::Binding;
use fleet::ids::NodeName;
use fleet::units::{Percent, Wgs84};
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Nodes tried within one look before the Drone waits its turn again.
const TRIES: usize = 4;

/// A Drone without a vehicle is woken when one may be free; this is for the wake-up that was lost, as when a reservation
/// was given up after a call that failed.
const RELOOK: Duration = Duration::from_secs(60);

/// When all tries were lost to others.
const AFTER_LOSING: Duration = Duration::from_secs(1);

/// Binds the Drone if it is not bound, or makes sure of its claim if it is. Returns what is seen then, what the binding
/// has come to, and when to look again at the latest.
///
/// # Errors
/// [`ApiError`].
pub async fn reconcile(context: &Arc<Context>, seen: Seen) -> Result<(Seen, Binding, Option<Duration>), ApiError> {
    match (&seen.drone.spec.node_name, seen.node.clone()) {
        (None, _) => bind(context, seen).await,
        (Some(_), Some(node)) if seen.facts.claim == Claimed::Ours || seen.was_served() => {
            let (seen, outcome) = hold(context, seen, &node).await?;
            Ok((seen, binding(node, outcome), None))
        }
        (Some(wish), _) => {
            let wish = wish.clone();
            requested(context, seen, &wish).await
        }
    }
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

/// Makes sure of finalizer and claim of a Drone that is bound.
async fn hold(context: &Context, seen: Seen, node: &NodeName) -> Result<(Seen, Outcome), ApiError> {
    let seen = if seen.facts.guarded {
        seen
    } else {
        guard(context, &seen, None).await?
    };
    if seen.facts.claim == Claimed::Ours {
        return Ok((seen, Outcome::Ours));
    }
    let outcome = claims::obtain(context, node, &seen.key, seen.uid()).await?;
    let seen = Seen::of(context, Arc::clone(&seen.drone));
    Ok((seen, outcome))
}

/// A user wrote `spec.nodeName`: that node and no other, if its vehicle is free.
async fn requested(
    context: &Arc<Context>,
    seen: Seen,
    node: &str,
) -> Result<(Seen, Binding, Option<Duration>), ApiError> {
    let better = Better::of(context, &seen);
    let found = context.world.reserve(seen.uid(), |nodes, _| {
        // Whether it is taken is for the claim to say: several Drones may name the same node.
        pick(
            context,
            &seen,
            Some(node),
            better,
            nodes.iter().map(|(facts, _)| (facts, false)),
        )
    });
    let reservation = match found {
        Ok(reservation) => reservation,
        Err(none) => {
            let claim = context.world.claim(node).filter(|claim| claim.uid != seen.uid());
            let holder = claim.filter(|c| {
                context
                    .world
                    .get_drone(&c.holder)
                    .is_some_and(|d| crate::world::uid(d.as_ref()) == c.uid)
            });
            let binding = match holder {
                Some(claim) => Binding::NodeTaken {
                    node: node.to_owned(),
                    by: claim.holder.to_string(),
                },
                None => Binding::NoFreeVehicle(none.to_string()),
            };
            return Ok((seen, binding, Some(RELOOK)));
        }
    };
    let node = reservation.node.clone();
    let (seen, outcome) = hold(context, seen, &node).await?;
    if outcome == Outcome::Ours {
        context.wakes.nodes.wake(node.clone());
        context.events.tell(
            &seen.drone,
            Note::normal("Bound", format!("bound to the vehicle of node {node}")),
        );
    }
    Ok((seen, binding(node, outcome), None))
}

async fn bind(context: &Arc<Context>, seen: Seen) -> Result<(Seen, Binding, Option<Duration>), ApiError> {
    let mut lost = HashSet::new();
    // The caches are locked while a node is picked.
    let better = Better::of(context, &seen);
    for _ in 0..TRIES {
        let found = context.world.reserve(seen.uid(), |nodes, claimed| {
            let free = || {
                nodes
                    .iter()
                    .map(|(facts, taken)| (facts, *taken || lost.contains(&facts.name)))
            };
            // A claim from an earlier, unfinished try comes first, so that it does not keep its node from others.
            let again = claimed.and_then(|node| pick(context, &seen, Some(node), better, free()).ok());
            again.map_or_else(|| pick(context, &seen, None, better, free()), Ok)
        });
        let reservation = match found {
            Ok(reservation) => reservation,
            Err(none) => return Ok((seen, Binding::NoFreeVehicle(none.to_string()), Some(RELOOK))),
        };
        let node = &reservation.node;
        match claims::obtain(context, node, &seen.key, seen.uid()).await? {
            Outcome::Taken(by) => {
                tracing::debug!(to = %node, %by, "node is claimed by another Drone");
                lost.insert(node.clone());
            }
            Outcome::Ours => {
                let seen = guard(context, &seen, Some(node)).await?;
                tracing::info!(to = %node, "bound");
                context.events.tell(
                    &seen.drone,
                    Note::normal("Bound", format!("bound to the vehicle of node {node}")),
                );
                return Ok((seen, Binding::Bound(node.clone()), None));
            }
        }
    }
    let message = "other Drones were faster; looking again".to_owned();
    Ok((seen, Binding::NoFreeVehicle(message), Some(AFTER_LOSING)))
}

/// What makes one vehicle better than another for a Drone, from the caches; to be had before a node is picked.
#[derive(Clone, Copy, Debug)]
struct Better {
    near: Option<Wgs84>,
    more_than: Percent,
}

impl Better {
    fn of(context: &Context, seen: &Seen) -> Self {
        Self {
            near: where_others_fly(context, seen),
            more_than: least_battery(context, seen),
        }
    }
}

/// Where a Drone of the same Swarm flies, if one does.
fn where_others_fly(context: &Context, seen: &Seen) -> Option<Wgs84> {
    let (swarm, _) = owner(&seen.drone)?;
    let others = context.world.drones_of_swarm(swarm);
    let nodes = others
        .iter()
        .filter_map(|other| NodeName::parse(other.spec.node_name.as_deref()?).ok());
    let mut reports = nodes.filter_map(|node| context.sessions.current(&node));
    reports.find_map(|report| {
        report
            .position
            .filter(|_| report.truth.flying() == Some(true))
            .map(|p| p.at)
    })
}

/// A vehicle that would have to be relieved as soon as it is up is of no use to a Swarm, and two such would take turns for ever.
fn least_battery(context: &Context, seen: &Seen) -> Percent {
    let reserve = seen.facts.failsafe.reserve;
    let swarm = owner(&seen.drone).and_then(|(swarm, _)| context.world.swarm_of_uid(swarm));
    swarm.map_or(reserve, |swarm| policy(&swarm).rotate_at.max(reserve))
}

fn pick<'a>(
    context: &Context,
    seen: &Seen,
    only: Option<&str>,
    better: Better,
    nodes: impl Iterator<Item = (&'a Arc<NodeFacts>, bool)>,
) -> Result<NodeName, NoVehicle> {
    let nodes: Vec<_> = nodes
        .filter(|(facts, _)| only.is_none_or(|only| facts.name.as_str() == only))
        .map(|(facts, taken)| (facts, taken, context.sessions.current(&facts.name)))
        .collect();
    let candidates = nodes.iter().map(|(facts, taken, report)| Candidate {
        node: &facts.name,
        labels: &facts.labels,
        ready: facts.ready,
        cordoned: facts.cordoned,
        tainted: facts.tainted,
        taken: *taken,
        upgrading: context.upgrades.holds(&facts.name),
        report: report.as_deref(),
    });
    choose(
        Wanted {
            selector: &seen.drone.spec.node_selector,
            only,
            more_than: better.more_than,
            near: better.near,
        },
        candidates,
    )
    .cloned()
}

/// Puts the finalizer on, and the node in, in one write that fails if the object has changed since it was seen.
async fn guard(context: &Context, seen: &Seen, node: Option<&NodeName>) -> Result<Seen, ApiError> {
    let drones: Api<Drone> = Api::namespaced(context.client(), &seen.key.namespace);
    let mut finalizers = seen.drone.finalizers().to_vec();
    if !seen.facts.guarded {
        finalizers.push(labels::LANDED_FINALIZER.to_owned());
    }
    let mut patch = json!({"metadata": {
        "uid": seen.uid(),
        "resourceVersion": seen.drone.metadata.resource_version,
        "finalizers": finalizers,
    }});
    if let Some(node) = node {
        patch["spec"] = json!({"nodeName": node.as_str()});
    }
    let params = PatchParams {
        field_manager: Some(labels::COORDINATOR.into()),
        ..PatchParams::default()
    };
    let bound = api::call(
        "bind a Drone",
        drones.patch(&seen.key.name, &params, &Patch::Merge(&patch)),
    )
    .await?;
    context.world.learn_drone(bound.clone());
    Ok(Seen::of(context, Arc::new(bound)))
}
