//! Which vehicle without a station may take off: it does so without a route.
//!
//! Owns: [`Takeoffs`], which airspace belongs to a vehicle before its takeoff, above its home or along its plan, and between its altitude
//! and the next. Must not: separate vehicles that hold above their homes, or hold one of them down for a vehicle whose agent says that it
//! has not flown: then none without a station would fly. A vehicle with a plan leaves its home, so all of its way has to be clear of all,
//! and stay clear until it takes off.

use super::homes::Returns;
use super::plan_way::{self, Granted};
use super::{ABOVE_HOME, Desire, Expected, FENCES_UNKNOWN, Site, ordered_height, takes_off};
use crate::airspace::{Owner, Route, Unsteady, Volume};
use crate::planning::movement::Waiting;
use model::geo::Local;
use model::ids::NodeName;
use model::plan::PlanDigest;
use model::report::{Activity, Report};
use model::reported_flight::SoFar;
use model::time::Moment;
use model::units::AltitudeAboveHome;
use model::vehicle::{Airborne, FlightTruth};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long a revoked takeoff order may still be on its way to its agent.
const MAY_BE_UNDER_WAY: Duration = Duration::from_secs(30);

/// Homes wander; a vehicle farther from its plan's start was carried elsewhere, meters.
const HOME_WANDERS: f64 = 10.0;

#[derive(Clone, Debug, Default)]
pub(super) struct Takeoffs {
    /// Until when at least the airspace above each is its own.
    until: BTreeMap<NodeName, Moment>,
    nowhere: BTreeSet<NodeName>,
    /// Vehicles whose airspace is the path of a plan.
    pub(super) plans: BTreeMap<NodeName, PlanDigest>,
    /// On the ground, waiting: another has come into the path of the plan, or above it. Their airspace stays their own for a while.
    crossed: BTreeSet<NodeName>,
    /// Why those in the air cannot go on with their plans from their places.
    pub(super) barred: BTreeMap<NodeName, String>,
    /// Requested altitudes other than the one that the agent holds.
    changes: BTreeMap<NodeName, AltitudeAboveHome>,
    /// Granted altitudes, and until when at least the way there is its own.
    heights: BTreeMap<NodeName, (AltitudeAboveHome, Moment)>,
    /// Vehicles that wait, each with the one at a station straight above through which its autopilot would return.
    pub(super) below: BTreeMap<NodeName, NodeName>,
    /// No vehicle has a station, or flies for a Mission.
    pub(super) asleep: bool,
}

impl Takeoffs {
    pub(super) fn forget(&mut self, node: &NodeName) {
        self.until.remove(node);
        self.plans.remove(node);
        self.crossed.remove(node);
        self.heights.remove(node);
    }
}

impl Site {
    /// No vehicle has a station or flies for a Mission, heard or not: holding above home needs no request. Returns whether that is new.
    pub fn rest(&mut self) -> bool {
        // Who is given a goal again leaves from where it is by then.
        self.altitudes_left.clear();
        // Nor is anybody warned of a station.
        self.takeoffs.below.clear();
        self.returns = Returns::default();
        !std::mem::replace(&mut self.takeoffs.asleep, true)
    }

    /// For a vehicle without a station on the ground, beside those that have one. `false` before its first observation.
    pub fn may_take_off(&self, node: &NodeName) -> bool {
        let is_given = self.takeoffs.until.contains_key(node) && !self.takeoffs.crossed.contains(node);
        let above_home = is_given && !self.owns_plan(node) && self.is_accurate(node);
        self.takeoffs.asleep || above_home || self.takeoffs.nowhere.contains(node)
    }

    /// Requested changes to another altitude above home, of vehicles without a station whose agents hold an order to fly.
    pub fn changes(&mut self, changes: BTreeMap<NodeName, AltitudeAboveHome>) {
        self.takeoffs.changes = changes;
    }

    pub fn may_change_to(&self, node: &NodeName, height: AltitudeAboveHome) -> bool {
        self.takeoffs.asleep || self.changes_to(node) == Some(height)
    }

    pub fn changes_to(&self, node: &NodeName) -> Option<AltitudeAboveHome> {
        self.takeoffs.heights.get(node).map(|(height, _)| *height)
    }

