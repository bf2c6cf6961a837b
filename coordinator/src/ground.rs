//! Ground orders: agents are notified at once, from memory; then the order is recorded as an object of its own, and its objects are marked
//! through the API, however long that takes.
//!
//! Owns: which orders are in force ([`orders`]); writing them and `spec.grounded`, with retries while the API server is away (invariant 9);
//! the effect of a release; giving an order again that only agents remember, as after a restart of the coordinator while the API server was
//! away. Must not: undo an order because it could not be written, or because an object was edited.

mod in_force;
mod latch;
mod notes;
mod object;
mod selected;

pub use object::{Kind, Marked, Recorded};
pub use selected::objects as selected;

use crate::cluster::Cluster;
use crate::cluster::api::{self, ApiError};
use crate::cluster::key::Key;
use crate::cluster::selection::Selection;
use crate::cluster::world::ground_order::InForce;
use crate::cluster::world::{owner, uid};
use crate::leadership::periodic::{Loops, Periodic};
use crate::metrics::Metrics;
use crate::sessions::Sessions;
use crds::ground_order::Scope as OfKind;
use crds::{Drone, Swarm};
use fleet::planning::ground_order::{Becomes, Name, Released, Scope};
use futures::{StreamExt, stream};
use in_force::About;
use kube::api::{Api, Patch};
use latch::{Call, Latch, new_id};
use model::ground::{GroundMark, GroundOrderId};
use model::ids::NodeName;
use model::report::Report;
use object::patch;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

const CONCURRENCY: usize = 16;

/// Cheap to clone; clones share state.
#[derive(Clone, Debug)]
pub struct Ground {
    cluster: Cluster,
    sessions: Arc<Sessions>,
    metrics: Metrics,
    /// Ground orders that are not written yet.
    latch: Arc<Latch>,
}

