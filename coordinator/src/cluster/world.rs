//! The observed cluster, indexed so that no decision has to go through everything.
//!
//! Owns: the caches of Drones, Swarms, drone nodes, claims and ground orders; what has to be reconciled when one of them changes; the
//! reservations that keep two Drones of this process from choosing one node at a time. Must not: call the API, or conclude anything before
//! all caches are filled ([`World::synced`]).

pub mod claim;
mod ended_orders;
pub mod ground_order;
pub mod holding;
mod index;
mod nodes;
mod pending;

pub use claim::Claim;
pub use nodes::{NodeFacts, of_the_wall};
pub use pending::{Found, Shortlist, VehicleRequest};

use ended_orders::EndedOrders;
use ground_order::InForce;
use index::Inner;

use crate::cluster::api;
use crate::cluster::key::Key;
use crate::cluster::wake_set::WakeSet;
use crds::{Drone, GroundOrder, Swarm, labels};
use fleet::planning::binding::selects;
use fleet::planning::freshness::{WentBack, shows_restore};
use fleet::planning::node_use::NodeUse;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use model::ids::{DroneUid, NodeName};
use model::time::Moment;
use model::vehicle::HardwareUid;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio::time::Instant;

#[derive(Clone, Debug, Default)]
pub struct Wakes {
    pub drones: Arc<WakeSet<Key>>,
    pub swarms: Arc<WakeSet<Key>>,
    /// Nodes whose agent may need another order.
    pub nodes: Arc<WakeSet<NodeName>>,
}

#[derive(Debug)]
pub enum Change<K> {
    /// It exists, as a watch says.
    Is(Arc<K>),
    /// It exists, as the answer to a request of our own says, which may be older than the cache.
    Answered(Arc<K>),
    Gone(Key),
    /// All are about to be listed: nothing that comes from now on is older than what is known.
    Asked,
    /// All that exist have been reported.
    Filled,
}

pub struct World {
    inner: Mutex<Inner>,
    wakes: Wakes,
    filled: watch::Sender<u8>,
    orders: Mutex<Orders>,
    departures: Mutex<Option<OnDeparture>>,
    /// For each bit of `filled`, the newest resourceVersion known when the last list was asked for.
    known: [AtomicU64; KINDS],
    went_back: watch::Sender<Option<WentBack>>,
    /// How often all Drones were gone through.
    #[cfg(test)]
    pub(crate) walks: AtomicU64,
}

#[derive(Default)]
struct Orders {
    in_force: Arc<Vec<Arc<InForce>>>,
    ended: EndedOrders,
}

type OnDeparture = Arc<dyn Fn(&Drone) + Send + Sync>;

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}

/// The resourceVersion reported now, and the known one; `None` where it is no number.
type Versions = (Option<u64>, Option<u64>);

const KINDS: usize = 5;

const ALL: u8 = (1 << KINDS) - 1;
const DRONES: usize = 0;
const SWARMS: usize = 1;
const NODES: usize = 2;
const CLAIMS: usize = 3;
const GROUND_ORDERS: usize = 4;

/// uid and name.
pub fn owner(drone: &Drone) -> Option<(&str, &str)> {
    controller(drone, "Swarm")
}

/// uid and name.
pub fn mission(drone: &Drone) -> Option<(&str, &str)> {
    controller(drone, "Mission")
}

fn controller<'a>(drone: &'a Drone, kind: &str) -> Option<(&'a str, &'a str)> {
    let references = drone.metadata.owner_references.as_deref().unwrap_or_default();
    references
        .iter()
        .find(|r| r.controller == Some(true) && r.kind == kind && r.api_version.starts_with("skein.dev/"))
        .map(|r| (r.uid.as_str(), r.name.as_str()))
}

fn of_swarm(drone: &Drone) -> Option<&str> {
    owner(drone).map(|(swarm, _)| swarm)
}

/// Whether its vehicle may leave the column above its home: for a station, or for a Mission, also one that has left it behind.
pub fn roams(drone: &Drone) -> bool {
    drone.spec.station.is_some() || mission(drone).is_some() || drone.labels().contains_key(labels::MISSION)
}

/// Every object read from the API server has one.
pub fn uid(object: &impl ResourceExt) -> &str {
    object.meta().uid.as_deref().unwrap_or_default()
}

