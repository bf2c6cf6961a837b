//! The document that the map shows ([FEED.md](../../../map-page/FEED.md)).

use super::reading::ObjectsSnapshot;
use super::shapes;
use super::vehicles::{Vehicles, id};
use super::work::{self, Path, Paths, Place};
use crate::live::clock::Now;
use crate::live::fleet_feed::FleetSnapshot;
use crate::live::objects::Reading;
use crate::mission::state;
use crate::vehicle::printable;
use coordinator::controllers::airspace::SiteRules;
use coordinator::controllers::swarm::{formation, members};
use crds::drone::Station;
use crds::formation::{Formation, FormationShape, SlotStatus};
use crds::mission::TrackRange;
use crds::{Drone, Geofence, Mission, Swarm, labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use model::station::Altitude;
use proto::v1;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

#[derive(Debug, Clone, Default)]
pub struct About {
    pub coordinator: String,
    /// Empty without an API.
    pub objects_from: String,
    pub basemap: bool,
    pub swarm: Option<String>,
}

#[derive(Debug, Default)]
pub struct Documents {
    about: About,
    vehicles: Vehicles,
    /// Entries by uid, with the resourceVersion that they represent.
    made: HashMap<String, (String, Value)>,
    paths: Paths,
}

impl Documents {
    pub fn new(about: About) -> Self {
        Self {
            about,
            ..Self::default()
        }
    }

    pub fn next(&mut self, fleet: &FleetSnapshot, objects: &ObjectsSnapshot, now: Now) -> Value {
        let drones = by_name(&objects.drones);
        let swarm = self.about.swarm.as_ref();
        let shown: Vec<&v1::Vehicle> = fleet
            .vehicles
            .iter()
            .filter(|vehicle| swarm.is_none_or(|swarm| vehicle.swarm == *swarm))
            .collect();
        let received = fleet.received.unwrap_or(now.elapsed);
        let mut vehicles = self.vehicles.entries(&shown, received, now);
        for vehicle in &shown {
            let drone = drones.get(&(vehicle.drone_namespace.as_str(), vehicle.drone_name.as_str()));
            if let (Some(drone), Some(Value::Object(entry))) = (drone, vehicles.get_mut(&id(vehicle))) {
                of_drone(drone, entry);
            }
        }
        let made = std::mem::take(&mut self.made);
        let mut cache = Cache {
            before: made,
            now: HashMap::new(),
        };
        let document = json!({
            "about": self.about(fleet, now),
            "problems": problems(objects),
            "vehicles": vehicles,
            "swarms": cache.entries(&objects.swarms, |swarm| swarm_entry(swarm).into()),
            "missions": cache.entries(&objects.missions, |mission| mission_entry(mission, &mut self.paths)),
            "geofences": cache.entries(&objects.geofences, |fence| geofence_entry(fence).into()),
        });
        self.made = cache.now;
        self.paths.retain(|uid| self.made.contains_key(uid));
        document
    }

    fn about(&self, fleet: &FleetSnapshot, now: Now) -> Value {
        let mut about = json!({
            "coordinator": self.about.coordinator,
            "objectsFrom": self.about.objects_from,
            "basemap": self.about.basemap,
            "version": env!("CARGO_PKG_VERSION"),
        });
        if let Some(lost) = &fleet.lost {
            // To a second, as it is computed again each time.
            let ago = i64::try_from(now.since(lost.since).as_millis()).unwrap_or(i64::MAX);
            let at = (now.utc.as_millisecond() - ago + 500).div_euclid(1000) * 1000;
            about["coordinatorLost"] = json!({"sinceAtMs": at, "why": printable(&lost.why)});
        }
        about
    }
}

struct Entry {
    value: Value,
    /// Made anew for each document until then.
    is_whole: bool,
}

impl From<Value> for Entry {
    fn from(value: Value) -> Self {
        Self { value, is_whole: true }
    }
}

struct Cache {
    before: HashMap<String, (String, Value)>,
    now: HashMap<String, (String, Value)>,
}

impl Cache {
    fn entries<K: ResourceExt>(
        &mut self,
        objects: &Reading<Arc<Vec<K>>>,
        mut entry: impl FnMut(&K) -> Entry,
    ) -> Map<String, Value> {
        let all = objects.value().map(|all| all.as_slice()).unwrap_or_default();
        let mut entries = Map::new();
        for object in all {
            let (uid, version) = (
                object.uid().unwrap_or_default(),
                object.resource_version().unwrap_or_default(),
            );
            let made = self
                .before
                .remove(&uid)
                .filter(|(before, _)| !version.is_empty() && *before == version);
            let made = made.map_or_else(|| entry(object), |(_, made)| made.into());
            let name = object.namespace().map_or_else(
                || object.name_any(),
                |namespace| format!("{namespace}/{}", object.name_any()),
            );
            entries.insert(name, made.value.clone());
            let version = if made.is_whole { version } else { String::new() };
            self.now.insert(uid, (version, made.value));
        }
        entries
    }
}

fn by_name(drones: &Reading<Arc<Vec<Drone>>>) -> BTreeMap<(&str, &str), &Drone> {
    let all = drones.value().map(|all| all.as_slice()).unwrap_or_default();
    all.iter()
        .filter_map(|drone| {
            let meta = &drone.metadata;
            Some(((meta.namespace.as_deref()?, meta.name.as_deref()?), drone))
        })
        .collect()
}

fn problems(objects: &ObjectsSnapshot) -> Map<String, Value> {
    let all = [
        ("objects", &objects.none),
        ("drones", &objects.drones.problem),
        ("swarms", &objects.swarms.problem),
        ("missions", &objects.missions.problem),
        ("geofences", &objects.geofences.problem),
    ];
    all.into_iter()
        .filter_map(|(kind, problem)| Some((kind.to_owned(), json!(printable(problem.as_ref()?)))))
        .collect()
}

fn of_drone(drone: &Drone, entry: &mut Map<String, Value>) {
    if let Some(mission) = drone.labels().get(labels::MISSION) {
        let namespace = drone.namespace().unwrap_or_default();
        entry.insert("mission".to_owned(), json!(format!("{namespace}/{mission}")));
    }
    if let Some(station) = &drone.spec.station {
        let mut place = station_entry(station);
        if let Some(slot) = members::slot(drone) {
            place["slot"] = json!(slot);
        }
        entry.insert("station".to_owned(), place);
    }
}

fn station_entry(station: &Station) -> Value {
    json!({
        "latitudeDegrees": station.latitude_degrees,
        "longitudeDegrees": station.longitude_degrees,
        "altitudeMeters": station.altitude_meters,
        "altitudeReference": station.altitude_reference,
    })
}

fn condition<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == kind)
}

