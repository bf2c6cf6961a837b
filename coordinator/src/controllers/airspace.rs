//! The airspace of the site: which vehicle may fly where, kept by the leader.
//!
//! Owns: gathering for [`fleet::site::Site`] what Drones ask for and agents report, and waking whom its grants concern. Must not: grant
//! anything itself, or do anything for a fleet without stations.

use crate::cluster::events::Note;
use crate::cluster::world::uid;
use crate::controllers::facts::{Observer, facts_with};
use crate::controllers::node_rules::NodeRules;
use crate::controllers::plans::PlanOf;
use crate::metrics::Metrics;
use crds::Drone;
use crds::drone::{AltitudeReference, Station as AskedStation};
use fleet::airspace::{OrderNumber, Owner, Rules};
use fleet::drone::desire::{Asked, counts_as_down, desire, holds_flight, may_be_in_air};
use fleet::drone::way_home::WayHome;
use fleet::drone::{Claimed, Movement};
use fleet::flight_record::SoFar;
use fleet::geo::Frame;
use fleet::ids::{DroneUid, NodeName};
use fleet::mission::PlanDigest;
use fleet::report::Report;
use fleet::route_order::RouteOrder;
use fleet::site::{Corridor, Desire, Expected, NO_HOME, OffStation, Owned, Site};
use fleet::station::{Altitude, BadStation, Limits, Manner, Place, Station, Tolerance};
use fleet::time::Moment;
use fleet::units::{AltitudeAboveHome, AltitudeAmsl, Heading, MetersPerSecond, Wgs84};
use fleet::vehicle::FlightTruth;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;

/// Reports come once a second; a vehicle that waits for another's airspace gets it this long after that was reported free.
const EVERY: Duration = Duration::from_millis(500);

/// What the operator has set for the site.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SiteRules {
    /// How far vehicles keep apart.
    pub rules: Rules,
    /// Where stations may be.
    pub limits: Limits,
    /// How far off a vehicle is on its station.
    pub tolerance: Tolerance,
}

/// The airspace. A copy is the same.
#[derive(Clone, Debug)]
pub struct Airspace {
    of: SiteRules,
    site: Arc<Mutex<Option<Site>>>,
    /// There is no site yet, and one that has a station or flies for a Mission may be anywhere. So it is until Drones were looked over.
    unplaced: Arc<AtomicBool>,
    /// Whose home was found to be no center of a site, the first of them. It is logged once.
    unfit: Arc<Mutex<Option<NodeName>>>,
    fences: Arc<NodeRules>,
}

impl Airspace {
    /// That of a site for which the operator has set `of`, where Geofences are known to `fences`.
    #[must_use]
    pub fn new(of: SiteRules, fences: &Arc<NodeRules>) -> Self {
        Self {
            of,
            site: Arc::default(),
            unplaced: Arc::new(AtomicBool::new(true)),
            unfit: Arc::default(),
            fences: Arc::clone(fences),
        }
    }

    /// The station that a Drone asks for, whose vehicle is on `node`.
    ///
    /// # Errors
    /// Why it cannot be one, in words.
    fn station(
        &self,
        asked: &AskedStation,
        node: Option<&NodeName>,
        report: Option<&Report>,
    ) -> Result<Station, String> {
        let made = station(asked, report, &self.of.limits).map_err(|why| why.to_string())?;
        let Some(node) = node else { return Ok(made) };
        let place = place(asked);
        let height = match place.altitude {
            Altitude::AboveHome(height) => Some(height),
            Altitude::Amsl(amsl) => {
                let home = report.and_then(|report| report.home);
                home.map(|home| AltitudeAboveHome(amsl.0 - home.amsl.0))
            }
        };
        match self.fences.allow(node, Some(place.at), height) {
            Ok(()) => Ok(made),
            Err(why) => Err(why.to_string()),
        }
    }

    /// What the operator has set.
    #[must_use]
    pub const fn rules(&self) -> &SiteRules {
        &self.of
    }

