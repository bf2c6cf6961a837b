//! The formation of a Swarm: which of its Drones has which slot, written to the Drones, and whether the slots are covered.

use crate::cluster::api::{self, ApiError};
use crate::cluster::key::Key;
use crate::cluster::world::uid;
use crate::controllers::airspace::{Airspace, SiteRules, place};
use crate::controllers::facts::{DroneSnapshot, Observer};
use crate::controllers::swarm::members::{serving, slot};
use crate::leadership::periodic::Periodic;
use crate::metrics::Metrics;
use crds::formation::FormationShape;
use crds::{Drone, Swarm, labels};
use fleet::airspace::Separation;
use fleet::planning::formation::assign::TooMany;
use fleet::planning::formation::coverage::{Change, Coverage, Near};
use fleet::planning::formation::fill::{Candidate, InSlot, fill};
use fleet::planning::formation::{Around, BadFormation, Formation, Shape};
use fleet::planning::site::position_time;
use fleet::planning::swarm::replacement::Replace;
use fleet::planning::swarm::{Member, Serving};
use futures::{StreamExt, stream};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Api, Patch};
use model::ids::{DroneUid, NodeName};
use model::report::Report;
use model::station::{Altitude, Station, Tolerance};
use model::time::Moment;
use model::units::{Heading, Meters};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;

const CONCURRENCY: usize = 8;

/// Half the angle between the arms.
const DEFAULT_VEE_HALF_ANGLE_DEG: f64 = 45.0;

/// The stations of the slots of `swarm`; `None` without a formation.
pub fn slots(swarm: &Swarm, of: &SiteRules) -> Option<Result<Vec<Station>, BadFormation>> {
    let formation = read(swarm.spec.formation.as_ref()?);
    let replicas = match swarm.metadata.deletion_timestamp {
        Some(_) => 0,
        None => usize::try_from(swarm.spec.replicas).unwrap_or_default(),
    };
    let pitch = of.rules.pitch();
    let separation = Separation {
        horizontal: pitch.horizontal,
        vertical: pitch.vertical,
    };
    Some(formation.slots(replicas, separation, &of.limits))
}

fn read(asked: &crds::formation::Formation) -> Formation {
    let shape = match asked.shape {
        FormationShape::Points => None,
        FormationShape::Line => Some(Shape::Line),
        FormationShape::Column => Some(Shape::Column),
        FormationShape::Circle => Some(Shape::Circle),
        FormationShape::Grid => Some(Shape::Grid {
            columns: asked
                .columns
                .and_then(|columns| u16::try_from(columns).ok())
                .unwrap_or_default(),
        }),
        FormationShape::Vee => Some(Shape::Vee {
            half_angle_deg: asked.half_angle_degrees.unwrap_or(DEFAULT_VEE_HALF_ANGLE_DEG),
        }),
    };
    match (shape, &asked.anchor) {
        (Some(shape), Some(anchor)) => Formation::Around(Around {
            anchor: place(anchor),
            heading: Heading(asked.heading_degrees),
            shape,
            spacing: Meters(asked.spacing_meters.unwrap_or_default()),
            altitude_step: Meters(asked.altitude_step_meters),
        }),
        // The API server refuses a shape without an anchor; here it has no slots.
        _ => Formation::Points(asked.points.iter().map(place).collect()),
    }
}

/// How far off a vehicle may be and still cover its slot; `usual` where the Swarm does not say.
fn tolerance(asked: Option<&crds::formation::Formation>, usual: Tolerance) -> Tolerance {
    let same = |meters| Tolerance {
        horizontal: Meters(meters),
        vertical: Meters(meters),
    };
    asked.and_then(|asked| asked.tolerance_meters).map_or(usual, same)
}

/// Slots by Drone. Drones that are not made yet go by their names.
#[derive(Debug, Default)]
pub struct Filled(BTreeMap<DroneUid, InSlot>);

