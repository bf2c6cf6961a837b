//! The sites of a fleet: one for each neighborhood of homes, each on a plane of its own.
//!
//! Owns: [`Sites`]: the site of each vehicle, its center, and what vehicles of one site own in another. Must not: grant anything ([`Site`]
//! does).
//!
//! Centers lie on a grid over the Earth and follow from homes alone: each leader finds the same, in any order of reports, and one agent's
//! report moves no other. Where the grid would divide a field, all near its first home join the same site. Sites overlap: in each, vehicles
//! of the others own what they own in theirs, and its own make way for those that do not keep to that.

use super::{Corridor, Endangered, Expected, OffStation, Site, Transponders};
use crate::airspace::{Known, Neighbor, Owner, ReturnHeight, Rules, Volume};
use crate::planning::geofence::Wanted;
use model::geo::{Frame, Local, REACH, offset};
use model::ids::{NodeName, Term};
use model::lent::Room;
use model::owned_airspace::Owned;
use model::plan::PlanDigest;
use model::report::Report;
use model::route_order::{OrderNumber, RouteOrder};
use model::station::{Off, Station, Tolerance};
use model::time::Moment;
use model::units::{AltitudeAboveHome, Wgs84};
use model::vehicle::FlightTruth;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Degrees of latitude: 16.7 km, so that a home is within 8.4 km of a center, and vehicles fly 11.6 km beyond.
const ROW_DEGREES: f64 = 0.15;

/// Reach of a site to north, south, east and west for homes, meters: as far beyond it a vehicle still has a place there.
const CORE_M: f64 = 14_000.0;

/// Homes this near to one another share a site if possible, degrees: about 3 km.
const NEAR_DEGREES: f64 = 0.03;

/// A vehicle farther from its home is placed by its position, meters.
const NEAR_HOME_M: f64 = 10_000.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Cell {
    row: i32,
    column: i32,
}

/// A field on the ground, some kilometers wide, by its row and its column from the 180th meridian on.
type Field = (i32, i32);

/// Fields in a row, all around the Earth.
const FIELDS_IN_A_ROW: i32 = 12_000;

/// The airspace of a fleet, as one leader knows it.
#[derive(Clone, Debug)]
pub struct Sites {
    term: Term,
    rules: Rules,
    tolerance: Tolerance,
    sites: BTreeMap<Cell, Site>,
    of: BTreeMap<NodeName, Cell>,
    fields: BTreeMap<Field, Cell>,
    /// Vehicles where no plane is exact enough, beyond 70 degrees of latitude.
    beyond: BTreeSet<NodeName>,
    corridors: BTreeMap<NodeName, Corridor>,
    changes: BTreeMap<NodeName, AltitudeAboveHome>,
    rooms: BTreeMap<NodeName, Room>,
    fences: Option<BTreeMap<NodeName, Vec<Arc<Wanted>>>>,
    strict: BTreeSet<NodeName>,
    transponders: Transponders,
    count: u64,
    /// No vehicle has a station, or flies for a Mission.
    asleep: bool,
}

/// A vehicle of another site, in the frame of this one.
#[derive(Clone, Debug)]
struct Guest {
    volume: Volume,
    /// See [`Site::may_move`].
    moves: bool,
    /// `None`: it was not observed there.
    observed: Option<Neighbor>,
}

impl Cell {
    fn of(at: Wgs84) -> Self {
        let row = whole((at.latitude_deg / ROW_DEGREES).round());
        let columns = columns(row);
        let turn = ((at.longitude_deg + 180.0) / 360.0).rem_euclid(1.0);
        let column = whole((turn * columns).floor());
        Self { row, column }
    }

    fn center(self) -> Wgs84 {
        const HIGHEST: f64 = 70.0;
        Wgs84 {
            latitude_deg: (f64::from(self.row) * ROW_DEGREES).clamp(-HIGHEST, HIGHEST),
            longitude_deg: (f64::from(self.column) + 0.5) / columns(self.row) * 360.0 - 180.0,
        }
    }

    fn has_within(self, at: Wgs84, distance_m: f64) -> bool {
        let (east, north) = offset(self.center(), at);
        east.abs() <= distance_m && north.abs() <= distance_m
    }
}

/// Columns in a row, each about as wide as the row is high.
fn columns(row: i32) -> f64 {
    let latitude = (f64::from(row) * ROW_DEGREES).to_radians();
    (360.0 / ROW_DEGREES * latitude.cos()).floor().max(1.0)
}

fn whole(number: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "a position on Earth has small numbers")]
    let whole = number as i32;
    whole
}

fn field(at: Wgs84) -> Field {
    let part = |degrees: f64| whole((degrees / NEAR_DEGREES).floor());
    (part(at.latitude_deg), around(part(at.longitude_deg)))
}

