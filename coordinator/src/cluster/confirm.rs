//! The API server's own answer, before a flight is begun or a vehicle bound: caches may be late, whatever their watches say.
//!
//! Owns: asking for what one takeoff or binding rests on, taking the answers into the caches, and for how long an answer holds
//! ([`fleet::freshness::CONFIRMED_FOR`]). Must not: decide; the caller reads the caches again.

use crate::cluster::Cluster;
use crate::cluster::api::{self, ApiError};
use crate::cluster::key::Key;
use crate::cluster::world::{Change, owner, uid};
use crds::{Drone, GroundOrder, Swarm, labels};
use fleet::freshness::CONFIRMED_FOR;
use fleet::ids::NodeName;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// When what was asked about, by its kind and name; old answers go when there are so many.
const MOST: usize = 4096;

/// Since when the caches hold what the API server itself has said of an object.
#[derive(Debug, Default)]
pub struct Confirmed(Mutex<HashMap<String, Instant>>);

impl Confirmed {
    fn holds(&self, what: &str) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(what).is_some_and(|sent| sent.elapsed() < CONFIRMED_FOR)
    }

    fn put(&self, what: String, sent: Instant) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.retain(|_, sent| sent.elapsed() < CONFIRMED_FOR);
        }
        known.insert(what, sent);
    }
}

/// Whether all that a takeoff of `drone` from `node` rests on has been asked for just now.
#[must_use]
pub fn holds(cluster: &Cluster, drone: &Drone, node: &NodeName) -> bool {
    let swarm = owner(drone).map(|(_, name)| Key::new(&Key::of(drone).namespace, name));
    let known = |what: &str| cluster.confirmed.holds(what);
    known(&of_drone(uid(drone)))
        && known(&of_node(node))
        && known(GROUND_ORDERS)
        && swarm.is_none_or(|swarm| known(&of_swarm(&swarm)))
}

fn of_drone(uid: &str) -> String {
    format!("drone/{uid}")
}

fn of_node(node: &NodeName) -> String {
    format!("node/{node}")
}

fn of_swarm(swarm: &Key) -> String {
    format!("swarm/{swarm}")
}

const GROUND_ORDERS: &str = "groundorders";

/// Asks for all that a takeoff of `drone` from `node` rests on. Whether it is there; the caches hold the rest.
///
/// # Errors
/// [`ApiError`]; nothing is known then, and no flight is begun.
pub async fn takeoff(cluster: &Cluster, drone: &Drone, node: &NodeName) -> Result<bool, ApiError> {
    let key = Key::of(drone);
    let swarm = owner(drone).map(|(_, name)| Key::new(&key.namespace, name));
    let its_swarm = async {
        match &swarm {
            Some(swarm) => self::swarm(cluster, swarm).await,
            None => Ok(true),
        }
    };
    let (drone, swarm, node, ()) = futures::try_join!(
        self::drone(cluster, &key, uid(drone)),
        its_swarm,
        self::node(cluster, node),
        ground_orders(cluster)
    )?;
    Ok(drone && swarm && node)
}

/// Asks for a node. Whether it is there, and a drone node; the caches hold the rest.
///
/// # Errors
/// [`ApiError`].
pub async fn node(cluster: &Cluster, name: &NodeName) -> Result<bool, ApiError> {
    let what = of_node(name);
    if cluster.confirmed.holds(&what) {
        return Ok(true);
    }
    let sent = Instant::now();
    let nodes: Api<Node> = Api::all(cluster.client());
    let found = api::call("read a node", nodes.get_opt(name.as_str())).await?;
    let found = found.filter(|node| node.labels().contains_key(labels::DRONE_NODE));
    let there = found.is_some();
    cluster.world.node(match found {
        Some(node) => Change::Answered(Arc::new(node)),
        None => Change::Gone(Key::new("", name.as_str())),
    });
    cluster.confirmed.put(what, sent);
    Ok(there)
}

async fn drone(cluster: &Cluster, key: &Key, uid: &str) -> Result<bool, ApiError> {
    let what = of_drone(uid);
    if cluster.confirmed.holds(&what) {
        return Ok(true);
    }
    let sent = Instant::now();
    let drones: Api<Drone> = Api::namespaced(cluster.client(), &key.namespace);
    let found = api::call("read a Drone", drones.get_opt(&key.name)).await?;
    let Some(drone) = found.filter(|drone| self::uid(drone) == uid) else {
        // The watch reports it.
        return Ok(false);
    };
    cluster.world.learn_drone(drone);
    cluster.confirmed.put(what, sent);
    Ok(true)
}

async fn swarm(cluster: &Cluster, key: &Key) -> Result<bool, ApiError> {
    let what = of_swarm(key);
    if cluster.confirmed.holds(&what) {
        return Ok(true);
    }
    let sent = Instant::now();
    let swarms: Api<Swarm> = Api::namespaced(cluster.client(), &key.namespace);
    let Some(swarm) = api::call("read a Swarm", swarms.get_opt(&key.name)).await? else {
        return Ok(false);
    };
    cluster.world.learn_swarm(swarm);
    cluster.confirmed.put(what, sent);
    Ok(true)
}

/// Lists the ground orders: one that is not known could cover anything.
async fn ground_orders(cluster: &Cluster) -> Result<(), ApiError> {
    if cluster.confirmed.holds(GROUND_ORDERS) {
        return Ok(());
    }
    let sent = Instant::now();
    let known = cluster.world.ground_orders();
    let orders: Api<GroundOrder> = Api::all(cluster.client());
    let list = api::call("list the ground orders", orders.list(&ListParams::default())).await?;
    let listed: HashSet<String> = list.items.iter().map(ResourceExt::name_any).collect();
    for released in known.iter().filter(|order| !listed.contains(order.name())) {
        cluster.world.ground_order(Change::Gone(Key::new("", released.name())));
    }
    for order in list.items {
        cluster.world.ground_order(Change::Answered(Arc::new(order)));
    }
    cluster.confirmed.put(GROUND_ORDERS.to_owned(), sent);
    Ok(())
}