    /// Whether the airspace of a vehicle on the ground is the path of a plan.
    pub fn owns_plan(&self, node: &NodeName) -> bool {
        self.takeoffs.plans.contains_key(node)
    }

    /// Whether the airspace of the whole plan `digest` belongs to the vehicle, which is on the ground, and no other has come into it.
    pub fn may_fly_plan(&self, node: &NodeName, digest: &PlanDigest) -> bool {
        let given = self.takeoffs.until.contains_key(node) && self.takeoffs.plans.get(node) == Some(digest);
        given && self.is_uncrossed(node, digest)
    }

    /// For an agent that was ordered to fly that plan already, by this leader or the one before.
    pub fn may_begin_plan(&self, node: &NodeName, digest: &PlanDigest) -> bool {
        self.claims.under_way(node) && self.is_uncrossed(node, digest)
    }

    fn is_uncrossed(&self, node: &NodeName, digest: &PlanDigest) -> bool {
        let known = self.plans.get(node).is_some_and(|known| known.digest() == digest);
        known && !self.takeoffs.crossed.contains(node) && self.is_accurate(node) && self.knows_radius(node)
    }

    /// As a clause.
    pub fn plan_waits(&self, node: &NodeName) -> Option<&str> {
        self.waiting.get(node).map(String::as_str)
    }

    pub(super) fn grant_takeoffs(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        self.takeoffs.asleep = false;
        self.takeoffs.nowhere.clear();
        self.takeoffs.below.clear();
        self.keep_granted_plans(vehicles, now);
        for (node, expected) in vehicles {
            let grounded = self.claims.place(node).filter(|(_, on_ground)| *on_ground);
            let Some((at, _)) = grounded else {
                let report = expected.report.map(|(report, _)| report);
                let down = report.filter(|report| report.truth == FlightTruth::Disarmed);
                if let Some(report) = down.filter(|_| matches!(expected.desire, Desire::AboveHome(_)))
                    && !self.is_elsewhere(report)
                {
                    self.keep_takeoff(node, report, (expected, vehicles), now);
                    continue;
                }
                self.revoke_takeoff(node, now);
                if let Some(report) = down {
                    // A vehicle without a position may be anywhere, here as well.
                    if report.position.is_some() && self.is_elsewhere(report) {
                        self.takeoffs.nowhere.insert(node.clone());
                    }
                    if expected.desire == Desire::Plan {
                        self.keep_from_crossed_plan(node, vehicles, now);
                    }
                }
                continue;
            };
            if expected.desire == Desire::Plan {
                self.let_fly_plan((node, at), vehicles, now);
                continue;
            }
            let until = self.takeoffs.until.get(node).copied();
            // An order to fly a plan may still be on its way to it.
            if self.takeoffs.plans.contains_key(node) {
                if until.is_some_and(|until| now <= until) {
                    continue;
                }
                self.revoke_takeoff(node, now);
            }
            let holds_above = matches!(expected.desire, Desire::AboveHome(_));
            let waits =
                holds_above && (self.wait_for_accuracy(node, "does not take off") || self.wait_for_fences(node));
            match self.way_up(at, expected).filter(|_| !waits) {
                Some(way) => self.let_climb(node, way, vehicles, now),
                None if until.is_some_and(|until| now > until) => self.revoke_takeoff(node, now),
                None => {}
            }
        }
    }

    /// Keeps the airspace of a vehicle on the ground whose agent holds a takeoff order. One ordered by the leader before asks like any
    /// other, and its order is revoked while its way is not clear.
    fn keep_takeoff(
        &mut self,
        node: &NodeName,
        report: &Report,
        (expected, vehicles): (&Expected<'_>, &BTreeMap<NodeName, Expected<'_>>),
        now: Moment,
    ) {
        let at = report
            .position
            .and_then(|position| self.frame.local(position.at, position.amsl).ok());
        let way = at.and_then(|at| self.way_up(at, expected));
        let is_given = self.takeoffs.until.contains_key(node) && !self.takeoffs.plans.contains_key(node);
        let may_begin = |way: &Route| self.fences.is_some() && self.is_clear(node, way, vehicles);
        match way {
            Some(way) if is_given || may_begin(&way) => self.let_climb(node, way, vehicles, now),
            way => {
                if let Some(way) = way {
                    self.wait_below_station(node, &way, vehicles, "does not take off");
                }
                self.revoke_takeoff(node, now);
            }
        }
    }

