//! The airspace of one site by agents' reports: which vehicle owns what, which routes are granted, and which is on station.
//!
//! Owns: [`Site`], a leader's knowledge of it, and [`observation`], a report's content about airspace. Must not: grant a route
//! ([`crate::safety::may_fly`] does, through [`movement::plan`]), or read a clock.
//!
//! Vehicles that hold above their own homes are neither moved nor separated from one another: people chose their homes. But no route leads
//! through their airspace; and they take off only where no vehicle with a station is.

mod accuracy;
mod avoid;
mod foreign;
mod homes;
mod layers;
mod observed;
mod owned;
mod plan_way;
mod rooms;
mod sites;
mod sky;
mod taken_back;
mod takeoff;
mod way_down;

pub use accuracy::badly_known;
pub use avoid::{Action, Endangered};
pub use foreign::Transponders;
pub use observed::{descends, is_away, observation, position_time, returns};
pub use plan_way::{Corridor, flies_as_written};
pub use sites::Sites;
pub use sky::{Ours, Sky};

use crate::airspace::{
    Claims, Doing, HIGHEST_RETURN_M, Known, Owner, ReturnHeight, Route, Rules, Volume, ground_below,
};

use crate::planning::geofence::{Wanted, way_outside};
use crate::planning::movement::{self, Goal, Waiting};
use crate::safety::{LegPermit, may_stop};
use homes::Returns;
use model::geo::{Frame, Local, NoPlace};
use model::ids::{NodeName, Term};
use model::lent::Room;
use model::report::{Activity, Report};
use model::route_order::{OrderNumber, RouteOrder, Waypoint};
use model::station::{Arrival, Limits, Off, Station, Tolerance};
use model::time::Moment;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};
use model::vehicle::{Airborne, FlightTruth};
use observed::{goes_by_itself, hands, never_flew, observation_on_plan, ordered_height};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// A vehicle crosses no higher than this above its home, meters: as high as a Drone may be asked to hold.
const CEILING: f64 = 120.0;

/// Moving vehicles per further layer in which they cross.
const VEHICLES_PER_LAYER: usize = 8;

/// To cross in, to cross above vehicles on the ground, whose columns reach into the lower two, and the refuge.
const LEAST_LAYERS: usize = 4;

/// A vehicle that holds without a station may be between two layers, and in the way in both.
const LAYERS_IN_ITS_WAY: usize = 2;

/// Begin of a warning about ways home that cross.
pub const SHARED_RETURN: &str = "a failsafe of all at once";

const FENCES_UNKNOWN: &str = "its Geofences are not known yet";

/// Begin of a warning about a way home through another's station.
pub const CROSSED_STATION: &str = "its way home";

pub const NO_HOME: &str = "waits for its autopilot to report its home position (HOME_POSITION)";

/// Reports received this long after a person's declaration were made after it.
const DECLARED_COUNTS_FOR: Duration = Duration::from_secs(5);

/// Tolerance of a hold above home, meters over ground and in altitude.
const ABOVE_HOME: (f64, f64) = (2.5, 2.0);

/// Largest wander of a place above home, meters over ground and in altitude.
const WANDERS: (f64, f64) = (0.5, 1.0);

/// Largest difference of one home's altitudes, set again at arming or taken from one fix in flight, meters.
const SAME_HOME: f64 = 2.0;

/// The home of a vehicle that has not reported it.
const NOWHERE: Local = Local {
    east: 0.0,
    north: 0.0,
    up: 0.0,
};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Desire {
    /// To hold at this altitude above its home, or to be on its way there.
    AboveHome(AltitudeAboveHome),
    At(Station),
    /// To fly its agent's plan, whose corridor the site knows; see [`Site::plans`].
    Plan,
    Home,
    Nothing,
}

