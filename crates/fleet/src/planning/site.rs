//! The airspace of one site, by what agents report: which vehicle owns what, which routes are granted, and which is on station.
//!
//! Owns: [`Site`], what a leader keeps of it, and [`observation`], what a report says of airspace. Must not: grant a route
//! ([`crate::safety::may_fly`] does, through [`movement::plan`]), or read a clock.
//!
//! Vehicles that hold above their own homes are not moved, and not separated from one another: people chose their homes. But
//! what they fly through is theirs, and no route leads through it; and they take off only where no vehicle with a station is.

mod accuracy;
mod avoid;
mod foreign;
mod homes;
mod observed;
mod owned;
mod plan_way;
mod rooms;
mod sites;
mod sky;
mod takeoff;
mod way_down;

pub use accuracy::badly_known;
pub use avoid::{Action, Endangered};
pub use observed::{descends, is_away, observation, position_time, returns};
pub use plan_way::{Corridor, flies_as_written};
pub use sites::Sites;
pub use sky::Sky;

use crate::airspace::{Claims, Doing, Known, Owner, Route, Rules, Volume};

use crate::planning::geofence::{Wanted, way_outside};
use crate::planning::movement::{self, Goal, Layers, Waiting};
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

/// Vehicles cross no higher than this above the lowest home, meters: as high as a Drone may be asked to hold.
const CEILING: f64 = 120.0;

/// For so many vehicles that move there is one more layer in which they cross.
const VEHICLES_PER_LAYER: usize = 8;

/// Layers at least: to cross in, to cross above vehicles on the ground, whose columns reach into the lower two, and the refuge.
const LEAST_LAYERS: usize = 4;

/// One that holds without a station may be between two layers, and in the way in both.
const LAYERS_IN_ITS_WAY: usize = 2;

/// An altitude of return that was not read is the highest that a vehicle may fly at, meters above home (invariant 18).
const RETURN_HEIGHT: f64 = CEILING;

/// How a warning begins of ways home that cross.
pub const SHARED_RETURN: &str = "a failsafe of all at once";

/// Why nothing is granted while Geofences could not be listed.
const FENCES_UNKNOWN: &str = "its Geofences are not known yet";

/// How a warning begins of a way home that leads through the station of another.
pub const CROSSED_STATION: &str = "its way home";

/// Why a vehicle whose home is not known has no route.
pub const NO_HOME: &str = "waits for its autopilot to report its home position (HOME_POSITION)";

/// Reports that come so long after a person has declared a vehicle to be down were made after that word.
const DECLARED_COUNTS_FOR: Duration = Duration::from_secs(5);

/// A vehicle that holds above its home is there within this, meters over ground and in height.
const ABOVE_HOME: (f64, f64) = (2.5, 2.0);

/// A place above a home wanders with it by no more than this, meters over ground and in height.
const WANDERS: (f64, f64) = (0.5, 1.0);

/// The height of a home that is set again at arming, or taken from one fix in flight, is the same within this, meters.
const SAME_HOME: f64 = 2.0;

/// Where no vehicle is: the home of one that has not reported it.
const NOWHERE: Local = Local {
    east: 0.0,
    north: 0.0,
    up: 0.0,
};

/// What the Drone of a vehicle asks for, as far as airspace goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Desire {
    /// To hold this high above its home, or to be on its way there.
    AboveHome(AltitudeAboveHome),
    At(Station),
    /// To fly the plan that its agent was sent, whose corridor the site knows; see [`Site::plans`].
    Plan,
    Home,
    /// Nothing: no Drone, or one that is to be on the ground.
    Nothing,
}

/// A vehicle that is expected in the airspace.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Its last report on the open session, and when that was received.
    pub report: Option<(&'a Report, Moment)>,
    /// Whether it may be in the air while no report of it is received.
    pub may_fly: bool,
    /// Whether its Drone has a station or flies for a Mission: in the air it may be anywhere, whatever it is asked to do now.
    pub roams: bool,
    pub desire: Desire,
}