    /// Claims the column above a vehicle on the ground, if it is clear of those that may come into it, and asks again until it takes off: a
    /// pilot may have. Then it waits, and its column stays its own while an order may be under way.
    fn let_climb(&mut self, node: &NodeName, way: Route, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        if self.is_clear(node, &way, vehicles) {
            self.takeoffs.crossed.remove(node);
            self.claims.claim_takeoff(node, Some(way), now);
            self.takeoffs.until.insert(node.clone(), now.plus(MAY_BE_UNDER_WAY));
            return;
        }
        self.wait_below_station(node, &way, vehicles, "does not take off");
        match self.takeoffs.until.get(node).copied() {
            Some(until) if now <= until => {
                self.takeoffs.crossed.insert(node.clone());
            }
            Some(_) => self.revoke_takeoff(node, now),
            None => {}
        }
    }

    pub(super) fn grant_changes(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        self.end_changes(vehicles, now);
        for (node, height) in self.takeoffs.changes.clone() {
            let expected = vehicles.get(&node);
            let expected = expected.filter(|expected| matches!(expected.desire, Desire::AboveHome(_)));
            let is_new = self.changes_to(&node) != Some(height);
            if expected.is_some() && is_new && self.wait_for_accuracy(&node, "does not change its altitude") {
                continue;
            }
            let Some((report, _)) = expected.and_then(|expected| expected.report) else {
                continue;
            };
            // It climbs to its takeoff altitude before it changes it, and owns all below until then.
            let held = ordered_height(report);
            let is_below = report.truth == FlightTruth::Disarmed && held.is_some_and(|held| height < held);
            if takes_off(report) && self.changes_to(&node) != Some(height) {
                continue;
            }
            // A vehicle far from this site blocks no other.
            let way = match self.is_elsewhere(report) {
                true => None,
                false => match self.way_between(&node, report, height) {
                    Some(way) => Some(way),
                    None => continue,
                },
            };
            let is_clear = |way: &Route| self.is_clear(&node, way, vehicles);
            if is_below || self.changes_to(&node) == Some(height) || way.as_ref().is_none_or(is_clear) {
                if let Some(way) = way {
                    self.claims.claim_takeoff(&node, Some(way), now);
                }
                let until = now.plus(MAY_BE_UNDER_WAY);
                self.takeoffs.heights.insert(node, (height, until));
            } else if let Some(way) = way {
                self.wait_below_station(&node, &way, vehicles, "does not change its altitude");
            }
        }
    }

    /// Ends grants that are not needed any more. An order to change may be on its way to a vehicle that was not heard since, and one that
    /// takes off climbs to its former altitude.
    fn end_changes(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        let heard = |node: &NodeName| {
            let report = vehicles.get(node)?.report.filter(|(report, _)| !takes_off(report));
            report.map(|(_, received)| received)
        };
        let over = self.takeoffs.heights.iter();
        let over = over.filter(|(node, (_, until))| heard(node).is_some_and(|heard| heard > *until));
        let over: Vec<NodeName> = over.map(|(node, _)| node.clone()).collect();
        for node in over {
            self.takeoffs.heights.remove(&node);
            if !self.takeoffs.until.contains_key(&node) {
                self.claims.claim_takeoff(&node, None, now);
            }
        }
    }

    /// Lowest to highest place of a vehicle that is to change to `height`: its place, its agent's order, one that may be on its way, and
    /// the new one. `None` when its place or its home is not known.
    fn way_between(&self, node: &NodeName, report: &Report, height: AltitudeAboveHome) -> Option<Route> {
        let position = report.position?;
        let at = self.frame.local(position.at, position.amsl).ok()?;
        let home = self.home(report)?.up;
        let orders = [ordered_height(report), self.changes_to(node), Some(height)];
        let heights = orders.iter().flatten().map(|height| home + height.0);
        let (lowest, highest) = heights.fold((at.up, at.up), |(low, high), up| (low.min(up), high.max(up)));
        Route::through([at.at_height(lowest), at.at_height(highest)]).ok()
    }

