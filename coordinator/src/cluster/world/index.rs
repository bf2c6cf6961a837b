//! The caches themselves, with their indexes.

use super::holding::{has_node, was_served};
use super::pending::{Pending, VehicleRequest};
use super::{Claim, NodeFacts, mission, owner, roams, uid};
use crate::cluster::key::Key;
use crds::{Drone, Swarm};
use fleet::planning::binding::is_granted;
use model::ids::NodeName;
use model::time::Moment;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

#[derive(Debug, Default)]
pub(super) struct Inner {
    pub(super) drones: BTreeMap<Key, Arc<Drone>>,
    pub(super) drone_of_uid: HashMap<String, Key>,
    pub(super) on_node: HashMap<String, BTreeSet<Key>>,
    /// The Drones that name a Swarm as their owner, by its uid.
    pub(super) of_swarm: HashMap<String, BTreeMap<Key, Arc<Drone>>>,
    /// The same for Missions.
    pub(super) of_mission: HashMap<String, BTreeMap<Key, Arc<Drone>>>,
    /// Drones whose vehicles may leave the columns above their homes.
    pub(super) roaming: BTreeSet<Key>,
    pub(super) pending: Pending,
    pub(super) swarms: BTreeMap<Key, Arc<Swarm>>,
    pub(super) swarm_of_uid: HashMap<String, Key>,
    pub(super) nodes: BTreeMap<NodeName, Arc<NodeFacts>>,
    pub(super) declared_down: BTreeMap<NodeName, Moment>,
    pub(super) claims: HashMap<String, Claim>,
    pub(super) claimed_by: HashMap<String, String>,
    pub(super) reserved: HashMap<String, String>,
    /// Bound Drones by the hardware number of their vehicle.
    of_hardware: HashMap<String, BTreeSet<Key>>,
    /// Hardware numbers that several agents have reported at one time.
    shared_hardware: HashSet<String>,
}

/// Limit of remembered shared numbers. One beyond it counts as that of one airframe: that keeps vehicles on the ground, and lets none fly.
pub(super) const MAX_SHARED_NUMBERS: usize = 1000;

fn hardware(drone: &Drone) -> Option<&str> {
    drone.spec.node_name.as_ref()?;
    drone.status.as_ref()?.vehicle.as_ref()?.hardware_uid.as_deref()
}

impl Inner {
    pub(super) fn index(&mut self, key: &Key, drone: &Arc<Drone>) {
        self.drone_of_uid.insert(uid(drone.as_ref()).to_owned(), key.clone());
        for (of, owner) in [
            (&mut self.of_swarm, owner(drone)),
            (&mut self.of_mission, mission(drone)),
        ] {
            if let Some((owner, _)) = owner {
                let members = of.entry(owner.to_owned()).or_default();
                members.insert(key.clone(), Arc::clone(drone));
            }
        }
        if roams(drone) {
            self.roaming.insert(key.clone());
        }
        if let Some(hardware) = hardware(drone) {
            let served = self.of_hardware.entry(hardware.to_owned()).or_default();
            served.insert(key.clone());
        }
        match &drone.spec.node_name {
            Some(node) => {
                self.on_node.entry(node.clone()).or_default().insert(key.clone());
            }
            None => {
                if let Some(request) = VehicleRequest::of_waiting(drone) {
                    self.pending.insert(request, key.clone());
                }
            }
        }
    }

    pub(super) fn unindex(&mut self, key: &Key, drone: &Drone) {
        self.drone_of_uid.remove(uid(drone));
        self.roaming.remove(key);
        for (of, owner) in [
            (&mut self.of_swarm, owner(drone)),
            (&mut self.of_mission, mission(drone)),
        ] {
            if let Some((owner, _)) = owner
                && let Some(members) = of.get_mut(owner)
            {
                members.remove(key);
                if members.is_empty() {
                    of.remove(owner);
                }
            }
        }
        if let Some(hardware) = hardware(drone)
            && let Some(served) = self.of_hardware.get_mut(hardware)
        {
            served.remove(key);
            if served.is_empty() {
                self.of_hardware.remove(hardware);
            }
        }
        match &drone.spec.node_name {
            Some(node) => {
                if let Some(keys) = self.on_node.get_mut(node) {
                    keys.remove(key);
                    if keys.is_empty() {
                        self.on_node.remove(node);
                    }
                }
            }
            None => {
                if let Some(request) = VehicleRequest::of_waiting(drone) {
                    self.pending.remove(&request, key);
                }
            }
        }
    }

    /// Whether `key` is in the namespace of the Swarm with this uid: an owner reference counts in its own namespace only.
    pub(super) fn is_beside(&self, swarm: &str, key: &Key) -> bool {
        let swarm = self.swarm_of_uid.get(swarm);
        swarm.is_none_or(|swarm| swarm.namespace == key.namespace)
    }

