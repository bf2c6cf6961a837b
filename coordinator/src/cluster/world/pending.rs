//! The Drones that have no vehicle yet, by what they request, with the vehicles that suit.
//!
//! Owns: [`VehicleRequest`], equal for Drones with equal requests, so that all nodes are gone through once for all of them; how long a
//! [`Shortlist`] counts; which Drone tries next a vehicle that may be free. Must not: check a vehicle, or read a clock.

use crate::cluster::key::Key;
use crate::cluster::world::{mission, owner};
use crds::Drone;
use fleet::planning::binding::NoVehicle;
use model::ids::NodeName;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::time::Duration;
use tokio::time::Instant;

/// How long a list counts; a better vehicle that came since is overlooked for no longer.
pub const SHORTLIST_FRESH_FOR: Duration = Duration::from_secs(1);

/// How long an empty result counts, while no change is observed.
pub const EMPTY_SHORTLIST_FRESH_FOR: Duration = Duration::from_secs(30);

/// Between two searches of all nodes for one request.
pub const MIN_SEARCH_INTERVAL: Duration = Duration::from_millis(200);

/// Drones of one request that are woken for a vehicle that may be free: some may have found one by then. There may be thousands.
const WOKEN_AT_ONCE: usize = 16;

/// Limit of remembered free vehicles.
const MAX_SHORTLIST: usize = 10_000;

/// What a Drone asks of a vehicle: all that [`fleet::planning::binding`] checks but for what is the Swarm's.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VehicleRequest {
    /// Vehicles may be granted to some namespaces.
    namespace: Option<String>,
    /// `metadata.uid` of the controlling Swarm.
    swarm: Option<String>,
    is_for_mission: bool,
    pub selector: BTreeMap<String, String>,
    reserve: Option<i32>,
}

impl VehicleRequest {
    pub fn of(drone: &Drone) -> Self {
        Self {
            namespace: drone.metadata.namespace.clone(),
            swarm: owner(drone).map(|(uid, _)| uid.to_owned()),
            is_for_mission: mission(drone).is_some(),
            selector: drone.spec.node_selector.clone(),
            reserve: drone.spec.failsafe.as_ref().map(|failsafe| failsafe.reserve_percent),
        }
    }

    /// `None` if `drone` needs no vehicle: it has one, or is being deleted.
    pub(super) fn of_waiting(drone: &Drone) -> Option<Self> {
        let waits = drone.spec.node_name.is_none() && drone.metadata.deletion_timestamp.is_none();
        waits.then(|| Self::of(drone))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// It suited when it was put on the list.
    Try(NodeName),
    /// All nodes have to be gone through.
    NotSearched,
    /// None suits. When to check again at the latest, if that may be old.
    None(NoVehicle, Option<Duration>),
    /// All that suited are taken; when to check again.
    Exhausted(Duration),
}

#[derive(Debug)]
pub struct Shortlist {
    pub nodes: VecDeque<NodeName>,
    pub none: Option<NoVehicle>,
    pub cut: bool,
    /// When all nodes were gone through.
    pub at: Instant,
    /// The count of changes observed by then.
    pub changes: u64,
}

impl Shortlist {
    fn next(&mut self, changes: u64, now: Instant) -> Found {
        let age = now.saturating_duration_since(self.at);
        let old = age >= SHORTLIST_FRESH_FOR;
        if !old && let Some(node) = self.nodes.pop_front() {
            return Found::Try(node);
        }
        match &self.none {
            Some(none) if self.changes == changes && age < EMPTY_SHORTLIST_FRESH_FOR => Found::None(none.clone(), None),
            Some(none) if !old => Found::None(none.clone(), Some(SHORTLIST_FRESH_FOR - age)),
            None if !self.cut && age < MIN_SEARCH_INTERVAL => Found::Exhausted(MIN_SEARCH_INTERVAL - age),
            Some(_) | None => Found::NotSearched,
        }
    }
}

#[derive(Debug, Default)]
struct Group {
    drones: BTreeSet<Key>,
    /// The last that was woken for a vehicle.
    last: Option<Key>,
    list: Option<Shortlist>,
}

impl Group {
    fn some(&mut self, most: usize) -> Vec<Key> {
        let after = self.last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let rest = self.drones.range((after, Bound::Unbounded));
        let woken: Vec<Key> = rest
            .chain(&self.drones)
            .take(most.min(self.drones.len()))
            .cloned()
            .collect();
        self.last = woken.last().cloned();
        woken
    }
}

#[derive(Debug, Default)]
pub struct Pending {
    groups: BTreeMap<VehicleRequest, Group>,
    /// Counts changes that may matter to them.
    changes: u64,
}

impl Pending {
    pub(super) fn insert(&mut self, request: VehicleRequest, key: Key) {
        self.groups.entry(request).or_default().drones.insert(key);
    }

    pub(super) fn remove(&mut self, request: &VehicleRequest, key: &Key) {
        if let Some(group) = self.groups.get_mut(request) {
            group.drones.remove(key);
            if group.drones.is_empty() {
                self.groups.remove(request);
            }
        }
    }

    /// A change that may matter to all; returns the Drones to wake.
    pub(super) fn changed(&mut self) -> Vec<Key> {
        self.changes += 1;
        self.groups
            .values_mut()
            .flat_map(|group| group.some(WOKEN_AT_ONCE))
            .collect()
    }

    /// A Drone with `request` needs it no more, and may have been woken alone for a vehicle; returns the one to wake in its place.
    pub(super) fn passed_on(&mut self, request: &VehicleRequest) -> Option<Key> {
        self.groups.get_mut(request)?.some(1).pop()
    }

    /// The vehicle of `node` may be free; returns the Drones to wake, of requests that `wants` accepts.
    pub(super) fn may_be_free(&mut self, node: &NodeName, wants: impl Fn(&VehicleRequest) -> bool) -> Vec<Key> {
        self.changes += 1;
        let groups = self.groups.iter_mut().filter(|(request, _)| wants(request));
        let groups = groups.flat_map(|(_, group)| {
            if let Some(list) = group.list.as_mut().filter(|list| list.nodes.len() < MAX_SHORTLIST) {
                list.nodes.push_back(node.clone());
            }
            group.some(WOKEN_AT_ONCE)
        });
        groups.collect()
    }

    /// The requirements of the Swarm `swarm` may have changed: results of searches under way are stale.
    pub(super) fn invalidate(&mut self, swarm: &str) {
        self.changes += 1;
        for (request, group) in &mut self.groups {
            if request.swarm.as_deref() == Some(swarm) {
                group.list = None;
            }
        }
    }

    pub(super) fn find(&mut self, request: &VehicleRequest, now: Instant) -> Found {
        let list = self.groups.get_mut(request).and_then(|group| group.list.as_mut());
        list.map_or(Found::NotSearched, |list| list.next(self.changes, now))
    }

    pub(super) fn keep(&mut self, request: &VehicleRequest, list: Shortlist) {
        if let Some(group) = self.groups.get_mut(request) {
            group.list = Some(list);
        }
    }

    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }
}
