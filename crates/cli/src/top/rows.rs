//! The rows of each list, from the fleet and from objects. Must not: show an old figure without its age, or draw.

mod missions;

use super::objects::{ObjectRef, ObjectsSnapshot};
use crate::args::Filter;
use crate::live::clock::Now;
use crate::live::fleet_feed::FleetSnapshot;
use crate::orders::Whom;
use crate::table::{Tone, battery_tone, flying_tone, meters, or_dash, phase_tone};
use crate::vehicle::{Vehicle, age_text, aged, printable};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

/// Agents report at least once a second, so a longer silence with connected agents is a dead connection.
const SILENT_AFTER: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum List {
    Drones,
    Swarms,
    Vehicles,
    Missions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    pub name: &'static str,
    /// Sorts by this column, with shift.
    pub key: char,
    /// Columns of high rank are left out first; 0 stays.
    pub spare: u8,
}

const fn column(name: &'static str, key: char, spare: u8) -> Column {
    Column { name, key, spare }
}

/// Last column of each list; takes the remaining room.
pub const MESSAGE: Column = column("MESSAGE", ' ', 0);

const DRONES: &[Column] = &[
    column("NAMESPACE", 'S', 3),
    column("DRONE", 'N', 0),
    column("NODE", 'O', 4),
    column("PHASE", 'P', 0),
    column("FLYING", 'F', 0),
    column("MODE", 'M', 5),
    column("BATTERY", 'B', 0),
    column("ALTITUDE", 'A', 0),
];

const SWARMS: &[Column] = &[
    column("NAMESPACE", 'S', 3),
    column("SWARM", 'N', 0),
    column("DESIRED", 'D', 0),
    column("DRONES", 'C', 4),
    column("FLYING", 'F', 0),
    column("UNKNOWN", 'U', 0),
    column("COVERED", 'V', 5),
    column("GROUNDED", 'G', 0),
    column("READY", 'R', 0),
    column("AGE", 'A', 6),
];

const VEHICLES: &[Column] = &[
    column("NODE", 'N', 0),
    column("AUTOPILOT", 'T', 4),
    column("FIRMWARE", 'V', 6),
    column("FLYING", 'F', 0),
    column("BATTERY", 'B', 0),
    column("FREE", 'E', 0),
    column("REASON", 'R', 3),
    column("FLIGHTS", 'L', 7),
    column("DRONE", 'D', 5),
];