fn says(condition: Option<&Condition>) -> (String, String) {
    condition.map_or_else(Default::default, |found| {
        (printable(&found.reason), printable(&found.message))
    })
}

fn swarm_entry(swarm: &Swarm) -> Value {
    let (spec, status) = (&swarm.spec, swarm.status.clone().unwrap_or_default());
    let ready = condition(&status.conditions, "Ready");
    let mut entry = json!({
        "namespace": swarm.namespace().unwrap_or_default(),
        "name": swarm.name_any(),
        "replicas": spec.replicas,
        "flying": status.flying_drones,
        "ready": ready.is_some_and(|ready| ready.status == "True"),
        "message": says(ready).1,
        "grounded": spec.grounded,
    });
    if let Some(asked) = &spec.formation {
        entry["formation"] = formation_entry(swarm, asked, &status.slots, status.covered_slots);
    }
    entry
}

fn formation_entry(swarm: &Swarm, asked: &Formation, slots: &[SlotStatus], covered: Option<i32>) -> Value {
    let mut entry = json!({
        "shape": asked.shape,
        "movable": asked.shape != FormationShape::Points && asked.anchor.is_some(),
        "headingDegrees": asked.heading_degrees,
    });
    if let Some(anchor) = &asked.anchor {
        entry["anchor"] = station_entry(anchor);
    }
    if let Some(spacing) = asked.spacing_meters {
        entry["spacingMeters"] = json!(spacing);
    }
    if let Some(covered) = covered {
        entry["coveredSlots"] = json!(covered);
    }
    entry["slots"] = match slot_places(swarm) {
        Ok(places) => places
            .into_iter()
            .enumerate()
            .map(|(number, mut place)| {
                let status = slots
                    .iter()
                    .find(|slot| usize::try_from(slot.slot).is_ok_and(|slot| slot == number));
                place["slot"] = json!(number);
                place["covered"] = json!(status.is_some_and(|slot| slot.covered));
                if let Some(drone) = status.and_then(|slot| slot.drone.as_ref()) {
                    place["drone"] = json!(printable(drone));
                }
                if let Some(message) = status.and_then(|slot| slot.message.as_ref()) {
                    place["message"] = json!(printable(message));
                }
                place
            })
            .collect(),
        // The Swarm's conditions say why.
        Err(_) => json!([]),
    };
    entry
}

