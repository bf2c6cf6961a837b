//! The demo's processes: control plane, coordinator, simulators, agents.
//!
//! Owns: starting them with each other's addresses, and their orderly end. Must not: watch what they achieve.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ::tests::control_plane::Binaries;
use ::tests::launch::workspace_binary;
use ::tests::{ControlPlane, Launch, Process};
use anyhow::Context;
use serde_json::{Value, json};

use super::Args;
use crate::generate::cargo;
use crate::say;

/// The name of the demo's Swarm, in namespace `default`.
pub const SWARM: &str = "demo";

/// What is applied before anything runs.
const MANIFESTS: [&str; 3] = ["crds", "deploy/namespace.yaml", "deploy/rbac.yaml"];

const DRONE_NODE: &str = "node-role.kubernetes.io/drone";
const SYSTEM: &str = "skein-system";
const COORDINATOR: &str = "skein-coordinator";

/// How long a program may take from its start to its first sign of life.
const FIRST_SIGN: Duration = Duration::from_secs(30);

/// How long an agent whose vehicle is on the ground, or a program that has nothing left to do, may take to end.
const LAST_SIGN: Duration = Duration::from_secs(15);

/// Builds what the demo runs; both say how far they are.
pub fn build_programs() -> anyhow::Result<()> {
    say::heading("building Skein's programs");
    let status = cargo()
        .args(["build", "--workspace", "--bins"])
        .status()
        .context("cannot start cargo")?;
    anyhow::ensure!(status.success(), "the programs do not build; see above");
    Binaries::find_or_build().map(drop)
}

/// All processes of a running demo.
// The order of the fields is the order of their end.
pub struct Stage {
    agents: Vec<Process>,
    coordinator: Process,
    simulator: Process,
    plane: ControlPlane,
    nodes: Vec<String>,
    uplink: String,
    skein: PathBuf,
}

impl Stage {
    /// Starts everything but the Swarm, and says so.
    pub fn set_up(args: &Args) -> anyhow::Result<Self> {
        say::heading("starting a Kubernetes control plane");
        let start = Instant::now();
        let plane = ControlPlane::builder().manifests(MANIFESTS).start()?;
        let nodes: Vec<String> = (1..=args.drones).map(|number| format!("node-{number}")).collect();
        plane.create_nodes(&nodes, &[(DRONE_NODE, "")])?;
        say::note(&format!(
            "{} with {} drone nodes, {}",
            plane.server(),
            nodes.len(),
            say::duration(start.elapsed())
        ));

        say::heading("starting coordinator, simulated vehicles and agents");
        let logs = plane.scratch().folder("demo-logs")?;
        let (coordinator, address) = start_coordinator(&plane, &logs)?;
        let uplink = format!("http://{address}");
        let ports_folder = plane.scratch().folder("ports")?;
        let simulator = Launch::workspace("skein-sitl")?
            .args([
                "--count",
                &args.drones.to_string(),
                "--autopilot",
                args.autopilot.name(),
            ])
            .args(["--speedup", &args.speedup.to_string(), "--names", &nodes.join(",")])
            .args(["--link", &format!("pty:{}", ports_folder.display())])
            .arg("--wire-log")
            .arg(plane.scratch().folder("wire")?)
            .logs_in(&logs)
            .start()?;
        let agents = nodes.iter().map(|node| {
            // The simulator prints a vehicle once its port can be opened.
            simulator.wait_for_line(FIRST_SIGN, |line| names_vehicle(line, node))?;
            start_agent(&plane, node, &ports_folder.join(node), &uplink, &logs)
        });
        let agents = agents.collect::<anyhow::Result<Vec<Process>>>()?;
        say::note(&format!("{} processes, logs in {}", agents.len() + 2, logs.display()));
        Ok(Self {
            agents,
            coordinator,
            simulator,
            plane,
            nodes,
            uplink,
            skein: workspace_binary("skein")?,
        })
    }

    /// Applies the Swarm.
    pub fn apply_swarm(&self, args: &Args) -> anyhow::Result<()> {
        let swarm = json!({
            "apiVersion": "skein.dev/v1alpha1", "kind": "Swarm", "metadata": {"name": SWARM, "namespace": "default"},
            "spec": {"replicas": args.drones, "template": {"spec": {"takeoffAltitudeMeters": args.altitude}}},
        });
        self.plane.kubectl().apply(&swarm.to_string()).map(drop)
    }

    /// Deletes the Swarm without waiting for its end.
    pub fn delete_swarm(&self) -> anyhow::Result<()> {
        self.plane
            .kubectl()
            .run(["delete", "swarm", SWARM, "--wait=false", "--ignore-not-found"])
            .map(drop)
    }