impl World {
    pub fn new(wakes: Wakes) -> Self {
        Self {
            inner: Mutex::default(),
            wakes,
            filled: watch::Sender::new(0),
            orders: Mutex::default(),
            departures: Mutex::default(),
            known: Default::default(),
            went_back: watch::Sender::new(None),
            #[cfg(test)]
            walks: AtomicU64::new(0),
        }
    }

    pub fn wakes(&self) -> Wakes {
        self.wakes.clone()
    }

    pub async fn synced(&self) {
        // Fails only if the sender is gone, which `self` owns.
        let _ = self.filled.subscribe().wait_for(|bits| *bits == ALL).await;
    }

    fn fill(&self, kind: usize) {
        self.filled.send_modify(|bits| *bits |= 1 << kind);
    }

    /// Done once the API server has answered with something older than an earlier answer.
    pub async fn went_back(&self) -> WentBack {
        let mut went_back = self.went_back.subscribe();
        let what = went_back.wait_for(Option::is_some).await.ok();
        match what.and_then(|what| what.clone()) {
            Some(what) => what,
            // The sender, which `self` owns, is gone.
            None => std::future::pending().await,
        }
    }

    fn asked(&self, kind: usize, known: impl Iterator<Item = Option<u64>>) {
        let newest = known.flatten().max().unwrap_or_default();
        self.known[kind].store(newest, Ordering::Relaxed);
    }