    fn lock(&self) -> MutexGuard<'_, Option<Site>> {
        self.site.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_unplaced(&self) -> bool {
        self.unplaced.load(Ordering::Relaxed)
    }

    /// Whether a Drone without a station has to wait on the ground of `node` for others: for those with a station or of a Mission, or, when
    /// it flies a `plan`, until all of its way is clear. One that may be in the air by an order to fly does not.
    #[must_use]
    pub fn keeps_down(
        &self,
        drone: &Drone,
        plan: Option<&PlanDigest>,
        node: Option<&NodeName>,
        report: Option<&Report>,
    ) -> bool {
        let own = DroneUid(uid(drone).to_owned());
        let Some(node) = node.filter(|_| counts_as_down(&own, report)) else {
            return false;
        };
        let site = self.lock();
        let Some(plan) = plan else {
            let may = site
                .as_ref()
                .map_or_else(|| !self.is_unplaced(), |site| site.may_take_off(node));
            return drone.spec.station.is_none() && !may;
        };
        let ordered = holds_flight(&own, report);
        let may = |site: &Site| site.may_fly_plan(node, plan) || (ordered && site.may_begin_plan(node, plan));
        !site.as_ref().is_some_and(may)
    }

    /// The airspace that the vehicle of `node` owns, for people to see.
    #[must_use]
    pub fn owned(&self, node: &NodeName) -> Option<Owned> {
        self.lock().as_ref()?.owned(node)
    }

    /// Why the vehicle of `node` has no airspace for its plan, in a clause.
    #[must_use]
    pub fn plan_waits(&self, node: &NodeName) -> Option<String> {
        self.lock().as_ref()?.plan_waits(node).map(str::to_owned)
    }

    /// The number of the route that the vehicle of `node` was granted last, for whatever Drone, and may have yet to take, or to let go of.
    #[must_use]
    pub fn last_granted(&self, node: &NodeName) -> Option<OrderNumber> {
        self.lock().as_ref()?.last_granted(node)
    }

    /// How one moves that flies for a Mission and has no plan: it holds where it is, or flies home along a route before it lands.
    #[must_use]
    pub fn way_back(&self, node: Option<&NodeName>, report: Option<&Report>, now: Moment) -> Option<Movement> {
        let site = self.lock();
        let place = site.as_ref().zip(node);
        let is_home = place
            .zip(report)
            .is_some_and(|((site, node), report)| site.is_home(node, report));
        Some(Movement {
            route: place.and_then(|(site, node)| site.route(node).cloned()),
            manner: Manner::default(),
            way_home: WayHome::of_one_that_strays(report, is_home),
            shared_return: None,
            off_station: match place {
                Some((site, node)) => site.off_station(node, now),
                None => Some(OffStation::Settling),
            },
        })
    }

    /// How `drone`, which is bound to `node`, moves; `None` for one without a station.
    #[must_use]
    pub fn movement(
        &self,
        drone: &Drone,
        node: Option<&NodeName>,
        report: Option<&Report>,
        now: Moment,
    ) -> Option<Movement> {
        let asked = drone.spec.station.as_ref()?;
        let bad = self.station(asked, node, report).err();
        let site = self.lock();
        let place = site.as_ref().zip(node);
        let is_home = place
            .zip(report)
            .is_some_and(|((site, node), report)| site.is_home(node, report));
        // Whatever is wrong with its station, and before anything is known here, it does not land where it happens to hold.
        let way_home = WayHome::of(report, is_home);
        let could_go = report.is_some_and(|r| matches!(r.truth, FlightTruth::Airborne(_)) && r.home.is_some());
        Some(Movement {
            route: place
                .filter(|_| bad.is_none() || could_go)
                .and_then(|(site, node)| site.route(node).cloned()),
            // What is wrong with it is said, and asked of no vehicle.
            manner: bad
                .as_ref()
                .map_or_else(|| self::place(asked).manner, |_| Manner::default()),
            way_home,
            shared_return: place.and_then(|(site, node)| site.shared_return(node)),
            off_station: match (bad, place) {
                (Some(why), _) => Some(OffStation::Waits(format!("has no route: spec.station: {why}"))),
                (None, Some((site, node))) => site.off_station(node, now),
                (None, None) => Some(without_site(report)),
            },
        })
    }
}

