//! Which vehicle without a station may take off: it does so without a route.
//!
//! Owns: [`Takeoffs`], which owns the airspace above its home before it takes off. Must not: keep such vehicles apart from one another,
//! or hold one down for a vehicle of which nothing is known: then nobody flies who has no station either.

use super::{Desire, Expected, Site};
use crate::airspace::{Owner, Route, Volume};
use crate::geo::Local;
use crate::ids::NodeName;
use crate::time::Moment;
use crate::vehicle::FlightTruth;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// An order to take off may be under way to its agent for this long after it was taken back.
const MAY_BE_UNDER_WAY: Duration = Duration::from_secs(30);

/// Which vehicles may take off now.
#[derive(Clone, Debug, Default)]
pub(super) struct Takeoffs {
    /// Until when at least the airspace above each is its own.
    until: BTreeMap<NodeName, Moment>,
    /// Those on the ground at a place that this site does not know: without a position, or far away.
    nowhere: BTreeSet<NodeName>,
    /// Nobody has a station.
    asleep: bool,
}

impl Site {
    /// Nobody has a station now: who has none need not ask.
    pub const fn rest(&mut self) {
        self.takeoffs.asleep = true;
    }

    /// Whether a vehicle without a station of `node`, which is on the ground, may take off beside those which have one. One that was
    /// not observed yet may not.
    #[must_use]
    pub fn may_take_off(&self, node: &NodeName) -> bool {
        self.takeoffs.asleep || self.takeoffs.until.contains_key(node) || self.takeoffs.nowhere.contains(node)
    }

    pub(super) fn grant_takeoffs(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        self.takeoffs.asleep = false;
        self.takeoffs.nowhere.clear();
        for (node, expected) in vehicles {
            let stands = self.claims.place(node).filter(|(_, on_ground)| *on_ground);
            let Some((at, _)) = stands else {
                self.revoke_takeoff(node, now);
                if expected
                    .report
                    .is_some_and(|(report, _)| report.truth == FlightTruth::Disarmed)
                {
                    self.takeoffs.nowhere.insert(node.clone());
                }
                continue;
            };
            let known = self.takeoffs.until.get(node);
            match self.way_up(at, expected) {
                Some(way) if known.is_some() || self.is_clear(node, &way, vehicles) => {
                    self.claims.claim_takeoff(node, Some(way), now);
                    self.takeoffs.until.insert(node.clone(), now.plus(MAY_BE_UNDER_WAY));
                }
                Some(_) => {}
                None if known.is_some_and(|until| now > *until) => self.revoke_takeoff(node, now),
                None => {}
            }
        }
    }

    fn revoke_takeoff(&mut self, node: &NodeName, now: Moment) {
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
        let moves = |owner: &Owner| {
            let Owner::Vehicle(other) = owner else { return false };
            let has_station = vehicles
                .get(other)
                .is_none_or(|expected| matches!(expected.desire, Desire::At(_) | Desire::Home));
            let known = self.claims.volume(owner) != Some(&Volume::Everywhere);
            known && (has_station || self.routes.contains_key(other))
        };
        !self.claims.in_the_way(node, way).iter().any(moves)
    }
}
