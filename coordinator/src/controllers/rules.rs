//! Rules on board: Geofences and ParameterProfiles, brought to the agents, and the result.
//!
//! Owns: reconciling all vehicles, what is sent to agents and named in their orders ([`crate::controllers::node_rules`]), the statuses of
//! the objects, Events, and a record of each flight. Must not: compile ([`fleet::planning::geofence`], [`fleet::planning::parameters`]) or
//! count on anything that an agent did not report.

mod aboard;
pub mod flight;
mod made;
pub mod objects;
pub mod plan;
pub mod readable;
mod shown;
pub mod status;
mod troubles;
pub mod writes;

use crate::cluster::api::{self, ApiError};
use crate::cluster::events::{FLIGHT, Note};
use crate::cluster::watching;
use crate::controllers::facts::Observer;
use crate::controllers::node_rules::Counts;
use crate::controllers::vehicle::next::name;
use crate::controllers::vehicle::whose::{Airframes, served};
use crate::leadership::leading::Leadership;
use crate::leadership::periodic::Periodic;
use crds::{Geofence, ParameterProfile, Vehicle, labels};
use fleet::planning::parameters::Variables;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ListParams};
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher;
use kube::{Resource, ResourceExt};
use model::ids::{DroneName, NodeName};
use model::rules::RulesDigest;
use objects::{Cache, Fence, Objects, Values};
use plan::{Memories, Outcome, Subject, plan};
use readable::Readable;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;
use troubles::Troubles;
use writes::Writes;

/// A leader begins no change of values before all vehicles are heard that were heard before it, and at the latest after this long.
const HEAR_ALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Memory of a vehicle beside its [`plan::Memory`].
#[derive(Default)]
struct Followed {
    flight: flight::Followed,
    reported: Troubles,
    in_force: Option<RulesDigest>,
}

struct Controller {
    observer: Observer,
    vehicles: Store<Vehicle>,
    airframes: Airframes,
    geofences: Store<Readable<Geofence>>,
    profiles: Store<Readable<ParameterProfile>>,
    fences: Cache<Fence>,
    values: Cache<Values>,
    memories: Memories,
    followed: HashMap<NodeName, Followed>,
    writes: Writes,
    began: Option<Instant>,
    hears_all: bool,
}

/// `vehicles` is the inventory, known by `airframes`.
pub fn start(observer: &Observer, (vehicles, airframes): (Store<Vehicle>, Airframes), tasks: &mut JoinSet<()>) {
    let Leadership { ending, loops, .. } = observer.leadership.clone();
    let controller = Controller {
        observer: observer.clone(),
        vehicles,
        airframes,
        geofences: watch(observer, tasks),
        profiles: watch(observer, tasks),
        fences: Cache::default(),
        values: Cache::default(),
        memories: Memories::default(),
        followed: HashMap::new(),
        writes: Writes::default(),
        began: None,
        hears_all: false,
    };
    tasks.spawn(async move {
        if ending.run_until_cancelled(controller.filled()).await.is_some() {
            loops.run(controller).await;
        }
    });
}

impl Periodic for Controller {
    const NAME: &'static str = "rules";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self) -> Result<(), ApiError> {
        self.reconcile();
        self.writes.begin(&self.observer);
        Ok(())
    }

    async fn woken(&mut self) {
        self.writes.go_on(&self.observer).await;
    }
}

/// Watches a cluster-scoped kind.
pub(super) fn watch<K>(observer: &Observer, tasks: &mut JoinSet<()>) -> Store<K>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    let writer = Writer::<K>::default();
    let store = writer.as_reader();
    let api = Api::<K>::all(observer.cluster.client());
    let config = watcher::Config::default().timeout(watching::WATCH_SECONDS);
    let ending = observer.leadership.ending.clone();
    tasks.spawn(watching::follow(api, config, Some(writer), ending, |_| {}));
    store
}

impl Controller {
    /// Done when all objects are known. A kind that is not installed has none.
    async fn filled(&self) {
        let client = || self.observer.cluster.client();
        filled(&self.geofences, Api::all(client())).await;
        filled(&self.profiles, Api::all(client())).await;
        filled(&self.vehicles, Api::all(client())).await;
    }