    /// Whether a newer version of the object `key` than `new` is known. Reports if that shows that the API server's store went back in
    /// time.
    fn is_late(&self, kind: usize, key: impl fmt::Display, (new, known): Versions, watched: bool) -> bool {
        let (Some(new), Some(known)) = (new, known) else {
            return false;
        };
        if watched && shows_restore(new, known, self.known[kind].load(Ordering::Relaxed)) {
            let what = format!("{key} has resourceVersion {new}; read before: {known}");
            self.went_back.send_replace(Some(WentBack(what)));
        }
        new < known
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `call` with each Drone that leaves its Swarm: it is gone, or is another's.
    pub fn on_departure(&self, call: impl Fn(&Drone) + Send + Sync + 'static) {
        let mut departures = self.departures.lock().unwrap_or_else(PoisonError::into_inner);
        *departures = Some(Arc::new(call));
    }

    fn parted(&self, drone: &Drone) {
        let call = self.departures.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(call) = call else { return };
        call(drone);
        // Its wake-up when the Drone left may have been handled before the departure was.
        if let Some(swarm) = self.lock().swarm_of(&Key::of(drone), drone) {
            self.wakes.swarms.wake(swarm.clone());
        }
    }

    pub fn drone(&self, change: Change<Drone>) {
        match change {
            Change::Is(drone) => self.put_drone(drone, false),
            Change::Answered(drone) => self.put_drone(drone, true),
            Change::Gone(key) => {
                let mut inner = self.lock();
                let Some(old) = inner.drones.remove(&key) else { return };
                inner.unindex(&key, &old);
                self.wake_around(&inner, &key, &old);
                self.pass_on(&mut inner, &old, None);
                drop(inner);
                self.parted(&old);
            }
            Change::Asked => {
                let inner = self.lock();
                self.asked(DRONES, inner.drones.values().map(|drone| api::version(&drone.metadata)));
            }
            Change::Filled => self.fill(DRONES),
        }
    }

    /// With `only_known`, an unknown Drone is ignored.
    fn put_drone(&self, drone: Arc<Drone>, only_known: bool) {
        let key = Key::of(drone.as_ref());
        let mut inner = self.lock();
        let old = inner.drones.get(&key).cloned();
        if only_known && old.as_deref().is_none_or(|old| uid(old) != uid(drone.as_ref())) {
            return;
        }
        if let Some(old) = &old {
            let versions = (api::version(&drone.metadata), api::version(&old.metadata));
            if self.is_late(DRONES, &key, versions, !only_known) {
                return;
            }
            inner.unindex(&key, old);
            self.wake_around(&inner, &key, old);
        }
        inner.index(&key, &drone);
        inner.drones.insert(key.clone(), Arc::clone(&drone));
        self.wake_around(&inner, &key, &drone);
        if let Some(old) = &old {
            self.pass_on(&mut inner, old, Some(&drone));
        }
        drop(inner);
        let stays = |old: &Drone| uid(old) == uid(drone.as_ref()) && of_swarm(old) == of_swarm(&drone);
        if let Some(old) = old.filter(|old| !stays(old)) {
            self.parted(&old);
        }
    }

    /// Both are uids.
    pub fn is_member(&self, swarm: &str, drone: &str) -> bool {
        let inner = self.lock();
        let found = inner.drone_of_uid.get(drone).filter(|key| inner.is_beside(swarm, key));
        let found = found.and_then(|key| inner.drones.get(key));
        found.is_some_and(|found| of_swarm(found) == Some(swarm))
    }

    /// Caches the answer to a write of our own, for the next decision. Only of a known Drone: one that is gone must not come back.
    pub fn learn_drone(&self, drone: Drone) {
        self.drone(Change::Answered(Arc::new(drone)));
    }

    /// Wakes others for what `old` has no more, now that it is `new` or gone: its vehicle, and the one it was woken for if it needs none.
    fn pass_on(&self, inner: &mut Inner, old: &Drone, new: Option<&Drone>) {
        if let Some(node) = inner.left_behind(old, new) {
            self.offer(inner, &node);
        }
        let request = VehicleRequest::of_waiting(old)
            .filter(|request| new.and_then(VehicleRequest::of_waiting).as_ref() != Some(request));
        if let Some(key) = request.and_then(|request| inner.pending.passed_on(&request)) {
            self.wakes.drones.wake(key);
        }
    }

    fn wake_around(&self, inner: &Inner, key: &Key, drone: &Drone) {
        self.wakes.drones.wake(key.clone());
        if let Some(swarm) = inner.swarm_of(key, drone) {
            self.wakes.swarms.wake(swarm.clone());
        }
        if let Some(node) = drone.spec.node_name.as_deref() {
            self.wake_node(inner, node, Some(key));
        }
    }

    /// Wakes the agent of `node` and all Drones on it but `except`.
    fn wake_node(&self, inner: &Inner, node: &str, except: Option<&Key>) {
        for key in inner
            .on_node
            .get(node)
            .into_iter()
            .flatten()
            .filter(|key| Some(*key) != except)
        {
            self.wakes.drones.wake(key.clone());
        }
        if let Ok(node) = NodeName::parse(node) {
            self.wakes.nodes.wake(node);
        }
    }

    /// Wakes Drones without a vehicle that could use the one of `node`.
    pub fn a_vehicle_may_be_free(&self, node: &NodeName) {
        self.offer(&mut self.lock(), node.as_str());
    }

    /// Drones whose nodeSelector does not match would find nothing.
    fn offer(&self, inner: &mut Inner, node: &str) {
        let Some(facts) = NodeName::parse(node)
            .ok()
            .and_then(|node| inner.nodes.get(&node).cloned())
        else {
            return;
        };
        let wants = |request: &VehicleRequest| selects(&request.selector, &facts.labels);
        for key in inner.pending.may_be_free(&facts.name, wants) {
            self.wakes.drones.wake(key);
        }
    }

    pub fn wake_drones_on(&self, node: &NodeName) {
        let inner = self.lock();
        for key in inner.on_node.get(node.as_str()).into_iter().flatten() {
            self.wakes.drones.wake(key.clone());
        }
    }

    pub fn swarm(&self, change: Change<Swarm>) {
        let mut inner = self.lock();
        // An answer about an unknown Swarm is ignored.
        let only_known = matches!(change, Change::Answered(_));
        let (key, id) = match change {
            Change::Asked => {
                let known = inner.swarms.values().map(|swarm| api::version(&swarm.metadata));
                return self.asked(SWARMS, known);
            }
            Change::Filled => return self.fill(SWARMS),
            Change::Gone(key) => {
                let Some(old) = inner.swarms.remove(&key) else { return };
                let id = uid(old.as_ref()).to_owned();
                inner.swarm_of_uid.remove(&id);
                (key, id)
            }
            Change::Is(swarm) | Change::Answered(swarm) => {
                let (key, id) = (Key::of(swarm.as_ref()), uid(swarm.as_ref()).to_owned());
                let known = inner.swarms.get(&key);
                if only_known && known.is_none_or(|old| uid(old.as_ref()) != id) {
                    return;
                }
                let version = known.and_then(|known| api::version(&known.metadata));
                let versions = (api::version(&swarm.metadata), version);
                if self.is_late(SWARMS, &key, versions, !only_known) {
                    return;
                }
                let before = inner.swarms.insert(key.clone(), Arc::clone(&swarm));
                inner.swarm_of_uid.insert(id.clone(), key.clone());
                self.wakes.swarms.wake(key.clone());
                match before {
                    // Made again under its name, and the deletion was not reported: the old one's Drones are not its own.
                    Some(before) if uid(before.as_ref()) != id => {
                        let gone = uid(before.as_ref());
                        inner.swarm_of_uid.remove(gone);
                        inner.pending.invalidate(gone);
                        self.wake_swarm(&inner, gone);
                    }
                    Some(before) if same_for_drones(&before, &swarm) => return,
                    Some(_) | None => {}
                }
                (key, id)
            }
        };
        self.wakes.swarms.wake(key);
        inner.pending.invalidate(&id);
        self.wake_swarm(&inner, &id);
    }

    fn wake_swarm(&self, inner: &Inner, swarm: &str) {
        for (key, drone) in inner.members(swarm) {
            self.wakes.drones.wake(key.clone());
            let node = drone
                .spec
                .node_name
                .as_deref()
                .and_then(|node| NodeName::parse(node).ok());
            if let Some(node) = node {
                self.wakes.nodes.wake(node);
            }
        }
    }

    /// Caches the answer to a write of our own to a known Swarm.
    pub fn learn_swarm(&self, swarm: Swarm) {
        self.swarm(Change::Answered(Arc::new(swarm)));
    }

    /// The use of the vehicle of `node` has changed: wakes its agent, the Drones on it and their Swarms.
    fn wake_use(&self, inner: &Inner, node: &NodeName) {
        self.wake_node(inner, node.as_str(), None);
        for key in inner.on_node.get(node.as_str()).into_iter().flatten() {
            let swarm = inner.drones.get(key).and_then(|drone| inner.swarm_of(key, drone));
            if let Some(swarm) = swarm {
                self.wakes.swarms.wake(swarm.clone());
            }
        }
    }

    /// A node with the drone label changed. It matters for choosing, and on the ground; in the air a vehicle flies without its Node object.
    pub fn node(&self, change: Change<Node>) {
        let mut inner = self.lock();
        match change {
            Change::Asked => return,
            Change::Filled => return self.fill(NODES),
            Change::Gone(key) => {
                if let Ok(name) = NodeName::parse(&key.name)
                    && inner.nodes.remove(&name).is_some()
                {
                    inner.declared_down.remove(&name);
                    self.wake_use(&inner, &name);
                }
            }
            Change::Is(node) | Change::Answered(node) => {
                let Some(facts) = NodeFacts::of(&node) else { return };
                if inner.nodes.get(&facts.name).is_some_and(|old| **old == facts) {
                    return;
                }
                let (name, facts) = (facts.name.clone(), Arc::new(facts));
                let before = inner.nodes.insert(name.clone(), Arc::clone(&facts));
                match facts.declared_down {
                    Some(at) => inner.declared_down.insert(name.clone(), at),
                    None => inner.declared_down.remove(&name),
                };
                if before.is_none_or(|before| before.usable != facts.usable || before.labels != facts.labels) {
                    self.wake_use(&inner, &name);
                }
                self.offer(&mut inner, name.as_str());
            }
        }
        // Drones that it does not suit report so.
        for key in inner.pending.changed() {
            self.wakes.drones.wake(key);
        }
    }

    pub fn lease(&self, change: Change<Lease>) {
        let mut inner = self.lock();
        let watched = matches!(change, Change::Is(_));
        match change {
            Change::Asked => self.asked(CLAIMS, inner.claims.values().map(Claim::number)),
            Change::Filled => self.fill(CLAIMS),
            Change::Gone(key) => {
                let lost: Vec<String> = inner
                    .claims
                    .keys()
                    .filter(|n| claim::name(n) == key.name)
                    .cloned()
                    .collect();
                for node in lost {
                    inner.set_claim(&node, None);
                    self.wake_node(&inner, &node, None);
                    self.offer(&mut inner, &node);
                }
            }
            Change::Is(lease) | Change::Answered(lease) => {
                let Some((node, claim)) = claim::parse(&lease) else {
                    return;
                };
                if let Some(old) = inner.claims.get(&node) {
                    let versions = (claim.number(), old.number());
                    if self.is_late(CLAIMS, &node, versions, watched) || old == &claim {
                        return;
                    }
                }
                inner.set_claim(&node, Some(claim));
                self.wake_node(&inner, &node, None);
            }
        }
    }

    fn lock_orders(&self) -> MutexGuard<'_, Orders> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A ground order changed, which may cover anything: all that it may cover is reconciled.
    pub fn ground_order(&self, change: Change<GroundOrder>) {
        match change {
            Change::Asked => {
                let orders = self.ground_orders();
                let known = orders.iter().map(|order| api::version(&order.object.metadata));
                self.asked(GROUND_ORDERS, known);
            }
            Change::Filled => self.fill(GROUND_ORDERS),
            Change::Gone(key) => self.end_ground_orders(|order| order.name() == key.name),
            Change::Is(object) => self.put_ground_order(&object, true),
            Change::Answered(object) => self.put_ground_order(&object, false),
        }
    }

    /// Not the one that was made since under its name.
    pub fn ground_order_ended(&self, ended: &InForce) {
        let id = |order: &InForce| order.object.metadata.uid.clone();
        self.end_ground_orders(|order| order.name() == ended.name() && id(order) == id(ended));
    }

    fn end_ground_orders(&self, ends: impl Fn(&InForce) -> bool) {
        let mut orders = self.lock_orders();
        let all = orders.in_force.iter().cloned();
        let (ended, rest): (Vec<Arc<InForce>>, Vec<Arc<InForce>>) = all.partition(|order| ends(order));
        for order in ended {
            orders.ended.put(order.object.metadata.uid.as_deref(), Instant::now());
        }
        orders.in_force = Arc::new(rest);
        drop(orders);
        self.wake_for_ground_orders();
    }

    /// An unknown order is in force as soon as anything shows it; but an answer may be older than its end, and does not bring it back.
    fn put_ground_order(&self, object: &GroundOrder, watched: bool) {
        let mut orders = self.lock_orders();
        let mut now: Vec<Arc<InForce>> = Vec::clone(&orders.in_force);
        let id = object.metadata.uid.as_deref();
        let known = now.iter().position(|order| order.name() == object.name_any());
        let same = known.is_some_and(|known| now[known].object.metadata.uid.as_deref() == id);
        if !watched && !same && orders.ended.has(id, Instant::now()) {
            return;
        }
        if let Some(known) = known {
            let known = &now[known].object.metadata;
            let versions = (api::version(&object.metadata), api::version(known));
            let late = self.is_late(GROUND_ORDERS, object.name_any(), versions, watched);
            if late || known.resource_version == object.metadata.resource_version {
                return;
            }
        }
        let order = Arc::new(InForce::of(object.clone()));
        match known {
            Some(known) => {
                let before = std::mem::replace(&mut now[known], order);
                if !same {
                    orders.ended.put(before.object.metadata.uid.as_deref(), Instant::now());
                }
            }
            None => now.push(order),
        }
        orders.in_force = Arc::new(now);
        drop(orders);
        self.wake_for_ground_orders();
    }

    fn wake_for_ground_orders(&self) {
        let _all_are_woken = self.lock().pending.changed();
        self.wake_all();
    }

    pub fn ground_orders(&self) -> Arc<Vec<Arc<InForce>>> {
        Arc::clone(&self.lock_orders().in_force)
    }

    pub fn wake_all(&self) {
        let inner = self.lock();
        for key in inner.swarms.keys() {
            self.wakes.swarms.wake(key.clone());
        }
        for key in inner.drones.keys() {
            self.wakes.drones.wake(key.clone());
        }
        for node in inner.nodes.keys() {
            self.wakes.nodes.wake(node.clone());
        }
        let others = inner.on_node.keys().filter_map(|node| NodeName::parse(node).ok());
        for node in others.filter(|node| !inner.nodes.contains_key(node)) {
            self.wakes.nodes.wake(node);
        }
    }

    pub fn claim(&self, node: &str) -> Option<Claim> {
        self.lock().claims.get(node).cloned()
    }

    pub fn get_drone(&self, key: &Key) -> Option<Arc<Drone>> {
        self.lock().drones.get(key).cloned()
    }

    /// By namespace and name; `None`: of all namespaces.
    pub fn all_drones(&self, namespace: Option<&str>) -> Vec<Arc<Drone>> {
        let inner = self.lock();
        #[cfg(test)]
        self.walks.fetch_add(1, Ordering::Relaxed);
        inner
            .drones
            .iter()
            .filter(|(k, _)| namespace.is_none_or(|n| k.namespace == n))
            .map(|(_, d)| Arc::clone(d))
            .collect()
    }

    /// Whether there is a Drone that [`roams`].
    pub fn has_roaming(&self) -> bool {
        !self.lock().roaming.is_empty()
    }

    pub fn knows_node(&self, node: &NodeName) -> bool {
        self.lock().nodes.contains_key(node)
    }

    /// Whether Kubernetes reports it as Ready; `None`: no node with the drone label.
    pub fn node_ready(&self, node: &NodeName) -> Option<bool> {
        self.lock().nodes.get(node).map(|facts| facts.ready)
    }

    /// Whether a Drone has `node`, without asking its agent: one that merely names it does not count.
    pub fn is_in_service(&self, node: &NodeName) -> bool {
        self.lock().is_in_service(node.as_str())
    }

    /// Whether `drone` has the node that it names; `held` is the Drone that the agent of that node reports to serve.
    pub fn has_node(&self, drone: &Drone, held: Option<&DroneUid>) -> bool {
        let inner = self.lock();
        let holder = drone.spec.node_name.as_deref().and_then(|node| inner.holder(node));
        holding::has_node(drone, holder, held)
    }

    pub fn has_node_for(&self, selector: &BTreeMap<String, String>) -> bool {
        let inner = self.lock();
        inner.nodes.values().any(|node| selects(selector, &node.labels))
    }

    pub fn node_facts(&self, node: &NodeName) -> Option<Arc<NodeFacts>> {
        self.lock().nodes.get(node).cloned()
    }

    /// Nodes whose vehicles a person has declared to be out of the air, and when.
    pub fn declared_down(&self) -> BTreeMap<NodeName, Moment> {
        self.lock().declared_down.clone()
    }

    pub fn drone_nodes(&self) -> usize {
        self.lock().nodes.len()
    }

    /// Nodes that a Drone has, and does not merely name. Linear in their number.
    pub fn nodes_in_service(&self) -> usize {
        let inner = self.lock();
        inner.on_node.keys().filter(|node| inner.is_in_service(node)).count()
    }

    pub fn node_use(&self, node: &NodeName) -> NodeUse {
        let inner = self.lock();
        inner.nodes.get(node).map_or(NodeUse::Gone, |facts| facts.usable)
    }

    /// The Drones that name a node; several only if people set `spec.nodeName`. At most one has it ([`World::has_node`]).
    pub fn drones_on(&self, node: &NodeName) -> Vec<Arc<Drone>> {
        let inner = self.lock();
        let keys = inner.on_node.get(node.as_str()).into_iter().flatten();
        keys.filter_map(|key| inner.drones.get(key).cloned()).collect()
    }

    /// Several agents report this number at once, so it identifies no airframe.
    pub fn hardware_is_shared(&self, hardware: &HardwareUid) {
        self.lock().share_hardware(hardware.to_string());
    }

    /// The nodes but `node` with a Drone that this airframe serves, not known to be on the ground; none where several airframes have the
    /// number.
    pub fn flying_elsewhere(&self, hardware: &HardwareUid, node: &NodeName) -> Vec<NodeName> {
        self.lock().flying_elsewhere(&hardware.to_string(), node.as_str())
    }

    /// By namespace and name; `swarm` is a uid.
    pub fn drones_of_swarm(&self, swarm: &str) -> Vec<Arc<Drone>> {
        let inner = self.lock();
        inner.members(swarm).map(|(_, drone)| Arc::clone(drone)).collect()
    }

    /// By namespace and name; `mission` is a uid, which Drones of other namespaces may name, too.
    pub fn drones_of_mission(&self, mission: &str) -> Vec<Arc<Drone>> {
        let inner = self.lock();
        let drones = inner.of_mission.get(mission).into_iter().flatten();
        drones.map(|(_, drone)| Arc::clone(drone)).collect()
    }

    pub fn size_of_swarm(&self, key: &Key) -> usize {
        let inner = self.lock();
        let swarm = inner.swarms.get(key);
        swarm.map_or(0, |swarm| inner.members(uid(swarm.as_ref())).count())
    }

    pub fn drone_exists(&self, key: &Key) -> bool {
        self.lock().drones.contains_key(key)
    }

    pub fn get_swarm(&self, key: &Key) -> Option<Arc<Swarm>> {
        self.lock().swarms.get(key).cloned()
    }

    pub fn swarm_of_uid(&self, swarm: &str) -> Option<Arc<Swarm>> {
        let inner = self.lock();
        inner
            .swarm_of_uid
            .get(swarm)
            .and_then(|key| inner.swarms.get(key))
            .cloned()
    }

    /// In the Drone's own namespace.
    pub fn swarm_of(&self, drone: &Drone) -> Option<Arc<Swarm>> {
        let inner = self.lock();
        let swarm = inner.swarm_of(&Key::of(drone), drone)?;
        inner.swarms.get(swarm).cloned()
    }

    pub fn all_swarms(&self) -> Vec<Arc<Swarm>> {
        self.lock().swarms.values().cloned().collect()
    }

    /// All drone nodes, each with whether a Drone has it; and the count of changes observed. Linear, so the result is kept
    /// ([`World::keep`]).
    pub fn candidates(&self) -> (Vec<(Arc<NodeFacts>, bool)>, u64) {
        let inner = self.lock();
        let nodes = inner.nodes.values();
        let nodes = nodes.map(|node| (Arc::clone(node), inner.taken(node.name.as_str(), "")));
        (nodes.collect(), inner.pending.changes())
    }

    pub fn find(&self, request: &VehicleRequest, now: Instant) -> Found {
        self.lock().pending.find(request, now)
    }

    /// Keeps the list while a Drone with this request waits.
    pub fn keep(&self, request: &VehicleRequest, list: Shortlist) {
        self.lock().pending.keep(request, list);
    }

    /// `me` is a uid.
    pub fn claimed_by(&self, me: &str) -> Option<NodeName> {
        let inner = self.lock();
        inner.claimed_by.get(me).and_then(|node| NodeName::parse(node).ok())
    }

    /// Reserves `node` for the Drone with the uid `me` until the reservation is dropped, if it `suits`, which gets whether another Drone
    /// has it. `suits` must not call the world, which is locked meanwhile.
    pub fn reserve(
        self: &Arc<Self>,
        me: &str,
        node: &NodeName,
        suits: impl FnOnce(&NodeFacts, bool) -> bool,
    ) -> Option<Reservation> {
        let mut inner = self.lock();
        let taken = inner.taken(node.as_str(), me);
        let facts = inner.nodes.get(node).filter(|facts| suits(facts, taken))?;
        let node = facts.name.clone();
        inner.reserved.insert(node.as_str().to_owned(), me.to_owned());
        Some(Reservation {
            world: Arc::clone(self),
            me: me.to_owned(),
            node,
        })
    }
}

/// A node set aside for one Drone while its claim is being written.
#[derive(Debug)]
pub struct Reservation {
    world: Arc<World>,
    me: String,
    pub node: NodeName,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut inner = self.world.lock();
        inner.reserved.remove(self.node.as_str());
        // A deleted Drone does not try again.
        if !inner.drone_of_uid.contains_key(&self.me) {
            self.world.offer(&mut inner, self.node.as_str());
        }
    }
}

/// Equal but for the number of Drones.
fn same_for_drones(one: &Swarm, other: &Swarm) -> bool {
    let desired = |swarm: &Swarm| crds::SwarmSpec {
        replicas: 0,
        ..swarm.spec.clone()
    };
    desired(one) == desired(other)
}

/// Whether `drone` has the finalizer that waits for its landing.
pub fn is_guarded(drone: &Drone) -> bool {
    drone.finalizers().iter().any(|f| f == labels::LANDED_FINALIZER)
}

#[cfg(test)]
mod tests;
