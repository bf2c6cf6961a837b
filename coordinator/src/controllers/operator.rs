//! Who operates the vehicles: what Operators say, brought to the agents, and what came of it.
//!
//! Owns: looking over all vehicles again and again, what is sent to agents, what their Vehicles show ([`NodeOperators`]), and the
//! statuses of the objects. Must not: choose one of several Operators ([`fleet::remote_id::choose`]), or count on anything that an agent
//! did not report.

pub mod objects;
pub mod status;

use crate::cluster::api::{self, ApiError, error_chain};
use crate::cluster::retry::Failures;
use crate::cluster::world::uid;
use crate::controllers::drone::facts::Observer;
use crate::controllers::drone::pacing::{Due, Paces, Urgency};
use crate::controllers::rules::{self, objects::labels as labels_of};
use crate::controllers::vehicle::next::{airframe, name};
use crds::{Operator, OperatorStatus, Vehicle, labels};
use fleet::ids::NodeName;
use fleet::remote_id::{RemoteIdOrder, RemoteIdReport};
use fleet::report::Report;
use futures::StreamExt;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Resource, ResourceExt};
use objects::Wanted;
use serde_json::json;
use status::{Outcome, Shown, of_operator, outcome, shown};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// From one look to the next.
const EVERY: Duration = Duration::from_secs(1);

/// Status writes under way at once.
const AT_A_TIME: usize = 4;

/// An autopilot that has not told its version after this long is one that does not.
const TELLS_VERSION: Duration = Duration::from_secs(30);

/// What the Vehicles show of Remote ID. One for a leadership.
#[derive(Debug, Default)]
pub struct NodeOperators(Mutex<HashMap<NodeName, Shown>>);

impl NodeOperators {
    /// What the Vehicle of `node` shows of it.
    #[must_use]
    pub fn shown(&self, node: &NodeName) -> Option<Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(node).cloned()
    }
}

struct Controller {
    observer: Observer,
    vehicles: Store<Vehicle>,
    operators: Store<Operator>,
    paces: Paces,
    failures: Failures<String>,
    unnamed: HashMap<NodeName, Instant>,
}

/// A vehicle, as far as its operator goes.
struct Subject {
    node: NodeName,
    name: String,
    labels: BTreeMap<String, String>,
    report: Option<Arc<Report>>,
}

/// Starts bringing operators to the agents. `vehicles` are those of the inventory.
pub fn start(observer: &Observer, vehicles: Store<Vehicle>, tasks: &mut JoinSet<()>) {
    let ending = observer.leadership.ending.clone();
    let mut controller = Controller {
        observer: observer.clone(),
        vehicles,
        operators: rules::watch(observer, tasks),
        paces: Paces::default(),
        failures: Failures::default(),
        unnamed: HashMap::new(),
    };
    tasks.spawn(async move {
        let filled = ending.run_until_cancelled(controller.filled()).await;
        while filled.is_some() && ending.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
            // The rules wait for the Vehicles, without whose labels another Operator might seem to be meant.
            if controller.observer.leadership.state.acts() && controller.observer.rules.is_complete() {
                controller.look().await;
            }
        }
    });
}

impl Controller {
    /// Done when all objects are known. A kind that is not installed has none.
    async fn filled(&self) {
        rules::filled(&self.operators, Api::all(self.observer.cluster.client())).await;
    }

    /// Looks over all vehicles once.
    async fn look(&mut self) {
        let (now, wall) = (Instant::now(), Timestamp::now());
        let mut wanted: Vec<Wanted> = self.operators.state().iter().map(|object| Wanted::of(object)).collect();
        wanted.sort_by(|one, other| one.name.cmp(&other.name));
        let subjects = self.subjects(now);
        let outcomes: Vec<Outcome> = subjects
            .iter()
            .map(|subject| outcome(&wanted, &subject.labels))
            .collect();
        let mut all = HashMap::new();
        for (subject, outcome) in subjects.iter().zip(&outcomes) {
            let Some(report) = &subject.report else { continue };
            self.send(subject, outcome, &report.remote_id);
            if let Some(shown) = shown(&wanted, outcome, &report.remote_id) {
                all.insert(subject.node.clone(), shown);
            }
        }
        *self.observer.operators.0.lock().unwrap_or_else(PoisonError::into_inner) = all;
        self.write_statuses(&wanted, &subjects, &outcomes, now, wall).await;
    }

    fn send(&self, subject: &Subject, outcome: &Outcome, report: &RemoteIdReport) {
        let order = RemoteIdOrder {
            term: self.observer.leadership.term,
            operator: outcome.operator.clone(),
        };
        if self
            .observer
            .sessions
            .send_remote_id(&subject.node, &order, report.held.is_some())
        {
            let operator = order.operator.as_ref().map(|operator| operator.name.as_str());
            tracing::info!(node = %subject.node, vehicle = subject.name, operator, "operator sent to the agent");
        }
    }