    fn reconcile(&mut self) {
        let (now, wall) = (Instant::now(), Timestamp::now());
        let objects = Objects {
            fences: self.fences.all(&self.geofences.state(), Fence::read),
            profiles: self.values.all(&self.profiles.state(), Values::read),
        };
        let subjects = self.subjects(now);
        let known: HashSet<&NodeName> = subjects.iter().map(|(subject, _)| &subject.node).collect();
        self.memories.keep(|node| known.contains(node));
        self.followed.retain(|node, _| known.contains(node));
        let (subjects, drones): (Vec<Subject>, Vec<Option<DroneName>>) = subjects.into_iter().unzip();
        let began = *self.began.get_or_insert(now);
        self.hears_all |= now.duration_since(began) >= HEAR_ALL_TIMEOUT || !subjects.iter().any(Subject::is_awaited);
        let term = self.observer.leadership.term;
        let when = (wall.as_second(), self.hears_all);
        let outcomes = plan(&objects, &subjects, &mut self.memories, term, when);
        for (subject, outcome) in subjects.iter().zip(&outcomes) {
            if let Some(rules) = &outcome.send
                && self.observer.sessions.send_rules(&subject.node, rules)
            {
                tracing::info!(node = %subject.node, vehicle = subject.name, digest = %rules.digest, "rules sent to the agent");
            }
        }
        self.show(&objects, &subjects, &outcomes, &drones);
        self.observer.cluster.acted_on.put("rules", objects.versions());
        for ((subject, outcome), drone) in subjects.iter().zip(&outcomes).zip(&drones) {
            self.publish(&objects, (subject, outcome), drone.as_ref(), wall);
        }
        let vehicles: Vec<(&Subject, &Outcome)> = subjects.iter().zip(&outcomes).collect();
        self.write_statuses(&objects, &vehicles, now, wall);
    }

    /// Every vehicle that is connected, and every one of the inventory that is not another airframe on the wire of a connected one.
    fn subjects(&self, now: Instant) -> Vec<(Subject, Option<DroneName>)> {
        let mut silent: HashMap<String, Vec<Arc<Vehicle>>> = HashMap::new();
        for vehicle in self.vehicles.state() {
            silent.entry(vehicle.spec.node_name.clone()).or_default().push(vehicle);
        }
        let sessions = &self.observer.sessions;
        let connected: Vec<NodeName> = sessions.connected().into_iter().map(|(node, _)| node).collect();
        let here: HashSet<&NodeName> = connected.iter().collect();
        self.airframes.keep(|node| here.contains(node));
        let mut all = Vec::new();
        for node in &connected {
            let report = sessions.current(node).filter(|report| report.identity.is_some());
            let airframe = self.airframes.of(node, report.as_deref(), now);
            let object = airframe.map(|airframe| name(node.as_str(), airframe));
            // Other airframes that were heard on its wire are not there now.
            let known = silent.remove(node.as_str()).unwrap_or_default();
            let vehicle = known
                .into_iter()
                .find(|vehicle| object.as_ref() == Some(&vehicle.name_any()));
            let name = object.clone().unwrap_or_else(|| node.to_string());
            all.push(self.subject(node, name, vehicle, report, object.is_some()));
        }
        for vehicle in silent.into_values().flatten() {
            if let Ok(node) = NodeName::parse(&vehicle.spec.node_name) {
                all.push(self.subject(&node, vehicle.name_any(), Some(vehicle), None, true));
            }
        }
        all
    }

    fn subject(
        &self,
        node: &NodeName,
        name: String,
        object: Option<Arc<Vehicle>>,
        report: Option<Arc<model::report::Report>>,
        identified: bool,
    ) -> (Subject, Option<DroneName>) {
        let world = self.observer.world();
        let facts = world.node_facts(node);
        let labels = objects::labels(
            object.as_deref().map(ResourceExt::labels),
            facts.as_deref().map(|facts| &facts.labels),
        );
        let (drones, claim) = (world.drones_on(node), world.claim(node.as_str()));
        let drone = served(&drones, claim.as_ref().map(|claim| claim.uid.as_str()));
        let number = |text: Option<&String>| text.and_then(|text| text.parse().ok());
        let identity = report.as_ref().and_then(|report| report.identity.as_ref());
        let subject = Subject {
            node: node.clone(),
            name,
            variables: Variables {
                slot: number(drone.and_then(|drone| drone.labels().get(labels::SLOT))),
                number: number(labels.get(labels::NUMBER)),
                system_id: identity.map(|identity| identity.system.0),
            },
            labels,
            serves: drone.is_some(),
            identified,
            report,
            object,
        };
        let drone = drone.map(|drone| DroneName {
            namespace: drone.namespace().unwrap_or_default(),
            name: drone.name_any(),
        });
        (subject, drone)
    }

    /// Publishes to the other controllers, and wakes those whom a change concerns.
    fn show(&self, objects: &Objects, subjects: &[Subject], outcomes: &[Outcome], drones: &[Option<DroneName>]) {
        let all = subjects.iter().zip(outcomes).zip(drones);
        let nodes = all.map(|(of, drone)| (of.0.node.clone(), shown::of_node(objects, of, drone.as_ref())));
        for node in self.observer.rules.update(nodes.collect(), !objects.is_empty()) {
            self.observer.cluster.wakes.nodes.wake(node.clone());
            self.observer.world().wake_drones_on(&node);
        }
    }

