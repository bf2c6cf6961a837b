//! A real control plane, a real coordinator that counts as a Pod, and a fake kubelet of its node.

use serde_json::json;
use skein_tests::certificates::ClusterAuthority;
use skein_tests::kubelet::Kubelet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use testkit::{ControlPlane, Launch, Process, Scratch, wait_for};

pub const PATIENCE: Duration = Duration::from_secs(60);
pub const SYSTEM: &str = "skein-system";
const NODE: &str = "ground";
const POD: &str = "skein-coordinator-7d9f-x2x";

/// One at a time: there is one Pod, and one ConfigMap.
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
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let manifests = ["crds", "deploy/namespace.yaml", "deploy/rbac.yaml", "deploy/roles.yaml"];
        let people = people();
        let builder = ControlPlane::builder().client_authority(people.certificate_pem(), people.key_pem());
        let plane = builder.manifests(manifests).start()?;
        plane.create_nodes(&[NODE], &[])?;
        Ok(plane)
    };
    ControlPlane::shared(start)
}

pub fn people() -> &'static ClusterAuthority {
    static PEOPLE: OnceLock<ClusterAuthority> = OnceLock::new();
    PEOPLE.get_or_init(ClusterAuthority::make)
}

impl Place {
    pub fn new() -> anyhow::Result<Self> {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let plane = plane()?;
        let scratch = Scratch::new("kubectl-skein-")?;
        let port = testkit::ports::free_tcp_port()?;
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

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    pub fn roll(&mut self) -> anyhow::Result<()> {
        self.coordinator.signal(testkit::process::Signal::SIGTERM)?;
        self.coordinator.wait_for_exit(PATIENCE)?;
        self.coordinator = start(self.plane, &self.scratch, self.port)?;
        Ok(())
    }

    pub fn person(&self, name: &str) -> anyhow::Result<PathBuf> {
        self.plane
            .kubectl()
            .run(["create", "serviceaccount", name, "-n", "default"])?;
        self.plane.service_account_kubeconfig("default", name)
    }

    pub fn bind(&self, name: &str, role: &str) -> anyhow::Result<()> {
        let (binding, to) = (format!("{name}-{role}"), format!("--serviceaccount=default:{name}"));
        let role = format!("--role={role}");
        let bind = ["create", "rolebinding", &binding, "-n", SYSTEM, &role, &to];
        self.plane.kubectl().run(bind).map(drop)
    }

    pub fn bind_everywhere(&self, name: &str, role: &str) -> anyhow::Result<()> {
        let (binding, to) = (format!("{name}-{role}"), format!("--serviceaccount=default:{name}"));
        let role = format!("--clusterrole={role}");
        let bind = ["create", "clusterrolebinding", &binding, &role, &to];
        self.plane.kubectl().run(bind).map(drop)
    }

    pub fn requests_of(&self, name: &str) -> anyhow::Result<Vec<String>> {
        let all = self.plane.kubectl().json(["get", "certificatesigningrequests"])?;
        let user = format!("system:serviceaccount:default:{name}");
        let items = all["items"].as_array().cloned().unwrap_or_default();
        let of_them = items
            .into_iter()
            .filter(|item| item["spec"]["username"] == user.as_str());
        Ok(of_them
            .filter_map(|item| Some(item["metadata"]["name"].as_str()?.to_owned()))
            .collect())
    }

    pub fn grant(&self, name: &str, verb: &str, resource: &str) -> anyhow::Result<()> {
        let role = format!("{name}-{verb}-{resource}");
        let (verb, resource) = (format!("--verb={verb}"), format!("--resource={resource}.skein.dev"));
        let make = ["create", "clusterrole", &role, &verb, &resource];
        self.plane.kubectl().run(make)?;
        self.bind_everywhere(name, &role)
    }

    pub fn kubectl_skein(&self, kubeconfig: &Path, args: &[&str]) -> anyhow::Result<Output> {
        testkit::run::output(self.plugin(kubeconfig, args)?, None, Duration::from_secs(30))
    }

    pub fn start_kubectl_skein(&self, kubeconfig: &Path, args: &[&str]) -> anyhow::Result<Process> {
        let command = self.plugin(kubeconfig, args)?;
        let mut launch = Launch::program(command.get_program()).named("kubectl-skein");
        for (name, value) in command.get_envs() {
            launch = launch.env(name, value.unwrap_or_default());
        }
        launch
            .args(command.get_args())
            .logs_in(self.scratch.folder("logs")?)
            .start()
    }

    fn plugin(&self, kubeconfig: &Path, args: &[&str]) -> anyhow::Result<Command> {
        let folder = self.scratch.folder("plugins")?;
        let plugin = folder.join("kubectl-skein");
        if !plugin.exists() {
            std::os::unix::fs::symlink(testkit::launch::workspace_binary("skein")?, &plugin)?;
        }
        let mut command = Command::new(self.plane.binaries().path("kubectl"));
        let path = format!("{}:/usr/bin:/bin", folder.display());
        command.env_clear().env("PATH", path).env("KUBECONFIG", kubeconfig);
        command.env("HOME", self.scratch.folder("home")?);
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
