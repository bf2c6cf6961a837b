//! Which vehicle owns which airspace, as far as reports show it.
//!
//! Owns: [`Claims`]: the claims of vehicles and foreign traffic, and conflicts between them.
//! Must not: grant; [`crate::safety::may_fly`] does, and only it calls `Claims::take`.

use super::beyond::{Heard, ReturnHeight, Traffic, climbs};
use super::claim::{Claim, Doing, Known, Neighbor, NotFit, Observation, State, Unsteady};
use super::index::{Index, Key};
use super::sightings::Sightings;
use super::{Around, Margin, Route, Rules, Volume};
use model::geo::Local;
use model::ids::{NodeName, Term};
use model::route_order::OrderNumber;
use model::time::Moment;
use model::traffic::has_address;
use model::units::Meters;
use std::collections::{BTreeMap, BTreeSet};

/// Approach from which on a route leads nearer to a danger.
const DANGER_APPROACH_M: f64 = 1.0;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// By its node.
    Vehicle(NodeName),
    /// By its ICAO address.
    Traffic(u32),
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vehicle(node) => write!(f, "the vehicle of node {node}"),
            Self::Traffic(icao) if has_address(*icao) => write!(f, "aircraft {icao:06X}"),
            Self::Traffic(_) => f.write_str("an aircraft without an address"),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Claims {
    rules: Rules,
    term: Term,
    count: u64,
    keys: u32,
    vehicles: BTreeMap<NodeName, Claim>,
    traffic: Sightings<(Key, Traffic)>,
    /// Vehicles of ours whose transponder a sighting may be: to them it is in no way.
    own: BTreeMap<Key, BTreeSet<NodeName>>,
    /// Vehicles that were found on ways through what others own.
    intruders: BTreeSet<NodeName>,
    owners: BTreeMap<Key, Owner>,
    clock: Option<Moment>,
    index: Index,
}

impl Claims {
    /// For a new leadership. Add all known vehicles before anything is granted.
    pub fn new(term: Term, rules: Rules) -> Self {
        Self {
            rules,
            term,
            count: 0,
            keys: 0,
            vehicles: BTreeMap::new(),
            traffic: Sightings::default(),
            own: BTreeMap::new(),
            intruders: BTreeSet::new(),
            owners: BTreeMap::new(),
            clock: None,
            index: Index::default(),
        }
    }

    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Until this vehicle is heard it owns what is known of it; newer knowledge replaces that.
    pub fn expect(&mut self, vehicle: NodeName, known: Known, now: Moment) {
        if let Some(entry) = self.vehicles.get_mut(&vehicle) {
            if entry.last.is_none() && entry.known != known {
                entry.known = known;
                self.refresh(&vehicle, now);
            }
            return;
        }
        let key = self.next_key(Owner::Vehicle(vehicle.clone()));
        let entry = Claim::unheard(key, known);
        self.vehicles.insert(vehicle.clone(), entry);
        self.refresh(&vehicle, now);
    }

    /// Takes note of what a neighboring site observes of a vehicle; `None`: nothing.
    pub(crate) fn note_neighbor(&mut self, vehicle: &NodeName, observed: Option<Neighbor>) {
        if let Some(entry) = self.vehicles.get_mut(vehicle) {
            entry.neighbor = observed;
        }
    }

    /// Observations of a vehicle here, for neighboring sites.
    pub(crate) fn neighbor(&self, vehicle: &NodeName, now: Moment) -> Option<Neighbor> {
        let owner = Owner::Vehicle(vehicle.clone());
        let (at, velocity) = self.last_flight(&owner)?;
        Some(Neighbor {
            at,
            velocity,
            foreseen: self.foreseen(&owner, now).filter(|_| self.is_stray(&owner, now)),
            has_grown: self.has_grown(&owner, now),
            returns: self.is_returning(&owner),
        })
    }

    /// A vehicle reported its home; its failsafes return at `return_height`.
    pub fn has_home(&mut self, vehicle: &NodeName, home: Local, return_height: ReturnHeight) {
        if let Some(entry) = self.vehicles.get_mut(vehicle) {
            (entry.known.home, entry.known.return_height) = (home, return_height);
        }
    }