    /// Events about changes on a vehicle, and the record of a flight that has ended.
    fn publish(&mut self, objects: &Objects, of: (&Subject, &Outcome), drone: Option<&DroneName>, wall: Timestamp) {
        let (subject, outcome) = of;
        let followed = self.followed.entry(subject.node.clone()).or_default();
        let object = self.vehicles.get(&ObjectRef::new(&subject.name));
        let record = |note: Note| {
            if let Some(vehicle) = object.as_deref() {
                self.observer
                    .cluster
                    .events
                    .record_about(vehicle.object_ref(&()), None, note);
            }
        };
        let (flight, ended) = flight::follow(std::mem::take(&mut followed.flight), objects, of, drone, wall);
        followed.flight = flight;
        if let Some(flight) = ended {
            let words = flight.words(wall);
            tracing::info!(
                vehicle = subject.name,
                node = %subject.node,
                drone = flight.drone.as_ref().map(ToString::to_string),
                hardware = flight.hardware,
                firmware = flight.firmware,
                rules = flight.digest.as_ref().map(RulesDigest::words),
                observed = flight.observed,
                in_force = flight.in_force,
                objects = flight.objects.join("; "),
                took_off = %flight.took_off,
                landed = %wall,
                "flight record"
            );
            record(Note::normal(FLIGHT, words));
        }
        let Some(report) = &subject.report else { return };
        for (reason, text) in followed.reported.news(&report.rules) {
            tracing::warn!(vehicle = subject.name, node = %subject.node, reason, text, "rules are not in force");
            record(Note::warning(reason, text));
        }
        let in_force = outcome.is_selected() && report.rules.in_force && outcome.is_held(report);
        let digest = report.rules.held.clone().filter(|_| in_force);
        if digest.is_some() && digest != followed.in_force {
            record(Note::normal(
                "RulesInForce",
                "its fence and its parameters were read back as they are to be",
            ));
        }
        followed.in_force = digest;
    }

    fn write_statuses(&mut self, objects: &Objects, vehicles: &[(&Subject, &Outcome)], now: Instant, wall: Timestamp) {
        let (mut fences, mut profiles) = (Counts::default(), Counts::default());
        for (place, fence) in objects.fences.iter().enumerate() {
            let Some(object) = self.geofences.get(&ObjectRef::new(&fence.name)) else {
                continue;
            };
            let (old, conditions) = match &*object {
                Readable::Read(object) => {
                    let old = object.status.as_ref();
                    (old, old.map(|old| &old.conditions[..]).unwrap_or_default())
                }
                Readable::Unread(unread) => (None, &unread.conditions[..]),
            };
            let (status, counts) = status::of_fence((place, fence), vehicles, conditions, wall);
            fences.add(counts);
            if conditions != status.conditions || matches!(&*object, Readable::Read(_)) {
                self.writes.offer(&*object, (old, conditions), &status, now);
            }
        }
        for (place, values) in objects.profiles.iter().enumerate() {
            let Some(object) = self.profiles.get(&ObjectRef::new(&values.profile.name)) else {
                continue;
            };
            let (old, conditions) = match &*object {
                Readable::Read(object) => {
                    let old = object.status.as_ref();
                    (old, old.map(|old| &old.conditions[..]).unwrap_or_default())
                }
                Readable::Unread(unread) => (None, &unread.conditions[..]),
            };
            let (status, counts) = status::of_profile((place, values), vehicles, conditions, wall);
            profiles.add(counts);
            if conditions != status.conditions || matches!(&*object, Readable::Read(_)) {
                self.writes.offer(&*object, (old, conditions), &status, now);
            }
        }
        let counts = [("Geofence", fences), ("ParameterProfile", profiles)];
        self.observer.rules.count(BTreeMap::from(counts));
    }
}

/// Done when `store` is filled, or its kind is not installed.
pub(super) async fn filled<K>(store: &Store<K>, api: Api<K>)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
{
    loop {
        if let Ok(Ok(())) = tokio::time::timeout(Duration::from_secs(2), store.wait_until_ready()).await {
            return;
        }
        let one = ListParams::default().limit(1);
        if let Err(error) = api::call("list rules", api.list(&one)).await
            && error.is_not_found()
        {
            tracing::warn!(kind = %K::kind(&()), "the kind is not installed, so there are none; apply the CRDs of this version");
            return;
        }
        tracing::warn!(kind = %K::kind(&()), "objects of this kind cannot be read, so nothing is decided by them, and where they are rules Drones with preflight Refuse stay down; apply the RBAC of this version");
    }
}
