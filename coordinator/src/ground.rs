//! Ground orders: agents are told at once, from memory; the objects are marked through the API, for as long as it takes.
//!
//! Owns: the latch (orders given and not yet seen in the cache), writing `spec.grounded`, trying again while the API
//! server is away (invariant 9). Must not: undo an order because it could not be written.

use crate::api::{self, ApiError};
use crate::context::Context;
use crate::key::Key;
use crate::world::{owner, uid};
use crds::{Drone, Swarm, labels};
use fleet::ids::NodeName;
use futures::{StreamExt, stream};
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// Ground orders that were given and are not in the caches yet, by the uid of the Swarm or Drone.
#[derive(Debug, Default)]
pub struct Latch {
    orders: Mutex<HashMap<String, Latched>>,
    writing: tokio::sync::Mutex<()>,
    calls: AtomicU64,
}

/// An order in the latch. Only calls that came later than it may take it out: a release that was under way when the order
/// was given does not undo it.
#[derive(Debug)]
struct Latched {
    call: u64,
    marked: Marked,
}

/// An object to be marked.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Marked {
    uid: String,
    key: Key,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Swarm,
    Drone,
}

impl Latch {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Latched>> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next_call(&self) -> u64 {
        self.calls.fetch_add(1, Ordering::SeqCst)
    }

    fn remove(&self, uid: &str, call: u64) {
        let mut orders = self.lock();
        if orders.get(uid).is_some_and(|latched| latched.call <= call) {
            orders.remove(uid);
        }
    }

    /// Whether an order was given to the Swarm or Drone with this uid and is not in the caches yet.
    #[must_use]
    pub fn covers(&self, uid: &str) -> bool {
        self.lock().contains_key(uid)
    }
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
            let call = context.latch.next_call();
            let open: Vec<Marked> = context
                .latch
                .lock()
                .values()
                .map(|latched| latched.marked.clone())
                .collect();
            if let Err(error) = write_all(&context, open, true, call).await {
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
    let call = context.latch.next_call();
    context.latch.lock().extend(marked.iter().map(|m| {
        (
            m.uid.clone(),
            Latched {
                call,
                marked: m.clone(),
            },
        )
    }));
    let reach = wake(context, &marked);
    tracing::warn!(?target, drones = reach.drones, agents = reach.agents, "ground order");
    let _one_at_a_time = context.latch.writing.lock().await;
    match write_all(context, marked, true, call).await {
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
    let call = context.latch.next_call();
    let _one_at_a_time = context.latch.writing.lock().await;
    let mut marked = objects(context, target)?;
    if *target == Target::All {
        // Drones of Swarms can have been grounded one by one.
        let single = context
            .world
            .all_drones(None)
            .into_iter()
            .filter(|d| owner(d).is_some() && d.spec.grounded);
        marked.extend(single.map(|drone| Marked::drone(&drone)));
    }
    write_all(context, marked.clone(), false, call)
        .await
        .map_err(GroundError::NotReleased)?;
    let reach = wake(context, &marked);
    tracing::warn!(
        ?target,
        drones = reach.drones,
        agents = reach.agents,
        "ground order released"
    );
    Ok(reach)
}

impl Marked {
    fn drone(drone: &Drone) -> Self {
        Self {
            uid: uid(drone).to_owned(),
            key: Key::of(drone),
            kind: Kind::Drone,
        }
    }

    fn swarm(swarm: &Swarm) -> Self {
        Self {
            uid: uid(swarm).to_owned(),
            key: Key::of(swarm),
            kind: Kind::Swarm,
        }
    }
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
    }
}

/// Has the agents of all Drones concerned told afresh, and counts them.
fn wake(context: &Context, marked: &[Marked]) -> Reach {
    let mut reach = Reach { drones: 0, agents: 0 };
    for object in marked {
        let drones = match object.kind {
            Kind::Swarm => context.world.drones_of_swarm(&object.uid),
            Kind::Drone => context.world.get_drone(&object.key).into_iter().collect(),
        };
        for drone in drones {
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

/// Marks objects; those that were written, or are gone, leave the latch. Tries all, returns the first failure.
async fn write_all(context: &Context, marked: Vec<Marked>, grounded: bool, call: u64) -> Result<(), ApiError> {
    let writes = marked.into_iter().map(|object| async move {
        let result = write(context, &object, grounded).await;
        if result.is_ok() {
            context.latch.remove(&object.uid, call);
        }
        result
    });
    let results: Vec<_> = stream::iter(writes).buffer_unordered(CONCURRENCY).collect().await;
    results.into_iter().collect()
}

async fn write(context: &Context, object: &Marked, grounded: bool) -> Result<(), ApiError> {
    let patch = Patch::Merge(json!({"metadata": {"uid": object.uid}, "spec": {"grounded": grounded}}));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_that_was_under_way_does_not_undo_an_order_given_meanwhile() {
        let latch = Latch::default();
        let release = latch.next_call();
        let order = latch.next_call();
        let marked = Marked {
            uid: "s".into(),
            key: Key::new("north", "alpha"),
            kind: Kind::Swarm,
        };
        latch.lock().insert("s".into(), Latched { call: order, marked });
        latch.remove("s", release);
        assert!(latch.covers("s"));
        latch.remove("s", latch.next_call());
        assert!(!latch.covers("s"));
    }
}