    /// A vehicle turns so much farther from the places of its plan than others do; 0: no more.
    pub(crate) fn cuts_corners(&mut self, vehicle: &NodeName, by: Meters, now: Moment) {
        if let Some(entry) = self.vehicles.get_mut(vehicle).filter(|entry| entry.corners() != by) {
            entry.cuts_corners(by);
            self.refresh(vehicle, now);
        }
    }

    /// The failsafes of a vehicle, or its return, may lead elsewhere than straight home: silent, it may be anywhere that it could fly to.
    pub(crate) fn takes_detours(&mut self, vehicle: &NodeName, detours: bool, now: Moment) {
        if let Some(entry) = self
            .vehicles
            .get_mut(vehicle)
            .filter(|entry| entry.detours() != detours)
        {
            entry.takes_detours(detours);
            self.refresh(vehicle, now);
        }
    }

    pub(crate) fn corners(&self, vehicle: &NodeName) -> Meters {
        self.vehicles.get(vehicle).map_or(Meters(0.0), Claim::corners)
    }

    /// A vehicle on the ground may take off along `route` at any moment, by an order without a route; `None`: no more.
    pub fn claim_takeoff(&mut self, vehicle: &NodeName, route: Option<Route>, now: Moment) {
        if let Some(entry) = self.vehicles.get_mut(vehicle).filter(|entry| entry.takeoff != route) {
            entry.takeoff = route;
            self.refresh(vehicle, now);
        }
    }

    /// Where a vehicle will be after its takeoff by an order without a route.
    pub(crate) fn takeoff_end(&self, vehicle: &NodeName) -> Option<Local> {
        Some(self.vehicles.get(vehicle)?.takeoff.as_ref()?.end())
    }

    /// A vehicle over its home is to land along `route`; `None`: no more.
    pub fn claim_landing(&mut self, vehicle: &NodeName, route: Option<Route>, now: Moment) {
        if let Some(entry) = self.vehicles.get_mut(vehicle).filter(|entry| entry.landing != route) {
            entry.landing = route;
            self.refresh(vehicle, now);
        }
    }

    /// A person has declared that this vehicle is not in the air, or its node is gone for good.
    pub fn forget(&mut self, vehicle: &NodeName) {
        if let Some(entry) = self.vehicles.remove(vehicle) {
            self.let_go(entry.key);
        }
        self.intruders.remove(vehicle);
    }

    /// A report no newer than the last changes nothing, unless the path of its plan became known only now.
    pub fn observe(&mut self, vehicle: &NodeName, observed: Observation, now: Moment) {
        let rules = self.rules;
        // A route that no leader has granted is no claim: the vehicle may fly anywhere.
        let by_itself = matches!(
            observed.doing,
            Doing::Grounded | Doing::Returning | Doing::Descending | Doing::Unplanned { .. }
        );
        let granted_by_none = observed.order > self.last_number() && !by_itself;
        let Some(entry) = self.vehicles.get_mut(vehicle) else {
            return;
        };
        let is_old = entry.last.as_ref().is_some_and(|last| observed.heard <= last.heard);
        if is_old && !entry.explains(&observed) {
            return;
        }
        let observed = match granted_by_none {
            true => Observation {
                order: entry.granted,
                doing: Doing::Other,
                ..observed
            },
            false => observed,
        };
        entry.take_in(observed, &rules);
        self.refresh(vehicle, now);
    }

    /// Somebody else flies a vehicle in the air, or its autopilot `lands` it by itself, as a report says that does not say where it is, or only where
    /// it was before: since it was heard last it may have gone anywhere. One that was not heard yet, or was known to be in other hands, stays what
    /// it is. `order` is the last that its agent took.
    pub fn lose_sight(&mut self, vehicle: &NodeName, order: OrderNumber, lands: bool, now: Moment) {
        if let Some(entry) = self.vehicles.get_mut(vehicle) {
            entry.lose_sight(order, lands);
        }
        self.refresh(vehicle, now);
    }

    /// A vehicle is on the ground, as a report that was received `then` says without a place. One that was in other hands goes no farther.
    pub fn comes_down(&mut self, vehicle: &NodeName, then: Moment, now: Moment) {
        if let Some(entry) = self.vehicles.get_mut(vehicle) {
            entry.comes_down(then);
        }
        self.refresh(vehicle, now);
    }