/// Why a vehicle is not on its station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OffStation {
    Moving,
    /// It waits, in a sentence.
    Waits(String),
    /// It keeps clear of one that does not keep to its airspace, in a sentence.
    KeepsClear(String),
    /// It is at the end of its route, and has to be observed there for a second, or has been blown off.
    Settling,
    /// A program may fly it, or does.
    Lent,
    /// It holds on its station, and has no airspace for a program yet, in a sentence.
    WaitsForRoom(String),
}

/// The airspace of one site, as one leader knows it.
#[derive(Clone, Debug)]
pub struct Site {
    frame: Frame,
    claims: Claims,
    tolerance: Tolerance,
    routes: BTreeMap<NodeName, RouteOrder>,
    /// Routes that were taken back from vehicles which had not set out on them.
    taken_back: BTreeMap<NodeName, OrderNumber>,
    /// The last routes that were granted to vehicles on their way to a station.
    outbound: BTreeMap<NodeName, OrderNumber>,
    waiting: BTreeMap<NodeName, String>,
    arrivals: BTreeMap<NodeName, (Station, Arrival)>,
    /// The stations to which routes were granted.
    granted_for: BTreeMap<NodeName, Station>,
    /// From which height of home stations are measured, for vehicles that were granted a route to one.
    measured_from: BTreeMap<NodeName, AltitudeAmsl>,
    /// Those that have a claim, and whether they were ever observed.
    expected: BTreeMap<NodeName, bool>,
    takeoffs: takeoff::Takeoffs,
    accuracies: accuracy::Accuracies,
    endangered: BTreeMap<(Owner, NodeName), Endangered>,
    returns: Returns,
    /// The ways of the plans that vehicles are to fly, as their Missions ask for them.
    plans: BTreeMap<NodeName, plan_way::Planned>,
    /// The airspace that vehicles with a station are to have around it, for a program to fly in.
    rooms: BTreeMap<NodeName, Room>,
    /// Why a vehicle has no such airspace yet, in a sentence.
    roomless: BTreeMap<NodeName, String>,
    /// Those for whose airspace a vehicle waited last that is to land.
    in_a_way_down: BTreeSet<NodeName>,
    /// The ways of plans as they were granted.
    granted_plans: BTreeMap<NodeName, plan_way::Granted>,
    /// The Geofences of each vehicle; `None`: not known yet.
    fences: Option<BTreeMap<NodeName, Vec<Arc<Wanted>>>>,
    /// Vehicles that go to no station while the return of an autopilot would cross a station.
    strict: BTreeSet<NodeName>,
    /// Vehicles that a person has declared to be out of the air.
    declared_down: BTreeMap<NodeName, Option<Moment>>,
    /// Vehicles of other sites that may come into this one, and whether each may move.
    guests: BTreeMap<NodeName, bool>,
}

impl Site {
    /// The site around `center`, at the beginning of a leadership.
    ///
    /// # Errors
    /// [`NoPlace`], when that is no place for one.
    pub fn new(term: Term, rules: Rules, center: Wgs84) -> Result<Self, NoPlace> {
        Ok(Self {
            frame: Frame::at(center)?,
            claims: Claims::new(term, rules),
            tolerance: Tolerance::default(),
            routes: BTreeMap::new(),
            taken_back: BTreeMap::new(),
            outbound: BTreeMap::new(),
            waiting: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            expected: BTreeMap::new(),
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
        })
    }

    /// The same, where a vehicle that is no farther off than this is on its station.
    pub fn with_tolerance(self, tolerance: Tolerance) -> Self {
        Self { tolerance, ..self }
    }

    /// From now on no route is granted to the vehicles of these nodes that leaves the Geofences of each. `None`: these are not known yet, and
    /// nothing is granted but the way home (invariant 18).
    pub fn keep_within(&mut self, fences: Option<BTreeMap<NodeName, Vec<Arc<Wanted>>>>) {
        self.fences = fences;
    }