/// The column of a field, the same on both sides of the 180th meridian.
const fn around(column: i32) -> i32 {
    column.rem_euclid(FIELDS_IN_A_ROW)
}

/// The place that decides on the site: home, unless the vehicle is known to be far from that.
fn anchor(report: &Report) -> Option<Wgs84> {
    let home = report.home.map(|home| home.at);
    let place = report.position.map(|position| position.at);
    match (home, place) {
        (Some(home), Some(place)) => {
            let (east, north) = offset(home, place);
            Some(if east.hypot(north) <= NEAR_HOME_M { home } else { place })
        }
        (home, place) => place.or(home),
    }
}

fn is_down(report: &Report) -> bool {
    report.truth == FlightTruth::Disarmed
}

impl Sites {
    /// For a new leadership. `tolerance`: for being on station.
    pub const fn new(term: Term, rules: Rules, tolerance: Tolerance) -> Self {
        Self {
            term,
            rules,
            tolerance,
            sites: BTreeMap::new(),
            of: BTreeMap::new(),
            fields: BTreeMap::new(),
            beyond: BTreeSet::new(),
            corridors: BTreeMap::new(),
            changes: BTreeMap::new(),
            rooms: BTreeMap::new(),
            fences: Some(BTreeMap::new()),
            strict: BTreeSet::new(),
            transponders: BTreeMap::new(),
            count: 0,
            asleep: false,
        }
    }

    pub fn plans(&mut self, plans: BTreeMap<NodeName, Corridor>) {
        self.corridors = plans;
    }

    pub fn changes(&mut self, changes: BTreeMap<NodeName, AltitudeAboveHome>) {
        self.changes = changes;
    }

    pub fn lend(&mut self, rooms: BTreeMap<NodeName, Room>) {
        self.rooms = rooms;
    }

    pub fn keep_within(&mut self, fences: Option<BTreeMap<NodeName, Vec<Arc<Wanted>>>>) {
        self.fences = fences;
    }

    pub fn keep_returns_clear(&mut self, strict: BTreeSet<NodeName>) {
        self.strict = strict;
    }

    pub fn declare_transponders(&mut self, declared: Transponders) {
        self.transponders = declared;
    }

    pub fn declare_down(&mut self, node: &NodeName) {
        for site in self.sites.values_mut() {
            site.declare_down(node);
        }
    }

    pub fn rest(&mut self) -> bool {
        let is_new = !std::mem::replace(&mut self.asleep, true);
        self.sites
            .values_mut()
            .fold(is_new, |is_new, site| site.rest() || is_new)
    }

    /// See [`Site::has_one_away`].
    pub fn has_one_away(&self) -> bool {
        self.sites.values().any(Site::has_one_away)
    }

    pub fn update(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        self.asleep = false;
        self.place(vehicles);
        let cells: Vec<Cell> = self.sites.keys().copied().collect();
        let mut members: BTreeMap<Cell, BTreeMap<NodeName, Expected<'_>>> =
            cells.iter().map(|cell| (*cell, BTreeMap::new())).collect();
        for (node, expected) in vehicles {
            let own = self.of.get(node);
            // A vehicle without a known place may be in any site.
            for (_, site) in members
                .iter_mut()
                .filter(|(cell, _)| own.is_none_or(|own| own == *cell))
            {
                site.insert(node.clone(), *expected);
            }
        }
        let (corridors, changes) = (std::mem::take(&mut self.corridors), std::mem::take(&mut self.changes));
        let (mut corridors, mut changes) = (self.split(corridors), self.split(changes));
        let rooms = std::mem::take(&mut self.rooms);
        let mut rooms = self.split(rooms);
        for cell in cells {
            let guests = self.guests_of(cell, &members, now);
            let heard = heard_beside(cell, &members);
            let (Some(site), Some(members)) = (self.sites.get_mut(&cell), members.get(&cell)) else {
                continue;
            };
            site.host(guests, now);
            site.declare_transponders(self.transponders.clone());
            site.hear_traffic(&heard, now);
            site.count_on_from(self.count);
            site.plans(&corridors.remove(&cell).unwrap_or_default());
            site.changes(changes.remove(&cell).unwrap_or_default());
            site.lend(rooms.remove(&cell).unwrap_or_default());
            site.keep_within(self.fences.clone());
            site.keep_returns_clear(self.strict.clone());
            site.update(members, now);
            self.count = site.count();
        }
        let sites = &mut self.sites;
        self.of
            .retain(|node, cell| vehicles.contains_key(node) || sites.get(cell).is_some_and(|site| site.expects(node)));
        sites.retain(|_, site| !site.is_empty());
        self.fields.retain(|_, cell| sites.contains_key(cell));
    }

