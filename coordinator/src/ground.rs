//! Ground orders: agents are told at once, from memory; the objects are marked through the API, for as long as it takes.
//!
//! Owns: writing `spec.grounded`, trying again while the API server is away (invariant 9), and giving an order anew that
//! only agents remember, as after a restart of the coordinator while the API server was away.
//! Must not: undo an order because it could not be written.

mod latch;
mod object;

pub use latch::Latch;
pub use object::{Kind, Marked, Recorded};

use crate::api::{self, ApiError};
use crate::context::Context;
use crate::key::Key;
use crate::world::{owner, uid};
use crds::{Drone, Swarm, labels};
use fleet::ground::{GroundMark, GroundOrderId};
use fleet::ids::NodeName;
use fleet::report::Report;
use futures::{StreamExt, stream};
use kube::api::{Api, Patch, PatchParams};
use latch::{Call, new_id};
use object::patch;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Writes under way at a time.
const CONCURRENCY: usize = 16;

/// How often marks that could not be written are tried again.
const RETRY: Duration = Duration::from_secs(2);

/// What an order is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// One Swarm.
    Swarm(Key),
    /// Every Swarm and every Drone.
    All,
    /// These objects, which a selector selected when the order was given.
    Selected(Vec<Marked>),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Swarm(key) => write!(f, "Swarm {key}"),
            Self::All => f.write_str("all Swarms and Drones"),
            Self::Selected(marked) => {
                let names: Vec<String> = marked.iter().map(|object| object.key.to_string()).collect();
                f.write_str(&names.join(", "))
            }
        }
    }
}

/// How far an order reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Drones that it covers.
    pub drones: usize,
    /// Of these, how many had their agent connected.
    pub agents: usize,
}

/// Why an order was not carried out in full.
#[derive(Debug, thiserror::Error)]
pub enum GroundError {
    /// There is no such Swarm.
    #[error("there is no Swarm {0}; see `kubectl get swarms -A`")]
    NoSuchSwarm(Key),
    /// The objects could not be marked.
    #[error(
        "{reached} agents were told, but the order could not be written to Kubernetes and is being tried again: {source}"
    )]
    NotWritten {
        /// Agents told.
        reached: usize,
        /// Why not.
        source: ApiError,
    },
    /// The release could not be written.
    #[error("the release could not be written to Kubernetes, so it is not in force; try again: {0}")]
    NotReleased(ApiError),
}

/// Starts trying again what could not be written.
pub fn start(context: &Arc<Context>, tasks: &mut JoinSet<()>) {
    let context = Arc::clone(context);
    tasks.spawn(async move {
        loop {
            tokio::select! {
                () = context.ending.cancelled() => return,
                () = tokio::time::sleep(RETRY) => (),
            }
            let _one_at_a_time = context.latch.writing.lock().await;
            let call = context.latch.begin();
            let open = context.latch.all().into_iter();
            let open = open.map(|(object, id)| (object, Change::Ground(id))).collect();
            if let Err(error) = write_all(&context, open, call).await {
                tracing::warn!(%error, "ground order is in force but not written yet; trying again");
            }
        }
    });
}

/// Grounds `target`: tells agents at once, then marks the objects.
///
/// # Errors
/// [`GroundError`]; agents were told all the same, unless the Swarm does not exist.
pub async fn ground(context: &Context, target: &Target) -> Result<Reach, GroundError> {
    let marked = objects(context, target)?;
    context.metrics.person("ground");
    let call = context.latch.begin();
    // Each object has a number of its own: what agents remember of an order to some Drones of a Swarm is not taken for one to
    // the whole Swarm ([`remembered`]).
    let orders: Vec<(Marked, GroundOrderId)> = marked.iter().map(|object| (object.clone(), new_id())).collect();
    for (object, id) in &orders {
        context.latch.put(*id, call, std::slice::from_ref(object));
    }
    let reach = wake(context, &marked);
    tracing::warn!(%target, drones = reach.drones, agents = reach.agents, "ground order");
    let _one_at_a_time = context.latch.writing.lock().await;
    let changes = orders
        .into_iter()
        .map(|(object, id)| (object, Change::Ground(id)))
        .collect();
    match write_all(context, changes, call).await {
        Ok(()) => Ok(reach),
        Err(source) => Err(GroundError::NotWritten {
            reached: reach.agents,
            source,
        }),
    }
}