/// Why a vehicle that has made this `report` is not on its station while there is no site, which needs the home of one.
fn without_site(report: Option<&Report>) -> OffStation {
    match report.map(|report| report.home) {
        Some(None) => OffStation::Waits(NO_HOME.to_owned()),
        Some(Some(home)) => match Frame::at(home.at) {
            Ok(_) => OffStation::Settling,
            Err(why) => OffStation::Waits(format!("has no route: {why}")),
        },
        None => OffStation::Settling,
    }
}

/// The place that a Drone asks for, whose vehicle has made this `report`.
///
/// # Errors
/// Why it cannot be one.
fn station(asked: &AskedStation, report: Option<&Report>, limits: &Limits) -> Result<Station, BadStation> {
    let station = Station::new(place(asked), limits)?;
    // One that does not know its home flies nowhere.
    let home = report.and_then(|report| report.home);
    home.map_or(Ok(()), |home| station.suits(home.at, home.amsl, limits))?;
    Ok(station)
}

/// A place as it is asked for.
#[must_use]
pub fn place(asked: &AskedStation) -> Place {
    let altitude = match asked.altitude_reference {
        AltitudeReference::AboveHome => Altitude::AboveHome(AltitudeAboveHome(asked.altitude_meters)),
        AltitudeReference::AboveMeanSeaLevel => Altitude::Amsl(AltitudeAmsl(asked.altitude_meters)),
    };
    let at = Wgs84 {
        latitude_deg: asked.latitude_degrees,
        longitude_deg: asked.longitude_degrees,
    };
    Place {
        at,
        altitude,
        manner: Manner {
            heading: asked.heading_degrees.map(Heading),
            speed: asked.speed_meters_per_second.map(MetersPerSecond),
        },
    }
}

/// Starts keeping the airspace.
pub fn start(observer: &Observer, metrics: &Metrics, tasks: &mut JoinSet<()>) {
    let (observer, metrics) = (observer.clone(), metrics.clone());
    tasks.spawn(async move {
        let ending = observer.leadership.ending.clone();
        loop {
            // What is granted by one that may lead no more could be another's.
            if observer.leadership.state.acts() {
                update(&observer, &metrics);
            }
            if ending.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_none() {
                return;
            }
        }
    });
}

/// One vehicle, as far as its airspace goes.
struct Gathered {
    drone: Option<Arc<Drone>>,
    report: Option<(Arc<Report>, Moment)>,
    may_fly: bool,
    roams: bool,
    desire: Desire,
}

