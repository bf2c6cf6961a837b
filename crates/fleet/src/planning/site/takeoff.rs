//! Which vehicle without a station may take off: it does so without a route.
//!
//! Owns: [`Takeoffs`], to which vehicle the airspace above its home, or along its plan, belongs before it takes off, or between its height and
//! the one that it is to change to. Must not: keep those apart from one another that hold above their homes, or hold one of them down for a
//! vehicle whose agent says that it has not flown: then none flies that has no station either. One that flies a plan leaves its home, so all of
//! its way has to be clear of all, and stay clear until it takes off.

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

/// An order to take off may be under way to its agent for this long after it was taken back.
const MAY_BE_UNDER_WAY: Duration = Duration::from_secs(30);

/// Homes wander; a vehicle on the ground that is farther from the start of its plan was carried elsewhere, meters.
const HOME_WANDERS: f64 = 10.0;

/// Which vehicles may take off now.
#[derive(Clone, Debug, Default)]
pub(super) struct Takeoffs {
    /// Until when at least the airspace above each is its own.
    until: BTreeMap<NodeName, Moment>,
    /// Those on the ground far from this site.
    nowhere: BTreeSet<NodeName>,
    /// Those whose way is that of a plan, and of which.
    pub(super) plans: BTreeMap<NodeName, PlanDigest>,
    /// Those on the ground into the way of whose plan another has come: they wait. What they were given stays their own for a while.
    crossed: BTreeSet<NodeName>,
    /// Those in the air that cannot go on with their plans from where they are, and why.
    pub(super) barred: BTreeMap<NodeName, String>,
    /// At which other height than the one that its agent holds a vehicle is to be.
    changes: BTreeMap<NodeName, AltitudeAboveHome>,
    /// Those that may change to which height, and until when at least the way there is its own.
    heights: BTreeMap<NodeName, (AltitudeAboveHome, Moment)>,
    /// No vehicle has a station, or flies for a Mission.
    pub(super) asleep: bool,
}

impl Takeoffs {
    /// Nothing is under way any more to a vehicle that is not expected.
    pub(super) fn forget(&mut self, node: &NodeName) {
        self.until.remove(node);
        self.plans.remove(node);
        self.crossed.remove(node);
        self.heights.remove(node);
    }
}

impl Site {
    /// No vehicle has a station or flies for a Mission now, heard or not: one that holds above its home need not ask. Whether that is new.
    pub const fn rest(&mut self) -> bool {
        !std::mem::replace(&mut self.takeoffs.asleep, true)
    }

    /// Whether a vehicle without a station of `node`, which is on the ground, may take off beside those that have one. One that was
    /// not observed yet may not.
    pub fn may_take_off(&self, node: &NodeName) -> bool {
        let above_home = self.takeoffs.until.contains_key(node) && !self.owns_plan(node) && self.is_accurate(node);
        self.takeoffs.asleep || above_home || self.takeoffs.nowhere.contains(node)
    }

    /// Takes in which vehicles without a station, whose agents hold an order to fly, are to change to another height above home.
    pub fn changes(&mut self, changes: BTreeMap<NodeName, AltitudeAboveHome>) {
        self.takeoffs.changes = changes;
    }

    /// Whether the vehicle of `node` may change to this height above its home.
    pub fn may_change_to(&self, node: &NodeName, height: AltitudeAboveHome) -> bool {
        self.takeoffs.asleep || self.changes_to(node) == Some(height)
    }

    /// The height above home to which the way was given to the vehicle of `node`.
    pub fn changes_to(&self, node: &NodeName) -> Option<AltitudeAboveHome> {
        self.takeoffs.heights.get(node).map(|(height, _)| *height)
    }

    /// Whether what the vehicle of `node`, which is on the ground, was given is the way of a plan.
    pub fn owns_plan(&self, node: &NodeName) -> bool {
        self.takeoffs.plans.contains_key(node)
    }

    /// Whether the airspace of the whole plan `digest` belongs to the vehicle of `node`, which is on the ground, and no
    /// other has come into it.
    pub fn may_fly_plan(&self, node: &NodeName, digest: &PlanDigest) -> bool {
        let given = self.takeoffs.until.contains_key(node) && self.takeoffs.plans.get(node) == Some(digest);
        given && self.is_uncrossed(node, digest)
    }

    /// The same of one whose agent was ordered to fly that plan already, by this leader or the one before.
    pub fn may_begin_plan(&self, node: &NodeName, digest: &PlanDigest) -> bool {
        self.claims.under_way(node) && self.is_uncrossed(node, digest)
    }

    fn is_uncrossed(&self, node: &NodeName, digest: &PlanDigest) -> bool {
        let known = self.plans.get(node).is_some_and(|known| known.digest() == digest);
        known && !self.takeoffs.crossed.contains(node) && self.is_accurate(node)
    }

    /// Why the vehicle of `node` has no airspace for its plan, in a clause.
    pub fn plan_waits(&self, node: &NodeName) -> Option<&str> {
        self.waiting.get(node).map(String::as_str)
    }