/// Ends the ground order of `target`.
///
/// # Errors
/// [`GroundError`]; what could not be written stays grounded.
pub async fn release(context: &Context, target: &Target) -> Result<Reach, GroundError> {
    let call = context.latch.begin();
    let _one_at_a_time = context.latch.writing.lock().await;
    let mut marked = objects(context, target)?;
    marked.extend(singly_grounded(context, &marked, target));
    let changes = marked.iter().map(|object| {
        let id = context.latch.before(&object.uid, call);
        (
            object.clone(),
            Change::Release(id.or_else(|| recorded(context, object))),
        )
    });
    write_all(context, changes.collect(), call)
        .await
        .map_err(GroundError::NotReleased)?;
    let reach = wake(context, &marked);
    context.metrics.person("release");
    tracing::warn!(
        %target,
        drones = reach.drones,
        agents = reach.agents,
        "ground order released"
    );
    Ok(reach)
}

fn objects(context: &Context, target: &Target) -> Result<Vec<Marked>, GroundError> {
    match target {
        Target::Swarm(key) => {
            let swarm = context
                .world
                .get_swarm(key)
                .ok_or_else(|| GroundError::NoSuchSwarm(key.clone()))?;
            Ok(vec![Marked::swarm(&swarm)])
        }
        Target::All => {
            let known =
                |drone: &Drone| owner(drone).is_some_and(|(swarm, _)| context.world.swarm_of_uid(swarm).is_some());
            let single = context.world.all_drones(None).into_iter().filter(|drone| !known(drone));
            let swarms = context.world.all_swarms();
            Ok(swarms
                .iter()
                .map(|s| Marked::swarm(s))
                .chain(single.map(|drone| Marked::drone(&drone)))
                .collect())
        }
        Target::Selected(objects) => Ok(objects.clone()),
    }
}

/// Has the agents of all Drones concerned told afresh, and counts them: one that is named itself and by its Swarm is one.
fn wake(context: &Context, marked: &[Marked]) -> Reach {
    let mut reach = Reach { drones: 0, agents: 0 };
    let mut counted = HashSet::new();
    for object in marked {
        let drones = match object.kind {
            Kind::Swarm => context.world.drones_of_swarm(&object.uid),
            Kind::Drone => context.world.get_drone(&object.key).into_iter().collect(),
        };
        for drone in drones {
            if !counted.insert(uid(drone.as_ref()).to_owned()) {
                continue;
            }
            reach.drones += 1;
            context.wakes.drones.wake(Key::of(drone.as_ref()));
            if let Some(node) = drone
                .spec
                .node_name
                .as_deref()
                .and_then(|node| NodeName::parse(node).ok())
            {
                reach.agents += usize::from(context.sessions.seen(&node).connected);
                context.wakes.nodes.wake(node);
            }
        }
    }
    reach
}

/// Drones of Swarms that were grounded one by one: for a release of all, by whomever; for that of a Swarm, by an order that a
/// selector gave to some of its Drones, or that was given anew for some of them ([`remembered`]).
fn singly_grounded(context: &Context, marked: &[Marked], target: &Target) -> Vec<Marked> {
    let drones = match target {
        Target::All => context.world.all_drones(None),
        Target::Swarm(_) | Target::Selected(_) => marked
            .iter()
            .flat_map(|swarm| context.world.drones_of_swarm(&swarm.uid))
            .collect(),
    };
    let by_order = |drone: &Drone| Recorded::on(drone).is_some_and(|order| !order.released);
    let singly = |drone: &Drone| drone.spec.grounded && (*target == Target::All || by_order(drone));
    drones
        .iter()
        .filter(|drone| owner(drone).is_some() && (singly(drone) || context.latch.given(uid(drone.as_ref())).is_some()))
        .map(|drone| Marked::drone(drone))
        .collect()
}

/// The Swarm whose ground order keeps a Drone down that was released itself.
#[must_use]
pub fn kept_down_by(context: &Context, object: &Marked) -> Option<Key> {
    let drone = context
        .world
        .get_drone(&object.key)
        .filter(|_| object.kind == Kind::Drone)?;
    let swarm = owner(&drone).and_then(|(swarm, _)| context.world.swarm_of_uid(swarm))?;
    let grounded = swarm.spec.grounded || context.latch.given(uid(swarm.as_ref())).is_some();
    grounded.then(|| Key::of(swarm.as_ref()))
}

/// The number of the last order that is recorded on an object.
fn recorded(context: &Context, object: &Marked) -> Option<GroundOrderId> {
    let order = match object.kind {
        Kind::Swarm => Recorded::on(context.world.get_swarm(&object.key)?.as_ref()),
        Kind::Drone => Recorded::on(context.world.get_drone(&object.key)?.as_ref()),
    };
    order.map(|order| order.id)
}

