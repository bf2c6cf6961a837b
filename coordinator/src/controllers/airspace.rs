//! The airspace of the site: which vehicle may fly where, kept by the leader.
//!
//! Owns: gathering for [`fleet::site::Site`] what Drones ask for and agents report, and waking whom its grants concern. Must not: grant
//! anything itself, or do anything for a fleet without stations.

use crate::cluster::events::Note;
use crate::controllers::drone::facts::{Observer, facts_with};
use crate::controllers::mission::plans::PlanOf;
use crate::controllers::rules::NodeRules;
use crate::metrics::Metrics;
use crds::Drone;
use crds::drone::{AltitudeReference, Station as AskedStation};
use fleet::airspace::{OrderNumber, Owner, Rules};
use fleet::drone::desire::{Asked, desire, may_be_in_air};
use fleet::drone::way_home::WayHome;
use fleet::drone::{Claimed, Movement};
use fleet::flight_record::SoFar;
use fleet::ids::NodeName;
use fleet::mission::PlanDigest;
use fleet::report::Report;
use fleet::route_order::RouteOrder;
use fleet::site::{Corridor, Desire, Expected, OffStation, Owned, Site};
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
    /// There is no site yet, and one that flies for a Mission may be anywhere. So it is until Drones were looked over.
    unplaced: Arc<AtomicBool>,
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

    /// Whether a Drone without a station has to wait on the ground of `node` for one that has one.
    #[must_use]
    pub fn keeps_down(
        &self,
        drone: &Drone,
        plan: Option<&PlanDigest>,
        node: Option<&NodeName>,
        report: Option<&Report>,
    ) -> bool {
        let on_ground = report.is_some_and(|report| report.truth == FlightTruth::Disarmed);
        let site = self.lock();
        if let Some(plan) = plan {
            let may = site
                .as_ref()
                .zip(node)
                .is_some_and(|(site, node)| site.may_fly_plan(node, plan));
            return on_ground && !may;
        }
        let may = site
            .as_ref()
            .zip(node)
            .map_or_else(|| !self.is_unplaced(), |(site, node)| site.may_take_off(node));
        drone.spec.station.is_none() && on_ground && !may
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
                (None, None) => Some(OffStation::Settling),
            },
        })
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
    desire: Desire,
}

fn update(observer: &Observer, metrics: &Metrics) {
    let airspace = &observer.airspace;
    let drones = observer.world().all_drones(None);
    let moves = |drone: &Arc<Drone>| drone.spec.station.is_some() || flies_for_mission(observer, drone);
    let rests = !drones.iter().any(moves);
    // A site that is there already needs no center.
    let is_new = airspace.lock().is_none();
    let center = (is_new && !rests).then(|| center(observer, &drones)).flatten();
    let unplaced = is_new && center.is_none() && drones.iter().any(|drone| may_be_on_plan(observer, drone));
    if airspace.unplaced.swap(unplaced, Ordering::Relaxed) && !unplaced {
        let nodes = drones.iter().filter_map(|drone| node_of(drone));
        nodes.for_each(|node| observer.world().wake_drones_on(&node));
    }
    if rests {
        // Routes are numbered over all of a leadership: what is kept goes on when there is a station again.
        if let Some(site) = airspace.lock().as_mut() {
            site.rest();
        }
        return;
    }
    if is_new && center.is_none() {
        return;
    }
    let now = observer.leadership.state.now();
    let (gathered, corridors) = gather(observer, &drones, now);
    let before = shown(airspace, &gathered, now);
    let conflicts = {
        let mut site = airspace.lock();
        if let Some(center) = center {
            match Site::new(observer.leadership.term, airspace.of.rules, center) {
                Ok(new) => *site = Some(new.with_tolerance(airspace.of.tolerance)),
                Err(why) => {
                    tracing::warn!(%why, "no vehicle flies to its station");
                    return;
                }
            }
        }
        let expected = gathered.iter().map(|(node, one)| {
            let report = one
                .report
                .as_ref()
                .map(|(report, received)| (report.as_ref(), *received));
            let expected = Expected {
                report,
                may_fly: one.may_fly,
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
            return (node.clone(), (None, waits, site.may_take_off(node)));
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
        let may_fly = true;
        let desire = Desire::Nothing;
        all.insert(
            node,
            Gathered {
                drone: None,
                report,
                may_fly,
                desire,
            },
        );
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
            desire: Desire::Nothing,
        });
        one.drone = Some(Arc::clone(drone));
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

/// Whether it may fly a plan, and not only hold above its home.
fn flies_for_mission(observer: &Observer, drone: &Drone) -> bool {
    observer.missions.plan(drone) != PlanOf::NoMission
}

/// Whether it may be in the air for a Mission now, heard or not.
fn may_be_on_plan(observer: &Observer, drone: &Drone) -> bool {
    if !flies_for_mission(observer, drone) {
        return false;
    }
    let report = node_of(drone).and_then(|node| observer.sessions.current(&node));
    let facts = facts_with(observer, drone, report.as_deref());
    let flown = match report {
        Some(report) => report.so_far == SoFar::Flown,
        None => may_be_in_air(facts.reported_flight.so_far),
    };
    facts.claim == Claimed::Ours && flown
}

/// The middle of a new site: the first station, or the home of one that flies for a Mission, or where its plan begins; `None` while none of
/// these is known.
fn center(observer: &Observer, drones: &[Arc<Drone>]) -> Option<Wgs84> {
    let station = drones.iter().find_map(|drone| drone.spec.station.as_ref());
    if let Some(station) = station {
        return Some(place(station).at);
    }
    let of_missions = || drones.iter().filter(|drone| flies_for_mission(observer, drone));
    let home = of_missions().find_map(|drone| Some(observer.sessions.current(&node_of(drone)?)?.home?.at));
    home.or_else(|| {
        of_missions().find_map(|drone| match observer.missions.plan(drone) {
            PlanOf::Some(planned) => Some(planned.start),
            PlanOf::NoMission | PlanOf::Unknown | PlanOf::None => None,
        })
    })
}

#[cfg(test)]
mod tests;
