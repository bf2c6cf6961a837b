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
mod owned;
mod plan_way;
mod sites;
mod sky;
mod takeoff;

pub use accuracy::badly_known;
pub use avoid::{Action, Endangered};
pub use plan_way::{Corridor, flies_as_written};
pub use sites::Sites;
pub use sky::Sky;

use crate::airspace::{
    Claims, Doing, Known, Margin, Observation, Owner, Route, Rules, Volume, crossed_stations, shared_returns,
};

use crate::planning::geofence::{Wanted, way_outside};
use crate::planning::movement::{self, Goal, Layers, Waiting};
use crate::safety::{LegPermit, may_stop};
use model::geo::{Frame, Local, NoPlace};
use model::ids::{NodeName, Term};
use model::report::{Activity, Report};
use model::reported_flight::SoFar;
use model::route_order::{OrderNumber, RouteOrder, Waypoint};
use model::station::{Arrival, Limits, Off, Station, Tolerance};
use model::time::Moment;
use model::units::{AltitudeAboveHome, AltitudeAmsl, Wgs84};
use model::vehicle::{Airborne, FlightTruth, WhyUnknown};
use plan_way::PlanWay;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

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
    /// To hold at its station.
    At(Station),
    /// To fly the plan that its agent was sent, whose corridor the site knows; see [`Site::plans`].
    Plan,
    /// To go home and land.
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
    /// What its Drone asks for.
    pub desire: Desire,
}

/// Why a vehicle is not on its station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OffStation {
    /// It flies its route.
    Moving,
    /// It waits, in a sentence.
    Waits(String),
    /// It keeps clear of one that does not keep to its airspace, in a sentence.
    KeepsClear(String),
    /// It is at the end of its route, and has to be observed there for a second, or has been blown off.
    Settling,
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
    /// The ways of plans as they were granted.
    granted_plans: BTreeMap<NodeName, plan_way::Granted>,
    /// The Geofences of each vehicle; `None`: not known yet.
    fences: Option<BTreeMap<NodeName, Vec<Arc<Wanted>>>>,
    /// Vehicles that a person has declared to be out of the air.
    declared_down: BTreeSet<NodeName>,
    /// Vehicles of other sites that may come into this one, and whether each may move.
    guests: BTreeMap<NodeName, bool>,
}

