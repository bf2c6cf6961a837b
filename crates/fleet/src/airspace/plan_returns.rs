//! Returns of autopilots from the ways of plans, and the stations through which they lead.
//!
//! Owns: [`PlanReturns`], which finds them by an index, since a plan may have thousands of legs. Must not: know which of the plans are flown.

use super::beyond::{climbs, way_home_from};
use super::claims::Claims;
use super::index::{Index, Key};
use super::{Route, Rules, Volume};
use model::geo::Local;
use model::ids::NodeName;
use std::collections::{BTreeMap, BTreeSet};

/// The key of none of the plans.
const NO_PLAN: Key = 0;

#[derive(Clone, Debug)]
struct Plan {
    key: Key,
    way: Route,
    /// At the altitude of its return, and whether that was read.
    home: Local,
    is_read: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct PlanReturns {
    plans: BTreeMap<NodeName, Plan>,
    names: BTreeMap<Key, NodeName>,
    keys: Key,
    /// Between takeoff and landing.
    ways: Index,
    /// Up to the altitudes of the returns from anywhere on the ways.
    climbs: Index,
    /// All of the returns.
    returns: Index,
}

impl PlanReturns {
    /// Takes in the ways of all plans. Returns whether one of them, or the return from it, has changed: by more than is `near`.
    pub(crate) fn update(
        &mut self,
        claims: &Claims,
        ways: &BTreeMap<NodeName, &Route>,
        near: impl Fn(Local, Local) -> bool,
    ) -> bool {
        let gone = self.plans.keys().filter(|name| !ways.contains_key(*name));
        let gone: Vec<NodeName> = gone.cloned().collect();
        for name in &gone {
            self.remove(name);
        }
        let mut has_changed = !gone.is_empty();
        for (name, way) in ways {
            let Some(home) = claims.return_from(name) else { continue };
            let is_read = claims.has_read_return(name);
            let is_same = |plan: &Plan| {
                let (before, now) = (plan.way.places(), way.places());
                let mut places = before.iter().zip(now);
                let returns = plan.is_read == is_read && near(plan.home, home);
                returns && before.len() == now.len() && places.all(|(before, now)| near(*before, *now))
            };
            if self.plans.get(name).is_some_and(is_same) {
                continue;
            }
            self.remove(name);
            self.keys += 1;
            let plan = Plan {
                key: self.keys,
                way: (*way).clone(),
                home,
                is_read,
            };
            self.add(claims, name, plan);
            has_changed = true;
        }
        has_changed
    }

    fn add(&mut self, claims: &Claims, name: &NodeName, plan: Plan) {
        let Some(known) = claims.known(name) else { return };
        let rules = claims.rules();
        let margin = rules.margin(rules.accuracy);
        let (key, way, height) = (plan.key, &plan.way, known.return_height);
        self.ways.set(key, in_air(way).volume(margin));
        self.climbs.set(key, Volume::Tubes(climbs(way, height, margin, rules)));
        self.returns
            .set(key, way_home_from(way, known.home, height, margin, rules));
        self.names.insert(key, name.clone());
        self.plans.insert(name.clone(), plan);
    }

    fn remove(&mut self, name: &NodeName) {
        if let Some(plan) = self.plans.remove(name) {
            for index in [&mut self.ways, &mut self.climbs, &mut self.returns] {
                index.remove(plan.key);
            }
            self.names.remove(&plan.key);
        }
    }

    pub(crate) fn has(&self, vehicle: &NodeName) -> bool {
        self.plans.contains_key(vehicle)
    }

    /// Vehicles whose autopilots would climb through `hold` to return from the ways of their plans.
    pub(crate) fn climb_through(&self, hold: &Route, rules: &Rules) -> BTreeSet<NodeName> {
        self.found(&self.climbs, &hold.volume(rules.margin(rules.accuracy)), rules)
    }

    /// Vehicles, each with another through whose station its autopilot would return from the way of its plan; or through the way of whose
    /// plan its autopilot would climb to return from its station. Vehicles at stations return level past plans, too: those pass by.
    pub(crate) fn crossed(&self, claims: &Claims, holds: &[(NodeName, Route)]) -> Vec<(NodeName, NodeName)> {
        let rules = claims.rules();
        let margin = rules.margin(rules.accuracy);
        let mut found = Vec::new();
        if self.plans.is_empty() {
            return found;
        }
        for (name, hold) in holds.iter().filter(|(_, hold)| hold.end().is_finite()) {
            let through = self.found(&self.returns, &hold.volume(margin), rules);
            found.extend(through.into_iter().map(|plan| (plan, name.clone())));
            let Some(known) = claims.known(name) else { continue };
            let up = Volume::Tubes(climbs(hold, known.return_height, margin, rules));
            let above = self.found(&self.ways, &up, rules);
            found.extend(above.into_iter().map(|plan| (name.clone(), plan)));
        }
        found
    }

    fn found(&self, index: &Index, volume: &Volume, rules: &Rules) -> BTreeSet<NodeName> {
        let keys = index.in_the_way(NO_PLAN, volume, rules);
        keys.iter().filter_map(|key| self.names.get(key).cloned()).collect()
    }
}

/// Less its first and its last leg, which are flown over home: people have chosen how near to another's that is.
fn in_air(way: &Route) -> Route {
    let places = way.places();
    let flown = places.get(1..places.len().saturating_sub(1));
    let flown = flown.and_then(|flown| Route::along(flown.iter().copied()).ok());
    flown.unwrap_or_else(|| way.clone())
}
