//! An API server, real or embedded, and coordinator, agents and simulated vehicles as processes, over pseudo-terminals.

use crate::SYSTEM;
use crate::wire::Wire;
use anyhow::{Context, ensure};
use crds::kinds::ALL;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;
use testkit::{Cluster, Launch, Process, Scratch, ServedBy, wait_for};

pub const PATIENCE: Duration = Duration::from_secs(90);

/// An ArduPilot takes 41.5 s to be ready.
const SPEEDUP: &str = "10";

/// One stage at a time: two cores carry one fleet.
static TAKEN: Mutex<bool> = Mutex::new(false);
static FREE: Condvar = Condvar::new();

struct StagePermit;

impl StagePermit {
    fn wait() -> Self {
        let taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = FREE.wait_while(taken, |taken| *taken);
        *taken.unwrap_or_else(PoisonError::into_inner) = true;
        Self
    }
}

impl Drop for StagePermit {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap_or_else(PoisonError::into_inner) = false;
        FREE.notify_one();
    }
}

pub struct Stage {
    agents: BTreeMap<String, Process>,
    coordinator: Option<Process>,
    _simulator: Process,
    pub cluster: LentCluster,
    scratch: Scratch,
    kubeconfig: PathBuf,
    port: u16,
    logs: PathBuf,
    settings: Vec<(&'static str, String)>,
    _permit: StagePermit,
}

static SPARE: Mutex<Option<Cluster>> = Mutex::new(None);

pub struct LentCluster(Option<Cluster>);

impl LentCluster {
    fn take(served_by: ServedBy) -> anyhow::Result<Self> {
        let spare = || SPARE.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(cluster) = (served_by == ServedBy::Kubernetes).then(spare).flatten() {
            clear(&cluster)?;
            return Ok(Self(Some(cluster)));
        }
        let cluster = Cluster::start(served_by, &["deploy/namespace.yaml"], &["deploy/rbac.yaml"])?;
        Ok(Self(Some(cluster)))
    }
}

impl Deref for LentCluster {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for LentCluster {
    fn deref_mut(&mut self) -> &mut Cluster {
        self.0.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for LentCluster {
    fn drop(&mut self) {
        if let Some(cluster) = self.0.take_if(|cluster| cluster.kubernetes().is_some()) {
            *SPARE.lock().unwrap_or_else(PoisonError::into_inner) = Some(cluster);
        }
    }
}

/// Removes finalizers, too: nothing else is left to do so.
fn clear(cluster: &Cluster) -> anyhow::Result<()> {
    let kubectl = cluster.kubectl();
    let kinds = ALL.map(|kind| format!("{}.skein.dev", kind.plural)).join(",");
    let left = kubectl.json(["get", &*kinds, "-A"])?;
    for object in left["items"].as_array().into_iter().flatten() {
        let name = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        let kind = object["kind"].as_str().unwrap_or_default();
        let object = [kind, name("name"), "-n", name("namespace")];
        let free = [
            &["patch"][..],
            &object,
            &["--type=merge", "-p", r#"{"metadata":{"finalizers":null}}"#],
        ]
        .concat();
        kubectl.run([&["delete"][..], &object, &["--wait=false"]].concat())?;
        // Fails for one that had none, as it is gone at once.
        let _ = kubectl.run(free);
    }
    let ours = [
        "lease/skein-coordinator",
        "secret/skein-ca",
        "configmap/skein-ca",
        "configmap/skein-enrolled",
    ];
    kubectl.run([&["delete", "-n", SYSTEM, "--ignore-not-found"][..], &ours].concat())?;
    kubectl.run(["delete", "leases", "-n", SYSTEM, "-l", "skein.dev/claim"])?;
    kubectl.run(["delete", "nodes", "--all"])?;
    Ok(())
}

impl Stage {
    pub fn set(served_by: ServedBy, vehicles: &[&str], autopilot: &str, more: &[&str]) -> anyhow::Result<Self> {
        Self::set_by_way_of(served_by, vehicles, autopilot, more, |_, kubeconfig| Ok(kubeconfig))
    }

    pub fn set_by_way_of(
        served_by: ServedBy,
        vehicles: &[&str],
        autopilot: &str,
        more: &[&str],
        way: impl FnOnce(&Cluster, PathBuf) -> anyhow::Result<PathBuf>,
    ) -> anyhow::Result<Self> {
        Self::set_with(served_by, vehicles, autopilot, more, (way, vec![]))
    }

    pub fn set_with(
        served_by: ServedBy,
        vehicles: &[&str],
        autopilot: &str,
        more: &[&str],
        (way, settings): (
            impl FnOnce(&Cluster, PathBuf) -> anyhow::Result<PathBuf>,
            Vec<(&'static str, String)>,
        ),
    ) -> anyhow::Result<Self> {
        let permit = StagePermit::wait();
        let cluster = LentCluster::take(served_by)?;
        let scratch = Scratch::new("skein-stage-")?;
        let kubeconfig = cluster.service_account_kubeconfig(SYSTEM, "skein-coordinator")?;
        let kubeconfig = way(&cluster, kubeconfig)?;
        let logs = scratch.folder("logs")?;
        let simulator = Launch::workspace("skein-sitl")?
            .args(["--count", &vehicles.len().to_string(), "--autopilot", autopilot])
            .args(
                (!more.contains(&"--speedup"))
                    .then_some(["--speedup", SPEEDUP])
                    .into_iter()
                    .flatten(),
            )
            .args(["--names", &vehicles.join(",")])
            .args(["--link", &format!("pty:{}", scratch.folder("ports")?.display())])
            // At ten times real time, a slow machine would otherwise need reliefs.
            .args(["--battery-percent-per-minute", "0.1"])
            .arg("--wire-log")
            .arg(scratch.folder("wire")?)
            .args(more)
            .logs_in(&logs)
            .start()?;
        for vehicle in vehicles {
            simulator.wait_for_line(PATIENCE, |line| line.contains(&format!("\"{vehicle}\"")))?;
        }
        let port = testkit::ports::free_tcp_port()?;
        let mut stage = Self {
            agents: BTreeMap::new(),
            coordinator: None,
            _simulator: simulator,
            cluster,
            scratch,
            kubeconfig,
            port,
            logs,
            settings,
            _permit: permit,
        };
        stage.start_coordinator()?;
        Ok(stage)
    }

    pub fn start_coordinator(&mut self) -> anyhow::Result<()> {
        let process = Launch::workspace("skein-coordinator")?
            .args(["--listen", &format!("127.0.0.1:{}", self.port), "--namespace", SYSTEM])
            .args((!self.is_secured()).then_some("--insecure-plaintext"))
            .env("KUBECONFIG", &self.kubeconfig)
            .envs(self.settings.iter().map(|(name, value)| (*name, &**value)))
            .logs_in(&self.logs)
            .start()?;
        self.coordinator = Some(process);
        wait_for("the coordinator to answer", PATIENCE, || self.status().map(drop))?;
        if self.is_secured() {
            let published = ["get", "configmap", "skein-ca", "-n", SYSTEM];
            let published = self.cluster.kubectl().json(published)?;
            let text = published["data"]["ca.crt"].as_str().context("no ca.crt")?;
            std::fs::write(self.file("ca.crt"), text)?;
        }
        Ok(())
    }

    /// Links are secured as in a cluster; the embedded API knows no tokens of ServiceAccounts.
    pub fn is_secured(&self) -> bool {
        self.cluster.kubernetes().is_some()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn credentials(&self, node: &str) -> anyhow::Result<Vec<(&'static str, PathBuf)>> {
        if !self.is_secured() {
            return Ok(vec![]);
        }
        let file = self.file(&format!("token-{node}"));
        // A container that is started again finds its previous token.
        if !file.exists() {
            let bound = ["--bound-object-kind", "Node", "--bound-object-name", node];
            let token = [
                "create",
                "token",
                "skein-agent",
                "-n",
                SYSTEM,
                "--audience",
                "skein-coordinator",
                "--duration",
                "24h",
            ];
            let token = self.cluster.kubectl().run([&token[..], &bound].concat())?;
            std::fs::write(&file, token)?;
        }
        Ok(vec![
            ("SKEIN_TOKEN_FILE", file),
            ("SKEIN_COORDINATOR_CA", self.file("ca.crt")),
        ])
    }

    pub fn kill_coordinator(&mut self) {
        if let Some(process) = self.coordinator.take() {
            process.kill();
        }
    }

    pub fn add_node(&mut self, node: &str) -> anyhow::Result<()> {
        self.add_node_with(node, &[])
    }

    pub fn add_node_with(&mut self, node: &str, labels: &[(&str, &str)]) -> anyhow::Result<()> {
        let mut all = vec![("node-role.kubernetes.io/drone", "")];
        all.extend_from_slice(labels);
        self.cluster.create_node(node, &all)?;
        self.start_agent(node)
    }

    pub fn start_agent(&mut self, node: &str) -> anyhow::Result<()> {
        let state = self.scratch.folder("state")?.join(node);
        std::fs::create_dir_all(&state)?;
        let port = self.scratch.path().join("ports").join(node);
        let mut launch = Launch::workspace("skein-agent")?;
        for (name, value) in self.credentials(node)? {
            launch = launch.env(name, value);
        }
        let process = launch
            .named(format!("skein-agent-{node}"))
            .env("NODE", node)
            .env("SKEIN_LINK", format!("serial:{}:57600", port.display()))
            .env("SKEIN_COORDINATOR", self.server())
            .env("SKEIN_READY_FILE", self.ready_file(node))
            .arg("--state-dir")
            .arg(state)
            .envs(self.settings.iter().map(|(name, value)| (*name, &**value)))
            .logs_in(&self.logs)
            .start()?;
        self.agents.insert(node.to_owned(), process);
        Ok(())
    }

    pub fn agent(&self, node: &str) -> anyhow::Result<&Process> {
        self.agents.get(node).with_context(|| format!("{node} has no agent"))
    }

    fn ready_file(&self, node: &str) -> PathBuf {
        self.scratch.path().join(format!("ready-{node}"))
    }

    pub fn probe(&self, node: &str) -> anyhow::Result<()> {
        let mut command = std::process::Command::new(testkit::launch::workspace_binary("skein-agent")?);
        command
            .arg("--check-ready")
            .env("SKEIN_READY_FILE", self.ready_file(node));
        let output = testkit::run::output(command, None, Duration::from_secs(5))?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    pub fn coordinator(&self) -> anyhow::Result<&Process> {
        self.coordinator.as_ref().context("there is no coordinator")
    }

    pub fn take_agent(&mut self, node: &str) -> anyhow::Result<Process> {
        self.agents.remove(node).with_context(|| format!("{node} has no agent"))
    }

    pub fn server(&self) -> String {
        let scheme = if self.is_secured() { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{}", self.port)
    }

    pub fn wire(&self, node: &str) -> Wire {
        Wire(self.scratch.path().join("wire").join(format!("{node}.tlog")))
    }

    /// At their altitude, by their own messages.
    pub fn in_air<'a>(&self, nodes: &[&'a str]) -> Vec<&'a str> {
        nodes.iter().copied().filter(|n| self.wire(n).said().in_air()).collect()
    }

    /// Waits until exactly `count` are in the air and no other flies; returns which.
    pub fn wait_in_air<'a>(&self, nodes: &[&'a str], count: usize) -> anyhow::Result<Vec<&'a str>> {
        let what = format!("{count} of {} vehicles in the air", nodes.len());
        let result = wait_for(what, PATIENCE, || {
            let up = self.in_air(nodes);
            let others: Vec<_> = nodes.iter().filter(|n| !up.contains(n)).collect();
            let still: Vec<_> = others
                .into_iter()
                .filter(|n| !self.wire(n).said().not_flying())
                .collect();
            ensure!(
                up.len() == count && still.is_empty(),
                "in the air: {up:?}, armed besides: {still:?}"
            );
            Ok(up)
        });
        result.map_err(|error| self.explain(error))
    }

    pub fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        let seen = self
            .kubectl(&["get", "swarms,drones", "-A", "-o", "wide"])
            .unwrap_or_default();
        let mut all = format!("{seen}\n");
        for process in self.coordinator.iter().chain(self.agents.values()) {
            all += &format!("--- {}\n{}\n", process.name(), process.tail());
        }
        error.context(all)
    }

