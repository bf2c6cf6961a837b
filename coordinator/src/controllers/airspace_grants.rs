//! Grants of the airspace of all sites, twice a second.
//!
//! Owns: gathering the input of [`fleet::planning::site::Sites`] from Drones and reports, and waking whom its grants concern. Must not:
//! grant anything itself, or work for a fleet without stations.

use crate::cluster::api::ApiError;
use crate::cluster::events::Note;
use crate::cluster::world::{of_the_wall, roams};
use crate::controllers::airspace::{Airspace, SiteRules};
use crate::controllers::facts::{Observer, facts_of, node_of, refuses};
use crate::controllers::plans::PlanOf;
use crate::leadership::periodic::Periodic;
use crate::metrics::Metrics;
use crds::Drone;
use fleet::airspace::Owner;
use fleet::planning::drone::desire::{Asked, desire, held_height, may_be_in_air};
use fleet::planning::site::{Corridor, Desire, Expected, OffStation, Sites};
use k8s_openapi::jiff::Timestamp;
use model::ids::NodeName;
use model::report::Report;
use model::route_order::RouteOrder;
use model::time::Moment;
use model::units::AltitudeAboveHome;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::task::JoinSet;

/// None is made in doubt: it could overlap a grant by the next leader.
struct Grants {
    observer: Observer,
    metrics: Metrics,
}

pub fn start(observer: &Observer, metrics: &Metrics, tasks: &mut JoinSet<()>) {
    let grants = Grants {
        observer: observer.clone(),
        metrics: metrics.clone(),
    };
    tasks.spawn(observer.leadership.loops.clone().run(grants));
}

impl Periodic for Grants {
    const NAME: &'static str = "airspace";
    /// Reports come once a second; a waiting vehicle gets another's airspace this long after the report that freed it.
    const INTERVAL: Duration = Duration::from_millis(500);
    const AT_ONCE: bool = true;

    async fn run(&mut self) -> Result<(), ApiError> {
        update(&self.observer, &self.metrics);
        Ok(())
    }
}

struct Gathered {
    drone: Option<Arc<Drone>>,
    report: Option<(Arc<Report>, Moment)>,
    may_fly: bool,
    roams: bool,
    desire: Desire,
}

fn update(observer: &Observer, metrics: &Metrics) {
    let airspace = &observer.airspace;
    hear_aircraft(observer);
    // By what it is asked to do, or by where it is, was seen last or may set out to: a Drone may be gone, or changed, while its vehicle is far
    // from home.
    let was_away = airspace.lock().as_ref().is_some_and(Sites::has_one_away);
    if !was_away && !observer.world().has_roaming() && !observer.sessions.has_one_away() {
        // Routes are numbered over all of a leadership: what is kept goes on when there is a station again.
        if airspace.lock().as_mut().is_some_and(Sites::rest) {
            wake_all(observer);
        }
        set_unplaced(observer, false);
        return;
    }
    let drones = observer.world().all_drones(None);
    let now = observer.leadership.state.now();
    let (gathered, corridors, changes) = gather(observer, &drones);
    let is_strict = |one: &&Gathered| one.drone.as_ref().is_some_and(|drone| refuses(drone));
    let strict = gathered.iter().filter(|(_, one)| is_strict(one));
    let strict = strict.map(|(node, _)| node.clone()).collect();
    let before = shown(airspace, &gathered, now);
    airspace.declare_down_by_nodes(&observer.world().declared_down(), of_the_wall(Timestamp::now()));
    let conflicts = {
        let mut site = airspace.lock();
        let site = site.get_or_insert_with(|| {
            let SiteRules { rules, tolerance, .. } = airspace.of;
            Sites::new(observer.leadership.term, rules, tolerance)
        });
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
        site.plans(corridors);
        site.changes(changes);
        let rooms = gathered.iter().filter_map(|(node, one)| {
            let drone = one.drone.as_deref()?;
            Some((node.clone(), drone.external()?))
        });
        site.lend(rooms.collect());
        site.keep_returns_clear(strict);
        site.keep_within(observer.rules.is_complete().then(|| observer.rules.fences()));
        let before = site.endangered();
        site.update(&expected, now);
        let after = site.endangered().into_iter();
        let new = after.filter(|(pair, danger)| before.get(pair).map(|known| known.action) != Some(danger.action));
        new.map(|(pair, danger)| (pair, danger.action)).collect::<Vec<_>>()
    };
    // Not before the site exists: nobody takes off in between.
    set_unplaced(observer, false);
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
                "the vehicle is not known to keep to its own airspace, and comes near to the vehicle of node {vehicle}, which {}",
                what.words()
            );
            record(stray, text);
        }
    }
    let is_due = |node: &NodeName| {
        let site = airspace.lock();
        let report = gathered.get(node).and_then(|one| one.report.as_ref());
        site.as_ref()
            .zip(report)
            .is_some_and(|(site, (report, _))| site.plan_order_is_due(node, report))
    };
    for (node, shown) in shown(airspace, &gathered, now) {
        if before.get(&node) != Some(&shown) || is_due(&node) {
            observer.cluster.wakes.nodes.wake(node.clone());
            observer.world().wake_drones_on(&node);
        }
    }
}

