//! Which vehicle is in danger from one that does not keep to its claim, and how it makes way.

use super::beyond::{level_home, way_home};
use super::claims::Claims;
use super::index::{Index, Key};
use super::{Allows, Owner, Route, Volume};
use model::geo::Local;
use model::ids::NodeName;
use model::time::Moment;
use std::collections::{BTreeMap, BTreeSet};

/// Altitudes above its own are tried at this interval, meters, and so many of them.
const ALTITUDE_STEP_M: f64 = 3.0;
const ALTITUDE_STEPS: u8 = 24;

/// Clearance after stepping aside: with less it would have to again when the other wavers.
const SIDESTEP_CLEARANCE_M: f64 = 2.0;

/// Vehicles at one altitude are reported up to this far apart: nobody flees downward from one that only seems a little above.
const LEVEL_EPSILON_M: f64 = 2.0;

/// Latest begin of a climb after a report of another, and its least rate, meters per second.
const CLIMB_BEGINS_WITHIN_S: f64 = 3.0;
const MIN_CLIMB_M_S: f64 = 2.0;

/// A vehicle that climbs faster than this is not at one altitude with any other.
const LEVEL_MAX_CLIMB_M_S: f64 = 1.0;

/// Assumed speed of a pilot's vehicle that was observed to hold still.
const ASSUMED_PILOT_SPEED_M_S: f64 = 2.0;

/// How a vehicle makes way for another that may come too near.
#[derive(Clone, Debug, PartialEq)]
pub enum Avoidance {
    /// Stop on its own route and hold there, then check again. It is clear there, or the route would lead still nearer.
    Stop,
    /// Climb along this route to where it is clear. Never down: what is below is not known.
    StepAside(Route),
    /// No clear place, or not ours to move now.
    Stay,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Danger {
    /// A vehicle astray or in other hands, or foreign traffic.
    pub from: Owner,
    pub vehicle: NodeName,
    pub avoidance: Avoidance,
}

impl Claims {
    /// Vehicles in the air that are in danger now: near to where one that does not keep to its claim will be soon if it flies on as
    /// observed, with what is ahead on their own routes. None steps aside above `ceiling`, meters above mean sea level, or along a route
    /// that is not `allowed`: beyond a Geofence the autopilot flies its breach action.
    ///
    /// This is less than what no vehicle is sent through, [`Self::in_the_way`]: that is all that a vehicle could reach.
    pub fn dangers(&self, ceiling: &dyn Fn(&NodeName) -> f64, allowed: Allows<'_>, now: Moment) -> Vec<Danger> {
        let mut found = Vec::new();
        // One way out for a vehicle, whatever it makes room for.
        let mut asides: BTreeMap<NodeName, Avoidance> = BTreeMap::new();
        for from in self.strays(now) {
            let Some(there) = self.foreseen(&from, now) else {
                continue;
            };
            for (vehicle, there) in self.flying_near(&from, &there, now) {
                let stop = self.stops_clear_of(&vehicle, &there, now) || self.leads_nearer(&vehicle, &there, now);
                let avoidance = if stop {
                    Avoidance::Stop
                } else {
                    let aside = || self.aside(&vehicle, ceiling(&vehicle), allowed, now);
                    asides.entry(vehicle.clone()).or_insert_with(aside).clone()
                };
                let from = from.clone();
                found.push(Danger {
                    from,
                    vehicle,
                    avoidance,
                });
            }
        }
        found
    }

    fn aside(&self, vehicle: &NodeName, ceiling: f64, allowed: Allows<'_>, now: Moment) -> Avoidance {
        let Ok((at, false)) = self.fit(vehicle, now) else {
            // Its way leads away; and a silent vehicle, or one that is not ours to move, cannot be asked.
            return Avoidance::Stay;
        };
        (1..=ALTITUDE_STEPS)
            .map(|steps| at.up + f64::from(steps) * ALTITUDE_STEP_M)
            .take_while(|height| *height <= ceiling)
            .filter_map(|height| Route::through([at, at.at_height(height)]).ok())
            .find(|route| allowed(vehicle, route).is_ok() && self.leads_away(vehicle, route))
            .map_or(Avoidance::Stay, Avoidance::StepAside)
    }

    /// Whether `route` leads `vehicle` upright away from all that overlap it now to where it is clear of all, through no other volume:
    /// staying would not be safer. Away from a vehicle at its own altitude is up, if there is time.
    pub fn leads_away(&self, vehicle: &NodeName, route: &Route) -> bool {
        let (start, end) = (route.start(), route.end());
        let upright = route.places().len() == 2 && start.over_ground(end) < 0.01;
        let near = self.near(&Owner::Vehicle(vehicle.clone()));
        let away = |owner: &Owner| {
            let altitudes = self.altitudes(owner);
            let leaves_one = |altitude: f64| (end.up - start.up) * (start.up - altitude) >= 0.0;
            let leaves = altitudes.is_some_and(|all| all.into_iter().all(leaves_one));
            // A vehicle that keeps its place comes no nearer meanwhile.
            let beside =
                self.is_wide(owner) && altitudes.is_some_and(|[_, highest]| highest - start.up <= LEVEL_EPSILON_M);
            leaves || (end.up > start.up && (beside || self.climbs_before(owner, start)))
        };
        upright
            && !near.is_empty()
            && near.iter().all(away)
            && self.clear_as_foreseen(vehicle, end, SIDESTEP_CLEARANCE_M)
            && self.in_the_way(vehicle, route).is_subset(&near)
    }
}

impl Claims {
    /// Whether another has come too near to where `vehicle` holds: one that keeps to its claim, or one that does not and will soon be there
    /// as observed.
    pub fn is_beset(&self, vehicle: &NodeName) -> bool {
        match self.place(vehicle) {
            Some((at, _)) => !self.clear_as_foreseen(vehicle, at, 0.0),
            None => !self.near(&Owner::Vehicle(vehicle.clone())).is_empty(),
        }
    }