    /// Every vehicle that is connected and known by its hardware, and every one of the inventory whose agent is silent.
    fn subjects(&mut self, now: Instant) -> Vec<Subject> {
        let mut silent: HashMap<String, Vec<Arc<Vehicle>>> = HashMap::new();
        for vehicle in self.vehicles.state() {
            silent.entry(vehicle.spec.node_name.clone()).or_default().push(vehicle);
        }
        let connected = self.observer.sessions.connected();
        let here: HashSet<&NodeName> = connected.iter().map(|(node, _)| node).collect();
        self.unnamed.retain(|node, _| here.contains(node));
        let mut all = Vec::new();
        for (node, _) in &connected {
            // Others that were heard on its wire are not there now.
            let known = silent.remove(node.as_str()).unwrap_or_default();
            let report = self.observer.sessions.current(node);
            let Some(report) = report.filter(|report| report.identity.is_some()) else {
                continue;
            };
            let told = airframe(&report, false);
            let of = match told {
                Some(_) => {
                    self.unnamed.remove(node);
                    told
                }
                None => {
                    let since = *self.unnamed.entry(node.clone()).or_insert(now);
                    airframe(&report, now - since >= TELLS_VERSION)
                }
            };
            // Until it is known which airframe it is, its labels are not, and its agent goes on by what it has.
            let Some(of) = of else { continue };
            let name = name(node.as_str(), of);
            let vehicle = known.into_iter().find(|vehicle| vehicle.name_any() == name);
            all.push(self.subject(node, name, vehicle.as_deref(), Some(report)));
        }
        for vehicle in silent.into_values().flatten() {
            if let Ok(node) = NodeName::parse(&vehicle.spec.node_name) {
                all.push(self.subject(&node, vehicle.name_any(), Some(&vehicle), None));
            }
        }
        all
    }

    fn subject(
        &self,
        node: &NodeName,
        name: String,
        vehicle: Option<&Vehicle>,
        report: Option<Arc<Report>>,
    ) -> Subject {
        let facts = self.observer.world().node_facts(node);
        Subject {
            node: node.clone(),
            name,
            labels: labels_of(
                vehicle.map(ResourceExt::labels),
                facts.as_deref().map(|facts| &facts.labels),
            ),
            report,
        }
    }

    async fn write_statuses(
        &self,
        wanted: &[Wanted],
        subjects: &[Subject],
        outcomes: &[Outcome],
        now: Instant,
        wall: Timestamp,
    ) {
        let vehicles: Vec<_> = subjects
            .iter()
            .zip(outcomes)
            .map(|(subject, outcome)| {
                let report = subject.report.as_ref().map(|report| &report.remote_id);
                (subject.name.as_str(), report, outcome)
            })
            .collect();
        let mut writes = Vec::new();
        for (place, operator) in wanted.iter().enumerate() {
            let Some(object) = self.operators.get(&ObjectRef::new(&operator.name)) else {
                continue;
            };
            let old = object.status.as_ref();
            let conditions = old.map(|old| &old.conditions[..]).unwrap_or_default();
            let status = of_operator((place, operator), wanted, &vehicles, conditions, wall);
            let urgency = match old {
                Some(old) if *old == status => Urgency::None,
                Some(_) if !conditions.is_empty() => Urgency::Soon,
                _ => Urgency::Now,
            };
            let rests = self.failures.resting(&operator.name, now).is_some();
            if !rests && self.paces.due(&operator.name, urgency, now) == Due::Now {
                writes.push((object, status));
            }
        }
        futures::stream::iter(writes)
            .for_each_concurrent(AT_A_TIME, |(object, status)| self.write(object, status))
            .await;
    }

    async fn write(&self, object: Arc<Operator>, status: OperatorStatus) {
        let name = object.name_any();
        let patch = json!({
            "apiVersion": Operator::api_version(&()),
            "kind": Operator::kind(&()),
            "metadata": {"name": name, "uid": uid(object.as_ref())},
            "status": status,
        });
        let api: Api<Operator> = Api::all(self.observer.cluster.client());
        let params = PatchParams::apply(labels::COORDINATOR).force();
        let patch = Patch::Apply(&patch);
        let written = api.patch_status(&name, &params, &patch);
        let done: Result<(), ApiError> = api::call("write the status of an Operator", written).await.map(drop);
        match done {
            Ok(()) => {
                self.failures.forget(&name);
                self.paces.written(&name, Instant::now());
            }
            // The watch brings the news.
            Err(error) if error.is_overtaken() => {}
            Err(error) => {
                self.failures
                    .failed(&name, &error_chain(&error), Instant::now(), rand::random());
            }
        }
    }
}