    pub(super) fn swarm_of(&self, key: &Key, drone: &Drone) -> Option<&Key> {
        let (swarm, _) = owner(drone)?;
        self.swarm_of_uid.get(swarm).filter(|_| self.is_beside(swarm, key))
    }

    pub(super) fn members(&self, swarm: &str) -> impl Iterator<Item = (&Key, &Arc<Drone>)> {
        let naming = self.of_swarm.get(swarm).into_iter().flatten();
        naming.filter(move |(key, _)| self.is_beside(swarm, key))
    }

    pub(super) fn set_claim(&mut self, node: &str, claim: Option<Claim>) {
        let old = match claim {
            Some(claim) => {
                self.claimed_by.insert(claim.uid.clone(), node.to_owned());
                let uid = claim.uid.clone();
                self.claims.insert(node.to_owned(), claim).filter(|old| old.uid != uid)
            }
            None => self.claims.remove(node),
        };
        if let Some(old) = old {
            self.claimed_by.remove(&old.uid);
        }
    }

    /// The node that the Drone `old` was bound to or had claimed, if `new` (or its deletion) gives it up.
    pub(super) fn left_behind(&self, old: &Drone, new: Option<&Drone>) -> Option<String> {
        let had = old.spec.node_name.as_ref().or_else(|| self.claimed_by.get(uid(old)))?;
        let has = new.filter(|new| uid(*new) == uid(old));
        let has = has.is_some_and(|new| new.spec.node_name.as_ref().is_none_or(|node| node == had));
        (!has).then(|| had.clone())
    }

    pub(super) fn naming<'a>(&'a self, node: &str) -> impl Iterator<Item = (&'a Key, &'a Arc<Drone>)> + use<'a> {
        let keys = self.on_node.get(node).into_iter().flatten();
        keys.filter_map(move |key| Some((key, self.drones.get(key)?)))
    }

    /// The nodes but `node` whose Drone this airframe serves, not known to be on the ground. None where several airframes have the number.
    pub(super) fn flying_elsewhere(&self, hardware: &str, node: &str) -> Vec<NodeName> {
        let tells = !self.shared_hardware.contains(hardware);
        let keys = self.of_hardware.get(hardware).filter(|_| tells).into_iter().flatten();
        let drones = keys.filter_map(|key| self.drones.get(key));
        let may_fly = drones.filter(|drone| drone.status.as_ref().is_some_and(|status| status.flying != Some(false)));
        let nodes = may_fly.filter_map(|drone| drone.spec.node_name.as_deref());
        nodes
            .filter(|other| *other != node)
            .filter_map(|other| NodeName::parse(other).ok())
            .collect()
    }

    /// Several airframes have this number. Numbers of no bound Drone are forgotten first: they are found again when they matter.
    pub(super) fn share_hardware(&mut self, hardware: String) {
        if self.shared_hardware.len() >= MAX_SHARED_NUMBERS && !self.shared_hardware.contains(&hardware) {
            let bound = &self.of_hardware;
            self.shared_hardware.retain(|number| bound.contains_key(number));
        }
        if self.shared_hardware.len() < MAX_SHARED_NUMBERS {
            self.shared_hardware.insert(hardware);
        }
    }

    #[cfg(test)]
    pub(super) fn shared_hardware_count(&self) -> usize {
        self.shared_hardware.len()
    }

    pub(super) fn holder(&self, node: &str) -> Option<&str> {
        self.claims.get(node).map(|claim| claim.uid.as_str())
    }

    pub(super) fn is_in_service(&self, node: &str) -> bool {
        let holder = self.holder(node);
        self.naming(node).any(|(_, drone)| has_node(drone, holder, None))
    }

    /// Whether another Drone than `me` has `node` reserved, has it, or holds a valid claim; or names it from a namespace that its vehicle
    /// is granted to, and so is about to get it. One of another namespace takes nothing by naming it. (Where only granted vehicles may be
    /// used, one without a grant is free for nobody.) A claim whose holder is unknown does not count; a Drone that wants it asks the API
    /// server.
    pub(super) fn taken(&self, node: &str, me: &str) -> bool {
        if self.reserved.get(node).is_some_and(|other| other != me) {
            return true;
        }
        let facts = NodeName::parse(node).ok().and_then(|node| self.nodes.get(&node));
        let may_get = |key: &Key| facts.is_some_and(|facts| is_granted(&key.namespace, &facts.labels, false));
        let holder = self.holder(node);
        let takes = |key: &Key, drone: &Drone| has_node(drone, holder, None) || was_served(drone) || may_get(key);
        let mut others = self.naming(node).filter(|(_, drone)| uid(drone.as_ref()) != me);
        if others.any(|(key, drone)| takes(key, drone)) {
            return true;
        }
        let holder = self.claims.get(node).filter(|claim| claim.uid != me);
        let holder = holder
            .and_then(|claim| self.drone_of_uid.get(&claim.uid))
            .and_then(|key| self.drones.get(key));
        holder.is_some_and(|drone| drone.spec.node_name.as_deref().is_none_or(|bound| bound == node))
    }
}