/// Ways home.
#[derive(Clone, Debug, Default)]
struct Returns {
    /// From where each returns, and over which home, at the height of its return.
    ways: Vec<(NodeName, Local, Local)>,
    /// Vehicles whose ways cross.
    cross: BTreeMap<NodeName, BTreeSet<NodeName>>,
    /// Vehicles whose ways lead through the stations of others.
    through: BTreeMap<NodeName, BTreeSet<NodeName>>,
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
            granted_plans: BTreeMap::new(),
            fences: Some(BTreeMap::new()),
            declared_down: BTreeSet::new(),
            guests: BTreeMap::new(),
        })
    }

    /// The same, where a vehicle that is no farther off than this is on its station.
    #[must_use]
    pub fn with_tolerance(self, tolerance: Tolerance) -> Self {
        Self { tolerance, ..self }
    }

    /// From now on no route is granted to the vehicles of these nodes that leaves the Geofences of each. `None`: these are not known yet, and
    /// nothing is granted but the way home (invariant 18).
    pub fn keep_within(&mut self, fences: Option<BTreeMap<NodeName, Vec<Arc<Wanted>>>>) {
        self.fences = fences;
    }

    /// A person has declared that the vehicle of `node` is not in the air any more: its Drone was released by force (invariant 19). It owns
    /// nothing once its agent is disconnected and no Drone names its node.
    pub fn declare_down(&mut self, node: &NodeName) {
        self.declared_down.insert(node.clone());
    }

    /// Takes in all vehicles as they are `now`, and grants the next routes.
    pub fn update(&mut self, vehicles: &BTreeMap<NodeName, Expected<'_>>, now: Moment) {
        self.forget(vehicles);
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
        self.take_back(vehicles, now);
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
                self.measured_from.insert(node, home);
            }
        }
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
            // Where it returns to is not known: it could go anywhere, until it has reported its home.
            let known = home.is_some() || matches!(observed.doing, Doing::Grounded);
            known.then_some((report, received, observed))
        });
        let heard = self.expected.entry(node.clone()).or_default();
        *heard |= observed.is_some();
        let Some((report, received, observed)) = observed else {
            return;
        };
        let gone = match observed.doing {
            Doing::Grounded | Doing::Other | Doing::Returning => true,
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
        self.claims.observe(node, observed, now);
        if let Desire::At(station) = expected.desire
            && let Some(off) = self.off(node, report, &station)
        {
            let before = self.arrivals.get(node).filter(|(of, _)| *of == station);
            let arrival = before.map_or_else(Arrival::default, |(_, arrival)| *arrival);
            let arrival = arrival.observe(off, position_time(report, received), self.tolerance);
            self.arrivals.insert(node.clone(), (station, arrival));
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
            let is_down = !**heard || on_ground(node) || self.declared_down.contains(*node);
            !vehicles.contains_key(*node) && is_down
        });
        let gone: Vec<NodeName> = gone.map(|(node, _)| node.clone()).collect();
        // A later flight is another matter.
        self.declared_down.retain(|node| !on_ground(node));
        for node in gone {
            self.forget_vehicle(&node);
        }
    }

    fn forget_vehicle(&mut self, node: &NodeName) {
        // What it owns as one of another site is not forgotten.
        if !self.guests.contains_key(node) {
            self.claims.forget(node);
        }
        self.routes.remove(node);
        self.taken_back.remove(node);
        self.granted_for.remove(node);
        self.measured_from.remove(node);
        self.takeoffs.forget(node);
        self.granted_plans.remove(node);
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
    #[must_use]
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
                report.route.last < *number || (has && report.truth == FlightTruth::Disarmed)
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
    #[must_use]
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
        self.keep_from_close_pads(&mut goals);
        self.keep_from_bad_accuracy(&mut goals);
        let goals = &goals;
        let holds = goals.values().filter(|goal| !goal.lands).map(|goal| goal.at.up);
        // Those that go home cross above them all, too.
        let floor = holds.fold(f64::NEG_INFINITY, f64::max).max(lowest_home + 2.0);
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
        };
        self.routes.insert(permit.vehicle().clone(), order);
    }

    /// Finds the vehicles whose ways home cross, when anything of that has changed.
    fn compare_returns(&mut self, goals: &BTreeMap<NodeName, Goal>) {
        let of = |(node, goal): (&NodeName, &Goal)| (!goal.lands).then(|| (node.clone(), goal.at));
        let holds: Vec<(NodeName, Local)> = goals.iter().filter_map(of).collect();
        let same = |(one, other): (&(NodeName, Local, Local), &(NodeName, Local, Local))| {
            let near = |a: Local, b: Local| a.over_ground(b) <= WANDERS.0 && (a.up - b.up).abs() <= WANDERS.1;
            one.0 == other.0 && near(one.1, other.1) && near(one.2, other.2)
        };
        let home = |node: &NodeName| self.claims.return_from(node).unwrap_or(NOWHERE);
        let ways: Vec<_> = holds.iter().map(|(node, at)| (node.clone(), *at, home(node))).collect();
        if ways.len() != self.returns.ways.len() || !ways.iter().zip(&self.returns.ways).all(same) {
            let cross = shared_returns(&self.claims, &holds);
            let through = crossed_stations(&self.claims, &holds);
            self.returns = Returns { ways, cross, through };
        }
    }

    /// Which vehicle that of `node` would meet if both returned home at once, in a sentence with what to do; `None`: it would meet none.
    #[must_use]
    pub fn shared_return(&self, node: &NodeName) -> Option<String> {
        let others = self.returns.cross.get(node)?;
        let (first, more) = first_and_more(others)?;
        Some(format!(
            "{SHARED_RETURN} would bring it together with the vehicle of node {first}{more}: their ways home cross at one \
             height; give each autopilot a return height of its own (RTL_ALT, RTL_RETURN_ALT), {:.0} m apart",
            self.claims.rules().pitch().vertical.0.ceil()
        ))
    }

    /// Through whose stations the vehicle of `node` would return by itself, in a sentence with what to do; `None`: through none.
    #[must_use]
    pub fn crossed_station(&self, node: &NodeName) -> Option<String> {
        let (first, more) = first_and_more(self.returns.through.get(node)?)?;
        let altitude = self.claims.return_from(node)?.up - self.claims.home(node)?.up;
        Some(format!(
            "{CROSSED_STATION} at {altitude:.0} m above home leads through the station of the vehicle of node {first}{more}, which is moved out \
             of the way when it begins; give its autopilot a return altitude at which no station lies (RTL_ALT, RTL_ALT_M, RTL_RETURN_ALT)"
        ))
    }

    /// The least distance over ground between two places on the ground from which vehicles may take off and land beside each other, meters.
    fn pads_apart(&self) -> f64 {
        let rules = self.claims.rules();
        let own = self.usual_margin().horizontal.0;
        rules.pads.0 + own + (own - rules.off_by.horizontal.0)
    }

    /// The vehicle whose home, or whose place on the ground, is so near to `pad` that the vehicle of `node` could not land there again, and how
    /// near that is, meters.
    fn close_pad(&self, node: &NodeName, pad: Local) -> Option<(&NodeName, f64)> {
        let apart = self.pads_apart();
        let others = self.expected.iter().filter(|(other, heard)| *other != node && **heard);
        let places = others.filter_map(|(other, _)| {
            let on_ground = self.claims.place(other).filter(|(_, on_ground)| *on_ground);
            Some((other, on_ground.map(|(at, _)| at).or_else(|| self.claims.home(other))?))
        });
        let mut distances = places.map(|(other, place)| (other, place.over_ground(pad)));
        distances.find(|(_, distance)| *distance < apart)
    }

    /// Why the vehicle of `node`, on the ground at `pad`, does not take off beside another that is too near, in a clause.
    fn no_room_to_land(&self, node: &NodeName, pad: Local) -> Option<String> {
        let (other, distance) = self.close_pad(node, pad)?;
        Some(format!(
            "stays on the ground: the vehicle of node {other} has its place {distance:.1} m away, and it could not land beside that; put them \
             {:.0} m apart",
            self.pads_apart().ceil()
        ))
    }

    fn keep_from_close_pads(&mut self, goals: &mut BTreeMap<NodeName, Goal>) {
        let mut kept = Vec::new();
        for (node, _) in goals.iter().filter(|(_, goal)| !goal.lands) {
            let pad = self.claims.place(node).filter(|(_, on_ground)| *on_ground);
            let why = pad.and_then(|(pad, _)| self.no_room_to_land(node, pad));
            kept.extend(why.map(|why| (node.clone(), why)));
        }
        for (node, why) in kept {
            goals.remove(&node);
            self.waiting.insert(node, why);
        }
    }

    /// Keeps those from their goals above or below which another holds, or is to hold, that would climb through them when its autopilot
    /// returns, or through which they would climb.
    fn keep_from_return_columns(&mut self, goals: &mut BTreeMap<NodeName, Goal>) {
        let pitch = self.claims.rules().pitch();
        let climbs_to = |node: &NodeName| self.claims.return_from(node).map_or(f64::INFINITY, |home| home.up);
        let meets = |(one, at): (&NodeName, Local), (other, there): (&NodeName, Local)| {
            let (lower, low, high) = if at.up <= there.up {
                (one, at, there)
            } else {
                (other, there, at)
            };
            at.over_ground(there) < pitch.horizontal.0
                && high.up - low.up >= pitch.vertical.0
                && high.up - pitch.vertical.0 < climbs_to(lower)
        };
        let holds = |node: &NodeName| {
            let end = self.claims.end(node)?;
            let on_ground = self.claims.place(node).is_some_and(|(_, on_ground)| on_ground);
            (!on_ground).then_some(end)
        };
        let mut taken: Vec<(NodeName, Local)> = Vec::new();
        for node in self.expected.keys() {
            taken.extend(holds(node).map(|at| (node.clone(), at)));
        }
        let mut kept = Vec::new();
        for (node, goal) in goals.iter().filter(|(_, goal)| !goal.lands) {
            let there = holds(node)
                .is_some_and(|at| at.over_ground(goal.at) <= WANDERS.0 && (at.up - goal.at.up).abs() <= WANDERS.1);
            if there {
                continue;
            }
            let other = taken
                .iter()
                .find(|(other, at)| other != node && meets((node, goal.at), (other, *at)));
            match other {
                Some((other, at)) => kept.push((node.clone(), other.clone(), at.up > goal.at.up)),
                None => taken.push((node.clone(), goal.at)),
            }
        }
        for (node, other, is_below) in kept {
            let (which, whose) = if is_below {
                ("below", "its own")
            } else {
                ("above", "the other's")
            };
            let why = format!(
                "has no route: its station lies {which} the place of the vehicle of node {other}, and {whose} autopilot would return through \
                 both; move the station, or lower the return altitude of that autopilot (RTL_ALT, RTL_ALT_M, RTL_RETURN_ALT)"
            );
            self.waiting.insert(node.clone(), why);
            goals.remove(&node);
        }
    }

    /// The route that the vehicle of `node` was granted last.
    #[must_use]
    pub fn route(&self, node: &NodeName) -> Option<&RouteOrder> {
        self.routes.get(node)
    }

    /// Why the vehicle of `node` is not on its station; `None` when it is.
    #[must_use]
    pub fn off_station(&self, node: &NodeName, now: Moment) -> Option<OffStation> {
        if let Some(what) = self.keeps_clear(node) {
            return Some(OffStation::KeepsClear(what));
        }
        if let Some(why) = self.waiting.get(node) {
            return Some(OffStation::Waits(why.clone()));
        }
        if self.claims.under_way(node) {
            return Some(OffStation::Moving);
        }
        let arrived = self
            .arrivals
            .get(node)
            .is_some_and(|(_, arrival)| arrival.on_station(now));
        (!arrived).then_some(OffStation::Settling)
    }

    /// Whether the vehicle of `node` holds over its home, at the end of its way, or is on the ground.
    #[must_use]
    pub fn is_home(&self, node: &NodeName, report: &Report) -> bool {
        let (Some(home), Some((at, on_ground))) = (self.home(report), self.claims.place(node)) else {
            return false;
        };
        on_ground || at.over_ground(home) <= ABOVE_HOME.0
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

/// When the vehicle was where `report`, received at `received`, says.
#[must_use]
pub fn position_time(report: &Report, received: Moment) -> Moment {
    let age = report
        .position_at
        .map_or(std::time::Duration::ZERO, |at| report.made.since(at));
    Moment::at(received.since_epoch().saturating_sub(age))
}

/// The height above home at which the agent that made this `report` holds an order to fly, if it says.
fn ordered_height(report: &Report) -> Option<AltitudeAboveHome> {
    report.held.as_ref()?.height()
}

/// Whether the vehicle of an agent that receives nothing from its autopilot is not in the air by an order of ours: the agent remembers no flight,
/// and holds no order to fly. Such a vehicle is switched off, where people have put it.
fn never_flew(report: &Report) -> bool {
    let unheard = report.truth == FlightTruth::Unknown(WhyUnknown::NeverHeard);
    let ordered = report.held.as_ref().is_some_and(|held| !held.grounded);
    unheard && !ordered && report.so_far != SoFar::Flown
}

/// Whether it climbs to the height of its takeoff.
fn takes_off(report: &Report) -> bool {
    report.activity == Activity::TakingOff || report.truth == FlightTruth::Airborne(Airborne::TakingOff)
}

/// Modes in which an autopilot flies straight home at its return altitude and lands, by their own names. SMART_RTL flies back along its track.
const RETURN_MODES: [&str; 3] = ["RTL", "AUTO_RTL", "AUTO.RTL"];

/// Whether the autopilot brings its vehicle home.
pub(crate) fn returns(report: &Report) -> bool {
    report.mode.as_deref().is_some_and(|mode| RETURN_MODES.contains(&mode))
}

/// What `report`, which was received at `received`, says of airspace; `None` when it does not say where the vehicle is or whether it
/// flies. `desire` is what its Drone asks for: one that is to hold above its home climbs there by itself.
#[must_use]
pub fn observation(report: &Report, received: Moment, frame: &Frame, desire: Desire) -> Option<Observation> {
    observation_on_plan(report, received, frame, desire, None)
}

/// The same of a vehicle that is to fly, or still flies, a plan along this way.
fn observation_on_plan(
    report: &Report,
    received: Moment,
    frame: &Frame,
    desire: Desire,
    plan: Option<PlanWay<'_>>,
) -> Option<Observation> {
    let position = report.position?;
    let at = frame.local(position.at, position.amsl).ok()?;
    let home_amsl = report
        .home
        .map_or(position.amsl.0 - position.above_home.0, |home| home.amsl.0);
    let home = report.home.and_then(|home| frame.local(home.at, home.amsl).ok());
    let upright = |to: f64| Route::through([at, at.at_height(to)]).ok();
    let ordered = report.route.order.as_ref().and_then(|order| {
        let places: Result<Vec<Local>, NoPlace> = order.places.iter().map(|p| frame.local(p.at, p.amsl)).collect();
        let route = Route::through(places.ok()?).ok()?;
        Some((route, report.route.next, order.places.len()))
    });
    let flies = report.held.as_ref().is_some_and(|held| !held.grounded);
    let climbs_to = match desire {
        // To another height it goes once its agent has the order.
        Desire::AboveHome(height) if flies => Some(home_amsl + ordered_height(report).unwrap_or(height).0),
        _ => None,
    };
    let in_other_hands = matches!(
        report.activity,
        Activity::HandsOff(_) | Activity::Failsafe | Activity::LowBattery
    );
    let on_plan = plan.filter(|plan| report.plan.held.as_ref() == Some(plan.digest));
    let is_granted = plan.is_some_and(|plan| plan.is_granted);
    let lands = report.activity == Activity::Landing;
    let doing = match report.truth {
        FlightTruth::Unknown(_) => return None,
        // Its own way, wherever it is on it: from the order to take off until it holds at the end, or has let go of it.
        FlightTruth::Disarmed | FlightTruth::ArmedOnGround
            if flies && !in_other_hands && desire == Desire::Plan && on_plan.is_some() =>
        {
            let plan = on_plan?;
            let route = match plan.is_granted {
                true => plan.way.clone(),
                false => plan_way::from_ground(plan.way, at),
            };
            Doing::Flying { route }
        }
        FlightTruth::Airborne(up)
            if !in_other_hands
                && !lands
                && up != Airborne::Landing
                && (report.plan.flying
                    || (desire == Desire::Plan
                        && !report.plan.ended
                        && !report.plan.finished
                        && (is_granted || takes_off(report) || plan_way::names_one(report)))) =>
        {
            match on_plan {
                Some(plan) if report.plan.flying || plan.is_granted || takes_off(report) => Doing::Flying {
                    route: plan.way.clone(),
                },
                // An unknown plan leads anywhere, and so does one that was not granted from where the vehicle is.
                Some(_) | None => Doing::Other,
            }
        }
        FlightTruth::ArmedOnGround if in_other_hands => Doing::Other,
        FlightTruth::Disarmed | FlightTruth::ArmedOnGround => match (ordered, climbs_to.and_then(upright)) {
            (Some((route, Some(_), _)), _) if flies => Doing::Flying { route },
            (_, Some(way)) if flies => Doing::Upright { way },
            _ => Doing::Grounded,
        },
        FlightTruth::Airborne(up) if in_other_hands => {
            match home.is_some() && up != Airborne::Landing && returns(report) {
                true => Doing::Returning,
                false => Doing::Other,
            }
        }
        FlightTruth::Airborne(up) if lands || up == Airborne::Landing => Doing::Upright {
            way: upright(home_amsl)?,
        },
        FlightTruth::Airborne(_) => match (ordered, climbs_to) {
            (Some((route, Some(next), places)), _) if next >= places => Doing::Holding { at: route.end() },
            (Some((route, Some(_), _)), _) => Doing::Flying { route },
            // Its agent drops the route in a moment.
            (Some((_, None, _)), _) => Doing::Other,
            (_, Some(up)) => {
                let above_home = home
                    .map(|home| home.at_height(up))
                    .filter(|hold| hold.over_ground(at) <= ABOVE_HOME.0 && (hold.up - at.up).abs() <= ABOVE_HOME.1);
                match above_home {
                    Some(at) => Doing::Holding { at },
                    None if (at.up - up).abs() <= ABOVE_HOME.1 => Doing::Holding { at },
                    None => Doing::Upright { way: upright(up)? },
                }
            }
            (_, None) => Doing::Holding { at },
        },
    };
    Some(Observation {
        heard: position_time(report, received),
        at,
        // A site knows more: the worst of the last seconds, and what homes say of each other.
        accuracy: Margin {
            horizontal: model::units::Meters(0.0),
            vertical: model::units::Meters(0.0),
        },
        order: report.route.last,
        doing,
    })
}

#[cfg(test)]
mod tests;