/// What the agent that serves `drone` is to be told of the ground order that covers it, or of the one that it keeps.
#[must_use]
pub fn mark(context: &Context, drone: &Drone, report: Option<&Report>) -> Option<GroundMark> {
    let swarm = owner(drone).map(|(swarm, _)| swarm);
    let given = context.latch.given(uid(drone));
    if let Some(id) = given.or_else(|| swarm.and_then(|swarm| context.latch.given(swarm))) {
        return Some(GroundMark::Given(id));
    }
    let kept = kept_by(report, drone)?;
    let of_swarm = || Recorded::on(context.world.swarm_of_uid(swarm?)?.as_ref());
    let done = |order: Recorded| order.id == kept;
    (Recorded::on(drone).is_some_and(done) || of_swarm().is_some_and(done)).then_some(GroundMark::Done(kept))
}

/// The ground order that the agent of `report` keeps for `drone`.
fn kept_by(report: Option<&Report>, drone: &Drone) -> Option<GroundOrderId> {
    let report = report?;
    let serves = report.held.as_ref().is_some_and(|held| held.uid.0 == uid(drone));
    report.ground_latch.filter(|_| serves)
}

/// The agent that serves `drone` keeps a ground order that nobody here knows of: a coordinator gave it, and was gone before
/// it could be written. It is in force again, at once and for its Drone. It is the whole Swarm's when two agents tell the
/// same, or when its only Drone's does: one agent alone grounds nobody else.
pub fn remembered(context: &Context, drone: &Drone, id: GroundOrderId) {
    let swarm = owner(drone).and_then(|(swarm, _)| context.world.swarm_of_uid(swarm));
    let whole = swarm.filter(|swarm| {
        let drones = context.world.drones_of_swarm(uid(swarm.as_ref()));
        let tells = |drone: &&Arc<Drone>| {
            let node = drone
                .spec
                .node_name
                .as_deref()
                .and_then(|node| NodeName::parse(node).ok());
            let report = node.and_then(|node| context.sessions.current(&node));
            kept_by(report.as_deref(), drone) == Some(id)
        };
        drones.len() == 1 || drones.iter().filter(tells).count() > 1
    });
    let marked = [whole.map_or_else(|| Marked::drone(drone), |swarm| Marked::swarm(&swarm))];
    tracing::warn!(whole = %marked[0].key, "an agent keeps a ground order that is not recorded; it is given anew");
    context.latch.put(id, context.latch.begin(), &marked);
    wake(context, &marked);
}

/// What is to become of an object.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// Grounded, by this order.
    Ground(GroundOrderId),
    /// Released, and with it this order, if one is known.
    Release(Option<GroundOrderId>),
}

/// Marks objects; those that were written, or are gone, leave the latch, and their agents hear of it. Tries all, returns the
/// first failure.
async fn write_all(context: &Context, changes: Vec<(Marked, Change)>, call: Call) -> Result<(), ApiError> {
    let writes = changes.into_iter().map(|(object, change)| async move {
        let result = write(context, &object, change).await;
        if result.is_ok() {
            context.latch.remove(&object.uid, call);
            wake(context, &[object]);
        }
        result
    });
    let results: Vec<_> = stream::iter(writes).buffer_unordered(CONCURRENCY).collect().await;
    results.into_iter().collect()
}

async fn write(context: &Context, object: &Marked, change: Change) -> Result<(), ApiError> {
    let (grounded, order) = match change {
        Change::Ground(id) => (true, Some(Recorded { id, released: false })),
        Change::Release(id) => (false, id.map(|id| Recorded { id, released: true })),
    };
    let patch = Patch::Merge(patch(&object.uid, grounded, order));
    let params = PatchParams {
        field_manager: Some(labels::COORDINATOR.into()),
        ..PatchParams::default()
    };
    let (namespace, name) = (&object.key.namespace, &object.key.name);
    let result = match object.kind {
        Kind::Swarm => {
            let api: Api<Swarm> = Api::namespaced(context.client(), namespace);
            let written = api::call("mark a Swarm", api.patch(name, &params, &patch)).await;
            written.map(|swarm| context.world.learn_swarm(swarm))
        }
        Kind::Drone => {
            let api: Api<Drone> = Api::namespaced(context.client(), namespace);
            let written = api::call("mark a Drone", api.patch(name, &params, &patch)).await;
            written.map(|drone| context.world.learn_drone(drone))
        }
    };
    match result {
        // It is gone, or another object has its name now; there is nothing left to mark.
        Err(error) if error.is_not_found() || error.is_conflict() => Ok(()),
        result => result,
    }
}
