//! The inventory: one Vehicle object for each airframe of which an agent has received messages.
//!
//! Owns: reconciling all nodes periodically, and the writes that [`next`] asks for. Must not: do anything that flight depends on; it goes
//! on without the objects, and where their kind is not installed. But who is in the air by them is waited for by the next leader
//! ([`crate::controllers::airspace_grants`]).

pub mod next;
pub mod whose;

use crate::cluster::api::{self, ApiError, error_chain};
use crate::cluster::retry::Failures;
use crate::cluster::status::write as write_status;
use crate::cluster::watching;
use crate::cluster::world::uid;
use crate::controllers::drone::binding::{candidate, flies_elsewhere};
use crate::controllers::facts::Observer;
use crate::controllers::pacing::{Due, Paces, Urgency};
use crate::leadership::leading::Leadership;
use crate::leadership::periodic::Periodic;
use crds::{Vehicle, VehicleSpec, VehicleStatus};
use fleet::planning::binding::free;
use futures::StreamExt;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::Api;
use kube::runtime::reflector::Store;
use kube::runtime::reflector::store::{Writer, WriterDropped};
use kube::runtime::watcher;
use model::ids::{DroneName, NodeName};
use model::vehicle::HardwareUid;
use next::{Airframe, Counted, NodeSnapshot, Step, steps};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;
use whose::{Airframes, served};

const STORE_FILLED_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// 20 a second, however many vehicles there are.
const MAX_WRITES_PER_RECONCILE: usize = 100;

const CONCURRENT_WRITES: usize = 4;

/// The nodes that observe each hardware number.
type Hardware<'a> = HashMap<HardwareUid, Vec<&'a NodeName>>;

fn other_node<'a>(hardware: &Hardware<'a>, node: &NodeName, airframe: Option<Airframe>) -> Option<&'a NodeName> {
    let nodes = hardware.get(&airframe?.0?)?;
    nodes.iter().find(|other| **other != node).copied()
}

struct Inventory {
    observer: Observer,
    vehicles: Store<Vehicle>,
    paces: Paces,
    failures: Failures<String>,
    airframes: Airframes,
    counted: Counted,
}

/// Returns the inventory, and the airframes by which it is kept.
pub fn start(observer: &Observer, tasks: &mut JoinSet<()>) -> (Store<Vehicle>, Airframes) {
    let airframes = Airframes::default();
    let writer = Writer::<Vehicle>::default();
    let inventory = Inventory {
        observer: observer.clone(),
        vehicles: writer.as_reader(),
        paces: Paces::default(),
        failures: Failures::default(),
        airframes: airframes.clone(),
        counted: Counted::default(),
    };
    let vehicles = writer.as_reader();
    let Leadership { ending, loops, .. } = observer.leadership.clone();
    let api = Api::<Vehicle>::all(observer.cluster.client());
    let config = watcher::Config::default().timeout(watching::WATCH_SECONDS);
    tasks.spawn(watching::follow(api, config, Some(writer), ending.clone(), |_| {}));
    tasks.spawn(async move {
        // Until the watch has filled the store, an object that exists would seem to be missing.
        let filled = ending.run_until_cancelled(filled(&inventory.vehicles)).await;
        if matches!(filled, Some(Ok(()))) {
            loops.run(inventory).await;
        }
    });
    (vehicles, airframes)
}

/// Done when `store` is filled. Polls: another controller waits for the same store, whose wake-up reaches only the last waiter.
async fn filled(store: &Store<Vehicle>) -> Result<(), WriterDropped> {
    loop {
        if let Ok(done) = tokio::time::timeout(STORE_FILLED_CHECK_INTERVAL, store.wait_until_ready()).await {
            return done;
        }
    }
}

impl Periodic for Inventory {
    const NAME: &'static str = "vehicles";
    const INTERVAL: Duration = Duration::from_secs(5);

    async fn run(&mut self) -> Result<(), ApiError> {
        self.reconcile().await;
        Ok(())
    }
}

impl Inventory {
    /// Compares all nodes with their objects, and writes the differences.
    async fn reconcile(&mut self) {
        let (now, wall) = (Instant::now(), Timestamp::now());
        let mut nodes: BTreeMap<NodeName, Vec<Arc<Vehicle>>> = BTreeMap::new();
        let vehicles = self.vehicles.state();
        let uids: HashSet<&str> = vehicles.iter().map(|vehicle| uid(vehicle.as_ref())).collect();
        self.counted.retain(|uid| uids.contains(uid));
        for vehicle in vehicles.iter().map(Arc::clone) {
            if let Ok(node) = NodeName::parse(&vehicle.spec.node_name) {
                nodes.entry(node).or_default().push(vehicle);
            }
        }
        for (node, _) in self.observer.sessions.connected() {
            nodes.entry(node).or_default();
        }
        let hardware = self.hardware(nodes.keys(), now);
        for (number, _) in hardware.iter().filter(|(_, nodes)| nodes.len() > 1) {
            self.observer.world().hardware_is_shared(number);
        }
        let down = self.observer.airspace.take_down();
        let mut due = Vec::new();
        for (node, known) in &nodes {
            for (name, step, urgency) in self.steps_of((node, known), &hardware, &down, now, wall) {
                let rests = self.failures.resting(&name, now).is_some();
                if !rests && self.paces.due(&name, urgency, now) == Due::Now {
                    let object = known.iter().find(|vehicle| vehicle.name_any() == name);
                    due.push((name, object.map(Arc::clone), step));
                }
            }
        }
        // The first by name do not keep the others waiting.
        let most = due.len().min(MAX_WRITES_PER_RECONCILE);
        let first = rand::random_range(0..due.len().max(1));
        due.rotate_left(first);
        due.truncate(most);
        let this = &*self;
        futures::stream::iter(due)
            .for_each_concurrent(CONCURRENT_WRITES, |(name, object, step)| {
                this.perform(name, object, step)
            })
            .await;
    }