impl Filled {
    /// Fills `slots` with `drones`, whose state is in `members`, and with those that are about to be made.
    pub fn of(
        observer: &Observer,
        slots: &[Station],
        (drones, members): (&[Arc<Drone>], &[Member]),
        about_to_be_made: &[String],
    ) -> Result<Self, TooMany> {
        let of = observer.airspace.rules();
        let stays = |member: &&Member| !member.leaving && member.replace != Some(Replace::Lost);
        let replace: BTreeMap<&str, bool> = members
            .iter()
            .filter(stays)
            .map(|member| (member.uid.0.as_str(), member.replace.is_some()))
            .collect();
        let mut known: Vec<(Option<Timestamp>, Candidate)> = drones
            .iter()
            .filter_map(|drone| {
                let replace = *replace.get(uid(drone.as_ref()))?;
                let made = drone.metadata.creation_timestamp.as_ref().map(|time| time.0);
                Some((made, candidate(observer, drone, replace, of)))
            })
            .collect();
        // In the order of their names.
        known.sort_by_key(|(made, _)| *made);
        let new = about_to_be_made.iter().map(|name| Candidate {
            uid: not_made_yet(name),
            slot: None,
            station: None,
            at: None,
            may_fly: false,
            replace: false,
        });
        let candidates: Vec<Candidate> = known.into_iter().map(|(_, one)| one).chain(new).collect();
        fill(slots, &candidates, &of.rules, &of.limits).map(Self)
    }

    /// Gives a Drone that is about to be made its slot.
    pub fn give(&self, drone: &mut Drone) {
        if let Some(found) = self.0.get(&not_made_yet(&drone.name_any())) {
            drone.spec.station = Some(written(&found.station));
            let slot = (labels::SLOT.to_owned(), found.slot.to_string());
            drone.metadata.labels.get_or_insert_default().extend([slot]);
        }
    }

    /// Writes changes to `drones`; the error is the first of several.
    pub async fn write(&self, observer: &Observer, drones: &[Arc<Drone>]) -> Result<(), ApiError> {
        let changed = |drone: &Arc<Drone>| {
            let found = *self.0.get(&DroneUid(uid(drone.as_ref()).to_owned()))?;
            let of = observer.airspace.rules();
            let stays = station(drone, of).is_some_and(|station| station.is_as(&found.station, STATION_EPSILON));
            (!stays || slot(drone) != Some(found.slot)).then_some((Arc::clone(drone), found))
        };
        let changed: Vec<_> = drones.iter().filter_map(changed).collect();
        if changed.is_empty() {
            return Ok(());
        }
        tracing::info!(drones = changed.len(), "Drones are given slots of the formation");
        let calls = changed.into_iter().map(|(drone, found)| give(observer, drone, found));
        let results: Vec<_> = stream::iter(calls).buffer_unordered(CONCURRENCY).collect().await;
        results.into_iter().collect()
    }
}

/// A station is written again where it differs by more than this. Above the rounding when it is written.
const STATION_EPSILON: Meters = Meters(0.05);

fn not_made_yet(name: &str) -> DroneUid {
    DroneUid(format!("{name} is not made yet"))
}

fn station(drone: &Drone, of: &SiteRules) -> Option<Station> {
    let asked = drone.spec.station.as_ref()?;
    Station::new(place(asked), &of.limits).ok()
}

/// Whether `drone` is asked to hold in its slot, and not beside it.
pub fn asks_for_slot(drone: &Drone, slots: &[Station], of: &SiteRules) -> bool {
    let slot = slot(drone).and_then(|slot| slots.get(slot));
    let asked = station(drone, of).zip(slot);
    asked.is_some_and(|(asked, slot)| asked.is_where(slot, STATION_EPSILON))
}

fn candidate(observer: &Observer, drone: &Arc<Drone>, replace: bool, of: &SiteRules) -> Candidate {
    let snapshot = DroneSnapshot::of(observer, Arc::clone(drone));
    Candidate {
        slot: slot(drone),
        station: station(drone, of),
        at: snapshot
            .report
            .as_ref()
            .and_then(|report| report.position)
            .map(|position| position.at),
        may_fly: matches!(serving(&snapshot), Serving::Flying { .. } | Serving::Unknown),
        uid: snapshot.facts.uid,
        replace,
    }
}

