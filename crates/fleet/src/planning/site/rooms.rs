//! Airspace around a station, in which a program flies the vehicle that holds there.
//!
//! It is part of a route of one place: granted by the gate of all routes, claimed as a whole, stored by the agent under that route's
//! number, and released as routes are. While it is granted, the vehicle counts as anywhere in it. It keeps nobody from coming home: it is
//! not granted over homes of vehicles in the air, nor where autopilots' returns would cross it, and it ends for a vehicle that is to land.

use super::observed::around;
use super::{CEILING, Desire, Expected, FENCES_UNKNOWN, NO_HOME, Site, WANDERS, sentence};
use crate::airspace::Route;
use crate::planning::geofence::{Wanted, room_outside};
use crate::planning::movement::Waiting;
use crate::safety::{LegPermit, NoLeg, may_fly};
use model::geo::Local;
use model::ids::NodeName;
use model::lent::Room;
use model::parameter_meaning::{Meaning, all_names};
use model::report::{Activity, Report};
use model::route_order::RouteOrder;
use model::station::{Off, Station};
use model::time::Moment;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Meters};
use model::vehicle::{Airborne, FlightTruth};
use std::collections::BTreeMap;

/// Lowest flight of a program above the vehicle's home, meters: obstacles are not known.
const LOWEST: f64 = 3.0;

impl Site {
    /// These vehicles, and no others, are to have airspace around their stations.
    pub fn lend(&mut self, rooms: BTreeMap<NodeName, Room>) {
        self.rooms = rooms;
    }

    pub(super) fn room_of(&self, permit: &LegPermit) -> Option<Room> {
        permit.route().room()?;
        self.rooms.get(permit.vehicle()).copied()
    }

    /// Up to where programs may fly, and around which place: others cross above.
    pub(super) fn room_tops(&self) -> impl Iterator<Item = Local> {
        self.routes.values().filter_map(|route| {
            let (end, room) = (route.end()?, route.room?);
            let top = AltitudeAmsl(end.amsl.0 + room.above.0);
            self.frame.local(end.at, top).ok()
        })
    }

    /// Grants airspace around their stations to vehicles that hold there. Takes it back when it is not requested any more, when a vehicle
    /// that does not keep to its own airspace has come in, or when one waits for it to land.
    pub(super) fn grant_rooms(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        self.roomless.clear();
        for (node, expected) in vehicles {
            let Some((report, _)) = expected.report else { continue };
            let station = match expected.desire {
                Desire::At(station) => Some(station),
                Desire::AboveHome(_) | Desire::Plan | Desire::Home | Desire::Nothing => None,
            };
            let wanted = self.rooms.get(node).copied().zip(station);
            if self.taken_back.contains_key(node) {
                continue;
            }
            match (self.granted_room(node, report), wanted) {
                (Some(route), wanted) => {
                    let stays = wanted.is_some_and(|(room, station)| {
                        route.room == Some(room) && self.is_around(node, report, &route, &station)
                    });
                    let stays = stays && !self.in_a_way_down.contains(node);
                    if stays && !self.claims.is_crossed(node, now) && self.still_suits(node, report, &route) {
                        self.routes.insert(node.clone(), route);
                    } else {
                        self.routes.remove(node);
                        self.taken_back.insert(node.clone(), route.number);
                    }
                }
                (None, Some((room, station))) if self.holds_on(node, report, &station, now) => {
                    if let Err(why) = self.grant_room(node, report, room, now) {
                        self.roomless.insert(node.clone(), why);
                    }
                }
                (None, _) => {}
            }
        }
    }

    /// The last granted one, if its agent has not let go of it.
    fn granted_room(&self, node: &NodeName, report: &Report) -> Option<RouteOrder> {
        let known = self.routes.get(node).or(report.route.order.as_ref());
        known.filter(|route| route.room.is_some()).cloned()
    }

    fn is_around(&self, node: &NodeName, report: &Report, route: &RouteOrder, station: &Station) -> bool {
        let (Some(end), Some(home)) = (route.end(), report.home) else {
            return false;
        };
        let place = station.place();
        let amsl = place.altitude.amsl(self.station_home(node, home.amsl, station));
        let (Ok(end), Ok(at)) = (self.frame.local(end.at, end.amsl), self.frame.local(place.at, amsl)) else {
            return false;
        };
        let off = Off {
            horizontal: Meters(end.over_ground(at)),
            above: Meters(end.up - at.up),
        };
        // It is granted around where the vehicle holds, on its station.
        let same = self.granted_for.get(node).is_none_or(|of| of == station);
        match same {
            true => self.tolerance.swaying().covers(off),
            false => off.horizontal.0 <= WANDERS.0 && off.above.0.abs() <= WANDERS.1,
        }
    }

    /// Whether it keeps to the vehicle's Geofences, as far as they are known by now.
    fn still_suits(&self, node: &NodeName, report: &Report, route: &RouteOrder) -> bool {
        let end = route.end().and_then(|end| self.frame.local(end.at, end.amsl).ok());
        match (end.zip(self.home(report)), route.room) {
            (Some((at, home)), Some(room)) if self.fences.is_some() => {
                // A wander of its home is no reason.
                let lowest = at.up - room.below.0 - home.up + WANDERS.1;
                let highest = at.up + room.above.0 - home.up - WANDERS.1;
                self.is_within_fences(node, at, room, (lowest, highest)).is_ok()
            }
            _ => true,
        }
    }

