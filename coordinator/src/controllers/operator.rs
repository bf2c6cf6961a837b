//! Who operates the vehicles: Operators, brought to the agents, and the result.
//!
//! Owns: reconciling all vehicles, what is sent to agents, what their Vehicles show ([`crate::controllers::node_operators`]), and the
//! statuses of the objects. Must not: choose one of several Operators ([`model::remote_id::choose`]), or count on anything that an agent
//! did not report.

pub mod objects;
pub mod status;
mod transmitters;

use crate::cluster::api::ApiError;
use crate::controllers::facts::Observer;
use crate::controllers::rules::writes::Writes;
use crate::controllers::rules::{self, objects::labels as labels_of};
use crate::controllers::vehicle::next::name;
use crate::controllers::vehicle::whose::Airframes;
use crate::leadership::leading::Leadership;
use crate::leadership::periodic::Periodic;
use crds::{Operator, Vehicle};
use k8s_openapi::jiff::Timestamp;
use kube::api::Api;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Resource, ResourceExt};
use model::ids::NodeName;
use model::remote_id::{RemoteIdOrder, RemoteIdReport, Transmitter};
use model::report::Report;
use objects::Wanted;
use status::{Outcome, of_operator, outcome, shown};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;

struct Controller {
    observer: Observer,
    vehicles: Store<Vehicle>,
    operators: Store<Operator>,
    airframes: Airframes,
    writes: Writes,
    /// The last report on the transmitter of each Vehicle.
    transmitters: HashMap<String, Transmitter>,
}

struct Subject {
    node: NodeName,
    name: String,
    labels: BTreeMap<String, String>,
    report: Option<Arc<Report>>,
}

/// `vehicles` is the inventory, known by `airframes`.
pub fn start(observer: &Observer, (vehicles, airframes): (Store<Vehicle>, Airframes), tasks: &mut JoinSet<()>) {
    let Leadership { ending, loops, .. } = observer.leadership.clone();
    let controller = Controller {
        observer: observer.clone(),
        vehicles,
        operators: rules::watch(observer, tasks),
        airframes,
        writes: Writes::default(),
        transmitters: HashMap::new(),
    };
    tasks.spawn(async move {
        if ending.run_until_cancelled(controller.filled()).await.is_some() {
            loops.run(controller).await;
        }
    });
}

impl Periodic for Controller {
    const NAME: &'static str = "operators";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self) -> Result<(), ApiError> {
        // Rules wait for the Vehicles, without whose labels another Operator might seem to select.
        if self.observer.rules.is_complete() {
            self.reconcile();
        }
        self.writes.begin(&self.observer);
        Ok(())
    }

    async fn woken(&mut self) {
        self.writes.go_on(&self.observer).await;
    }
}

impl Controller {
    /// Done when all objects are known. A kind that is not installed has none.
    async fn filled(&self) {
        rules::filled(&self.operators, Api::all(self.observer.cluster.client())).await;
    }

    fn reconcile(&mut self) {
        let (now, wall) = (Instant::now(), Timestamp::now());
        let mut wanted: Vec<Wanted> = self.operators.state().iter().map(|object| Wanted::of(object)).collect();
        wanted.sort_by(|one, other| one.name.cmp(&other.name));
        let subjects = self.subjects(now);
        let outcomes: Vec<Outcome> = subjects
            .iter()
            .map(|subject| outcome(&wanted, &subject.labels))
            .collect();
        let mut all = HashMap::new();
        self.publish(&subjects);
        for (subject, outcome) in subjects.iter().zip(&outcomes) {
            let Some(report) = &subject.report else { continue };
            self.send(subject, outcome, &report.remote_id);
            if let Some(shown) = shown(&wanted, outcome, &report.remote_id) {
                all.insert(subject.node.clone(), shown);
            }
        }
        self.observer.operators.update(all);
        self.write_statuses(&wanted, &subjects, &outcomes, now, wall);
    }

    fn publish(&mut self, subjects: &[Subject]) {
        for subject in subjects {
            let Some(report) = &subject.report else { continue };
            let now = &report.remote_id.transmitter;
            let before = self.transmitters.insert(subject.name.clone(), now.clone());
            let object = self.vehicles.get(&ObjectRef::new(&subject.name));
            if let (Some(note), Some(vehicle)) = (transmitters::news(before.as_ref(), now), object) {
                let events = &self.observer.cluster.events;
                events.record_about(vehicle.object_ref(&()), None, note);
            }
        }
        let known: HashSet<&String> = subjects.iter().map(|subject| &subject.name).collect();
        self.transmitters.retain(|name, _| known.contains(name));
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
    fn subjects(&self, now: Instant) -> Vec<Subject> {
        let mut silent: HashMap<String, Vec<Arc<Vehicle>>> = HashMap::new();
        for vehicle in self.vehicles.state() {
            silent.entry(vehicle.spec.node_name.clone()).or_default().push(vehicle);
        }
        let mut all = Vec::new();
        for (node, _) in &self.observer.sessions.connected() {
            // Other airframes that were heard on its wire are not there now.
            let known = silent.remove(node.as_str()).unwrap_or_default();
            let report = self.observer.sessions.current(node);
            let of = self.airframes.of(node, report.as_deref(), now);
            // Without its airframe its labels are unknown, and its agent goes on by what it has.
            let Some(of) = of else { continue };
            let name = name(node.as_str(), of);
            let vehicle = known.into_iter().find(|vehicle| vehicle.name_any() == name);
            all.push(self.subject(node, name, vehicle.as_deref(), report));
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

    fn write_statuses(
        &mut self,
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
        for (place, operator) in wanted.iter().enumerate() {
            let Some(object) = self.operators.get(&ObjectRef::new(&operator.name)) else {
                continue;
            };
            let old = object.status.as_ref();
            let conditions = old.map(|old| &old.conditions[..]).unwrap_or_default();
            let status = of_operator((place, operator), wanted, &vehicles, conditions, wall);
            self.writes.offer(&*object, (old, conditions), &status, now);
        }
    }
}
