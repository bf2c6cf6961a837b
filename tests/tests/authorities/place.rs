//! One real control plane, and coordinators with the rights of deploy/rbac.yaml.

use crate::kept;
use kube::config::{KubeConfigOptions, Kubeconfig};
use std::sync::atomic::{AtomicU32, Ordering};
use testkit::{ControlPlane, Launch, Process};
use tokio::sync::{Mutex, MutexGuard};
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

pub use skein_tests::SYSTEM;
pub use skein_tests::waiting::{PATIENCE, until};

pub fn plane() -> &'static ControlPlane {
    let start = || {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let manifests = ["crds", "deploy/namespace.yaml", "deploy/rbac.yaml"];
        let plane = ControlPlane::builder().manifests(manifests).start()?;
        plane.create_nodes(&["bystander", "a"], &[("node-role.kubernetes.io/drone", "")])?;
        Ok(plane)
    };
    ControlPlane::shared(start).unwrap()
}

pub async fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::const_new(());
    let one = ONE.lock().await;
    kept::forget(plane());
    kept::remove(plane(), "lease", "skein-coordinator");
    one
}

pub async fn client() -> kube::Client {
    let path = plane().service_account_kubeconfig(SYSTEM, "skein-coordinator").unwrap();
    let kubeconfig = Kubeconfig::read_from(path).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    kube::Client::try_from(config.unwrap()).unwrap()
}

pub struct Coordinator {
    pub process: Process,
    pub address: String,
    health: u16,
}

impl Coordinator {
    pub fn start() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let kubeconfig = plane().service_account_kubeconfig(SYSTEM, "skein-coordinator").unwrap();
        let file = plane().scratch().path().join(format!("address-{number}"));
        let health = testkit::ports::free_tcp_port().unwrap();
        let process = Launch::workspace("skein-coordinator")
            .unwrap()
            .named(format!("coordinator-{number}"))
            .env("KUBECONFIG", kubeconfig)
            .args(["--listen", "127.0.0.1:0", "--namespace", SYSTEM])
            .args(["--health-listen", &format!("127.0.0.1:{health}"), "--listen-file"])
            .arg(&file)
            .start()
            .unwrap();
        let address = process.wait_until("the coordinator's address", PATIENCE, || {
            Ok(std::fs::read_to_string(&file)?)
        });
        Self {
            address: address.unwrap(),
            process,
            health,
        }
    }

    pub fn until_logged(&self, words: &[&str]) -> String {
        let logged = |line: &str| words.iter().all(|word| line.contains(word));
        self.process.wait_for_line(PATIENCE, logged).unwrap()
    }

    pub fn has_logged(&self, words: &str) -> bool {
        self.process.stderr().contains(words)
    }

    pub async fn is_ready(&self) -> bool {
        let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{}", self.health)).unwrap();
        let asked = HealthClient::new(endpoint.connect().await.unwrap())
            .check(HealthCheckRequest::default())
            .await;
        asked.unwrap().into_inner().status() == ServingStatus::Serving
    }
}