#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The last one on the open session, and when it was received, less its [lateness](crate::planning::lateness).
    pub report: Option<(&'a Report, Moment)>,
    /// Whether it may be in the air without a report.
    pub may_fly: bool,
    /// Whether its Drone has a station or flies for a Mission: in the air it may be anywhere, whatever it is asked to do now.
    pub roams: bool,
    pub desire: Desire,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OffStation {
    Moving,
    /// As a sentence.
    Waits(String),
    /// Of a vehicle that does not keep to its airspace, as a sentence.
    KeepsClear(String),
    /// At the end of its route, and not observed there for a second yet, or blown off.
    Settling,
    /// A program may fly it, or does.
    Lent,
    /// On its station, without airspace for a program yet, as a sentence.
    WaitsForRoom(String),
}

#[derive(Clone, Debug)]
pub struct Site {
    frame: Frame,
    claims: Claims,
    tolerance: Tolerance,
    routes: BTreeMap<NodeName, RouteOrder>,
    /// Routes that were taken back from vehicles which had not set out on them.
    taken_back: BTreeMap<NodeName, OrderNumber>,
    /// The last orders of vehicles that were not given to bring them to stations.
    homeward: BTreeMap<NodeName, OrderNumber>,
    /// Altitudes that vehicles with goals leave, meters above mean sea level; see `layers`.
    altitudes_left: BTreeMap<NodeName, f64>,
    waiting: BTreeMap<NodeName, String>,
    arrivals: BTreeMap<NodeName, (Station, Arrival)>,
    granted_for: BTreeMap<NodeName, Station>,
    /// The altitude of home from which a station is measured, for vehicles with a granted route to one.
    measured_from: BTreeMap<NodeName, AltitudeAmsl>,
    /// Vehicles with a claim, and whether they were ever observed.
    expected: BTreeMap<NodeName, bool>,
    /// Vehicles that were last observed in the air, elsewhere than above their homes or on a way that leads there.
    away: BTreeSet<NodeName>,
    takeoffs: takeoff::Takeoffs,
    accuracies: accuracy::Accuracies,
    endangered: BTreeMap<(Owner, NodeName), Endangered>,
    returns: Returns,
    /// The paths of plans, as requested by Missions.
    plans: BTreeMap<NodeName, plan_way::Planned>,
    rooms: BTreeMap<NodeName, Room>,
    /// Why a vehicle has no such airspace yet, as a sentence.
    roomless: BTreeMap<NodeName, String>,
    /// Vehicles for whose airspace a landing vehicle waited last.
    in_a_way_down: BTreeSet<NodeName>,
    /// The paths of plans as they were granted.
    granted_plans: BTreeMap<NodeName, plan_way::Granted>,
    /// By vehicle; `None`: not known yet.
    fences: Option<BTreeMap<NodeName, Vec<Arc<Wanted>>>>,
    /// Vehicles that go to no station while the return of an autopilot would cross a station.
    strict: BTreeSet<NodeName>,
    /// Declared by a person to be out of the air.
    declared_down: BTreeMap<NodeName, Option<Moment>>,
    /// Vehicles of other sites that may come into this one, and whether each may move.
    guests: BTreeMap<NodeName, bool>,
    transponders: Transponders,
}

impl Site {
    /// The site around `center`, for a new leadership.
    ///
    /// # Errors
    /// [`NoPlace`], when `center` is invalid.
    pub fn new(term: Term, rules: Rules, center: Wgs84) -> Result<Self, NoPlace> {
        Ok(Self {
            frame: Frame::at(center)?,
            claims: Claims::new(term, rules),
            tolerance: Tolerance::default(),
            routes: BTreeMap::new(),
            taken_back: BTreeMap::new(),
            homeward: BTreeMap::new(),
            altitudes_left: BTreeMap::new(),
            waiting: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            expected: BTreeMap::new(),
            away: BTreeSet::new(),
            granted_for: BTreeMap::new(),
            measured_from: BTreeMap::new(),
            takeoffs: takeoff::Takeoffs::default(),
            accuracies: accuracy::Accuracies::default(),
            endangered: BTreeMap::new(),
            returns: Returns::default(),
            plans: BTreeMap::new(),
            rooms: BTreeMap::new(),
            roomless: BTreeMap::new(),
            in_a_way_down: BTreeSet::new(),
            granted_plans: BTreeMap::new(),
            fences: Some(BTreeMap::new()),
            strict: BTreeSet::new(),
            declared_down: BTreeMap::new(),
            guests: BTreeMap::new(),
            transponders: Transponders::new(),
        })
    }

    /// `tolerance`: for being on station.
    pub fn with_tolerance(self, tolerance: Tolerance) -> Self {
        Self { tolerance, ..self }
    }

    /// From now on no granted route leaves a vehicle's Geofences. `None`: these are not known yet, and only the way home is granted
    /// (invariant 18).
    pub fn keep_within(&mut self, fences: Option<BTreeMap<NodeName, Vec<Arc<Wanted>>>>) {
        self.fences = fences;
    }

    /// From now on these vehicles stay on the ground while their autopilots would return through another's station, or another's through
    /// theirs.
    pub fn keep_returns_clear(&mut self, strict: BTreeSet<NodeName>) {
        self.strict = strict;
    }

    /// A person has declared that the vehicle of `node` is not in the air: its Drone was released by force (invariant 19). It owns nothing
    /// once its agent is disconnected and no Drone names its node, unless it was observed in the air since.
    pub fn declare_down(&mut self, node: &NodeName) {
        self.declared_down.insert(node.clone(), None);
    }

    pub fn update(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        self.forget(vehicles);
        self.doubt_declared_down(vehicles, now);
        self.take_in_accuracies(vehicles);
        for (node, expected) in vehicles {
            self.take_in(node, expected, now);
        }
        self.note_who_is_away(vehicles);
        self.hear_traffic(vehicles, now);
        self.claims.advance(now);
        self.waiting.clear();
        let (goals, homes) = self.goals(vehicles);
        // Before any plan is granted: preflight may refuse it.
        self.compare_returns(&goals, vehicles, now);
        self.grant_takeoffs(vehicles, now);
        self.grant_changes(vehicles, now);
        self.grant_plans_in_air(vehicles, now);
        self.avoid(vehicles, &homes, now);
        self.end_routes_that_are_not_flown(vehicles, &goals, now);
        self.turn_back_for_the_reserve(vehicles, now);
        self.take_back(vehicles, now);
        self.grant_rooms(vehicles, now);
        let up = |expected: &&Expected<'_>| {
            expected
                .report
                .is_some_and(|(report, _)| matches!(report.truth, FlightTruth::Airborne(_)))
        };
        let others = vehicles.iter().filter(|(node, _)| !goals.contains_key(*node));
        let others = others.map(|(_, expected)| expected).filter(up).count();
        for node in self.plan(goals, others, &homes, now) {
            let Some(expected) = vehicles.get(&node) else { continue };
            let home = expected.report.and_then(|(report, _)| report.home);
            if let (Desire::At(station), Some(home)) = (expected.desire, home) {
                let home = self.station_home(&node, home.amsl, &station);
                self.granted_for.insert(node.clone(), station);
                self.homeward.remove(&node);
                self.leaves_for(&node, station.place().altitude.amsl(home));
                self.measured_from.insert(node, home);
            }
        }
        self.clear_ways_down(vehicles, &homes, now);
        self.arrivals.retain(|node, (station, _)| {
            let desire = vehicles.get(node).map(|expected| expected.desire);
            desire == Some(Desire::At(*station))
        });
    }

    /// Whether a vehicle was last observed in the air, elsewhere than above its home or on a way that leads there, heard or not; or has a route
    /// that its agent is not known to have let go of, on which it may set out.
    pub fn has_one_away(&self) -> bool {
        !self.away.is_empty() || !self.routes.is_empty()
    }

    /// A report without a position or that does not know whether its vehicle flies, and a silent agent, change nothing.
    fn note_who_is_away(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>) {
        for (node, expected) in vehicles {
            let Some((report, _)) = expected.report else { continue };
            let is_known = match report.truth {
                FlightTruth::Airborne(_) => report.position.is_some(),
                FlightTruth::Disarmed | FlightTruth::ArmedOnGround => true,
                FlightTruth::Unknown(_) => false,
            };
            // One that leaves its home is elsewhere soon, also when it is lost meanwhile and its Drone asks for something else.
            let leaves = matches!(report.truth, FlightTruth::Airborne(_)) && self.claims.reaches(node, ABOVE_HOME.0);
            if is_away(report) || leaves {
                self.away.insert(node.clone());
            } else if is_known {
                self.away.remove(node);
            }
        }
    }

    fn take_in(&mut self, node: &NodeName, expected: &Expected<'_>, now: Moment) {
        let report = expected.report.map(|(report, _)| report);
        let home = report.and_then(|report| self.home(report));
        if let Some(report) = report {
            self.returns.hear(node, report.return_height.is_some(), now);
        }
        let above = report.and_then(|report| report.return_height);
        let ground = home.unwrap_or(NOWHERE).up;
        let return_height = above.map_or(ReturnHeight::UpTo(ground + HIGHEST_RETURN_M), |height| {
            ReturnHeight::Read(ground + height.0)
        });
        let known = Known {
            home: home.unwrap_or(NOWHERE),
            return_height,
            last: (!expected.may_fly || report.is_some_and(|report| self.is_elsewhere(report) || never_flew(report)))
                .then(|| Volume::Tubes(Vec::new())),
        };
        self.claims.expect(node.clone(), known, now);
        if let Some(home) = home {
            self.claims.has_home(node, home, return_height);
        }
        self.take_in_parameters(node, expected, now);
        let observed = expected.report.and_then(|(report, received)| {
            let plan = self.plan_way(node, report);
            let mut observed = observation_on_plan(report, received, &self.frame, expected.desire, plan)?;
            observed.accuracy = self.accuracies.margin(node, self.claims.rules());
            // Where it returns to is not known: it could go anywhere, until it has reported its home. Its agent may have started anew since:
            // then it is the home of before. Of a plan it is not known where it leads until then; its vehicle owns what it did.
            let plans = expected.desire == Desire::Plan || matches!(observed.doing, Doing::Unplanned { .. });
            let was_known = self.claims.was_heard(node) && !plans;
            let known = home.is_some() || matches!(observed.doing, Doing::Grounded) || was_known;
            known.then_some((report, received, observed))
        });
        let heard = self.expected.entry(node.clone()).or_default();
        *heard |= observed.is_some();
        let Some((report, received, mut observed)) = observed else {
            self.take_in_without_a_place(node, expected, now);
            return;
        };
        if self.lands_on_others(node, report, &observed) {
            observed.doing = Doing::Descending;
        }
        let gone = match observed.doing {
            Doing::Grounded | Doing::Other | Doing::Returning | Doing::Descending | Doing::Unplanned { .. } => true,
            Doing::Holding { .. } | Doing::Flying { .. } | Doing::Upright { .. } => report.route.order.is_none(),
        };
        if gone
            && self
                .routes
                .get(node)
                .is_some_and(|route| report.route.last >= route.number)
        {
            self.routes.remove(node);
        }
        let has_route = self.routes.contains_key(node) || self.taken_back.contains_key(node);
        let is_over = !has_route && (report.truth == FlightTruth::Disarmed || report.route.order.is_none());
        // Another station is measured from the present home.
        let of = self.granted_for.get(node).copied().map(Desire::At);
        let is_another = matches!(expected.desire, Desire::At(_)) && of.is_some_and(|of| of != expected.desire);
        if is_over || is_another {
            self.measured_from.remove(node);
        }
        // Above its home, or wherever we hold it without a station, it lands in place, by order or by a failsafe: the way down is not in its
        // route.
        let airborne = matches!(report.truth, FlightTruth::Airborne(_));
        let (_, in_other_hands) = hands(report);
        let lands_there = |home: &Local| {
            let is_home = home.over_ground(observed.at) <= ABOVE_HOME.0;
            match expected.desire {
                Desire::AboveHome(_) | Desire::Nothing => is_home || !in_other_hands,
                Desire::Home => is_home,
                Desire::At(_) | Desire::Plan => false,
            }
        };
        let home = home.filter(|home| airborne && lands_there(home));
        let way_down = home.and_then(|home| Route::through([observed.at, ground_below(observed.at, home)]).ok());
        self.claims.observe(node, observed, now);
        // Also when it says no newer place: that was ours to fly, and it may be anywhere by now.
        let is_old = received.since(position_time(report, received)) > self.claims.rules().silent_after;
        if airborne && (in_other_hands || (is_old && goes_by_itself(report))) {
            self.claims.lose_sight(node, report.route.last, !in_other_hands, now);
        }
        let way_down = way_down.or_else(|| self.way_down_where_it_waits(node, expected.desire, report, now));
        self.claims.claim_landing(node, way_down, now);
        if let Desire::At(station) = expected.desire
            && let Some(off) = self.off(node, report, &station)
        {
            let before = self.arrivals.get(node).filter(|(of, _)| *of == station);
            let arrival = before.map_or_else(Arrival::default, |(_, arrival)| *arrival);
            let arrival = arrival.observe(off, position_time(report, received), self.tolerance);
            self.arrivals.insert(node.clone(), (station, arrival));
        }
    }

    /// Takes in what a report says that does not say where its vehicle is. One that Skein holds there, or flies, goes on owning what it did: most of
    /// them only miss a position for some seconds.
    fn take_in_without_a_place(&mut self, node: &NodeName, expected: &Expected<'_>, now: Moment) {
        let Some((report, received)) = expected.report else {
            return;
        };
        if goes_by_itself(report) {
            self.claims.lose_sight(node, report.route.last, descends(report), now);
        } else if report.truth == FlightTruth::Disarmed {
            self.claims.comes_down(node, received, now);
        }
    }

    /// Whether a vehicle that was never observed here is in no other's way: it is on the ground, and does not know where, or it is far
    /// from this site.
    fn is_elsewhere(&self, report: &Report) -> bool {
        match report.position {
            None => report.truth == FlightTruth::Disarmed,
            Some(position) => self.frame.local(position.at, position.amsl) == Err(NoPlace::OutOfReach),
        }
    }

    /// Forgets vehicles that are not expected any more and were on the ground or never observed: a landing or a person has released them.
    fn forget(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>) {
        let claims = &self.claims;
        let on_ground = |node: &NodeName| claims.place(node).is_some_and(|(_, on_ground)| on_ground);
        let gone = self.expected.iter().filter(|(node, heard)| {
            let is_down = !**heard || on_ground(node) || self.declared_down.contains_key(*node);
            !vehicles.contains_key(*node) && is_down
        });
        let gone: Vec<NodeName> = gone.map(|(node, _)| node.clone()).collect();
        self.declared_down.retain(|node, _| !on_ground(node));
        for node in gone {
            self.forget_vehicle(&node);
        }
    }

    /// Ends a person's declaration once the vehicle was observed in the air after it.
    fn doubt_declared_down(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        self.declared_down.retain(|node, declared| {
            let declared = *declared.get_or_insert(now);
            let report = vehicles.get(node).and_then(|expected| expected.report);
            report.is_none_or(|(report, received)| {
                let is_later = received.since(declared) > DECLARED_COUNTS_FOR;
                !(is_later && matches!(report.truth, FlightTruth::Airborne(_)))
            })
        });
    }

    fn forget_vehicle(&mut self, node: &NodeName) {
        // What it owns as a guest of another site stays.
        if !self.guests.contains_key(node) {
            self.claims.forget(node);
        }
        self.routes.remove(node);
        self.taken_back.remove(node);
        self.homeward.remove(node);
        self.granted_for.remove(node);
        self.measured_from.remove(node);
        self.takeoffs.forget(node);
        self.granted_plans.remove(node);
        self.roomless.remove(node);
        self.declared_down.remove(node);
        self.expected.remove(node);
        self.away.remove(node);
        self.returns.forget(node);
    }

    fn home(&self, report: &Report) -> Option<Local> {
        let home = report.home?;
        self.frame.local(home.at, home.amsl).ok()
    }

    /// With the altitudes of homes.
    fn goals(
        &mut self,
        vehicles: &BTreeMap<NodeName, Expected<'_>>,
    ) -> (BTreeMap<NodeName, Goal>, BTreeMap<NodeName, f64>) {
        let mut goals = BTreeMap::new();
        let mut homes = BTreeMap::new();
        for (node, expected) in vehicles {
            let Some((report, _)) = expected.report else { continue };
            homes.extend(self.home(report).map(|home| (node.clone(), home.up)));
            match self.goal(node, report, expected.desire) {
                Ok(Some(goal)) => {
                    goals.insert(node.clone(), goal);
                }
                Ok(None) => {}
                Err(why) => {
                    self.waiting.insert(node.clone(), why);
                }
            }
        }
        (goals, homes)
    }

    /// `None`: no route is to bring it there.
    fn goal(&self, node: &NodeName, report: &Report, desire: Desire) -> Result<Option<Goal>, String> {
        let (station, lands) = match desire {
            Desire::At(station) => (Some(station), false),
            // Above its home it is ordered to land.
            Desire::Home if self.is_home(node, report) => return Ok(None),
            Desire::Home => (None, true),
            Desire::AboveHome(_) | Desire::Plan | Desire::Nothing => return Ok(None),
        };
        let home = report.home.ok_or_else(|| NO_HOME.to_owned())?;
        let (at, amsl) = match station {
            Some(station) => {
                let from = self.station_home(node, home.amsl, &station);
                (station.place().at, station.place().altitude.amsl(from))
            }
            None => (home.at, home.amsl),
        };
        let at = self
            .frame
            .local(at, amsl)
            .map_err(|why| format!("has no route: {why}"))?;
        // Homes wander by some decimeters, and a station above home with them: no vehicle is moved for that.
        let same = |station| self.granted_for.get(node).is_none_or(|of| *of == station);
        let held = self.claims.place(node).filter(|(_, on_ground)| !on_ground);
        let stays = |held: &Local| held.over_ground(at) <= WANDERS.0 && (held.up - at.up).abs() <= WANDERS.1;
        let held = held
            .map(|(held, _)| held)
            .filter(|held| station.is_some_and(same) && stays(held));
        let at = held.unwrap_or(at);
        let ready = report.ready != Some(false);
        Ok(Some(Goal { at, lands, ready }))
    }

    pub fn off(&self, node: &NodeName, report: &Report, station: &Station) -> Option<Off> {
        let home = report.home.map(|home| self.station_home(node, home.amsl, station));
        report.off(station, home)
    }

    /// The altitude of home from which `station` is measured: as of the grant of its route, since PX4 sets home again at arming. Never so
    /// low that the station is not above the present `home`.
    fn station_home(&self, node: &NodeName, home: AltitudeAmsl, station: &Station) -> AltitudeAmsl {
        let lowest = Limits::default().above_home.0;
        let same = |from: &AltitudeAmsl| {
            let above = station.place().altitude.amsl(*from).0 - home.0;
            (from.0 - home.0).abs() <= SAME_HOME && above >= lowest.0
        };
        self.measured_from.get(node).copied().filter(same).unwrap_or(home)
    }

    /// Has vehicles whose autopilots do not fly their routes stop, once they are wanted elsewhere.
    fn end_routes_that_are_not_flown(
        &mut self,
        vehicles: &BTreeMap<NodeName, Expected<'_>>,
        goals: &BTreeMap<NodeName, Goal>,
        now: Moment,
    ) {
        for (node, goal) in goals {
            let report = vehicles.get(node).and_then(|expected| expected.report);
            let stalls = report.is_some_and(|(report, _)| report.route.stalled.is_some());
            let elsewhere =
                |end: Local| end.over_ground(goal.at) > WANDERS.0 || (end.up - goal.at.up).abs() > WANDERS.1;
            if !stalls || !self.claims.end(node).is_some_and(elsewhere) {
                continue;
            }
            if let Ok(permit) = may_stop(&mut self.claims, node, now) {
                self.order(&permit, false);
            }
        }
    }

    /// The last route that the vehicle may still have to take, or to let go of.
    pub fn last_granted(&self, node: &NodeName) -> Option<OrderNumber> {
        let granted = self.routes.get(node).map(|route| route.number);
        granted.max(self.taken_back.get(node).copied())
    }

    /// Returns which vehicles got a route. So many `others` are in the air.
    fn plan(
        &mut self,
        mut goals: BTreeMap<NodeName, Goal>,
        others: usize,
        homes: &BTreeMap<NodeName, f64>,
        now: Moment,
    ) -> Vec<NodeName> {
        self.in_a_way_down.clear();
        self.keep_below_the_layers(&mut goals, homes);
        self.keep_from_return_columns(&mut goals);
        self.keep_from_crossed_returns(&mut goals);
        self.keep_from_close_pads(&mut goals);
        self.keep_from_bad_accuracy(&mut goals);
        // A few vehicles cross low, many need more layers.
        let count = LEAST_LAYERS
            + goals.len() / VEHICLES_PER_LAYER
            + others * LAYERS_IN_ITS_WAY
            + self.wide_among(goals.keys());
        let layers = self.layers(&goals, homes, count);
        let goals = &goals;
        let plan = movement::plan(
            &mut self.claims,
            goals,
            &layers,
            &kept_within(self.frame, self.fences.as_ref(), homes),
            now,
        );
        for permit in &plan.permits {
            let goal = goals.get(permit.vehicle()).filter(|goal| goal.lands);
            // The way down over its home is flown as a landing. A vehicle that makes room first goes elsewhere.
            let lands = goal.is_some_and(|goal| goal.at == permit.route().end());
            self.order(permit, lands);
        }
        for (node, waiting) in &plan.waiting {
            let lands = goals.get(node).is_some_and(|goal| goal.lands);
            if let (true, Waiting::For(owners)) = (lands, waiting) {
                self.in_a_way_down.extend(owners.iter().filter_map(vehicle_of));
            }
            let note = self.accuracy_note(node, waiting);
            self.waiting.insert(node.clone(), sentence(waiting) + &note);
        }
        plan.permits.iter().map(|permit| permit.vehicle().clone()).collect()
    }

    /// Keeps the order for the agent; with `lands` the last leg is flown as a landing.
    fn order(&mut self, permit: &LegPermit, lands: bool) {
        let places = permit.route().places();
        let flown = &places[..places.len() - usize::from(lands && places.len() > 1)];
        let place = |place: &Local| {
            let (at, amsl) = self.frame.position(*place);
            Waypoint { at, amsl }
        };
        let order = RouteOrder {
            number: permit.number(),
            places: flown.iter().map(place).collect(),
            room: self.room_of(permit),
        };
        self.homeward.insert(permit.vehicle().clone(), permit.number());
        self.routes.insert(permit.vehicle().clone(), order);
    }

    pub fn route(&self, node: &NodeName) -> Option<&RouteOrder> {
        self.routes.get(node)
    }

    /// `None` when it is.
    pub fn off_station(&self, node: &NodeName, now: Moment) -> Option<OffStation> {
        if let Some(what) = self.keeps_clear(node) {
            return Some(OffStation::KeepsClear(what));
        }
        if let Some(why) = self.waiting.get(node) {
            return Some(OffStation::Waits(why.clone()));
        }
        if self.routes.get(node).is_some_and(|route| route.room.is_some()) {
            return Some(OffStation::Lent);
        }
        if self.claims.under_way(node) {
            return Some(OffStation::Moving);
        }
        let arrived = self
            .arrivals
            .get(node)
            .is_some_and(|(_, arrival)| arrival.on_station(now));
        if arrived && let Some(why) = self.roomless.get(node) {
            return Some(OffStation::WaitsForRoom(why.clone()));
        }
        (!arrived).then_some(OffStation::Settling)
    }

    /// Whether the vehicle of `node` holds over its home, at the end of its way, where no other stands or flies below it; or is on the ground.
    pub fn is_home(&self, node: &NodeName, report: &Report) -> bool {
        let (Some(home), Some((at, on_ground))) = (self.home(report), self.claims.place(node)) else {
            return false;
        };
        let is_above = || {
            let near = at.over_ground(home) <= ABOVE_HOME.0;
            near && !self.is_occupied(node, at) && !self.is_flown_below(node, at, home)
        };
        on_ground || is_above()
    }
}