impl List {
    pub const fn columns(self) -> &'static [Column] {
        match self {
            Self::Drones => DRONES,
            Self::Swarms => SWARMS,
            Self::Vehicles => VEHICLES,
            Self::Missions => missions::COLUMNS,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKey {
    Drone(String, String),
    Swarm(String, String),
    /// Node, and the name of its object if there is one.
    Vehicle(String, Option<String>),
    Mission(String, String),
}

impl RowKey {
    pub fn object(&self) -> Option<ObjectRef> {
        let of = |kind, namespace: &str, name: &str| ObjectRef {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        match self {
            Self::Drone(namespace, name) => Some(of("Drone", namespace, name)),
            Self::Swarm(namespace, name) => Some(of("Swarm", namespace, name)),
            Self::Vehicle(_, Some(name)) => Some(of("Vehicle", "", name)),
            Self::Vehicle(_, None) => None,
            Self::Mission(namespace, name) => Some(of("Mission", namespace, name)),
        }
    }

    /// `None`: order its Drones one by one.
    pub fn whom(&self) -> Option<Whom> {
        Some(match self.clone() {
            Self::Drone(namespace, name) => Whom::Drone(namespace, name),
            Self::Swarm(namespace, name) => Whom::Swarm(namespace, name),
            Self::Vehicle(node, _) => Whom::Node(node),
            Self::Mission(..) => return None,
        })
    }

    pub fn title(&self) -> String {
        match self {
            Self::Drone(namespace, name) | Self::Swarm(namespace, name) | Self::Mission(namespace, name) => {
                format!("{namespace}/{name}")
            }
            Self::Vehicle(node, _) => format!("node {node}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub text: String,
    pub tone: Tone,
    /// Sort key; rows without one come last.
    number: Option<f64>,
}

fn plain(text: impl Into<String>) -> Cell {
    toned(text, Tone::Plain)
}

fn toned(text: impl Into<String>, tone: Tone) -> Cell {
    let (text, number) = (text.into(), None);
    Cell { text, tone, number }
}

fn number(value: Option<f64>, text: impl FnOnce(f64) -> String) -> Cell {
    Cell {
        text: value.map_or_else(|| "-".to_owned(), text),
        tone: Tone::Plain,
        number: value,
    }
}

fn count(value: Option<i64>) -> Cell {
    #[allow(clippy::cast_precision_loss, reason = "counts of vehicles and flights")]
    number(value.map(|value| value as f64), |value| format!("{value:.0}"))
}

#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    pub key: RowKey,
    pub cells: Vec<Cell>,
    pub message: String,
    pub drones: Vec<(String, String)>,
}

impl Row {
    pub fn has(&self, vehicle: &Vehicle) -> bool {
        let is = |(namespace, name): &(String, String)| *namespace == vehicle.namespace && *name == vehicle.drone;
        self.drones.iter().any(is)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    pub column: usize,
    pub reversed: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub fleet: &'a FleetSnapshot,
    pub objects: &'a ObjectsSnapshot,
    pub filter: &'a Filter,
    pub now: Now,
}

impl Source<'_> {
    /// Age of the last message if the coordinator is away, or silent with connected agents; `None` while fresh.
    pub fn stale(&self) -> Option<Duration> {
        let age = self.now.since(self.fleet.received?);
        let connected = || self.fleet.vehicles.iter().any(|vehicle| vehicle.agent_connected);
        (self.fleet.lost.is_some() || (age > SILENT_AFTER && connected())).then_some(age)
    }

    /// Marks values that have become old since their reception.
    pub fn vehicles(&self) -> Vec<Vehicle> {
        let (stale, mut shown) = (self.stale().is_some(), Vec::new());
        for vehicle in self.raw() {
            let vehicle = self.aged(vehicle, stale);
            let wanted = self.filter.namespace.as_ref().is_none_or(|n| *n == vehicle.namespace)
                && self.filter.swarm.as_ref().is_none_or(|s| *s == vehicle.swarm);
            if wanted {
                shown.push(vehicle);
            }
        }
        shown
    }

    pub fn raw(&self) -> impl Iterator<Item = &proto::v1::Vehicle> {
        self.fleet.vehicles.iter()
    }

    pub fn aged(&self, vehicle: &proto::v1::Vehicle, stale: bool) -> Vehicle {
        let since = self.fleet.received.map_or(Duration::MAX, |at| self.now.since(at));
        let since = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let mut vehicle = vehicle.clone();
        vehicle.report_age_ms = vehicle.report_age_ms.saturating_add(since);
        let mut vehicle = Vehicle::from(vehicle);
        if stale && !vehicle.node.is_empty() {
            vehicle.phase = format!("was {}", vehicle.phase);
        }
        vehicle
    }

    pub fn rows(&self, list: List) -> Vec<Row> {
        match list {
            List::Drones => self
                .vehicles()
                .iter()
                .filter(|v| !v.drone.is_empty())
                .map(drone)
                .collect(),
            List::Swarms => self.swarms(),
            List::Vehicles => self.inventory(),
            List::Missions => self.missions(),
        }
    }

    fn swarms(&self) -> Vec<Row> {
        let vehicles = self.vehicles();
        let mut drones: BTreeMap<(String, String), Vec<&Vehicle>> = BTreeMap::new();
        for vehicle in vehicles.iter().filter(|vehicle| !vehicle.swarm.is_empty()) {
            let key = (vehicle.namespace.clone(), vehicle.swarm.clone());
            drones.entry(key).or_default().push(vehicle);
        }
        let objects = self
            .objects
            .swarms
            .value()
            .map(|list| list.as_slice())
            .unwrap_or_default();
        let objects: BTreeMap<(String, String), &crds::Swarm> = objects
            .iter()
            .map(|swarm| ((swarm.namespace().unwrap_or_default(), swarm.name_any()), swarm))
            .collect();
        // Without its object, the labels of a Swarm without Drones are unknown.
        let alone = self.filter.selector.is_none();
        let mut keys: BTreeSet<&(String, String)> = drones.keys().collect();
        keys.extend(objects.keys().filter(|(namespace, name)| {
            alone
                && self.filter.swarm.as_ref().is_none_or(|swarm| swarm == name)
                && self.filter.namespace.as_ref().is_none_or(|wanted| wanted == namespace)
        }));
        keys.into_iter()
            .map(|key| {
                let members = drones.get(key).map(Vec::as_slice).unwrap_or_default();
                self.swarm(key, members, objects.get(key).copied())
            })
            .collect()
    }

    fn swarm(&self, (namespace, name): &(String, String), members: &[&Vehicle], object: Option<&crds::Swarm>) -> Row {
        let of = |wanted: Option<bool>| members.iter().filter(|vehicle| vehicle.flying == wanted).count();
        let total = |n: usize| count(i64::try_from(n).ok());
        let status = object.and_then(|object| object.status.as_ref());
        let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
        let ready = conditions.iter().find(|condition| condition.type_ == "Ready");
        let unknown = of(None);
        let grounded = object.map_or("-", |object| if object.spec.grounded { "yes" } else { "no" });
        let created = object.and_then(|object| object.metadata.creation_timestamp.as_ref());
        let age = created.map(|at| seconds_since(self.now, at.0));
        Row {
            key: RowKey::Swarm(namespace.clone(), name.clone()),
            cells: vec![
                plain(namespace.clone()),
                plain(name.clone()),
                count(object.map(|object| object.spec.replicas.into())),
                total(members.len()),
                total(of(Some(true))),
                Cell {
                    tone: if unknown > 0 { Tone::Bad } else { Tone::Plain },
                    ..total(unknown)
                },
                count(status.and_then(|status| status.covered_slots).map(Into::into)),
                toned(grounded, if grounded == "yes" { Tone::Waiting } else { Tone::Plain }),
                condition_cell(ready),
                number(age, age_of),
            ],
            message: match (ready, object) {
                (Some(ready), _) => printable(&ready.message),
                (None, Some(_)) => "the coordinator has not said anything of it yet".to_owned(),
                (None, None) => String::new(),
            },
            drones: Vec::new(),
        }
    }

    fn inventory(&self) -> Vec<Row> {
        let vehicles = self.vehicles();
        let objects = self
            .objects
            .vehicles
            .value()
            .map(|list| list.as_slice())
            .unwrap_or_default();
        let mut of_node: HashMap<&str, Vec<&crds::Vehicle>> = HashMap::new();
        for object in objects {
            of_node.entry(&object.spec.node_name).or_default().push(object);
        }
        let mut rows = Vec::new();
        let mut shown = HashSet::new();
        for vehicle in vehicles.iter().filter(|vehicle| !vehicle.node.is_empty()) {
            let mut candidates = of_node.get(vehicle.node.as_str()).into_iter().flatten().copied();
            let object = candidates.find(|object| is_of(object, vehicle));
            if let Some(object) = object {
                shown.insert(object.name_any());
            }
            rows.push(aircraft(&vehicle.node, Some(vehicle), object));
        }
        // Vehicles of agents that are away; none of another namespace.
        let all = self.filter.namespace.is_none() && self.filter.swarm.is_none() && self.filter.selector.is_none();
        let away = objects
            .iter()
            .filter(|object| all && !shown.contains(&object.name_any()));
        rows.extend(away.map(|object| aircraft(&printable(&object.spec.node_name), None, Some(object))));
        rows.sort_by(|a, b| a.key.cmp(&b.key));
        rows
    }
}

/// Whether the object is of the airframe that the node's agent receives now.
fn is_of(object: &crds::Vehicle, vehicle: &Vehicle) -> bool {
    let same = match (&object.spec.hardware_uid, &vehicle.hardware_uid) {
        (Some(of_object), Some(heard)) => of_object == heard,
        (None, Some(_)) => false,
        (_, None) => true,
    };
    object.spec.node_name == vehicle.node && same
}

fn drone(v: &Vehicle) -> Row {
    let battery = number(v.battery_percent.map(f64::from), |percent| {
        aged(&format!("{percent:.0}%"), v.battery_age_ms)
    });
    let height = v.position.as_ref().map(|p| p.altitude_above_home_meters);
    Row {
        key: RowKey::Drone(v.namespace.clone(), v.drone.clone()),
        cells: vec![
            plain(v.namespace.clone()),
            plain(v.drone.clone()),
            plain(or_dash(&v.node)),
            toned(v.phase.clone(), phase_tone(&v.phase)),
            toned(v.flying_text(), flying_tone(v)),
            plain(v.mode.clone().unwrap_or_else(|| "-".to_owned())),
            Cell {
                tone: battery_tone(v),
                ..battery
            },
            number(height, |height| aged(&meters(height), v.position_age_ms)),
        ],
        message: v.message.clone(),
        drones: vec![(v.namespace.clone(), v.drone.clone())],
    }
}

fn aircraft(node: &str, live: Option<&Vehicle>, object: Option<&crds::Vehicle>) -> Row {
    let status = object.and_then(|object| object.status.as_ref());
    let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
    let free = conditions.iter().find(|condition| condition.type_ == "Free");
    let known = |live: Option<String>, object: Option<String>| {
        let text = live.or(object).filter(|text| !text.is_empty());
        plain(printable(&text.unwrap_or_else(|| "-".to_owned())))
    };
    let battery = live.and_then(|live| live.battery_percent.map(|percent| (percent, live)));
    let flying = match live {
        Some(live) => toned(live.flying_text(), flying_tone(live)),
        None => toned("unknown", Tone::Bad),
    };
    let serves = live.filter(|live| !live.drone.is_empty());
    let message = match (free, live) {
        (Some(free), _) => printable(&free.message),
        (None, Some(live)) => live.message.clone(),
        (None, None) => String::new(),
    };
    Row {
        key: RowKey::Vehicle(node.to_owned(), object.map(ResourceExt::name_any)),
        cells: vec![
            plain(node),
            known(
                live.and_then(|live| live.autopilot.clone()),
                status.map(|s| s.autopilot.clone()),
            ),
            known(
                live.and_then(|live| live.firmware.clone()),
                status.and_then(|s| s.firmware.clone()),
            ),
            flying,
            Cell {
                tone: live.map_or(Tone::Plain, battery_tone),
                ..number(battery.map(|(percent, _)| percent.into()), |percent| {
                    aged(
                        &format!("{percent:.0}%"),
                        battery.and_then(|(_, live)| live.battery_age_ms),
                    )
                })
            },
            condition_cell(free),
            plain(free.map_or_else(|| "-".to_owned(), |free| printable(&free.reason))),
            count(status.map(|status| status.flights)),
            known(
                serves.map(Vehicle::title),
                status.and_then(|status| status.drone.clone()),
            ),
        ],
        message,
        drones: serves
            .map(|live| (live.namespace.clone(), live.drone.clone()))
            .into_iter()
            .collect(),
    }
}

fn condition_cell(condition: Option<&Condition>) -> Cell {
    match condition.map(|condition| condition.status.as_str()) {
        Some("True") => toned("yes", Tone::Good),
        Some("False") => toned("no", Tone::Waiting),
        Some(_) => toned("unknown", Tone::Bad),
        None => plain("-"),
    }
}

pub fn seconds_since(now: Now, then: jiff::Timestamp) -> f64 {
    now.utc.duration_since(then).as_secs_f64().max(0.0)
}

pub fn age_of(seconds: f64) -> String {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "never negative; a cast saturates"
    )]
    age_text((seconds * 1000.0) as u64)
}

/// Filters by `find`, in any case; with `!` before it, inversely.
pub fn keep(rows: &mut Vec<Row>, find: &str) {
    let (find, inverse) = match find.strip_prefix('!') {
        Some(rest) => (rest, true),
        None => (find, false),
    };
    if find.is_empty() {
        return;
    }
    let find = find.to_lowercase();
    rows.retain(|row| {
        let fields = row.cells.iter().map(|cell| cell.text.as_str());
        let found = fields
            .chain([row.message.as_str()])
            .any(|text| text.to_lowercase().contains(&find));
        found != inverse
    });
}

/// Stable. Rows without a figure come last either way.
pub fn sort(rows: &mut [Row], order: Order) {
    rows.sort_by(|a, b| {
        let (Some(a), Some(b)) = (a.cells.get(order.column), b.cells.get(order.column)) else {
            return Ordering::Equal;
        };
        let turned = |ordering: Ordering| if order.reversed { ordering.reverse() } else { ordering };
        match (a.number, b.number) {
            (Some(a), Some(b)) => turned(a.total_cmp(&b)),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => turned(natural(&a.text, &b.text)),
        }
    });
}

/// `drone-2` before `drone-10`.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (Some(first), Some(second)) = (a.chars().next(), b.chars().next()) else {
            return a.len().cmp(&b.len());
        };
        if first.is_ascii_digit() && second.is_ascii_digit() {
            let split = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            let ((x, rest_a), (y, rest_b)) = (a.split_at(split(a)), b.split_at(split(b)));
            let (x, y) = (x.trim_start_matches('0'), y.trim_start_matches('0'));
            let ordering = x.len().cmp(&y.len()).then_with(|| x.cmp(y));
            if ordering != Ordering::Equal {
                return ordering;
            }
            (a, b) = (rest_a, rest_b);
        } else {
            if first != second {
                return first.cmp(&second);
            }
            (a, b) = (&a[first.len_utf8()..], &b[second.len_utf8()..]);
        }
    }
}