/// Updates the aircraft that vehicles report, and wakes those without a station that may no longer, or again, take off or climb by them.
fn hear_aircraft(observer: &Observer) {
    let (sessions, airspace) = (&observer.sessions, &observer.airspace);
    let now = observer.leadership.state.now();
    let reports = sessions.with_traffic();
    let positions = match reports.is_empty() {
        true => Vec::new(),
        false => sessions.positions(),
    };
    let made = |age: Duration| Moment::at(now.since_epoch().saturating_sub(age));
    let reports = reports
        .iter()
        .map(|(node, report, age)| (node, report.as_ref(), made(*age)));
    let rules = &airspace.of.rules;
    let mut below = airspace.sky();
    below.sky.hear(reports, &positions, rules, now);
    let is_kept = |drone: &Arc<Drone>| {
        let node = node_of(drone).filter(|_| drone.spec.station.is_none())?;
        let report = sessions.current(&node)?;
        let height = AltitudeAboveHome(drone.spec.takeoff_altitude_meters);
        (!below.sky.is_clear(&report, height, rules)).then_some(node)
    };
    let kept = match below.sky.is_empty() {
        true => BTreeSet::new(),
        false => observer.world().all_drones(None).iter().filter_map(is_kept).collect(),
    };
    let before = std::mem::replace(&mut below.kept, kept);
    let changed: Vec<NodeName> = before.symmetric_difference(&below.kept).cloned().collect();
    drop(below);
    for node in changed {
        observer.world().wake_drones_on(&node);
        observer.cluster.wakes.nodes.wake(node);
    }
}

/// Route, why it is off its station, whether it may take off or is home, and the altitude that it may change to.
type Shown = (Option<RouteOrder>, Option<OffStation>, bool, Option<AltitudeAboveHome>);

fn shown(airspace: &Airspace, gathered: &BTreeMap<NodeName, Gathered>, now: Moment) -> BTreeMap<NodeName, Shown> {
    let site = airspace.lock();
    let Some(site) = site.as_ref() else {
        return BTreeMap::new();
    };
    let asks = gathered.iter().filter(|(_, one)| one.desire != Desire::Nothing);
    asks.map(|(node, one)| {
        if let Desire::AboveHome(_) | Desire::Plan = one.desire {
            let waits = site.plan_waits(node).map(|why| OffStation::Waits(why.to_owned()));
            let may = site.may_take_off(node) || site.owns_plan(node);
            return (node.clone(), (None, waits, may, site.changes_to(node)));
        }
        let is_home = one
            .report
            .as_ref()
            .is_some_and(|(report, _)| site.is_home(node, report));
        (
            node.clone(),
            (site.route(node).cloned(), site.off_station(node, now), is_home, None),
        )
    })
    .collect()
}

/// All vehicles that are connected or serve a Drone, the ways of their plans, and their altitude changes.
fn gather(
    observer: &Observer,
    drones: &[Arc<Drone>],
) -> (
    BTreeMap<NodeName, Gathered>,
    BTreeMap<NodeName, Corridor>,
    BTreeMap<NodeName, AltitudeAboveHome>,
) {
    let (mut all, mut corridors, mut changes) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (node, _) in observer.sessions.connected() {
        let one = Gathered {
            drone: None,
            report: observer.reported(&node),
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
        // Also one whose claim a person removed: its vehicle may be in the air, and not be heard.
        if !observer.world().has_node(drone, None) {
            continue;
        }
        let facts = facts_of(observer, drone, report.as_deref());
        let planned = observer.missions.plan(drone);
        if let PlanOf::Some(planned) = &planned
            && let Some((report, home)) = report.as_deref().and_then(|report| Some((report, report.home?)))
        {
            corridors.insert(node.clone(), planned.corridor(home.amsl, report));
        }
        let one = all.entry(node.clone()).or_insert(Gathered {
            drone: None,
            report: None,
            may_fly: may_be_in_air(facts.reported_flight.so_far),
            roams: false,
            desire: Desire::Nothing,
        });
        one.drone = Some(Arc::clone(drone));
        one.roams = roams(drone);
        let asked = drone.spec.station.as_ref().map_or(Asked::AboveHome, |asked| {
            Asked::Station(observer.airspace.station(asked, Some(&node), report.as_deref()).ok())
        });
        let asked = if planned == PlanOf::NoMission {
            asked
        } else {
            Asked::Plan
        };
        one.desire = desire(&facts, asked, report.as_deref());
        let height = AltitudeAboveHome(drone.spec.takeoff_altitude_meters);
        let changes_height = asked == Asked::AboveHome && held_height(&facts.uid, report.as_deref(), height).is_some();
        if changes_height && observer.rules.allow_change(&node, height).is_ok() {
            changes.insert(node, height);
        }
    }
    (all, corridors, changes)
}

/// Notes whether a Drone may be anywhere while there is no site, and wakes those whom a change concerns.
fn set_unplaced(observer: &Observer, unplaced: bool) {
    if observer.airspace.unplaced.swap(unplaced, Ordering::Relaxed) != unplaced {
        wake_all(observer);
    }
}

fn wake_all(observer: &Observer) {
    let drones = observer.world().all_drones(None);
    for node in drones.iter().filter_map(|drone| node_of(drone)) {
        observer.world().wake_drones_on(&node);
        observer.cluster.wakes.nodes.wake(node);
    }
}

#[cfg(test)]
mod tests;
