//! Fake kubelets of some drone nodes: the Pods of the DaemonSet `skein-agent` run scripted agents.

use crate::until;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::json;
use skein_tests::SYSTEM;
use skein_tests::cluster_field::Field;
use skein_tests::scripted_agent::{Agent, Vehicle};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use testkit::control_plane::workspace_root;
use tokio::task::JoinHandle;

const LABEL: &str = "app.kubernetes.io/name=skein-agent";

pub struct Kubelet {
    client: Client,
    shared: Arc<Mutex<Shared>>,
    work: JoinHandle<()>,
}

struct Shared {
    coordinator: String,
    vehicles: BTreeMap<String, Vehicle>,
    agents: HashMap<String, Agent>,
    broken: bool,
    most_away: usize,
    ended_in_flight: Vec<String>,
}

impl Kubelet {
    /// Creates the nodes and deploy/agent.yaml, and waits until there is an agent on each.
    pub async fn start(field: &Field, coordinator: &str, nodes: &[&str]) -> Self {
        let client = field.client.clone();
        let sets: Api<DaemonSet> = Api::namespaced(client.clone(), SYSTEM);
        let _ = sets.delete("skein-agent", &DeleteParams::background()).await;
        let vehicles = nodes.iter().map(|node| ((*node).to_owned(), Vehicle::new(node)));
        let shared = Arc::new(Mutex::new(Shared {
            coordinator: coordinator.to_owned(),
            vehicles: vehicles.collect(),
            agents: HashMap::new(),
            broken: false,
            most_away: 0,
            ended_in_flight: vec![],
        }));
        let kubelet = Self {
            work: tokio::spawn(work(client.clone(), Arc::clone(&shared))),
            client,
            shared,
        };
        until("the Pods of the test before to be gone", async || {
            let left = kubelet.list().await.len();
            let set = sets.get_opt("skein-agent").await.unwrap();
            if left == 0 && set.is_none() {
                Ok(())
            } else {
                Err(format!("{left} Pods, {set:?}"))
            }
        })
        .await;
        field.nodes(nodes);
        let manifest = workspace_root().join("deploy/agent.yaml");
        let kubectl = field.cluster().kubectl();
        kubectl
            .run(["apply", "--server-side", "-f", manifest.to_str().unwrap()])
            .unwrap();
        until("an agent on each node", async || {
            let running = kubelet.running().await;
            if running.len() == nodes.len() {
                Ok(())
            } else {
                Err(format!("{running:?}"))
            }
        })
        .await;
        kubelet.lock().most_away = 0;
        kubelet
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap()
    }

    pub fn vehicle(&self, node: &str) -> Vehicle {
        self.lock().vehicles[node].clone()
    }

    pub fn runs_nothing_new(&self, broken: bool) {
        self.lock().broken = broken;
    }

    pub fn most_away(&self) -> usize {
        self.lock().most_away
    }

    pub fn ended_in_flight(&self) -> Vec<String> {
        self.lock().ended_in_flight.clone()
    }

    pub async fn change_template(&self, word: &str) {
        let sets: Api<DaemonSet> = Api::namespaced(self.client.clone(), SYSTEM);
        let patch = json!({"spec": {"template": {"metadata": {"annotations": {"version": word}}}}});
        sets.patch("skein-agent", &PatchParams::default(), &Patch::Merge(patch))
            .await
            .unwrap();
    }

    async fn list(&self) -> Vec<Pod> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), SYSTEM);
        pods.list(&ListParams::default().labels(LABEL)).await.unwrap().items
    }

    pub async fn pods(&self) -> BTreeMap<String, String> {
        let pods = self.list().await;
        let stay = pods.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
        stay.filter_map(|pod| Some((node(pod)?, pod.uid()?))).collect()
    }

    pub async fn running(&self) -> BTreeMap<String, String> {
        let mut pods = self.pods().await;
        pods.retain(|_, uid| self.lock().agents.contains_key(uid));
        pods
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.work.abort();
    }
}

fn node(pod: &Pod) -> Option<String> {
    pod.spec.as_ref()?.node_name.clone()
}

async fn work(client: Client, shared: Arc<Mutex<Shared>>) {
    let pods: Api<Pod> = Api::namespaced(client, SYSTEM);
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let Ok(all) = pods.list(&ListParams::default().labels(LABEL)).await else {
            continue;
        };
        for pod in &all.items {
            let (Some(node), Some(uid)) = (node(pod), pod.uid()) else {
                continue;
            };
            if pod.metadata.deletion_timestamp.is_some() {
                end(&shared, &node, &uid);
                let now = DeleteParams::default().grace_period(0);
                let _ = pods.delete(&pod.name_any(), &now).await;
            } else if pod.status.as_ref().is_none_or(|s| s.container_statuses.is_none()) {
                let broken = shared.lock().unwrap().broken;
                let status = Patch::Merge(status(broken));
                let written = pods
                    .patch_status(&pod.name_any(), &PatchParams::default(), &status)
                    .await;
                if written.is_ok() && !broken {
                    begin(&shared, &node, uid);
                }
            }
        }
        let mut shared = shared.lock().unwrap();
        let away = shared.vehicles.len().saturating_sub(shared.agents.len());
        shared.most_away = shared.most_away.max(away);
    }
}

fn begin(shared: &Mutex<Shared>, node: &str, uid: String) {
    let mut shared = shared.lock().unwrap();
    if let Some(vehicle) = shared.vehicles.get(node) {
        let agent = Agent::start(vehicle, &shared.coordinator);
        shared.agents.insert(uid, agent);
    }
}

fn end(shared: &Mutex<Shared>, node: &str, uid: &str) {
    let mut shared = shared.lock().unwrap();
    if shared.agents.remove(uid).is_some() && shared.vehicles.get(node).is_some_and(Vehicle::flies) {
        shared.ended_in_flight.push(node.to_owned());
    }
}

fn status(broken: bool) -> serde_json::Value {
    let state = match broken {
        true => json!({"waiting": {"reason": "ImagePullBackOff"}}),
        false => json!({"running": {"startedAt": "2026-01-01T00:00:00Z"}}),
    };
    json!({"status": {
        "phase": if broken { "Pending" } else { "Running" },
        "containerStatuses": [{
            "name": "agent", "image": "skein-agent", "imageID": "", "ready": !broken, "restartCount": 0, "state": state,
        }],
    }})
}
