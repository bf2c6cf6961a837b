//! Grants of the airspace of all sites, twice a second.
//!
//! Owns: gathering the input of [`fleet::planning::site::Sites`] from Drones and reports, and waking whom its grants concern. Must not:
//! grant anything itself, or work for a fleet without stations.

use crate::cluster::api::{self, ApiError};
use crate::cluster::events::Note;
use crate::cluster::world::{of_the_wall, roams};
use crate::controllers::airspace::{Airspace, SiteRules};
use crate::controllers::facts::{Observer, facts_of, node_of, refuses};
use crate::controllers::plans::PlanOf;
use crate::leadership::periodic::Periodic;
use crate::metrics::Metrics;
use crds::labels::TRANSPONDER;
use crds::{Drone, Vehicle};
use fleet::airspace::Owner;
use fleet::planning::awaited::{Awaited, says_where};
use fleet::planning::drone::desire::{Asked, desire, held_height, may_be_in_air};
use fleet::planning::site::{Corridor, Desire, Expected, OffStation, Ours, Sites, Transponders};
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use kube::runtime::reflector::{ObjectRef, Store};
use model::ids::NodeName;
use model::report::Report;
use model::route_order::RouteOrder;
use model::time::Moment;
use model::traffic::address;
use model::units::AltitudeAboveHome;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::task::JoinSet;

/// Pause between two looks whether the inventory is known.
const INVENTORY_CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// None is made in doubt: it could overlap a grant by the next leader.
struct Grants {
    observer: Observer,
    metrics: Metrics,
    /// The inventory, in which the leader before has left who is in the air.
    vehicles: Store<Vehicle>,
    begun: bool,
}

pub fn start(observer: &Observer, vehicles: Store<Vehicle>, metrics: &Metrics, tasks: &mut JoinSet<()>) {
    let grants = Grants {
        observer: observer.clone(),
        metrics: metrics.clone(),
        vehicles,
        begun: false,
    };
    let leadership = observer.leadership.clone();
    tasks.spawn(async move {
        // Until then nobody takes off, and nothing is granted.
        let known = leadership.ending.run_until_cancelled(grants.inventory()).await;
        if known.is_some() {
            leadership.loops.run(grants).await;
        }
    });
}

impl Grants {
    /// Done when the inventory is known, or none can be read: flight goes on without it.
    async fn inventory(&self) {
        loop {
            let filled = tokio::time::timeout(INVENTORY_CHECK_INTERVAL, self.vehicles.wait_until_ready());
            if matches!(filled.await, Ok(Ok(()))) {
                return;
            }
            let vehicles = Api::<Vehicle>::all(self.observer.cluster.client());
            let one = ListParams::default().limit(1);
            if let Err(error) = api::call("list Vehicles", vehicles.list(&one)).await
                && (error.is_not_found() || error.is_refusal())
            {
                tracing::warn!(%error, "Vehicles cannot be read: one that the leader before saw in the air is not known before its agent connects");
                return;
            }
            tracing::warn!("Vehicles could not be listed yet since the lead was taken: nothing takes off");
        }
    }
}

impl Periodic for Grants {
    const NAME: &'static str = "airspace";
    /// Reports come once a second; a waiting vehicle gets another's airspace this long after the report that freed it.
    const INTERVAL: Duration = Duration::from_millis(500);
    const AT_ONCE: bool = true;

    async fn run(&mut self) -> Result<(), ApiError> {
        let Self { observer, vehicles, .. } = &*self;
        if self.begun {
            go_on_waiting(observer, vehicles);
        } else {
            wait_for_those_in_air(observer, vehicles);
        }
        if !observer.sessions.with_traffic().is_empty() {
            observer.airspace.declare_transponders(transponders(vehicles));
        }
        self.begun = true;
        update(&self.observer, &self.metrics);
        Ok(())
    }
}

fn is_in_air(vehicle: &Vehicle) -> bool {
    let status = vehicle.status.as_ref();
    status.is_some_and(|status| status.airborne_since.is_some())
}

/// Waits for all that the inventory says are in the air.
fn wait_for_those_in_air(observer: &Observer, vehicles: &Store<Vehicle>) {
    let all = vehicles.state();
    let in_air = all.iter().filter(|vehicle| is_in_air(vehicle));
    let in_air =
        in_air.filter_map(|vehicle| Some((vehicle.name_any(), NodeName::parse(&vehicle.spec.node_name).ok()?)));
    let awaited = Awaited::new(in_air);
    for node in awaited.nodes().filter(|node| !is_served(observer, node)) {
        tracing::warn!(
            %node,
            "its vehicle was in the air when a leader before this one heard it last, and serves no Drone: others stay out of its way, wherever that \
             is, until it is heard, a person declares on its Node that it is not in the air (skein.dev/vehicle-is-down), or its Vehicle is deleted"
        );
    }
    *observer.airspace.awaited() = awaited;
}