impl Ground {
    pub fn new(cluster: Cluster, sessions: Arc<Sessions>, metrics: Metrics) -> Self {
        Self {
            cluster,
            sessions,
            metrics,
            latch: Arc::default(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Swarm(Key),
    All,
    Drone(Key),
    Node(NodeName),
    /// All that a selector selects, now and later; with the present objects.
    Selector(Selection, Vec<Marked>),
    /// The selected objects that the caller may order.
    Selected(Vec<Marked>),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Swarm(key) => write!(f, "Swarm {key}"),
            Self::All => f.write_str("all Swarms and Drones"),
            Self::Drone(key) => write!(f, "Drone {key}"),
            Self::Node(node) => write!(f, "the vehicle of node {node}"),
            Self::Selector(selection, _) => {
                let (namespace, text) = selection.texts();
                match namespace.as_str() {
                    "" => write!(f, "-l '{text}'"),
                    namespace => write!(f, "-l '{text}' -n {namespace}"),
                }
            }
            Self::Selected(marked) => {
                let names: Vec<String> = marked.iter().map(|object| object.key.to_string()).collect();
                f.write_str(&names.join(", "))
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    pub drones: usize,
    /// Of these, how many had their agent connected.
    pub agents: usize,
}

/// Why an order was not carried out in full.
#[derive(Debug, thiserror::Error)]
pub enum GroundError {
    #[error("there is no Swarm {0}; see `kubectl get swarms -A`")]
    NoSuchSwarm(Key),
    #[error("there is no Drone {0}; see `kubectl get drones -A`")]
    NoSuchDrone(Key),
    #[error("there is no drone node {0}; see `kubectl get nodes -l node-role.kubernetes.io/drone`")]
    NoSuchNode(NodeName),
    #[error(
        "{reached} agents were notified, but the order could not be written to Kubernetes and is being tried again: {source}"
    )]
    NotWritten { reached: usize, source: ApiError },
    #[error("the release could not be written to Kubernetes, so it is not in force; try again: {0}")]
    NotReleased(ApiError),
}

/// Retries failed writes.
pub fn start(ground: &Ground, loops: &Loops, tasks: &mut JoinSet<()>) {
    tasks.spawn(loops.clone().run(ground.clone()));
}

impl Periodic for Ground {
    const NAME: &'static str = "ground_orders";
    const INTERVAL: Duration = Duration::from_secs(2);
    const EVEN_IN_DOUBT: bool = true;
    const FAILURE: &'static str = "ground order is in force but not written yet; trying again";

    async fn run(&mut self) -> Result<(), ApiError> {
        let ground = &*self;
        let _one_at_a_time = ground.latch.writing.lock().await;
        let call = ground.latch.begin();
        let open = ground.latch.all().into_iter();
        let open = open.map(|(object, id)| (object, Change::Ground(id))).collect();
        let (recorded, marked) = futures::join!(record_all(ground, call), write_all(ground, open, call));
        recorded.and(marked)
    }
}

/// The orders in force, recorded or still to be.
pub fn orders(ground: &Ground) -> impl Iterator<Item = Arc<InForce>> {
    let recorded = ground.cluster.world.ground_orders();
    let open = ground.latch.unrecorded();
    let open: Vec<_> = open.iter().map(|(_, order)| Arc::clone(order)).collect();
    let recorded: Vec<_> = recorded.iter().cloned().collect();
    recorded.into_iter().chain(open)
}

/// Whether a ground order keeps the vehicle of `node` from other Drones.
pub fn keep_vehicle(ground: &Ground, node: &str) -> bool {
    orders(ground).any(|order| order.order.keeps(node))
}

/// The order that keeps `drone` on the ground.
pub fn covering(ground: &Ground, drone: &Drone) -> Option<Arc<InForce>> {
    orders(ground).find(|order| order.covers(&ground.cluster.world, drone))
}

/// Whether an order that was given to this leader keeps `drone` on the ground.
pub fn ordered_here(ground: &Ground, drone: &Drone) -> bool {
    orders(ground).any(|order| ground.latch.was_given_here(order.name()) && order.covers(&ground.cluster.world, drone))
}

/// Notifies agents at once, then records the order and marks objects. On an error agents were notified too, unless there is no `target`.
pub async fn ground(ground: &Ground, target: &Target, by: &str) -> Result<Reach, GroundError> {
    let marked = objects(ground, target)?;
    ground.metrics.person("ground");
    let call = ground.latch.begin();
    // A number per object: an agent's order to some Drones of a Swarm is not taken for one to the whole Swarm ([`remembered`]).
    let numbered: Vec<(Marked, GroundOrderId)> = marked.iter().map(|object| (object.clone(), new_id())).collect();
    for order in to_record(ground, target, &numbered, by) {
        ground.latch.put_order(call, order);
    }
    for (object, id) in &numbered {
        ground.latch.put(*id, call, std::slice::from_ref(object));
    }
    let reach = reach(ground, target, &marked);
    tracing::warn!(
        %target,
        by,
        drones = reach.drones,
        agents = reach.agents,
        "ground order"
    );
    let _one_at_a_time = ground.latch.writing.lock().await;
    let changes = numbered
        .into_iter()
        .map(|(object, id)| (object, Change::Ground(id)))
        .collect();
    let (recorded, marked) = futures::join!(record_all(ground, call), write_all(ground, changes, call));
    match recorded.and(marked) {
        Ok(()) => Ok(reach),
        Err(source) => Err(GroundError::NotWritten {
            reached: reach.agents,
            source,
        }),
    }
}

fn to_record(ground: &Ground, target: &Target, numbered: &[(Marked, GroundOrderId)], by: &str) -> Vec<InForce> {
    let one = |about: About| {
        let id = match numbered {
            [(_, id)] => *id,
            _ => new_id(),
        };
        vec![in_force::order(id, None, about, by)]
    };
    let about = |scope: OfKind, namespace: &str, target: &str| About {
        scope,
        namespace: namespace.to_owned(),
        target: target.to_owned(),
        objects: vec![],
        nodes: BTreeSet::new(),
    };
    match target {
        Target::All => one(about(OfKind::All, "", "")),
        Target::Node(node) => one(about(OfKind::Node, "", node.as_str())),
        Target::Selector(selection, objects) => {
            let (namespace, text) = selection.texts();
            one(About {
                objects: objects.iter().map(Marked::path).collect(),
                nodes: objects.iter().flat_map(|object| nodes_of(ground, object)).collect(),
                ..about(OfKind::Selector, &namespace, &text)
            })
        }
        Target::Swarm(_) | Target::Drone(_) | Target::Selected(_) => {
            let orders = numbered.iter().map(|(object, id)| {
                let scope = match object.kind {
                    Kind::Swarm => OfKind::Swarm,
                    Kind::Drone => OfKind::Drone,
                };
                let about = About {
                    nodes: nodes_of(ground, object),
                    ..about(scope, &object.key.namespace, &object.key.name)
                };
                in_force::order(*id, None, about, by)
            });
            orders.collect()
        }
    }
}

/// The nodes whose vehicles serve an object.
fn nodes_of(ground: &Ground, object: &Marked) -> BTreeSet<String> {
    let drones = match object.kind {
        Kind::Swarm => ground.cluster.world.drones_of_swarm(&object.uid),
        Kind::Drone => ground.cluster.world.get_drone(&object.key).into_iter().collect(),
    };
    let nodes = drones.iter().filter_map(|drone| ground.sessions.node_of(drone));
    nodes.map(|node| node.to_string()).collect()
}

/// Tries all, returns the first failure.
async fn record_all(ground: &Ground, call: Call) -> Result<(), ApiError> {
    let mut result = Ok(());
    for (given, order) in ground.latch.unrecorded().iter() {
        match in_force::record(&ground.cluster, order).await {
            Ok(_) => {
                ground.latch.remove_order(call.max(*given), order.name());
                wake_covered(ground, order);
            }
            Err(error) => result = result.and(Err(error)),
        }
    }
    result
}

/// Ends the ground order of `target`, or takes it out of the orders that cover more; out of those for all namespaces only where the caller
/// `may_all`, which is to release the whole fleet. After an error, objects that could not be written stay grounded.
pub async fn release(ground: &Ground, target: &Target, by: &str, may_all: bool) -> Result<Reach, GroundError> {
    let call = ground.latch.begin();
    let _one_at_a_time = ground.latch.writing.lock().await;
    let mut marked = match objects(ground, target) {
        // A deleted object that may come again is released by its name.
        Err(GroundError::NoSuchSwarm(_) | GroundError::NoSuchDrone(_) | GroundError::NoSuchNode(_))
            if names_an_order(ground, target) =>
        {
            vec![]
        }
        marked => marked?,
    };
    marked.extend(singly_grounded(ground, &marked, target));
    let changes = marked.iter().map(|object| {
        let id = ground.latch.before(&object.uid, call);
        (object.clone(), Change::Release(id.or_else(|| recorded(ground, object))))
    });
    let changes: Vec<_> = changes.collect();
    end_orders(ground, target, (&marked, &changes), (call, may_all))
        .await
        .map_err(GroundError::NotReleased)?;
    write_all(ground, changes, call)
        .await
        .map_err(GroundError::NotReleased)?;
    let reach = reach(ground, target, &marked);
    ground.metrics.person("release");
    tracing::warn!(
        %target,
        by,
        drones = reach.drones,
        agents = reach.agents,
        "ground order released"
    );
    Ok(reach)
}

/// Whether an order is about exactly what `target` names.
fn names_an_order(ground: &Ground, target: &Target) -> bool {
    orders(ground).any(|order| {
        released(ground, target, &[])
            .iter()
            .any(|it| order.order.released_for(it, false, true) == Becomes::Ends)
    })
}

fn released<'a>(ground: &Ground, target: &'a Target, marked: &'a [Marked]) -> Vec<Released<'a>> {
    let name = |key: &Key| Name::new(&key.namespace, &key.name);
    let one = |object: &'a Marked| {
        let nodes: Vec<String> = nodes_of(ground, object).into_iter().collect();
        match object.kind {
            Kind::Swarm => Released::Swarm(Some(&object.uid), name(&object.key), nodes),
            Kind::Drone => {
                let drone = ground.cluster.world.get_drone(&object.key);
                let swarm = drone.as_deref().and_then(owner);
                let swarm = swarm.map(|(_, swarm)| Name::new(&object.key.namespace, swarm));
                Released::Drone(Some(&object.uid), name(&object.key), swarm, nodes)
            }
        }
    };
    match target {
        Target::All => vec![Released::All],
        Target::Node(node) => vec![Released::Node(node.as_str())],
        Target::Swarm(key) if marked.is_empty() => vec![Released::Swarm(None, name(key), vec![])],
        Target::Drone(key) if marked.is_empty() => vec![Released::Drone(None, name(key), None, vec![])],
        Target::Swarm(_) | Target::Drone(_) | Target::Selector(..) | Target::Selected(_) => {
            marked.iter().map(one).collect()
        }
    }
}

/// Ends the orders that `target` is about, and takes it out of the others.
async fn end_orders(
    ground: &Ground,
    target: &Target,
    (marked, changes): (&[Marked], &[(Marked, Change)]),
    (call, may_all): (Call, bool),
) -> Result<(), ApiError> {
    let released = released(ground, target, marked);
    let recorded = ground.cluster.world.ground_orders();
    let open = ground.latch.unrecorded();
    let open = open
        .iter()
        .filter(|(given, _)| *given <= call)
        .map(|(_, order)| Arc::clone(order));
    for order in recorded.iter().cloned().chain(open) {
        let same = matches!(target, Target::Selector(selection, _) if order.is_by(selection));
        let becomes = released
            .iter()
            .map(|it| order.order.released_for(it, covers_it(ground, &order, it), may_all));
        let becomes: Vec<Becomes> = becomes.collect();
        if same || becomes.contains(&Becomes::Ends) {
            let order = note_end(ground, order, changes).await?;
            // Before its object is deleted: an agent that reports its number meanwhile must not have it given again.
            ground.latch.end(&order);
            in_force::end(&ground.cluster, &order).await?;
            ground.latch.remove_order(call, order.name());
            continue;
        }
        let more = becomes.into_iter().filter_map(|becomes| match becomes {
            Becomes::Excepts(more) => Some(more),
            Becomes::Ends | Becomes::Stays => None,
        });
        let more: BTreeSet<String> = more.flatten().collect();
        if !more.is_empty() {
            // An order is recorded before a part of it is released.
            if order.is_recorded() {
                in_force::except(&ground.cluster, &order, &more).await?;
            } else {
                let recorded = in_force::record(&ground.cluster, &order).await?;
                ground.latch.remove_order(call, order.name());
                in_force::except(&ground.cluster, &recorded, &more).await?;
            }
        }
    }
    Ok(())
}

/// Notes the end of `order` for later leaders where the marks in `changes` do not record it; the order then, which is still in force.
async fn note_end(
    ground: &Ground,
    order: Arc<InForce>,
    changes: &[(Marked, Change)],
) -> Result<Arc<InForce>, ApiError> {
    let marks = |id: GroundOrderId| {
        let mut changes = changes.iter();
        changes.any(|(_, change)| matches!(change, Change::Release(Some(marked)) if *marked == id))
    };
    let Some(id) = order.id.filter(|id| !marks(*id)) else {
        return Ok(order);
    };
    let drones = notes::drones(ground, &order, id);
    if drones.is_empty() {
        return Ok(order);
    }
    // Once that is noted, no agent gives the order again: should the rest of the release fail, it is in force by its object.
    let order = if order.is_recorded() {
        order
    } else {
        Arc::new(in_force::record(&ground.cluster, &order).await?)
    };
    notes::note(ground, drones, id).await?;
    Ok(order)
}

fn covers_it(ground: &Ground, order: &InForce, released: &Released<'_>) -> bool {
    let covers = |drone: &Drone| order.covers(&ground.cluster.world, drone);
    match released {
        Released::All | Released::Node(_) => true,
        Released::Swarm(uid, name, _) => {
            let drones = uid
                .map(|uid| ground.cluster.world.drones_of_swarm(uid))
                .unwrap_or_default();
            // A Swarm without Drones may get some.
            drones.is_empty() || order.order.swarms.contains(name) || drones.iter().any(|drone| covers(drone))
        }
        Released::Drone(_, name, ..) => {
            let drone = ground.cluster.world.get_drone(&Key::new(&name.namespace, &name.name));
            drone.is_some_and(|drone| covers(&drone))
        }
    }
}

fn objects(ground: &Ground, target: &Target) -> Result<Vec<Marked>, GroundError> {
    match target {
        Target::Swarm(key) => {
            let swarm = ground
                .cluster
                .world
                .get_swarm(key)
                .ok_or_else(|| GroundError::NoSuchSwarm(key.clone()))?;
            Ok(vec![Marked::swarm(&swarm)])
        }
        Target::Drone(key) => {
            let drone = ground.cluster.world.get_drone(key);
            let drone = drone.ok_or_else(|| GroundError::NoSuchDrone(key.clone()))?;
            Ok(vec![Marked::drone(&drone)])
        }
        Target::Node(node) if ground.cluster.world.knows_node(node) || ground.sessions.snapshot(node).connected => {
            Ok(vec![])
        }
        Target::Node(node) => Err(GroundError::NoSuchNode(node.clone())),
        Target::All => {
            let known = |drone: &Drone| ground.cluster.world.swarm_of(drone).is_some();
            let single = ground
                .cluster
                .world
                .all_drones(None)
                .into_iter()
                .filter(|drone| !known(drone));
            let swarms = ground.cluster.world.all_swarms();
            Ok(swarms
                .iter()
                .map(|s| Marked::swarm(s))
                .chain(single.map(|drone| Marked::drone(&drone)))
                .collect())
        }
        Target::Selector(_, objects) | Target::Selected(objects) => Ok(objects.clone()),
    }
}

/// Wakes all that an order concerns, and returns how far it reaches.
fn reach(ground: &Ground, target: &Target, marked: &[Marked]) -> Reach {
    let Target::Node(node) = target else {
        return wake(ground, marked);
    };
    let drones = ground.cluster.world.drones_on(node);
    for drone in &drones {
        ground.cluster.wakes.drones.wake(Key::of(drone.as_ref()));
    }
    ground.cluster.wakes.nodes.wake(node.clone());
    let connected = !drones.is_empty() && ground.sessions.snapshot(node).connected;
    Reach {
        drones: drones.len(),
        agents: usize::from(connected),
    }
}

/// Wakes the agents of all Drones that `order` covers: they may forget its number.
fn wake_covered(ground: &Ground, order: &InForce) {
    let drones = ground.cluster.world.all_drones(None);
    for drone in drones.iter().filter(|drone| order.covers(&ground.cluster.world, drone)) {
        let node = drone.spec.node_name.as_deref();
        if let Some(node) = node.and_then(|node| NodeName::parse(node).ok()) {
            ground.cluster.wakes.nodes.wake(node);
        }
    }
}

/// Wakes and counts the agents of all Drones concerned; a Drone that is named itself and by its Swarm is one.
fn wake(ground: &Ground, marked: &[Marked]) -> Reach {
    let mut reach = Reach { drones: 0, agents: 0 };
    let mut counted = HashSet::new();
    for object in marked {
        let drones = match object.kind {
            Kind::Swarm => ground.cluster.world.drones_of_swarm(&object.uid),
            Kind::Drone => ground.cluster.world.get_drone(&object.key).into_iter().collect(),
        };
        for drone in drones {
            if !counted.insert(uid(drone.as_ref()).to_owned()) {
                continue;
            }
            reach.drones += 1;
            ground.cluster.wakes.drones.wake(Key::of(drone.as_ref()));
            // The agent of a node that it merely names serves another, and is not reached for this one.
            let node = ground.sessions.node_of(&drone);
            reach.agents += usize::from(node.is_some_and(|node| ground.sessions.snapshot(&node).connected));
            let named = drone.spec.node_name.as_deref();
            if let Some(node) = named.and_then(|node| NodeName::parse(node).ok()) {
                ground.cluster.wakes.nodes.wake(node);
            }
        }
    }
    reach
}

/// Drones of Swarms that were grounded one by one: for a release of all, by any person; for that of a Swarm, by an order that a selector
/// gave to some of its Drones, or that was given again for some of them ([`remembered`]).
fn singly_grounded(ground: &Ground, marked: &[Marked], target: &Target) -> Vec<Marked> {
    let drones = match target {
        Target::All => ground.cluster.world.all_drones(None),
        Target::Node(_) | Target::Drone(_) => vec![],
        Target::Swarm(_) | Target::Selector(..) | Target::Selected(_) => marked
            .iter()
            .flat_map(|swarm| ground.cluster.world.drones_of_swarm(&swarm.uid))
            .collect(),
    };
    let by_order = |drone: &Drone| Recorded::on(drone).is_some_and(|order| !order.released);
    let singly = |drone: &Drone| drone.spec.grounded && (*target == Target::All || by_order(drone));
    drones
        .iter()
        .filter(|drone| ground.cluster.world.swarm_of(drone).is_some())
        .filter(|drone| singly(drone) || ground.latch.given(uid(drone.as_ref())).is_some())
        .map(|drone| Marked::drone(drone))
        .collect()
}

/// The order that still grounds a released object, with what to do.
pub fn grounded_by(ground: &Ground, object: &Marked) -> Option<String> {
    let drone = ground
        .cluster
        .world
        .get_drone(&object.key)
        .filter(|_| object.kind == Kind::Drone);
    let swarm = drone.as_deref().and_then(|drone| ground.cluster.world.swarm_of(drone));
    let whole = |swarm: &Swarm| swarm.spec.grounded || ground.latch.given(uid(swarm)).is_some();
    if let Some(swarm) = swarm.filter(|swarm| whole(swarm)) {
        let swarm = Key::of(swarm.as_ref());
        return Some(format!("its Swarm {swarm} is grounded as a whole; release that"));
    }
    let drones = match object.kind {
        Kind::Swarm => ground.cluster.world.drones_of_swarm(&object.uid),
        Kind::Drone => drone.into_iter().collect(),
    };
    let order = drones.iter().find_map(|drone| covering(ground, drone))?;
    Some(format!("the ground order {order} still covers it; release that"))
}

/// The number of the last order that is recorded on an object.
fn recorded(ground: &Ground, object: &Marked) -> Option<GroundOrderId> {
    let order = match object.kind {
        Kind::Swarm => Recorded::on(ground.cluster.world.get_swarm(&object.key)?.as_ref()),
        Kind::Drone => Recorded::on(ground.cluster.world.get_drone(&object.key)?.as_ref()),
    };
    order.map(|order| order.id)
}

/// The mark for the agent that serves `drone`: the ground order that covers the Drone, or the one that the agent keeps.
pub fn mark(ground: &Ground, drone: &Drone, report: Option<&Report>) -> Option<GroundMark> {
    let swarm = owner(drone).map(|(swarm, _)| swarm);
    let given = ground.latch.given(uid(drone));
    if let Some(id) = given.or_else(|| swarm.and_then(|swarm| ground.latch.given(swarm))) {
        return Some(GroundMark::Given(id));
    }
    let open = ground.latch.unrecorded();
    let open = open
        .iter()
        .rev()
        .find(|(_, order)| order.covers(&ground.cluster.world, drone));
    if let Some(id) = open.and_then(|(_, order)| order.id) {
        return Some(GroundMark::Given(id));
    }
    let kept = latched_by(report, drone)?;
    // Whether it covers the Drone, or was released, is known here; the agent need not remember it.
    if is_known_for(ground, drone, kept) {
        return Some(GroundMark::Done(kept));
    }
    let of_swarm = || Recorded::on(ground.cluster.world.swarm_of(drone)?.as_ref());
    let done = |order: Recorded| order.id == kept;
    let is_known =
        Recorded::on(drone).is_some_and(done) || of_swarm().is_some_and(done) || notes::is_noted(drone, kept);
    (is_known || repeats_another(ground, drone, kept)).then_some(GroundMark::Done(kept))
}

/// Whether the order `id` is recorded, or was released recently, as a whole or as the part that was given again for `drone` or its Swarm. A
/// part that was given again for another object says nothing of this one: its agent may be all that remembers.
fn is_known_for(ground: &Ground, drone: &Drone, id: GroundOrderId) -> bool {
    let swarm = owner(drone).map(|(swarm, _)| swarm);
    let parts = [None, Some(uid(drone)), swarm];
    let names: BTreeSet<String> = parts.into_iter().map(|part| in_force::name(id, part)).collect();
    let recorded = ground.cluster.world.ground_orders();
    let is_it = |order: &Arc<InForce>| {
        order.id == Some(id) && (names.contains(order.name()) || order.covers(&ground.cluster.world, drone))
    };
    names.iter().any(|name| ground.latch.has_ended(name)) || recorded.iter().any(is_it)
}

/// Whether the order `id`, given again, would only repeat one in force. So an agent that reports ever other numbers has one recorded.
fn repeats_another(ground: &Ground, drone: &Drone, id: GroundOrderId) -> bool {
    let object = kept_for(ground, drone, id);
    let name = Name::new(&object.key.namespace, &object.key.name);
    let scope = match object.kind {
        Kind::Swarm => Scope::Swarm(name),
        Kind::Drone => Scope::Drone(name),
    };
    let world = &ground.cluster.world;
    let node = drone.spec.node_name.as_deref();
    let says_it = |order: &Arc<InForce>| {
        let keeps_vehicle = node.is_none_or(|node| order.order.keeps(node));
        order.order.scope == scope && keeps_vehicle && order.covers(world, drone)
    };
    world.ground_orders().iter().any(says_it)
}

/// The ground order that the agent of `report` keeps for `drone`.
fn latched_by(report: Option<&Report>, drone: &Drone) -> Option<GroundOrderId> {
    let report = report?;
    let serves = report.held.as_ref().is_some_and(|held| held.uid.0 == uid(drone));
    report.ground_latch.filter(|_| serves)
}

/// The object of the order `id` that the agent of `drone` keeps: the whole Swarm when two agents report the same, or its only Drone's does;
/// one agent alone grounds no other vehicle.
fn kept_for(ground: &Ground, drone: &Drone, id: GroundOrderId) -> Marked {
    let swarm = ground.cluster.world.swarm_of(drone);
    let whole = swarm.filter(|swarm| {
        let drones = ground.cluster.world.drones_of_swarm(uid(swarm.as_ref()));
        let serves = |drone: &&Arc<Drone>| {
            let node = drone
                .spec
                .node_name
                .as_deref()
                .and_then(|node| NodeName::parse(node).ok());
            let report = node.and_then(|node| ground.sessions.current(&node));
            latched_by(report.as_deref(), drone) == Some(id)
        };
        drones.len() == 1 || drones.iter().filter(serves).count() > 1
    });
    whole.map_or_else(|| Marked::drone(drone), |swarm| Marked::swarm(&swarm))
}

/// The agent that serves `drone` keeps a ground order that is not known here: a coordinator gave it, and was gone before it could be
/// written. Puts it in force again at once, for its Drone or its whole Swarm.
pub fn remembered(ground: &Ground, drone: &Drone, id: GroundOrderId) {
    let marked = [kept_for(ground, drone, id)];
    tracing::warn!(whole = %marked[0].key, "an agent keeps a ground order that is not recorded; it is given again");
    let call = ground.latch.begin();
    let [object] = &marked;
    let about = About {
        scope: match object.kind {
            Kind::Swarm => OfKind::Swarm,
            Kind::Drone => OfKind::Drone,
        },
        namespace: object.key.namespace.clone(),
        target: object.key.name.clone(),
        objects: vec![],
        nodes: nodes_of(ground, object),
    };
    // It may be known of others under the same number already.
    let part = Some(object.uid.as_str());
    ground
        .latch
        .put_order(call, in_force::order(id, part, about, "an agent, which remembered it"));
    ground.latch.put(id, call, &marked);
    wake(ground, &marked);
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Ground(GroundOrderId),
    /// Ends this order, too, if one is known.
    Release(Option<GroundOrderId>),
}

/// Marks objects; those written or gone leave the latch, and their agents are notified. Tries all, returns the first failure.
async fn write_all(ground: &Ground, changes: Vec<(Marked, Change)>, call: Call) -> Result<(), ApiError> {
    let writes = changes.into_iter().map(|(object, change)| async move {
        let result = write(ground, &object, change).await;
        if result.is_ok() {
            ground.latch.remove(&object.uid, call);
            wake(ground, &[object]);
        }
        result
    });
    let results: Vec<_> = stream::iter(writes).buffer_unordered(CONCURRENCY).collect().await;
    results.into_iter().collect()
}

async fn write(ground: &Ground, object: &Marked, change: Change) -> Result<(), ApiError> {
    let (grounded, order) = match change {
        Change::Ground(id) => (true, Some(Recorded { id, released: false })),
        Change::Release(id) => (false, id.map(|id| Recorded { id, released: true })),
    };
    let patch = Patch::Merge(patch(&object.uid, grounded, order));
    let params = api::merging();
    let (namespace, name) = (&object.key.namespace, &object.key.name);
    let result = match object.kind {
        Kind::Swarm => {
            let api: Api<Swarm> = Api::namespaced(ground.cluster.client(), namespace);
            let written = api::call("mark a Swarm", api.patch(name, &params, &patch)).await;
            written.map(|swarm| ground.cluster.world.learn_swarm(swarm))
        }
        Kind::Drone => {
            let api: Api<Drone> = Api::namespaced(ground.cluster.client(), namespace);
            let written = api::call("mark a Drone", api.patch(name, &params, &patch)).await;
            written.map(|drone| ground.cluster.world.learn_drone(drone))
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
    use crate::controllers::facts::tests::{bound, holding, node, observer};
    use crate::server::auth::tests::scripted::Scripted;
    use http::{Request, Response};
    use kube::client::Body;
    use model::assignment::Held;
    use serde_json::{Value, json};
    use tower::{BoxError, service_fn};

    fn record(ground: &Ground, drone: &Drone) {
        for (call, order) in ground.latch.unrecorded().iter() {
            let mut object = order.object.clone();
            object.metadata.resource_version = Some("1".to_owned());
            let recorded = crate::cluster::world::Change::Is(Arc::new(object));
            ground.cluster.world.ground_order(recorded);
            ground.latch.remove_order(*call, order.name());
        }
        ground.latch.remove(uid(drone), ground.latch.begin());
    }

    #[tokio::test]
    async fn an_order_keeps_the_vehicle_that_serves_its_drone_and_none_that_is_only_named() {
        let observer = observer(Scripted::new().client());
        let serves = bound(&observer, "d", |_| {});
        let names = bound(&observer, "x", |drone| {
            drone.metadata.namespace = Some("south".to_owned());
            drone.spec.node_name = Some("d".to_owned());
        });
        let nodes = |drone: &Drone| nodes_of(&observer.ground, &Marked::drone(drone));
        assert_eq!(nodes(&serves), BTreeSet::from(["d".to_owned()]));
        assert_eq!(nodes(&names), BTreeSet::new());
    }

    /// The mark for an agent that serves `drone` and keeps the order `id`.
    fn answer(ground: &Ground, drone: &Drone, id: u64) -> Option<GroundMark> {
        let held = Held {
            grounded: true,
            ..holding(uid(drone))
        };
        let report = Report {
            held: Some(held),
            ground_latch: Some(GroundOrderId(id)),
            ..Report::of_nothing(NodeName::parse("d").unwrap())
        };
        mark(ground, drone, Some(&report))
    }

    #[tokio::test]
    async fn an_agent_keeps_a_ground_order_that_was_given_again_for_another_drone_only() {
        let observer = observer(Scripted::new().client());
        let ground = &observer.ground;
        let (one, other) = (bound(&observer, "d", |_| {}), bound(&observer, "e", |_| {}));
        let done = Some(GroundMark::Done(GroundOrderId(7)));
        remembered(ground, &one, GroundOrderId(7));
        record(ground, &one);
        assert_eq!((answer(ground, &one, 7), answer(ground, &other, 7)), (done, None));
        // A person releases the one; that says nothing of the other, whose agent was away.
        let recorded = ground.cluster.world.ground_orders();
        ground.latch.end(recorded.first().unwrap());
        ground.cluster.world.ground_order_ended(recorded.first().unwrap());
        assert_eq!((answer(ground, &one, 7), answer(ground, &other, 7)), (done, None));
        remembered(ground, &other, GroundOrderId(7));
        record(ground, &other);
        assert_eq!((answer(ground, &one, 7), answer(ground, &other, 7)), (done, done));
        assert!(covering(ground, &other).is_some() && covering(ground, &one).is_none());
    }

    /// An API server that takes every edit of `drone`, and has no other object.
    fn takes_edits_of(drone: &Drone) -> kube::Client {
        let drone = serde_json::to_value(drone).unwrap();
        let service = service_fn(move |request: Request<Body>| {
            let mut drone = drone.clone();
            async move {
                let is_drone = request.uri().path().contains("/drones/");
                let edit = request.into_body().collect_bytes().await?;
                let (code, answer) = if is_drone {
                    let edit: Value = serde_json::from_slice(&edit)?;
                    drone["metadata"]["annotations"] = edit["metadata"]["annotations"].clone();
                    (200, drone)
                } else {
                    let missing = json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "none"});
                    (404, missing)
                };
                let body = Body::from(serde_json::to_vec(&answer)?);
                Ok::<_, BoxError>(Response::builder().status(code).body(body)?)
            }
        });
        kube::Client::new(service, "default")
    }

    #[tokio::test]
    async fn a_vehicle_whose_agent_was_away_at_its_release_is_not_grounded_again_by_the_next_leader() {
        let next = observer(Scripted::new().client());
        let drone = bound(&next, "d", |_| {});
        let first = observer(takes_edits_of(&drone));
        let _bound = bound(&first, "d", |_| {});
        node(&first, "d", false);
        let vehicle = About {
            scope: OfKind::Node,
            namespace: String::new(),
            target: "d".to_owned(),
            objects: vec![],
            nodes: BTreeSet::new(),
        };
        let vehicle = in_force::order(GroundOrderId(7), None, vehicle, "a person");
        first.ground.latch.put_order(first.ground.latch.begin(), vehicle);
        record(&first.ground, &drone);
        let target = Target::Node(NodeName::parse("d").unwrap());
        release(&first.ground, &target, "a person", true).await.unwrap();
        let released = first.world().get_drone(&Key::of(drone.as_ref())).unwrap();
        next.world()
            .drone(crate::cluster::world::Change::Is(Arc::clone(&released)));
        let done = Some(GroundMark::Done(GroundOrderId(7)));
        assert_eq!(answer(&next.ground, &released, 7), done);
        assert_eq!(answer(&next.ground, &released, 8), None, "another order");
    }

    #[tokio::test]
    async fn an_order_reaches_the_agents_that_serve_its_drones_and_none_that_they_name() {
        let observer = observer(Scripted::new().client());
        let node = NodeName::parse("d").unwrap();
        let _opened = observer.sessions.open(&node, 1).unwrap();
        let serves = bound(&observer, "d", |_| {});
        let names = bound(&observer, "x", |drone| drone.spec.node_name = Some("d".to_owned()));
        let reached = |drone: &Drone| wake(&observer.ground, &[Marked::drone(drone)]).agents;
        assert_eq!((reached(&serves), reached(&names)), (1, 0));
    }

    #[tokio::test]
    async fn an_agent_that_reports_ever_new_ground_orders_has_one_recorded_and_stays_down() {
        let observer = observer(Scripted::new().client());
        let drone = bound(&observer, "d", |_| {});
        let ground = &observer.ground;
        let answer = |id| answer(ground, &drone, id);
        let everything = About {
            scope: OfKind::All,
            namespace: String::new(),
            target: String::new(),
            objects: vec![],
            nodes: BTreeSet::new(),
        };
        let everything = in_force::order(GroundOrderId(1), None, everything, "a person");
        ground.latch.put_order(ground.latch.begin(), everything);
        record(ground, &drone);
        assert_eq!(
            answer(7),
            None,
            "another order, which the release of that one does not end"
        );
        remembered(ground, &drone, GroundOrderId(7));
        assert_eq!(answer(7), Some(GroundMark::Given(GroundOrderId(7))));
        record(ground, &drone);
        for id in 7..20 {
            assert_eq!(answer(id), Some(GroundMark::Done(GroundOrderId(id))));
        }
        let by_agent = orders(ground).find(|order| order.id == Some(GroundOrderId(7)));
        assert!(by_agent.is_some_and(|order| order.covers(&ground.cluster.world, &drone)));
    }
}