    /// The nodes whose agents observe a hardware number now.
    fn hardware<'a>(&self, nodes: impl Iterator<Item = &'a NodeName>, now: Instant) -> Hardware<'a> {
        let mut hardware = Hardware::new();
        for node in nodes {
            let report = self.observer.sessions.current(node);
            if let Some(Airframe(Some(uid))) = self.airframes.of(node, report.as_deref(), now) {
                hardware.entry(uid).or_default().push(node);
            }
        }
        hardware
    }

    fn steps_of(
        &mut self,
        (node, known): (&NodeName, &[Arc<Vehicle>]),
        hardware: &Hardware<'_>,
        down: &BTreeSet<NodeName>,
        now: Instant,
        wall: Timestamp,
    ) -> Vec<(String, Step, Urgency)> {
        let observer = &self.observer;
        let report = observer.sessions.current(node);
        let report = report.as_deref();
        let airframe = self.airframes.of(node, report, now);
        let (drones, claim) = (observer.world().drones_on(node), observer.world().claim(node.as_str()));
        let drone = served(&drones, claim.as_ref().map(|claim| claim.uid.as_str()));
        let drone = drone.map(|drone| {
            let name = DroneName {
                namespace: drone.namespace().unwrap_or_default(),
                name: drone.name_any(),
            };
            let served = drone.status.as_ref().and_then(|status| status.vehicle.as_ref());
            (
                name,
                served.and_then(|vehicle| HardwareUid::parse(vehicle.hardware_uid.as_ref()?)),
            )
        });
        let facts = observer.world().node_facts(node);
        let elsewhere = flies_elsewhere(observer, node, report);
        let free = facts.map(|facts| free(&candidate(observer, &facts, false, elsewhere, report)).map(drop));
        let rules = observer.rules.shown(node);
        let remote_id = observer.operators.shown(node);
        let snapshot = NodeSnapshot {
            node,
            drone: drone.as_ref().map(|(name, airframe)| (name, *airframe)),
            report,
            airframe,
            same_hardware: other_node(hardware, node, airframe),
            free,
            rules: rules.as_ref(),
            remote_id: remote_id.as_ref(),
            declared_down: down.contains(node),
        };
        steps(&snapshot, known, &mut self.counted, wall)
    }

    /// `object` is the one that the step was decided on.
    async fn perform(&self, name: String, object: Option<Arc<Vehicle>>, step: Step) {
        let done = match (step, object) {
            (Step::Create(spec), _) => self.create(&name, spec).await,
            (Step::Write(status), Some(object)) => self.write(&object, &status).await,
            (Step::Delete, Some(object)) => self.delete(&object).await,
            // There is nothing to write on, or to delete.
            (Step::Write(_) | Step::Delete, None) => Ok(()),
        };
        match done {
            Ok(()) => {
                self.failures.forget(&name);
                self.paces.written(&name, Instant::now());
            }
            // The watch brings the other writer's change.
            Err(error) if error.is_overtaken() => {}
            Err(error) => {
                self.failures
                    .failed(&name, &error_chain(&error), Instant::now(), rand::random());
            }
        }
    }

    fn api(&self) -> Api<Vehicle> {
        Api::all(self.observer.cluster.client())
    }

    async fn create(&self, name: &str, spec: VehicleSpec) -> Result<(), ApiError> {
        let api = self.api();
        let made = Vehicle::new(name, spec);
        api::call("create a Vehicle", api.create(&api::posting(), &made)).await?;
        tracing::info!(
            vehicle = name,
            node = made.spec.node_name,
            "a vehicle that was not known"
        );
        Ok(())
    }

    async fn write(&self, object: &Vehicle, status: &VehicleStatus) -> Result<(), ApiError> {
        let api = self.api();
        let written = write_status("write the status of a Vehicle", &api, &object.metadata, status);
        written.await.map(drop)
    }

    async fn delete(&self, object: &Vehicle) -> Result<(), ApiError> {
        let (api, name) = (self.api(), object.name_any());
        let params = api::only(uid(object));
        let gone = api.delete(&name, &params);
        api::call("delete a Vehicle", gone).await?;
        tracing::info!(vehicle = name, "a vehicle that was not heard for long is forgotten");
        Ok(())
    }
}