/// As people have declared them on Vehicles, which no computer of a vehicle writes: a kubelet sets labels of its own Node.
fn transponders(vehicles: &Store<Vehicle>) -> Transponders {
    let mut all = Transponders::new();
    for vehicle in vehicles.state() {
        let address = vehicle.labels().get(TRANSPONDER).and_then(|text| address(text));
        if let (Some(address), Ok(node)) = (address, NodeName::parse(&vehicle.spec.node_name)) {
            all.entry(address).or_default().insert(node);
        }
    }
    all
}

/// Waits no more for one whose object says that it has landed, or that has none any more.
fn go_on_waiting(observer: &Observer, vehicles: &Store<Vehicle>) {
    let mut awaited = observer.airspace.awaited();
    let in_air = |object: &str| {
        vehicles
            .get(&ObjectRef::new(object))
            .is_some_and(|vehicle| is_in_air(&vehicle))
    };
    for node in awaited.keep(in_air) {
        tracing::info!(%node, "its vehicle is not waited for any more: by its object it is not in the air");
    }
}

/// Whether the vehicle of `node` serves a Drone, by which it is expected.
fn is_served(observer: &Observer, node: &NodeName) -> bool {
    let world = observer.world();
    world.drones_on(node).iter().any(|drone| world.has_node(drone, None))
}

/// Whether one is waited for that may be anywhere.
fn awaits_one(observer: &Observer) -> bool {
    let awaited: Vec<NodeName> = observer.airspace.awaited().nodes().cloned().collect();
    awaited.iter().any(|node| !is_served(observer, node))
}

/// Ends the wait for those that are heard now, as `report` has it.
fn hear_awaited(observer: &Observer, report: impl Fn(&NodeName) -> Option<Arc<Report>>) {
    let is_heard = |node: &NodeName| report(node).is_some_and(|report| says_where(&report));
    for node in observer.airspace.awaited().hear(is_heard) {
        tracing::debug!(%node, "its vehicle, in the air before this leader, is heard");
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
    let is_away = was_away || observer.sessions.has_one_away() || awaits_one(observer);
    if !is_away && !observer.world().has_roaming() {
        hear_awaited(observer, |node| observer.sessions.current(node));
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
    let wall = of_the_wall(observer.leadership.state.wall());
    airspace.declare_down_by_nodes(&observer.world().declared_down(), wall);
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
        site.declare_transponders(airspace.transponders());
        site.keep_within(observer.rules.is_complete().then(|| observer.rules.fences()));
        let before = site.endangered();
        site.update(&expected, now);
        let after = site.endangered().into_iter();
        let new = after.filter(|(pair, danger)| before.get(pair).map(|known| known.action) != Some(danger.action));
        new.map(|(pair, danger)| (pair, danger.action)).collect::<Vec<_>>()
    };
    // Not before the site has taken them in.
    hear_awaited(observer, |node| {
        let (report, _) = gathered.get(node)?.report.as_ref()?;
        Some(Arc::clone(report))
    });
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
    let ours = match reports.is_empty() {
        true => Ours::default(),
        false => Ours {
            positions: sessions.positions(),
            transponders: airspace.transponders(),
        },
    };
    let made = |age: Duration| Moment::at(now.since_epoch().saturating_sub(age));
    let reports = reports
        .iter()
        .map(|(node, report, age)| (node, report.as_ref(), made(*age)));
    let rules = &airspace.of.rules;
    let mut below = airspace.sky();
    below.sky.hear(reports, &ours, rules, now);
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
            return (
                node.clone(),
                (site.route(node).cloned(), waits, may, site.changes_to(node)),
            );
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

/// All vehicles that are connected, serve a Drone or are awaited, the ways of their plans, and their altitude changes.
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
        let asked = match planned {
            PlanOf::NoMission => asked,
            PlanOf::None => Asked::NoPlan,
            PlanOf::Unknown | PlanOf::Some(_) => Asked::Plan,
        };
        one.desire = desire(&facts, asked, report.as_deref());
        let height = AltitudeAboveHome(drone.spec.takeoff_altitude_meters);
        let changes_height = asked == Asked::AboveHome && held_height(&facts.uid, report.as_deref(), height).is_some();
        if changes_height && observer.rules.allow_change(&node, height).is_ok() {
            changes.insert(node, height);
        }
    }
    gather_awaited(observer, &mut all);
    (all, corridors, changes)
}

/// An awaited vehicle without a Drone may be anywhere, whatever its agent reports that does not say where.
fn gather_awaited(observer: &Observer, all: &mut BTreeMap<NodeName, Gathered>) {
    for node in observer.airspace.awaited().nodes() {
        let known = all.get(node).is_some_and(|one| {
            let report = one.report.as_ref();
            one.drone.is_some() || report.is_some_and(|(report, _)| says_where(report))
        });
        if !known {
            let one = Gathered {
                drone: None,
                report: None,
                may_fly: true,
                roams: true,
                desire: Desire::Nothing,
            };
            all.insert(node.clone(), one);
        }
    }
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