    pub(super) fn grant_takeoffs(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        self.takeoffs.asleep = false;
        self.takeoffs.nowhere.clear();
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
                    // One without a position may be anywhere, here as well.
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
            // An order to fly a plan may still be under way to it.
            if self.takeoffs.plans.contains_key(node) {
                if until.is_some_and(|until| now <= until) {
                    continue;
                }
                self.revoke_takeoff(node, now);
            }
            let known = self.takeoffs.until.contains_key(node);
            let holds_above = matches!(expected.desire, Desire::AboveHome(_));
            let waits =
                holds_above && (self.wait_for_accuracy(node, "does not take off") || self.wait_for_fences(node));
            match self.way_up(at, expected).filter(|_| !waits) {
                Some(way) if known || self.is_clear(node, &way, vehicles) => {
                    self.claims.claim_takeoff(node, Some(way), now);
                    self.takeoffs.until.insert(node.clone(), now.plus(MAY_BE_UNDER_WAY));
                }
                Some(_) => {}
                None if until.is_some_and(|until| now > until) => self.revoke_takeoff(node, now),
                None => {}
            }
        }
    }

    /// Keeps what was given to a vehicle on the ground whose agent holds an order to take off. One that was ordered by the leader before asks
    /// as any other, and its order is taken back while its way is not clear.
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
        let Some(way) = way.filter(|way| is_given || may_begin(way)) else {
            self.revoke_takeoff(node, now);
            return;
        };
        self.claims.claim_takeoff(node, Some(way), now);
        self.takeoffs.until.insert(node.clone(), now.plus(MAY_BE_UNDER_WAY));
    }

    /// Gives those that are to change their height the way there, once it is clear.
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
            // It climbs to the height of its takeoff before it changes it. Below that, all is its own until it does.
            let held = ordered_height(report);
            let is_below = report.truth == FlightTruth::Disarmed && held.is_some_and(|held| height < held);
            if takes_off(report) && self.changes_to(&node) != Some(height) {
                continue;
            }
            // One that is far from this site is in no other's way.
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
            }
        }
    }

    /// Ends what was given to those that do not need it any more. An order to change may be under way to one that was not heard since, and one
    /// that takes off climbs to the height of before.
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

    /// From the lowest to the highest place at which a vehicle may be that is to change to `height`: by its place, the order that its agent
    /// holds, one that may be under way, and the new one. `None` when its place or its home is not known.
    fn way_between(&self, node: &NodeName, report: &Report, height: AltitudeAboveHome) -> Option<Route> {
        let position = report.position?;
        let at = self.frame.local(position.at, position.amsl).ok()?;
        let home = self.home(report)?.up;
        let orders = [ordered_height(report), self.changes_to(node), Some(height)];
        let heights = orders.iter().flatten().map(|height| home + height.0);
        let (lowest, highest) = heights.fold((at.up, at.up), |(low, high), up| (low.min(up), high.max(up)));
        Route::through([at.at_height(lowest), at.at_height(highest)]).ok()
    }

    /// One that was ordered to fly its plan and has not taken off yet waits while another comes into its way.
    fn keep_from_crossed_plan(&mut self, node: &NodeName, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
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
        self.waiting
            .insert(node.clone(), super::sentence(&Waiting::For(others)));
    }

    /// What has come into `way`, which was clear: foreign traffic, a vehicle in other hands or astray, one that lands where it is; and as long as
    /// the vehicle of `node` is on the ground, one of which nothing is known. All others are kept out of it.
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

    /// Whether a vehicle on the ground waits since Geofences are not known yet.
    fn wait_for_fences(&mut self, node: &NodeName) -> bool {
        if self.fences.is_none() {
            let why = format!("does not take off: {FENCES_UNKNOWN}");
            self.waiting.insert(node.clone(), why);
        }
        self.fences.is_none()
    }

    /// Claims the whole way of the plan of a vehicle on the ground at `at`, if it is clear of all others; and checks a way that it has already.
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
        // The altitude of the reference is fixed by the grant: where home or the vehicle has moved since, all are asked again.
        let granted = self
            .granted_plans
            .get(node)
            .filter(|granted| granted.is_of(&planned, at));
        let (mut granted, is_same) = match granted {
            Some(granted) => (granted.clone(), true),
            None => (Granted::on_the_ground(&planned, at), false),
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
            // An order to take off for something else may still be under way to it.
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
            if self.wait_for_fences(node) || self.wait_for_accuracy(node, "does not take off") {
                return;
            }
            let others = self.claims.in_the_way(node, &way);
            if !others.is_empty() {
                let parked = self.parked_below(&others, vehicles);
                let why = parked.unwrap_or_else(|| super::sentence(&Waiting::For(others)));
                self.waiting.insert(node.clone(), why);
                return;
            }
            self.takeoffs.plans.insert(node.clone(), planned.digest().clone());
        }
        self.claims.claim_takeoff(node, Some(way), now);
        granted.go_on();
        self.granted_plans.insert(node.clone(), granted);
        self.takeoffs.until.insert(node.clone(), now.plus(MAY_BE_UNDER_WAY));
    }

    /// Why a plan that leads low over others is not flown, where all `others` in its way are on the ground and have nothing to fly: in a clause.
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

/// Whether one is on its way down where it is.
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

/// Whether one of which nothing is known may be in the air, or soon: no report of its agent is received, or it says that it has flown, or it is
/// to take off for a plan.
fn may_be_up(expected: &Expected<'_>) -> bool {
    match expected.report {
        None => expected.may_fly,
        Some((report, _)) => report.so_far == SoFar::Flown || plan_way::begins_unknown(report, None),
    }
}