/// A station as in a Drone's spec: to a centimeter.
fn written(station: &Station) -> crds::drone::Station {
    let place = station.place();
    let (altitude, altitude_reference) = match place.altitude {
        Altitude::AboveHome(height) => (height.0, crds::drone::AltitudeReference::AboveHome),
        Altitude::Amsl(height) => (height.0, crds::drone::AltitudeReference::AboveMeanSeaLevel),
    };
    let degrees = |degrees: f64| (degrees * 1e7).round() / 1e7;
    crds::drone::Station {
        latitude_degrees: degrees(place.at.latitude_deg),
        longitude_degrees: degrees(place.at.longitude_deg),
        altitude_meters: (altitude * 100.0).round() / 100.0,
        altitude_reference,
        heading_degrees: place.manner.heading.map(|heading| heading.0),
        speed_meters_per_second: place.manner.speed.map(|speed| speed.0),
    }
}

async fn give(observer: &Observer, drone: Arc<Drone>, found: InSlot) -> Result<(), ApiError> {
    let key = Key::of(drone.as_ref());
    let drones: Api<Drone> = Api::namespaced(observer.cluster.client(), &key.namespace);
    let station = written(&found.station);
    let patch = json!({
        "metadata": {
            "uid": uid(drone.as_ref()),
            "resourceVersion": drone.metadata.resource_version,
            "labels": {labels::SLOT: found.slot.to_string()},
        },
        "spec": {"station": {
            "latitudeDegrees": station.latitude_degrees,
            "longitudeDegrees": station.longitude_degrees,
            "altitudeMeters": station.altitude_meters,
            "altitudeReference": station.altitude_reference,
            // Also where there is none: a merge patch keeps what it does not name.
            "headingDegrees": station.heading_degrees,
            "speedMetersPerSecond": station.speed_meters_per_second,
        }},
    });
    let patch = Patch::Merge(&patch);
    match api::call(
        "give a Drone its slot",
        drones.patch(&key.name, &api::merging(), &patch),
    )
    .await
    {
        Ok(given) => {
            observer.world().learn_drone(given);
            Ok(())
        }
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}

/// By the uid of their Swarm.
#[derive(Debug, Default)]
pub struct Coverages(Mutex<BTreeMap<String, Coverage>>);

impl Coverages {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Coverage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is covered before the first observation.
    pub fn of(&self, swarm: &str) -> Coverage {
        self.lock().get(swarm).cloned().unwrap_or_default()
    }
}

struct Observation {
    observer: Observer,
    coverages: Arc<Coverages>,
    metrics: Metrics,
    last: Moment,
}

pub fn start(observer: &Observer, coverages: &Arc<Coverages>, metrics: &Metrics, tasks: &mut JoinSet<()>) {
    let observation = Observation {
        observer: observer.clone(),
        coverages: Arc::clone(coverages),
        metrics: metrics.clone(),
        last: observer.leadership.state.now(),
    };
    tasks.spawn(observer.leadership.loops.clone().run(observation));
}

impl Periodic for Observation {
    const NAME: &'static str = "formations";
    const INTERVAL: Duration = Duration::from_millis(500);
    const EVEN_IN_DOUBT: bool = true;

    async fn run(&mut self) -> Result<(), ApiError> {
        let now = self.observer.leadership.state.now();
        observe_all(&self.observer, &self.coverages, &self.metrics, (self.last, now));
        self.last = now;
        Ok(())
    }
}

fn observe_all(observer: &Observer, coverages: &Coverages, metrics: &Metrics, (last, now): (Moment, Moment)) {
    let world = observer.world();
    let reported = |node: &NodeName| observer.reported(node);
    let mut all = coverages.lock();
    let mut before = std::mem::take(&mut *all);
    for swarm in world.all_swarms() {
        let Some(Ok(slots)) = slots(&swarm, observer.airspace.rules()) else {
            continue;
        };
        let swarm_uid = uid(swarm.as_ref());
        let mut coverage = before.remove(swarm_uid).unwrap_or_default();
        let drones = world.drones_of_swarm(swarm_uid);
        let tolerance = tolerance(swarm.spec.formation.as_ref(), observer.airspace.rules().tolerance);
        let change = observe(
            &mut coverage,
            (&slots, tolerance),
            &drones,
            (&observer.airspace, reported),
            now,
        );
        metrics.covered(coverage.uncovered(), now.since(last), &change.gaps);
        if change.is_news {
            observer.cluster.wakes.swarms.wake(Key::of(swarm.as_ref()));
        }
        all.insert(swarm_uid.to_owned(), coverage);
    }
}

/// Updates the coverage of `slots` by the positions of these Drones' vehicles.
fn observe(
    coverage: &mut Coverage,
    (slots, tolerance): (&[Station], Tolerance),
    drones: &[Arc<Drone>],
    (airspace, reported): (&Airspace, impl Fn(&NodeName) -> Option<(Arc<Report>, Moment)>),
    now: Moment,
) -> Change {
    let near = |drone: &Arc<Drone>| {
        let slot = slot(drone)?;
        let node = NodeName::parse(drone.spec.node_name.as_deref()?).ok()?;
        let (report, received) = reported(&node)?;
        // A vehicle on the ground covers nothing, and one that flies for another Drone is not its own.
        let flies = report.truth.flying() == Some(true);
        let is_its = report
            .held
            .as_ref()
            .is_some_and(|held| held.uid.0 == uid(drone.as_ref()));
        (flies && is_its).then_some(Near {
            uid: DroneUid(uid(drone.as_ref()).to_owned()),
            off: airspace.off(&node, &report, slots.get(slot)?)?,
            slot,
            at: position_time(&report, received),
        })
    };
    let near: Vec<Near> = drones.iter().filter_map(near).collect();
    coverage.observe(slots.len(), &near, tolerance, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::drone::AltitudeReference;

    fn swarm(formation: serde_json::Value, replicas: i32) -> Swarm {
        let spec = json!({"replicas": replicas, "formation": formation});
        Swarm::new("alpha", serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn what_is_written_is_the_place_of_the_slot_and_reads_as_the_same() {
        let anchor = json!({"latitudeDegrees": 47.397_742, "longitudeDegrees": 8.545_594, "altitudeMeters": 20});
        let circle = json!({"shape": "Circle", "anchor": anchor, "spacingMeters": 20, "headingDegrees": 33});
        let of = SiteRules::default();
        let slots = slots(&swarm(circle, 7), &of).unwrap().unwrap();
        assert_eq!(slots.len(), 7);
        for slot in &slots {
            let written = written(slot);
            let text = serde_json::to_string(&written).unwrap();
            let drone = Drone::new(
                "d",
                crds::DroneSpec {
                    station: Some(serde_json::from_str(&text).unwrap()),
                    ..crds::DroneSpec::default()
                },
            );
            assert!(station(&drone, &of).unwrap().is_as(slot, STATION_EPSILON), "{text}");
            assert_eq!(written.altitude_reference, AltitudeReference::AboveHome);
        }
    }

    #[test]
    fn slots_have_to_be_as_far_apart_as_vehicles_can_hold() {
        let anchor = json!({"latitudeDegrees": 47.4, "longitudeDegrees": 8.5, "altitudeMeters": 20});
        let line = |spacing: f64| json!({"shape": "Line", "anchor": anchor, "spacingMeters": spacing});
        let why = slots(&swarm(line(8.0), 2), &SiteRules::default()).unwrap().unwrap_err();
        assert!(
            why.to_string()
                .starts_with("slots 0 and 1 are 8.0 m apart over ground and need 10.1 m"),
            "{why}"
        );
        assert!(slots(&swarm(line(8.0), 1), &SiteRules::default()).unwrap().is_ok());
        assert!(slots(&swarm(line(10.1), 2), &SiteRules::default()).unwrap().is_ok());
        let points = json!({"shape": "Points", "points": [anchor]});
        let why = slots(&swarm(points, 3), &SiteRules::default()).unwrap().unwrap_err();
        assert_eq!(
            why.to_string(),
            "3 replicas but 1 points; add points or lower spec.replicas"
        );
        assert!(slots(&Swarm::new("alpha", crds::SwarmSpec::default()), &SiteRules::default()).is_none());
    }
}
