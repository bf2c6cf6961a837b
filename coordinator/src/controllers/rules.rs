//! Rules on board: what Geofences and ParameterProfiles want, brought to the agents, and what came of it.
//!
//! Owns: looking over all vehicles again and again, what is sent to agents and named in their orders ([`NodeRules`]), the statuses of the
//! objects, Events, and a record of each flight. Must not: compile ([`fleet::geofence`], [`fleet::parameters`]) or count on anything that
//! an agent did not report.

pub mod flight;
pub mod objects;
pub mod plan;
pub mod status;

use crate::cluster::api::{self, ApiError, error_chain};
use crate::cluster::events::{FLIGHT, Note};
use crate::cluster::retry::Failures;
use crate::cluster::watching;
use crate::cluster::world::uid;
use crate::controllers::drone::facts::Observer;
use crate::controllers::drone::pacing::{Due, Paces, Urgency};
use crate::controllers::vehicle::next::{airframe, name};
use crds::vehicle::VehicleRules;
use crds::{Geofence, ParameterProfile, Vehicle, labels};
use fleet::geofence::{Outside, Wanted, outside};
use fleet::ids::{DroneName, NodeName};
use fleet::parameters::Variables;
use fleet::rules::{DeviationWhy, FenceState, RulesDigest, RulesReport};
use fleet::units::{AltitudeAboveHome, Wgs84};
use flight::Flight;
use futures::StreamExt;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ListParams, Patch, PatchParams};
use kube::runtime::reflector::store::Writer;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::watcher;
use kube::{Resource, ResourceExt};
use objects::{Fence, Values};
use plan::{Memory, Objects, Outcome, Subject, UNMADE, plan};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// From one look to the next.
const EVERY: Duration = Duration::from_secs(1);

/// Status writes under way at once.
const AT_A_TIME: usize = 4;

/// An autopilot that has not told its version after this long is one that does not.
const TELLS_VERSION: Duration = Duration::from_secs(30);

/// What others may know of the rules of each node. One for a leadership.
#[derive(Debug, Default)]
pub struct NodeRules(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// Whether all objects are known.
    complete: bool,
    /// Whether there are any.
    any: bool,
    nodes: HashMap<NodeName, OfNode>,
}

/// The rules of one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OfNode {
    /// What has to be in force before its vehicle is armed.
    named: Option<RulesDigest>,
    /// The Drone that was on the node when that was found: values may depend on it.
    drone: Option<DroneName>,
    /// The Geofences that hold for it.
    fences: Vec<Arc<Wanted>>,
    /// What its Vehicle shows.
    shown: Option<VehicleRules>,
}

impl NodeRules {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether all objects are known, and all Vehicles.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.lock().complete
    }

    /// What has to be in force on `node` before its vehicle is armed. While that is not known, it is for one that refuses to arm without
    /// (`strict`) something that cannot be in force.
    #[must_use]
    pub fn named(&self, node: &NodeName, drone: &DroneName, strict: bool) -> Option<RulesDigest> {
        let known = self.lock();
        match known.nodes.get(node) {
            // Also where none select it: one that was made with the Drone may not have been looked at.
            Some(of) if strict && of.drone.as_ref() != Some(drone) => Some(RulesDigest(UNMADE.to_owned())),
            Some(of) => of.named.clone(),
            None if known.complete && !known.any => None,
            None => strict.then(|| RulesDigest(UNMADE.to_owned())),
        }
    }

    /// Whether the Geofences of `node` allow its vehicle to hold there.
    ///
    /// # Errors
    /// Which does not, and what to do.
    pub fn allow(&self, node: &NodeName, at: Option<Wgs84>, height: Option<AltitudeAboveHome>) -> Result<(), Outside> {
        let known = self.lock();
        let Some(of) = known.nodes.get(node) else { return Ok(()) };
        let wanted: Vec<&Wanted> = of.fences.iter().map(AsRef::as_ref).collect();
        outside(&wanted, at, height)
    }

    /// What the Vehicle of `node` shows of them.
    #[must_use]
    pub fn shown(&self, node: &NodeName) -> Option<VehicleRules> {
        self.lock().nodes.get(node)?.shown.clone()
    }
}

/// What is remembered of a vehicle beside its [`Memory`].
#[derive(Default)]
struct Followed {
    flight: Option<Flight>,
    told: BTreeSet<String>,
    in_force: Option<RulesDigest>,
}