    /// A vehicle that was ordered to fly its plan and has not taken off waits while another comes into its way.
    fn keep_from_crossed_plan(&mut self, node: &NodeName, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        self.wait_for_radius(node);
        let granted = self.granted_plans.get(node);
        let way = granted.map(Granted::way);
        let way = way.or_else(|| self.plans.get(node).map(plan_way::Planned::way));
        let Some(way) = way else { return };
        // What others owned before, or may have come into since.
        let others = match granted.is_some_and(Granted::is_stopped) {
            true => self.claims.in_the_way(node, way),
            false => self.come_into(node, way, vehicles, now),
        };
        if !others.is_empty() {
            self.wait_for(node, others);
        } else if let Some(granted) = self.granted_plans.get_mut(node) {
            granted.go_on();
        }
    }

    fn wait_for(&mut self, node: &NodeName, others: BTreeSet<Owner>) {
        self.takeoffs.crossed.insert(node.clone());
        let note = self.corners_note(node, &others);
        self.waiting
            .insert(node.clone(), super::sentence(&Waiting::For(others)) + &note);
    }

    /// What has come into `way`, which was clear: foreign traffic, a vehicle in other hands, astray, or landing in place; and while the
    /// vehicle of `node` is on the ground, one of which nothing is known. All others are kept out of it.
    pub(super) fn come_into(
        &self,
        node: &NodeName,
        way: &Route,
        vehicles: &BTreeMap<NodeName, Expected<'_>>,
        now: Moment,
    ) -> BTreeSet<Owner> {
        let mut found = self.claims.in_the_way(node, way);
        if !found.is_empty() {
            let unsteady = self.claims.unsteady(now).filter(|(_, why)| *why != Unsteady::Silent);
            let strays: BTreeSet<&NodeName> = unsteady.map(|(name, _)| name).collect();
            let waits = vehicles.get(node).is_some_and(is_down);
            found.retain(|owner| match owner {
                Owner::Vehicle(name) => {
                    strays.contains(name)
                        || self.claims.intrudes(name)
                        || (waits && self.claims.may_be_anywhere(owner))
                        || vehicles.get(name).is_some_and(lands)
                        || self.guests.contains_key(name)
                        || self.is_wide(name)
                }
                Owner::Traffic(_) => true,
            });
        }
        found
    }

    fn wait_for_fences(&mut self, node: &NodeName) -> bool {
        if self.fences.is_none() {
            let why = format!("does not take off: {FENCES_UNKNOWN}");
            self.waiting.insert(node.clone(), why);
        }
        self.fences.is_none()
    }