    /// From now on these vehicles stay on the ground while their autopilots would return through the station of another, or another's through
    /// theirs.
    pub fn keep_returns_clear(&mut self, strict: BTreeSet<NodeName>) {
        self.strict = strict;
    }

    /// A person has declared that the vehicle of `node` is not in the air any more: its Drone was released by force (invariant 19). It owns
    /// nothing once its agent is disconnected and no Drone names its node, unless it was observed in the air since.
    pub fn declare_down(&mut self, node: &NodeName) {
        self.declared_down.insert(node.clone(), None);
    }

    /// Takes in all vehicles as they are `now`, and grants the next routes.
    pub fn update(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        self.forget(vehicles);
        self.doubt_declared_down(vehicles, now);
        self.take_in_accuracies(vehicles);
        for (node, expected) in vehicles {
            self.take_in(node, expected, now);
        }
        self.hear_traffic(vehicles, now);
        self.claims.advance(now);
        self.waiting.clear();
        self.grant_takeoffs(vehicles, now);
        self.grant_changes(vehicles, now);
        self.grant_plans_in_air(vehicles, now);
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
        self.compare_returns(&goals);
        let lowest_home = goals
            .keys()
            .filter_map(|node| homes.get(node))
            .copied()
            .fold(f64::INFINITY, f64::min);
        self.avoid(vehicles, (lowest_home, &homes), now);
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
        for node in self.plan(goals, others, (lowest_home, &homes), now) {
            let Some(expected) = vehicles.get(&node) else { continue };
            let home = expected.report.and_then(|(report, _)| report.home);
            if let (Desire::At(station), Some(home)) = (expected.desire, home) {
                let home = self.station_home(&node, home.amsl, &station);
                self.granted_for.insert(node.clone(), station);
                if let Some(number) = self.routes.get(&node).map(|route| route.number) {
                    self.outbound.insert(node.clone(), number);
                }
                self.measured_from.insert(node, home);
            }
        }
        self.clear_ways_down(vehicles, &homes, now);
        self.arrivals.retain(|node, (station, _)| {
            let desire = vehicles.get(node).map(|expected| expected.desire);
            desire == Some(Desire::At(*station))
        });
    }