fn update(observer: &Observer, metrics: &Metrics) {
    let airspace = &observer.airspace;
    let drones = observer.world().all_drones(None);
    if !drones.iter().any(|drone| roams(observer, drone)) {
        // Routes are numbered over all of a leadership: what is kept goes on when there is a station again.
        if let Some(site) = airspace.lock().as_mut() {
            site.rest();
        }
        set_unplaced(observer, &drones, false);
        return;
    }
    let is_new = airspace.lock().is_none();
    let new = is_new.then(|| new_site(observer, &drones)).flatten();
    if is_new && new.is_none() {
        let unplaced = drones.iter().any(|drone| may_be_away(observer, drone));
        set_unplaced(observer, &drones, unplaced);
        return;
    }
    let now = observer.leadership.state.now();
    let (gathered, corridors) = gather(observer, &drones, now);
    let before = shown(airspace, &gathered, now);
    let conflicts = {
        let mut site = airspace.lock();
        if is_new {
            *site = new;
        }
        let expected = gathered.iter().map(|(node, one)| {
            let report = one
                .report
                .as_ref()
                .map(|(report, received)| (report.as_ref(), *received));
            let expected = Expected {
                report,
                may_fly: one.may_fly,
                roams: one.roams,
                desire: one.desire,
            };
            (node.clone(), expected)
        });
        let expected = expected.collect();
        let Some(site) = site.as_mut() else { return };
        site.plans(&corridors);
        site.keep_within(observer.rules.fences());
        let before = site.endangered().clone();
        site.update(&expected, now);
        let known = |pair, action| before.get(pair).map(|danger| danger.action) == Some(action);
        let new = site.endangered().iter().map(|(pair, danger)| (pair, danger.action));
        let new = new.filter(|(pair, action)| !known(*pair, *action));
        new.map(|(pair, action)| (pair.clone(), action)).collect::<Vec<_>>()
    };
    // Not before the site is there: nobody takes off in between.
    set_unplaced(observer, &drones, false);
    for ((from, vehicle), what) in conflicts {
        metrics.conflict(what);
        tracing::warn!(%from, node = %vehicle, ?what, "not clear of one that does not keep to its airspace");
        let record = |node: &NodeName, text: String| {
            if let Some(drone) = gathered.get(node).and_then(|one| one.drone.as_ref()) {
                observer
                    .cluster
                    .events
                    .record(drone, Note::warning("AirspaceConflict", text));
            }
        };
        record(&vehicle, format!("the vehicle {}", what.sentence(&from)));
        if let Owner::Vehicle(stray) = &from {
            let text = format!(
                "the vehicle is not in its own airspace, and comes near to the vehicle of node {vehicle}, which {}",
                what.words()
            );
            record(stray, text);
        }
    }
    for (node, shown) in shown(airspace, &gathered, now) {
        if before.get(&node) != Some(&shown) {
            observer.cluster.wakes.nodes.wake(node.clone());
            observer.world().wake_drones_on(&node);
        }
    }
}

/// What people and agents are shown of each vehicle that moves.
fn shown(
    airspace: &Airspace,
    gathered: &BTreeMap<NodeName, Gathered>,
    now: Moment,
) -> BTreeMap<NodeName, (Option<RouteOrder>, Option<OffStation>, bool)> {
    let site = airspace.lock();
    let Some(site) = site.as_ref() else {
        return BTreeMap::new();
    };
    let asks = gathered.iter().filter(|(_, one)| one.desire != Desire::Nothing);
    asks.map(|(node, one)| {
        if let Desire::AboveHome(_) | Desire::Plan = one.desire {
            let waits = site.plan_waits(node).map(|why| OffStation::Waits(why.to_owned()));
            let may = site.may_take_off(node) || site.owns_plan(node);
            return (node.clone(), (None, waits, may));
        }
        let is_home = one
            .report
            .as_ref()
            .is_some_and(|(report, _)| site.is_home(node, report));
        (
            node.clone(),
            (site.route(node).cloned(), site.off_station(node, now), is_home),
        )
    })
    .collect()
}

fn node_of(drone: &Drone) -> Option<NodeName> {
    NodeName::parse(drone.spec.node_name.as_deref()?).ok()
}