/// Places by the usual rules of a site.
pub(super) fn slot_places(swarm: &Swarm) -> Result<Vec<Value>, String> {
    let stations = formation::slots(swarm, &SiteRules::default()).transpose();
    let stations = stations.map_err(|why| why.to_string())?.unwrap_or_default();
    let place = |station: &model::station::Station| {
        let place = station.place();
        let (altitude, reference) = match place.altitude {
            Altitude::AboveHome(height) => (height.0, "AboveHome"),
            Altitude::Amsl(height) => (height.0, "AboveMeanSeaLevel"),
        };
        json!({
            "latitudeDegrees": super::vehicles::fine(place.at.latitude_deg),
            "longitudeDegrees": super::vehicles::fine(place.at.longitude_deg),
            "altitudeMeters": altitude,
            "altitudeReference": reference,
        })
    };
    Ok(stations.iter().map(place).collect())
}

fn mission_entry(mission: &Mission, paths: &mut Paths) -> Entry {
    let (spec, status) = (&mission.spec, mission.status.clone().unwrap_or_default());
    let (state, condition) = state(&status);
    let (reason, message) = says(condition);
    let what = match (&spec.route, &spec.survey) {
        (Some(_), _) => "route",
        (None, Some(_)) => "survey",
        (None, None) => "plan",
    };
    let mut entry = json!({
        "namespace": mission.namespace().unwrap_or_default(),
        "name": mission.name_any(),
        "what": what,
        "state": state,
        "reason": reason,
        "message": message,
        "vehicles": status.vehicles,
        "completed": status.completed,
        "completions": spec.completions,
        "failures": status.failures,
    });
    if let Some(done) = &status.done {
        entry["done"] = json!(printable(done));
    }
    // Estimates are stale once the Mission has ended.
    let over = matches!(state, "Complete" | "Failed" | "Stalled");
    if let Some(at) = status.estimated_completion_time.as_ref().filter(|_| !over) {
        entry["estimatedCompletionAtMs"] = json!(at.0.as_millisecond());
    }
    if let Some(survey) = &spec.survey {
        entry["area"] = shapes::survey(&survey.area);
    }
    let path = paths.path(mission);
    if let Path::Known(path) = &path {
        let parts = &status.parts;
        let flown = status.flown.iter().chain(parts.iter().flat_map(|part| &part.flown));
        entry["flown"] = work::lines(path, flown.copied());
        let of = |ranges: &[TrackRange]| work::lines(path, ranges.iter().copied());
        entry["parts"] = parts
            .iter()
            .map(|part| (printable(&part.drone), of(&part.ranges)))
            .collect::<Map<_, _>>()
            .into();
        let places: &[Place] = path;
        entry["path"] = json!({"type": "LineString", "coordinates": places});
    }
    Entry {
        value: entry,
        is_whole: !matches!(path, Path::Awaited),
    }
}

fn geofence_entry(fence: &Geofence) -> Value {
    let (spec, status) = (&fence.spec, fence.status.clone().unwrap_or_default());
    let (reason, message) = says(condition(&status.conditions, "InForce"));
    let mut entry = json!({
        "name": fence.name_any(),
        "breach": spec.breach,
        "reason": reason,
        "message": message,
        "include": spec.include.iter().map(shapes::fence).collect::<Vec<_>>(),
        "exclude": spec.exclude.iter().map(shapes::fence).collect::<Vec<_>>(),
    });
    let mut set = |name: &str, value: Value| {
        if !value.is_null() {
            entry[name] = value;
        }
    };
    set("ceilingMeters", json!(spec.ceiling_meters));
    set("floorMeters", json!(spec.floor_meters));
    set("selected", json!(status.selected));
    set("inForce", json!(status.in_force));
    entry
}