    /// Claims the whole path of the plan for a vehicle on the ground at `at`, if it is clear of all others; and checks a claimed one again.
    fn let_fly_plan(
        &mut self,
        (node, at): (&NodeName, Local),
        vehicles: &BTreeMap<NodeName, Expected<'_>>,
        now: Moment,
    ) {
        let until = self.takeoffs.until.get(node).copied();
        let Some(planned) = self.plans.get(node).cloned() else {
            if until.is_some_and(|until| now > until) {
                self.revoke_takeoff(node, now);
            }
            return;
        };
        // The grant fixes the reference altitude and the corners: where home or the vehicle has moved since, or it turns wider, all are
        // asked again.
        let corners = self.claims.corners(node);
        let granted = self
            .granted_plans
            .get(node)
            .filter(|granted| granted.is_of(&planned, at, corners));
        let (mut granted, is_same) = match granted {
            Some(granted) => (granted.clone(), true),
            None => (Granted::on_the_ground(&planned, at, corners), false),
        };
        let way = granted.way().clone();
        if self.takeoffs.plans.get(node) == Some(planned.digest()) {
            // One that has come into it may hold there now.
            let others = match is_same && !self.takeoffs.crossed.contains(node) {
                true => self.come_into(node, &way, vehicles, now),
                false => self.claims.in_the_way(node, &way),
            };
            if !others.is_empty() {
                if until.is_some_and(|until| now > until) {
                    self.revoke_takeoff(node, now);
                }
                self.wait_for(node, others);
                return;
            }
            self.takeoffs.crossed.remove(node);
        } else {
            // An order to take off for something else may still be on its way.
            if until.is_some_and(|until| now <= until) {
                let why = "waits for half a minute after its last order to take off was taken back";
                self.waiting.insert(node.clone(), why.to_owned());
                return;
            }
            self.revoke_takeoff(node, now);
            if planned.way().start().over_ground(at) > HOME_WANDERS {
                let why = "is not where its plan begins, and waits for another plan";
                self.waiting.insert(node.clone(), why.to_owned());
                return;
            }
            if let Some(why) = self.no_room_to_land(node, at) {
                self.waiting.insert(node.clone(), why);
                return;
            }
            if self.wait_for_fences(node)
                || self.wait_for_accuracy(node, "does not take off")
                || self.wait_for_radius(node)
            {
                return;
            }
            let others = self.claims.in_the_way(node, &way);
            if !others.is_empty() {
                let parked = self.parked_below(&others, vehicles);
                let note = self.corners_note(node, &others);
                let why = parked.unwrap_or_else(|| super::sentence(&Waiting::For(others))) + &note;
                self.waiting.insert(node.clone(), why);
                return;
            }
            if self.wait_for_returns(node, &way, vehicles) {
                return;
            }
            self.takeoffs.plans.insert(node.clone(), planned.digest().clone());
        }
        self.claims.claim_takeoff(node, Some(way), now);
        granted.go_on();
        granted.turns_within(corners);
        self.granted_plans.insert(node.clone(), granted);
        self.takeoffs.until.insert(node.clone(), now.plus(MAY_BE_UNDER_WAY));
    }

    /// Whether a vehicle with a plan along `way` stays on the ground for a station above it, or, where its preflight refuses that, for any return
    /// through another.
    fn wait_for_returns(&mut self, node: &NodeName, way: &Route, vehicles: &BTreeMap<NodeName, Expected<'_>>) -> bool {
        let why = match self.station_above(node, way, vehicles) {
            Some(other) => Some(format!(
                "does not take off: the way of its plan {}",
                self.lies_below(node, &other)
            )),
            None => self.refused_plan(node),
        };
        let waits = why.is_some();
        self.waiting.extend(why.map(|why| (node.clone(), why)));
        waits
    }

    /// Why a plan is not flown low over `others` in its way that are all on the ground with nothing to fly, as a clause.
    fn parked_below(&self, others: &BTreeSet<Owner>, vehicles: &BTreeMap<NodeName, Expected<'_>>) -> Option<String> {
        let is_parked = |owner: &Owner| match owner {
            Owner::Vehicle(name) => {
                let rests = vehicles
                    .get(name)
                    .is_none_or(|expected| expected.desire == Desire::Nothing);
                rests && self.claims.place(name).is_some_and(|(_, on_ground)| on_ground)
            }
            Owner::Traffic(_) => false,
        };
        let first = others.iter().next().filter(|_| others.iter().all(is_parked))?;
        let rules = self.claims.rules();
        let above = rules.column.0 + rules.separation.vertical.0 + self.usual_margin().vertical.0;
        Some(format!(
            "does not fly less than {:.0} m above {first}, which is on the ground; raise the altitude of the work there, or move that vehicle",
            above.ceil()
        ))
    }

    fn revoke_takeoff(&mut self, node: &NodeName, now: Moment) {
        self.takeoffs.plans.remove(node);
        self.takeoffs.crossed.remove(node);
        if self.takeoffs.until.remove(node).is_some() {
            self.claims.claim_takeoff(node, None, now);
        }
    }

    fn way_up(&self, at: Local, expected: &Expected<'_>) -> Option<Route> {
        let Desire::AboveHome(height) = expected.desire else {
            return None;
        };
        let (report, _) = expected.report?;
        let home = self.home(report).unwrap_or(at);
        Route::through([at, at.at_height(home.up + height.0)]).ok()
    }

    fn is_clear(&self, node: &NodeName, way: &Route, vehicles: &BTreeMap<NodeName, Expected<'_>>) -> bool {
        let may_come_near = |owner: &Owner| match owner {
            Owner::Vehicle(other) => match self.guests.get(other) {
                Some(moves) => *moves,
                None => self.may_move(other, vehicles),
            },
            Owner::Traffic(_) => false,
        };
        !self.claims.in_the_way(node, way).iter().any(may_come_near)
            && self.station_above(node, &Route::hold(way.end()), vehicles).is_none()
    }

