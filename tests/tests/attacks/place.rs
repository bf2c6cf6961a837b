//! One real control plane, and for each test a coordinator with the rights of deploy/rbac.yaml, a bystander, and nodes.

use skein_tests::certificates::ClusterAuthority;
use skein_tests::session::Bystander;
use skein_tests::tokens;
use skein_tests::way::Way;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use testkit::{ControlPlane, Launch, Process, wait_for};
use trust::Bundle;

pub use skein_tests::SYSTEM;
pub use skein_tests::waiting::{PATIENCE, until};

static ONE: Mutex<()> = Mutex::new(());

pub struct Place {
    pub plane: &'static ControlPlane,
    pub coordinator: Process,
    pub way: Way,
    _one: MutexGuard<'static, ()>,
}

pub fn plane() -> &'static ControlPlane {
    let start = || {
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let manifests = ["crds", "deploy/namespace.yaml", "deploy/rbac.yaml"];
        let people = people();
        let builder = ControlPlane::builder().client_authority(people.certificate_pem(), people.key_pem());
        let plane = builder.manifests(manifests).start()?;
        plane.create_nodes(&["bystander", "a", "b"], &[("node-role.kubernetes.io/drone", "")])?;
        Ok(plane)
    };
    ControlPlane::shared(start).unwrap()
}

pub fn people() -> &'static ClusterAuthority {
    static PEOPLE: OnceLock<ClusterAuthority> = OnceLock::new();
    PEOPLE.get_or_init(ClusterAuthority::make)
}

impl Place {
    pub fn new() -> Self {
        Self::with(&[])
    }

    pub fn with(flags: &[&str]) -> Self {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let plane = plane();
        let kubeconfig = plane.service_account_kubeconfig(SYSTEM, "skein-coordinator").unwrap();
        let stale = [
            "delete",
            "configmap",
            "skein-ca",
            "skein-enrolled",
            "-n",
            SYSTEM,
            "--ignore-not-found",
        ];
        plane.kubectl().run(stale).unwrap();
        let (coordinator, address) = start(plane, &kubeconfig, flags);
        let way = Way::new(&address, published(plane));
        Self {
            plane,
            coordinator,
            way,
            _one: one,
        }
    }

    pub async fn bystander(&self) -> Bystander {
        let token = tokens::of_agent(self.plane, "bystander");
        Bystander::start(self.way.clone(), &token).await
    }

    pub fn until_logged(&self, words: &[&str]) -> String {
        let logged = |line: &str| words.iter().all(|word| line.contains(word));
        self.coordinator.wait_for_line(PATIENCE, logged).unwrap()
    }

    pub fn kubectl<const N: usize>(&self, args: [&str; N]) -> String {
        self.plane.kubectl().run(args).unwrap()
    }
}

fn start(plane: &ControlPlane, kubeconfig: &Path, flags: &[&str]) -> (Process, String) {
    let file: PathBuf = plane.scratch().path().join("address");
    let _ = std::fs::remove_file(&file);
    let process = Launch::workspace("skein-coordinator")
        .unwrap()
        .env("KUBECONFIG", kubeconfig)
        .env("RUST_LOG", "info,coordinator=debug")
        .args(["--listen", "127.0.0.1:0", "--namespace", SYSTEM, "--listen-file"])
        .arg(&file)
        .args(flags)
        .start()
        .unwrap();
    let address = process.wait_until("the coordinator's address", PATIENCE, || {
        Ok(std::fs::read_to_string(&file)?)
    });
    (process, address.unwrap())
}

pub fn published(plane: &ControlPlane) -> Bundle {
    let path = format!("/api/v1/namespaces/{SYSTEM}/configmaps/skein-ca");
    let bundle = wait_for("ConfigMap skein-ca", PATIENCE, || {
        let map = plane.kubectl().read(&path)?;
        Ok(Bundle::from_pem(map["data"]["ca.crt"].as_str().unwrap_or_default())?)
    });
    bundle.unwrap()
}
