//! Where a vehicle near its battery's reserve lands without a way home.
//!
//! Its agent waits for a way home some half a minute beyond the reserve and then lands it in place (`fleet::flight::converge::route`).
//! While it holds and waits:
//!
//! * the column below is claimed as soon as it is clear, and no other is granted a way into it;
//! * where another holds or is on the ground below, the vehicle is moved level, by a granted route, to the nearest place over a clear
//!   column. Nobody below is moved: they would climb into the vehicle itself;
//! * where there is no such place, nothing is claimed. The landing then counts as that of a vehicle that does not keep to its airspace:
//!   those that can make way do, and the objects of both report it. So does one that a person orders where the vehicle is.
//!
//! Must not: land anything; the agent decides that.

use super::{ABOVE_HOME, Desire, Expected, Site, kept_within};
use crate::airspace::{Doing, NotFit, Observation, Route, ground_below};
use crate::safety::{may_fly, may_stop};
use model::geo::Local;
use model::ids::NodeName;
use model::report::{Activity, Report};
use model::time::Moment;
use std::collections::BTreeMap;

/// Directions in which places beside a vehicle are tried, each at distances of one pitch.
const DIRECTIONS: u8 = 8;
const DISTANCES: u8 = 8;

/// The wind brings a vehicle that lands at its home no farther from that over ground, meters.
const DRIFTS: f64 = 5.0;

/// Lower above its home, a vehicle is about to be on the ground, meters.
const LOW: f64 = 1.0;

fn comes_home_for_its_battery(desire: Desire, report: &Report) -> bool {
    desire == Desire::Home && report.near_reserve
}

impl Site {
    /// The way down from where a vehicle waits for its way home, while that is clear of all others.
    pub(super) fn way_down_where_it_waits(
        &self,
        node: &NodeName,
        desire: Desire,
        report: &Report,
        now: Moment,
    ) -> Option<Route> {
        let home = self
            .home(report)
            .filter(|_| comes_home_for_its_battery(desire, report))?;
        let at = match self.claims.fit(node, now) {
            Ok((at, false)) => at,
            // It may land in place until it has taken the route.
            Err(NotFit::UnderWay) if Some(report.route.last) < self.last_granted(node) => {
                let position = report.position?;
                self.frame.local(position.at, position.amsl).ok()?
            }
            Ok((_, true)) | Err(_) => return None,
        };
        let down = column(at, home)?;
        self.claims.in_the_way(node, &down).is_empty().then_some(down)
    }

    /// Whether a vehicle lands away from home, by a person's order or a failsafe, on others: with another in its way down, it keeps to no
    /// airspace of its own.
    /// Nobody can be asked to make way on the ground; a landing for the battery is said to those there. People chose the homes of others beside its
    /// own, above which the wind may bring it.
    pub(super) fn lands_on_others(&self, node: &NodeName, report: &Report, observed: &Observation) -> bool {
        let Doing::Upright { way } = &observed.doing else {
            return false;
        };
        let home = self.home(report);
        let off = home.map_or(f64::INFINITY, |home| home.over_ground(observed.at));
        let chosen = |other: &NodeName| off <= DRIFTS && self.is_over_its_home_beside(other, observed.at);
        let is_in_the_way = || match report.activity {
            Activity::LowBattery => !self.claims.in_the_way(node, way).is_empty(),
            Activity::Landing | Activity::Failsafe => {
                let below = self.others_below(node, way);
                below.iter().any(|other| self.may_make_way(other) && !chosen(other))
            }
            _ => false,
        };
        off > ABOVE_HOME.0 && is_in_the_way()
    }

    /// One that is not heard cannot, nor one that lands itself: its way ends straight below it.
    fn may_make_way(&self, node: &NodeName) -> bool {
        let seen = self.claims.last_seen(node).filter(|_| !self.claims.is_silent(node));
        seen.is_some_and(|at| {
            let end = self.claims.end(node);
            end.is_none_or(|end| end.over_ground(at) > ABOVE_HOME.0 || end.up >= at.up - ABOVE_HOME.1)
        })
    }

    /// Stops vehicles near their reserve on the way to their stations: they are granted their way home from there.
    pub(super) fn turn_back_for_the_reserve(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        for (node, expected) in vehicles {
            let Some((report, _)) = expected.report else { continue };
            if !comes_home_for_its_battery(expected.desire, report) || !self.leads_out(node, report) {
                continue;
            }
            if let Ok(permit) = may_stop(&mut self.claims, node, now) {
                self.order(&permit, false);
            }
        }
    }

    /// Whether the route that a vehicle flies leads away from its home, whichever leader gave it: it ends elsewhere than over that, and was not
    /// given to make room, or to bring the vehicle down.
    fn leads_out(&self, node: &NodeName, report: &Report) -> bool {
        let flown = report.route.order.as_ref().map(|route| route.number);
        if flown.is_none() || flown == self.homeward.get(node).copied() {
            return false;
        }
        let end = self.claims.end(node).filter(|_| self.claims.under_way(node));
        let places = end.zip(self.home(report));
        places.is_some_and(|(end, home)| end.over_ground(home) > ABOVE_HOME.0)
    }

    /// Moves those that wait for their way home over others to where the ground below is clear.
    pub(super) fn clear_ways_down(
        &mut self,
        vehicles: &BTreeMap<NodeName, Expected<'_>>,
        homes: &BTreeMap<NodeName, f64>,
        now: Moment,
    ) {
        for (node, expected) in vehicles {
            let Some((report, _)) = expected.report else { continue };
            let waits = self.waiting.contains_key(node) && comes_home_for_its_battery(expected.desire, report);
            let Some(home) = self.home(report).filter(|_| waits) else {
                continue;
            };
            let Ok((at, false)) = self.claims.fit(node, now) else {
                continue;
            };
            let is_clear = |down: &Route| self.claims.in_the_way(node, down).is_empty();
            if column(at, home).is_none_or(|down| is_clear(&down)) {
                continue;
            }
            let pitch = self.claims.rules().pitch().horizontal.0;
            for way in beside(at, home, pitch) {
                if kept_within(self.frame, self.fences.as_ref(), homes)(node, &way).is_err() {
                    continue;
                }
                if let Ok(permit) = may_fly(&mut self.claims, node, way, now) {
                    self.order(&permit, true);
                    break;
                }
            }
        }
    }
}

/// Down to the ground, wherever that is; `None` for a vehicle that is almost down at its home.
fn column(at: Local, home: Local) -> Option<Route> {
    let ground = ground_below(at, home);
    let down = Route::through([at, ground]).ok()?;
    (at.up > ground.up + LOW).then_some(down)
}

/// Level to places beside and down from there, the nearest first.
fn beside(at: Local, home: Local, pitch: f64) -> impl Iterator<Item = Route> {
    (1..=DISTANCES).flat_map(move |distance| {
        (0..DIRECTIONS).filter_map(move |direction| {
            let course = std::f64::consts::TAU * f64::from(direction) / f64::from(DIRECTIONS);
            let far = pitch * f64::from(distance);
            let there = at.shifted(far * course.sin(), far * course.cos());
            Route::through([at, there, ground_below(there, home)]).ok()
        })
    })
}
