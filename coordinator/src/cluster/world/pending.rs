//! The Drones that have no vehicle yet, by what they request, with the vehicles that would do.
//!
//! Owns: [`VehicleRequest`], which is the same for all that request the same, so that going through all nodes is done for all of
//! them at once and not for each; [`Shortlist`], how long what was found then counts; which Drone tries a vehicle next that
//! may be free. Must not: check a vehicle, or read a clock.

use crate::cluster::key::Key;
use crate::cluster::world::{mission, owner};
use crds::Drone;
use fleet::planning::binding::NoVehicle;
use model::ids::NodeName;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::time::Duration;
use tokio::time::Instant;

/// What was found counts for this long; a better vehicle that came since is overlooked for no longer.
pub const FRESH: Duration = Duration::from_secs(1);

/// That there was none counts for this long, while nothing is observed that would change it.
pub const OLD: Duration = Duration::from_secs(30);

/// All nodes are not gone through again sooner than this for those that request the same.
pub const REST: Duration = Duration::from_millis(200);

/// A vehicle that may be free is tried by so many of those that request the same: some may have found one by then. The
/// others are not woken; there may be thousands.
const WOKEN_AT_ONCE: usize = 16;

/// Vehicles that came to be free are remembered, this many of them.
const MAX_SHORTLIST: usize = 10_000;

/// What a Drone asks of a vehicle. It holds all that [`fleet::planning::binding`] checks but for what is the Swarm's: one with the same
/// request can take the same vehicles.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VehicleRequest {
    /// Its namespace: vehicles may be granted to some.
    namespace: Option<String>,
    /// `metadata.uid` of the Swarm that controls it.
    swarm: Option<String>,
    is_for_mission: bool,
    /// `spec.nodeSelector`.
    pub selector: BTreeMap<String, String>,
    /// `spec.failsafe.reservePercent`.
    reserve: Option<i32>,
}

impl VehicleRequest {
    /// That of `drone`.
    pub fn of(drone: &Drone) -> Self {
        Self {
            namespace: drone.metadata.namespace.clone(),
            swarm: owner(drone).map(|(uid, _)| uid.to_owned()),
            is_for_mission: mission(drone).is_some(),
            selector: drone.spec.node_selector.clone(),
            reserve: drone.spec.failsafe.as_ref().map(|failsafe| failsafe.reserve_percent),
        }
    }

    /// That of `drone` if it needs a vehicle: it has none, and is not being deleted.
    pub(super) fn of_waiting(drone: &Drone) -> Option<Self> {
        let waits = drone.spec.node_name.is_none() && drone.metadata.deletion_timestamp.is_none();
        waits.then(|| Self::of(drone))
    }
}

/// What is known of the vehicles that would do.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// This one may: it did when it was put on the list.
    Try(NodeName),
    /// Nothing: all nodes have to be gone through.
    NotSearched,
    /// There is none. When to check again at the latest, if that may be old.
    None(NoVehicle, Option<Duration>),
    /// All that would do are gone; when to check again.
    Exhausted(Duration),
}

/// The vehicles that would do, as they were found.
#[derive(Debug)]
pub struct Shortlist {
    /// Best first.
    pub nodes: VecDeque<NodeName>,
    /// Why there was none, if so.
    pub none: Option<NoVehicle>,
    pub cut: bool,
    /// When all nodes were gone through.
    pub at: Instant,
    /// The changes that had been observed by then.
    pub changes: u64,
}

impl Shortlist {
    fn next(&mut self, changes: u64, now: Instant) -> Found {
        let age = now.saturating_duration_since(self.at);
        let old = age >= FRESH;
        if !old && let Some(node) = self.nodes.pop_front() {
            return Found::Try(node);
        }
        match &self.none {
            Some(none) if self.changes == changes && age < OLD => Found::None(none.clone(), None),
            Some(none) if !old => Found::None(none.clone(), Some(FRESH - age)),
            None if !self.cut && age < REST => Found::Exhausted(REST - age),
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
    /// Counts what may be news to them.
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

    /// Something changed that may be news to all: which are to be woken.
    pub(super) fn changed(&mut self) -> Vec<Key> {
        self.changes += 1;
        self.groups
            .values_mut()
            .flat_map(|group| group.some(WOKEN_AT_ONCE))
            .collect()
    }

    /// One that had `request` needs it no more. It may have been woken for a vehicle meanwhile, and no other: which is to be
    /// woken in its place.
    pub(super) fn passed_on(&mut self, request: &VehicleRequest) -> Option<Key> {
        self.groups.get_mut(request)?.some(1).pop()
    }

    /// The vehicle of `node` may be free, which does for those that `wants` says: which are to be woken.
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

    /// What the Swarm `swarm` asks of a vehicle may have changed, and what is being found just now is of before.
    pub(super) fn invalidate(&mut self, swarm: &str) {
        self.changes += 1;
        for (request, group) in &mut self.groups {
            if request.swarm.as_deref() == Some(swarm) {
                group.list = None;
            }
        }
    }

    /// What is known of the vehicles for `request`.
    pub(super) fn find(&mut self, request: &VehicleRequest, now: Instant) -> Found {
        let list = self.groups.get_mut(request).and_then(|group| group.list.as_mut());
        list.map_or(Found::NotSearched, |list| list.next(self.changes, now))
    }

    /// Keeps what was found for `request`.
    pub(super) fn keep(&mut self, request: &VehicleRequest, list: Shortlist) {
        if let Some(group) = self.groups.get_mut(request) {
            group.list = Some(list);
        }
    }

    /// How many changes have been observed.
    pub(super) const fn changes(&self) -> u64 {
        self.changes
    }
}