struct Controller {
    observer: Observer,
    vehicles: Store<Vehicle>,
    geofences: Store<Geofence>,
    profiles: Store<ParameterProfile>,
    memories: HashMap<NodeName, Memory>,
    followed: HashMap<NodeName, Followed>,
    paces: Paces,
    failures: Failures<String>,
    unnamed: HashMap<NodeName, Instant>,
}

/// Starts bringing rules to the agents. `vehicles` are those of the inventory.
pub fn start(observer: &Observer, vehicles: Store<Vehicle>, tasks: &mut JoinSet<()>) {
    let ending = observer.leadership.ending.clone();
    let mut controller = Controller {
        observer: observer.clone(),
        vehicles,
        geofences: watch(observer, tasks),
        profiles: watch(observer, tasks),
        memories: HashMap::new(),
        followed: HashMap::new(),
        paces: Paces::default(),
        failures: Failures::default(),
        unnamed: HashMap::new(),
    };
    tasks.spawn(async move {
        let filled = ending.run_until_cancelled(controller.filled()).await;
        while filled.is_some() && ending.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
            if controller.observer.leadership.state.acts() {
                controller.look().await;
            }
        }
    });
}

/// The objects of a cluster-scoped kind, watched.
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

    /// Looks over all vehicles once.
    async fn look(&mut self) {
        let (now, wall) = (Instant::now(), Timestamp::now());
        let objects = self.objects();
        let subjects = self.subjects(now);
        let known: HashSet<&NodeName> = subjects.iter().map(|(subject, _)| &subject.node).collect();
        self.memories.retain(|node, _| known.contains(node));
        self.followed.retain(|node, _| known.contains(node));
        let (subjects, drones): (Vec<Subject>, Vec<Option<DroneName>>) = subjects.into_iter().unzip();
        let term = self.observer.leadership.term;
        let outcomes = plan(&objects, &subjects, &mut self.memories, term, wall.as_second());
        for (subject, outcome) in subjects.iter().zip(&outcomes) {
            if let Some(rules) = &outcome.send
                && self.observer.sessions.send_rules(&subject.node, rules)
            {
                tracing::info!(node = %subject.node, vehicle = subject.name, digest = %rules.digest, "rules sent to the agent");
            }
        }
        self.show(&objects, &subjects, &outcomes, &drones);
        for ((subject, outcome), drone) in subjects.iter().zip(&outcomes).zip(&drones) {
            self.tell(&objects, (subject, outcome), drone.as_ref(), wall);
        }
        let vehicles: Vec<(&Subject, &Outcome)> = subjects.iter().zip(&outcomes).collect();
        self.write_statuses(&objects, &vehicles, now, wall).await;
    }

    fn objects(&self) -> Objects {
        let mut fences: Vec<Fence> = self.geofences.state().iter().map(|object| Fence::of(object)).collect();
        fences.sort_by(|one, other| one.name.cmp(&other.name));
        let mut profiles: Vec<Values> = self.profiles.state().iter().map(|object| Values::of(object)).collect();
        profiles.sort_by(|one, other| one.profile.name.cmp(&other.profile.name));
        Objects { fences, profiles }
    }

    /// Every vehicle that is connected, and every one that is in the inventory and not another airframe on the wire of one that is.
    fn subjects(&mut self, now: Instant) -> Vec<(Subject, Option<DroneName>)> {
        let mut silent: HashMap<String, Vec<Arc<Vehicle>>> = HashMap::new();
        for vehicle in self.vehicles.state() {
            silent.entry(vehicle.spec.node_name.clone()).or_default().push(vehicle);
        }
        let connected: Vec<NodeName> = self
            .observer
            .sessions
            .connected()
            .into_iter()
            .map(|(node, _)| node)
            .collect();
        let here: HashSet<&NodeName> = connected.iter().collect();
        self.unnamed.retain(|node, _| here.contains(node));
        let mut all = Vec::new();
        for node in &connected {
            let report = self
                .observer
                .sessions
                .current(node)
                .filter(|report| report.identity.is_some());
            let told = report.as_deref().and_then(|report| airframe(report, false));
            // Again after each reboot of the autopilot: until it has told its version it may be another.
            let airframe = match (report.as_deref(), told) {
                (Some(report), None) => {
                    let since = *self.unnamed.entry(node.clone()).or_insert(now);
                    airframe(report, now - since >= TELLS_VERSION)
                }
                _ => {
                    self.unnamed.remove(node);
                    told
                }
            };
            let object = airframe.map(|airframe| name(node.as_str(), airframe));
            // Others that were heard on its wire are not there now.
            let known = silent.remove(node.as_str()).unwrap_or_default();
            let vehicle = known
                .into_iter()
                .find(|vehicle| object.as_ref() == Some(&vehicle.name_any()));
            let name = object.clone().unwrap_or_else(|| node.to_string());
            all.push(self.subject(node, name, vehicle.as_deref(), report, object.is_some()));
        }
        for vehicle in silent.into_values().flatten() {
            if let Ok(node) = NodeName::parse(&vehicle.spec.node_name) {
                all.push(self.subject(&node, vehicle.name_any(), Some(&vehicle), None, true));
            }
        }
        all
    }

    fn subject(
        &self,
        node: &NodeName,
        name: String,
        vehicle: Option<&Vehicle>,
        report: Option<Arc<fleet::report::Report>>,
        identified: bool,
    ) -> (Subject, Option<DroneName>) {
        let world = self.observer.world();
        let facts = world.node_facts(node);
        let labels = objects::labels(
            vehicle.map(ResourceExt::labels),
            facts.as_deref().map(|facts| &facts.labels),
        );
        let drones = world.drones_on(node);
        let drone = drones.first();
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
        };
        let drone = drone.map(|drone| DroneName {
            namespace: drone.namespace().unwrap_or_default(),
            name: drone.name_any(),
        });
        (subject, drone)
    }

    /// Lets the other controllers know, and wakes those whom a change concerns.
    fn show(&self, objects: &Objects, subjects: &[Subject], outcomes: &[Outcome], drones: &[Option<DroneName>]) {
        let mut nodes = HashMap::new();
        for ((subject, outcome), drone) in subjects.iter().zip(outcomes).zip(drones) {
            let fences = outcome.active.iter().filter_map(|&i| objects.fences.get(i));
            let of = OfNode {
                named: outcome.named.clone(),
                drone: drone.clone(),
                fences: fences.clone().map(|fence| Arc::clone(&fence.wanted)).collect(),
                shown: shown(objects, subject, outcome),
            };
            nodes.insert(subject.node.clone(), of);
        }
        let changed: Vec<NodeName> = {
            let mut known = self.observer.rules.lock();
            let first = !std::mem::replace(&mut known.complete, true);
            known.any = !objects.is_empty();
            let old = std::mem::replace(&mut known.nodes, nodes);
            let before = |node: &NodeName| old.get(node).map(|of| (&of.named, &of.drone, &of.fences));
            let none = OfNode::default();
            let changed = known.nodes.iter().filter(|(node, of)| {
                let now = (&of.named, &of.drone, &of.fences);
                before(node).map_or_else(
                    || first || now != (&none.named, &none.drone, &none.fences),
                    |before| before != now,
                )
            });
            changed.map(|(node, _)| node.clone()).collect()
        };
        for node in changed {
            self.observer.cluster.wakes.nodes.wake(node.clone());
            self.observer.world().wake_drones_on(&node);
        }
    }

    /// Events about what changed on a vehicle, and the record of a flight that has ended.
    fn tell(&mut self, objects: &Objects, of: (&Subject, &Outcome), drone: Option<&DroneName>, wall: Timestamp) {
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
        let (flight, ended) = flight::follow(followed.flight.take(), objects, of, drone, wall);
        followed.flight = flight;
        if let Some(flight) = ended {
            let words = flight.words(wall);
            tracing::info!(
                vehicle = subject.name,
                node = %subject.node,
                drone = flight.drone.as_ref().map(ToString::to_string),
                hardware = flight.hardware,
                firmware = flight.firmware,
                rules = flight.digest,
                in_force = flight.in_force,
                objects = flight.objects.join(", "),
                took_off = %flight.took_off,
                landed = %wall,
                "flight record"
            );
            record(Note::normal(FLIGHT, words));
        }
        let Some(report) = &subject.report else { return };
        let troubles = troubles(&report.rules);
        for &(reason, ref text) in &troubles {
            if !followed.told.contains(text) {
                tracing::warn!(vehicle = subject.name, node = %subject.node, reason, text, "rules are not in force");
                record(Note::warning(reason, text.clone()));
            }
        }
        followed.told = troubles.into_iter().map(|(_, text)| text).collect();
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

    async fn write_statuses(
        &self,
        objects: &Objects,
        vehicles: &[(&Subject, &Outcome)],
        now: Instant,
        wall: Timestamp,
    ) {
        let mut writes = Vec::new();
        for (place, fence) in objects.fences.iter().enumerate() {
            let Some(object) = self.geofences.get(&ObjectRef::new(&fence.name)) else {
                continue;
            };
            let old = object.status.as_ref();
            let conditions = old.map(|old| &old.conditions[..]).unwrap_or_default();
            let status = status::of_fence((place, fence), vehicles, conditions, wall);
            writes.extend(self.due(&*object, old, &status, conditions, now));
        }
        for (place, values) in objects.profiles.iter().enumerate() {
            let Some(object) = self.profiles.get(&ObjectRef::new(&values.profile.name)) else {
                continue;
            };
            let old = object.status.as_ref();
            let conditions = old.map(|old| &old.conditions[..]).unwrap_or_default();
            let status = status::of_profile((place, values), vehicles, conditions, wall);
            writes.extend(self.due(&*object, old, &status, conditions, now));
        }
        futures::stream::iter(writes)
            .for_each_concurrent(AT_A_TIME, |write| self.perform(write))
            .await;
    }

    /// The write of a status that has changed, if it is due.
    fn due<K, S>(&self, object: &K, old: Option<&S>, new: &S, conditions: &[Condition], now: Instant) -> Option<Write>
    where
        K: Resource<DynamicType = ()>,
        S: PartialEq + Serialize,
    {
        let urgency = match old {
            Some(old) if old == new => Urgency::None,
            Some(_) if !conditions.is_empty() => Urgency::Soon,
            _ => Urgency::Now,
        };
        let write = Write {
            kind: K::kind(&()).into_owned(),
            name: object.name_any(),
            patch: json!({
                "apiVersion": K::api_version(&()),
                "kind": K::kind(&()),
                "metadata": {"name": object.name_any(), "uid": uid(object)},
                "status": new,
            }),
        };
        let key = write.key();
        let rests = self.failures.resting(&key, now).is_some();
        (!rests && self.paces.due(&key, urgency, now) == Due::Now).then_some(write)
    }

    async fn perform(&self, write: Write) {
        let key = write.key();
        let client = self.observer.cluster.client();
        let done = if write.kind == Geofence::kind(&()) {
            patch(Api::<Geofence>::all(client), &write).await
        } else {
            patch(Api::<ParameterProfile>::all(client), &write).await
        };
        match done {
            Ok(()) => {
                self.failures.forget(&key);
                self.paces.written(&key, Instant::now());
            }
            // The watch brings the news.
            Err(error) if error.is_overtaken() => {}
            Err(error) => {
                self.failures
                    .failed(&key, &error_chain(&error), Instant::now(), rand::random());
            }
        }
    }
}

