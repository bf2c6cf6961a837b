//! Where `kubectl skein` is tried: a real control plane, a real coordinator that counts as a Pod, and a stand-in for the kubelet
//! of its node.
//!
//! Owns: starting them, and people with rights. Must not: judge.

use crate::kubelet::Kubelet;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tests::{ControlPlane, Launch, Process, Scratch, wait_for};

pub const PATIENCE: Duration = Duration::from_secs(60);
pub const SYSTEM: &str = "skein-system";
const NODE: &str = "ground";
const POD: &str = "skein-coordinator-7d9f-x2x";

/// One place at a time: there is one Pod, and one ConfigMap.
static ONE: Mutex<()> = Mutex::new(());

pub struct Place {
    pub coordinator: Process,
    pub kubelet: Kubelet,
    pub plane: &'static ControlPlane,
    pub scratch: Scratch,
    port: u16,
    _one: MutexGuard<'static, ()>,
}

fn plane() -> anyhow::Result<&'static ControlPlane> {
    let start = || {
        // Fails only if a provider is installed already, which is as good.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let manifests = ["crds", "deploy/namespace.yaml", "deploy/rbac.yaml"];
        let plane = ControlPlane::builder().manifests(manifests).start()?;
        plane.create_nodes(&[NODE], &[])?;
        Ok(plane)
    };
    ControlPlane::shared(start)
}

impl Place {
    pub fn new() -> anyhow::Result<Self> {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let plane = plane()?;
        let scratch = Scratch::new("kubectl-skein-")?;
        let port = tests::ports::free_tcp_port()?;
        let coordinator = start(plane, &scratch, port)?;
        let kubelet = Kubelet::start(([127, 0, 0, 1], port).into());
        let endpoint = json!({"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": kubelet.address.port()}},
        }});
        let status = ["--subresource=status", "--type=merge", "-p"];
        let patch = |what: &[&str], to: &str| plane.kubectl().run([&["patch"], what, &status, &[to]].concat());
        patch(&["node", NODE], &endpoint.to_string())?;
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": POD, "namespace": SYSTEM, "labels": {"app.kubernetes.io/name": "skein-coordinator"}},
            "spec": {"nodeName": NODE, "containers": [
                {"name": "coordinator", "image": "skein-coordinator", "ports": [{"name": "grpc", "containerPort": 50051}]},
            ]},
        });
        plane.kubectl().apply(&pod.to_string())?;
        let ready = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}});
        patch(&["pod", POD, "-n", SYSTEM], &ready.to_string())?;
        wait_for("ConfigMap skein-ca", PATIENCE, || {
            plane.kubectl().run(["get", "configmap", "skein-ca", "-n", SYSTEM])
        })?;
        Ok(Self {
            coordinator,
            kubelet,
            plane,
            scratch,
            port,
            _one: one,
        })
    }

    /// Where the coordinator listens.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Ends the coordinator and starts it again at the same port.
    pub fn roll(&mut self) -> anyhow::Result<()> {
        self.coordinator.signal(tests::process::Signal::SIGTERM)?;
        self.coordinator.wait_for_exit(PATIENCE)?;
        self.coordinator = start(self.plane, &self.scratch, self.port)?;
        Ok(())
    }

    /// The kubeconfig of somebody who has no rights yet.
    pub fn person(&self, name: &str) -> anyhow::Result<PathBuf> {
        self.plane
            .kubectl()
            .run(["create", "serviceaccount", name, "-n", "default"])?;
        self.plane.service_account_kubeconfig("default", name)
    }

    /// Gives a person what is needed to get through to the coordinator.
    pub fn let_through(&self, name: &str) -> anyhow::Result<()> {
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "way", "namespace": SYSTEM},
            "rules": [
                {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
                {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"]},
                {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["skein-ca"], "verbs": ["get"]},
            ],
        });
        self.plane.kubectl().apply(&role.to_string())?;
        let to = format!("--serviceaccount=default:{name}");
        let binding = ["create", "rolebinding", name, "-n", SYSTEM, "--role=way", &to];
        self.plane.kubectl().run(binding).map(drop)
    }

    /// Grants a person a verb on a resource of Skein, everywhere.
    pub fn grant(&self, name: &str, verb: &str, resource: &str) -> anyhow::Result<()> {
        let role = format!("{name}-{verb}-{resource}");
        let (verb, resource) = (format!("--verb={verb}"), format!("--resource={resource}.skein.dev"));
        let make = ["create", "clusterrole", &role, &verb, &resource];
        self.plane.kubectl().run(make)?;
        let (role_flag, to) = (
            format!("--clusterrole={role}"),
            format!("--serviceaccount=default:{name}"),
        );
        let bind = ["create", "clusterrolebinding", &role, &role_flag, &to];
        self.plane.kubectl().run(bind).map(drop)
    }

    /// `kubectl skein ...` with this kubeconfig, by kubectl itself.
    pub fn kubectl_skein(&self, kubeconfig: &Path, args: &[&str]) -> anyhow::Result<Output> {
        tests::run::output(self.plugin(kubeconfig, args)?, None, Duration::from_secs(30))
    }

    fn plugin(&self, kubeconfig: &Path, args: &[&str]) -> anyhow::Result<Command> {
        let folder = self.scratch.folder("plugins")?;
        let plugin = folder.join("kubectl-skein");
        if !plugin.exists() {
            std::os::unix::fs::symlink(tests::launch::workspace_binary("skein")?, &plugin)?;
        }
        let mut command = Command::new(self.plane.binaries().path("kubectl"));
        let path = format!("{}:/usr/bin:/bin", folder.display());
        command.env_clear().env("PATH", path).env("KUBECONFIG", kubeconfig);
        command.arg("skein").args(args);
        Ok(command)
    }
}

fn start(plane: &ControlPlane, scratch: &Scratch, port: u16) -> anyhow::Result<Process> {
    let kubeconfig = plane.service_account_kubeconfig(SYSTEM, "skein-coordinator")?;
    Launch::workspace("skein-coordinator")?
        .env("KUBECONFIG", kubeconfig)
        .env("HOSTNAME", POD)
        .args(["--listen", &format!("127.0.0.1:{port}"), "--namespace", SYSTEM])
        .logs_in(scratch.folder("logs")?)
        .start()
}