    /// Whether it was observed where a vehicle is.
    pub(crate) fn was_heard(&self, vehicle: &NodeName) -> bool {
        self.vehicles.get(vehicle).is_some_and(|entry| entry.last.is_some())
    }

    /// Takes on what a vehicle flies by an order of the leader before: it owns `route` from where it is.
    pub(crate) fn adopt(&mut self, vehicle: &NodeName, route: &Route, now: Moment) {
        if let Some(entry) = self.vehicles.get_mut(vehicle)
            && let (State::Air { way, flying: true }, Some(last)) = (&mut entry.state, &entry.last)
        {
            *way = route.from(last.at, last.margin);
        }
        self.refresh(vehicle, now);
    }

    /// A vehicle was found on a way through what another owns: all keep clear of it until it owns its airspace alone.
    pub(crate) fn count_as_intruder(&mut self, vehicle: &NodeName) {
        self.intruders.insert(vehicle.clone());
    }

    /// Whether it is still such an intruder.
    pub(crate) fn intrudes(&self, vehicle: &NodeName) -> bool {
        self.intruders.contains(vehicle)
    }

    pub(crate) fn may_be_anywhere(&self, owner: &Owner) -> bool {
        self.key(owner).is_some_and(|key| self.index.is_everywhere(key))
    }

    /// Routes are numbered from `count` on: all sites of a leadership share one sequence.
    pub(crate) const fn count_on_from(&mut self, count: u64) {
        if count > self.count {
            self.count = count;
        }
    }