/// A status to be written.
struct Write {
    kind: String,
    name: String,
    patch: serde_json::Value,
}

impl Write {
    fn key(&self) -> String {
        format!("{}/{}", self.kind, self.name)
    }
}

async fn patch<K>(api: Api<K>, write: &Write) -> Result<(), ApiError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let params = PatchParams::apply(labels::COORDINATOR).force();
    let patch = Patch::Apply(&write.patch);
    let written = api.patch_status(&write.name, &params, &patch);
    api::call("write the status of rules", written).await.map(drop)
}

/// Done when `store` is filled, or its kind is not there.
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

fn shown(objects: &Objects, subject: &Subject, outcome: &Outcome) -> Option<VehicleRules> {
    let report = subject.report.as_ref()?;
    let reported = &report.rules;
    if !outcome.is_selected() && outcome.send.is_none() {
        return None;
    }
    let fences = outcome.active.iter().filter_map(|&i| objects.fences.get(i));
    let profiles = outcome.profiles.iter().filter_map(|&i| objects.profiles.get(i));
    let number = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    Some(VehicleRules {
        geofences: fences.map(|fence| fence.name.clone()).take(64).collect(),
        parameter_profiles: profiles.map(|values| values.profile.name.clone()).take(64).collect(),
        digest: outcome.named.as_ref().map(ToString::to_string).unwrap_or_default(),
        fence: word(&reported.fence).to_owned(),
        parameters: outcome.send.as_ref().map_or(0, |rules| number(rules.parameters.len())),
        parameters_in_force: i32::try_from(reported.parameters_in_force).unwrap_or(i32::MAX),
    })
}

