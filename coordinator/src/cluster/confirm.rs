//! The API server's own answers before a flight begins or a vehicle is bound: caches may be late, whatever their watches report.
//!
//! Owns: asking for what one takeoff or binding rests on, filling the caches with the answers, and how long an answer holds
//! ([`fleet::planning::freshness::CONFIRMED_FOR`]). Of rules on board and Missions only metadata is asked for: a takeoff waits until the
//! controllers act on the same generation ([`super::acted_on`]). Must not: decide; the caller reads the caches again.

use crate::cluster::Cluster;
use crate::cluster::api::{self, ApiError};
use crate::cluster::key::Key;
use crate::cluster::world::{Change, mission, owner, uid};
use crds::{Drone, Geofence, GroundOrder, Mission, ParameterProfile, Swarm, labels};
use fleet::planning::freshness::CONFIRMED_FOR;
use k8s_openapi::api::core::v1::Node;
use kube::Resource;
use kube::ResourceExt;
use kube::api::{Api, ListParams, PartialObjectMeta};
use model::ids::NodeName;
use serde::de::DeserializeOwned;
use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::time::Instant;

/// At the limit old ones go.
const MAX_ANSWERS: usize = 4096;

/// When the API server last answered about an object, by its kind and name.
#[derive(Debug, Default)]
pub struct Confirmed(Mutex<HashMap<String, Instant>>);

impl Confirmed {
    fn holds(&self, what: &str) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(what).is_some_and(|sent| sent.elapsed() < CONFIRMED_FOR)
    }

    fn put(&self, what: String, sent: Instant) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_ANSWERS {
            known.retain(|_, sent| sent.elapsed() < CONFIRMED_FOR);
        }
        known.insert(what, sent);
    }
}

/// Whether everything that a takeoff of `drone` from `node` rests on was confirmed just now.
pub fn holds(cluster: &Cluster, drone: &Drone, node: &NodeName) -> bool {
    let swarm = owner(drone).map(|(_, name)| Key::new(&Key::of(drone).namespace, name));
    let known = |what: &str| cluster.confirmed.holds(what);
    known(&of_drone(uid(drone)))
        && known(&of_node(node))
        && known(GROUND_ORDERS)
        && known(RULES)
        && mission(drone).is_none_or(|(mission, _)| known(&of_mission(mission)))
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

fn of_mission(uid: &str) -> String {
    format!("mission/{uid}")
}

const GROUND_ORDERS: &str = "groundorders";
const RULES: &str = "rules";

/// Asks for everything that a takeoff of `drone` from `node` rests on; true if it exists and is acted on. After an error no flight begins.
pub async fn takeoff(cluster: &Cluster, drone: &Drone, node: &NodeName) -> Result<bool, ApiError> {
    let key = Key::of(drone);
    let swarm = owner(drone).map(|(_, name)| Key::new(&key.namespace, name));
    let its_swarm = async {
        match &swarm {
            Some(swarm) => self::swarm(cluster, swarm).await,
            None => Ok(true),
        }
    };
    let its_mission = async {
        match mission(drone) {
            Some((uid, name)) => {
                let mission = Key::new(&key.namespace, name);
                Box::pin(acted_on_mission(cluster, &mission, uid)).await
            }
            None => Ok(true),
        }
    };
    let (drone, swarm, mission, node, rules, ()) = futures::try_join!(
        self::drone(cluster, &key, uid(drone)),
        its_swarm,
        its_mission,
        self::node(cluster, node),
        Box::pin(acted_on_rules(cluster)),
        ground_orders(cluster)
    )?;
    Ok(drone && swarm && mission && node && rules)
}

/// Asks for a node. Whether it exists and is a drone node; the caches hold the rest.
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

/// Whether a Mission exists, and is acted on as it is.
async fn acted_on_mission(cluster: &Cluster, key: &Key, uid: &str) -> Result<bool, ApiError> {
    let what = of_mission(uid);
    if cluster.confirmed.holds(&what) {
        return Ok(true);
    }
    let sent = Instant::now();
    let missions: Api<Mission> = Api::namespaced(cluster.client(), &key.namespace);
    // RBAC: the coordinator may list Missions, not get them.
    let named = ListParams::default().fields(&format!("metadata.name={}", key.name));
    let list = api::call("list a Mission", missions.list_metadata(&named)).await?;
    let mut listed = list.items.iter();
    let acts = listed.any(|mission| self::uid(mission) == uid && cluster.acted_on.has(mission));
    if acts {
        cluster.confirmed.put(what, sent);
    }
    Ok(acts)
}

/// Lists the Geofences and ParameterProfiles, as an unknown one could select the vehicle. Whether all are acted on.
async fn acted_on_rules(cluster: &Cluster) -> Result<bool, ApiError> {
    if cluster.confirmed.holds(RULES) {
        return Ok(true);
    }
    let sent = Instant::now();
    let (geofences, profiles) = futures::try_join!(
        are_acted_on::<Geofence>(cluster, "list the Geofences"),
        are_acted_on::<ParameterProfile>(cluster, "list the ParameterProfiles")
    )?;
    let acts = geofences && profiles;
    if acts {
        cluster.confirmed.put(RULES.to_owned(), sent);
    }
    Ok(acts)
}

/// A kind that is not installed has no objects, so all are acted on.
async fn are_acted_on<K>(cluster: &Cluster, what: &'static str) -> Result<bool, ApiError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let objects: Api<K> = Api::all(cluster.client());
    match api::call(what, objects.list_metadata(&ListParams::default())).await {
        Ok(list) => {
            let known = |object: &PartialObjectMeta<K>| cluster.acted_on.has(object);
            Ok(list.items.iter().all(known))
        }
        Err(error) if error.is_not_found() => Ok(true),
        Err(error) => Err(error),
    }
}

/// Lists the ground orders, as an unknown one could cover anything.
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
        cluster.world.ground_order_ended(released);
    }
    for order in list.items {
        cluster.world.ground_order(Change::Answered(Arc::new(order)));
    }
    cluster.confirmed.put(GROUND_ORDERS.to_owned(), sent);
    Ok(())
}

#[cfg(test)]
mod tests;