    /// Highest route number of this leadership known here.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    const fn last_number(&self) -> OrderNumber {
        OrderNumber {
            term: self.term,
            count: self.count,
        }
    }

    /// A sighting no newer than the reporter's last changes nothing.
    pub fn hear_traffic(&mut self, reporter: &NodeName, traffic: Traffic, now: Moment) {
        self.hear_traffic_of(reporter, traffic, BTreeSet::new(), now);
    }

    /// The same of what may be the transponder of each of `own`, by where these say that they are: it is in the way of all others, since one
    /// of them may lie (invariant 18).
    pub(crate) fn hear_traffic_of(
        &mut self,
        reporter: &NodeName,
        traffic: Traffic,
        own: BTreeSet<NodeName>,
        now: Moment,
    ) {
        let known = self.traffic.last(traffic.icao, reporter);
        if known.is_some_and(|(last, _)| traffic.heard <= *last) {
            return;
        }
        let known = known.map(|(_, (key, _))| *key);
        let key = known.unwrap_or_else(|| self.next_key(Owner::Traffic(traffic.icao)));
        let before = self
            .traffic
            .put((traffic.icao, reporter), traffic.heard, (key, traffic));
        if let Some((gone, _)) = before.filter(|(gone, _)| *gone != key) {
            self.let_go(gone);
        }
        self.own.insert(key, own);
        self.index.set(key, traffic.volume(now));
    }

    /// Drops what `reporter` saw last at this address, if it has `heard` since that this is no aircraft of others.
    pub(crate) fn forget_traffic(&mut self, reporter: &NodeName, icao: u32, heard: Moment) {
        let known = self.traffic.last(icao, reporter);
        if known.is_some_and(|(last, _)| heard > *last)
            && let Some((gone, _)) = self.traffic.remove(icao, reporter)
        {
            self.let_go(gone);
        }
    }

    /// Vehicles of ours that were last heard within `distance` of `there` over ground, meters.
    pub(crate) fn who_is_within(&self, there: Local, distance: f64) -> BTreeSet<NodeName> {
        let is_near = |last: &Heard| last.at.over_ground(there) <= distance;
        let near = self.vehicles.iter();
        let near = near.filter(|(_, entry)| entry.last.as_ref().is_some_and(is_near));
        near.map(|(name, _)| name.clone()).collect()
    }

    /// Whether this vehicle of ours, also one of a neighboring site, was last heard so near.
    pub(crate) fn is_within(&self, vehicle: &NodeName, there: Local, distance: f64) -> bool {
        let known = self.last_flight(&Owner::Vehicle(vehicle.clone()));
        known.is_some_and(|(at, _)| at.over_ground(there) <= distance)
    }

    fn is_own(&self, vehicle: &NodeName, sighting: Key) -> bool {
        self.own.get(&sighting).is_some_and(|own| own.contains(vehicle))
    }

    /// Whether another stands on the ground within `distance` of `there` over ground, meters, at any altitude.
    pub(crate) fn another_stands_within(&self, vehicle: &NodeName, there: Local, distance: f64) -> bool {
        let stands = |key: &Key| match self.owners.get(key) {
            Some(Owner::Vehicle(other)) if other != vehicle => {
                let at = self.place(other).filter(|(_, on_ground)| *on_ground);
                at.is_some_and(|(at, _)| at.over_ground(there) < distance)
            }
            Some(_) | None => false,
        };
        self.index.around(there, distance).iter().any(stands)
    }

    /// Grows what depends on time, and forgets old traffic. Every request for a route does this first.
    pub fn advance(&mut self, now: Moment) {
        if self.clock == Some(now) {
            return;
        }
        self.clock = Some(now);
        let changing: Vec<NodeName> = self
            .vehicles
            .iter()
            .filter(|(_, entry)| entry.unsteady(now, &self.rules).is_some() || entry.is_lent())
            .map(|(name, _)| name.clone())
            .collect();
        for vehicle in &changing {
            self.refresh(vehicle, now);
        }
        let then = Moment::at(now.since_epoch().saturating_sub(self.rules.traffic_kept));
        for (key, _) in self.traffic.forget_before(then) {
            self.let_go(key);
        }
        for (_, (key, traffic)) in self.traffic.all() {
            self.index.set(*key, traffic.volume(now));
        }
        let mut intruders = std::mem::take(&mut self.intruders);
        intruders.retain(|name| {
            let near = self.near(&Owner::Vehicle(name.clone()));
            near.iter().any(|owner| !self.may_be_anywhere(owner))
        });
        self.intruders = intruders;
    }

    fn let_go(&mut self, key: Key) {
        self.index.remove(key);
        self.owners.remove(&key);
        self.own.remove(&key);
    }

    pub(super) const fn clock(&self) -> Option<Moment> {
        self.clock
    }

    pub(super) fn margin(&self, vehicle: &NodeName) -> Option<Margin> {
        Some(self.vehicles.get(vehicle)?.margin(&self.rules))
    }

    /// Owners that do not keep to their grants, or may not because of a large position error; foreign traffic, too. Not silent vehicles:
    /// most of them keep to their claims.
    pub(super) fn strays(&self, now: Moment) -> BTreeSet<Owner> {
        let vehicles = self.vehicles.keys().cloned().map(Owner::Vehicle);
        let all = vehicles.chain(self.traffic.aircraft().map(Owner::Traffic));
        all.filter(|owner| self.is_stray(owner, now)).collect()
    }

    pub(super) fn is_stray(&self, owner: &Owner, now: Moment) -> bool {
        let strays = |entry: &Claim| {
            let unsteady = entry.unsteady(now, &self.rules);
            unsteady.is_some_and(|why| why != Unsteady::Silent)
                || entry.grown(now, &self.rules).is_some()
                || entry.neighbor().is_some_and(|there| there.foreseen.is_some())
        };
        match owner {
            Owner::Vehicle(name) => self.intruders.contains(name) || self.vehicles.get(name).is_some_and(strays),
            Owner::Traffic(_) => true,
        }
    }

    /// Whether a vehicle is in the air without our orders, as last heard, or by an order whose path is not known here.
    pub fn is_in_other_hands(&self, vehicle: &NodeName) -> bool {
        let state = self.vehicles.get(vehicle).map(|entry| &entry.state);
        matches!(state, Some(State::Other { .. } | State::Unplanned { in_air: true, .. }))
    }

    pub(super) fn is_wide(&self, owner: &Owner) -> bool {
        match owner {
            Owner::Vehicle(name) => self.vehicles.get(name).is_some_and(|entry| {
                entry.is_wide(&self.rules) || entry.neighbor().is_some_and(|there| there.has_grown)
            }),
            Owner::Traffic(_) => false,
        }
    }

    /// Whether a vehicle keeps to its claim by its own estimate, but with a larger error than usual.
    pub(crate) fn has_grown(&self, owner: &Owner, now: Moment) -> bool {
        match owner {
            Owner::Vehicle(name) => {
                let grown = |entry: &Claim| {
                    let there = entry.neighbor().is_some_and(|there| there.has_grown);
                    there || entry.grown(now, &self.rules).is_some()
                };
                self.vehicles.get(name).is_some_and(grown)
            }
            Owner::Traffic(_) => false,
        }
    }

    /// Where an owner that does not keep to its claim will be soon, if it flies on as observed.
    pub(super) fn foreseen(&self, owner: &Owner, now: Moment) -> Option<Volume> {
        match owner {
            Owner::Vehicle(name) => {
                let entry = self.vehicles.get(name)?;
                entry
                    .grown(now, &self.rules)
                    .or_else(|| entry.foreseen(now, &self.rules))
                    .or_else(|| entry.neighbor()?.foreseen.clone())
            }
            Owner::Traffic(icao) => self
                .traffic
                .of(*icao)
                .map(|(_, seen)| seen.volume(now))
                .reduce(Volume::and),
        }
    }

    /// The same, less what may be the transponder of `vehicle` itself.
    pub(super) fn foreseen_by(&self, vehicle: &NodeName, owner: &Owner, now: Moment) -> Option<Volume> {
        match owner {
            Owner::Vehicle(_) => self.foreseen(owner, now),
            Owner::Traffic(icao) => {
                let others = self.traffic.of(*icao).filter(|(key, _)| !self.is_own(vehicle, *key));
                others.map(|(_, seen)| seen.volume(now)).reduce(Volume::and)
            }
        }
    }

    /// Vehicles in the air that are not clear of `there`, now or on what is ahead of them, each with what of it counts for them.
    pub(super) fn flying_near(&self, from: &Owner, there: &Volume, now: Moment) -> Vec<(NodeName, Volume)> {
        let Some(key) = self.key(from) else {
            return Vec::new();
        };
        let near = self.named(&self.index.in_the_way(key, there, &self.rules));
        let meets = |name: NodeName| {
            let entry = self.vehicles.get(&name)?;
            let ahead = entry.ahead(now, &self.rules)?;
            let there = match from {
                Owner::Vehicle(_) => there.clone(),
                Owner::Traffic(_) => self.foreseen_by(&name, from, now)?,
            };
            (!ahead.clear_of(&there, &self.rules)).then_some((name, there))
        };
        let vehicles = near.into_iter().filter_map(|owner| match owner {
            Owner::Vehicle(name) => Some(name),
            Owner::Traffic(_) => None,
        });
        vehicles.filter_map(meets).collect()
    }

    pub(super) fn stops_clear_of(&self, vehicle: &NodeName, there: &Volume, now: Moment) -> bool {
        let margin = self.margin(vehicle);
        let stops = self.stop(vehicle, now).zip(margin);
        stops.is_some_and(|(route, margin)| route.volume(margin).clear_of(there, &self.rules))
    }

    /// Whether its route leads nearer to `there` after the place where it can stop.
    pub(super) fn leads_nearer(&self, vehicle: &NodeName, there: &Volume, now: Moment) -> bool {
        let Some((entry, stop)) = self.vehicles.get(vehicle).zip(self.stop(vehicle, now)) else {
            return false;
        };
        let off = |route: &Route| route.volume(entry.margin(&self.rules)).off(there, &self.rules);
        let held = off(&Route::hold(stop.end()));
        entry
            .rest(&stop)
            .is_some_and(|rest| off(&rest) < held - DANGER_APPROACH_M)
    }

    /// The part of its route on which a vehicle can stop; `None` for one that flies no route in full knowledge of its agent, and for one
    /// that arrives as soon as it could stop.
    pub fn stop(&self, vehicle: &NodeName, now: Moment) -> Option<Route> {
        let entry = self.vehicles.get(vehicle)?;
        let late = |last: &Heard| now.since(last.heard) > self.rules.silent_after;
        if entry.unsteady(now, &self.rules).is_some() || entry.last.as_ref().is_none_or(late) {
            return None;
        }
        entry.stop()
    }

    /// Owners whose volumes are not clear of `vehicle` on `route`.
    pub fn in_the_way(&self, vehicle: &NodeName, route: &Route) -> BTreeSet<Owner> {
        let Some(entry) = self.vehicles.get(vehicle) else {
            return BTreeSet::new();
        };
        let volume = route.volume(entry.margin(&self.rules));
        let mut found = self.index.in_the_way(entry.key, &volume, &self.rules);
        found.retain(|key| !self.is_own(vehicle, *key));
        self.named(&found)
    }

    /// Another through which the autopilot of `vehicle` would climb to return from anywhere on `way`, of those that hold, or will, at a
    /// `station`.
    pub(crate) fn climbs_through(
        &self,
        vehicle: &NodeName,
        way: &Route,
        station: impl Fn(&NodeName) -> Option<Route>,
    ) -> Option<NodeName> {
        let entry = self.vehicles.get(vehicle)?;
        let rules = &self.rules;
        let up = Volume::Tubes(climbs(way, entry.known.return_height, entry.margin(rules), rules));
        let near = self.named(&self.index.in_the_way(entry.key, &up, rules));
        near.into_iter().find_map(|owner| {
            let Owner::Vehicle(name) = owner else { return None };
            let (hold, margin) = station(&name).zip(self.margin(&name))?;
            (!hold.volume(margin).clear_of(&up, rules)).then_some(name)
        })
    }

    /// Others in the air, or not known to be on the ground, that are not clear of `vehicle` on `route`: by their places or routes by our orders;
    /// where somebody else flies them, or they are astray, by where they will be soon; and by all that they own where that is not known, or they
    /// are silent: their failsafes may bring them there.
    pub(crate) fn fly_in_the_way(&self, vehicle: &NodeName, route: &Route) -> Vec<NodeName> {
        let Some(entry) = self.vehicles.get(vehicle) else {
            return Vec::new();
        };
        let volume = route.volume(entry.margin(&self.rules));
        let soon = |other: &Claim| {
            let now = self.clock?;
            let heard = other.last.as_ref().map(|last| now.since(last.heard))?;
            let foreseen = other.foreseen(now, &self.rules);
            foreseen.filter(|_| heard <= self.rules.silent_after)
        };
        let flies = |owner: Owner| {
            let Owner::Vehicle(name) = owner else { return None };
            let other = self.vehicles.get(&name)?;
            let unsteady = self.clock.and_then(|now| other.unsteady(now, &self.rules));
            let there = match &other.state {
                State::Ground(_) => return None,
                State::Air { way, .. } => {
                    let ordered = way.volume(other.margin(&self.rules));
                    match unsteady {
                        None => Some(ordered),
                        Some(_) => soon(other).map(|soon| ordered.and(soon)),
                    }
                }
                State::Other { .. } => soon(other),
                State::Unheard | State::Unplanned { .. } => None,
            };
            let is_clear = there.is_some_and(|there| there.clear_of(&volume, &self.rules));
            (!is_clear).then_some(name)
        };
        self.in_the_way(vehicle, route).into_iter().filter_map(flies).collect()
    }

    /// Whether nothing was heard for a while of a vehicle that Skein flies, as of the last update.
    pub(crate) fn is_silent(&self, vehicle: &NodeName) -> bool {
        let known = self.vehicles.get(vehicle).zip(self.clock);
        known.is_some_and(|(entry, now)| entry.unsteady(now, &self.rules) == Some(Unsteady::Silent))
    }

    /// Whether a vehicle that Skein flies was last heard off its place or its route.
    pub(crate) fn is_off_its_way(&self, vehicle: &NodeName) -> bool {
        self.vehicles.get(vehicle).is_some_and(Claim::is_off_its_way)
    }

    pub(crate) fn last_seen(&self, vehicle: &NodeName) -> Option<Local> {
        Some(self.vehicles.get(vehicle)?.last.as_ref()?.at)
    }

    pub fn near(&self, owner: &Owner) -> BTreeSet<Owner> {
        let Some(key) = self.key(owner) else {
            return BTreeSet::new();
        };
        let Some(volume) = self.index.volume(key) else {
            return BTreeSet::new();
        };
        let mut found = self.index.in_the_way(key, volume, &self.rules);
        if let Owner::Vehicle(vehicle) = owner {
            found.retain(|key| !self.is_own(vehicle, *key));
        }
        self.named(&found)
    }

    /// Where a vehicle that could be given a route is, and whether it is on the ground.
    ///
    /// # Errors
    /// [`NotFit`].
    pub fn fit(&self, vehicle: &NodeName, now: Moment) -> Result<(Local, bool), NotFit> {
        let entry = self.vehicles.get(vehicle).ok_or(NotFit::Unknown)?;
        let late = |last: &Heard| now.since(last.heard) > self.rules.silent_after;
        match entry.unsteady(now, &self.rules) {
            Some(Unsteady::NotOurs) => Err(NotFit::NotOurs),
            Some(Unsteady::Astray) => Err(NotFit::Astray),
            Some(Unsteady::Silent) => Err(NotFit::Silent),
            None if entry.last.as_ref().is_none_or(late) => Err(NotFit::Silent),
            None if entry.leaves() => Err(NotFit::UnderWay),
            None => entry.place().ok_or(NotFit::UnderWay),
        }
    }

    /// Where a vehicle holds or is on the ground as last heard, and whether it is on the ground; `None` when not heard, with a route to
    /// fly, or not ours to fly.
    pub fn place(&self, vehicle: &NodeName) -> Option<(Local, bool)> {
        self.vehicles.get(vehicle)?.place()
    }

    /// Where a vehicle will hold or land in the end; `None` when not heard or not ours to fly.
    pub fn end(&self, vehicle: &NodeName) -> Option<Local> {
        self.vehicles.get(vehicle)?.end()
    }

    /// The airspace around the end of its way in which a program may fly it.
    pub fn room(&self, vehicle: &NodeName) -> Option<Around> {
        self.vehicles.get(vehicle)?.room()
    }

    /// Gives `route` to `vehicle`. Only after [`crate::safety::may_fly`] allowed it.
    pub(crate) fn take(&mut self, vehicle: &NodeName, route: &Route, now: Moment) -> OrderNumber {
        let number = self.next_number();
        if let Some(entry) = self.vehicles.get_mut(vehicle) {
            (entry.granted, entry.flown) = (number, number);
            entry.state = State::Air {
                way: route.clone(),
                flying: true,
            };
        }
        self.refresh(vehicle, now);
        number
    }

    /// Numbers an order to `vehicle` to fly a part of its own route. Only after [`crate::safety::may_stop`] found that part. The claim
    /// stays until its agent has taken the order.
    pub(crate) fn shorten(&mut self, vehicle: &NodeName) -> OrderNumber {
        let number = self.next_number();
        if let Some(entry) = self.vehicles.get_mut(vehicle) {
            entry.granted = number;
        }
        number
    }

    const fn next_number(&mut self) -> OrderNumber {
        self.count += 1;
        self.last_number()
    }

    pub fn volume(&self, owner: &Owner) -> Option<&Volume> {
        self.index.volume(self.key(owner)?)
    }

    fn key(&self, owner: &Owner) -> Option<Key> {
        match owner {
            Owner::Vehicle(name) => Some(self.vehicles.get(name)?.key),
            Owner::Traffic(icao) => self.traffic.of(*icao).next().map(|(key, _)| *key),
        }
    }

    pub fn unsteady(&self, now: Moment) -> impl Iterator<Item = (&NodeName, Unsteady)> {
        let rules = self.rules;
        let each = move |(name, entry): (_, &Claim)| Some((name, entry.unsteady(now, &rules)?));
        self.vehicles.iter().filter_map(each)
    }

    /// Lowest and highest altitude of the last observations, meters above mean sea level: for an aircraft, over all reporters.
    pub(super) fn altitudes(&self, owner: &Owner) -> Option<[f64; 2]> {
        match owner {
            Owner::Vehicle(_) => self.last_flight(owner).map(|(at, _)| [at.up; 2]),
            Owner::Traffic(icao) => {
                let all = self.traffic.of(*icao).map(|(_, seen)| [seen.at.up; 2]);
                all.reduce(|[lowest, highest], [low, high]| [lowest.min(low), highest.max(high)])
            }
        }
    }

    pub(super) fn is_returning(&self, owner: &Owner) -> bool {
        match owner {
            Owner::Vehicle(name) => self
                .vehicles
                .get(name)
                .is_some_and(|entry| entry.returns() || entry.neighbor().is_some_and(|there| there.returns)),
            Owner::Traffic(_) => false,
        }
    }

    /// Last observed place and velocity: meters per second east, north and up.
    pub(super) fn last_flight(&self, owner: &Owner) -> Option<(Local, [f64; 3])> {
        match owner {
            Owner::Vehicle(name) => {
                let entry = self.vehicles.get(name)?;
                let here = entry.last.as_ref().map(|last| (last.at, last.velocity));
                here.or_else(|| entry.neighbor().map(|there| (there.at, there.velocity)))
            }
            Owner::Traffic(_) => None,
        }
    }

    /// Whether an owner that does not keep to its claim has come into the route of `vehicle`, which has not set out on it, since the grant;
    /// or one of which nothing is known may have.
    pub fn is_crossed(&self, vehicle: &NodeName, now: Moment) -> bool {
        let way = match self.vehicles.get(vehicle).map(|entry| &entry.state) {
            Some(State::Air { way, flying: true }) => way,
            _ => return false,
        };
        let comes_into = |owner: &Owner| self.is_stray(owner, now) || self.may_be_anywhere(owner);
        self.in_the_way(vehicle, way).iter().any(comes_into) && !self.leads_away(vehicle, way)
    }

    pub fn under_way(&self, vehicle: &NodeName) -> bool {
        let state = self.vehicles.get(vehicle).map(|entry| &entry.state);
        matches!(state, Some(State::Air { flying: true, .. }))
    }

    /// Whether its airspace will be free by itself: it has a route to fly, and no program holds it there.
    pub(crate) fn passes_by(&self, vehicle: &NodeName) -> bool {
        let state = self.vehicles.get(vehicle).map(|entry| &entry.state);
        matches!(state, Some(State::Air { flying: true, way }) if way.room().is_none())
    }

    /// Whether a vehicle holds farther than this from its home over ground, meters, or a part of its way is, by what it owns.
    pub(crate) fn reaches(&self, vehicle: &NodeName, distance: f64) -> bool {
        self.vehicles.get(vehicle).is_some_and(|entry| match &entry.state {
            State::Air { way, .. } => {
                let mut places = way.places().iter();
                places.any(|place| place.over_ground(entry.known.home) > distance)
            }
            State::Unheard | State::Ground(_) | State::Other { .. } | State::Unplanned { .. } => false,
        })
    }

    pub fn home(&self, vehicle: &NodeName) -> Option<Local> {
        Some(self.vehicles.get(vehicle)?.known.home)
    }

    /// The home of a vehicle, at the altitude of its return, or the highest that it could be.
    pub fn return_from(&self, vehicle: &NodeName) -> Option<Local> {
        let known = &self.vehicles.get(vehicle)?.known;
        Some(known.home.at_height(known.return_height.highest()))
    }

    pub fn has_read_return(&self, vehicle: &NodeName) -> bool {
        let known = self.vehicles.get(vehicle).map(|entry| &entry.known);
        known.is_some_and(|known| matches!(known.return_height, ReturnHeight::Read(_)))
    }

    pub(super) fn known(&self, vehicle: &NodeName) -> Option<&Known> {
        Some(&self.vehicles.get(vehicle)?.known)
    }

    /// Vehicles that may be in the air.
    pub(super) fn returns(&self) -> impl Iterator<Item = (&NodeName, &Known)> {
        self.vehicles.iter().map(|(name, entry)| (name, &entry.known))
    }

    fn named(&self, keys: &BTreeSet<Key>) -> BTreeSet<Owner> {
        keys.iter().filter_map(|key| self.owners.get(key).cloned()).collect()
    }

    fn next_key(&mut self, owner: Owner) -> Key {
        self.keys += 1;
        self.owners.insert(self.keys, owner);
        self.keys
    }

    fn refresh(&mut self, vehicle: &NodeName, now: Moment) {
        if let Some(entry) = self.vehicles.get(vehicle) {
            self.index.set(entry.key, entry.volume(now, &self.rules));
        }
    }
}

#[cfg(test)]
mod tests;