const fn word(fence: &FenceState) -> &'static str {
    match fence {
        FenceState::None => "None",
        FenceState::Working => "Working",
        FenceState::InForce => "InForce",
        FenceState::WaitsForGround => "WaitsForGround",
        FenceState::Refused(_) => "Refused",
        FenceState::Drifted(_) => "Drifted",
    }
}

/// What a person should know: the reason of an Event, and a sentence.
fn troubles(rules: &RulesReport) -> Vec<(&'static str, String)> {
    let fence = match &rules.fence {
        FenceState::Refused(why) => Some(("FenceRefused", format!("the autopilot does not take the fence: {why}"))),
        FenceState::Drifted(why) => Some((
            "FenceDrifted",
            format!("the fence on the autopilot is not ours any more: {why}"),
        )),
        FenceState::None | FenceState::Working | FenceState::InForce | FenceState::WaitsForGround => None,
    };
    let refused = rules.deviations.iter().filter_map(|deviation| match &deviation.why {
        DeviationWhy::Refused(why) => Some(("ParameterRefused", format!("{}: {why}", deviation.name))),
        DeviationWhy::WaitsForGround if deviation.actual.is_some() => {
            let actual = deviation.actual.unwrap_or_default();
            let text = format!("{} is {actual} and is to be {}", deviation.name, deviation.wanted);
            Some(("ParameterDrifted", text))
        }
        _ => None,
    });
    fence.into_iter().chain(refused).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleet::geofence::Breach;

    #[test]
    fn before_the_rules_of_a_node_are_known_one_that_refuses_without_them_is_held_back_and_no_other() {
        let (rules, node) = (NodeRules::default(), NodeName::parse("n1").unwrap());
        let unmade = Some(RulesDigest(UNMADE.to_owned()));
        let drone = |name: &str| DroneName {
            namespace: "field".to_owned(),
            name: name.to_owned(),
        };
        let one = drone("one");
        assert_eq!(
            (rules.named(&node, &one, true), rules.named(&node, &one, false)),
            (unmade.clone(), None)
        );
        rules.lock().complete = true;
        assert_eq!(rules.named(&node, &one, true), None, "there are none");
        rules.lock().any = true;
        assert_eq!(
            (rules.named(&node, &one, true), rules.named(&node, &one, false)),
            (unmade.clone(), None)
        );
        let low = Wanted {
            name: "low".to_owned(),
            include: Vec::new(),
            exclude: Vec::new(),
            ceiling: Some(AltitudeAboveHome(30.0)),
            floor: None,
            breach: Breach::Return,
            windows: Vec::new(),
        };
        let of = OfNode {
            named: unmade.clone(),
            drone: Some(one.clone()),
            fences: vec![Arc::new(low)],
            shown: None,
        };
        assert_eq!(rules.allow(&node, None, Some(AltitudeAboveHome(28.0))), Ok(()));
        rules.lock().nodes.insert(node.clone(), of);
        assert_eq!(
            rules.named(&node, &one, false),
            unmade,
            "what cannot be made is named to all"
        );
        let made = Some(RulesDigest("made".to_owned()));
        if let Some(of) = rules.lock().nodes.get_mut(&node) {
            of.named.clone_from(&made);
        }
        assert_eq!(rules.named(&node, &one, true), made);
        assert_eq!(
            rules.named(&node, &drone("next"), true),
            unmade,
            "they were made for the one before"
        );
        if let Some(of) = rules.lock().nodes.get_mut(&node) {
            of.named = None;
        }
        assert_eq!(
            (rules.named(&node, &one, true), rules.named(&node, &drone("next"), true)),
            (None, unmade),
            "some may have been made with the next, and are looked at first"
        );
        assert_eq!(rules.allow(&node, None, Some(AltitudeAboveHome(26.0))), Ok(()));
        let refused = rules.allow(&node, None, Some(AltitudeAboveHome(28.0))).unwrap_err();
        assert!(
            refused.to_string().contains("the ceiling of Geofence low is 30 m"),
            "{refused}"
        );
    }
}