    fn take_in(&mut self, node: &NodeName, expected: &Expected<'_>, now: Moment) {
        let report = expected.report.map(|(report, _)| report);
        let home = report.and_then(|report| self.home(report));
        let above = report.and_then(|report| report.return_height);
        let return_height = home.unwrap_or(NOWHERE).up + above.map_or(RETURN_HEIGHT, |height| height.0);
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
        // Another station is measured from home as it is now.
        let of = self.granted_for.get(node).copied().map(Desire::At);
        let is_another = matches!(expected.desire, Desire::At(_)) && of.is_some_and(|of| of != expected.desire);
        if is_over || is_another {
            self.measured_from.remove(node);
        }
        // Above its home it lands where it is, by order or by a failsafe: the way down is none of its route.
        let lands_there = matches!(expected.desire, Desire::Home | Desire::AboveHome(_) | Desire::Nothing);
        let airborne = matches!(report.truth, FlightTruth::Airborne(_));
        let home = home.filter(|home| lands_there && airborne && home.over_ground(observed.at) <= ABOVE_HOME.0);
        let way_down = home.and_then(|home| Route::through([observed.at, observed.at.at_height(home.up)]).ok());
        self.claims.observe(node, observed, now);
        // Also when it says no newer place: that was ours to fly, and it may be anywhere by now.
        let (_, in_other_hands) = hands(report);
        if in_other_hands && airborne {
            self.claims.lose_sight(node, report.route.last, false, now);
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

    /// Forgets those that are not expected any more and were on the ground, or were never observed: what flew them was let go, by a
    /// landing or by a person.
    fn forget(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>) {
        let claims = &self.claims;
        let on_ground = |node: &NodeName| claims.place(node).is_some_and(|(_, on_ground)| on_ground);
        let gone = self.expected.iter().filter(|(node, heard)| {
            let is_down = !**heard || on_ground(node) || self.declared_down.contains_key(*node);
            !vehicles.contains_key(*node) && is_down
        });
        let gone: Vec<NodeName> = gone.map(|(node, _)| node.clone()).collect();
        // A later flight is another matter.
        self.declared_down.retain(|node, _| !on_ground(node));
        for node in gone {
            self.forget_vehicle(&node);
        }
    }

    /// Ends a person's word that a vehicle is down once the vehicle was observed in the air after it.
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
        // What it owns as one of another site is not forgotten.
        if !self.guests.contains_key(node) {
            self.claims.forget(node);
        }
        self.routes.remove(node);
        self.taken_back.remove(node);
        self.outbound.remove(node);
        self.granted_for.remove(node);
        self.measured_from.remove(node);
        self.takeoffs.forget(node);
        self.granted_plans.remove(node);
        self.roomless.remove(node);
        self.declared_down.remove(node);
        self.expected.remove(node);
    }

    fn home(&self, report: &Report) -> Option<Local> {
        let home = report.home?;
        self.frame.local(home.at, home.amsl).ok()
    }

    /// Where the vehicle is to be; `None` when it is not for routes to bring it there.
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

    /// How far a vehicle is off `station`.
    pub fn off(&self, node: &NodeName, report: &Report, station: &Station) -> Option<Off> {
        let home = report.home.map(|home| self.station_home(node, home.amsl, station));
        report.off(station, home)
    }

    /// The height of home from which `station` is measured for a vehicle: that of when its route was granted, since PX4 sets home again at
    /// arming. Never so low that the station is not above `home`, as it is reported now.
    fn station_home(&self, node: &NodeName, home: AltitudeAmsl, station: &Station) -> AltitudeAmsl {
        let lowest = Limits::default().above_home.0;
        let same = |from: &AltitudeAmsl| {
            let above = station.place().altitude.amsl(*from).0 - home.0;
            (from.0 - home.0).abs() <= SAME_HOME && above >= lowest.0
        };
        self.measured_from.get(node).copied().filter(same).unwrap_or(home)
    }

    /// Lets vehicles stop whose autopilots do not fly their routes, once they are wanted elsewhere.
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

    /// Takes back the routes of those that have not set out on them, where one that does not keep to its claim has come into the way. Its
    /// airspace stays claimed until the agent is known to have let go of the route, or to take it no more should its order still come.
    fn take_back(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
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
            let number = self
                .routes
                .get(node)
                .or(report.route.order.as_ref())
                .map(|route| route.number);
            if let Some(number) = number.filter(|_| self.claims.is_crossed(node, now)) {
                self.routes.remove(node);
                self.taken_back.insert(node.clone(), number);
            }
        }
    }

    /// The last of the routes to the vehicle of `node` that it may have yet to take, or to let go of.
    pub fn last_granted(&self, node: &NodeName) -> Option<OrderNumber> {
        let granted = self.routes.get(node).map(|route| route.number);
        granted.max(self.taken_back.get(node).copied())
    }