    /// Observed to hold on `station`, by our order.
    fn holds_on(&self, node: &NodeName, report: &Report, station: &Station, now: Moment) -> bool {
        let arrived = self.arrivals.get(node);
        let arrived = arrived.is_some_and(|(of, arrival)| of == station && arrival.on_station(now));
        let holds = report.truth == FlightTruth::Airborne(Airborne::InAir) && report.activity == Activity::Holding;
        // At its reserve it comes home or lands, and a program has no time left.
        arrived && holds && !report.near_reserve && matches!(self.claims.fit(node, now), Ok((_, false)))
    }

    fn grant_room(&mut self, node: &NodeName, report: &Report, room: Room, now: Moment) -> Result<(), String> {
        let (at, _) = self
            .claims
            .fit(node, now)
            .map_err(|why| format!("has no airspace for a program: {why}"))?;
        let home = self.home(report).ok_or_else(|| NO_HOME.to_owned())?;
        self.suits(node, (at, home), room)
            .map_err(|why| format!("has no airspace for a program: {why}"))?;
        let route = Route::hold(at).with_room(Some(around(&room)));
        self.keeps_ways_home_clear(node, &route)
            .map_err(|why| format!("has no airspace for a program: {why}"))?;
        // Not even to leave a near one is all of it claimed.
        let in_the_way = self.claims.in_the_way(node, &route);
        if !in_the_way.is_empty() {
            return Err(sentence(&Waiting::For(in_the_way)));
        }
        match may_fly(&mut self.claims, node, route, now) {
            Ok(permit) => {
                self.order(&permit, false);
                Ok(())
            }
            Err(NoLeg::InTheWay(owners)) => Err(sentence(&Waiting::For(owners))),
            Err(why) => Err(format!("has no airspace for a program: {why}")),
        }
    }

    /// Whether others can come home by ours or by their autopilots, and this vehicle by its own, beside the airspace around `hold`.
    fn keeps_ways_home_clear(&self, node: &NodeName, hold: &Route) -> Result<(), String> {
        if self.in_a_way_down.contains(node) {
            return Err("a vehicle that is to land waits for it to be out of the way".to_owned());
        }
        let radius = hold.room().map_or(0.0, |room| room.radius);
        if let Some(other) = self.home_below(node, hold.end(), radius) {
            return Err(format!(
                "the vehicle of node {other} is in the air, and could not come down to its home, which lies below; move the station"
            ));
        }
        let mut others = self.expected.keys().filter(|other| *other != node);
        let climbs = others.find(|other| {
            let there = self.hold_in_air(other);
            there.is_some_and(|there| self.returns_through((node, hold), (*other, &there)))
        });
        if let Some(other) = climbs {
            return Err(format!(
                "the vehicle of node {other} holds above or below it, and the autopilot of the lower would return through the other; move one \
                 of the stations, or lower the return altitude of that autopilot ({})",
                all_names(Meaning::ReturnAltitude)
            ));
        }
        if let Some(other) = self.plan_below(node, hold) {
            return Err(format!(
                "it would lie above the way of the plan of the vehicle of node {other}, whose autopilot would return through it; move the \
                 station, or lower the return altitude of that autopilot ({})",
                all_names(Meaning::ReturnAltitude)
            ));
        }
        match self.refused_return(node) {
            Some(other) => Err(format!(
                "the autopilot of one would return through the station of the other, or the volume around it, which is the vehicle of node \
                 {other} (preflight: Refuse); move one of the stations, or give their autopilots return altitudes at which none lies"
            )),
            None => Ok(()),
        }
    }

    /// Whether all of `room` around `at` may be flown in from this home, by the ground and Geofences.
    fn suits(&self, node: &NodeName, (at, home): (Local, Local), room: Room) -> Result<(), String> {
        if !room.is_sound() {
            return Err("spec.external has a number that means nothing; correct it".to_owned());
        }
        let lowest = at.up - room.below.0 - home.up;
        let highest = at.up + room.above.0 - home.up;
        if lowest < LOWEST {
            return Err(format!(
                "spec.external reaches down to {lowest:.1} m above home, and {LOWEST} m is the lowest; lower belowMeters, or raise the station"
            ));
        }
        if highest > CEILING {
            return Err(format!(
                "spec.external reaches up to {highest:.0} m above home, and {CEILING} m is the highest; lower aboveMeters, or the station"
            ));
        }
        self.is_within_fences(node, at, room, (lowest, highest))
    }

    /// Between these altitudes above home.
    fn is_within_fences(
        &self,
        node: &NodeName,
        at: Local,
        room: Room,
        (lowest, highest): (f64, f64),
    ) -> Result<(), String> {
        let fences = self.fences.as_ref().ok_or_else(|| FENCES_UNKNOWN.to_owned())?;
        let Some(fences) = fences.get(node) else { return Ok(()) };
        let wanted: Vec<&Wanted> = fences.iter().map(AsRef::as_ref).collect();
        let (center, _) = self.frame.position(at);
        let heights = (AltitudeAboveHome(lowest), AltitudeAboveHome(highest));
        room_outside(&wanted, (center, room.radius.0), heights).map_err(|why| why.to_string())
    }
}