/// All vehicles that are connected or serve a Drone.
fn gather(
    observer: &Observer,
    drones: &[Arc<Drone>],
    now: Moment,
) -> (BTreeMap<NodeName, Gathered>, BTreeMap<NodeName, Corridor>) {
    let (mut all, mut corridors) = (BTreeMap::new(), BTreeMap::new());
    for (node, snapshot) in observer.sessions.connected() {
        let current = observer.sessions.current(&node);
        let age = snapshot.report.map(|(_, age)| age);
        let received = |age: Duration| Moment::at(now.since_epoch().saturating_sub(age));
        let report = current.zip(age).map(|(report, age)| (report, received(age)));
        let one = Gathered {
            drone: None,
            report,
            may_fly: true,
            roams: false,
            desire: Desire::Nothing,
        };
        all.insert(node, one);
    }
    for drone in drones {
        let Some(node) = node_of(drone) else { continue };
        let report = all
            .get(&node)
            .and_then(|one| one.report.as_ref().map(|(report, _)| Arc::clone(report)));
        let facts = facts_with(observer, drone, report.as_deref());
        if facts.claim != Claimed::Ours {
            continue;
        }
        let planned = observer.missions.plan(drone);
        if let PlanOf::Some(planned) = &planned
            && let Some(home) = report.as_deref().and_then(|report| report.home)
        {
            corridors.insert(node.clone(), planned.corridor(home.amsl));
        }
        let one = all.entry(node).or_insert(Gathered {
            drone: None,
            report: None,
            may_fly: may_be_in_air(facts.reported_flight.so_far),
            roams: false,
            desire: Desire::Nothing,
        });
        one.drone = Some(Arc::clone(drone));
        one.roams = drone.spec.station.is_some() || planned != PlanOf::NoMission;
        let asked = drone.spec.station.as_ref().map_or(Asked::AboveHome, |asked| {
            let node = node_of(drone);
            Asked::Station(observer.airspace.station(asked, node.as_ref(), report.as_deref()).ok())
        });
        let asked = if planned == PlanOf::NoMission {
            asked
        } else {
            Asked::Plan
        };
        one.desire = desire(&facts, asked, report.as_deref());
    }
    (all, corridors)
}

/// Whether its vehicle may go elsewhere than above its home.
fn roams(observer: &Observer, drone: &Drone) -> bool {
    drone.spec.station.is_some() || observer.missions.plan(drone) != PlanOf::NoMission
}

/// The node whose vehicle roams for `drone`, which has the claim to it.
fn roams_from(observer: &Observer, drone: &Drone) -> Option<NodeName> {
    let node = node_of(drone).filter(|_| roams(observer, drone))?;
    let claim = observer.world().claim(node.as_str())?;
    (claim.uid == uid(drone)).then_some(node)
}

/// Whether its vehicle may be away from its home now, heard or not.
fn may_be_away(observer: &Observer, drone: &Drone) -> bool {
    let Some(node) = roams_from(observer, drone) else {
        return false;
    };
    match observer.sessions.current(&node) {
        Some(report) => report.so_far == SoFar::Flown,
        None => may_be_in_air(facts_with(observer, drone, None).reported_flight.so_far),
    }
}

/// Takes note of whether one may be anywhere while there is no site. All wait anew for that, or need not any more.
fn set_unplaced(observer: &Observer, drones: &[Arc<Drone>], unplaced: bool) {
    if observer.airspace.unplaced.swap(unplaced, Ordering::Relaxed) == unplaced {
        return;
    }
    for node in drones.iter().filter_map(|drone| node_of(drone)) {
        observer.world().wake_drones_on(&node);
        observer.cluster.wakes.nodes.wake(node);
    }
}

/// A new site around the home of the first vehicle that roams, is heard, and has its home where a site can be; `None` while there is none.
/// What people ask for is no center: it may be wrong, and a site stays where it is.
fn new_site(observer: &Observer, drones: &[Arc<Drone>]) -> Option<Site> {
    let airspace = &observer.airspace;
    let homes = drones.iter().filter_map(|drone| {
        let node = roams_from(observer, drone)?;
        let home = observer.sessions.current(&node)?.home?;
        Some((node, home.at))
    });
    let mut unfit = None;
    for (node, home) in homes {
        match Site::new(observer.leadership.term, airspace.of.rules, home) {
            Ok(new) => return Some(new.with_tolerance(airspace.of.tolerance)),
            Err(why) => unfit = unfit.or(Some((node, why))),
        }
    }
    let first = unfit.as_ref().map(|(node, _)| node.clone());
    let mut known = airspace.unfit.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((node, why)) = unfit.filter(|(node, _)| known.as_ref() != Some(node)) {
        tracing::warn!(%node, %why, "no vehicle flies to its station: the home of this one can be no center of a site");
    }
    *known = first;
    None
}

#[cfg(test)]
mod tests;
