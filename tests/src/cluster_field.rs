//! One real control plane and one embedded API for all tests of a program, one test at a time.

use crate::SYSTEM;
use anyhow::Context as _;
use crds::{Drone, GroundOrder, Mission, Swarm, Vehicle};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use testkit::control_plane::Request;
use testkit::{Cluster, ControlPlane, Launch, Process, ServedBy, wait_for};

pub const PATIENCE: Duration = Duration::from_secs(40);

const COORDINATOR: &str = "system:serviceaccount:skein-system:skein-coordinator";

/// One test at a time on either: they share the machine.
static PLACES: Mutex<Places> = Mutex::new(Places {
    kubernetes: None,
    embedded: None,
});

struct Places {
    kubernetes: Option<&'static Place>,
    embedded: Option<&'static Place>,
}

struct Place {
    cluster: Cluster,
    coordinator: PathBuf,
}

impl Places {
    fn get(&mut self, served_by: ServedBy) -> &'static Place {
        let place = match served_by {
            ServedBy::Kubernetes => &mut self.kubernetes,
            ServedBy::Embedded => &mut self.embedded,
        };
        // Never dropped: the kernel ends its processes with this one, and the sweeper removes its files.
        place.get_or_insert_with(|| Box::leak(Box::new(Place::start(served_by).unwrap())))
    }
}

impl Place {
    fn start(served_by: ServedBy) -> anyhow::Result<Self> {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let cluster = Cluster::start(served_by, &["deploy/namespace.yaml"], &["deploy/rbac.yaml"])?;
        let coordinator = cluster.service_account_kubeconfig(SYSTEM, "skein-coordinator")?;
        Ok(Self { cluster, coordinator })
    }
}

pub struct Field {
    place: &'static Place,
    pub client: Client,
    runs: usize,
    asked_before: usize,
    /// A namespace whose ResourceQuota refuses Drones; none elsewhere are.
    pub at_quota: Option<&'static str>,
    _one: MutexGuard<'static, Places>,
}

pub struct Coordinator {
    pub process: Process,
    pub address: String,
    pub metrics: String,
}