    /// The nodes, in order.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// All Drones, as the API server has them.
    pub fn drones(&self) -> anyhow::Result<Value> {
        self.plane
            .kubectl()
            .clone()
            .within(Duration::from_secs(10))
            .json(["get", "drones"])
    }

    /// What `skein status -o json` prints: the vehicles as they are now. Nothing when the coordinator does not answer.
    pub fn live(&self) -> Value {
        let mut command = std::process::Command::new(&self.skein);
        command.args(["--server", &self.uplink, "status", "-o", "json"]);
        let output = ::tests::run::output(command, None, Duration::from_secs(5));
        output
            .ok()
            .and_then(|output| serde_json::from_slice(&output.stdout).ok())
            .unwrap_or_default()
    }

    /// An error that shows the end of the log of a process that has died.
    pub fn ensure_running(&self) -> anyhow::Result<()> {
        self.plane.ensure_running()?;
        self.coordinator.ensure_running()?;
        self.simulator.ensure_running()?;
        self.agents.iter().try_for_each(Process::ensure_running)
    }

    /// What a person may do from another terminal while the vehicles hold.
    pub fn things_to_try(&self) -> String {
        let kubeconfig = self.plane.kubeconfig().display();
        let binaries = self.plane.binaries().folder().display();
        let (skein, uplink) = (self.skein.display(), &self.uplink);
        format!(
            "\nThe vehicles hold until Ctrl-C. Try, in another terminal:\n\
             \x20 export KUBECONFIG={kubeconfig} PATH={binaries}:$PATH\n\
             \x20 kubectl get drones                        # what their own autopilots say\n\
             \x20 kubectl scale swarm/{SWARM} --replicas=1      # all but one land\n\
             \x20 {skein} --server {uplink} ground {SWARM}    # all land and stay down, until `release`\n"
        )
    }

    /// Shows the ends of all logs.
    pub fn show_logs(&self) {
        for process in self.agents.iter().chain([&self.coordinator, &self.simulator]) {
            say::note(&format!("--- {}:\n{}", process.name(), process.tail()));
        }
    }

    /// Ends all of it, agents first.
    pub fn tear_down(self) -> anyhow::Result<()> {
        for agent in self.agents {
            agent.stop(LAST_SIGN)?;
        }
        self.coordinator.stop(LAST_SIGN)?;
        self.simulator.stop(LAST_SIGN).map(drop)
    }
}

/// Starts the coordinator on a port of its own choice and returns its address.
fn start_coordinator(plane: &ControlPlane, logs: &Path) -> anyhow::Result<(Process, SocketAddr)> {
    let address = plane.scratch().path().join("coordinator-address");
    let coordinator = Launch::workspace(COORDINATOR)?
        .args(["--listen", "127.0.0.1:0", "--namespace", SYSTEM, "--listen-file"])
        .arg(&address)
        .env("KUBECONFIG", plane.service_account_kubeconfig(SYSTEM, COORDINATOR)?)
        .logs_in(logs)
        .start()?;
    let listens = coordinator.wait_until("the coordinator to listen", FIRST_SIGN, || {
        let text = std::fs::read_to_string(&address).context("it has not written its address yet")?;
        Ok(text.trim().parse()?)
    })?;
    Ok((coordinator, listens))
}

fn start_agent(plane: &ControlPlane, node: &str, port: &Path, uplink: &str, logs: &Path) -> anyhow::Result<Process> {
    let state: PathBuf = plane.scratch().folder("agents")?.join(node);
    std::fs::create_dir_all(&state)?;
    Launch::workspace("skein-agent")?
        .named(format!("skein-agent {node}"))
        .env("NODE", node)
        .env("SKEIN_LINK", format!("serial:{}:57600", port.display()))
        .env("SKEIN_COORDINATOR", uplink)
        .arg("--state-dir")
        .arg(state)
        .logs_in(logs)
        .start()
}

fn names_vehicle(line: &str, name: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok_and(|vehicle| vehicle["name"] == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifests_that_the_demo_applies_are_there() {
        for path in MANIFESTS.map(|path| ::tests::control_plane::workspace_root().join(path)) {
            assert!(path.exists(), "{}", path.display());
        }
    }

    #[test]
    fn a_vehicle_is_known_by_its_line() {
        let line = r#"{"name":"node-1","system_id":1,"autopilot":"px4","endpoint":"/tmp/x"}"#;
        assert!(names_vehicle(line, "node-1"));
        assert!(!names_vehicle(line, "node-2"));
        assert!(!names_vehicle("starting", "node-1"));
    }
}