    /// Another that holds, or will, at a station straight above `way`, if the autopilot of `node` would climb through it to return from there:
    /// no station is granted above one in the air for the same reason.
    pub(super) fn station_above(
        &self,
        node: &NodeName,
        way: &Route,
        vehicles: &BTreeMap<NodeName, Expected<'_>>,
    ) -> Option<NodeName> {
        let station = |other: &NodeName| {
            let expected = vehicles.get(other);
            let stays = expected.is_some_and(|expected| matches!(expected.desire, Desire::At(_)));
            self.hold_in_air(other).filter(|_| stays)
        };
        self.claims.climbs_through(node, way, station)
    }

    /// Says why the vehicle of `node` does not do `what`, if a station above keeps it from that.
    fn wait_below_station(
        &mut self,
        node: &NodeName,
        way: &Route,
        vehicles: &BTreeMap<NodeName, Expected<'_>>,
        what: &str,
    ) {
        if let Some(other) = self.station_above(node, &Route::hold(way.end()), vehicles) {
            let lies = self.lies_below(node, &other);
            self.waiting
                .insert(node.clone(), format!("{what}: its place above home {lies}"));
            self.takeoffs.below.insert(node.clone(), other);
        }
    }

    /// Where a vehicle on the ground without a station will hold, which was granted its takeoff.
    pub(super) fn granted_hold(&self, node: &NodeName) -> Option<Local> {
        let is_given = self.takeoffs.until.contains_key(node) && !self.owns_plan(node);
        self.claims.takeoff_end(node).filter(|_| is_given)
    }

    /// Whether the vehicle of `node` is, or may be, elsewhere than above its home, by what its Drone asks for or as it was observed: people chose
    /// their homes. A vehicle in other hands may.
    pub(super) fn may_move(&self, node: &NodeName, vehicles: &BTreeMap<NodeName, Expected<'_>>) -> bool {
        let expected = vehicles.get(node);
        let is_down = || self.claims.place(node).is_some_and(|(_, on_ground)| on_ground);
        let moves = expected.is_none_or(|expected| {
            matches!(expected.desire, Desire::At(_) | Desire::Plan | Desire::Home) || (expected.roams && !is_down())
        }) || self.routes.contains_key(node)
            || self.claims.is_in_other_hands(node)
            || (expected.is_none_or(may_be_in_air) && self.claims.reaches(node, ABOVE_HOME.0));
        let known = self.claims.volume(&Owner::Vehicle(node.clone())) != Some(&Volume::Everywhere)
            || self.claims.is_in_other_hands(node);
        moves && (known || expected.is_none_or(may_be_up))
    }
}

fn lands(expected: &Expected<'_>) -> bool {
    expected.report.is_some_and(|(report, _)| match report.truth {
        FlightTruth::Airborne(up) => up == Airborne::Landing || report.activity == Activity::Landing,
        FlightTruth::Disarmed | FlightTruth::ArmedOnGround | FlightTruth::Unknown(_) => false,
    })
}

/// Whether one was not reported to be on the ground.
fn may_be_in_air(expected: &Expected<'_>) -> bool {
    expected.report.is_none_or(|(report, _)| match report.truth {
        FlightTruth::Airborne(_) | FlightTruth::Unknown(_) => true,
        FlightTruth::Disarmed | FlightTruth::ArmedOnGround => false,
    })
}

/// Whether one is on the ground, and its motors do not turn.
fn is_down(expected: &Expected<'_>) -> bool {
    expected
        .report
        .is_some_and(|(report, _)| report.truth == FlightTruth::Disarmed)
}

/// Whether a vehicle of which nothing is known may be in the air, or soon: no report, or one of a flight, or it is to take off for a plan.
fn may_be_up(expected: &Expected<'_>) -> bool {
    match expected.report {
        None => expected.may_fly,
        Some((report, _)) => report.so_far == SoFar::Flown || plan_way::begins_unknown(report, None),
    }
}