    /// Grants the next routes; returns which vehicles got one. So many `others` are in the air.
    fn plan(
        &mut self,
        mut goals: BTreeMap<NodeName, Goal>,
        others: usize,
        (lowest_home, homes): (f64, &BTreeMap<NodeName, f64>),
        now: Moment,
    ) -> Vec<NodeName> {
        self.in_a_way_down.clear();
        // One station that is too high keeps no other vehicle from moving.
        let highest = lowest_home + CEILING - 2.0 * self.claims.rules().pitch().vertical.0;
        goals.retain(|node, goal| {
            let fits = goal.lands || goal.at.up <= highest;
            if !fits {
                let why = format!(
                    "has no route: above {highest:.0} m above mean sea level no height is left to cross in, up to {CEILING} m above \
                     the lowest home; lower the station"
                );
                self.waiting.insert(node.clone(), why);
            }
            fits
        });
        self.keep_from_return_columns(&mut goals);
        self.keep_from_crossed_returns(&mut goals);
        self.keep_from_close_pads(&mut goals);
        self.keep_from_bad_accuracy(&mut goals);
        let goals = &goals;
        let holds = goals.values().filter(|goal| !goal.lands).map(|goal| goal.at.up);
        // Those that go home cross above them all, too.
        let rooms = self.room_tops().filter(|top| *top <= highest);
        let floor = holds
            .chain(rooms)
            .fold(f64::NEG_INFINITY, f64::max)
            .max(lowest_home + 2.0);
        if goals.is_empty() || !floor.is_finite() {
            return Vec::new();
        }
        // A few vehicles cross low, many need more layers.
        let layers = LEAST_LAYERS
            + goals.len() / VEHICLES_PER_LAYER
            + others * LAYERS_IN_ITS_WAY
            + self.wide_among(goals.keys());
        let layers = u8::try_from(layers).map_or(f64::INFINITY, f64::from);
        let needed = floor + layers * self.claims.rules().pitch().vertical.0;
        let ceiling = AltitudeAmsl(f64::min(lowest_home + CEILING, needed));
        let layers = match Layers::between(AltitudeAmsl(floor), ceiling, self.claims.rules()) {
            Ok(layers) => layers,
            Err(why) => {
                let all = goals.keys().map(|node| (node.clone(), why.to_string()));
                self.waiting.extend(all);
                return Vec::new();
            }
        };
        let plan = movement::plan(
            &mut self.claims,
            goals,
            &layers,
            &kept_within(self.frame, self.fences.as_ref(), homes),
            now,
        );
        for permit in &plan.permits {
            let goal = goals.get(permit.vehicle()).filter(|goal| goal.lands);
            // The way down over its home is flown as a landing. One that makes room first goes elsewhere.
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

    /// Keeps what the agent is to be ordered; the last leg of one that `lands` is flown as a landing.
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
        self.routes.insert(permit.vehicle().clone(), order);
    }

    /// The route that the vehicle of `node` was granted last.
    pub fn route(&self, node: &NodeName) -> Option<&RouteOrder> {
        self.routes.get(node)
    }

    /// Why the vehicle of `node` is not on its station; `None` when it is.
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

    /// Whether the vehicle of `node` holds over its home, at the end of its way, where no other stands below it; or is on the ground.
    pub fn is_home(&self, node: &NodeName, report: &Report) -> bool {
        let (Some(home), Some((at, on_ground))) = (self.home(report), self.claims.place(node)) else {
            return false;
        };
        on_ground || (at.over_ground(home) <= ABOVE_HOME.0 && !self.is_occupied(node, at))
    }
}

/// Whether it climbs to the height of its takeoff.
fn takes_off(report: &Report) -> bool {
    report.activity == Activity::TakingOff || report.truth == FlightTruth::Airborne(Airborne::TakingOff)
}

/// The node of an owner that is a vehicle of ours.
fn vehicle_of(owner: &Owner) -> Option<NodeName> {
    match owner {
        Owner::Vehicle(node) => Some(node.clone()),
        Owner::Traffic(_) => None,
    }
}

/// The first of these, and how many more there are, in words.
fn first_and_more(all: &BTreeSet<NodeName>) -> Option<(&NodeName, String)> {
    let more = match all.len().saturating_sub(1) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some((all.first()?, more))
}

/// Which routes keep to the `fences` of each vehicle, over its home at this height, meters above mean sea level.
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

/// Why a vehicle waits, as people read it.
fn sentence(waiting: &Waiting) -> String {
    match waiting {
        Waiting::NotFit(why) => format!("has no route: {why}"),
        Waiting::For(owners) => {
            let mut text = "waits for the airspace of ".to_owned();
            for (i, owner) in owners.iter().enumerate().take(3) {
                let comma = if i == 0 { "" } else { ", " };
                // Writing to a text does not fail.
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
