//! One measured fleet: API, coordinator, agents and simulated vehicles as processes.

use anyhow::{Context, ensure};
use crds::Swarm;
use kube::api::{ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use mavlink::dialects::ardupilotmega::MavCmd;
use serde_json::{Value, json};
use skein_tests::wire::{Wire, now};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use testkit::{ControlPlane, Launch, Process, Scratch, wait_for};
use tokio::runtime::Runtime;

const PATIENCE: Duration = Duration::from_secs(120);

/// An ArduCopter can fly in GUIDED 41.5 s after its start.
const ARDUPILOT_WARMS_UP: Duration = Duration::from_secs(50);

const SYSTEM: &str = "skein-system";

pub struct Side {
    name: &'static str,
    runtime: Runtime,
    swarms: Api<Swarm>,
    server: String,
    wires: Vec<Wire>,
    warm: Instant,
    // Fields are dropped in this order.
    _agents: Vec<Process>,
    _simulator: Process,
    _coordinator: Process,
    _plane: Option<ControlPlane>,
    _scratch: Scratch,
}

impl Side {
    pub fn kubernetes(vehicles: &[String], autopilot: &str) -> anyhow::Result<Self> {
        let scratch = Scratch::new("skein-bench-")?;
        let plane = ControlPlane::builder()
            .durable(true)
            .manifests(["crds", "deploy/namespace.yaml", "deploy/rbac.yaml"])
            .start()?;
        plane.create_nodes(vehicles, &[("node-role.kubernetes.io/drone", "")])?;
        let address = free_address()?;
        let coordinator = Launch::workspace("skein-coordinator")?
            .args(["--listen", &address, "--namespace", SYSTEM, "--insecure-plaintext"])
            .env(
                "KUBECONFIG",
                plane.service_account_kubeconfig(SYSTEM, "skein-coordinator")?,
            )
            .logs_in(scratch.path().join("logs"))
            .start()?;
        let kubeconfig = plane.kubeconfig().to_owned();
        Self::start(
            "kube-apiserver + etcd",
            scratch,
            &kubeconfig,
            address,
            coordinator,
            Some(plane),
            (vehicles, autopilot),
        )
    }

    pub fn embedded(vehicles: &[String], autopilot: &str) -> anyhow::Result<Self> {
        let scratch = Scratch::new("skein-bench-")?;
        let address = free_address()?;
        let kubeconfig = scratch.path().join("kubeconfig");
        let up = Launch::workspace("skein")?
            .args(["up", "--listen", &address, "--data-dir"])
            .arg(scratch.path().join("data"))
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .logs_in(scratch.path().join("logs"))
            .start()?;
        up.wait_until("the kubeconfig of `skein up`", PATIENCE, || {
            ensure!(kubeconfig.is_file(), "it is not written yet");
            Ok(())
        })?;
        Self::start(
            "embedded",
            scratch,
            &kubeconfig,
            address,
            up,
            None,
            (vehicles, autopilot),
        )
    }

    fn start(
        name: &'static str,
        scratch: Scratch,
        kubeconfig: &Path,
        address: String,
        coordinator: Process,
        plane: Option<ControlPlane>,
        (vehicles, autopilot): (&[String], &str),
    ) -> anyhow::Result<Self> {
        let [ports, wires, logs] = ["ports", "wires", "logs"].map(|name| scratch.path().join(name));
        let server = format!("http://{address}");
        let runtime = Runtime::new()?;
        // PX4 arms in its present mode. An ArduPilot has to change its mode first and to run its checks again.
        let simulator = Launch::workspace("skein-sitl")?
            .args(["--autopilot", autopilot, "--names", &vehicles.join(",")])
            .args(["--link", &format!("pty:{}", ports.display())])
            .arg("--wire-log")
            .arg(&wires)
            .logs_in(&logs)
            .start()?;
        // Readiness depends on the mode; in the agent's ArduPilot is ready last.
        let warm = Instant::now()
            + if autopilot == "ardupilot" {
                ARDUPILOT_WARMS_UP
            } else {
                Duration::ZERO
            };
        let agents = vehicles.iter().map(|vehicle| {
            simulator.wait_for_line(PATIENCE, |line| line.contains(&format!("\"{vehicle}\"")))?;
            agent(vehicle, &ports.join(vehicle), &server, &scratch, &logs)
        });
        let agents = agents.collect::<anyhow::Result<_>>()?;
        Ok(Self {
            name,
            warm,
            swarms: runtime.block_on(swarms(kubeconfig))?,
            runtime,
            server,
            wires: vehicles
                .iter()
                .map(|name| Wire(wires.join(format!("{name}.tlog"))))
                .collect(),
            _agents: agents,
            _simulator: simulator,
            _coordinator: coordinator,
            _plane: plane,
            _scratch: scratch,
        })
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn wait_until_ready(&self, count: usize) -> anyhow::Result<()> {
        wait_for("all vehicles to be ready", PATIENCE, || {
            let mut command = std::process::Command::new(testkit::launch::workspace_binary("skein")?);
            command.args(["--server", &self.server, "status", "-o", "json"]);
            let output = testkit::run::output(command, None, Duration::from_secs(10))?;
            let status: Value = serde_json::from_slice(&output.stdout).context("skein status prints no JSON")?;
            let vehicles = status.as_array().or_else(|| status["vehicles"].as_array());
            let ready = vehicles.map_or(0, |all| all.iter().filter(|vehicle| vehicle["ready"] == true).count());
            ensure!(ready == count, "{ready} of {count} are ready");
            ensure!(Instant::now() >= self.warm, "the vehicles are warming up");
            Ok(())
        })
    }

    pub fn apply_and_wait_for_arm(&self, sample: usize) -> anyhow::Result<Duration> {
        let swarm = json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm",
            "metadata": {"name": format!("sample-{sample:02}"), "namespace": "default"}, "spec": {"replicas": 1},
        });
        let swarm: Swarm = serde_json::from_value(swarm)?;
        // An open connection, like that of a controller or of a person in k9s.
        self.runtime.block_on(self.swarms.list(&ListParams::default()))?;
        let start = now();
        self.runtime
            .block_on(self.swarms.create(&PostParams::default(), &swarm))?;
        let arm = wait_for("an arm command on the wire", PATIENCE, || {
            let arms = self.wires.iter().flat_map(|wire| wire.commands_since(start));
            let first = arms
                .filter(|command| command.command == MavCmd::MAV_CMD_COMPONENT_ARM_DISARM)
                .map(|command| command.at)
                .min();
            first.context("none yet")
        })?;
        Ok(Duration::from_micros(arm - start))
    }
}

fn agent(vehicle: &str, port: &Path, server: &str, scratch: &Scratch, logs: &Path) -> anyhow::Result<Process> {
    let state: PathBuf = scratch.folder("state")?.join(vehicle);
    std::fs::create_dir_all(&state)?;
    Launch::workspace("skein-agent")?
        .named(format!("skein-agent-{vehicle}"))
        .env("NODE", vehicle)
        .env("SKEIN_LINK", format!("serial:{}:57600", port.display()))
        .env("SKEIN_COORDINATOR", server)
        .arg("--state-dir")
        .arg(state)
        .logs_in(logs)
        .start()
}

async fn swarms(kubeconfig: &Path) -> anyhow::Result<Api<Swarm>> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Api::namespaced(Client::try_from(config)?, "default"))
}

fn free_address() -> anyhow::Result<String> {
    Ok(format!("127.0.0.1:{}", testkit::ports::free_tcp_port()?))
}