    /// For vehicles that have none, or that were carried to another on the ground.
    fn place(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>) {
        self.beyond.clear();
        let mut new: Vec<(Cell, &NodeName, Wgs84)> = Vec::new();
        for (node, expected) in vehicles {
            let report = expected.report.map(|(report, _)| report);
            let Some((report, at)) = report.and_then(|report| Some((report, anchor(report)?))) else {
                continue;
            };
            let own = self.of.get(node).copied();
            if own.is_some_and(|cell| !is_down(report) || cell.has_within(at, CORE_M)) {
                continue;
            }
            if let Some(site) = own.and_then(|cell| self.sites.get_mut(&cell)) {
                site.leave(node);
                self.of.remove(node);
            }
            match Frame::at(at) {
                Ok(_) => new.push((Cell::of(at), node, at)),
                Err(_) => {
                    self.beyond.insert(node.clone());
                }
            }
        }
        new.sort_by_key(|(cell, node, _)| (*cell, *node));
        for (cell, node, at) in new {
            let cell = self.near(at).unwrap_or(cell);
            if !self.sites.contains_key(&cell) {
                let Ok(site) = Site::new(self.term, self.rules, cell.center()) else {
                    continue;
                };
                self.sites.insert(cell, site.with_tolerance(self.tolerance));
            }
            self.fields.entry(field(at)).or_insert(cell);
            self.of.insert(node.clone(), cell);
        }
    }

    fn near(&self, at: Wgs84) -> Option<Cell> {
        let (row, column) = field(at);
        let beside = [0, -1, 1];
        let fields = beside
            .into_iter()
            .flat_map(|up| beside.map(|right| (row + up, around(column + right))));
        let mut known = fields.filter_map(|field| self.fields.get(&field).copied());
        known.find(|cell| cell.has_within(at, CORE_M))
    }

    fn split<T>(&self, all: BTreeMap<NodeName, T>) -> BTreeMap<Cell, BTreeMap<NodeName, T>> {
        let mut split: BTreeMap<Cell, BTreeMap<NodeName, T>> = BTreeMap::new();
        for (node, one) in all {
            if let Some(cell) = self.of.get(&node) {
                split.entry(*cell).or_default().insert(node, one);
            }
        }
        split
    }

    /// Vehicles of other sites that may come into that of `cell`.
    fn guests_of(
        &self,
        cell: Cell,
        members: &BTreeMap<Cell, BTreeMap<NodeName, Expected<'_>>>,
        now: Moment,
    ) -> BTreeMap<NodeName, Guest> {
        let mut guests = BTreeMap::new();
        let others = self.sites.iter().filter(|(other, _)| overlap(cell, **other));
        for (other, site) in others {
            let Some(vehicles) = members.get(other) else { continue };
            for node in self.of.iter().filter(|(_, of)| *of == other).map(|(node, _)| node) {
                if let Some(guest) = site.guest(node, vehicles, cell.center(), now) {
                    guests.insert(node.clone(), guest);
                }
            }
        }
        guests
    }

    fn site(&self, node: &NodeName) -> Option<&Site> {
        self.sites.get(self.of.get(node)?)
    }

    pub fn has(&self, node: &NodeName) -> bool {
        self.site(node).is_some()
    }

    /// Beyond 70 degrees of latitude nobody keeps vehicles apart. See [`Site::may_take_off`].
    pub fn may_take_off(&self, node: &NodeName) -> bool {
        self.asleep || self.beyond.contains(node) || self.site(node).is_some_and(|site| site.may_take_off(node))
    }

    pub fn may_change_to(&self, node: &NodeName, height: AltitudeAboveHome) -> bool {
        let may = |site: &Site| site.may_change_to(node, height);
        self.asleep || self.beyond.contains(node) || self.site(node).is_some_and(may)
    }

    pub fn changes_to(&self, node: &NodeName) -> Option<AltitudeAboveHome> {
        self.site(node)?.changes_to(node)
    }

    pub fn owns_plan(&self, node: &NodeName) -> bool {
        self.site(node).is_some_and(|site| site.owns_plan(node))
    }

    pub fn may_fly_plan(&self, node: &NodeName, digest: &PlanDigest) -> bool {
        self.site(node).is_some_and(|site| site.may_fly_plan(node, digest))
    }

    pub fn may_begin_plan(&self, node: &NodeName, digest: &PlanDigest) -> bool {
        self.site(node).is_some_and(|site| site.may_begin_plan(node, digest))
    }

    pub fn plan_waits(&self, node: &NodeName) -> Option<&str> {
        self.site(node)?.plan_waits(node)
    }

    pub fn plan_barred(&self, node: &NodeName) -> Option<&str> {
        self.site(node)?.plan_barred(node)
    }

    pub fn may_fly_on(&self, node: &NodeName, digest: &PlanDigest, report: &Report) -> bool {
        match self.site(node) {
            Some(site) => site.may_fly_on(node, digest, report),
            None => super::flies_as_written(digest, report),
        }
    }