impl Field {
    #[allow(
        clippy::await_holding_lock,
        reason = "the lock lets one test at a time run, and each has its own runtime"
    )]
    pub async fn clean(served_by: ServedBy) -> Self {
        let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        let place = places.get(served_by);
        let kubeconfig = kube::config::Kubeconfig::read_from(place.cluster.kubeconfig()).unwrap();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default())
            .await
            .unwrap();
        let client = Client::try_from(config).unwrap();
        let requests = |plane: &ControlPlane| plane.requests().unwrap().len();
        let field = Self {
            asked_before: place.cluster.kubernetes().map_or(0, requests),
            at_quota: None,
            place,
            client,
            runs: 0,
            _one: places,
        };
        field.wipe().await;
        for namespace in ["north", "south"] {
            let object = Namespace {
                metadata: named(namespace),
                ..Namespace::default()
            };
            let _ = Api::all(field.client.clone())
                .create(&PostParams::default(), &object)
                .await;
        }
        field
    }

    async fn wipe(&self) {
        let free = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        let (delete, all) = (DeleteParams::default(), ListParams::default());
        let missions: Api<Mission> = Api::all(self.client.clone());
        for mission in missions.list(&all).await.unwrap() {
            let api: Api<Mission> = Api::namespaced(self.client.clone(), &mission.namespace().unwrap());
            let _ = api.delete(&mission.name_any(), &delete).await;
            let _ = api.patch(&mission.name_any(), &PatchParams::default(), &free).await;
        }
        let swarms: Api<Swarm> = Api::all(self.client.clone());
        for swarm in swarms.list(&all).await.unwrap() {
            let api = self.swarms(&swarm.namespace().unwrap());
            let _ = api.delete(&swarm.name_any(), &delete).await;
            let _ = api.patch(&swarm.name_any(), &PatchParams::default(), &free).await;
        }
        let drones: Api<Drone> = Api::all(self.client.clone());
        for drone in drones.list(&all).await.unwrap() {
            let api = self.drones(&drone.namespace().unwrap());
            let _ = api.delete(&drone.name_any(), &delete).await;
            let _ = api.patch(&drone.name_any(), &PatchParams::default(), &free).await;
        }
        let orders: Api<GroundOrder> = Api::all(self.client.clone());
        for order in orders.list(&all).await.unwrap() {
            let _ = orders.delete(&order.name_any(), &delete).await;
            let _ = orders.patch(&order.name_any(), &PatchParams::default(), &free).await;
        }
        // One that was in the air when its coordinator was killed would be waited for by the next.
        let _ = Api::<Vehicle>::all(self.client.clone())
            .delete_collection(&delete, &all)
            .await;
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), SYSTEM);
        // Does not wait for the killed coordinators of the test before.
        let vacant = Patch::Merge(json!({
            "metadata": {"annotations": {crds::labels::WENT_BACK: null, crds::labels::RAISED_TO: null, crds::labels::TERM_EPOCH: null}},
            "spec": {"holderIdentity": null},
        }));
        let _ = leases
            .patch("skein-coordinator", &PatchParams::default(), &vacant)
            .await;
        leases
            .delete_collection(&delete, &all.clone().labels("skein.dev/claim"))
            .await
            .unwrap();
        Api::<Node>::all(self.client.clone())
            .delete_collection(&delete, &all)
            .await
            .unwrap();
    }

    pub fn cluster(&self) -> &Cluster {
        &self.place.cluster
    }

    pub fn read(&self, path: &str) -> Value {
        let path = format!("/apis/skein.dev/v1alpha1/{path}");
        self.cluster().kubectl().read(&path).unwrap()
    }

    pub fn coordinator(&mut self) -> Coordinator {
        self.coordinator_with(|launch| launch)
    }

    /// Links are in plain text: `attacks.rs` is about their security.
    pub fn coordinator_with(&mut self, change: impl FnOnce(Launch) -> Launch) -> Coordinator {
        self.start(|launch| change(launch).arg("--insecure-plaintext"))
    }

    pub fn secured_coordinator(&mut self, change: impl FnOnce(Launch) -> Launch) -> Coordinator {
        self.start(change)
    }

    fn start(&mut self, change: impl FnOnce(Launch) -> Launch) -> Coordinator {
        self.runs += 1;
        let fresh = |what: &str| {
            let name = format!("{what}-{}-{}", std::process::id(), self.runs);
            let file = self.cluster().scratch().path().join(name);
            let _ = std::fs::remove_file(&file);
            file
        };
        let (file, metrics) = (fresh("address"), fresh("metrics"));
        let launch = Launch::workspace("skein-coordinator").unwrap();
        let process = change(launch)
            .env("KUBECONFIG", &self.place.coordinator)
            .env("RUST_LOG", "info,coordinator=debug")
            .args(["--listen", "127.0.0.1:0", "--namespace", SYSTEM, "--listen-file"])
            .arg(&file)
            .args(["--metrics-listen", "127.0.0.1:0", "--metrics-listen-file"])
            .arg(&metrics)
            .start()
            .unwrap();
        let read_from = |file: &PathBuf| {
            let address = wait_for("the coordinator's address", PATIENCE, || {
                process.ensure_running()?;
                Ok(std::fs::read_to_string(file)?)
            });
            address.unwrap()
        };
        let (address, metrics) = (read_from(&file), read_from(&metrics));
        Coordinator {
            process,
            address,
            metrics,
        }
    }

    pub fn nodes(&self, names: &[&str]) {
        self.cluster()
            .create_nodes(names, &[("node-role.kubernetes.io/drone", "")])
            .unwrap();
    }

    pub fn ground_orders(&self) -> Api<GroundOrder> {
        Api::all(self.client.clone())
    }

    pub fn swarms(&self, namespace: &str) -> Api<Swarm> {
        Api::namespaced(self.client.clone(), namespace)
    }

    pub fn drones(&self, namespace: &str) -> Api<Drone> {
        Api::namespaced(self.client.clone(), namespace)
    }

    pub async fn swarm(&self, namespace: &str, name: &str, spec: Value) {
        let object =
            json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": name}, "spec": spec});
        let object: Swarm = serde_json::from_value(object).unwrap();
        self.swarms(namespace)
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
    }

    pub async fn drone(&self, namespace: &str, metadata: Value, spec: Value) {
        let object = json!({"apiVersion": "skein.dev/v1alpha1", "kind": "Drone", "metadata": metadata, "spec": spec});
        let object: Drone = serde_json::from_value(object).unwrap();
        self.drones(namespace)
            .create(&PostParams::default(), &object)
            .await
            .unwrap();
    }

    pub async fn scale(&self, namespace: &str, name: &str, replicas: i32) {
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.swarms(namespace)
            .patch(name, &PatchParams::default(), &patch)
            .await
            .unwrap();
    }

    pub async fn all_drones(&self) -> Vec<Drone> {
        Api::<Drone>::all(self.client.clone())
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
    }

    pub async fn until_drones(&self, what: &str, test: impl Fn(&[Drone]) -> bool) -> Vec<Drone> {
        self.until(what, async || {
            let drones = self.all_drones().await;
            let all: Vec<_> = drones.iter().map(described).collect();
            if test(&drones) {
                Ok(drones)
            } else {
                Err(format!("{all:#?}"))
            }
        })
        .await
    }

    pub async fn until<T>(&self, what: &str, probe: impl AsyncFn() -> Result<T, String>) -> T {
        testkit::until(what, PATIENCE, probe).await
    }

    pub fn asked(&self) -> Option<Vec<Request>> {
        let all = self.cluster().kubernetes()?.requests().context("audit log").unwrap();
        let ours = all.into_iter().skip(self.asked_before);
        Some(ours.filter(|r| r.user == COORDINATOR).collect())
    }

    /// Leaves out Events and the renewal of their own Lease.
    pub fn written(&self) -> Option<Vec<Request>> {
        let writes = ["create", "update", "patch", "delete"];
        let asked = self.asked()?.into_iter().filter(|r| r.name != "skein-coordinator");
        let written = asked.filter(|r| writes.contains(&r.verb.as_str()) && r.resource != "events");
        Some(written.collect())
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let asked = self.asked().unwrap_or_default().into_iter();
            let by_quota = |r: &Request| {
                r.verb == "create" && r.resource == "drones" && self.at_quota == Some(r.namespace.as_str())
            };
            let refused: Vec<_> = asked.filter(|r| r.code == 403 && !by_quota(r)).collect();
            assert!(
                refused.is_empty(),
                "the coordinator asked for what it may not have: {refused:#?}"
            );
        }
    }
}

fn named(name: &str) -> kube::core::ObjectMeta {
    kube::core::ObjectMeta {
        name: Some(name.into()),
        ..Default::default()
    }
}

pub fn described(drone: &Drone) -> String {
    let status = drone.status.clone().unwrap_or_default();
    let ready = status.conditions.iter().find(|c| c.type_ == "Ready");
    format!(
        "{}/{} node={:?} deleting={} phase={:?} flying={:?} {}",
        drone.namespace().unwrap_or_default(),
        drone.name_any(),
        drone.spec.node_name,
        drone.metadata.deletion_timestamp.is_some(),
        status.phase,
        status.flying,
        ready.map(|c| c.message.clone()).unwrap_or_default(),
    )
}

pub fn phase(drone: &Drone) -> &str {
    drone
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref())
        .unwrap_or_default()
}

pub fn condition(drone: &Drone, kind: &str) -> (String, String, String) {
    let conditions = drone.status.clone().unwrap_or_default().conditions;
    let found = conditions.into_iter().find(|c| c.type_ == kind);
    found.map(|c| (c.status, c.reason, c.message)).unwrap_or_default()
}