    pub fn read(&self, path: &str) -> anyhow::Result<Value> {
        self.cluster.kubectl().read(&format!("/apis/skein.dev/v1alpha1/{path}"))
    }

    pub fn kubectl(&self, args: &[&str]) -> anyhow::Result<String> {
        self.cluster.kubectl().run(args)
    }

    pub fn drones(&self, namespace: &str) -> anyhow::Result<Vec<Value>> {
        let list = self.read(&format!("namespaces/{namespace}/drones"))?;
        Ok(list["items"].as_array().cloned().unwrap_or_default())
    }

    pub fn status(&self) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.skein(&["status", "-o", "json"])?)?)
    }

    pub fn skein(&self, args: &[&str]) -> anyhow::Result<String> {
        let mut command = std::process::Command::new(testkit::launch::workspace_binary("skein")?);
        command.args(["--server", &self.server()]);
        if self.is_secured() {
            // The person's credential; the authority is read from the cluster.
            command.arg("--kubeconfig").arg(self.cluster.kubeconfig());
        }
        command.args(args);
        let output = testkit::run::output(command, None, Duration::from_secs(15))?;
        ensure!(
            output.status.success(),
            "skein {args:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }
}

pub fn swarm(namespace: &str, name: &str, replicas: u32, selector: &[(&str, &str)]) -> String {
    let selector: BTreeMap<_, _> = selector.iter().copied().collect();
    serde_json::json!({
        "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": replicas, "nodeSelector": selector},
    })
    .to_string()
}

pub fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let all = object["status"]["conditions"].as_array();
    all.into_iter()
        .flatten()
        .find(|c| c["type"] == kind)
        .unwrap_or(&Value::Null)
}
