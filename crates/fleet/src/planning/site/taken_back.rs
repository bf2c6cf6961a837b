//! Routes that are taken back from vehicles on the ground, which have not set out on them.

use super::{Desire, Expected, SAME_HOME, Site, WANDERS, kept_within};
use crate::airspace::Route;
use model::geo::{Local, NoPlace};
use model::ids::NodeName;
use model::report::Report;
use model::route_order::RouteOrder;
use model::station::Station;
use model::time::Moment;
use model::vehicle::FlightTruth;
use std::collections::BTreeMap;

/// A vehicle that makes room, or has another place in its formation, moves no farther over ground than this many pitches.
const LITTLE: f64 = 3.0;

impl Site {
    /// Takes back routes that were not begun, where a vehicle that does not keep to its claim has come into the way, or nobody asks for them any
    /// more. The airspace stays claimed until the agent is known to have dropped the route, or to refuse it should the order still come.
    pub(super) fn take_back(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        let report = |node: &NodeName| Some(vehicles.get(node)?.report?.0);
        self.taken_back.retain(|node, number| {
            report(node).is_none_or(|report| {
                let has = report.route.order.as_ref().is_some_and(|route| route.number == *number);
                let lets_go = report.route.order.as_ref().is_some_and(|route| route.room.is_some());
                report.route.last < *number || (has && (lets_go || report.truth == FlightTruth::Disarmed))
            })
        });
        for (node, expected) in vehicles {
            let on_ground = |report: &&Report| report.truth == FlightTruth::Disarmed;
            let Some(report) = expected.report.map(|(report, _)| report).filter(on_ground) else {
                continue;
            };
            let Some(route) = self.routes.get(node).or(report.route.order.as_ref()) else {
                continue;
            };
            let is_void = self.claims.is_crossed(node, now)
                || (self.claims.under_way(node)
                    && (self.is_for_another_station(node, report, expected.desire)
                        || self.is_fenced_off(node, report, route)));
            let number = route.number;
            if is_void {
                self.routes.remove(node);
                self.taken_back.insert(node.clone(), number);
            }
        }
    }

    /// Whether it is to hold elsewhere than where its route leads: its station was edited, or another Drone is bound to its node. Where a formation
    /// moves it a little, it flies on from there. One of the leader before leads to its station, or near by to make room for others.
    fn is_for_another_station(&self, node: &NodeName, report: &Report, desire: Desire) -> bool {
        let (Desire::At(station), Some(home)) = (desire, report.home) else {
            return false;
        };
        let local = |station: &Station| {
            let place = station.place();
            self.frame.local(place.at, place.altitude.amsl(home.amsl)).ok()
        };
        let reach = LITTLE * self.claims.rules().pitch().horizontal.0;
        let at = |one: Local, goal: Local| one.over_ground(goal) <= reach && (one.up - goal.up).abs() <= SAME_HOME;
        let Some(goal) = local(&station) else { return false };
        if let Some(of) = self.granted_for.get(node) {
            return local(of).is_none_or(|of| !at(of, goal));
        }
        let stands = report
            .position
            .and_then(|position| self.frame.local(position.at, position.amsl).ok());
        let ends = stands.zip(self.claims.end(node));
        ends.is_some_and(|(stands, end)| !at(end, goal) && end.over_ground(stands) > reach)
    }

    /// Whether a Geofence that came after the grant forbids `route`, wherever home has wandered to since. What would be granted now is not taken
    /// back.
    fn is_fenced_off(&self, node: &NodeName, report: &Report, route: &RouteOrder) -> bool {
        let Some(home) = self.home(report).filter(|_| self.fences.is_some()) else {
            return false;
        };
        let places = route.places.iter();
        let places: Result<Vec<Local>, NoPlace> = places.map(|place| self.frame.local(place.at, place.amsl)).collect();
        let Some(way) = places.ok().and_then(|places| Route::through(places).ok()) else {
            return false;
        };
        let is_out = |wander: f64| {
            let homes = BTreeMap::from([(node.clone(), home.up + wander)]);
            kept_within(self.frame, self.fences.as_ref(), &homes)(node, &way).is_err()
        };
        is_out(0.0) && is_out(-WANDERS.1) && is_out(WANDERS.1)
    }
}