    /// Whether `place` is clear of all claims and, by so many meters of altitude, of where those that do not keep to theirs will soon be.
    /// All that they could reach would send it far higher than needed.
    fn clear_as_foreseen(&self, vehicle: &NodeName, place: Local, by: f64) -> bool {
        let hold = Route::hold(place);
        let (Some(now), Some(margin)) = (self.clock(), self.margin(vehicle)) else {
            return false;
        };
        let below = Route::through([place, place.at_height(place.up - by)]);
        let volume = below.map(|below| below.volume(margin));
        let clear = |owner: &Owner| {
            let there = self.foreseen_by(vehicle, owner, now);
            let there = there.filter(|_| self.is_stray(owner, now));
            let both = there.zip(volume.as_ref().ok());
            both.is_some_and(|(there, volume)| volume.clear_of(&there, self.rules()))
        };
        self.in_the_way(vehicle, &hold).iter().all(clear)
    }

    /// Whether a climb from `start` gets above another vehicle at its altitude before that can be near over ground: by the whole
    /// separation, or if there is no time for it, by more than it is below now.
    fn climbs_before(&self, other: &Owner, start: Local) -> bool {
        let Some((at, [east, north, up])) = self.last_flight(other) else {
            return false;
        };
        let (gap, distance) = (at.up - start.up, at.over_ground(start));
        let speed = east.hypot(north).max(ASSUMED_PILOT_SPEED_M_S);
        let comes = |climb: f64| (CLIMB_BEGINS_WITHIN_S + climb / MIN_CLIMB_M_S) * speed;
        // The way of a return is known: one some meters higher is climbed past in time or not at all.
        let level = (gap <= LEVEL_EPSILON_M || self.is_returning(other)) && up <= LEVEL_MAX_CLIMB_M_S;
        let rules = self.rules();
        let clears = distance - comes(gap + rules.separation.vertical.0) >= rules.pitch().horizontal.0;
        let gains = gap <= LEVEL_EPSILON_M && distance >= comes(2.0 * gap.max(0.0));
        level && (clears || gains)
    }
}

/// Vehicles whose ways home cross, each with those that it would meet: from its hold, or anywhere in the airspace around it, at its return
/// altitude to its home. A failsafe of all at once, such as the loss of the ground station, would bring them together. A preflight hazard:
/// each vehicle needs a return altitude of its own.
pub fn shared_returns(claims: &Claims, holds: &[(NodeName, Route)]) -> BTreeMap<NodeName, BTreeSet<NodeName>> {
    let rules = claims.rules();
    let margin = rules.margin(rules.accuracy);
    let known: BTreeMap<_, _> = claims.returns().collect();
    let mut index = Index::default();
    let mut ways = BTreeMap::new();
    for ((name, hold), key) in holds.iter().zip(0..) {
        let Some(known) = known.get(name).filter(|_| hold.end().is_finite()) else {
            continue;
        };
        let volume = Volume::Tubes(level_home(hold, known.home, known.return_height, margin));
        index.set(key, volume.clone());
        ways.insert(key, (name, volume));
    }
    let others = |key: Key, volume: &Volume| -> BTreeSet<NodeName> {
        let keys = index.in_the_way(key, volume, rules);
        let names = keys.iter().filter_map(|key| ways.get(key));
        names.map(|(name, _)| (*name).clone()).collect()
    };
    ways.iter()
        .map(|(key, (name, volume))| ((*name).clone(), others(*key, volume)))
        .filter(|(_, others)| !others.is_empty())
        .collect()
}

/// Vehicles whose return would lead through the stations of others, or the airspace around these: up, level to its home at its return
/// altitude, and down. A preflight hazard.
pub fn crossed_stations(claims: &Claims, holds: &[(NodeName, Route)]) -> BTreeMap<NodeName, BTreeSet<NodeName>> {
    let rules = claims.rules();
    let margin = rules.margin(rules.accuracy);
    let known: BTreeMap<_, _> = claims.returns().collect();
    let mut index = Index::default();
    for ((_, hold), key) in holds.iter().zip(0..) {
        index.set(key, hold.volume(margin));
    }
    let crossed = |(name, hold): &(NodeName, Route), own: Key| {
        let known = known.get(name).filter(|_| hold.end().is_finite())?;
        let volume = way_home(hold, known.home, known.return_height, margin);
        let keys = index.in_the_way(own, &volume, rules);
        let others = keys.iter().filter_map(|key| holds.get(usize::try_from(*key).ok()?));
        let others: BTreeSet<NodeName> = others.map(|(name, _)| name.clone()).collect();
        (!others.is_empty()).then(|| (name.clone(), others))
    };
    holds
        .iter()
        .zip(0..)
        .filter_map(|(hold, own)| crossed(hold, own))
        .collect()
}