    pub fn plan_order_is_due(&self, node: &NodeName, report: &Report) -> bool {
        self.site(node).is_some_and(|site| site.plan_order_is_due(node, report))
    }

    pub fn off(&self, node: &NodeName, report: &Report, station: &Station) -> Option<Off> {
        match self.site(node) {
            Some(site) => site.off(node, report, station),
            None => report.off(station, report.home.map(|home| home.amsl)),
        }
    }

    pub fn owned(&self, node: &NodeName) -> Option<Owned> {
        self.site(node)?.owned(node)
    }

    pub fn last_granted(&self, node: &NodeName) -> Option<OrderNumber> {
        self.site(node)?.last_granted(node)
    }

    pub fn route(&self, node: &NodeName) -> Option<&RouteOrder> {
        self.site(node)?.route(node)
    }

    /// [`OffStation::Settling`] for a vehicle in no site.
    pub fn off_station(&self, node: &NodeName, now: Moment) -> Option<OffStation> {
        match self.site(node) {
            Some(site) => site.off_station(node, now),
            None => Some(OffStation::Settling),
        }
    }

    pub fn is_home(&self, node: &NodeName, report: &Report) -> bool {
        self.site(node).is_some_and(|site| site.is_home(node, report))
    }

    pub fn shared_return(&self, node: &NodeName) -> Option<String> {
        self.site(node)?.shared_return(node)
    }

    pub fn crossed_station(&self, node: &NodeName) -> Option<String> {
        self.site(node)?.crossed_station(node)
    }

    pub fn endangered(&self) -> BTreeMap<(Owner, NodeName), Endangered> {
        let all = self.sites.values().flat_map(Site::endangered);
        all.map(|(pair, what)| (pair.clone(), *what)).collect()
    }
}

/// Whether a vehicle of one site may come into the other.
fn overlap(one: Cell, other: Cell) -> bool {
    one != other && one.has_within(other.center(), 2.0 * REACH)
}

/// Reports from neighboring sites, of the aircraft there.
fn heard_beside<'a>(
    cell: Cell,
    members: &BTreeMap<Cell, BTreeMap<NodeName, Expected<'a>>>,
) -> BTreeMap<NodeName, Expected<'a>> {
    let others = members.iter().filter(|(other, _)| overlap(cell, **other));
    let others = others.flat_map(|(_, vehicles)| vehicles);
    let sees = |expected: &Expected<'_>| expected.report.is_some_and(|(report, _)| !report.traffic.is_empty());
    others
        .filter(|(_, expected)| sees(expected))
        .map(|(node, expected)| (node.clone(), *expected))
        .collect()
}

impl Site {
    /// Replaces what vehicles of other sites own and do here, and whether each may move.
    fn host(&mut self, guests: BTreeMap<NodeName, Guest>, now: Moment) {
        let gone = self.guests.keys().filter(|node| !guests.contains_key(*node));
        for node in gone {
            if self.expected.contains_key(node) {
                self.claims.note_neighbor(node, None);
            } else {
                self.claims.forget(node);
            }
        }
        self.guests.clear();
        for (node, guest) in guests {
            let known = Known {
                home: super::NOWHERE,
                return_height: ReturnHeight::Read(super::NOWHERE.up),
                last: Some(guest.volume),
            };
            self.claims.expect(node.clone(), known, now);
            self.claims.note_neighbor(&node, guest.observed);
            self.guests.insert(node, guest.moves);
        }
    }

    /// The vehicle of `node` as a guest of the site around `center`; `None`: it owns nothing here.
    fn guest(
        &self,
        node: &NodeName,
        vehicles: &BTreeMap<NodeName, Expected<'_>>,
        center: Wgs84,
        now: Moment,
    ) -> Option<Guest> {
        let place = |[east, north]: [f64; 2]| {
            let (at, _) = self.frame.position(Local { east, north, up: 0.0 });
            let (east, north) = offset(center, at);
            [east, north]
        };
        let volume = self.claims.volume(&Owner::Vehicle(node.clone())).cloned()?;
        let observed = self.claims.neighbor(node, now);
        Some(Guest {
            volume: volume.placed(place),
            moves: self.may_move(node, vehicles),
            observed: observed.map(|observed| observed.placed(place)),
        })
    }

    /// It is on the ground in another site.
    fn leave(&mut self, node: &NodeName) {
        self.forget_vehicle(node);
    }

    const fn count_on_from(&mut self, count: u64) {
        self.claims.count_on_from(count);
    }

    const fn count(&self) -> u64 {
        self.claims.count()
    }

    fn expects(&self, node: &NodeName) -> bool {
        self.expected.contains_key(node)
    }

    fn is_empty(&self) -> bool {
        self.expected.is_empty()
    }
}

#[cfg(test)]
mod tests;