fn takes_off(report: &Report) -> bool {
    report.activity == Activity::TakingOff || report.truth == FlightTruth::Airborne(Airborne::TakingOff)
}

/// Whether a vehicle has left the ground and climbs by our order to take off.
fn climbs(report: &Report) -> bool {
    let is_up = matches!(report.truth, FlightTruth::Airborne(_));
    is_up && report.activity == Activity::TakingOff && !report.plan.flying
}

fn vehicle_of(owner: &Owner) -> Option<NodeName> {
    match owner {
        Owner::Vehicle(node) => Some(node.clone()),
        Owner::Traffic(_) => None,
    }
}

/// The first of these, and the number of the others as text.
fn first_and_more(all: &BTreeSet<NodeName>) -> Option<(&NodeName, String)> {
    let more = match all.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some((all.first()?, more))
}

/// Which routes keep to the `fences` of each vehicle, over its home at this altitude, meters above mean sea level.
fn kept_within<'a>(
    frame: Frame,
    fences: Option<&'a BTreeMap<NodeName, Vec<Arc<Wanted>>>>,
    homes: &'a BTreeMap<NodeName, f64>,
) -> impl Fn(&NodeName, &Route) -> Result<(), String> + use<'a> {
    move |node, route| {
        let fences = fences.ok_or_else(|| FENCES_UNKNOWN.to_owned())?;
        let Some((fences, home)) = fences.get(node).zip(homes.get(node)) else {
            return Ok(());
        };
        let place = |place: &Local| (frame.position(*place).0, AltitudeAboveHome(place.up - home));
        let places: Vec<_> = route.places().iter().map(place).collect();
        let wanted: Vec<&Wanted> = fences.iter().map(AsRef::as_ref).collect();
        way_outside(&wanted, &places).map_err(|why| why.to_string())
    }
}

/// For people.
fn sentence(waiting: &Waiting) -> String {
    match waiting {
        Waiting::NotFit(why) => format!("has no route: {why}"),
        Waiting::For(owners) => {
            let mut text = "waits for the airspace of ".to_owned();
            for (i, owner) in owners.iter().enumerate().take(3) {
                let comma = if i == 0 { "" } else { ", " };
                let _ = write!(text, "{comma}{owner}");
            }
            if owners.len() > 3 {
                let _ = write!(text, " and {} more", owners.len() - 3);
            }
            text
        }
        Waiting::GoalTooHigh => "has no route: the station lies above the layers for crossing; lower it".to_owned(),
        Waiting::NoGoal => "has no route: the station is no place".to_owned(),
        Waiting::NotAllowed(why) => format!("has no route: {why}"),
        Waiting::BadRules => {
            "has no route: the rules of separation are not sound; correct the coordinator's flags".to_owned()
        }
    }
}

#[cfg(test)]
mod tests;
