//! Who may rise above its home: a vehicle without a station, which takes off without a route.
//!
//! Owns: [`Rising`], to whom the airspace above its home belongs before it takes off. Must not: keep such vehicles apart from one another,
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

/// Who may rise now.
#[derive(Clone, Debug, Default)]
pub(super) struct Rising {
    /// Until when at least the airspace above each is its own.
    until: BTreeMap<NodeName, Moment>,
    /// Who stands where this site cannot tell: without a position, or far away.
    nowhere: BTreeSet<NodeName>,
    /// Nobody has a station.
    asleep: bool,
}

impl Site {
    /// Nobody has a station now: who has none need not ask.
    pub const fn rest(&mut self) {
        self.rising.asleep = true;
    }

    /// Whether a vehicle without a station that stands on the ground of `node` may take off, as far as those go which have one. One that
    /// was not taken in yet may not.
    #[must_use]
    pub fn may_rise(&self, node: &NodeName) -> bool {
        self.rising.asleep || self.rising.until.contains_key(node) || self.rising.nowhere.contains(node)
    }

    pub(super) fn let_rise(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        self.rising.asleep = false;
        self.rising.nowhere.clear();
        for (node, expected) in vehicles {
            let stands = self.claims.place(node).filter(|(_, on_ground)| *on_ground);
            let Some((at, _)) = stands else {
                self.rises_no_more(node, now);
                if expected
                    .report
                    .is_some_and(|(report, _)| report.truth == FlightTruth::Disarmed)
                {
                    self.rising.nowhere.insert(node.clone());
                }
                continue;
            };
            let known = self.rising.until.get(node);
            match self.way_up(at, expected) {
                Some(way) if known.is_some() || self.is_clear(node, &way, vehicles) => {
                    self.claims.rise(node, Some(way), now);
                    self.rising.until.insert(node.clone(), now.plus(MAY_BE_UNDER_WAY));
                }
                Some(_) => {}
                None if known.is_some_and(|until| now > *until) => self.rises_no_more(node, now),
                None => {}
            }
        }
    }

    fn rises_no_more(&mut self, node: &NodeName, now: Moment) {
        if self.rising.until.remove(node).is_some() {
            self.claims.rise(node, None, now);
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
